"""A real PostgreSQL of our own for tests: in a temporary folder, on a Unix socket there, gone afterwards."""

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests import needs

_SETTINGS = {
    "listen_addresses": "",  # a socket in the folder is all there is
    "fsync": "off",
    "synchronous_commit": "off",  # the job turns it on for itself
    "full_page_writes": "off",
    "shared_buffers": "64MB",
    "max_connections": "20",
}
"""Fast rather than safe: the data die with the tests."""


class PostgresServer:
    """A server in *folder*. It refuses to be root, so it is nobody then."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._prefix: list[str] = []
        if os.geteuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(folder, nobody.pw_uid, nobody.pw_gid)
            self._prefix = ["runuser", "-u", "nobody", "--"]
        self._run("initdb", "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale", "-N")
        with (folder / "data/postgresql.conf").open("a") as settings:
            settings.writelines(f"{name} = '{value}'\n" for name, value in _SETTINGS.items())
        self.start()

    def url(self, schema: str) -> str:
        """How to reach the tables in *schema*."""
        return f"postgresql://tester@/postgres?host={self._folder}&schema={schema}"

    def start(self) -> None:
        """Returns when connections are welcome."""
        self._run("pg_ctl", "start", "-w", "-l", str(self._folder / "log"), "-o", f"-k {self._folder}")

    def kill(self) -> None:
        """All at once, as when the power fails; what was committed is there after the next start."""
        self._run("pg_ctl", "stop", "-w", "-m", "immediate")

    def _run(self, name: str, *words: str) -> None:
        command = needs.postgres(name)
        assert command is not None
        # No pipes: the server would inherit them, and whoever reads would wait for its end.
        with (self._folder / f"{name}.log").open("wb") as log:
            subprocess.run(
                [*self._prefix, command, "-D", f"{self._folder}/data", *words],
                check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self._folder,
            )  # fmt: skip


@contextmanager
def running_server() -> Iterator[PostgresServer]:
    """A server that is stopped and removed at the end."""
    folder = Path(tempfile.mkdtemp(prefix="pg", dir="/tmp"))  # a socket's path has at most 107 bytes
    try:
        server = PostgresServer(folder)
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder)
