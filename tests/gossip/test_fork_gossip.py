"""Nodes on different branches of a feed: all learn of the fork, and everything else goes on."""

import pytest

from tests.meshes import HOUR_US, Mesh
from tests.nodes import Bench, key_of, packets_of, radio_profile, written
from tests.replication.replicas import NETWORK, offer_all, replica_of
from tinyssb_node.codec.dmx import want_dmx
from tinyssb_node.codec.events import ForkFound, WantSeen
from tinyssb_node.codec.packets import (
    NamedWant,
    Want,
    parse_want,
    serialize_diff,
    serialize_named_want,
    serialize_want,
)
from tinyssb_node.feeds.author import ComposedEntry, compose
from tinyssb_node.feeds.fork import verify_proof
from tinyssb_node.ids import Dialect, Direction, PacketKind
from tinyssb_node.replication import limits
from tinyssb_node.replication.frontiers import SaltedFrontiers
from tinyssb_node.replication.salted import short_id
from tinyssb_node.scheduling.link import stream_profile
from tinyssb_node.store.memory import MemoryStore

EVE = key_of("eve")
FEED = EVE.feed_id
MINUTE_US = 60_000_000


def branch(at: int, length: int, name: bytes) -> list[ComposedEntry]:
    """A feed of *length* entries, from entry *at* on as *name* has it."""
    feed = list(written(EVE, [b"common %d" % number for number in range(1, at)]))
    for number in range(at, length + 1):
        tip = feed[-1].extended.tip if feed else written(EVE, [b"x"])[0].extended.tip
        if not feed:
            feed.append(written(EVE, [b"%s 1" % name])[0])
            continue
        feed.append(compose(NETWORK, EVE, tip, b"%s %d" % (name, number)))
    return feed


def holding(feed: list[ComposedEntry]) -> MemoryStore:
    """The store of somebody who holds *feed*."""
    store = MemoryStore()
    offer_all(replica_of(store, FEED), packets_of(feed))
    store.commit(0)
    return store


def meeting(lengths: dict[str, int], at: int, *, radio: bool) -> Mesh:
    """People who hold branches of so many entries, and have never met."""
    mesh = Mesh()
    for name, length in lengths.items():
        mesh.join(name, holding(branch(at, length, name[:1].encode())))
    mesh.radio() if radio else mesh.wire_all()
    for name in lengths:
        mesh.do(name, mesh[name].node.publish(b"I am " + name.encode(), mesh.now_us)[1])
    return mesh


def per_hour(mesh: Mesh, hours: int = 2) -> float:
    before = mesh.sent
    mesh.pass_time(hours * HOUR_US)
    return (mesh.sent - before) / hours


@pytest.mark.parametrize("radio", [False, True])
@pytest.mark.parametrize(("at", "length"), [(3, 3), (1, 1), (1, 4), (3, 7), (5, 40)])
def test_two_branches_of_the_same_length_are_noticed(at: int, length: int, radio: bool) -> None:
    mesh = meeting({"ana": length, "ben": length}, at, radio=radio)
    mesh.pass_time(9 * HOUR_US if radio else HOUR_US)
    for name in ("ana", "ben"):
        record = next(record for record in mesh[name].node.feeds() if record.feed == FEED)
        assert (record.seq, record.forked_at) == (length, at)
        assert len(mesh[name].of(ForkFound)) == 1
    mesh.pass_time(HOUR_US)  # the last requests of the search
    assert per_hour(mesh) <= 1.1 * quiet_per_hour(radio=radio) + 4


@pytest.mark.parametrize("radio", [False, True])
@pytest.mark.parametrize(("at", "here", "there"), [(3, 5, 7), (1, 1, 3), (20, 22, 40), (3, 5, 60)])
def test_two_who_hold_different_branches_learn_of_it_and_share_all_else(
    at: int, here: int, there: int, radio: bool
) -> None:
    mesh = meeting({"ana": here, "ben": there}, at, radio=radio)
    mesh.pass_time(HOUR_US)
    for name, length in (("ana", here), ("ben", there)):
        record = next(record for record in mesh[name].node.feeds() if record.feed == FEED)
        assert (record.seq, record.forked_at) == (length, at)
        (proof,) = mesh[name].store.forks()
        assert verify_proof(NETWORK, proof)
        assert len(mesh[name].of(ForkFound)) == 1
    # What they write from then on reaches the other, and nothing is said of the forked feed any more.
    mesh.do("ana", mesh["ana"].node.publish(b"and on it goes", mesh.now_us)[1])
    busy = per_hour(mesh)
    held = [{**mesh[name].held(), FEED: 0} for name in ("ana", "ben")]
    assert held[0] == held[1]
    assert busy <= 1.1 * quiet_per_hour(radio=radio) + 4  # the message, and what asks for more behind it


def quiet_per_hour(*, radio: bool) -> float:
    """Return the packets an hour of two nodes that hold the same."""
    mesh = Mesh()
    for name in ("ana", "ben"):
        mesh.join(name, holding(branch(3, 5, b"same")))
    mesh.radio() if radio else mesh.wire_all()
    for name in ("ana", "ben"):
        mesh.do(name, mesh[name].node.publish(b"I am " + name.encode(), mesh.now_us)[1])
    mesh.pass_time(HOUR_US)
    return per_hour(mesh)


@pytest.mark.parametrize(
    "lengths",
    [
        {"ana": 5, "ada": 4, "ben": 7, "bob": 7, "cleo": 9, "zoe": 0},
        {"z928": 0, "c829": 9, "b_221": 4, "b570": 7, "a_186": 7, "a506": 7},
        {"c829": 9, "b_221": 4, "b570": 7, "a_186": 7, "a506": 7},
    ],
)
def test_all_in_a_crowd_with_three_branches_know_the_first_place(lengths: dict[str, int]) -> None:
    mesh = meeting(lengths, 3, radio=True)
    mesh.pass_time(HOUR_US // 2)
    for name, member in mesh.members.items():
        record = next(record for record in member.node.feeds() if record.feed == FEED)
        assert record.forked_at == 3, name
    others = {tuple(sorted({**member.held(), FEED: 0}.items())) for member in mesh.members.values()}
    assert len(others) == 1


def test_the_news_goes_from_one_to_the_next() -> None:
    mesh = meeting({"ana": 5, "ada": 5, "ben": 7}, 3, radio=False)
    far = mesh.join("far", holding(branch(3, 5, b"a")))
    mesh.wire(("ada", "far"))
    mesh.pass_time(HOUR_US)
    assert next(record for record in far.node.feeds() if record.feed == FEED).forked_at == 3


# --- one node


def want(bench: Bench, seq: int) -> bytes:
    """A request for the feed, which is all there is."""
    return serialize_want(want_dmx(NETWORK, bench.node.set_state), Want(offset=0, seqs=(seq,)))


def knowing(at: int = 3, length: int = 5) -> tuple[Bench, set[bytes]]:
    """A node that knows a fork, and what proves it."""
    ours, theirs = branch(at, length, b"a"), branch(at, length, b"b")
    bench = Bench(store=holding(ours))
    bench.take()
    bench.hear(theirs[at - 1].packet)
    return bench, {ours[at - 1].packet, theirs[at - 1].packet}


def test_who_finds_a_fork_says_both_entries_on_every_face() -> None:
    bench, proof = knowing()
    assert set(bench.take(PacketKind.ENTRY)) == proof


def test_a_fork_further_back_is_said_at_once_too() -> None:
    bench, _ = knowing(at=3)
    bench.take()
    ours, theirs = branch(3, 5, b"a"), branch(2, 2, b"early")
    bench.hear(theirs[1].packet)
    assert set(bench.take(PacketKind.ENTRY)) == {ours[1].packet, theirs[1].packet}
    assert [event.seq for event in bench.seen(ForkFound)] == [3, 2]


def test_neither_branch_is_given_but_for_what_proves_the_fork() -> None:
    bench, proof = knowing()
    bench.pass_time(limits.FORK_TELL_US)
    bench.take()
    bench.hear(want(bench, 1))
    given = bench.take(PacketKind.ENTRY)
    assert given == [entry.packet for entry in branch(3, 3, b"a")]
    for asked in (4, 6):
        bench.pass_time(limits.FORK_TELL_MAX_US)
        bench.take()
        bench.hear(want(bench, asked))
        assert set(bench.take(PacketKind.ENTRY)) == proof


def test_who_knows_no_forks_is_told_ever_more_rarely() -> None:
    bench, _ = knowing()
    bench.take()
    told = []
    for minute in range(12 * 60):
        bench.hear(want(bench, 6))
        told += [minute] * len(bench.take(PacketKind.ENTRY))
        bench.pass_time(MINUTE_US)
    assert len(told) < 2 * 20


def test_a_new_neighbour_is_told_at_once() -> None:
    bench, proof = knowing()
    bench.up("ws#9", stream_profile())  # type: ignore[arg-type] # a name
    bench.take()
    bench.hear(want(bench, 6), "ws#9")  # type: ignore[arg-type] # a name
    assert set(bench.take(PacketKind.ENTRY)) == proof


def test_a_neighbour_who_comes_back_is_told_at_once() -> None:
    bench, proof = knowing()
    face = bench.node.faces()[0].name
    bench.perform(bench.node.face_down(face, "gone", bench.now_us))
    bench.up(face, stream_profile())
    bench.take()
    bench.hear(want(bench, 6), face)
    assert set(bench.take(PacketKind.ENTRY)) == proof


def test_after_a_restart_it_is_still_told() -> None:
    bench, proof = knowing()
    bench = Bench(store=bench.store)
    bench.take()
    bench.hear(want(bench, 6))
    assert set(bench.take(PacketKind.ENTRY)) == proof


def asked(bench: Bench) -> list[int]:
    """Return the requested numbers, each once in a row."""
    numbers = [seen.seqs[0] for seen in bench.seen(WantSeen) if seen.direction is Direction.TX]
    return [number for at, number in enumerate(numbers) if at == 0 or numbers[at - 1] != number]


def claims_more(bench: Bench, minutes: int, *, gives: bool = True) -> None:
    """Somebody says that he has more, and gives what nobody can place."""
    for minute in range(minutes):
        bench.hear(want(bench, 900))
        if gives:
            bench.hear(minute.to_bytes(120, "big"))
        bench.pass_time(MINUTE_US)
        bench.take()


def begin_search(bench: Bench) -> None:
    """Let it doubt until it asks for what it holds already."""
    claims_more(bench, 10)
    for _ in range(60):
        if asked(bench)[-1] < 6:
            return
        bench.hear(want(bench, 900))
        bench.pass_time(MINUTE_US // 60)
    raise AssertionError("it does not search")


def test_a_digest_of_a_moment_ago_begins_no_search() -> None:
    """Another mark and then the same number: the peer grew in between, unless it happens again."""
    feed = branch(3, 5, b"a")
    bench = Bench(store=holding(feed))
    theirs = MemoryStore()
    offer_all(replica_of(theirs, FEED), packets_of(branch(3, 5, b"b")))
    goset, salt = NETWORK.goset_dmx, b"salt"
    for times in (1, 2):
        held = SaltedFrontiers(salt, [(FEED, 5)], {FEED: b"%d" % times * 20})
        bench.hear(serialize_diff(goset, held.diff(0, 0)))
        for _ in range(3):
            bench.hear(serialize_named_want(goset, NamedWant(salt, ((short_id(salt, FEED), 6),))))
            bench.pass_time(MINUTE_US)
        assert (min(asked(bench)) < 6) == (times == 2)


def test_a_liar_gains_a_bounded_number_of_requests() -> None:
    bench = Bench(store=holding(branch(3, 5, b"a")))
    claims_more(bench, 24 * 60)
    assert min(asked(bench)) == 1
    searched = sum(seen.seqs[0] < 6 for seen in bench.seen(WantSeen) if seen.direction is Direction.TX)
    # Pauses of 10, 20, 40 … minutes fit seven times into a day.
    assert searched <= 8 * 4 * (limits.SEARCH_PATIENCE + 1)


def test_who_gives_nothing_is_not_searched() -> None:
    bench = Bench(store=holding(branch(3, 5, b"a")))
    claims_more(bench, 60, gives=False)
    assert asked(bench) == [6]


def test_a_search_ends_when_what_was_lacking_comes() -> None:
    feed = branch(3, 6, b"a")
    bench = Bench(store=holding(feed[:5]))
    begin_search(bench)
    bench.hear(feed[5].packet)
    bench.pass_time(HOUR_US)
    assert asked(bench)[-1] == 7
    assert bench.seq_of(FEED) == 6


def test_a_search_ends_with_its_face() -> None:
    bench = Bench(store=holding(branch(3, 5, b"a")), profile=radio_profile())
    begin_search(bench)
    face = bench.node.faces()[0].name
    bench.perform(bench.node.face_down(face, "gone", bench.now_us))
    before = len(asked(bench))
    bench.up(face, radio_profile())
    bench.pass_time(HOUR_US)
    assert asked(bench)[before:] == [6]


def test_what_is_common_is_not_asked_for_again() -> None:
    feed = branch(15, 20, b"a")
    bench = Bench(store=holding(feed))
    claims_more(bench, 10)
    while asked(bench)[-1] > 14:
        bench.hear(want(bench, 900))
        bench.pass_time(MINUTE_US // 60)
    at = asked(bench)[-1]
    bench.hear(feed[at - 1].packet)
    said = len(bench.seen(WantSeen))
    bench.pass_time(MINUTE_US)
    assert next(seen.seqs[0] for seen in bench.seen(WantSeen)[said:]) == at + 1


def test_a_reply_from_our_own_branch_does_not_end_the_search() -> None:
    feed = branch(3, 5, b"a")
    bench = Bench(store=holding(feed))
    begin_search(bench)
    assert asked(bench)[-1] == 5
    bench.hear(feed[4].packet)
    bench.pass_time(MINUTE_US // 60)
    assert asked(bench)[-1] == 4


def test_while_a_fork_is_searched_plain_entries_are_requested() -> None:
    bench = Bench(store=holding(branch(3, 5, b"a")), profile=radio_profile())
    bench.pass_time(MINUTE_US)
    assert parse_want(bench.take(PacketKind.WANT)[-1]).lacking is not None
    begin_search(bench)
    assert parse_want(bench.take(PacketKind.WANT)[-1]).lacking is None


@pytest.mark.parametrize("dialect", list(Dialect))
def test_an_unfollowed_feed_is_not_searched(dialect: Dialect) -> None:
    store = MemoryStore()
    offer_all(replica_of(store, FEED), packets_of(written(EVE, [b"one", b"two"], dialect)))
    store.commit(0)
    bench = Bench(store=store)
    bench.perform(bench.node.unfollow(FEED, 0))
    claims_more(bench, 60)
    assert asked(bench) in ([], [0])
