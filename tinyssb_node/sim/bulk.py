"""Event logs of a mesh of any size and duration: the simulator in bulk mode.

The other modules run each packet through the daemon's own code, which is exact, and too slow for a thousand nodes and a
week. Here a message is a flood over links of given quality. Each node relays it unless enough others did, and a node
that missed it gets it later. Advertisements, faults, restarts, a cut of the mesh and wrong clocks are drawn by chance.
The output has the form of real logs and is consistent: a reception has a sending in reach, and no entry is stored
before it came. The same options give the same logs. They do not show whether gossip works.
"""

import heapq
import math
import random
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Final

from firmware_bridge.lora import LoraSettings, airtime_us
from tinyssb_node import limits as node_limits
from tinyssb_node import version
from tinyssb_node.codec.event_records import EVENT_VERSION, segment_name
from tinyssb_node.errors import SimulationOptionError
from tinyssb_node.sim import limits

_NODES_MAX: Final = 20_000  # all that happens in an hour is in memory
_HOURS_MAX: Final = 24 * 366
_REACH_M: Final = 1_500.0
Happening = tuple[int, int, str]
"""Virtual time, order among those of the same time, and the end of the record's line."""

ARRIVAL: Final = '"arrival":'
"""The end of an append's line: its number is known once all records of an hour are in order of time."""
TICK_US: Final = 1
"""Two records of a boot are at least this far apart."""


@dataclass(frozen=True, slots=True)
class WallClock:
    """The wall clock of a node as a function of the mesh's true time."""

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
        """Begin a new boot."""
        self.boot += 1
        self._boot_us = true_us
        self._offset = 0

    def write_segment(self, begin_us: int, happenings: Iterable[Happening]) -> None:
        """Write one more segment of this boot, in order of time, with its mark. Raises OSError."""
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


SECOND_US: Final = 1_000_000
HOUR_US: Final = 3_600 * SECOND_US
_ENTRY_US: Final = airtime_us(LoraSettings(frequency_hz=868_100_000), node_limits.PACKET_SIZE)
_WANT_SIZE: Final = 32
_WANT_US: Final = airtime_us(LoraSettings(frequency_hz=868_100_000), _WANT_SIZE)
_FACE_UP: Final = (
    '"kind":"face_up","face":"lora","spec":"lora:rak4631","sub_band":"EU868 868.0-868.6",'
    f'"limit_ppm":10000,"window_us":{HOUR_US}}}'
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BulkOptions:
    """The events that are drawn by chance, and their rates."""

    nodes: int = 1_000
    hours: int = 168
    seed: int = 1
    entries_per_hour: float = 12.0
    """Published in the whole mesh."""
    adverts_per_hour: float = 4.2
    """WANTs sent by each node."""
    neighbours: float = 8.0
    """Average number of nodes that a node hears."""
    wrong_clocks: float = 0.1
    """Share of nodes with a clock that is wrong by up to half a day; the others are wrong by up to 2 s."""
    drift_ppm: float = 30.0
    """Most by which clocks run too fast or too slow."""
    restarts_per_day: float = 0.05
    """Of each node; half of them without a stop record."""

    def __post_init__(self) -> None:
        if not 2 <= self.nodes <= _NODES_MAX:
            raise SimulationOptionError("nodes", f"it takes 2 to {_NODES_MAX}")
        if not 1 <= self.hours <= _HOURS_MAX:
            raise SimulationOptionError("hours", f"it takes 1 to {_HOURS_MAX}")

    @property
    def cut(self) -> tuple[int, int]:
        """The first hour in which the west does not hear the east, and the first after that: a tenth of the time."""
        begin = 2 * self.hours // 5
        return begin, begin + self.hours // 10


@dataclass(slots=True)
class _Station:
    """A node."""

    number: int
    feed: str
    east_m: float
    north_m: float
    files: NodeFiles
    neighbours: list[tuple[int, float, int]] = field(default_factory=list)
    """(number, probability that it hears a packet of ours, mean RSSI there)."""
    published: int = 0
    held: dict[int, int] = field(default_factory=dict)
    """By author, the highest entry held: entries come in order."""
    happenings: list[Happening] = field(default_factory=list)


class BulkWriter:
    """The writer of the logs."""

    def __init__(self, options: BulkOptions, folder: Path) -> None:
        """Make *folder*, which must not be there. Raises SimulationOptionError."""
        try:
            folder.mkdir(parents=True)
        except OSError as error:
            raise SimulationOptionError(
                "folder", f"{folder} cannot be made as a new folder: {error.strerror}"
            ) from error
        self.options = options
        self._chance = random.Random(options.seed)  # noqa: S311 - a model needs no secrets
        self._order = 0
        side_m = math.sqrt(options.nodes * math.pi / options.neighbours) * _REACH_M
        self.stations = [self._place(number, side_m, folder) for number in range(options.nodes)]
        self.middle_m = side_m / 2
        self._link()
        self._waiting: defaultdict[int, list[tuple[int, int]]] = defaultdict(list)
        self._quiet_us: defaultdict[int, int] = defaultdict(int)
        """By author, from when on none of its entries is on its way: so that none overtakes another."""

    @property
    def records(self) -> int:
        """Written so far."""
        return sum(station.files.records for station in self.stations)

    def run(self, tell: Callable[[int, int], None] = lambda _hours, _records: None) -> int:
        """Run all hours; *tell* is called after each with hours and records so far. Returns the records written.

        Raises OSError.
        """
        for station in self.stations:
            self._start(station, 0, clean=True)
        for hour in range(self.options.hours):
            self._play(hour)
            again = self._end_boots((hour + 1) * HOUR_US - TICK_US) if hour + 1 < self.options.hours else []
            for station in self.stations:
                station.files.write_segment(hour * HOUR_US, station.happenings)
                station.happenings.clear()
            for station, clean in again:
                self._start(station, (hour + 1) * HOUR_US, clean=clean)
            tell(hour + 1, self.records)
        return self.records

    # --- the ground

    def _place(self, number: int, side_m: float, folder: Path) -> _Station:
        chance, options = self._chance, self.options
        feed = sha256(f"{options.seed}/{number}".encode()).hexdigest()
        wrong = number > 0 and chance.random() < options.wrong_clocks
        offset_us = round(chance.uniform(-1, 1) * (HOUR_US * 12 if wrong else 2 * SECOND_US))
        clock = WallClock(offset_us, chance.uniform(-1, 1) * options.drift_ppm)
        files = NodeFiles(folder, feed[: 2 * node_limits.NODE_NAME_SIZE], clock)
        return _Station(number, feed, chance.uniform(0, side_m), chance.uniform(0, side_m), files)

    def _link(self) -> None:
        """Link each node with those in reach, and with the nearest node before it, so that all are connected."""
        cells: defaultdict[tuple[int, int], list[_Station]] = defaultdict(list)
        reach_m = _REACH_M
        for station in self.stations:
            cells[int(station.east_m // reach_m), int(station.north_m // reach_m)].append(station)
        for station in self.stations:
            east, north = int(station.east_m // reach_m), int(station.north_m // reach_m)
            near = {
                other.number
                for x in (east - 1, east, east + 1)
                for y in (north - 1, north, north + 1)
                for other in cells[x, y]
                if other is not station and _distance_m(station, other) <= reach_m
            }
            before = self.stations[: station.number]
            if before and not any(number < station.number for number in near):
                nearest = min(before, key=lambda other: _distance_m(station, other))
                self._join(station, nearest)
                self._join(nearest, station)
            for number in sorted(near):
                self._join(station, self.stations[number])

    def _join(self, sender: _Station, receiver: _Station) -> None:
        ratio = min(1.0, _distance_m(sender, receiver) / _REACH_M)
        quality = 0.98 - 0.5 * ratio**3 - self._chance.uniform(0, 0.1)
        sender.neighbours.append((receiver.number, quality, round(-70 - 50 * ratio)))

    def _apart(self, one: _Station, other: _Station, hour: int) -> bool:
        first, end = self.options.cut
        return first <= hour < end and (one.east_m < self.middle_m) != (other.east_m < self.middle_m)

    # --- records

    def _add(self, station: _Station, true_us: int, rest: str) -> None:
        self._order += 1
        station.happenings.append((true_us, self._order, rest))

    def _start(self, station: _Station, true_us: int, *, clean: bool) -> None:
        station.files.reboot(true_us)
        latitude = limits.ORIGIN[0] + station.north_m / limits.DEGREE_M
        longitude = limits.ORIGIN[1] + station.east_m / limits.DEGREE_M / math.cos(
            math.radians(limits.ORIGIN[0])
        )
        self._add(
            station,
            true_us,
            f'"kind":"start","name":"n{station.number}","feed":"{station.feed}","dialect":"spec",'
            f'"version":"{version()}","clean":{str(clean).lower()},'
            f'"latitude":{latitude:.6f},"longitude":{longitude:.6f}}}',
        )
        self._add(station, true_us, _FACE_UP)

    def _sent(
        self, station: _Station, true_us: int, packet: str, hash_: str, length: int, air_us: int
    ) -> None:
        self._add(
            station,
            true_us,
            f'"kind":"tx","face":"lora","packet":"{packet}","length":{length},"hash":"{hash_}","airtime_us":{air_us}}}',
        )

    def _heard(
        self, sender: _Station, hour: int, true_us: int, front: str, back: Callable[[_Station], str]
    ) -> Iterator[_Station]:
        """Yield the neighbours that hear a packet that ended at *true_us*; each gets its record."""
        chance = self._chance
        for number, quality, rssi_dbm in sender.neighbours:
            receiver = self.stations[number]
            if chance.random() >= quality or self._apart(sender, receiver, hour):
                continue
            power_dbm = round(rssi_dbm + chance.gauss(0, 2))
            snr_db = min(12.0, (power_dbm + 117) * 0.6)
            late_us = chance.randrange(200, 1_500)
            signal = f'"rssi_dbm":{power_dbm},"snr_db":{snr_db:.2f},'
            self._add(receiver, true_us + late_us, f"{front}{signal}{back(receiver)}")
            yield receiver

    # --- an hour

    def _play(self, hour: int) -> None:
        chance, begin_us = self._chance, hour * HOUR_US
        for author, seq in sorted(self._waiting.pop(hour, [])):
            # Once the cut is over, or an hour later: a node that has it sends it to those that do not.
            self._repair(author, seq, hour, begin_us + chance.randrange(HOUR_US // 2))
        for _ in range(_poisson(chance, self.options.entries_per_hour)):
            self._write_entry(
                chance.randrange(len(self.stations)), hour, begin_us + chance.randrange(HOUR_US * 3 // 4)
            )
        for station in self.stations:
            for _ in range(_poisson(chance, self.options.adverts_per_hour)):
                self._advertise(station, hour, begin_us + chance.randrange(HOUR_US - SECOND_US))
            self._stumble(station, begin_us + chance.randrange(HOUR_US - SECOND_US))

    def _end_boots(self, true_us: int) -> list[tuple[_Station, bool]]:
        """Return the boots that end with this hour, and whether each ends in order."""
        chance = self._chance
        ended = [
            (station, chance.random() < 0.5)
            for station in self.stations
            if chance.random() < self.options.restarts_per_day / 24
        ]
        for station, clean in ended:
            if clean:
                self._add(station, true_us, '"kind":"stop","reason":"SIGTERM"}')
        return ended

    def _stumble(self, station: _Station, true_us: int) -> None:
        chance = self._chance.random()
        if chance < 0.004:
            self._add(station, true_us, '"kind":"refused","rule":"budget","face":"lora","count":3}')
        elif chance < 0.006:
            junk = f"{self._chance.getrandbits(64):016x}"
            self._add(
                station,
                true_us,
                f'"kind":"rx","face":"lora","packet":"unknown","length":{limits.BULK_JUNK_SIZE},"hash":"{junk}","verdict":"not_ours",'
                f'"rssi_dbm":-110,"snr_db":-4.0,"airtime_us":{_WANT_US}}}',
            )
        elif chance < 0.007:
            self._add(
                station, true_us, '"kind":"face_down","face":"lora","reason":"the radio does not answer"}'
            )
            self._add(station, true_us + SECOND_US // 2, _FACE_UP)

    def _advertise(self, station: _Station, hour: int, true_us: int) -> None:
        chance = self._chance
        hash_ = f"{chance.getrandbits(64):016x}"
        want = (
            '"kind":"want","direction":"{}","face":"lora","state":"'
            + "5a" * 32
            + '","offset_index":0,"seqs":[{}]}}'
        )
        seqs = ",".join(str(seq + 1) for seq in list(station.held.values())[:8]) or "1"
        self._add(station, true_us, want.format("tx", seqs))
        self._sent(station, true_us, "want", hash_, _WANT_SIZE, _WANT_US)
        front = f'"kind":"rx","face":"lora","packet":"want","length":{_WANT_SIZE},"hash":"{hash_}","verdict":"new",'
        for receiver in self._heard(station, hour, true_us, front, lambda _: f'"airtime_us":{_WANT_US}}}'):
            self._add(receiver, true_us + 1_600, want.format("rx", seqs))

    def _write_entry(self, author: int, hour: int, true_us: int) -> None:
        station = self.stations[author]
        true_us = max(true_us, self._quiet_us[author])
        if true_us > _last_us(hour):
            return
        station.published += 1
        self._commit(station, author, station.published, true_us, "own")
        self._flood(author, station.published, hour, [(true_us + 200_000, author)])

    def _commit(self, station: _Station, author: int, seq: int, true_us: int, origin: str) -> None:
        station.held[author] = seq
        feed = self.stations[author].feed
        id_ = sha256(f"{feed}/{seq}".encode()).hexdigest()[:40]
        face = "" if origin == "own" else '"face":"lora",'
        self._add(
            station,
            true_us,
            f'"kind":"entry","feed":"{feed}","seq":{seq},"id":"{id_}","type":0,"size":38,"chunks":0,'
            f'"origin":"{origin}",{face}{ARRIVAL}',
        )

    def _flood(self, author: int, seq: int, hour: int, sendings: list[tuple[int, int]]) -> None:
        """Flood an entry from node to node. A node that has the entries before it stores it; the others get it
        later."""
        hash_ = sha256(f"packet {self.stations[author].feed}/{seq}".encode()).hexdigest()[:16]
        length = node_limits.PACKET_SIZE
        front = f'"kind":"rx","face":"lora","length":{length},"hash":"{hash_}","airtime_us":{_ENTRY_US},'
        known = f'"packet":"entry","feed":"{self.stations[author].feed}","seq":{seq},"verdict":'
        new, duplicate = f'{known}"new"}}', f'{known}"duplicate"}}'

        def verdict(receiver: _Station) -> str:
            held = receiver.held.get(author, 0)
            if held >= seq:
                return duplicate
            return new if held == seq - 1 else '"packet":"unknown","verdict":"not_ours"}'

        heard: defaultdict[int, int] = defaultdict(int)
        heapq.heapify(sendings)
        true_us = 0
        while sendings:
            true_us, number = heapq.heappop(sendings)
            if true_us > _last_us(hour):
                break
            if heard[number] >= 3:  # copies received: the effect of suppression in dense meshes
                continue
            sender = self.stations[number]
            self._sent(sender, true_us, "entry", hash_, length, _ENTRY_US)
            for receiver in self._heard(sender, hour, true_us, front, verdict):
                heard[receiver.number] += 1
                if receiver.held.get(author, 0) == seq - 1:
                    self._commit(receiver, author, seq, true_us + 2_000, "peer")
                    # Average wait of replies on shared media in a busy mesh.
                    wait_us = _ENTRY_US + round(self._chance.expovariate(1 / 8_000_000))
                    heapq.heappush(sendings, (true_us + wait_us, receiver.number))
        self._quiet_us[author] = max(self._quiet_us[author], true_us + SECOND_US)
        if any(station.held.get(author, 0) < seq for station in self.stations):
            first, end = self.options.cut
            self._waiting[end if first <= hour < end else hour + 1].append((author, seq))

    def _repair(self, author: int, seq: int, hour: int, true_us: int) -> None:
        """Send an entry again at nodes that have it and have a neighbour that waits for just that one."""
        givers = [
            station.number
            for station in self.stations
            if station.held.get(author, 0) >= seq
            and any(
                self.stations[number].held.get(author, 0) == seq - 1
                and not self._apart(station, self.stations[number], hour)
                for number, _, _ in station.neighbours
            )
        ]
        begin_us = max(true_us, self._quiet_us[author])
        sendings = [(begin_us + index * SECOND_US, number) for index, number in enumerate(givers)]
        self._flood(author, seq, hour, sendings)


def _last_us(hour: int) -> int:
    """Return the time until which packets are sent in an hour: their effects are in it, too."""
    return (hour + 1) * HOUR_US - SECOND_US


def _distance_m(one: _Station, other: _Station) -> float:
    return math.hypot(one.east_m - other.east_m, one.north_m - other.north_m)


def _poisson(chance: random.Random, mean: float) -> int:
    """Draw the number of events with a given *mean* (Knuth, TAOCP 3.4.1)."""
    limit, product, count = math.exp(-mean), chance.random(), 0
    while product > limit:
        product *= chance.random()
        count += 1
    return count
