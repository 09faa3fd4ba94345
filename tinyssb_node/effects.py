"""Effects: what the core asks its shell to do. Nothing of it has happened yet when the core returns it."""

from dataclasses import dataclass

from tinyssb_node.events import Event
from tinyssb_node.ids import FaceName, PacketKind


@dataclass(frozen=True, slots=True)
class Send:
    """A request to send *packet* on *face*, once everything the core wrote to the store is committed."""

    face: FaceName
    """Which face."""
    packet: bytes
    """8 to 120 bytes, without CRC or other framing."""
    kind: PacketKind
    """Its kind."""


Effect = Send | Event
"""An event is an effect too: "record this"."""
