"""A disk that lies: the data that it keeps, and the data that it loses."""

import pytest

from tests.nodes import key_of
from tinyssb_node.codec.events import EntryAppended, Event, Send
from tinyssb_node.ids import FaceName, FeedId, MessageId, Origin, PacketKind
from tinyssb_node.sim import limits
from tinyssb_node.sim.checkers import AirtimeLaw, DutyCycleChecker, InvariantError
from tinyssb_node.sim.disk import DiskLoss, SimulatedDisk
from tinyssb_node.sim.faults import LyingDisk
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.runner import Simulation
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.traffic import BacklogTraffic, PeriodicPostTraffic
from tinyssb_node.sim.world import World
from tinyssb_node.store.port import FeedRecord

FEED = key_of("ana").feed_id
ID = MessageId(bytes(20))


class Bench:
    """A disk with one feed, and a clock."""

    def __init__(self) -> None:
        self.now_us = 0
        self.disk = SimulatedDisk(lambda: self.now_us)
        record = FeedRecord(feed=FEED, dialect=None, seq=0, tip=None, own=False, wanted=True, forked_at=None)
        self.disk.put_feed(record)
        self.disk.commit(0)

    def append(self, now_us: int, origin: Origin = Origin.PEER) -> None:
        self.now_us = now_us
        seq = self.disk.last_arrival() + 1
        self.disk.append_entry(FEED, seq, bytes([seq] * 120), ID, origin, FaceName("air"))
        self.disk.put_meta("last", str(seq))
        self.disk.commit(now_us)

    @property
    def held(self) -> tuple[int, int, str | None]:
        seqs = [entry.seq for entry in self.disk.entries(FEED, 1, 99)]
        assert seqs == list(range(1, len(seqs) + 1))
        return self.disk.feeds()[0].seq, self.disk.last_arrival(), self.disk.get_meta("last")


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_an_honest_disk_keeps_what_was_committed(bench: Bench) -> None:
    bench.append(1)
    bench.disk.put_meta("last", "not committed")
    assert bench.disk.power_off() is None
    assert bench.held == (1, 1, "1")


def test_a_lying_one_loses_it_from_when_it_began_to_lie(bench: Bench) -> None:
    bench.append(1)
    bench.now_us = 5
    bench.disk.lie()
    bench.append(10)
    bench.append(20)
    assert bench.held == (3, 3, "3")
    assert bench.disk.power_off() == DiskLoss(packets=2, since_us=5)
    assert bench.held == (1, 1, "1")
    assert bench.disk.power_off() is None
    bench.append(30)  # and goes on lying
    assert bench.disk.power_off() == DiskLoss(packets=1, since_us=5)


def test_what_its_own_node_publishes_is_written_and_all_before(bench: Bench) -> None:
    bench.disk.lie()
    bench.append(10)
    bench.append(20, Origin.OWN)
    bench.append(30)
    assert bench.disk.power_off() == DiskLoss(packets=1, since_us=20)
    assert bench.held == (2, 2, "2")


def test_what_was_published_and_not_committed_makes_nothing_safe(bench: Bench) -> None:
    bench.disk.lie()
    bench.append(10)
    bench.disk.append_entry(FEED, 2, bytes(120), ID, Origin.OWN, None)
    assert bench.disk.power_off() == DiskLoss(packets=1, since_us=0)
    bench.append(20)
    assert bench.disk.power_off() == DiskLoss(packets=1, since_us=0)


def test_it_is_honest_again_and_its_cache_has_an_end(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.disk.lie()
    bench.append(10)
    bench.disk.lie_no_more()
    assert bench.disk.power_off() is None
    monkeypatch.setattr(limits, "CACHE_MAX", 20)
    bench.disk.lie()
    for now_us in range(20, 30):
        bench.append(now_us)
    loss = bench.disk.power_off()
    assert loss is None or loss.packets < 10


class Ledger(SimulationWatcher):
    """Notes what is lost, what comes again, and who sent after that."""

    def __init__(self) -> None:
        self.losses: list[tuple[str, int]] = []
        self.taken: list[tuple[str, FeedId, int]] = []

    def forgot(self, inhabitant: SimulatedNode, loss: DiskLoss, now_us: int) -> None:
        del now_us
        self.losses.append((inhabitant.name, loss.packets))

    def recorded(self, inhabitant: SimulatedNode, event: Event, now_us: int) -> None:
        del now_us
        if isinstance(event, EntryAppended):
            self.taken.append((inhabitant.name, event.feed, event.seq))


def test_what_a_disk_lost_comes_again_from_the_neighbours() -> None:
    ledger = Ledger()
    options = SimulationOptions(
        nodes=3,
        hours=4,
        converge_s=3_600,
        traffic=(
            BacklogTraffic(nodes=("n0",), entries=5),
            PeriodicPostTraffic(nodes=("n1-n2",), every_s=300, until_s=1_500),
        ),
        faults=(LyingDisk(nodes=("n2",), at_s=0, until_s=1_400, down_s=60),),
    )
    simulation = Simulation(options, [ledger])
    report = simulation.run()
    assert report.converged
    ((name, lost),) = ledger.losses
    assert name == "n2"
    assert lost > 0
    again = len(ledger.taken) - len(set(ledger.taken))
    assert again == lost
    own = simulation.world.inhabitants["n2"].feed
    assert all(feed != own for name, feed, seq in ledger.taken if ledger.taken.count((name, feed, seq)) > 1)


def test_airtime_that_a_disk_forgot_is_not_held_against_a_node() -> None:
    node = World(1).add("n0")
    send = Send(FaceName("air"), bytes(120), PacketKind.ENTRY)
    duty = DutyCycleChecker({"n0": AirtimeLaw(most_us=100)})
    duty.sending(node, send, 0, 60)
    duty.sending(node, send, 1_000, 1_040)
    duty.forgot(node, DiskLoss(packets=0, since_us=1_000), 2_000)
    duty.sending(node, send, 3_000, 3_040)
    with pytest.raises(InvariantError, match="101 us of an hour"):
        duty.sending(node, send, 4_000, 4_001)
    duty.forgot(World(1).add("n1"), DiskLoss(packets=0, since_us=0), 2_000)
