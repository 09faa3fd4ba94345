"""Databases whose replicas are made alike by the sync."""

import random
from contextlib import closing

import pytest

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import keep
from tests.pzp.sync.replicas import World, world
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.replica import DatabaseReplica
from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.goals import ALL, NONE
from tinyssb_node.pzp.messages.versions import V2
from tinyssb_node.pzp.sync.port import MessageOutcome, PzpReplica
from tinyssb_node.pzp.sync.sync import PzpSync


@pytest.fixture
def sides(tmp_path):
    with closing(PzpDatabase(SqlitePzpRows.open(tmp_path / PZP_FILE))) as one:
        yield one, PzpDatabase(MemoryPzpRows())


def put(database: PzpDatabase, lives: World, posts: int | None = None) -> None:
    for one in [*lives.identity, *lives.posts[:posts]]:
        database.add(dict(one), wall_us=1)


def wanting(database: PzpDatabase, lives: World, goal: str) -> DatabaseReplica:
    keep(database, lives.feed, goal)
    keep(database, lives.group, "all")
    return DatabaseReplica(database, lambda: 5)


def sync(one: PzpReplica, other: PzpReplica, root: str) -> None:
    sides = [PzpSync(one, random.Random(1).randbytes), PzpSync(other, random.Random(2).randbytes)]
    sides[0].start(root)
    moving = True
    while moving:
        moving = False
        for from_, to in (sides, sides[::-1]):
            packet = from_.next_packet(0)
            if packet is not None:
                moving = True
                to.receive(packet, 0)


def test_all_of_a_feed(sides) -> None:
    one, other = sides
    lives = world(1)
    put(one, lives)
    replicas = wanting(one, lives, "all"), wanting(other, lives, "all")
    sync(*replicas, lives.feed)
    for root in (lives.group, lives.feed):
        assert other.tangle(root).topological() == one.tangle(root).topological()
        assert other.tangle(root).tips == one.tangle(root).tips
    assert other.bare(lives.feed) == {}
    assert [record.added_us for record in other.records(limit=1)] == [5]


def test_the_newest_of_a_feed_and_all_of_it_later(sides) -> None:
    one, other = sides
    lives = world(2)
    put(one, lives)
    wants = wanting(other, lives, "newest-3")
    sync(wanting(one, lives, "all"), wants, lives.feed)
    tangle = other.tangle(lives.feed)
    assert 3 <= len(tangle) < len(one.tangle(lives.feed))
    assert tangle.tips == one.tangle(lives.feed).tips
    assert all(other.certificate(id_, lives.feed) for id_ in tangle.topological())
    other.collect(0)
    sync(wanting(one, lives, "all"), wanting(other, lives, "all"), lives.feed)
    assert other.tangle(lives.feed).topological() == one.tangle(lives.feed).topological()
    assert other.bare(lives.feed) == {}


def test_what_was_erased_and_deleted_stays_so(sides) -> None:
    one, other = sides
    lives = world(3, forks=0)
    put(one, lives)
    put(other, lives, 20)
    ids = other.tangle(lives.feed).topological()
    other.erase(ids[4])
    other.delete(ids[-1])
    other.delete(ids[-2])
    sync(wanting(one, lives, "all"), wanting(other, lives, "all"), lives.feed)
    assert set(other.tangle(lives.feed).topological()) <= set(one.tangle(lives.feed).topological())
    for id_ in (ids[4], ids[-1], ids[-2]):
        record = other.record(id_)
        assert record is None or record.message()["data"] is None
    assert other.tangle(lives.feed).ends == one.tangle(lives.feed).tips


def test_what_breaks_a_rule_is_refused_with_the_reason() -> None:
    database, lives = PzpDatabase(MemoryPzpRows()), world(1)
    replica = DatabaseReplica(database, lambda: 1)
    assert replica.add(lives.group, lives.identity[0]) is MessageOutcome.NEW
    assert replica.add(lives.group, lives.identity[0]) is MessageOutcome.KNOWN
    for one in lives.identity[1:]:
        replica.add(lives.group, one)
    assert replica.add(lives.feed, lives.posts[1]) is MessageOutcome.REFUSED
    assert "the tangle's root" in str(replica.refused)
    assert replica.get(lives.group) == lives.identity[0]
    assert replica.get(lives.feed) is None
    assert replica.goal(lives.feed) is NONE
    assert DatabaseReplica(database, lambda: 1, default=ALL).goal(lives.feed) is ALL
    with replica.batch():
        assert replica.add(lives.feed, lives.posts[0]) is MessageOutcome.NEW
    assert message.message_id(V2.fields, lives.posts[0]) in replica.tangle(lives.feed)
