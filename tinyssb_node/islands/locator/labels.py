"""Labels: what stands for a node or a resource, and how close two of them are."""

from hashlib import sha256
from typing import Final, NewType

from tinyssb_node.codec.dmx import Network
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.locator import limits

Label = NewType("Label", bytes)
"""LABEL_SIZE bytes."""
_GROUP: Final = b"tinyssb-locator-1\0"


def label_of_address(node: bytes) -> Label:
    """The label of the node with this address: the text's one-way function, which it leaves open."""
    return Label(sha256(node).digest()[: limits.LABEL_SIZE])


def label_of_feed(feed: FeedId) -> Label:
    """The label of a feed: where those who hold it can be found."""
    return Label(sha256(feed).digest()[: limits.LABEL_SIZE])


def group_of_network(network: Network) -> bytes:
    """The group identifier of all locators of a network: others are not spoken with."""
    return sha256(_GROUP + network.key).digest()[: limits.GROUP_SIZE]


def position(mine: Label, other: Label) -> int | None:
    """The first bit in which two labels differ, from 0 at the top; None if they are the same."""
    differing = int.from_bytes(mine, "big") ^ int.from_bytes(other, "big")
    return limits.LABEL_BITS - differing.bit_length() if differing else None
