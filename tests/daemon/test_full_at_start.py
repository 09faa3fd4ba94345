"""A daemon that starts on a full disk serves what it has, and writes once there is room."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.daemon.fakes import KEY, NETWORK, FakeClock, FullableStore, make_node
from tinyssb_node import limits
from tinyssb_node.codec.events import DaemonStarted
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.daemon.network_storage import NetworkStorage, bind_store
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.errors import EventLogFullError, NodeReadOnlyError
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect
from tinyssb_node.node.networks import Networks

NODE = KEY.feed_id[:8].hex()


class Machine:
    """A node's disk, over several boots."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.store = FullableStore()
        self.clock = FakeClock()
        self.events: EventLog

    def boot(self) -> Runtime:
        """Start as the daemon does."""
        store, clock = self.store, self.clock
        assert bind_store(store, NETWORK, clock.wall_us())
        self.events = EventLog.open(self.folder, NODE, store, clock.wall_us())
        place = NetworkStorage(name=DEFAULT_NETWORK, network=NETWORK, store=store, events=self.events)
        runtime = Runtime(
            make_networks=lambda read_only: Networks(
                {place.name: make_node(store, network=NETWORK, read_only=read_only)}
            ),
            places=[place],
            clock=clock,
            logger=structlog.wrap_logger(None, processors=[_drop]),
            has_room=lambda: not store.full,
        )
        started = DaemonStarted(
            name="test", feed=KEY.feed_id, dialect=Dialect.SPEC, version="0", clean=self.events.clean
        )
        runtime.begin(place.name, started)
        return runtime

    def kinds(self, boot: int) -> list[str]:
        """Kinds of the records of a boot."""
        lines = [
            json.loads(line)
            for path in sorted(self.folder.rglob("*.jsonl"))
            for line in path.read_text().splitlines()
        ]
        return [line["kind"] for line in lines if line["boot"] == boot]


def _drop(_logger: object, _method: str, _line: structlog.typing.EventDict) -> str:
    raise structlog.DropEvent


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    """One that published an entry in its first boot, and then ran out of room."""
    machine = Machine(tmp_path)
    first = machine.boot()
    first.do(lambda node, now_us: node.publish(b"kept", now_us))
    machine.events.close()
    machine.store.full = True
    yield machine
    machine.store.full = False
    machine.events.close()


def turn(machine: Machine, runtime: Runtime) -> None:
    """Some time later."""
    machine.clock.mono_us += limits.RETRY_US
    runtime.turn()


def test_it_serves_what_it_has_and_signs_nothing(machine: Machine) -> None:
    runtime = machine.boot()
    assert runtime.read_only is not None
    assert [entry.seq for entry in machine.store.entries(KEY.feed_id, 1, 9)] == [1]
    with pytest.raises(NodeReadOnlyError):
        runtime.do(lambda node, now_us: node.publish(b"refused", now_us))
    turn(machine, runtime)
    assert runtime.read_only is not None
    assert machine.kinds(boot=2) == []


def test_once_there_is_room_it_writes_and_its_log_begins_as_any_other(machine: Machine) -> None:
    runtime = machine.boot()
    machine.store.full = False
    turn(machine, runtime)
    assert runtime.read_only is None
    runtime.do(lambda node, now_us: node.publish(b"more", now_us))
    assert machine.kinds(boot=2)[:2] == ["start", "mark"]
    assert machine.kinds(boot=2).count("entry") == 1
    assert machine.store.get_meta("boot") == "2"


def test_a_boot_that_never_wrote_leaves_its_number_to_the_next(machine: Machine) -> None:
    machine.boot()
    machine.store.full = False
    runtime = machine.boot()
    assert runtime.read_only is None
    assert machine.events.boot == 2
    assert machine.kinds(boot=2) == ["start", "mark"]


def test_nothing_is_recorded_under_a_number_the_store_does_not_keep(machine: Machine) -> None:
    machine.boot()
    machine.store.full = False
    # There is room for the log, but the boot's number comes first: at the next tick.
    with pytest.raises(EventLogFullError):
        machine.events.flush()
    assert machine.kinds(boot=2) == []
    machine.events.tick(machine.clock.wall_us(), machine.clock.now_us())
    assert machine.kinds(boot=2) == ["start", "mark"]


def test_a_node_that_never_wrote_anything_starts_empty(tmp_path: Path) -> None:
    machine = Machine(tmp_path)
    machine.store.full = True
    runtime = machine.boot()
    assert runtime.read_only is not None
    machine.store.full = False
    turn(machine, runtime)
    runtime.do(lambda node, now_us: node.publish(b"first", now_us))
    assert machine.kinds(boot=1)[:2] == ["start", "mark"]
    machine.events.close()
