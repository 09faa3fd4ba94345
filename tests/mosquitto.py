"""A real MQTT broker of our own for tests: in a temporary folder, on a free port of this machine, gone afterwards.

It can be stopped, killed, frozen and started again on the same port and folder, as brokers are.
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from tests import needs
from tests.certificates import Authority

_START_S = 10.0
"""Longest a broker may take to listen, on a machine with much else to do."""


class Mosquitto:
    """A broker whose configuration, log and sessions are in *folder*. It is not started yet.

    *users* maps names to passwords; None: anybody may come. With *tls* it speaks nothing else, as a server whom
    ``authority`` vouches for; with *client_certificates* it takes only clients whom that authority vouches for, too.
    *settings* are further lines of its configuration.
    """

    host = "127.0.0.1"

    def __init__(
        self,
        folder: Path,
        *,
        users: Mapping[str, str] | None = None,
        tls: bool = False,
        client_certificates: bool = False,
        settings: Sequence[str] = (),
    ) -> None:
        self.port = _free_port()
        self.authority = Authority(folder) if tls else None
        self.log = folder / "mosquitto.log"
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        lines = [
            f"listener {self.port} {self.host}",
            f"allow_anonymous {'false' if users is not None else 'true'}",
            "persistence true",
            f"persistence_location {folder}/",
            f"log_dest file {self.log}",
            "log_type all",
        ]
        if os.geteuid() == 0:
            lines.append("user root")  # it would change to a user who cannot read the folder
        if users is not None:
            lines.append(f"password_file {_password_file(folder, users)}")
        if self.authority is not None:
            pair = self.authority.issue("broker")
            lines += [
                f"cafile {self.authority.certificate}",
                f"certfile {pair.certificate}",
                f"keyfile {pair.key}",
                f"require_certificate {'true' if client_certificates else 'false'}",
            ]
        (folder / "mosquitto.conf").write_text("\n".join([*lines, *settings]) + "\n")

    def start(self) -> None:
        """Returns when connections are welcome."""
        command = needs.mosquitto("mosquitto")
        assert command is not None
        self._process = subprocess.Popen(
            [command, "-c", self._folder / "mosquitto.conf"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        deadline_s = time.monotonic() + _START_S
        while not self._listens():
            assert self._process.poll() is None, self.log.read_text()
            assert time.monotonic() < deadline_s, "the broker does not listen"
            time.sleep(0.01)

    def stop(self) -> None:
        """In good order: sessions and what waits in them are there after the next start."""
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        """All at once, as when the power fails; sessions are as they were when the broker was last stopped."""
        self._end(signal.SIGKILL)

    def freeze(self) -> None:
        """From now on it takes connections and bytes, as the system does for it, but answers nothing."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)

    def thaw(self) -> None:
        """It goes on where it was frozen."""
        assert self._process is not None
        self._process.send_signal(signal.SIGCONT)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is not None:
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGCONT)
                process.send_signal(how)
            process.wait()

    def _listens(self) -> bool:
        with suppress(OSError), socket.create_connection((self.host, self.port), timeout=1):
            return True
        return False


@contextmanager
def running_mosquitto(
    folder: Path,
    *,
    users: Mapping[str, str] | None = None,
    tls: bool = False,
    client_certificates: bool = False,
    settings: Sequence[str] = (),
) -> Iterator[Mosquitto]:
    """A broker that is up, and gone at the end; arguments as for ``Mosquitto``."""
    broker = Mosquitto(
        folder, users=users, tls=tls, client_certificates=client_certificates, settings=settings
    )
    try:
        broker.start()
        yield broker
    finally:
        broker.kill()


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((Mosquitto.host, 0))
        port: int = probe.getsockname()[1]
    return port


def _password_file(folder: Path, users: Mapping[str, str]) -> Path:
    command = needs.mosquitto("mosquitto_passwd")
    assert command is not None
    path = folder / "passwords"
    path.touch(mode=0o600)
    for name, password in users.items():
        subprocess.run([command, "-b", path, name, password], check=True, stderr=subprocess.DEVNULL)
    return path
