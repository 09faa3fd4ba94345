"""The identity file: a node's secret, or the place to get it from. Format: ``docs/formats/identity.md``.

Anyone who reads it can write the feed; without it the feed cannot go on; two programs that use it at once fork the
feed. So it is made once, never overwritten by another secret, and not used while others can read it.
"""

import os
import secrets
import shlex
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

import msgspec

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import ExitCode, IdentityDamagedError, IdentityExistsError, LocalError
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.sealed_seed import Passphrase, SealedSeed, seal

IDENTITY_VERSION: Final = 2
"""The newest format read."""
_OTHERS: Final = stat.S_IRWXG | stat.S_IRWXO


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """A node's key and dialect. The seed is kept out of ``repr``, so that no log or traceback shows it."""

    seed: bytes = field(repr=False)
    """The ed25519 seed, 32 bytes (RFC 8032 5.1.5)."""
    dialect: Dialect
    """The dialect the feed is written in, for good (decision 0001)."""
    note: str | None = None
    """A note by its user: for example, when and where it was made."""

    def __post_init__(self) -> None:
        if len(self.seed) != limits.SEED_SIZE:
            raise ValueError(f"a seed has {limits.SEED_SIZE} bytes, not {len(self.seed)}")

    @property
    def feed(self) -> FeedId:
        """The feed that the key writes."""
        return SigningKey(self.seed).feed_id


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityFileContent:
    """The content of an identity file."""

    dialect: Dialect
    """As in ``Identity``."""
    feed: FeedId
    """The feed that the key writes."""
    secret: bytes | SealedSeed | None = field(repr=False)
    """The seed, the seed sealed with a passphrase, or None: systemd provides it."""
    note: str | None = None
    """As in ``Identity``."""


def kept_plain(identity: Identity) -> IdentityFileContent:
    """Return the file content of *identity* with its seed in plain."""
    return IdentityFileContent(
        dialect=identity.dialect, feed=identity.feed, secret=identity.seed, note=identity.note
    )


def kept_sealed(identity: Identity, passphrase: Passphrase) -> IdentityFileContent:
    """Return the file content of *identity* sealed with *passphrase*. Raises LocalError."""
    sealed = seal(identity.seed, passphrase)
    return IdentityFileContent(
        dialect=identity.dialect, feed=identity.feed, secret=sealed, note=identity.note
    )


class _Version(msgspec.Struct):
    v: int


class _Plain(msgspec.Struct, omit_defaults=True):
    v: int
    dialect: Dialect
    seed: str
    note: str | None = None


class _Box(msgspec.Struct):
    kdf: Literal["argon2id"]
    ops: int
    memory: int
    salt: str
    box: str


class _Feed(msgspec.Struct, omit_defaults=True):
    v: int
    dialect: Dialect
    feed: str
    sealed: _Box | None = None
    note: str | None = None


def generate_identity(dialect: Dialect, note: str | None = None) -> Identity:
    """Make a new key from the system's entropy."""
    return Identity(seed=secrets.token_bytes(limits.SEED_SIZE), dialect=dialect, note=note)


def serialize_identity(kept: IdentityFileContent) -> bytes:
    """Return the file's bytes."""
    record: _Plain | _Feed
    if isinstance(kept.secret, bytes):
        record = _Plain(v=1, dialect=kept.dialect, seed=kept.secret.hex(), note=kept.note)
    else:
        record = _Feed(v=2, dialect=kept.dialect, feed=kept.feed.hex(), note=kept.note)
        if kept.secret is not None:
            box = kept.secret
            record.sealed = _Box("argon2id", box.ops, box.memory, box.salt.hex(), box.box.hex())
    return msgspec.json.encode(record) + b"\n"


def parse_identity(raw: bytes, path: Path) -> IdentityFileContent:
    """Parse a file's bytes; *path* is for the errors. Raises IdentityDamagedError; LocalError for a newer version."""
    try:
        version = msgspec.json.decode(raw, type=_Version).v
        if version > IDENTITY_VERSION:
            raise LocalError(
                f"{path} has format {version}, this program knows up to {IDENTITY_VERSION}. "
                "Install the newer version of the program that wrote it.",
                exit_code=ExitCode.DATA,
            )
        if version < IDENTITY_VERSION:
            return _read_plain(msgspec.json.decode(raw, type=_Plain), path)
        return _read_feed(msgspec.json.decode(raw, type=_Feed), path)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        raise IdentityDamagedError(path, str(error)) from error


def _read_plain(record: _Plain, path: Path) -> IdentityFileContent:
    try:
        identity = Identity(seed=bytes.fromhex(record.seed), dialect=record.dialect, note=record.note)
    except ValueError:
        # Raised without its cause, which may quote most of a key.
        reason = f"the seed is not {2 * limits.SEED_SIZE} hexadecimal digits"
        raise IdentityDamagedError(path, reason) from None
    return kept_plain(identity)


def _read_feed(record: _Feed, path: Path) -> IdentityFileContent:
    box = record.sealed
    try:
        feed = FeedId(bytes.fromhex(record.feed))
        sealed = None
        if box is not None:
            salt, sealed_seed = bytes.fromhex(box.salt), bytes.fromhex(box.box)
            sealed = SealedSeed(ops=box.ops, memory=box.memory, salt=salt, box=sealed_seed)
    except ValueError as error:
        raise IdentityDamagedError(path, str(error)) from None
    return IdentityFileContent(dialect=record.dialect, feed=feed, secret=sealed, note=record.note)


def identity_mismatch(path: Path) -> LocalError:
    """Return the error for a secret that is not that of the identity in *path*."""
    return LocalError(
        f"The secret that was handed in is not that of the feed in {path}, so it is not used. Nothing was changed.",
        exit_code=ExitCode.DATA,
    )


def create_identity(path: Path, identity: Identity) -> None:
    """Write *identity* to *path*, mode 0600, whole or not at all; durable on return.

    Raises IdentityExistsError if there is a file already, OSError if the file system refuses.
    """
    with _written_beside(path, kept_plain(identity)) as part:
        try:
            # Unlike rename, it fails if the name is taken.
            os.link(part, path)
        except FileExistsError:
            raise IdentityExistsError(path) from None
    sync_folder(path.parent)


def replace_identity(path: Path, kept: IdentityFileContent) -> None:
    """Put *kept* in the place of the file at *path*, in one step; durable on return.

    Raises the errors of ``read_identity``, LocalError unless it is of the same feed and the disk confirms it;
    OSError, and the file at *path* is as it was.
    """
    if read_identity(path).feed != kept.feed:
        raise identity_mismatch(path)
    with _written_beside(path, kept) as part:
        part.replace(path)
    try:
        sync_folder(path.parent)
    except OSError as error:
        raise LocalError(
            f"{path} was replaced, but the disk did not confirm that the new one will last: {error.strerror}. "
            "After a power cut the one before may be back. Look at the disk, and write the key on paper: "
            "tinyssb identity backup",
            exit_code=ExitCode.STORAGE,
        ) from error


@contextmanager
def _written_beside(path: Path, kept: IdentityFileContent) -> Iterator[Path]:
    """Write *kept* to a temporary file beside *path*, synced, and delete it at the end."""
    try:
        # mkstemp opens with O_EXCL and mode 0600.
        descriptor, name = tempfile.mkstemp(prefix=".identity-", dir=path.parent)
    except OSError as error:
        error.filename = str(path.parent)  # No error for a file that never existed.
        raise
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(serialize_identity(kept))
            file.flush()
            os.fsync(file.fileno())
        yield Path(name)
    finally:
        Path(name).unlink(missing_ok=True)


def read_identity(path: Path) -> IdentityFileContent:
    """Parse the identity file at *path*.

    Raises LocalError if it is missing, of a newer version, or others could reach it, IdentityDamagedError if it cannot
    be parsed, OSError if the file system refuses.
    """
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise LocalError(
            f"There is no identity in {path}. Make one with: tinyssb init", exit_code=ExitCode.MISSING
        ) from None
    except PermissionError:
        # The usual reason, ahead of the system's own "permission denied".
        _check_reach(path, path.stat())
        raise
    try:
        _check_reach(path, os.fstat(descriptor))
        return parse_identity(os.read(descriptor, 65_536), path)  # one has about 120 bytes
    finally:
        os.close(descriptor)


def folder_reach(path: Path) -> int | None:
    """Return the mode of the folder of *path* if users besides its owner have rights to it; None if not.

    Raises OSError.
    """
    mode = stat.S_IMODE(path.parent.stat().st_mode)
    return mode if mode & _OTHERS else None


def _check_reach(path: Path, status: os.stat_result) -> None:
    """Refuse a file that is not ours alone; asked of the open file, so that it cannot be swapped in between."""
    if not stat.S_ISREG(status.st_mode):
        raise IdentityDamagedError(path, "it is not a file")
    if status.st_uid != os.geteuid():
        raise LocalError(
            f"{path} belongs to user {status.st_uid}, this program runs as user {os.geteuid()}, so its key is not "
            f"used. Run it as user {status.st_uid}, or type: sudo chown {os.geteuid()} {shlex.quote(str(path))}",
            exit_code=ExitCode.PERMISSION,
        )
    if status.st_mode & _OTHERS:
        raise LocalError(
            f"{path} can be read or changed by others (mode {stat.S_IMODE(status.st_mode):04o}), so its key is "
            f"not used. If you trust those who could read it so far, type: chmod 600 {shlex.quote(str(path))}",
            exit_code=ExitCode.PERMISSION,
        )
