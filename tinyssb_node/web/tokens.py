"""The page's token: where it is stored. There always is one: other accounts of this machine reach the page, too."""

import os
import secrets
from pathlib import Path
from typing import Final

from tinyssb_node.errors import ExitCode
from tinyssb_node.faces import secretfiles
from tinyssb_node.faces.errors import SecretExposedError, SecretUnusableError
from tinyssb_node.web.errors import TokenError

TOKEN_SIZE: Final = 16
"""Bytes of a token that we make: nobody guesses 128 bits, and a QR code of the link stays small."""


def read_token(file: Path) -> str | None:
    """Return the only line of *file*; None if there is no such file. Raises TokenError."""
    try:
        return secretfiles.read_token(file)
    except SecretExposedError:
        raise TokenError(
            f"Other users of this machine may read the token in {file}. Nothing was served.",
            f"Type: chmod 600 {file}",
            exit_code=ExitCode.PERMISSION,
        ) from None
    except SecretUnusableError as error:
        raise TokenError(
            f"The token in {file} {error.reason}. Nothing was served.",
            f"Delete the file, and create a token of {2 * TOKEN_SIZE} characters: tinyssb web --link",
            exit_code=ExitCode.CONFIG,
        ) from error


def make_token(file: Path) -> str:
    """Return the token of *file*, created if there is none. Raises TokenError."""
    known = read_token(file)
    if known is not None:
        return known
    token = secrets.token_hex(TOKEN_SIZE)
    try:
        # No other user may read it at any moment, and an existing token is never replaced.
        descriptor = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w", encoding="ascii") as opened:
            opened.write(token + "\n")
    except OSError as error:
        raise TokenError(
            f"The token cannot be written to {file}: {error.strerror}.",
            "Type the command as the node's user, or choose another file with --token-file.",
            exit_code=ExitCode.PERMISSION,
        ) from error
    return token
