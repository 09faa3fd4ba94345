"""PZP messages: checked, written, added to the database, loaded; each beside what the libraries alone take.

What needs no disk is measured in time of the processor, so that others on the machine matter less.
"""

import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import TypeVar

from blake3 import blake3

from tests.bench.figure import Figure
from tinyssb_node.codec.crypto import SigningKey, verify
from tinyssb_node.content.pzp import base58, message
from tinyssb_node.content.pzp.jsontext import Json, canonical, read
from tinyssb_node.content.pzp.lipmaa import lipmaa_depth
from tinyssb_node.content.pzp.tangle import Tangle
from tinyssb_node.content.pzp.versions import V2, check, write, write_feed_root, write_identity
from tinyssb_node.pzp.database import Database
from tinyssb_node.pzp.port import Placed, Record
from tinyssb_node.pzp.schema import PZP_FILE
from tinyssb_node.pzp.sqlite import SqliteRows

MESSAGES = 5_000
"""Of a feed that is written, checked and added, as in the figures of the original program."""
ROUNDS = 3
LOADED = 100_000
BATCH = 1_000
"""Messages that are made durable at a time."""
VALIDATE_S, CREATE_S, ADD_S = 10_000, 8_000, 4_000
LOAD_S = 3
CERTIFICATE = 60
KEY = SigningKey(b"alice".ljust(32, b"\0"))
_One = TypeVar("_One")


class Feed:
    """A feed that is made, and its group."""

    def __init__(self) -> None:
        self.identity = write_identity(KEY, "bench")
        self.group = message.message_id(self.identity)
        self.root = write_feed_root(V2, KEY, self.group, "post")
        self.feed = message.message_id(self.root)

    def tangle(self) -> Tangle:
        """Of it, with its root only."""
        tangle = Tangle(self.feed)
        message.enter(V2.fields, self.root, tangle)
        return tangle

    def create(self, count: int) -> list[dict[str, Json]]:
        """So many messages of 100 bytes or so, each after the one before."""
        tangle, made = self.tangle(), []
        for number in range(count):
            said: Json = {"text": f"message {number} " + "with some words in it " * 3, "number": number}
            made.append(write(V2, KEY, said, "post", [tangle], self.group, [self.group]))
            message.enter(V2.fields, made[-1], tangle)
        return made

    def validate(self, values: Sequence[Json]) -> None:
        """Check them all, strictly."""
        tangle, keys = self.tangle(), {base58.encode(KEY.feed_id)}
        for value in values:
            id_ = check(V2, value, tangle, keys)
            assert isinstance(value, dict)
            message.enter(V2.fields, value, tangle, id_)


def rate(count: int, work: Callable[[], object], clock_s: Callable[[], float] = time.process_time) -> float:
    """How often a second, the median of some rounds: of the processor's, unless *clock_s* is another clock."""
    took_s = []
    for _ in range(ROUNDS):
        begun_s = clock_s()
        work()
        took_s.append(clock_s() - begun_s)
    return count / median(took_s)


def each(items: Sequence[_One], work: Callable[[_One], object]) -> float:
    """How many of *items* a second."""
    return rate(len(items), lambda: [work(item) for item in items])


def at_least(name: str, value: float, target: int) -> Figure:
    return Figure(name, value, "messages/s", f"at least {target:,}", value >= target)


def alone(made: Sequence[dict[str, Json]]) -> list[Figure]:
    """What the libraries take of that."""
    signed = [canonical(one["metadata"]) for one in made]
    signatures = [base58.decode(str(one["sig"])) for one in made]
    pairs = list(zip(signatures, signed, strict=True))
    return [
        Figure("libsodium alone: verifying a signature", each(pairs, lambda pair: verify(KEY.feed_id, *pair)), "/s"),
        Figure("libsodium alone: signing", each(signed, KEY.sign), "/s"),
        Figure("BLAKE3 alone", each(signed, lambda data: blake3(data).digest(16)), "/s"),
        Figure("canonical form of the metadata alone", each(made, lambda one: canonical(one["metadata"])), "/s"),
    ]  # fmt: skip


def added(feed: Feed, made: Sequence[dict[str, Json]], folder: Path, clock_s: Callable[[], float]) -> float:
    """Messages a second into a database on the disk, durable in batches."""

    def work() -> None:
        for left in folder.iterdir():
            left.unlink()
        with closing(Database(SqliteRows.open(folder / PZP_FILE))) as database:
            values = [feed.identity, feed.root, *made]
            for first in range(0, len(values), BATCH):
                with database.batch():
                    for value in values[first : first + BATCH]:
                        database.add(value, wall_us=1)

    return rate(len(made), work, clock_s)


def loaded(folder: Path, template: Record) -> tuple[float, int]:
    """Seconds to load a long feed, and how many messages certify its last one.

    Its messages are not checked and signed, which would take a minute; to what is loaded that is the same.
    """
    root, ids = message.hash_bytes(b"root"), [message.hash_bytes(b"%d" % number) for number in range(LOADED)]
    rows = SqliteRows.open(folder / "long.sqlite")
    with rows.transaction():
        rows.put(replace(template, id=root), {})
        known = [root, *ids]
        for depth, id_ in enumerate(ids, 1):
            prev = tuple(sorted({known[depth - 1], known[lipmaa_depth(depth)]}))
            rows.put(replace(template, id=id_), {root: Placed(id_, depth, prev, None, True)})
    rows.close()
    begun_s = time.perf_counter()
    with closing(Database(SqliteRows.open(folder / "long.sqlite"))) as database:
        tangle = database.tangle(root)
        took_s = time.perf_counter() - begun_s
        assert len(tangle) == LOADED + 1
        return took_s, len(tangle.certificate(ids[-1]) or ())


def run() -> list[Figure]:
    """All of it."""
    feed = Feed()
    made = feed.create(MESSAGES)
    texts = [canonical(one) for one in made]
    values = [read(text) for text in texts]
    with tempfile.TemporaryDirectory() as name:
        add_s, add_cpu_s = (
            added(feed, made, Path(name), clock_s) for clock_s in (time.perf_counter, time.process_time)
        )
        with closing(Database(SqliteRows.open(Path(name) / PZP_FILE))) as database:
            (template,) = database.records(4, 1)
        load_s, certificate = loaded(Path(name), template)
    validate_s = rate(MESSAGES, lambda: feed.validate(values))
    read_s = rate(MESSAGES, lambda: feed.validate([*map(read, texts)]))
    create_s = rate(MESSAGES, lambda: feed.create(MESSAGES))
    return [
        at_least("checked strictly", validate_s, VALIDATE_S),
        Figure("the same, read from JSON first", read_s, "messages/s"),
        at_least("written and signed", create_s, CREATE_S),
        at_least(f"added to the database, durable {BATCH:,} at a time", add_s, ADD_S),
        Figure("the same, in time of the processor", add_cpu_s, "messages/s"),
        Figure(f"a feed of {LOADED:,} loaded", load_s, "s", f"at most {LOAD_S} s", load_s <= LOAD_S),
        Figure(f"certificate at depth {LOADED:,}", certificate, "messages", f"at most {CERTIFICATE}",
               0 < certificate <= CERTIFICATE),
        *alone(made),
    ]  # fmt: skip
