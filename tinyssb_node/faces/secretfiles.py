"""Files with secrets of links: keys of certificates, tokens. A file that other users can read is not used."""

import os
import stat
from pathlib import Path

from tinyssb_node.faces import limits
from tinyssb_node.faces.errors import SecretExposedError, SecretUnusableError

_OTHERS = stat.S_IRWXG | stat.S_IRWXO


def read_secret(file: Path, most: int) -> bytes:
    """Return the content of *file*, up to *most* bytes and one more, which shows that it is too long.

    Raises FileNotFoundError, SecretExposedError if users besides its owner have rights to it, SecretUnusableError.
    """
    try:
        # A pipe of that name must not make us wait for its writer.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        with os.fdopen(descriptor, "rb") as opened:
            # Checked on the open file: it cannot be replaced by another one in between.
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise SecretUnusableError(file, "is no file")
            if status.st_mode & _OTHERS:
                raise SecretExposedError(file)
            return opened.read(most + 1)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise SecretUnusableError(file, f"cannot be read ({error.strerror})") from error


def read_token(file: Path) -> str | None:
    """Return the token that is the only line of *file*; None if there is no such file.

    Raises SecretExposedError, SecretUnusableError, neither of which shows it.
    """
    try:
        text = read_secret(file, limits.TOKEN_MAX).decode("ascii").strip()
    except FileNotFoundError:
        return None
    except UnicodeDecodeError:
        raise SecretUnusableError(file, "is no plain text") from None
    if not limits.TOKEN_MIN <= len(text) <= limits.TOKEN_MAX:
        least, most = limits.TOKEN_MIN, limits.TOKEN_MAX
        raise SecretUnusableError(file, f"has {len(text)} characters; it takes {least} to {most}")
    if not all(letter.isalnum() or letter in "-._~" for letter in text):
        raise SecretUnusableError(file, "has other characters than letters, digits and -._~")
    return text
