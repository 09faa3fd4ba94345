"""Forks as a replica meets them: whichever branch comes first, in whatever order, in either dialect."""

from dataclasses import dataclass

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.nodes import key_of, packets_of
from tests.replication.replicas import NETWORK, contents, offer, offer_all, replica_of
from tinyssb_node.codec.events import ForkFound
from tinyssb_node.feeds.author import ComposedEntry, compose, compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.feeds.children import END, EntryType, serialize_continued
from tinyssb_node.feeds.fork import fork_ids, verify_proof
from tinyssb_node.ids import Dialect, PacketKind, Verdict
from tinyssb_node.replication.packet_outcome import FORKED
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import NOT_WANTED
from tinyssb_node.store.memory import MemoryStore

EVE = key_of("eve")
FEED = EVE.feed_id


@dataclass(frozen=True)
class Fork:
    """A feed with several ends."""

    at: int
    common: tuple[ComposedEntry, ...]
    branches: tuple[tuple[ComposedEntry, ...], ...]

    @property
    def packets(self) -> list[bytes]:
        """All there is, each once."""
        return packets_of([*self.common, *(entry for branch in self.branches for entry in branch)])


def grown(tip: Tip, contents_: list[bytes]) -> tuple[ComposedEntry, ...]:
    """Entries behind *tip*."""
    entries: list[ComposedEntry] = []
    for content in contents_:
        entries.append(compose(NETWORK, EVE, tip, content))
        tip = entries[-1].extended.tip
    return tuple(entries)


def forked(at: int, lengths: list[int], dialects: list[Dialect], size: int = 5) -> Fork:
    """A feed in which *lengths* branches begin at entry *at*; at entry 1 each may have a dialect of its own."""
    start = Tip(FEED, dialects[0], 0, None)
    common = grown(start, [b"c%d" % number + b"c" * size for number in range(1, at)])
    branches = []
    for number, length in enumerate(lengths):
        tip = common[-1].extended.tip if common else Tip(FEED, dialects[number % len(dialects)], 0, None)
        branches.append(grown(tip, [b"%d/%d" % (number, each) + b"b" * size for each in range(length)]))
    return Fork(at, common, tuple(branches))


def known_fork(replica: Replica, store: MemoryStore) -> int | None:
    """Where the feed is known to be forked. What is known has to be proved, shown and acted upon."""
    at = replica.record(FEED).forked_at
    proofs = store.forks()
    assert all(verify_proof(NETWORK, proof) for proof in proofs)
    assert at == (proofs[0].seq if proofs else None)
    assert replica.forks.get(FEED) == (proofs[0] if proofs else None)
    if at is not None:
        assert replica.next_wanted(FEED) == NOT_WANTED
        assert replica.last_to_give(FEED) == at <= replica.frontier(FEED)
    return at


forks = st.builds(
    forked,
    st.integers(1, 4),
    st.lists(st.integers(1, 3), min_size=2, max_size=3),
    st.lists(st.sampled_from(list(Dialect)), min_size=1, max_size=3),
    st.sampled_from([5, 60, 300]),
)


@settings(max_examples=80, deadline=None)
@given(forks, st.randoms(use_true_random=False), st.booleans())
def test_a_fork_is_found_in_any_order_and_nothing_that_was_held_goes(fork: Fork, chance, late: bool) -> None:
    """Also where packets come ahead of what they follow, and ahead of the feed's id."""
    packets = fork.packets
    chance.shuffle(packets)
    store = MemoryStore()
    replica = replica_of(store) if late else replica_of(store, FEED)
    cut = chance.randrange(len(packets)) if late else 0
    events = [event for finding in offer_all(replica, packets[:cut]) for event in finding.events]
    events += replica.add_feed(FEED, None) + replica.adopt_orphans(FEED, None) if late else []
    held = replica.frontier(FEED)
    for packet in packets[cut:]:
        events += offer(replica, packet).events
        assert replica.frontier(FEED) >= held
        held = replica.frontier(FEED)
        known_fork(replica, store)
    assert known_fork(replica, store) == fork.at
    found = [event for event in events if isinstance(event, ForkFound)]
    assert [(event.feed, event.seq) for event in found] == [(FEED, fork.at)]
    (proof,) = store.forks()
    assert {found[0].held, found[0].other} == set(fork_ids(NETWORK, proof))
    assert held >= fork.at
    # All that is held can still be read, side chains that came later included.
    offer_all(replica, packets)
    assert len(contents(store, FEED)) == held == replica.frontier(FEED)


@settings(max_examples=30, deadline=None)
@given(forks, st.booleans())
def test_whichever_branch_comes_first_the_two_nodes_prove_the_same(fork: Fork, kept: bool) -> None:
    ids = set()
    for order in (fork.branches[:2], fork.branches[1::-1]):
        store = MemoryStore()
        replica = replica_of(store, FEED)
        offer_all(replica, packets_of([*fork.common, *order[0]]))
        if kept:
            store.commit(0)
            replica = replica_of(store)
        offer_all(replica, packets_of(order[1]))
        assert known_fork(replica, store) == fork.at
        ids.add(frozenset(fork_ids(NETWORK, store.forks()[0])))
        assert replica.frontier(FEED) == len(fork.common) + len(order[0])
    assert len(ids) == 1


def test_an_earlier_fork_counts_and_a_later_one_does_not() -> None:
    """Three branches: the last common entry of all is what the feed is frozen at."""
    late = forked(4, [2, 2], [Dialect.SPEC])
    early = compose(NETWORK, EVE, late.common[0].extended.tip, b"early")
    store = MemoryStore()
    replica = replica_of(store, FEED)
    offer_all(replica, late.packets)
    assert known_fork(replica, store) == 4
    (found,) = offer(replica, early.packet).events
    assert isinstance(found, ForkFound)
    assert (found.seq, found.other) == (2, early.extended.tip.id)
    assert known_fork(replica, store) == 2
    assert [proof.seq for proof in store.forks()] == [2, 4]
    store.commit(0)
    restarted = replica_of(store)
    assert known_fork(restarted, store) == 2
    assert offer_all(restarted, late.packets)[-1].events == []
    assert restarted.frontier(FEED) == 5


@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_fork_of_a_feed_that_has_left_the_set_is_found(at: int) -> None:
    fork = forked(at, [3 - at, 1] if at < 3 else [0, 0], [Dialect.SPEC])
    feed = [*fork.common, *fork.branches[0]]
    end = compose_fixed(
        NETWORK, EVE, feed[-1].extended.tip, serialize_continued(END), type_=EntryType.CONTINUED
    )
    other = fork.branches[1][0] if at < 3 else compose(NETWORK, EVE, feed[-1].extended.tip, b"no end")
    store = MemoryStore()
    replica = replica_of(store, FEED)
    offer_all(replica, [*packets_of(feed), end.packet])
    replica.retire(FEED)
    finding = offer(replica, other.packet)
    assert (finding.kind, finding.verdict, finding.reason) == (PacketKind.ENTRY, Verdict.INVALID, FORKED)
    assert known_fork(replica, store) == at
    assert replica.record(FEED).retired
    replica.add_feed(FEED, None)
    assert known_fork(replica, store) == at


def test_a_fork_of_a_feed_that_is_not_followed_is_found() -> None:
    fork = forked(2, [2, 2], [Dialect.SPEC])
    store = MemoryStore()
    replica = replica_of(store, FEED)
    offer_all(replica, packets_of([*fork.common, *fork.branches[0]]))
    replica.set_wanted(FEED, wanted=False)
    offer_all(replica, packets_of(fork.branches[1]))
    replica.set_wanted(FEED, wanted=True)
    assert known_fork(replica, store) == 2


def test_a_read_only_node_finds_a_fork_when_it_writes_again() -> None:
    fork = forked(2, [1, 1], [Dialect.SPEC])
    store = MemoryStore()
    offer_all(replica_of(store, FEED), packets_of([*fork.common, *fork.branches[0]]))
    store.commit(0)
    other = fork.branches[1][0].packet
    assert offer(replica_of(store, read_only=True), other).events == []
    replica = replica_of(store)
    assert known_fork(replica, store) is None
    offer(replica, other)
    assert known_fork(replica, store) == 2
