"""Cables: streams between two nodes, beside the channel."""

import random
from dataclasses import dataclass

from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import LinkProfile


@dataclass(frozen=True, slots=True)
class Cable:
    """One direction of a cable."""

    other: str
    """The node at the other end."""
    face: FaceName
    """The face there."""
    latency_us: int
    """How long a packet is under way at least."""
    jitter_us: int
    """How much longer it may be."""
    chance: random.Random
    """Where that is drawn from."""
    profile: LinkProfile
    """How nodes behave on it."""
