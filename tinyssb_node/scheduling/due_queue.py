"""Packets that wait to be sent on one face, in order of their due time."""

import heapq
from dataclasses import dataclass, field

from tinyssb_node import limits
from tinyssb_node.ids import PacketKind


@dataclass(frozen=True, slots=True, order=True)
class _Waiting:
    not_before_us: int
    number: int
    packet: bytes = field(compare=False)
    kind: PacketKind = field(compare=False)


class DueQueue:
    """Packets with the time before which each must not go, first due first out, no packet twice.

    They are ordered by due time rather than by class: each packet gets its turn, and an urgent one is given an early
    time.
    """

    def __init__(self) -> None:
        self._heap: list[_Waiting] = []
        self._waiting: dict[bytes, _Waiting] = {}
        self._count = 0

    def __len__(self) -> int:
        return len(self._waiting)

    def __contains__(self, packet: bytes) -> bool:
        return packet in self._waiting

    @property
    def room(self) -> int:
        """How many more packets it takes."""
        return limits.QUEUE_MAX - len(self._waiting)

    def put(self, packet: bytes, kind: PacketKind, not_before_us: int) -> bool:
        """Queue *packet*. Return False if there is no room; True also when it waits already."""
        if packet in self._waiting:
            return True
        if self.room <= 0:
            return False
        self._count += 1
        waiting = _Waiting(not_before_us, self._count, packet, kind)
        self._waiting[packet] = waiting
        heapq.heappush(self._heap, waiting)
        return True

    def cancel(self, packet: bytes) -> bool:
        """Drop *packet*, which a peer sent. Return True if it was waiting."""
        if self._waiting.pop(packet, None) is None:
            return False
        # The heap forgets cancelled packets when they come up; rebuild before the dead outnumber the living.
        if len(self._heap) > 2 * len(self._waiting) + limits.QUEUE_MAX:
            self._heap = sorted(self._waiting.values())
        return True

    def _drop_cancelled(self) -> None:
        while self._heap and self._waiting.get(self._heap[0].packet) is not self._heap[0]:
            heapq.heappop(self._heap)

    @property
    def next_us(self) -> int | None:
        """When the first may go; None if nothing waits."""
        self._drop_cancelled()
        return self._heap[0].not_before_us if self._heap else None

    def pop(self, now_us: int) -> tuple[bytes, PacketKind] | None:
        """Remove and return the first packet that may go now."""
        self._drop_cancelled()
        if not self._heap or self._heap[0].not_before_us > now_us:
            return None
        first = heapq.heappop(self._heap)
        del self._waiting[first.packet]
        return first.packet, first.kind
