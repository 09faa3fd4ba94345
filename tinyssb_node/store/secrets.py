"""The identity file: the one secret of a node. Format: ``docs/formats/identity.md``.

Whoever reads it can write the feed; whoever loses it cannot go on with the feed; two programs that use it at once fork
the feed. So it is made once, never overwritten, and not used while anybody but its owner can reach it.
"""

import os
import secrets
import stat
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import msgspec

from tinyssb_node import limits
from tinyssb_node.errors import (
    IdentityDamagedError,
    IdentityExistsError,
    IdentityExposedError,
    IdentityMissingError,
    IdentityOwnerError,
    IdentityTooNewError,
)
from tinyssb_node.ids import Dialect
from tinyssb_node.store.durable import sync_folder

IDENTITY_VERSION: Final = 1
"""The format written, and the newest read."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A node's key and how it writes. The seed is kept out of ``repr``, so that no log or traceback shows it."""

    seed: bytes = field(repr=False)
    """The ed25519 seed, 32 bytes (RFC 8032 5.1.5)."""
    dialect: Dialect
    """The dialect the feed is written in, for good (decision 0001)."""
    note: str | None = None
    """Whatever its user wants to remember of it: when and where it was made."""

    def __post_init__(self) -> None:
        if len(self.seed) != limits.SEED_SIZE:
            raise ValueError(f"a seed has {limits.SEED_SIZE} bytes, not {len(self.seed)}")


class _Version(msgspec.Struct):
    v: int


class _File(msgspec.Struct, omit_defaults=True):
    v: int
    dialect: Dialect
    seed: str
    note: str | None = None


def generate_identity(dialect: Dialect, note: str | None = None) -> Identity:
    """Make a new key from the system's entropy."""
    return Identity(seed=secrets.token_bytes(limits.SEED_SIZE), dialect=dialect, note=note)


def serialize_identity(identity: Identity) -> bytes:
    """Return the file's bytes."""
    record = _File(v=IDENTITY_VERSION, dialect=identity.dialect, seed=identity.seed.hex(), note=identity.note)
    return msgspec.json.encode(record) + b"\n"


def parse_identity(raw: bytes, path: Path) -> Identity:
    """Read a file's bytes; *path* is for the errors. Raises IdentityDamagedError and IdentityTooNewError."""
    try:
        version = msgspec.json.decode(raw, type=_Version).v
        if version > IDENTITY_VERSION:
            raise IdentityTooNewError(path, version, IDENTITY_VERSION)
        record = msgspec.json.decode(raw, type=_File)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise IdentityDamagedError(path, str(error)) from error
    try:
        return Identity(seed=bytes.fromhex(record.seed), dialect=record.dialect, note=record.note)
    except ValueError:
        # Raised without its cause, which may quote most of a key.
        reason = f"the seed is not {2 * limits.SEED_SIZE} hexadecimal digits"
        raise IdentityDamagedError(path, reason) from None


def create_identity(path: Path, identity: Identity) -> None:
    """Write *identity* to *path*, mode 0600, whole or not at all; durable on return.

    Raises IdentityExistsError if there is a file already, OSError if the file system refuses.
    """
    # mkstemp opens with O_EXCL and mode 0600; link, unlike rename, fails if the name is taken.
    descriptor, name = tempfile.mkstemp(prefix=".identity-", dir=path.parent)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(serialize_identity(identity))
            file.flush()
            os.fsync(file.fileno())
        try:
            os.link(name, path)
        except FileExistsError:
            raise IdentityExistsError(path) from None
    finally:
        Path(name).unlink()
    sync_folder(path.parent)


def load_identity(path: Path) -> Identity:
    """Read the identity at *path*.

    Raises IdentityMissingError, IdentityExposedError and IdentityOwnerError if others could reach it,
    IdentityDamagedError and IdentityTooNewError if it cannot be understood, OSError if the file system refuses.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise IdentityMissingError(path) from None
    except PermissionError:
        # The usual reason, said before the system's own "permission denied".
        _check_reach(path, path.stat())
        raise
    try:
        _check_reach(path, os.fstat(descriptor))
        return parse_identity(os.read(descriptor, limits.IDENTITY_FILE_MAX), path)
    finally:
        os.close(descriptor)


def _check_reach(path: Path, status: os.stat_result) -> None:
    """Refuse a file that is not ours alone; asked of the open file, so that it cannot be swapped in between."""
    if not stat.S_ISREG(status.st_mode):
        raise IdentityDamagedError(path, "it is not a file")
    if status.st_uid != os.geteuid():
        raise IdentityOwnerError(path, status.st_uid, os.geteuid())
    if status.st_mode & _OTHERS:
        raise IdentityExposedError(path, stat.S_IMODE(status.st_mode))
