"""The token: where it is kept, when one is needed."""

import os
import secrets
import stat
from ipaddress import ip_address
from pathlib import Path

from tinyssb_node.cli.web import limits
from tinyssb_node.cli.web.errors import TokenError, TokenExposedError, TokenNeededError, TokenWriteError


def is_local(host: str) -> bool:
    """Whether an address to listen on can be reached from this machine only."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_token(file: Path) -> str | None:
    """The first line of *file*; None if there is no such file. Raises TokenError, TokenExposedError."""
    try:
        with file.open("rb") as opened:
            if os.fstat(opened.fileno()).st_mode & (stat.S_IRWXG | stat.S_IRWXO):
                raise TokenExposedError(file)
            text = opened.read(limits.TOKEN_MAX + 1).decode("ascii").strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise TokenError(file, f"cannot be read ({error.strerror})") from error
    except UnicodeDecodeError as error:
        raise TokenError(file, "is no plain text") from error
    if not limits.TOKEN_MIN <= len(text) <= limits.TOKEN_MAX:
        least, most = limits.TOKEN_MIN, limits.TOKEN_MAX
        raise TokenError(file, f"has {len(text)} characters; it takes {least} to {most}")
    if not all(letter.isalnum() or letter in "-._~" for letter in text):
        raise TokenError(file, "has other characters than letters, digits and -._~")
    return text


def find_token(file: Path, host: str, *, named: bool) -> str | None:
    """The token of *file*; None where there is none and *host* is this machine's alone, unless the file was *named*.

    Raises TokenNeededError, TokenError, TokenExposedError.
    """
    token = read_token(file)
    if token is None and (named or not is_local(host)):
        raise TokenNeededError(host, file)
    return token


def make_token(file: Path) -> str:
    """The token of *file*, made if there is none. Raises TokenWriteError, TokenError, TokenExposedError."""
    known = read_token(file)
    if known is not None:
        return known
    token = secrets.token_hex(limits.TOKEN_SIZE)
    try:
        # Nobody else may read it at any moment, and one that was there is never replaced.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(token + "\n")
    except OSError as error:
        raise TokenWriteError(file, error) from error
    return token
