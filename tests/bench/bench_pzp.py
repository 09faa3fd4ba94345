"""PZP messages: checked, written, added to the database, loaded; each beside what the libraries alone take.

What needs no disk is measured in time of the processor, in rounds that have all of it, and the best round counts: so
others on the machine matter less.
"""

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from math import inf
from pathlib import Path

import msgspec
from blake3 import blake3

from tests.bench import tables
from tests.bench.figure import Figure, Findings
from tests.pzp.messages.checked import check, enter
from tinyssb_node.codec.crypto import SigningKey, verify
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.port import PzpPlacement, PzpRecord
from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.jsontext import Json, canonical, read
from tinyssb_node.pzp.messages.tangle import PzpTangle, lipmaa_depth
from tinyssb_node.pzp.messages.versions import V2, write, write_feed_root, write_identity

MESSAGES = 5_000
"""Of a feed that is added to the database."""
CHECKED = 500
"""Of those that are checked and written in one round: few, so that a round fits between what else the machine does."""
ROUNDS = 60
ADDED_ROUNDS = 3
LOADED = 100_000
BATCH = 1_000
"""Messages that are made durable at a time."""
VALIDATE_S, CREATE_S, ADD_S = 10_000, 8_000, 4_000
LOAD_S = 3
CERTIFICATE = 60
KEY = SigningKey(b"alice".ljust(32, b"\0"))
ORIGINAL = """
**Beside the original**, on the machine of the first measurement (AMD EPYC, 2026-11-22, Node.js 20.20.2), with the
same messages, in processor time, best of many rounds; `make bench` does not measure it again. It checks
the rules of [`compat`](../formats/pzp.md#strict-and-compat), which are fewer than those of `strict`.

| program | checked | written | libsodium's verifying | published | added to a database |
| --- | --- | --- | --- | --- | --- |
| Msg V2 (ppppp-db at 08d3450) | 12,200/s | 14,900/s | 19,100/s | – | – |
| its database, 1,750 messages | – | – | – | 1,660 to 3,500/s | 1,940/s |
| pzp-db 1.0.4 from npm (V4), 1,750 messages | – | – | – | 139/s | 139/s |

Both databases rebuild a tangle from all of its messages for each one that is added, so they become slower with the
size of the feed: pzp-db has 1,100/s at 400 messages. It reads a log of 1,750 messages in 39 ms, and builds tangles on
demand.
"""


class Feed:
    """A feed that is made, and its group."""

    def __init__(self) -> None:
        self.identity = write_identity(V2, KEY, "bench")
        self.group = message.message_id(V2.fields, self.identity)
        self.root = write_feed_root(V2, KEY, self.group, "post")
        self.feed = message.message_id(V2.fields, self.root)

    def tangle(self) -> PzpTangle:
        """Of it, with its root only."""
        tangle = PzpTangle(self.feed)
        enter(V2.fields, self.root, tangle)
        return tangle

    def create(self, count: int) -> list[dict[str, Json]]:
        """So many messages of 100 bytes or so, each after the one before."""
        tangle, made = self.tangle(), []
        for number in range(count):
            said: Json = {"text": f"message {number} " + "with some words in it " * 3, "number": number}
            made.append(write(V2, KEY, said, "post", [tangle], self.group, [self.group]))
            enter(V2.fields, made[-1], tangle)
        return made

    def validate(self, values: Sequence[Json], *, strict: bool = True) -> None:
        """Check them all."""
        tangle, keys = self.tangle(), {base58.encode(KEY.feed_id)}
        for value in values:
            id_ = check(V2, value, tangle, keys, strict=strict)
            assert isinstance(value, dict)
            enter(V2.fields, value, tangle, id_)


Work = Callable[[], object]


def bests_s(works: Mapping[str, Work], rounds: int = ROUNDS) -> dict[str, float]:
    """Seconds of the processor that each work takes, the best of some rounds.

    Each round has all of them, one after the other: so what else the machine does moves all alike, and a work can be
    compared with what the libraries alone take.
    """
    took_s = dict.fromkeys(works, inf)
    for _ in range(rounds):
        for name, work in works.items():
            begun_s = time.process_time()
            work()
            took_s[name] = min(took_s[name], time.process_time() - begun_s)
    return took_s


def at_least(name: str, value: float, target: int) -> Figure:
    return Figure(name, value, "messages/s", f"at least {target:,}", value >= target)


def of_libraries(made: Sequence[dict[str, Json]]) -> dict[str, Work]:
    """Measure the libraries' share in checking these messages, and in writing them."""
    metadata, said = [one["metadata"] for one in made], [one["data"] for one in made]
    signed = [canonical(one) for one in metadata]
    signatures = [base58.decode(str(one["sig"])) for one in made]
    pairs = list(zip(signatures, signed, strict=True))
    encoded = msgspec.json.Encoder(order="sorted").encode

    def verified() -> None:
        for signature, data in pairs:
            assert verify(KEY.feed_id, signature, data)

    def hashed() -> None:
        for one in (*metadata, *said):
            blake3(encoded(one)).digest(16)

    return {
        "verified": verified,
        "signed": lambda: [KEY.sign(data) for data in signed],
        "hashed": hashed,
        "canonical": lambda: [canonical(one) for one in metadata],
    }


def added(feed: Feed, made: Sequence[dict[str, Json]], folder: Path) -> tuple[float, float]:
    """Messages a second into a database on the disk, durable in batches; and a second of the processor. The best."""
    wall_s = cpu_s = inf
    values = [feed.identity, feed.root, *made]
    for _ in range(ADDED_ROUNDS):
        for left in folder.iterdir():
            left.unlink()
        begun_s, begun_cpu_s = time.perf_counter(), time.process_time()
        with closing(PzpDatabase(SqlitePzpRows.open(folder / PZP_FILE))) as database:
            for first in range(0, len(values), BATCH):
                with database.batch():
                    for value in values[first : first + BATCH]:
                        database.add(value, wall_us=1)
        wall_s = min(wall_s, time.perf_counter() - begun_s)
        cpu_s = min(cpu_s, time.process_time() - begun_cpu_s)
    return len(made) / wall_s, len(made) / cpu_s


def loaded(folder: Path, template: PzpRecord) -> tuple[float, int]:
    """Seconds to load a long feed, and how many messages certify its last one.

    Its messages are not checked and signed, which would take a minute; to what is loaded that is the same.
    """
    root, ids = (
        message.hash_bytes(V2.fields, b"root"),
        [message.hash_bytes(V2.fields, b"%d" % number) for number in range(LOADED)],
    )
    rows = SqlitePzpRows.open(folder / "long.sqlite")
    with rows.transaction():
        rows.put(replace(template, id=root), {})
        known = [root, *ids]
        for depth, id_ in enumerate(ids, 1):
            prev = tuple(sorted({known[depth - 1], known[lipmaa_depth(depth)]}))
            rows.put(replace(template, id=id_), {root: PzpPlacement(id_, depth, prev, None, True)})
    rows.close()
    begun_s = time.perf_counter()
    with closing(PzpDatabase(SqlitePzpRows.open(folder / "long.sqlite"))) as database:
        tangle = database.tangle(root)
        took_s = time.perf_counter() - begun_s
        assert len(tangle) == LOADED + 1
        return took_s, len(tangle.certificate(ids[-1]) or ())


def run() -> Findings:
    """All of it."""
    feed = Feed()
    made = feed.create(MESSAGES)
    few = made[:CHECKED]
    texts = [canonical(one) for one in few]
    values = [read(text) for text in texts]
    with tempfile.TemporaryDirectory() as name:
        add_s, add_cpu_s = added(feed, made, Path(name))
        with closing(PzpDatabase(SqlitePzpRows.open(Path(name) / PZP_FILE))) as database:
            (template,) = database.records(4, 1)
        load_s, certificate = loaded(Path(name), template)
    took_s = bests_s({
        "checked": lambda: feed.validate(values),
        "read": lambda: feed.validate([*map(read, texts)]),
        "compat": lambda: feed.validate(values, strict=False),
        "written": lambda: feed.create(CHECKED),
        **of_libraries(few),
    })  # fmt: skip
    rates = {name: CHECKED / seconds for name, seconds in took_s.items()}
    check_limit_s = CHECKED / (took_s["verified"] + took_s["hashed"])
    write_limit_s = CHECKED / (took_s["signed"] + took_s["hashed"])
    figures = [
        at_least("checked strictly", rates["checked"], VALIDATE_S),
        Figure("libraries alone: signature verified, canonical forms, hashes", check_limit_s, "messages/s"),
        Figure("of that limit", 100 * rates["checked"] / check_limit_s, "%"),
        Figure("checked strictly, read from JSON first", rates["read"], "messages/s"),
        Figure("checked as the original does", rates["compat"], "messages/s"),
        at_least("written and signed", rates["written"], CREATE_S),
        Figure("libraries alone: canonical forms, hashes, signed", write_limit_s, "messages/s"),
        at_least(f"added to the database, durable {BATCH:,} at a time", add_s, ADD_S),
        Figure("the same, in time of the processor", add_cpu_s, "messages/s"),
        Figure(f"a feed of {LOADED:,} loaded", load_s, "s", f"at most {LOAD_S} s", load_s <= LOAD_S),
        Figure(f"certificate at depth {LOADED:,}", certificate, "messages", f"at most {CERTIFICATE}",
               0 < certificate <= CERTIFICATE),
        Figure("libsodium alone: verifying a signature", rates["verified"], "/s"),
        Figure("libsodium alone: signing", rates["signed"], "/s"),
        Figure("BLAKE3 and msgspec alone: metadata and what is said", rates["hashed"], "messages/s"),
        Figure("canonical form of the metadata, as it is used", rates["canonical"], "/s"),
    ]  # fmt: skip
    return Findings(figures, tables.figures_table(figures) + ORIGINAL, "PZP")
