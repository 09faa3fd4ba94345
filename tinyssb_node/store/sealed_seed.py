"""Secrets sealed with a passphrase: Argon2id makes the key, XSalsa20-Poly1305 the box (docs/formats/identity.md)."""

import secrets
import unicodedata
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

from nacl.bindings import crypto_secretbox_easy, crypto_secretbox_open_easy
from nacl.exceptions import CryptoError
from nacl.exceptions import RuntimeError as DerivationError
from nacl.pwhash import argon2id

from tinyssb_node import limits as sizes
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.store import limits


class PassphraseUnusableError(LocalError):
    """The passphrase is empty, too long or not text. The message repeats no part of it."""

    exit_code = ExitCode.DATA

    def __init__(self, reason: str) -> None:
        super().__init__(f"The passphrase cannot be used: {reason}. Nothing was changed.")


@dataclass(frozen=True, slots=True)
class Passphrase:
    """A passphrase that opens a sealed secret, kept out of ``repr``."""

    raw: bytes = field(repr=False)
    """UTF-8 in normal form C."""

    @classmethod
    def of(cls, text: str) -> Self:
        """Make a passphrase of *text*. Raises PassphraseUnusableError."""
        try:
            raw = unicodedata.normalize("NFC", text).encode()
        except UnicodeEncodeError:
            # Without its cause, which quotes the passphrase.
            raise PassphraseUnusableError("it is no Unicode text") from None
        if not raw:
            raise PassphraseUnusableError("it is empty")
        if len(raw) > limits.PASSPHRASE_MAX:
            raise PassphraseUnusableError(f"it has more than {limits.PASSPHRASE_MAX:,} bytes")
        return cls(raw)


@dataclass(frozen=True, slots=True, kw_only=True)
class SealedSeed:
    """A sealed seed."""

    ops: int
    """Passes of Argon2id."""
    memory: int
    """Bytes of its memory."""
    salt: bytes
    """16 bytes."""
    box: bytes
    """Nonce, tag and the seed encrypted: 72 bytes."""

    def __post_init__(self) -> None:
        """Raise ValueError for parameters that would not be tried."""
        if not 1 <= self.ops <= limits.SEAL_OPS_MAX:
            raise ValueError(f"ops is not from 1 to {limits.SEAL_OPS_MAX}")
        if not limits.SEAL_MEMORY_MIN <= self.memory <= limits.SEAL_MEMORY_MAX:
            raise ValueError(f"memory is not from {limits.SEAL_MEMORY_MIN} to {limits.SEAL_MEMORY_MAX}")
        if len(self.salt) != limits.SEAL_SALT_SIZE:
            raise ValueError(f"the salt has not {limits.SEAL_SALT_SIZE} bytes")
        box_size = limits.SEAL_NONCE_SIZE + limits.SEAL_TAG_SIZE + sizes.SEED_SIZE
        if len(self.box) != box_size:
            raise ValueError(f"the box has not {box_size} bytes")


def seal(
    seed: bytes, passphrase: Passphrase, *, ops: int = limits.SEAL_OPS, memory: int = limits.SEAL_MEMORY
) -> SealedSeed:
    """Seal *seed* so that only *passphrase* opens it. Raises LocalError."""
    salt = secrets.token_bytes(limits.SEAL_SALT_SIZE)
    nonce = secrets.token_bytes(limits.SEAL_NONCE_SIZE)
    key = _derive(passphrase, salt, ops, memory)
    return SealedSeed(ops=ops, memory=memory, salt=salt, box=nonce + crypto_secretbox_easy(seed, nonce, key))


def unseal(sealed: SealedSeed, passphrase: Passphrase, path: Path) -> bytes:
    """Return the seed; *path* is for the errors. Raises LocalError."""
    key = _derive(passphrase, sealed.salt, sealed.ops, sealed.memory)
    nonce, encrypted = sealed.box[: limits.SEAL_NONCE_SIZE], sealed.box[limits.SEAL_NONCE_SIZE :]
    try:
        return bytes(crypto_secretbox_open_easy(encrypted, nonce, key))
    except CryptoError:
        raise LocalError(
            f"The passphrase does not open {path}. Nothing was changed. Try again; without it, the 24 words of a "
            "backup are the only way back.",
            exit_code=ExitCode.PERMISSION,
        ) from None


def _derive(passphrase: Passphrase, salt: bytes, ops: int, memory: int) -> bytes:
    try:
        return bytes(argon2id.kdf(sizes.SEED_SIZE, passphrase.raw, salt, opslimit=ops, memlimit=memory))
    except DerivationError:
        # All that libsodium refuses once its bounds are kept: it could not have the memory.
        raise LocalError(
            f"There is not enough memory to unseal the identity, which takes {memory // 2**20} MiB for a moment. "
            "Nothing was changed. End other programs, and try again.",
            exit_code=ExitCode.BUSY,
        ) from None
