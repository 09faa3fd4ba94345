"""The node as a service of systemd: its files, their places and their state.

The files are in ``hw/systemd`` and ``hw/udev``, and are installed beside this package. Tasks that systemd has tools for
(the user, the folders, the settings) are left to systemd-sysusers and systemd-tmpfiles.
"""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from tinyssb_node.errors import ExitCode, ProblemError

Run = Callable[[Sequence[str]], str]
"""Runs a program and returns what it printed. Raises ProblemError."""

STATE: Final = Path("/var/lib/tinyssb")
"""The node's home folder."""
CONFIG: Final = Path("/etc/tinyssb/config.toml")
"""The node's settings."""
UNIT: Final = "tinyssb.service"
UDEV: Final = Path("/run/udev/control")
"""Exists while udev runs."""
_FOLDERS: Final = (Path(__file__).parents[1] / "service_files", Path(__file__).parents[2] / "hw")
"""The folders of the files: in an installed wheel, and in the repository."""
FILES: Final = {
    "systemd/tinyssb.service": "systemd/system/tinyssb.service",
    "systemd/tinyssb.sysusers.conf": "sysusers.d/tinyssb.conf",
    "systemd/tinyssb.tmpfiles.conf": "tmpfiles.d/tinyssb.conf",
    "udev/60-tinyssb.rules": "udev/rules.d/60-tinyssb.rules",
}
"""The files, and their places below /etc, which are the places below /usr/lib for a package."""
_START: Final = "ExecStart=/usr/bin/tinyssb run\n"
"""The line of the unit that is adapted."""
_HIDDEN: Final = tuple(Path("/", folder) for folder in ("home", "root", "run/user", "tmp", "var/tmp"))
"""Folders that ProtectHome and PrivateTmp hide from the service."""


def _unchangeable(error: OSError) -> ProblemError:
    return ProblemError(
        f"{error.filename} cannot be changed: {error.strerror}.",
        "Only the administrator may do this. Type the command again with sudo in front.",
        exit_code=ExitCode.PERMISSION,
    )


def _tool_failed(command: Sequence[str], said: str) -> ProblemError:
    return ProblemError(
        f"`{' '.join(command)}` failed: {said}.",
        "The service needs Linux with systemd 247 or newer. On other systems, run the node with `tinyssb run`.",
        exit_code=ExitCode.UNAVAILABLE,
    )


class FileState(StrEnum):
    """The state of a file of the service."""

    CURRENT = "as this version has it"
    CHANGED = "differs from this version's"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Service:
    """The service on the system whose files are below *root*."""

    root: Path
    program: Path
    """The program that the unit starts."""
    run: Run

    def install(self) -> list[Path]:
        """Write the files that are missing or differ, and let systemd create user, folders and settings. Return the
        files written.

        Raises ProblemError.
        """
        self._refuse_packaged()
        interpreter = [Path(sys.base_prefix)] if self.root == Path("/") else []
        for path in (self.program, *interpreter):
            if any(path.is_relative_to(folder) for folder in _HIDDEN):
                raise ProblemError(
                    f"The service could not start {path}: it has no access to users' own folders. Nothing was changed.",
                    "Install the program in /opt/tinyssb (docs/howto/install-on-a-pi.md), and use that one.",
                    exit_code=ExitCode.CONFIG,
                )
        written = [place for place, state in self.files().items() if state is not FileState.CURRENT]
        texts = self._texts()
        try:
            for place in written:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(texts[place], "utf-8")
                place.chmod(0o644)
        except OSError as error:
            raise _unchangeable(error) from error
        self.run(("systemd-sysusers", f"--root={self.root}", "tinyssb.conf"))
        self.run(("systemd-tmpfiles", f"--root={self.root}", "--create", "tinyssb.conf"))
        self._reload()
        return written

    def uninstall(self) -> list[Path]:
        """Stop the service and remove its files; the node's data stays. Returns the files removed. Raises
        ProblemError."""
        self._refuse_packaged()
        removed = [place for place, state in self.files().items() if state is not FileState.MISSING]
        if removed and self._manages:
            self.run(("systemctl", "disable", "--now", UNIT))
        try:
            for place in removed:
                place.unlink()
        except OSError as error:
            raise _unchangeable(error) from error
        self._reload()
        return removed

    def files(self) -> dict[Path, FileState]:
        """Return the state of each file."""
        return {place: _state(place, text) for place, text in self._texts().items()}

    @property
    def has_node(self) -> bool:
        """True if the service has a node, as far as we may see."""
        try:
            return (self.root / STATE.relative_to("/") / "identity").exists()
        except PermissionError:
            return False

    def manager(self) -> dict[str, str]:
        """Return systemd's properties of the unit; empty where systemd does not run. Raises ProblemError."""
        if not self._manages:
            return {}
        names = "ActiveState,SubState,UnitFileState,StatusText,NRestarts,MemoryCurrent"
        said = self.run(("systemctl", "show", UNIT, f"--property={names}"))
        return dict(line.split("=", 1) for line in said.splitlines() if "=" in line)

    @property
    def _packaged(self) -> Path:
        return self.root / "usr/lib" / FILES["systemd/tinyssb.service"]

    def _refuse_packaged(self) -> None:
        if self._packaged.exists():
            raise ProblemError(
                f"A package has installed the service already: {self._packaged}. Nothing was changed.",
                "Install and remove that package with apt instead.",
                exit_code=ExitCode.CREATE,
            )

    @property
    def _manages(self) -> bool:
        # sd_booted(3): this folder exists if systemd manages the machine.
        return self.root == Path("/") and Path("/run/systemd/system").is_dir()

    def _reload(self) -> None:
        if self._manages:
            self.run(("systemctl", "daemon-reload"))
            if UDEV.exists():
                self.run(("udevadm", "control", "--reload"))
                self.run(("udevadm", "trigger"))

    def _texts(self) -> dict[Path, str]:
        folder = next(folder for folder in _FOLDERS if folder.is_dir())
        below = self.root / ("usr/lib" if self._packaged.exists() else "etc")
        texts = {below / place: (folder / name).read_text("utf-8") for name, place in FILES.items()}
        unit = below / FILES["systemd/tinyssb.service"]
        texts[unit] = texts[unit].replace(_START, f"ExecStart={escape(self.program)} run\n")
        return texts


def escape(path: Path) -> str:
    """Return *path* as a word of a unit's command line (systemd.service(5), "Command lines")."""
    text = str(path).replace("%", "%%").replace("$", "$$")
    return (
        text
        if re.fullmatch(r"[\w./+%-]+", text)
        else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


def current_program() -> Path:
    """Return the program that runs now, as it was called: also a link on the search path."""
    called = Path(sys.argv[0])
    found = called if called.parent != Path() else shutil.which(str(called))
    return Path(found or called).absolute()


def run_tool(command: Sequence[str]) -> str:
    """Run a program of the system. Raises ProblemError."""
    try:
        ended = subprocess.run(  # noqa: S603 - names of ours, looked up as the administrator's shell would
            command,
            capture_output=True,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "LC_ALL": "C"},
        )
    except OSError as error:
        raise _tool_failed(command, error.strerror or "no reason given") from error
    if ended.returncode:
        raise _tool_failed(command, (ended.stderr or ended.stdout).strip() or f"exit code {ended.returncode}")
    return ended.stdout


def _state(place: Path, text: str) -> FileState:
    try:
        found = place.read_text("utf-8")
    except FileNotFoundError:
        return FileState.MISSING
    except (OSError, UnicodeDecodeError):
        return FileState.CHANGED
    return FileState.CURRENT if found == text else FileState.CHANGED
