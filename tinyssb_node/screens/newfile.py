"""Files that a command makes: whole or not at all, and never in the place of another one."""

import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.safetext import one_line

_PART: Final = re.compile(r"\.tinyssb-[0-9a-f]{16}\.part")
"""How a file is called until it is whole."""


class FileUnwritableError(ProblemError):
    """A file that was named cannot be written."""

    exit_code = ExitCode.STORAGE


class FolderMissingError(FileUnwritableError):
    """There is no such folder as the file should be in."""

    exit_code = ExitCode.MISSING


class TargetFileExistsError(ProblemError):
    """Something is where a file should be written."""

    exit_code = ExitCode.CREATE


def require_absent(path: Path) -> None:
    """Raise TargetFileExistsError if anything is at *path*, be it a link that leads nowhere."""
    if os.path.lexists(path):
        raise TargetFileExistsError(
            f"{one_line(str(path))} is there already. It was kept, and nothing was written.",
            "Name another file, or remove it first.",
        )


def write_new_file(path: Path, write: Callable[[BinaryIO], object]) -> int:
    """Make the file at *path*, whole or not at all, with what *write* writes; durable on return but for its name.
    Returns its size in bytes.

    Raises TargetFileExistsError, FileUnwritableError, and what *write* raises.
    """
    require_absent(path)
    part = path.with_name(f".tinyssb-{secrets.token_hex(8)}.part")
    begun = False
    try:
        with part.open("xb") as file:
            begun = True
            write(file)
            file.flush()
            os.fsync(file.fileno())
            size = file.tell()
        _put_in_place(part, path)
    except OSError as error:
        missing = isinstance(error, FileNotFoundError | NotADirectoryError)
        rest = f"What was begun may still be there as {part.name}." if begun and not _remove(part) else ""
        raise (FolderMissingError if missing else FileUnwritableError)(
            f"{one_line(str(path))} cannot be written: {error.strerror}. {rest or 'Nothing was left behind.'}",
            "Name a file in a folder that you can write to, on a disk with room.",
        ) from error
    finally:
        _remove(part)
    return size


def remove_leftovers(folder: Path) -> None:
    """Remove from *folder* what ``write_new_file`` began there and could not remove, as when a stick was pulled out.
    Only what is older than a day: somebody else may be writing there. Never raises."""
    old_s = time.time() - limits.LEFTOVER_S
    with suppress(OSError):
        for path in folder.iterdir():
            if _PART.fullmatch(path.name) is None:
                continue
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_mtime < old_s:
                _remove(path)


def _remove(part: Path) -> bool:
    """Remove *part*. False if that failed, so that it may be there."""
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _put_in_place(part: Path, path: Path) -> None:
    """Give *part* the name *path* if nothing has it."""
    try:
        path.hardlink_to(part)  # unlike a renaming, it never replaces what somebody put there meanwhile
    except FileExistsError:
        require_absent(path)
        raise
    except OSError:
        # FAT, as on memory cards, has no links.
        require_absent(path)
        part.replace(path)
