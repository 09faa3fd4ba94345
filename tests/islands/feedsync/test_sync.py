import random

import pytest

from tests.islands.feedsync.gateways import Gateway, carry, connect
from tests.nodes import key_of, packets_of, written
from tinyssb_node.ids import Dialect
from tinyssb_node.islands.feedsync import limits


def test_each_gets_what_it_wants_and_nothing_else() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"a1", b"a2" * 300, b"a3")
    bob = other.write("bob", b"b1")
    eve = other.write("eve", b"e1", dialect=Dialect.DEPLOYED)
    assert connect(one, other, [eve], other_wants=[ana]) == []
    assert other.packets(ana) == one.packets(ana)
    assert one.packets(eve) == other.packets(eve)
    assert one.packets(bob) == []
    assert one.duplicates == other.duplicates == 0


def test_what_is_new_comes_while_the_connection_lives_and_is_not_given_back() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"a1")
    bob = other.write("bob", b"b1")
    connect(one, other, [ana, bob])
    for number in range(5):
        one.write("ana", b"more %d" % number * 100)
        other.write("bob", b"%d" % number)
        assert carry(one, other) == []
    assert one.packets(bob) == other.packets(bob)
    assert other.packets(ana) == one.packets(ana)
    assert one.duplicates == other.duplicates == 0


def test_feeds_that_nobody_had_at_first_come_when_they_are_there() -> None:
    one, other = Gateway(), Gateway()
    ana = key_of("ana").feed_id
    connect(one, other, [ana])
    one.write("ana", b"here I am")
    assert one.sync is not None
    one.sync.offer([ana])
    assert carry(one, other) == []
    assert other.packets(ana) == one.packets(ana)


def test_side_chains_of_a_feed_that_nobody_had_at_first_come_with_it() -> None:
    feed = packets_of(written(key_of("ana"), [b"x" * 900]))
    ana = key_of("ana").feed_id
    one, other = Gateway(), Gateway()
    other.replica.add_feed(ana, None)
    other.take(*feed[:3])
    connect(one, other, other_wants=[ana])
    one.replica.add_feed(ana, None)
    one.take(*feed)
    assert one.sync is not None
    one.sync.offer([ana])
    assert carry(one, other) == []
    assert other.packets(ana) == feed


@pytest.mark.parametrize("held", range(1, 13))
def test_a_side_chain_goes_on_where_it_was_broken_off(held: int) -> None:
    """Entry 1, then entry 2 with 9 chunks, then entry 3: *held* packets of them are there."""
    feed = packets_of(written(key_of("ana"), [b"first", b"x" * 900, b"last"]))
    assert len(feed) == 12
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"first", b"x" * 900, b"last")
    other.replica.add_feed(ana, None)
    other.take(*feed[:held])
    connect(one, other, [ana])
    assert other.packets(ana) == feed
    assert other.duplicates == 0
    assert other.sync is not None
    assert other.sync.counts.got == 12 - held


def test_who_gives_entries_gives_their_chunks_once_they_have_come() -> None:
    """The one in the middle has entry and two chunks of nine; the rest comes later."""
    feed = packets_of(written(key_of("ana"), [b"x" * 900]))
    middle, end = Gateway(), Gateway()
    ana = key_of("ana").feed_id
    middle.replica.add_feed(ana, None)
    middle.take(*feed[:3])
    connect(middle, end, [ana])
    assert end.packets(ana) == feed[:3]
    middle.take(*feed[3:])
    assert middle.sync is not None
    middle.sync.changed([ana])
    assert carry(middle, end) == []
    assert end.packets(ana) == feed
    assert end.duplicates == 0


def test_what_came_by_another_way_is_not_given_again() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"1")
    connect(one, other, [ana])
    feed = packets_of(written(key_of("ana"), [b"1", b"y" * 500, b"3"]))
    other.take(*feed[1:4])  # entry 2 and two of its five chunks, by radio
    assert other.sync is not None
    other.sync.changed([ana])
    carry(one, other)
    one.write("ana", b"y" * 500, b"3")
    assert carry(one, other) == []
    assert other.packets(ana) == feed
    assert other.duplicates == 0


def test_any_two_states_of_many_feeds_become_one_from_any_break() -> None:
    chance = random.Random(5)
    names = [f"author {number}" for number in range(6)]
    feeds = {
        name: packets_of(written(key_of(name), [b"z" * chance.choice((10, 40, 300, 900)) for _ in range(9)]))
        for name in names
    }
    ids = [key_of(name).feed_id for name in names]
    for _ in range(12):
        one, other = Gateway(), Gateway()
        for name, id_ in zip(names, ids, strict=True):
            for gateway in (one, other):
                gateway.replica.add_feed(id_, None)
                gateway.take(*feeds[name][: chance.randrange(len(feeds[name]) + 1)])
        best = [max(one.packets(id_), other.packets(id_), key=len) for id_ in ids]
        for connection in range(3):
            one.begin(ids, number=connection)
            other.begin(ids, number=connection)
            assert carry(one, other, packets_max=chance.randrange(1, 12) if connection < 2 else 10_000) == []
        assert [one.packets(id_) for id_ in ids] == [other.packets(id_) for id_ in ids] == best
        assert one.refused == other.refused == []


def forked(gateway: Gateway, author: str, contents: list[bytes]) -> None:
    """*gateway* gets this branch of a feed."""
    key = key_of(author)
    gateway.replica.add_feed(key.feed_id, None)
    gateway.take(*packets_of(written(key, contents)))


@pytest.mark.parametrize("place", [1, 2, 7, 20])
@pytest.mark.parametrize("more", [0, 5])
def test_branches_that_part_are_found_and_proved(place: int, more: int) -> None:
    one, other = Gateway(), Gateway()
    ana = key_of("ana").feed_id
    same = [b"%d" % number for number in range(place - 1)]
    forked(one, "ana", [*same, b"here", *[b"h"] * 13])
    forked(other, "ana", [*same, b"there", *[b"t"] * (13 + more)])
    assert connect(one, other, [ana]) == []
    assert [gateway.replica.record(ana).forked_at for gateway in (one, other)] == [place, place]


def test_who_knows_of_a_fork_proves_it_to_who_lacks_it() -> None:
    one, other = Gateway(), Gateway()
    ana = key_of("ana").feed_id
    forked(one, "ana", [b"1", b"2", b"3", b"4"])
    one.take(*packets_of(written(key_of("ana"), [b"1", b"2", b"other"])))
    assert one.replica.record(ana).forked_at == 3
    assert connect(one, other, [ana]) == []
    assert other.replica.record(ana).forked_at == 3
    assert len(other.packets(ana)) == 3
    later = Gateway()
    forked(later, "ana", [b"1"])
    assert connect(later, one, [ana]) == []
    assert later.replica.record(ana).forked_at == 3


def test_the_next_connection_says_the_same_in_other_bytes() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"1")
    seen = []
    for number in range(2):
        sync, peer = (
            one.begin([ana], number=number),
            other.begin([], number=number),
        )
        said = set()
        for _ in range(4):
            while (packet := sync.next_packet()) is not None:
                said.add(packet)
                peer.receive(packet)
            while (packet := peer.next_packet()) is not None:
                sync.receive(packet)
        seen.append(said)
    assert [len(said) for said in seen] == [1, 1]
    assert seen[0].isdisjoint(seen[1])


def test_a_feed_that_is_left_is_given_no_more_until_it_is_wanted_again() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"1")
    connect(one, other, [ana])
    assert other.sync is not None
    other.sync.leave([ana])
    carry(one, other)
    one.write("ana", b"2")
    carry(one, other)
    assert len(other.packets(ana)) == 1
    other.sync.want([ana])
    carry(one, other)
    assert len(other.packets(ana)) == 2


def test_what_there_is_no_room_for_is_wanted_no_more() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", b"1")
    one.begin()
    sync = other.begin([ana])
    carry(one, other, packets_max=3)
    sync.leave([ana])
    assert carry(one, other) == []
    before = sync.counts.got
    one.write("ana", b"2", b"3")
    carry(one, other)
    assert sync.counts.got == before


def test_what_is_offered_no_more_is_given_no_more_and_goes_on_where_it_was() -> None:
    one, other = Gateway(), Gateway()
    ana, bob = one.write("ana", b"1"), one.write("bob", b"1")
    connect(one, other, [ana, bob])
    assert one.sync is not None
    one.sync.offer([bob])
    one.write("ana", b"2")
    one.write("bob", b"2")
    assert carry(one, other) == []
    assert (len(other.packets(ana)), len(other.packets(bob))) == (1, 2)
    one.sync.offer([ana, bob])
    assert carry(one, other) == []
    assert len(other.packets(ana)) == 2
    assert one.sync.counts.given == 4


def test_what_is_offered_no_more_is_left_in_the_middle() -> None:
    one, other = Gateway(), Gateway()
    ana = one.write("ana", *[b"%d" % number for number in range(limits.GIVE_PACKETS_MAX + 1)])
    one.begin([])
    other.begin([ana])
    assert carry(one, other, packets_max=2) == []
    assert one.sync is not None
    one.sync.offer([])
    assert carry(one, other) == []
    assert len(other.packets(ana)) == limits.GIVE_PACKETS_MAX


def test_a_search_for_a_fork_ends_without_a_word_when_the_feed_is_offered_no_more() -> None:
    one, other = Gateway(), Gateway()
    ana = key_of("ana").feed_id
    forked(one, "ana", [b"1", b"2", b"3", b"here"])
    forked(other, "ana", [b"1", b"2", b"3", b"there"])
    one.begin([])
    other.begin([ana])
    assert carry(one, other, packets_max=2) == []
    assert one.sync is not None
    one.sync.offer([])
    assert carry(one, other) == []
    assert other.replica.record(ana).forked_at is None
