"""The page's token: where it is stored, and when one is needed."""

import os
import secrets
from pathlib import Path

from tinyssb_node.faces import secretfiles
from tinyssb_node.faces.errors import SecretExposedError, SecretUnusableError
from tinyssb_node.web import limits
from tinyssb_node.web.errors import TokenError, TokenExposedError, TokenRequiredError, TokenWriteError
from tinyssb_node.web.page_server.addresses import is_local


def read_token(file: Path) -> str | None:
    """Return the only line of *file*; None if there is no such file. Raises TokenError, TokenExposedError."""
    try:
        return secretfiles.read_token(file)
    except SecretExposedError:
        raise TokenExposedError(file) from None
    except SecretUnusableError as error:
        raise TokenError(file, error.reason) from error


def find_token(file: Path, host: str, *, named: bool) -> str | None:
    """Return the token of *file*; None if there is none and *host* can be reached only from this machine, unless the
    file was *named*.

    Raises TokenRequiredError, TokenError, TokenExposedError.
    """
    token = read_token(file)
    if token is None and (named or not is_local(host)):
        raise TokenRequiredError(host, file)
    return token


def make_token(file: Path) -> str:
    """Return the token of *file*, created if there is none. Raises TokenWriteError, TokenError, TokenExposedError."""
    known = read_token(file)
    if known is not None:
        return known
    token = secrets.token_hex(limits.TOKEN_SIZE)
    try:
        # No other user may read it at any moment, and an existing token is never replaced.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(token + "\n")
    except OSError as error:
        raise TokenWriteError(file, error) from error
    return token
