"""How fast one face may be fed."""

from tinyssb_node.scheduling.link import LinkProfile, Medium
from tinyssb_node.scheduling.trickle import Entropy


class Pacer:
    """Counts what a face holds, and keeps the silence its medium asks for."""

    def __init__(self, profile: LinkProfile, entropy: Entropy, now_us: int) -> None:
        self._profile = profile
        self._entropy = entropy
        self._next_us = now_us
        self.outstanding = 0
        """Packets handed to the face and not yet reported as sent."""

    @property
    def next_us(self) -> int | None:
        """When the next packet may go; None while the face is full."""
        return self._next_us if self.outstanding < self._profile.window else None

    def may_send(self, now_us: int) -> bool:
        """True if a packet may go now."""
        return self.outstanding < self._profile.window and now_us >= self._next_us

    def handed(self) -> None:
        """A packet was handed to the face."""
        self.outstanding += 1

    def sent(self, count: int, now_us: int) -> None:
        """*count* packets have left. On the air, silence for one to two gaps follows, so that others get a word in."""
        self.outstanding -= count
        assert self.outstanding >= 0
        gap_us = self._profile.gap_us
        if self._profile.medium is Medium.AIR:
            gap_us += int(self._entropy.random() * gap_us)
        self._next_us = max(self._next_us, now_us + gap_us)

    def heard(self, now_us: int, *, answered_for_us: bool) -> None:
        """A packet was heard. On the air: step back a little, more if it was one we were about to send, because
        whoever sent it probably has the rest of the answer too."""
        if self._profile.medium is not Medium.AIR:
            return
        gaps = self._entropy.random() + (2 if answered_for_us else 0)
        self._next_us = max(self._next_us, now_us + int(gaps * self._profile.gap_us))
