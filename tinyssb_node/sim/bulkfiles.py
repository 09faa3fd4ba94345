"""Event logs of many nodes by the hour, written as fast as Python can: the files of `bulk`.

Records are made as the ends of their lines; what every record begins with is put before them when an hour is over and
its records are in order of time. A segment is an hour of one boot.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinyssb_node.eventrecords import EVENT_VERSION, segment_name
from tinyssb_node.sim import limits

Happening = tuple[int, int, str]
"""When (virtual time), which of those at the same time comes first, and how the record's line ends."""

ARRIVAL: Final = '"arrival":'
"""How the line of an append ends: its number is known once all records of an hour are in order of time."""
TICK_US: Final = 1
"""Two records of a boot are at least this far apart."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """What a node shows when the mesh's true time is *true_us*."""

    offset_us: int
    drift_ppm: float

    def wall_us(self, true_us: int) -> int:
        """Microseconds since 1970-01-01, never before."""
        drifted_us = round(true_us * (1 + self.drift_ppm / 1_000_000))
        return max(0, limits.EPOCH_US + drifted_us + self.offset_us)


class NodeFiles:
    """The log of one node: boot after boot, segment after segment."""

    def __init__(self, folder: Path, node: str, clock: WallClock) -> None:
        """*node*: 16 hexadecimal digits. Raises OSError."""
        self._folder = folder / node
        self._folder.mkdir()
        self._node = node
        self.clock = clock
        self.boot = 0
        self._boot_us = 0
        self._offset = 0
        self._arrival = 0
        self.records = 0

    def reboot(self, true_us: int) -> None:
        """A new boot begins."""
        self.boot += 1
        self._boot_us = true_us
        self._offset = 0

    def write_segment(self, begin_us: int, happenings: Iterable[Happening]) -> None:
        """One more segment of this boot, in order of time, with its mark. Raises OSError."""
        records = sorted(happenings)
        first = self._offset == 0
        mark = (records[0][0] if first else begin_us, 0, f'"kind":"mark",{ARRIVAL}{self._arrival}}}')
        records.insert(int(first), mark)
        lines = []
        name = segment_name(self.boot, self._offset)
        wall_us, offset, arrival = self.clock.wall_us, self._offset, self._arrival
        began_us = wall_us(self._boot_us)
        start = f'{{"v":{EVENT_VERSION},"node":"{self._node}","boot":{self.boot},"offset":'
        last_us = 0
        for true_us, _, rest in records:
            last_us = max(last_us + TICK_US, wall_us(true_us))
            line = f'{start}{offset},"t_us":{last_us},"mono_us":{last_us - began_us},{rest}'
            if rest.endswith(ARRIVAL):
                arrival += 1
                line = f"{line}{arrival}}}"
            lines.append(line)
            offset += 1
        (self._folder / name).write_text("\n".join(lines) + "\n", "utf-8")
        self.records += len(lines)
        self._offset, self._arrival = offset, arrival
