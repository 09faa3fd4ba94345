"""New files of commands: complete or absent, and never in place of an existing file."""

import os
import re
import secrets
import stat
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO, Final

from tinyssb_node.errors import ExitCode, ProblemError, phrase
from tinyssb_node.screens import limits
from tinyssb_node.screens.safetext import one_line

_PART: Final = re.compile(r"\.tinyssb-[0-9a-f]{16}\.part")
"""The name of a file until it is complete."""


def require_absent(path: Path) -> None:
    """Check that nothing is at *path*, not even a dangling link. Raises ProblemError."""
    if os.path.lexists(path):
        raise ProblemError(
            f"{one_line(str(path))} exists already. It was kept, and nothing was written.",
            "Choose another file name, or delete the file first.",
            exit_code=ExitCode.CREATE,
        )


def write_new_file(path: Path, write: Callable[[BinaryIO], object]) -> int:
    """Create the file at *path*, complete or not at all, with the bytes that *write* writes; durable on return but for
    its name. Return its size in bytes.

    Raises ProblemError, and what *write* raises.
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
        rest = phrase(f"A partial file may remain as {part.name}.") if begun and not _remove(part) else ""
        raise ProblemError(
            f"{one_line(str(path))} cannot be written: {error.strerror}. {rest or 'Nothing was written.'}",
            "Choose a file in a folder that you can write to, on a disk with free space.",
            exit_code=ExitCode.MISSING if missing else ExitCode.STORAGE,
        ) from error
    finally:
        _remove(part)
    return size


def remove_leftovers(folder: Path) -> None:
    """Delete from *folder* partial files that ``write_new_file`` could not remove, as when a stick was pulled out. Only
    those older than a day: another program may be writing there. Never raises."""
    old_s = time.time() - limits.LEFTOVER_S
    with suppress(OSError):
        for path in folder.iterdir():
            if _PART.fullmatch(path.name) is None:
                continue
            status = path.lstat()
            if stat.S_ISREG(status.st_mode) and status.st_mtime < old_s:
                _remove(path)


def _remove(part: Path) -> bool:
    """Remove *part*. Return False if that failed, so that it may remain."""
    try:
        part.unlink(missing_ok=True)
    except OSError:
        return False
    return True


def _put_in_place(part: Path, path: Path) -> None:
    """Rename *part* to *path* if that name is free."""
    try:
        path.hardlink_to(part)  # unlike a rename, it never replaces a file that appeared meanwhile
    except FileExistsError:
        require_absent(path)
        raise
    except OSError:
        # FAT, as on memory cards, has no links.
        require_absent(path)
        part.replace(path)
