"""A file of this machine that is about to be published, and the name under which a file of others is saved."""

import mimetypes
import time
import unicodedata
from pathlib import Path
from typing import Final

from tinyssb_node import limits as node_limits
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.files import File, FileNameError, FileTooLongError, serialize_file
from tinyssb_node.errors import ExitCode, FileUnreadableError, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.languages import t, tn
from tinyssb_node.screens.newfile import write_new_file
from tinyssb_node.screens.safetext import one_line

_PLAIN: Final = frozenset(" ._-+()")
"""Characters that a file name may have besides letters and digits."""


def read_local_file(path: Path, name: str | None = None, type_: str | None = None) -> File:
    """Read the file at *path*; without *name* and *type_* these are taken from its own name. Raises
    FileUnreadableError, ProblemError."""
    try:
        if not path.is_file() and path.exists():
            raise ProblemError(
                f"{path} is not a file. Nothing was published.",
                "Attach one file at a time.",
                exit_code=ExitCode.DATA,
            )
        with path.open("rb") as opened:
            # A file that is far too long is not read to its end: the error takes its size from the file system.
            data = opened.read(node_limits.CONTENT_PUBLISH_MAX + 1)
        size = path.stat().st_size
    except OSError as error:
        raise FileUnreadableError(str(path), error) from error
    named = path.name if name is None else name
    guessed = mimetypes.MimeTypes().guess_type(named, strict=False)[0]
    file = File(named, (guessed or "") if type_ is None else type_, data, said_s=int(time.time()))
    try:
        serialize_file(file)
    except FileTooLongError as error:
        raise _too_long(max(size, error.size), error.most) from error
    except FileNameError as error:
        raise ProblemError(
            f"{error}. Nothing was published.", "Give it another name: --name NAME.", exit_code=ExitCode.DATA
        ) from error
    return file


def require_group_size(file: File) -> None:
    """Check that a message to a group can carry *file*. Raises ProblemError."""
    if len(file.data) > node_limits.GROUP_FILE_MAX:
        raise _too_long(len(file.data), node_limits.GROUP_FILE_MAX)


def _too_long(size: int, most: int) -> ProblemError:
    return ProblemError(
        f"The file has {size:,} bytes, and one entry carries {most:,} of it. Nothing was published.",
        "Send a smaller file, or split it into several.",
        exit_code=ExitCode.DATA,
    )


def file_title(file: File) -> str:
    """Return a file's name, size and type in a line, safe to show."""
    name = one_line(file.name, limits.FILE_NAME_CELLS) or t("a file without a name")
    size = tn(len(file.data), "{name}: {n} byte", "{name}: {n} bytes", name=name)
    if not file.type:
        return size
    return t("{size} of {type}", size=size, type=one_line(file.type, limits.FILE_NAME_CELLS))


def clean_name(name: str, otherwise: str) -> str:
    """Return a safe file name made of a stranger's *name*: without folders, not hidden, not an option of a command,
    without odd characters. Return *otherwise* if nothing is left."""
    last = unicodedata.normalize("NFC", name).replace("\\", "/").rpartition("/")[2]
    plain = "".join(char if char.isalnum() or char in _PLAIN else "_" for char in last)
    plain = plain.lstrip(" .-").rstrip(" .")
    while len(plain.encode()) > content_limits.FILE_NAME_MAX:  # composing may lengthen a name
        plain = plain[:-1]
    return plain if plain.strip("_ .-") else otherwise


def save_file(file: File, name: str, output: str | None) -> Path:
    """Write the data of a file that was received to `saving_path`, and return it. Never overwrites. Raises
    ProblemError."""
    path = saving_path(output, name)
    write_new_file(path, lambda part: part.write(file.data))
    return path


def saving_path(output: str | None, name: str) -> Path:
    """Return the path to write: *output*, or *name* in that folder or the current one."""
    if output is None:
        return Path(name)
    path = Path(output)
    return path / name if path.is_dir() else path
