"""Records of packets sent where air costs nothing: one each for so many, then counts.

Somebody who asks without end on a wire is answered, and must not fill the disk with records of that. What goes on the
air has its record always: air is scarce, and its packets tell who hears whom.
"""

from tinyssb_node import limits
from tinyssb_node.events import PacketSent, PacketsSent
from tinyssb_node.ids import FaceName, PacketKind


class SendMeter:
    """A bucket of ``limits.SENT_BURST`` records, refilled at ``limits.SENT_PER_S`` a second, for all faces together.
    What finds it empty is counted by face and kind."""

    def __init__(self) -> None:
        self._level = float(limits.SENT_BURST)
        self._at_us = 0
        self._more: dict[tuple[FaceName, PacketKind], tuple[int, int]] = {}
        """Packets, and their bytes. Told at least once a minute, and whenever a face goes: few keys."""
        self._told_us = 0

    def admit(self, event: PacketSent, mono_us: int) -> bool:
        """True if *event* has a record of its own; otherwise it is counted."""
        if event.airtime_us:
            return True
        refill = (mono_us - self._at_us) / 1_000_000 * limits.SENT_PER_S
        self._level = min(float(limits.SENT_BURST), self._level + refill)
        self._at_us = mono_us
        if self._level >= 1:
            self._level -= 1
            return True
        count, size = self._more.get((event.face, event.packet), (0, 0))
        self._more[event.face, event.packet] = (count + 1, size + event.length)
        return False

    def due(self, mono_us: int) -> list[PacketsSent]:
        """What was counted, once in ``limits.SENT_TOLD_US``."""
        if mono_us - self._told_us < limits.SENT_TOLD_US:
            return []
        self._told_us = mono_us
        return self.take()

    def take(self) -> list[PacketsSent]:
        """What was counted, now."""
        more, self._more = self._more, {}
        return [
            PacketsSent(face=face, packet=packet, count=count, size=size)
            for (face, packet), (count, size) in more.items()
        ]
