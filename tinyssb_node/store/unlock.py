"""The sources of a node's secret: its identity file, a passphrase that opens it, or systemd's credentials.

Never the arguments of a process, which all users may read, nor an environment variable that holds the secret itself.
"""

import os
import stat
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tinyssb_node.errors import ExitCode, IdentityDamagedError, LocalError
from tinyssb_node.store import limits
from tinyssb_node.store.sealed_seed import Passphrase, PassphraseUnusableError, SealedSeed, unseal
from tinyssb_node.store.secrets import (
    Identity,
    IdentityFileContent,
    identity_mismatch,
    parse_identity,
    read_identity,
)

IDENTITY_CREDENTIAL: Final = "tinyssb.identity"
"""Name of the credential that is an identity file."""
PASSPHRASE_CREDENTIAL: Final = "tinyssb.passphrase"  # noqa: S105 - a name
"""Name of the credential that is a passphrase."""
PASSPHRASE_FILE: Final = "TINYSSB_PASSPHRASE_FILE"  # noqa: S105 - a name
"""The environment variable that names a file with the passphrase: /dev/fd/3 is a file that the parent process left open
as 3."""
_CREDENTIALS: Final = "CREDENTIALS_DIRECTORY"
_SHARED: Final = stat.S_IRWXO | stat.S_IWGRP

Ask = Callable[[], str]
"""Asks a person for the passphrase."""


def open_identity(
    path: Path, environ: Mapping[str, str], ask: Ask | None = None, name: str | None = None
) -> Identity:
    """Return the identity that the file at *path* holds or refers to. *ask* is the last resort; None: no terminal.
    *name* is the name of a further identity; its credentials are named after it.

    Raises the errors of ``read_identity`` and ``unseal``, PassphraseUnusableError, OSError; LocalError where no
    passphrase or secret was given, others may read the passphrase, or the secret is another one's.
    """
    kept = read_identity(path)
    handed = kept if kept.secret is not None else _handed_in(path, environ, name)
    if isinstance(handed.secret, SealedSeed):
        seed = unseal(handed.secret, _find_passphrase(path, environ, ask, name), path)
    elif handed.secret is not None:
        seed = handed.secret
    else:
        credential = credential_name(IDENTITY_CREDENTIAL, name)
        raise IdentityDamagedError(path, f"nor is the secret in the credential {credential}")
    identity = Identity(seed=seed, dialect=kept.dialect, note=kept.note)
    if identity.feed != kept.feed:
        raise identity_mismatch(path)
    return identity


def _find_passphrase(
    path: Path, environ: Mapping[str, str], ask: Ask | None, name: str | None = None
) -> Passphrase:
    """Return the passphrase of the identity file at *path*: a provided one, else one that is typed.

    Raises LocalError, and as ``handed_passphrase`` does.
    """
    handed = handed_passphrase(environ, name)
    if handed is not None:
        return handed
    if ask is None:
        raise LocalError(
            f"{path} is sealed with a passphrase, and none was given. Name a file that holds it in "
            "TINYSSB_PASSPHRASE_FILE, or run this on a terminal, where you are asked.",
            exit_code=ExitCode.PERMISSION,
        )
    return Passphrase.of(ask())


def handed_passphrase(environ: Mapping[str, str], name: str | None = None) -> Passphrase | None:
    """Return the passphrase from systemd's credential, else from a file; None: there is neither. A further identity,
    called *name*, may have its own credential; without one the node's opens it, too.

    Raises PassphraseUnusableError, LocalError, OSError.
    """
    raw = None if name is None else _credential(environ, credential_name(PASSPHRASE_CREDENTIAL, name))
    if raw is None:
        raw = _credential(environ, PASSPHRASE_CREDENTIAL)
    if raw is None and (name := environ.get(PASSPHRASE_FILE)):
        raw = _read_private(Path(name))
    if raw is None:
        return None
    try:
        return Passphrase.of(raw.decode().removesuffix("\n").removesuffix("\r"))
    except UnicodeDecodeError:
        # Without its cause, which quotes the passphrase.
        raise PassphraseUnusableError("it is not UTF-8") from None


def credential_name(credential: str, name: str | None) -> str:
    """Return the name of *credential* for the further identity *name*; None: the node's main identity."""
    return credential if name is None else f"{credential}.{name}"


def _handed_in(path: Path, environ: Mapping[str, str], name: str | None) -> IdentityFileContent:
    credential = credential_name(IDENTITY_CREDENTIAL, name)
    raw = _credential(environ, credential)
    if raw is None:
        raise LocalError(
            f"{path} does not hold the secret: systemd hands it to the service as the credential {credential}, and "
            "did not here. docs/reference/keys.md has the lines of the unit; the 24 words of a backup bring it back.",
            exit_code=ExitCode.MISSING,
        )
    return parse_identity(raw, Path(environ[_CREDENTIALS]) / credential)


def _credential(environ: Mapping[str, str], name: str) -> bytes | None:
    """Return the credential that systemd provides under *name*, None for none. systemd takes care of its access
    rights."""
    folder = environ.get(_CREDENTIALS)
    if not folder:
        return None
    try:
        with (Path(folder) / name).open("rb") as file:
            return file.read(65_536)  # as much as of an identity file
    except FileNotFoundError:
        return None


def _read_private(path: Path) -> bytes:
    """Return the content of the file. Raises LocalError if it cannot be read, or all users may read it."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_mode & _SHARED:
                raise LocalError(
                    f"All users can read or write {path} (mode {stat.S_IMODE(status.st_mode):04o}), so the passphrase "
                    f"in it is not used. Take these rights away: chmod o-rwx,g-w {path}",
                    exit_code=ExitCode.PERMISSION,
                )
            # One byte more than allowed, so that a longer file is reported as such.
            return file.read(limits.PASSPHRASE_MAX + 3)
    except OSError as error:
        raise LocalError(
            f"The passphrase should be in {path}, which cannot be read: {error.strerror}. Nothing was changed. "
            f"Let {PASSPHRASE_FILE} name a file that holds it, or unset it to be asked on a terminal.",
            exit_code=ExitCode.MISSING,
        ) from error
