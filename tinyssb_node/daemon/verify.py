"""Verification of a whole store: every link of every chain, every signature, side chain and proof of a fork."""

from collections.abc import Iterator
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.feeds.chain import (
    BehindEnd,
    Extended,
    Tip,
    WrongDmx,
    WrongSignature,
    accept,
    expectation_behind,
    expectations,
)
from tinyssb_node.feeds.fork import verify_proof
from tinyssb_node.feeds.layout import Layout
from tinyssb_node.feeds.sidechain import WrongHash, advance, begin
from tinyssb_node.ids import FeedId
from tinyssb_node.store.port import FeedRecord, NewestEntry, Store, StoredEntry


@dataclass(frozen=True, slots=True)
class Damage:
    """An inconsistency in the store."""

    feed: FeedId
    seq: int
    """The entry, 0 for the feed as a whole."""
    problem: str
    """In plain words."""
    chunk: int | None = None
    """The number of the chunk in the entry's side chain; None: the entry, or the feed."""
    proof: bool = False
    """True if the proof of a fork is damaged."""


def judge_packet(
    network: Network, tip: Tip, packet: bytes
) -> Extended | WrongDmx | WrongSignature | BehindEnd:
    """Judge *packet* as the next entry of *tip*'s feed, whose dialect is known."""
    (place,) = expectations(network, tip)
    return accept(place, packet)


def check_entry(network: Network, store: Store, record: FeedRecord, entry: StoredEntry) -> bool:
    """Return True if *entry* is signed for its position, assuming that the stored entry before it is right."""
    before = store.entry(entry.feed, entry.seq - 1) if entry.seq > 1 else None
    tip = Tip(entry.feed, record.dialect, entry.seq - 1, None if before is None else before.id)
    outcome = judge_packet(network, tip, entry.packet)
    return isinstance(outcome, Extended) and outcome.tip.id == entry.id


class Verifier:
    """Verification of one store, with counts of what was checked."""

    def __init__(self, store: Store, network: Network) -> None:
        self._store = store
        self._network = network
        self.feeds = 0
        self.entries = 0
        self.chunks = 0
        self.problems = 0

    def run(self) -> Iterator[Damage]:
        """Yield all damage as it is found."""
        for record in self._store.feeds():
            self.feeds += 1
            for damage in self._feed(record):
                self.problems += 1
                yield damage
        for feed, seq, proof in self._store.fork_rows():
            if proof is None or not verify_proof(self._network, proof):
                self.problems += 1
                problem = "cannot be read" if proof is None else "does not hold"
                yield Damage(feed, seq, f"the proof of its fork {problem}", proof=True)

    def _feed(self, record: FeedRecord) -> Iterator[Damage]:
        tip = Tip(record.feed, record.dialect, 0, None)
        while page := self._store.entries(record.feed, tip.seq + 1, limits.CONTROL_PAGE):
            for entry in page:
                self.entries += 1
                if entry.seq != tip.seq + 1:
                    yield Damage(record.feed, tip.seq + 1, f"entries up to {entry.seq - 1} are missing")
                    return
                outcome = judge_packet(self._network, tip, entry.packet)
                # The next entry is checked against the stored one, so that one fault is reported once.
                ended = isinstance(outcome, Extended) and outcome.tip.ended
                tip = Tip(record.feed, record.dialect, entry.seq, entry.id, ended)
                if isinstance(outcome, Extended):
                    yield from self._entry(entry, outcome)
                else:
                    yield Damage(record.feed, entry.seq, _PROBLEMS[type(outcome)])
        if (tip.seq, tip.id) != (record.seq, record.tip):
            yield Damage(record.feed, 0, f"it should end at entry {record.seq}, but ends at {tip.seq}")
        for ahead in self._store.newest_entries():
            if ahead.feed == record.feed:
                self.entries += 1
                yield from self._newest(record, ahead)

    def _newest(self, record: FeedRecord, entry: NewestEntry) -> Iterator[Damage]:
        """Check an entry beyond the frontier, and its side chain."""
        if record.dialect is None or entry.seq <= record.seq + 1:
            yield Damage(record.feed, entry.seq, "it is stored apart, though its history is not missing")
            return
        place = expectation_behind(self._network, record.feed, entry.seq, record.dialect, entry.prev)
        outcome = accept(place, entry.packet)
        if not isinstance(outcome, Extended) or outcome.tip.id != entry.id:
            yield Damage(record.feed, entry.seq, "it does not prove its place")
            return
        chain = begin(entry.feed, entry.seq, outcome.layout)
        for packet in entry.chunks:
            self.chunks += 1
            grown = advance(chain, packet) if chain is not None and not chain.complete else None
            if grown is None or isinstance(grown, WrongHash):
                yield Damage(record.feed, entry.seq, "its side chain does not match")
                return
            chain = grown.chain

    def _entry(self, entry: StoredEntry, extended: Extended) -> Iterator[Damage]:
        if extended.tip.id != entry.id:
            yield Damage(entry.feed, entry.seq, "its message id does not match its bytes")
        yield from self._side_chain(entry, extended.layout)

    def _side_chain(self, entry: StoredEntry, layout: Layout) -> Iterator[Damage]:
        chain = begin(entry.feed, entry.seq, layout)
        while page := self._store.chunks(
            entry.feed, entry.seq, chain.held if chain else 0, limits.CONTROL_PAGE
        ):
            for packet in page:
                self.chunks += 1
                grown = advance(chain, packet) if chain is not None and not chain.complete else None
                if grown is None or isinstance(grown, WrongHash):
                    number = 0 if chain is None else chain.held
                    problem = f"chunk {number} is not the one that the packet before names"
                    yield Damage(entry.feed, entry.seq, problem, number)
                    return
                chain = grown.chain


_PROBLEMS = {
    WrongDmx: "it does not follow the entry before it",
    WrongSignature: "its signature is wrong",
    BehindEnd: "it comes after the END of its feed",
}
