"""Event logs of a simulation: the files that a daemon would have written (docs/formats/events.md).

A boot is one segment. Wall clocks begin on the first of January 2026, so that the same simulation gives the same files.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import sha256
from math import cos, radians
from pathlib import Path

from tinyssb_node import limits, version
from tinyssb_node.codec.event_records import Serializer, record_serializers, segment_name, serialize_mark
from tinyssb_node.codec.events import ChunkAppended, DaemonStarted, DaemonStopped, EntryAppended, Event
from tinyssb_node.sim import limits as sim_limits
from tinyssb_node.sim.disk import DiskLoss
from tinyssb_node.sim.links import Position
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher


@dataclass(slots=True)
class _Log:
    """The log of one boot."""

    node: str
    path: Path
    serializers: Mapping[type[Event], Serializer]
    offset: int = 0
    lines: list[bytes] = field(default_factory=list)
    waiting: int = 0

    def add(self, line: bytes) -> None:
        self.lines.append(line)
        self.waiting += len(line)
        self.offset += 1
        if self.waiting >= sim_limits.FLUSH_BYTES:
            self.flush()

    def flush(self) -> None:
        with self.path.open("ab") as file:
            file.writelines(self.lines)
        self.lines.clear()
        self.waiting = 0


class EventFiles(SimulationWatcher):
    """A watcher that writes each node's event log under a folder of its own."""

    def __init__(self, folder: Path) -> None:
        """Make *folder*. Raises OSError, FileExistsError if it is there."""
        folder.mkdir(parents=True)
        self._folder = folder
        self._logs: dict[str, _Log] = {}
        self._arrivals: dict[str, int] = {}

    def began(self, inhabitant: SimulatedNode, now_us: int) -> None:
        """Begin a boot with its start record and its mark."""
        name = inhabitant.name
        before = self._logs.get(name)
        if before is not None:
            before.flush()
        node = inhabitant.feed[: limits.NODE_NAME_SIZE].hex()
        place = self._folder / node
        place.mkdir(exist_ok=True)
        boot = inhabitant.boot
        log = _Log(node, place / segment_name(boot, 0), record_serializers(node, boot))
        self._logs[name] = log
        latitude, longitude = _degrees(inhabitant.position_m)
        started = DaemonStarted(
            name=name,
            feed=inhabitant.feed,
            dialect=inhabitant.dialect,
            version=version(),
            clean=before is None,
            latitude=latitude,
            longitude=longitude,
        )
        self.recorded(inhabitant, started, now_us)
        times = inhabitant.wall_offset_us + now_us, now_us - inhabitant.boot_us
        log.add(serialize_mark(node, boot, log.offset, *times, self._arrivals.get(name, 0)))

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        """Continue to count arrivals from what is left."""
        del loss, now_us
        self._arrivals[inhabitant.name] = inhabitant.store.last_arrival()

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        """Write a record."""
        log = self._logs[inhabitant.name]
        if isinstance(event, EntryAppended | ChunkAppended):
            self._arrivals[inhabitant.name] = event.arrival
        times = inhabitant.wall_offset_us + now_us, now_us - inhabitant.boot_us
        log.add(log.serializers[type(event)](event, log.offset, *times))

    def close(self, inhabitants: Mapping[str, SimulatedNode], now_us: int) -> None:
        """End the boots of all nodes that are up, in order, and write what is buffered."""
        for name, log in self._logs.items():
            if inhabitants[name].up:
                self.recorded(inhabitants[name], DaemonStopped(reason="end of the simulation"), now_us)
            log.flush()


def digest(folder: Path) -> str:
    """SHA-256 over all event logs under *folder*, hexadecimal, in order of their names."""
    hash_ = sha256()
    for path in sorted(folder.rglob("*.jsonl")):
        hash_.update(str(path.relative_to(folder).as_posix()).encode() + b"\n" + path.read_bytes())
    return hash_.hexdigest()


def _degrees(position_m: Position | None) -> tuple[float | None, float | None]:
    """Latitude and longitude of a place, were the ground of the simulation somewhere on Earth."""
    if position_m is None:
        return None, None
    east_m, north_m = position_m
    latitude, longitude = sim_limits.ORIGIN
    longitude += east_m / (sim_limits.DEGREE_M * cos(radians(latitude)))
    return round(latitude + north_m / sim_limits.DEGREE_M, 6), round(longitude, 6)
