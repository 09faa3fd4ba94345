"""The node as a service of systemd: which files say so, where they go, and whether they are there.

The files are in ``hw/systemd`` and ``hw/udev``, and are installed beside this package. What systemd can make by itself
(the user, the folders, the settings) is left to it: systemd-sysusers and systemd-tmpfiles know how.
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

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import ProblemError

Run = Callable[[Sequence[str]], str]
"""Runs a program and returns what it printed. Raises SystemdToolError."""

STATE: Final = Path("/var/lib/tinyssb")
"""The node's home."""
CONFIG: Final = Path("/etc/tinyssb/config.toml")
"""Its settings."""
UNIT: Final = "tinyssb.service"
UDEV: Final = Path("/run/udev/control")
"""There while udev runs."""
_FOLDERS: Final = (Path(__file__).parents[1] / "service_files", Path(__file__).parents[2] / "hw")
"""Where the files are: in an installed wheel, and in the repository."""
FILES: Final = {
    "systemd/tinyssb.service": "systemd/system/tinyssb.service",
    "systemd/tinyssb.sysusers.conf": "sysusers.d/tinyssb.conf",
    "systemd/tinyssb.tmpfiles.conf": "tmpfiles.d/tinyssb.conf",
    "udev/60-tinyssb.rules": "udev/rules.d/60-tinyssb.rules",
}
"""The files, and their places below /etc, which are the places below /usr/lib for a package."""
_START: Final = "ExecStart=/usr/bin/tinyssb run\n"
"""The line of the unit that is made to fit."""
_HIDDEN: Final = tuple(Path("/", folder) for folder in ("home", "root", "run/user", "tmp", "var/tmp"))
"""What ProtectHome and PrivateTmp hide: where a service that is shut out of people's files finds nothing."""


class ServiceFileError(ProblemError):
    """A file cannot be written or taken away."""

    exit_code = ExitCode.PERMISSION

    def __init__(self, error: OSError) -> None:
        super().__init__(
            f"{error.filename} cannot be changed: {error.strerror}.",
            "The system's services belong to its administrator: type the command with sudo in front.",
        )


class SystemdToolError(ProblemError):
    """A program of systemd's is missing, or failed."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self, command: Sequence[str], said: str) -> None:
        super().__init__(
            f"`{' '.join(command)}` failed: {said}.",
            "The service needs Linux with systemd 247 or newer. Elsewhere, `tinyssb run` runs the node.",
        )


class PackagedServiceError(ProblemError):
    """The service came with a package, which looks after it."""

    exit_code = ExitCode.CREATE

    def __init__(self, unit: Path) -> None:
        super().__init__(
            f"The service is here already: a package brought {unit}. Nothing was changed.",
            "Install and remove the package with apt instead.",
        )


class ProgramNotReachableError(ProblemError):
    """The program is where the service would not find it."""

    exit_code = ExitCode.CONFIG

    def __init__(self, path: Path) -> None:
        super().__init__(
            f"The service could not start {path}: it is shut out of people's own folders. Nothing was changed.",
            "Install the program in /opt/tinyssb (docs/howto/install-on-a-pi.md) and call that one.",
        )


class FileState(StrEnum):
    """What is in a file's place."""

    CURRENT = "as this version has it"
    CHANGED = "differs from this version's"
    MISSING = "missing"


@dataclass(frozen=True, slots=True)
class Service:
    """The service on the system whose files are below *root*."""

    root: Path
    program: Path
    """What the unit starts."""
    run: Run

    def install(self) -> list[Path]:
        """Write what is not as it should be, and let systemd make user, folders and settings. Returns what was
        written. Raises ServiceFileError, SystemdToolError, PackagedServiceError, ProgramNotReachableError.
        """
        self._refuse_packaged()
        interpreter = [Path(sys.base_prefix)] if self.root == Path("/") else []
        for path in (self.program, *interpreter):
            if any(path.is_relative_to(folder) for folder in _HIDDEN):
                raise ProgramNotReachableError(path)
        written = [place for place, state in self.files().items() if state is not FileState.CURRENT]
        texts = self._texts()
        try:
            for place in written:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(texts[place], "utf-8")
                place.chmod(0o644)
        except OSError as error:
            raise ServiceFileError(error) from error
        self.run(("systemd-sysusers", f"--root={self.root}", "tinyssb.conf"))
        self.run(("systemd-tmpfiles", f"--root={self.root}", "--create", "tinyssb.conf"))
        self._reload()
        return written

    def uninstall(self) -> list[Path]:
        """Stop the service and take its files away; what the node keeps stays. Returns what was removed.

        Raises ServiceFileError, SystemdToolError, PackagedServiceError.
        """
        self._refuse_packaged()
        removed = [place for place, state in self.files().items() if state is not FileState.MISSING]
        if removed and self._manages:
            self.run(("systemctl", "disable", "--now", UNIT))
        try:
            for place in removed:
                place.unlink()
        except OSError as error:
            raise ServiceFileError(error) from error
        self._reload()
        return removed

    def files(self) -> dict[Path, FileState]:
        """What is in the place of each file."""
        return {place: _state(place, text) for place, text in self._texts().items()}

    @property
    def has_node(self) -> bool:
        """True if a node was made for the service, as far as we may see."""
        try:
            return (self.root / STATE.relative_to("/") / "identity").exists()
        except PermissionError:
            return False

    def manager(self) -> dict[str, str]:
        """What systemd says of the unit, property by property; empty where it does not run. Raises SystemdToolError."""
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
            raise PackagedServiceError(self._packaged)

    @property
    def _manages(self) -> bool:
        # sd_booted(3): this folder tells that systemd manages the machine.
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
    """*path* as a word of a unit's command line (systemd.service(5), "Command lines")."""
    text = str(path).replace("%", "%%").replace("$", "$$")
    return (
        text
        if re.fullmatch(r"[\w./+%-]+", text)
        else '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
    )


def current_program() -> Path:
    """The program that runs now, as it was called, a link on the search path included."""
    called = Path(sys.argv[0])
    found = called if called.parent != Path() else shutil.which(str(called))
    return Path(found or called).absolute()


def run_tool(command: Sequence[str]) -> str:
    """Run a program of the system's. Raises SystemdToolError."""
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
        raise SystemdToolError(command, error.strerror or "the system did not say why") from error
    if ended.returncode:
        raise SystemdToolError(
            command, (ended.stderr or ended.stdout).strip() or f"exit code {ended.returncode}"
        )
    return ended.stdout


def _state(place: Path, text: str) -> FileState:
    try:
        found = place.read_text("utf-8")
    except FileNotFoundError:
        return FileState.MISSING
    except (OSError, UnicodeDecodeError):
        return FileState.CHANGED
    return FileState.CURRENT if found == text else FileState.CHANGED
