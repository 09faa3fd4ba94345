"""The two stores told the same things say the same things."""

import tempfile
from pathlib import Path

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from tests.store.contract import (
    ANA,
    BOB,
    EVE,
    charge,
    feed_record,
    fork_proof,
    id_of,
    packet_of,
    receipt,
    side_chain,
    snapshot,
)
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.ids import Dialect, FaceName, Origin
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore

feeds = st.sampled_from([ANA, BOB, EVE])
seqs = st.integers(0, 6)
bands = st.sampled_from(["EU868 868.0-868.6", "EU433 433.05-434.79"])
numbers = st.integers(1, 5)
faces = st.none() | st.just(FaceName("udp"))
# Few contents, so that DMX values and hashes collide.
contents = st.integers(0, 5).map(packet_of)


class Twins(RuleBasedStateMachine):
    """Drives both; what both refuse is refused in the same way."""

    @initialize()
    def open_both(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "store.sqlite"
        self.memory, self.sqlite = MemoryStore(), SqliteStore.open(self.path)
        self.clock = 0

    def both(self, operation):
        results = [operation(store) for store in (self.memory, self.sqlite)]
        assert results[0] == results[1]
        return results[0]

    def record_of(self, feed):
        return next((record for record in self.memory.feeds() if record.feed == feed), None)

    @rule(feed=feeds, dialect=st.none() | st.sampled_from(Dialect), wanted=st.booleans())
    def put_feed(self, feed, dialect, wanted):
        known = self.record_of(feed) or feed_record(feed)
        record = feed_record(feed, dialect=dialect, wanted=wanted, seq=known.seq, tip=known.tip)
        self.both(lambda store: store.put_feed(record))

    @rule(feed=feeds, packet=contents, origin=st.sampled_from(Origin), face=faces)
    def append_entry(self, feed, packet, origin, face):
        known = self.record_of(feed)
        if known is not None:
            seq = known.seq + 1
            self.both(lambda store: store.append_entry(feed, seq, packet, id_of(feed, seq), origin, face))

    @rule(feed=feeds, seq=seqs, packet=contents, face=faces)
    def append_chunk(self, feed, seq, packet, face):
        if self.record_of(feed) is not None:
            chunk = len(self.memory.chunks(feed, seq, 0, 100))
            self.both(lambda store: store.append_chunk(feed, seq, chunk, packet, Origin.PEER, face))

    @rule(feed=feeds, seq=seqs, held=st.integers(0, 3))
    def put_side_chain(self, feed, seq, held):
        if self.record_of(feed) is not None:
            self.both(lambda store: store.put_side_chain(side_chain(feed, seq, held)))

    @rule(feed=feeds, keep=seqs)
    def cut_feed(self, feed, keep):
        if self.record_of(feed) is not None:
            self.both(lambda store: store.cut_feed(feed, keep))
            self.both(lambda store: store.usage())

    @rule(feed=feeds, seq=st.integers(1, 3), other=contents)
    def put_fork(self, feed, seq, other):
        self.both(lambda store: store.put_fork(fork_proof(feed, seq, other)))

    @rule(band=bands, number=numbers, ended_us=st.none() | numbers, advert=st.booleans())
    def put_charge(self, band, number, ended_us, advert):
        self.both(lambda store: store.put_charge(charge(band, number, ended_us, advert=advert)))

    @rule(band=bands, through=numbers)
    def drop_charges(self, band, through):
        self.both(lambda store: store.drop_charges(band, through))

    @rule(feed=feeds, number=numbers, seq=st.integers(1, 3), holder=st.none() | feeds)
    def put_receipt(self, feed, number, seq, holder):
        if self.record_of(feed) is not None and (holder is None or self.record_of(holder) is not None):
            put = receipt(number, seq, feed=feed, holder=holder, speaker=bytes((seq,)))
            self.both(lambda store: store.put_receipt(put))

    @rule(dropped=st.lists(numbers, max_size=3))
    def drop_receipts(self, dropped):
        self.both(lambda store: store.drop_receipts(dropped))

    @rule(value=st.text(max_size=3))
    def put_meta(self, value):
        self.both(lambda store: store.put_meta("boot", value))

    @rule()
    def commit(self):
        self.clock += 1
        self.both(lambda store: store.commit(self.clock))

    @rule()
    def rollback(self):
        self.both(lambda store: store.rollback())

    @rule()
    def restart(self):
        self.memory.close()
        self.sqlite.close()
        self.sqlite = SqliteStore.open(self.path)

    @rule(feed=feeds, seq=seqs, limit=st.integers(0, 4))
    def read_some(self, feed, seq, limit):
        self.both(lambda store: store.entry(feed, seq))
        self.both(lambda store: list(store.entries(feed, seq, limit)))
        self.both(lambda store: list(store.chunks(feed, seq, 0, limit)))
        self.both(lambda store: list(store.after(seq, limit)))

    @rule(packet=contents)
    def find(self, packet):
        self.both(lambda store: list(store.find_entries(packet[:7])))
        self.both(lambda store: list(store.find_chunks(chunk_hash(packet))))

    @rule()
    def read_all(self):
        self.both(snapshot)

    @invariant()
    def frontiers_agree(self):
        if hasattr(self, "sqlite"):
            self.both(lambda store: list(store.feeds()))
            self.both(lambda store: store.last_arrival())

    def teardown(self):
        if hasattr(self, "sqlite"):
            self.both(snapshot)
            self.sqlite.close()
            self.folder.cleanup()


TestTwins = Twins.TestCase
TestTwins.settings = settings(max_examples=40, stateful_step_count=40, deadline=None)
