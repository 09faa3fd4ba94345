"""Feeds of classic Scuttlebutt's groups, for a bridge: seeds of child feeds and their shards (ssb-meta-feeds-spec)."""

from hashlib import sha256
from typing import Final

from tinyssb_node.groups.bfe import bfe_text
from tinyssb_node.groups.derive import hkdf

_SALT: Final = b"ssb"
_LABEL: Final = b"ssb-meta-feed-seed-v1:"


def child_seed(seed: bytes, label: str) -> bytes:
    """The ed25519 seed of a feed in the tree grown from *seed*.

    *label* is ``metafeed`` for the root, and for others the base64 text of the nonce with which they are announced.
    """
    return hkdf(seed, _SALT, _LABEL + label.encode())


def shard(root: bytes, name: str) -> str:
    """The branch, one hexadecimal digit, that a feed with this *name* grows on below *root*, an id in BFE."""
    return sha256(root + bfe_text(name)).hexdigest()[0]
