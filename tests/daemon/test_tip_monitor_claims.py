"""Claims of strangers about our own feed, over restarts of the daemon."""

from pathlib import Path
from typing import cast

import pytest
import structlog

from tests.nodes import Bench, key_of
from tinyssb_node.codec.dmx import Network, want_dmx
from tinyssb_node.codec.packets import Want, serialize_want
from tinyssb_node.daemon.eventlog import EventLog
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.tip_monitor import TipMonitor
from tinyssb_node.gossip.certainty import TipUncertainError
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.node.networks import Networks

ANA = key_of("ana")
SECOND = 1_000_000
DAY_US = 86_400 * SECOND


class Hands:
    """A clock that is set by hand."""

    def __init__(self) -> None:
        self.us = 0
        self.since_us = 1_700_000_000 * SECOND
        """The wall clock when the machine was switched on."""

    def now_us(self) -> int:
        return self.us

    def wall_us(self) -> int:
        return self.since_us + self.us

    def restart(self, down_us: int) -> None:
        self.since_us += self.us + down_us
        self.us = 0


class Daemon:
    """A node and its monitor, in the process of this test."""

    def __init__(self, home: Path, clock: Hands, before: Bench) -> None:
        place = NetworkStorage(
            name=DEFAULT_NETWORK, network=Network(), store=before.store, events=cast("EventLog", None)
        )
        self._monitor = TipMonitor(
            home / "tip.json", ANA.feed_id, [place], clock=clock, logger=structlog.get_logger(), sure=True
        )
        self.bench = Bench(key=ANA, store=before.store, certainty=self._monitor.certainty(DEFAULT_NETWORK))
        self._networks = Networks({DEFAULT_NETWORK: self.bench.node})
        self._clock = clock

    def hear_the_lie(self) -> None:
        lie = Want(offset=0, seqs=(2**31,))
        self.bench.hear(serialize_want(want_dmx(Network(), self.bench.node.set_state), lie))
        self.tick()

    def tick(self) -> None:
        self._monitor.tick(self._networks, self.bench.now_us)

    def pass_time(self, span_us: int) -> None:
        self.bench.pass_time(span_us)
        self._clock.us += span_us
        self.tick()


@pytest.fixture
def written() -> Bench:
    bench = Bench(key=ANA)
    bench.publish(b"one")
    return bench


def test_a_mute_costs_a_minute_a_day_whatever_is_restarted(tmp_path: Path, written: Bench) -> None:
    clock = Hands()
    first = Daemon(tmp_path, clock, written)
    first.hear_the_lie()
    with pytest.raises(TipUncertainError):
        first.bench.publish(b"no")
    first.pass_time(61 * SECOND)
    first.bench.publish(b"two")
    for down_us, silenced in ((SECOND, False), (DAY_US - 120 * SECOND, False), (120 * SECOND, True)):
        clock.restart(down_us)
        again = Daemon(tmp_path, clock, written)
        again.hear_the_lie()
        assert (again.bench.node.waiting(again.bench.now_us) is not None) is silenced
