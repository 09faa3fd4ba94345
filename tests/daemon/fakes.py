"""Stand-ins for what surrounds a runtime."""

import asyncio
import random
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import structlog

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import DaemonStarted
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.errors import StoreFullError
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, FaceName, NetworkName
from tinyssb_node.node.networks import Networks
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.link import LinkProfile, stream_profile
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.port import Store

KEY = SigningKey(bytes(32))
OTHER = SigningKey(b"\x01" * 32)
NETWORK = Network()
VILLAGE = NetworkName("village")
VILLAGE_NETWORK = Network(b"only us")

WIRE = FaceName("wire")
"""The name of a fake face."""


class FakeClock:
    """Time stands still until somebody moves it."""

    def __init__(self) -> None:
        self.mono_us = 0
        self.set_us = 1_700_000_000_000_000
        """The wall clock's time when the other one shows 0."""

    def now_us(self) -> int:
        return self.mono_us

    def wall_us(self) -> int:
        return self.set_us + self.mono_us


class FullableStore(MemoryStore):
    """A store on a disk that can be full."""

    full = False

    def commit(self, wall_us: int) -> None:
        if self.full:
            raise StoreFullError("no room")
        super().commit(wall_us)


@dataclass
class FakeFace:
    """A face that keeps what it is given."""

    name: FaceName = WIRE
    profile: LinkProfile = field(default_factory=stream_profile)
    packets: list[bytes] = field(default_factory=list)
    arrived: asyncio.Event = field(default_factory=asyncio.Event)
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    broken: bool = False
    keeps: int = 0
    """How many times carrier sense says that somebody else is sending."""

    def __post_init__(self) -> None:
        self.gate.set()

    async def send(self, packets: list[bytes]) -> int:
        if self.broken:
            raise OSError("unplugged")
        await self.gate.wait()
        if self.keeps:
            self.keeps -= 1
            return 0
        self.packets += packets
        self.arrived.set()
        return len(packets)


@dataclass
class Bench:
    """A runtime with everything around it in reach."""

    runtime: Runtime
    store: FullableStore
    events: EventLog
    clock: FakeClock
    folder: Path
    lines: list[structlog.typing.EventDict]
    places: list[NetworkStorage]
    """Of all networks; ``store`` and ``events`` are those of the first."""
    logger: Logger
    """A logger whose messages become lines."""
    shown: list[int]
    """The times at which the runtime showed that it is alive."""
    room: bool = True

    def records(self, network: NetworkName = DEFAULT_NETWORK) -> str:
        """All of a network's event log, as it is on the disk."""
        return "".join(path.read_text() for path in sorted((self.folder / network).rglob("*.jsonl")))

    def close(self) -> None:
        """End all event logs."""
        self.store.full = False
        for place in self.places:
            place.events.close()


def make_node(
    store: Store, key: SigningKey = KEY, *, network: Network = NETWORK, read_only: bool = False
) -> Node:
    """A node, of the open network unless told otherwise."""
    return Node(
        store=store,
        network=network,
        entropy=random.Random(1),
        key=key,
        dialect=Dialect.SPEC,
        read_only=read_only,
    )


def make_place(folder: Path, name: NetworkName, network: Network, clock: FakeClock) -> NetworkStorage:
    """Make the storage of a network."""
    store = FullableStore()
    events = EventLog.open(folder / name, KEY.feed_id[:8].hex(), store, clock.wall_us())
    started = DaemonStarted(
        name="test", feed=KEY.feed_id, dialect=Dialect.SPEC, version="0", clean=events.clean
    )
    events.begin(started, clock.wall_us(), clock.now_us())
    return NetworkStorage(name=name, network=network, store=store, events=events)


def make_bench(folder: Path, networks: Mapping[NetworkName, Network] | None = None) -> Bench:
    """A runtime in *folder*, not yet running."""
    clock = FakeClock()
    places = [
        make_place(folder, name, network, clock)
        for name, network in (networks or {DEFAULT_NETWORK: NETWORK}).items()
    ]
    store = places[0].store
    assert isinstance(store, FullableStore)
    lines: list[structlog.typing.EventDict] = []

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        lines.append(line)
        raise structlog.DropEvent

    shown: list[int] = []
    logger: Logger = structlog.wrap_logger(None, processors=[keep])
    bench: Bench

    def make_networks(read_only: bool) -> Networks:
        return Networks(
            {
                place.name: make_node(_store(place), network=place.network, read_only=read_only)
                for place in places
            }
        )

    runtime = Runtime(
        make_networks=make_networks,
        places=places,
        clock=clock,
        logger=logger,
        has_room=lambda: bench.room,
        show_life=shown.append,
    )
    bench = Bench(runtime, store, places[0].events, clock, folder, lines, places, logger, shown)
    return bench


def _store(place: NetworkStorage) -> MemoryStore:
    assert isinstance(place.store, MemoryStore)
    return place.store
