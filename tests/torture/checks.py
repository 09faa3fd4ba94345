"""Checks of a home after any fault. They share only the readers with the code that wrote it."""

import json
from collections import Counter
from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.torture.victim import Claim
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.eventlog_segments import segments
from tinyssb_node.daemon.verify import Verifier
from tinyssb_node.store.port import Store, StoredChunk
from tinyssb_node.store.sqlite import SqliteStore


class BrokenError(AssertionError):
    """Something that must be true is not."""


@dataclass(frozen=True, slots=True)
class Log:
    """An event log as a reader sees it."""

    records: list[dict[str, Any]]
    holes: bool
    """A line in the middle cannot be read: a power cut kept what was written after it, and not it."""


def read_log(folder: Path) -> Log:
    """All whole records below *folder*, which is the node's own."""
    records: list[dict[str, Any]] = []
    holes = False
    for segment in segments(folder):
        broken = False
        for line in segment.path.read_bytes().splitlines(keepends=True):
            try:
                record = json.loads(line) if line.endswith(b"\n") else None
            except ValueError:
                record = None
            if not isinstance(record, dict):
                broken = True
                continue
            holes = holes or broken
            records.append(record)
    return Log(records, holes)


def check_home(
    home: Path, node: str, claims: Iterable[Claim], network: Network, *, running: bool = False
) -> None:
    """Raise BrokenError unless store and event log of a node that has begun a boot are what they must be.

    One that is *running* elsewhere may write while we read: records beyond the store we saw are left out.
    """
    with closing(SqliteStore.open_readonly(home / "store.sqlite")) as store:
        last = store.last_arrival()
        log = read_log(home / "events" / node)
        if running:
            log = Log([record for record in log.records if record.get("arrival", 0) <= last], log.holes)
        check_store(store, claims, network)
        check_log(log, store)


def check_store(store: Store, claims: Iterable[Claim], network: Network) -> None:
    """Chains and signatures hold, and what somebody was told is there."""
    for damage in Verifier(store, network).run():
        raise BrokenError(f"entry {damage.seq} of {damage.feed.hex()[:8]}: {damage.problem}")
    if store.forks():
        raise BrokenError("a feed is forked")
    for claim in claims:
        entry = store.entry(claim.feed, claim.seq)
        if entry is None:
            raise BrokenError(f"entry {claim.seq} of {claim.feed.hex()[:8]} was shown, and is gone")
        if entry.id != claim.id:
            raise BrokenError(
                f"entry {claim.seq} of {claim.feed.hex()[:8]} was shown, and is another one now"
            )
        held = len(store.chunks(claim.feed, claim.seq, 0, claim.chunks + 1))
        if held < claim.chunks:
            raise BrokenError(f"entry {claim.seq} had {claim.chunks} chunks, and has {held}")


def check_log(log: Log, store: Store) -> None:
    """Every append of *store* has its record, which says what the store says; no append has two."""
    places = Counter((record["boot"], record["offset"]) for record in log.records)
    if repeated := [place for place, count in places.items() if count > 1]:
        raise BrokenError(f"two records have the place {repeated[0]}")
    order = [(record["boot"], record["offset"]) for record in log.records]
    if order != sorted(order):
        raise BrokenError("records are not in order")
    found = [record for record in log.records if record["kind"] in {"entry", "chunk"}]
    arrivals = Counter(record["arrival"] for record in found)
    last = store.last_arrival()
    if missing := sorted(set(range(1, last + 1)) - set(arrivals)):
        raise BrokenError(f"append {missing[0]} of {last} has no record")
    if max(arrivals, default=0) > last:
        raise BrokenError(f"append {max(arrivals)} has a record, and the store ends at {last}")
    # What follows a hole is recorded again: docs/formats/events.md counts on nothing behind it.
    twice = [arrival for arrival, count in arrivals.items() if count > 1]
    if twice and not log.holes:
        raise BrokenError(f"append {twice[0]} has {arrivals[twice[0]]} records")
    _compare(found, store)


def _compare(found: list[dict[str, Any]], store: Store) -> None:
    stored = {append.arrival: append for append in store.after(0, store.last_arrival())}
    for record in found:
        append = stored[record["arrival"]]
        said: tuple[Any, ...] = (record["feed"], record["seq"])
        if said != (append.feed.hex(), append.seq):
            raise BrokenError(f"the record of append {append.arrival} is of another entry")
        if isinstance(append, StoredChunk):
            same = record["kind"] == "chunk" and record["chunk"] == append.chunk
        else:
            same = record["kind"] == "entry" and record["id"] == append.id.hex()
        if not same:
            raise BrokenError(f"the record of append {append.arrival} says something else than the store")
