"""Blocked people, from whom the daemon accepts nothing: contacts and lists, whenever they change."""

from pathlib import Path
from typing import cast

import pytest
import structlog

from tests.nodes import Bench, key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.blocklist import BlockStep, serialize_block_step
from tinyssb_node.content.contacts import CONTACTS_FILE, follow_list, set_blocked
from tinyssb_node.daemon.block_policy import BlockPolicy
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName, blocked_short
from tinyssb_node.store.memory import MemoryStore

ANA, BEN, EVE = key_of("ana"), key_of("ben"), key_of("eve")
A, B, E = (blocked_short(key.feed_id) for key in (ANA, BEN, EVE))
OTHERS = tuple(bytes((number,)) * 12 for number in range(20))
VILLAGE = NetworkName("village")


class Kept:
    """A keeper over two networks, in the first of which a node holds feeds."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.bench = Bench()
        self.lines: list[dict[str, object]] = []
        stores = {DEFAULT_NETWORK: self.bench.store, VILLAGE: MemoryStore()}
        places = [
            NetworkStorage(name=name, network=Network(), store=store, events=None)  # type: ignore[arg-type] # none is written
            for name, store in stores.items()
        ]
        structlog.configure(processors=[self._note])
        self.keeper = BlockPolicy(home, places, structlog.get_logger())

    def _note(self, _logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        self.lines.append(dict(line))
        raise structlog.DropEvent

    def now(self, network: NetworkName = DEFAULT_NETWORK) -> set[bytes]:
        return set(self.keeper.blocked(network))

    def says(self, *steps: BlockStep, cut: int | None = None) -> list[bytes]:
        """Ben publishes *steps*; the node has the first *cut* packets. Returns the others."""
        packets = packets_of(written(BEN, [serialize_block_step(step) for step in steps]))
        self.bench.follow(BEN.feed_id)
        self.hears(packets[:cut])
        return [] if cut is None else packets[cut:]

    def hears(self, packets: list[bytes]) -> None:
        for packet in packets:
            self.bench.hear(packet)


@pytest.fixture
def kept(tmp_path: Path) -> Kept:
    return Kept(tmp_path)


def test_our_users_blocks_count_in_all_networks_as_soon_as_they_are_written(kept: Kept) -> None:
    assert kept.now() == set()
    set_blocked(kept.home, EVE.feed_id, blocked=True)
    assert kept.now() == kept.now(VILLAGE) == {E}
    set_blocked(kept.home, EVE.feed_id, blocked=False)
    assert kept.now() == set()


def test_who_asks_keeps_no_news_from_the_node(kept: Kept) -> None:
    told: list[NetworkName] = []

    class Listening:
        """A runtime whose nodes only listen."""

        def do(self, _tell: object, network: NetworkName) -> None:
            told.append(network)

    for network in (DEFAULT_NETWORK, VILLAGE):
        assert kept.keeper.for_node(network) == frozenset()
    kept.keeper.tick(cast("Runtime", Listening()))
    assert told == [], "they have asked"
    set_blocked(kept.home, EVE.feed_id, blocked=True)
    assert kept.now() == {E}
    for _ in range(2):
        kept.keeper.tick(cast("Runtime", Listening()))
    assert told == [DEFAULT_NETWORK, VILLAGE], "each once"


def test_a_list_counts_where_it_was_published_as_long_as_it_is_followed(kept: Kept) -> None:
    kept.says(BlockStep((E, A)), BlockStep((), (A,)))
    assert kept.now() == set()
    follow_list(kept.home, BEN.feed_id, followed=True)
    assert (kept.now(), kept.now(VILLAGE)) == ({E}, set())
    follow_list(kept.home, BEN.feed_id, followed=False)
    assert kept.now() == set()


def test_what_a_list_says_later_counts_later(kept: Kept) -> None:
    follow_list(kept.home, BEN.feed_id, followed=True)
    assert kept.now() == set(), "nothing of it is here"
    later = kept.says(BlockStep((E,)), BlockStep((A,), (E,)), cut=1)
    assert kept.now() == {E}
    kept.hears(later)
    assert kept.now() == {A}


def test_a_long_step_counts_once_it_is_whole_in_its_place(kept: Kept) -> None:
    follow_list(kept.home, BEN.feed_id, followed=True)
    rest = kept.says(BlockStep((*OTHERS, E)), BlockStep((A,), (E,)), cut=1)
    kept.hears(rest[-1:])
    assert kept.now() == {A}
    kept.hears(rest[:-1])
    assert kept.now() == {*OTHERS, A}, "the later one counts for what both say"


def test_our_users_word_goes_before_lists(kept: Kept) -> None:
    kept.says(BlockStep((E, A)))
    follow_list(kept.home, BEN.feed_id, followed=True)
    set_blocked(kept.home, EVE.feed_id, blocked=False)
    set_blocked(kept.home, FeedId(b"?" * 32), blocked=True)
    assert kept.now() == {A, b"?" * 12}


def test_a_list_has_no_effect_on_the_list_that_follows_it(kept: Kept) -> None:
    kept.says(BlockStep((E,)))
    follow_list(kept.home, EVE.feed_id, followed=True)
    assert kept.now() == set()


def test_a_broken_file_changes_nothing_and_is_told_of_once(kept: Kept) -> None:
    set_blocked(kept.home, EVE.feed_id, blocked=True)
    assert kept.now() == {E}
    (kept.home / CONTACTS_FILE).write_text("{")
    assert kept.now() == kept.now() == {E}
    assert len(kept.lines) == 1
    assert "blocked feeds stay as they were" in str(kept.lines[0]["event"])
