"""Messages for tests: who writes, and what."""

import json
from typing import Any

from tests.pzp.messages.checked import enter
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.port import PzpRecord
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.goals import parse_goal
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import (
    V2,
    write,
    write_added_key,
    write_feed_root,
    write_identity,
)

ALICE, BOB, CAROL = (SigningKey(name.ljust(32, b"\0")) for name in (b"alice", b"bob", b"carol"))
NONCE = "MYNONCE"


def public(key: SigningKey) -> str:
    return base58.encode(key.feed_id)


class Author:
    """Writes messages of one group without a database, in tangles of its own."""

    def __init__(self, key: SigningKey = ALICE, nonce: str = NONCE, kind: str = "post") -> None:
        self.key, self.kind = key, kind
        self.written: list[dict[str, Json]] = []
        """All of it, the identity and the feed's root first."""
        first = write_identity(V2, key, nonce)
        self.group = message.message_id(V2.fields, first)
        self.identity = PzpTangle(self.group)
        self._enter(first, self.identity)
        root = write_feed_root(V2, key, self.group, kind)
        self.feed = message.message_id(V2.fields, root)
        self.tangle = PzpTangle(self.feed)
        self._enter(root, self.tangle)

    def _enter(self, said: dict[str, Json], *tangles: PzpTangle) -> str:
        self.written.append(said)
        ids = [enter(V2.fields, said, tangle) for tangle in tangles]
        return ids[0]

    def say(self, said: Json, *more: PzpTangle, key: SigningKey | None = None) -> str:
        """Write into the feed, and the tangles *more*; returns the id."""
        tips = sorted(self.identity.tips)
        one = write(V2, key or self.key, said, self.kind, [self.tangle, *more], self.group, tips)
        return self._enter(one, self.tangle, *more)

    def say_beside(self, said: Json, *behind: str, key: SigningKey | None = None) -> str:
        """Write into the feed what knows of these and what they follow only."""
        before, self.tangle = self.tangle, PzpTangle(self.feed)
        kept = before.ancestors(behind)
        for one in self.written:
            id_ = message.message_id(V2.fields, one)
            if id_ in kept:
                enter(V2.fields, one, self.tangle, id_)
        said_id = self.say(said, key=key)
        enter(V2.fields, self.written[-1], before, said_id)
        self.tangle = before
        return said_id

    def add_key(self, added: SigningKey, key: SigningKey | None = None) -> str:
        return self._enter(write_added_key(V2, key or self.key, self.identity, public(added)), self.identity)

    def by_id(self, id_: str) -> dict[str, Json]:
        return next(one for one in self.written if message.message_id(V2.fields, one) == id_)

    def says(self, count: int) -> list[str]:
        return [self.say({"text": f"message {number}"}) for number in range(count)]


def filled(database: PzpDatabase, author: Author) -> Author:
    """*author*, all of whose messages are in the database."""
    for one in author.written:
        database.add(one, wall_us=7)
    return author


def without(said: dict[str, Json]) -> dict[str, Json]:
    """A message as it comes when what it says was erased."""
    return message.erase(V2.fields, said)


def changed(said: dict[str, Json]) -> dict[str, Any]:
    """A copy to be spoilt."""
    copy: dict[str, Any] = json.loads(json.dumps(said))
    return copy


def need(record: PzpRecord | None) -> PzpRecord:
    """Return *record*, which has to be there."""
    assert record is not None
    return record


def state(database: PzpDatabase) -> dict[str, Any]:
    """All that can be asked."""
    tangles = {one.root: database.tangle(one.root) for one in database.tangles()}
    return {
        "records": list(database.records(0, 10_000)),
        "totals": database.totals(),
        "tangles": list(database.tangles()),
        "order": {root: tangle.topological() for root, tangle in tangles.items()},
        "tips": {root: tangle.tips for root, tangle in tangles.items()},
        "next": {root: tangle.place_of_next() for root, tangle in tangles.items()},
        "keys": {root: set(tangle.keys) for root, tangle in tangles.items()},
        "bare": {root: dict(database.bare(root)) for root in tangles},
        "ghosts": {root: dict(database.ghosts(root)) for root in tangles},
        "goals": dict(database.goals()),
    }


def keep(database: PzpDatabase, root: str, goal: str) -> None:
    database.set_goal(root, parse_goal(goal))
