"""Certificates: with nothing else, a reader can check the message that one is of."""

from contextlib import suppress

import pytest

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, Author, keep, need
from tinyssb_node.pzp.database.certificates import certificate
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.errors import PzpMissingError
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.message import Message
from tinyssb_node.pzp.messages.versions import V2


def database_of(*authors: Author) -> PzpDatabase:
    database = PzpDatabase(MemoryPzpRows())
    for author in authors:
        for one in author.written:
            database.add(one, wall_us=1)
    return database


def of(database: PzpDatabase, id_: str) -> list[Message]:
    return certificate(database, need(database.record(id_)))


def ids(proof: list[Message]) -> list[str]:
    return [message.message_id(V2.fields, one) for one in proof]


def proves(proof: list[Message], id_: str, *roots: str) -> bool:
    """Return True if a reader who has nothing but *proof* finds the message in these tangles."""
    database = PzpDatabase(MemoryPzpRows())
    for one in proof:
        with suppress(MessageError):
            database.add(dict(one), wall_us=1)
    return all(database.tangle(root).certificate(id_) is not None for root in roots)


def test_a_message_deep_in_a_feed_is_proved_by_few() -> None:
    author = Author()
    author.add_key(BOB)
    last = [author.say({"n": number}, key=BOB) for number in range(60)][-1]
    proof = of(database_of(author), last)
    assert ids(proof) == [*author.identity.topological(), *author.tangle.path_to_root(last)[::-1], last]
    assert len(proof) < 15
    assert [one["data"] for one in proof[2:]] == [None] * (len(proof) - 3) + [{"n": 59}]
    assert proves(proof, last, author.feed)
    for left_out in range(len(proof)):
        assert not proves(proof[:left_out] + proof[left_out + 1 :], last, author.feed)


def test_a_replica_with_holes_proves_what_it_kept() -> None:
    author = Author()
    last = author.says(50)[-1]
    database = database_of(author)
    keep(database, author.feed, "newest-2")
    database.collect(0)
    assert len(database.tangle(author.feed)) < 20
    assert proves(of(database, last), last, author.feed)


def test_a_reply_is_proved_in_the_thread_as_well() -> None:
    alice, bob = Author(), Author(BOB, "another")
    alice.says(3)
    begins = alice.say({"text": "who is there?"})
    alice.says(3)
    bob.says(5)
    database = database_of(alice, bob)
    database.write(ALICE, {"text": "to be followed"}, "post", alice.group, tangles=[begins], wall_us=1)
    reply = database.write(BOB, {"text": "I am"}, "post", bob.group, tangles=[begins], wall_us=1)
    proof = of(database, reply)
    assert proof[-1]["data"] == {"text": "I am"}
    assert proves(proof, reply, bob.feed, begins)


def test_keys_roots_and_feeds_of_v1_are_proved() -> None:
    author = Author()
    added = author.add_key(BOB)
    author.says(1)
    database = database_of(author)
    assert ids(of(database, added)) == [author.group, added]
    assert ids(of(database, author.group)) == [author.group, added]
    assert ids(of(database, author.feed)) == [author.group, added, author.feed]
    old = [database.write(BOB, {"n": number}, "post", wall_us=1) for number in range(9)][-1]
    proof = of(database, old)
    feed = ids(proof)[0]
    assert len(proof) < 8
    assert proves(proof, old, feed)


def test_without_a_way_there_is_no_certificate() -> None:
    author = Author()
    begun = [*author.written]
    late = author.says(2)[-1]
    database = PzpDatabase(MemoryPzpRows())
    for one in begun:
        database.add(one, wall_us=1)
    database.add(author.by_id(late), late, wall_us=1)  # as a root of what follows it
    with pytest.raises(PzpMissingError, match="not all here"):
        of(database, late)
