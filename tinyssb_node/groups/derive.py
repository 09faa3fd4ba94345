"""Key derivation: HKDF with SHA-256 (RFC 5869), and the derivations of box2 (docs/formats/envelope.md)."""

from hashlib import sha256
from typing import Final

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import EnvelopeContext, slp

_INNER: Final = bytes(byte ^ 0x36 for byte in range(256))
_OUTER: Final = bytes(byte ^ 0x5C for byte in range(256))
"""Tables of HMAC's XOR of each byte of a key (RFC 2104)."""


def mac(key: bytes, message: bytes) -> bytes:
    """Return HMAC with SHA-256, 32 bytes, for keys of at most 64.

    Python's own takes five times as long for inputs this short, and trying keys consists of little else. Raises
    ValueError for a longer key.
    """
    if len(key) > group_limits.HASH_BLOCK_SIZE:
        raise ValueError(f"a key of {len(key)} bytes, the most is {group_limits.HASH_BLOCK_SIZE}")
    block = key.ljust(group_limits.HASH_BLOCK_SIZE, b"\x00")
    inner = sha256(block.translate(_INNER) + message).digest()
    return sha256(block.translate(_OUTER) + inner).digest()


def expand(key: bytes, info: bytes, size: int = group_limits.SECRET_SIZE) -> bytes:
    """Return *size* bytes from *key*, which is random already: HKDF's second step. Raises ValueError for too many."""
    if not 0 < size <= group_limits.EXPAND_MAX:
        raise ValueError(f"{size} bytes of key, the most is {group_limits.EXPAND_MAX}")
    made = last = mac(key, info + b"\x01")
    count = 1
    while len(made) < size:
        count += 1
        last = mac(key, last + info + bytes([count]))
        made += last
    return made[:size]


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """Return 32 bytes from *secret*, which may be any secret bytes: both steps of HKDF. *salt* has at most 64."""
    return expand(mac(salt, secret), info)


def labels(*names: bytes) -> bytes:
    """Return the labels of a derivation, which follow its context. Raises ValueError for an empty name."""
    if not all(names):
        raise ValueError("a label is empty")
    return slp(names)


def derive(key: bytes, context: EnvelopeContext, label: bytes, size: int = group_limits.SECRET_SIZE) -> bytes:
    """Derive *size* bytes from *key* at *context*, for the purpose that *label* names (see `labels`)."""
    return expand(key, context.info + label, size)
