"""Files that a command makes: whole or not at all, and never in the place of another one."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from tinyssb_node.daemon.problems import Exit, ProblemError


class FileUnwritableError(ProblemError):
    """A file that was named cannot be written."""

    exit_code = Exit.MISSING


class FileExistsInPlaceError(ProblemError):
    """A file would have been overwritten."""

    exit_code = Exit.CREATE


def write_new_file(name: str, write: Callable[[BinaryIO], object]) -> int:
    """Make the file *name*, whole or not at all, with what *write* writes. Returns its size in bytes.

    Raises FileExistsInPlaceError, FileUnwritableError.
    """
    path = Path(name)
    part = path.with_name(path.name + ".part")
    try:
        with _new_file(path, part) as file:
            write(file)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink()
        raise FileUnwritableError(
            f"{path} cannot be written: {error.strerror}.",
            "Name a file in a folder that you can write to.",
        ) from error
    return path.stat().st_size


def _new_file(path: Path, part: Path) -> BinaryIO:
    if path.exists():
        raise FileExistsInPlaceError(
            f"{path} is there already. It was kept.", "Name another file, or remove it first."
        )
    return part.open("xb")
