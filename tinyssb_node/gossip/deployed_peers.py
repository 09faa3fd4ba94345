"""Detection of deployed peers: boards, phones and pubs, which read no packets but those of the specification.

Nodes of ours put a name behind every WANT, and they send neither pings nor NOVELTY. So a peer that does otherwise is a
deployed one.
"""

from tinyssb_node.ids import FaceName

WIRE_NAME = b"\xff\xff"
"""The name behind our WANTs on wires, where names address nobody: the same for all nodes."""
_NEAR_US = 3_600_000_000
"""Time for which a peer that was heard counts as near: boards and phones are switched off and come back."""
_TALKING_US = 300_000_000
_STARTING_US = 60_000_000
"""Time after a face came up in which peers that only claim may be nodes of ours that have just started."""


class DeployedPeers:
    """Deployed peers on all faces of one node."""

    def __init__(self) -> None:
        self._up_us: dict[FaceName, int] = {}
        self._heard_us: dict[FaceName, int] = {}

    def face_up(self, face: FaceName, now_us: int) -> None:
        """A face can be used."""
        self._up_us[face] = now_us

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self._up_us.pop(face, None)
        self._heard_us.pop(face, None)

    def heard(self, face: FaceName, now_us: int) -> None:
        """A packet was heard that only deployed peers send."""
        self._heard_us[face] = now_us

    def heard_claim(self, face: FaceName, now_us: int, *, understood: bool) -> None:
        """A claim was heard, where a peer is *understood* to be a node of ours or not: those soon send other things."""
        if not understood and now_us - self._up_us.get(face, now_us) > _STARTING_US:
            self.heard(face, now_us)

    def near(self, face: FaceName, now_us: int) -> bool:
        """Return True if a deployed peer was heard on *face* within the last hour."""
        return self._was_heard(face, _NEAR_US, now_us)

    def talks(self, face: FaceName, now_us: int) -> bool:
        """Return True if one was heard on *face* in the last five minutes: it says something all the time."""
        return self._was_heard(face, _TALKING_US, now_us)

    def _was_heard(self, face: FaceName, within_us: int, now_us: int) -> bool:
        heard_us = self._heard_us.get(face)
        return heard_us is not None and now_us - heard_us < within_us

    def faces(self, now_us: int) -> tuple[FaceName, ...]:
        """Return the faces on which a deployed peer is near."""
        return tuple(sorted(face for face in self._heard_us if self.near(face, now_us)))
