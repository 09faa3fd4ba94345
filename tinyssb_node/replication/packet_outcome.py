"""The result of a received packet."""

from dataclasses import dataclass, field

from tinyssb_node.codec.events import Event
from tinyssb_node.ids import FeedId, PacketKind, Verdict
from tinyssb_node.replication.chunk_blocks import ChunkBlockId


@dataclass(slots=True)
class PacketOutcome:
    """The verdict on a packet, and what came of it."""

    kind: PacketKind
    verdict: Verdict
    reason: str | None = None
    """The rule broken by an invalid one."""
    feed: FeedId | None = None
    seq: int | None = None
    chunk: int | None = None
    generation: int | None = None
    """Of a coded packet that is a sum of entries: their generation."""
    chunk_block: ChunkBlockId | None = None
    """Of a coded chunk: the chunk block that it is a row of."""
    events: list[Event] = field(default_factory=list)
    """Events of appends, those of packets that had waited for this one included; and of forks."""


READ_ONLY = "read_only"
"""Reason of a finding that would have been new, had it been possible to keep it."""
ORPHANS_FULL = "orphans"
"""Reason of a finding for which an older orphan had to go."""
POISONED = "Poisoned"
"""Reason of a finding that is a coded entry of which something follows that nobody signed."""
MALFORMED = "Malformed"
"""Reason of a finding that is a coded chunk with an impossible row."""
FORKED = "Forked"
"""Reason of a finding that is a second entry for one place."""
STRAYS = {full: PacketOutcome(PacketKind.UNKNOWN, Verdict.NOT_OURS, full) for full in (None, ORPHANS_FULL)}
"""The findings for most of a flood, made once, by reason."""
