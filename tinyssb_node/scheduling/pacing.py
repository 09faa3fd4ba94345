"""When one face may be fed, and with what kind of thing.

Wired faces need a steady hand: no more than the face can hold, a short gap between packets. On the air the channel is
shared with everybody in reach, and nobody says who goes next: see ``Contention``.
"""

from enum import IntEnum
from typing import Protocol

from tinyssb_node import limits
from tinyssb_node.scheduling.link import LinkProfile, Medium
from tinyssb_node.scheduling.trickle import Entropy


class Urgency(IntEnum):
    """What a packet is for: the more urgent, the sooner after the channel fell silent it may go."""

    ANSWER = 0
    """News of ours, and what somebody asked for."""
    CARRY = 1
    """News of others, said again for those out of their reach."""
    ASK = 2
    """CLAIM, WANT, CHNK: what they would bring may be on its way already."""


class Pacer(Protocol):
    """Tells when to hand packets to one face."""

    outstanding: int
    """Packets handed to the face and not yet reported as sent."""

    def due_us(self, urgency: Urgency) -> int | None:
        """When a packet of this urgency may go; None while the face is full."""
        ...

    def handed(self) -> None:
        """A packet was handed to the face."""
        ...

    def sent(self, count: int, now_us: int) -> None:
        """*count* packets have left."""
        ...

    def busy(self, now_us: int) -> None:
        """The face gave a packet back: carrier sense says that somebody else is sending."""
        ...

    def heard(self, now_us: int, *, data: bool) -> None:
        """A packet was heard; *data* if it was an entry or a chunk, and more of them may follow."""
        ...

    def wanted(self, now_us: int) -> None:
        """Something is to be sent on a line that had nothing to send."""
        ...


class SteadyPacer:
    """For wired faces: within the window, with a gap, whatever the urgency."""

    def __init__(self, profile: LinkProfile, now_us: int) -> None:
        self._window = profile.window
        self._gap_us = profile.gap_us
        self._next_us = now_us
        self.outstanding = 0

    def due_us(self, urgency: Urgency) -> int | None:  # noqa: ARG002 - the protocol's argument; a wire knows no urgency
        """See Pacer."""
        return self._next_us if self.outstanding < self._window else None

    def handed(self) -> None:
        """See Pacer."""
        self.outstanding += 1

    def sent(self, count: int, now_us: int) -> None:
        """See Pacer."""
        self.outstanding -= count
        assert self.outstanding >= 0
        self._next_us = max(self._next_us, now_us + self._gap_us)

    def busy(self, now_us: int) -> None:
        """See Pacer. A wire is never busy, but a face may still hand a packet back."""
        self.sent(1, now_us)

    def heard(self, now_us: int, *, data: bool) -> None:
        """See Pacer."""

    def wanted(self, now_us: int) -> None:
        """See Pacer."""


class Contention:
    """For the air: everybody waits a random time once the channel is silent, and the first to speak silences the rest.

    Whoever hears a packet draws anew; so does whoever finds the channel busy. Collisions happen when two draws are
    closer than carrier sense can tell apart (two symbols), so the window is wide: waiting costs no air, colliding
    costs two packets' worth. The winner may send a few packets in a row, with gaps too short for others to slip into,
    so that one contention serves several packets. What may wait for the silence to last, waits: carried news longer
    than answers, requests longest, because an answer on its way makes a request needless.

    Times are in packets of 120 bytes; the numbers were found in the simulator (docs/reference/benchmarks.md).
    """

    def __init__(self, profile: LinkProfile, entropy: Entropy, now_us: int) -> None:
        self._window = profile.window
        self._packet_us = profile.airtime_us[limits.PACKET_SIZE]
        # A preamble and header: longer than the gap within a batch plus what carrier sense is blind for.
        self._between_us = profile.airtime_us[0] // 4
        self._entropy = entropy
        self._batch = 0
        self._due_us = [now_us] * len(Urgency)
        self.outstanding = 0

    def _draw(self, now_us: int, after: tuple[float, float, float]) -> None:
        """Wait a random time, beginning for each urgency so many packets after *now_us*."""
        self._batch = 0
        for urgency, least in enumerate(after):
            packets = least + self._entropy.random() * limits.CONTENTION_PACKETS
            self._due_us[urgency] = now_us + self._between_us + int(packets * self._packet_us)

    def due_us(self, urgency: Urgency) -> int | None:
        """See Pacer."""
        return self._due_us[urgency] if self.outstanding < self._window else None

    def handed(self) -> None:
        """See Pacer."""
        self.outstanding += 1

    def sent(self, count: int, now_us: int) -> None:
        """See Pacer. Within a batch the next answer goes at once."""
        self.outstanding -= count
        assert self.outstanding >= 0
        batch = self._batch + count
        self._draw(now_us, limits.AFTER_DATA_PACKETS)
        if batch < limits.BATCH_PACKETS:
            self._batch = batch
            self._due_us[Urgency.ANSWER] = now_us + limits.BATCH_GAP_US

    def busy(self, now_us: int) -> None:
        """See Pacer."""
        self.outstanding -= 1
        self._draw(now_us, limits.AFTER_DATA_PACKETS)

    def heard(self, now_us: int, *, data: bool) -> None:
        """See Pacer. Behind a request no data is under way yet, so those who ask need not wait for it to end."""
        self._draw(now_us, limits.AFTER_DATA_PACKETS if data else limits.AFTER_VECTOR_PACKETS)

    def wanted(self, now_us: int) -> None:
        """See Pacer. Others may have got the same idea at the same moment."""
        if all(due_us <= now_us for due_us in self._due_us):
            self._draw(now_us, limits.AFTER_VECTOR_PACKETS)


def make_pacer(profile: LinkProfile, entropy: Entropy, now_us: int) -> Pacer:
    """The pacer for a face's medium."""
    if profile.medium is Medium.AIR:
        return Contention(profile, entropy, now_us)
    return SteadyPacer(profile, now_us)
