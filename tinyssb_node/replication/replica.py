"""Our copy of the feeds: the store's feeds, with the tables that identify a received packet.

Everything is written to the store at once and made durable by the shell's next commit. It knows neither time nor faces.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from itertools import islice

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey, Verify, verify_signed
from tinyssb_node.codec.dmx import Network, chunk_hash, dmx_of, entry_name, first_prev
from tinyssb_node.codec.events import ChunkAppended, EntryAppended, Event, ForkFound, SetChanged
from tinyssb_node.codec.packets import (
    GENERATION_SIZE,
    GENERATIONS,
    Coded,
    parse_coded,
    parse_coded_chunk,
    parse_entry,
)
from tinyssb_node.errors import FeedForkedError, NodeReadOnlyError, SetFullError
from tinyssb_node.feeds.author import compose, compose_fixed
from tinyssb_node.feeds.chain import (
    Duplicate,
    Expectation,
    Extended,
    Forked,
    HeldEntry,
    Tip,
    accept,
    expectations,
    extend,
)
from tinyssb_node.feeds.children import ends_feed
from tinyssb_node.feeds.fork import ForkProof, fork_ids
from tinyssb_node.feeds.sidechain import ChunkAccepted, SideChain, advance, begin
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin, PacketKind, Verdict, blocked_short
from tinyssb_node.replication.asking import FeedAsker, asked
from tinyssb_node.replication.chunk_blocks import ChunkBlock, ChunkBlockId
from tinyssb_node.replication.coded_chunks import CodedChunks
from tinyssb_node.replication.coded_entries import CodedEntries, generation_of
from tinyssb_node.replication.erasure import LENGTH_MAX
from tinyssb_node.replication.expectations import Expectations, Orphans
from tinyssb_node.replication.frontiers import Frontiers
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.newest_entries import NewestEntries
from tinyssb_node.replication.packet_outcome import (
    FORKED,
    MALFORMED,
    ORPHANS_FULL,
    POISONED,
    READ_ONLY,
    STRAYS,
    PacketOutcome,
)
from tinyssb_node.replication.quota import UNLIMITED, FeedQuota, QuotaLimits
from tinyssb_node.replication.want import NOT_WANTED
from tinyssb_node.store.port import FeedRecord, Store

_YOUNG = 64
"""Feeds of strangers, those that began last, of which one makes room for a feed that somebody here wants."""
CHILD_DIALECT = Dialect.SPEC
"""Dialect of our further feeds: phones, for which the other dialect exists, can read nothing in them."""


class Replica:
    """Our copy of the feeds."""

    def __init__(
        self,
        store: Store,
        network: Network,
        *,
        read_only: bool,
        verify: Verify = verify_signed,
        quota: QuotaLimits = UNLIMITED,
        places: int = limits.SET_MAX,
    ) -> None:
        """*verify* checks the signature of a received entry; *quota* is the room for feeds that nobody here asked
        for; *places* are those of the set."""
        self._store = store
        self._network = network
        self._verify = verify
        self.read_only = read_only
        """True while nothing can be stored: packets are judged and dropped."""
        self._records = {record.feed: record for record in store.feeds()}
        self._tips = {record.feed: self._stored_tip(record) for record in self._records.values()}
        self._retired = {feed for feed, record in self._records.items() if record.retired}
        self.goset = Goset((feed for feed, record in self._records.items() if record.in_set), places)
        self.expectations = Expectations()
        self.orphans = Orphans()
        self.coded = CodedEntries(network)
        """Coded entries that came."""
        self.coded_chunks = CodedChunks(store, network, self._frontier_to_code)
        """Coded chunks that came."""
        self.newest = NewestEntries(store, network)
        """Entries beyond the frontiers."""
        self._other_firsts: dict[bytes, FeedId] = {}
        """DMX of an entry 1 in the dialect that its feed is not written in: if it comes, that is a fork."""
        self._blocked_shorts: frozenset[bytes] = frozenset()
        self.blocked: set[FeedId] = set()
        self._chains_left_out = False
        self._growing: Counter[FeedId] = Counter()
        """How many side chains of each feed lack packets which may exist."""
        self._closed: set[FeedId] = set()
        """Feeds that have ended and lack nothing."""
        self._forks: dict[FeedId, ForkProof] = {}
        """Of every forked feed the proof of its first fork that is known."""
        for proof in store.forks():
            self._forks.setdefault(proof.feed, proof)
        self.strays = 0
        """Packets that came and that nothing expected."""
        self._empty: dict[FeedId, None] = {}
        """Feeds beyond the set that only a peer named so far, oldest first: not in the store before an entry comes."""
        self._sought: dict[FeedId, None] = {
            feed: None for feed, record in self._records.items() if record.beyond and self._is_nobodys(record)
        }
        """Feeds beyond the set that only a peer wants, oldest first: in the store, where a gateway reads what to look
        for."""
        self.quota = FeedQuota(store.usage(), quota)
        """The room that each feed takes."""
        self.frontiers = Frontiers()
        """Up to which entry each known feed is given."""
        self.followed_beyond: set[FeedId] = set()
        """Feeds beyond the set that are ours, or that our user, a group of ours or an invitation to one asked for."""
        self.followed: set[FeedId] = set()
        """Others' feeds that our user asked for, a group of ours, or an invitation to one, in the set and beyond it,
        that have not ended."""
        self._watch_stored()

    def _watch_stored(self) -> None:
        for chain in self._store.side_chains():
            self._growing[chain.feed] += chain.growing
        for feed, tip in self._tips.items():
            self._note_followed(self._records[feed])
            self._expect_entries(feed)
            self._watch_other_first(tip)
            self._watch_end(feed)
            self._follow_frontier(feed)
        self._expect_stored_chains()

    def _stored_tip(self, record: FeedRecord) -> Tip:
        last = self._store.entry(record.feed, record.seq) if record.seq else None
        entry = None if last is None else parse_entry(last.packet)
        ended = entry is not None and ends_feed(entry.type, entry.content)
        return Tip(record.feed, record.dialect, record.seq, record.tip, ended)

    # --- looking

    def records(self) -> list[FeedRecord]:
        """Return all stored feeds with their frontiers, retired ones included, sorted by feed id."""
        return [self.record(feed) for feed in sorted(self._records.keys() - self._empty.keys())]

    def record(self, feed: FeedId) -> FeedRecord:
        """Return the record of a feed. Raises KeyError."""
        tip = self._tips[feed]
        return replace(self._records[feed], dialect=tip.dialect, seq=tip.seq, tip=tip.id)

    def frontier(self, feed: FeedId) -> int:
        """Sequence number of the last entry held, 0 for none, or for a feed that is not known any more."""
        tip = self._tips.get(feed)
        return 0 if tip is None else tip.seq

    def holds(self, feed: FeedId) -> bool:
        """Return True if an entry of *feed* is stored."""
        tip = self._tips.get(feed)
        return tip is not None and tip.seq > 0

    def ended(self, feed: FeedId) -> bool:
        """Return True if the last entry of *feed* is stored, behind which nothing comes."""
        tip = self._tips.get(feed)
        return tip is not None and tip.ended

    @property
    def retired(self) -> Collection[FeedId]:
        """The feeds that have left the set."""
        return self._retired

    @property
    def closed(self) -> Collection[FeedId]:
        """The feeds that have ended, and of which nothing is lacking."""
        return self._closed

    @property
    def named_only(self) -> int:
        """Feeds of the set that only peers named: neither followed here, nor is an entry of them stored, or it was
        evicted."""
        return sum(not self._tips[feed].seq and not self._records[feed].followed for feed in self.goset.feeds)

    @property
    def named_only_beyond(self) -> int:
        """The same of feeds beyond the set."""
        return (
            sum(feed not in self.goset for feed in self.quota.evicted) + len(self._empty) + len(self._sought)
        )

    def knows(self, feed: FeedId) -> bool:
        """Return True if *feed* is in the set, beyond it, or has left it."""
        return feed in self._records

    def takes(self, feed: FeedId) -> bool:
        """Return True if *feed* is known, and more of it is requested where there is some."""
        return feed in self._records and self.next_wanted(feed) != NOT_WANTED

    def is_closed(self, feed: FeedId) -> bool:
        """Return True if *feed* has ended and all of it is stored."""
        return feed in self._closed

    @property
    def forks(self) -> Mapping[FeedId, ForkProof]:
        """The proofs of forks by feed, each for the first forked sequence number."""
        return self._forks

    @property
    def has_large_set(self) -> bool:
        """True if the set takes several WANTs, in which feeds that somebody follows are some among many."""
        return 2 * len(self.goset) > limits.WANT_VECTOR_SIZE

    def last_to_give(self, feed: FeedId) -> int:
        """Return the sequence number of the last entry of *feed* that is sent to others. Neither branch of a fork is
        sent, except for the entry that begins it: it proves the fork (decision 0042)."""
        proof = self._forks.get(feed)
        return self.frontier(feed) if proof is None else proof.seq

    def place(self, feed: FeedId) -> tuple[int, MessageId]:
        """Return the position of the next entry of *feed*, which is known or will be a child of ours: its sequence
        number and the id of its predecessor."""
        tip = self._tips.get(feed)
        if tip is not None and tip.id is not None:
            return tip.seq + 1, tip.id
        return 1, first_prev(feed, (tip and tip.dialect) or CHILD_DIALECT)

    def next_wanted(self, feed: FeedId) -> int:
        """Sequence number that we would take next; NOT_WANTED for a feed that is not known any more or not wanted, is
        closed, has no more room, or is frozen by a fork."""
        record = self._records.get(feed)
        # A call less than ``_is_open``, in the place where a node asks itself most often.
        if (
            record is None
            or not record.wanted
            or record.forked_at is not None
            or record.retired
            or feed in self._closed
            or feed in self.blocked
            or feed in self.quota.refused
        ):
            return NOT_WANTED
        return self._tips[feed].seq + 1

    def newest_wanted(self, feed: FeedId) -> tuple[int, int] | None:
        """Return the next sequence number behind the newest entry of *feed* that is stored, and how many of the last
        ones our user wants before its history; None if they want none, or the feed takes no more."""
        record = self._records.get(feed)
        if record is None or not record.newest or self.next_wanted(feed) == NOT_WANTED:
            return None
        return max(self._tips[feed].seq, self.newest.last(feed)) + 1, record.newest

    def set_newest(self, feed: FeedId, count: int) -> None:
        """Set how many of the last entries of *feed* are wanted before its history, as our user says; 0 for none."""
        if self._records[feed].newest != count:
            self._keep(replace(self.record(feed), newest=count))

    def expect_newest(self, feed: FeedId, seq: int, prev: MessageId) -> list[tuple[bytes, bytes]]:
        """A peer says that entry *seq* of *feed* follows *prev*: expect it. Return orphans that may be this entry, each
        behind its hash, to be offered again."""
        tip = self._tips[feed]
        wanted = self.newest_wanted(feed) is not None and tip.dialect is not None and seq > tip.seq + 1
        if not wanted or not self.newest.expect(feed, seq, prev):
            return []
        self._expect_entries(feed)
        return self._orphans_next(feed, 0)

    def rows_lacking(self, feed: FeedId) -> int:
        """Return how many rows of its generation *feed* lacks; 0 also if no coded entry of it came, or it is not known
        any more."""
        return self.coded.lacking(feed, self.frontier(feed) + 1)

    def chunk_rows_lacking(self, block: ChunkBlock) -> int:
        """Return how many rows of a chunk block are missing, 0 if all are."""

        def held(seq: int) -> int:
            chain = self.expectations.of_chain(block.id.feed, seq)
            return block.place(seq).chunks if chain is None else chain.held

        return self.coded_chunks.lacking(block, held)

    def _frontier_to_code(self, feed: FeedId) -> tuple[int, Dialect | None]:
        """Return up to which entry the side chains of *feed* are the same at every node, and its dialect: where a fork
        begins, they end."""
        tip, proof = self._tips[feed], self._forks.get(feed)
        return (tip.seq if proof is None else proof.seq - 1), tip.dialect

    def _is_open(self, feed: FeedId) -> bool:
        return self._records[feed].forked_at is None and self._takes(feed)

    def _takes(self, feed: FeedId) -> bool:
        """Return True if missing entries of *feed* are requested: it is in the set, wanted, not blocked, and there is
        room for it."""
        record = self._records[feed]
        refused = feed in self.blocked or feed in self.quota.refused
        return record.wanted and not record.retired and not refused

    # --- the set

    def add_feed(self, feed: FeedId, face: FaceName | None, *, seen: bool = False) -> list[Event]:
        """Add *feed* to the set, again if it has left it, with all its stored entries. *seen*: a deployed peer has it
        in its set. No event if it is in the set, or cannot be added (set full, read-only)."""
        if self.read_only or not self.goset.add(feed, seen=seen):
            return []
        self._take_in(feed, beyond=False, keep=True, asker=FeedAsker.USER if face is None else None)
        return [SetChanged(feed=feed, count=len(self.goset), state=self.goset.state, face=face)]

    def add_beyond(self, feed: FeedId, *, keep: bool, asker: FeedAsker = FeedAsker.USER) -> bool:
        """Add *feed* beyond the set, again if it has left. *keep*: in the store at once, as *asker* asked for it; else
        once an entry of it comes, and until then it may have to make room for others. If all places are taken, a feed
        that is kept gets that of one that nobody here asked for. Return False if it is known, or cannot be added."""
        known = feed in self._records and feed not in self._retired
        if (
            self.read_only
            or not any(feed)
            or (known and not (keep and (feed in self._empty or feed in self._sought)))
        ):
            return False
        if (
            not known
            and len(self._records) >= limits.KNOWN_FEEDS_MAX
            and not (self._forget_empty() or self._forget_evicted() or (keep and self._displace_stranger()))
        ):
            return False
        self._take_in(feed, beyond=True, keep=keep or feed in self._retired, asker=asker if keep else None)
        if len(self._empty) > limits.EMPTY_FEEDS_MAX:
            self._forget_empty()
        return True

    def seek(self, feed: FeedId) -> None:
        """A peer wants *feed*, which is beyond the set and only named: keep it in the store, where a gateway reads what
        to look for. The oldest make room."""
        if self.read_only or self._empty.pop(feed, self) is self:
            return
        self._sought[feed] = None
        self._keep(self.record(feed))
        if len(self._sought) > limits.SOUGHT_FEEDS_MAX:
            self._drop(next(iter(self._sought)))

    @staticmethod
    def _is_nobodys(record: FeedRecord) -> bool:
        """Return True for a feed that only peers named, and of which no entry ever was here."""
        asked_for = record.ours or record.followed or record.for_group
        return not (asked_for or record.retired) and record.dialect is None

    def _take_in(self, feed: FeedId, *, beyond: bool, keep: bool, asker: FeedAsker | None) -> None:
        self._empty.pop(feed, None)
        self._sought.pop(feed, None)
        if feed in self._records:
            self._keep(replace(asked(self.record(feed), asker), retired=False, beyond=beyond))
            self._retired.discard(feed)
            self._expect_stored_chains()
        else:
            self._tips[feed] = Tip(feed, None, 0, None)
            new = FeedRecord(
                feed=feed,
                dialect=None,
                seq=0,
                tip=None,
                own=False,
                wanted=True,
                forked_at=None,
                beyond=beyond,
                followed=False,
            )
            record = asked(new, asker)
            if keep:
                self._keep(record)
            else:
                self._records[feed] = record
                self._note_followed(record)
                self._empty[feed] = None
            self.blocked |= {feed} if self.is_blocked(feed) else set()
        self._expect_entries(feed)
        self._follow_frontier(feed)

    def is_unproven(self, feed: FeedId) -> bool:
        """Return True if *feed* is in the set and nobody is known to have written it: no entry of it came so far."""
        return feed in self.goset and not self._tips[feed].seq and not self._records[feed].evicted

    def has_proof(self, feed: FeedId) -> bool:
        """Return True if an entry of *feed* is stored, or its first one came before its id."""
        if self.holds(feed):
            return True
        return any(
            isinstance(accept(expectation, self.orphans.packet(hash_), self._verify), Extended)
            for expectation in expectations(self._network, Tip(feed, None, 0, None))
            for hash_ in self.orphans.with_dmx(expectation.dmx)
        )

    def first_entry(self, feed: FeedId) -> bytes | None:
        """Return the packet of the first entry of *feed*, which proves that the id is a key that somebody has."""
        entry = self._store.entry(feed, 1) if self.holds(feed) else None
        return None if entry is None else entry.packet

    def expire(self, feed: FeedId) -> list[Event]:
        """Let a feed without an entry leave the set. If it is ours, or our user follows or refuses it, it goes beyond
        the set, which nobody else sees; any other is forgotten."""
        assert self.is_unproven(feed)
        assert not self.read_only
        record = self.record(feed)
        self.goset.remove(feed)
        if record.ours or record.followed or record.for_group or not record.wanted:
            self._keep(replace(record, beyond=True))
        else:
            self._drop(feed)
        return [SetChanged(feed=feed, count=len(self.goset), state=self.goset.state, face=None, left=True)]

    def forget_pending(self, feed: FeedId) -> bool:
        """Forget *feed* if our user alone knew of it: it is beyond the set, and no entry of it came. Return False if it
        is more than that."""
        record = self._records[feed]
        if (
            self.read_only
            or record.ours
            or record.for_group
            or not record.beyond
            or record.retired
            or self._tips[feed].dialect is not None
        ):
            return False
        if self._empty.pop(feed, self) is self:
            self._store.drop_feed(feed)
        self._forget(feed)
        return True

    def _forget_empty(self) -> bool:
        """Forget the feed that a peer named longest ago and of which no entry came. False if there is none."""
        feed = next(iter(self._empty), None)
        if feed is None:
            return False
        del self._empty[feed]
        self._forget(feed)
        return True

    def _forget_evicted(self) -> bool:
        """Forget the feed beyond the set that was evicted longest ago: it may be requested again. False if there is
        none."""
        return self._displace(next((feed for feed in self.quota.evicted if self._records[feed].beyond), None))

    def _displace_stranger(self) -> bool:
        """Delete a feed beyond the set that nobody here asked for, and forget it: of the youngest ones the smallest.
        False if there is none."""
        others = (feed for feed in reversed([*self.quota.packets]) if feed in self.quota.others)
        strangers = (
            feed for feed in others if self._records[feed].beyond and not self._records[feed].for_group
        )
        young = list(islice(strangers, _YOUNG))
        return self._displace(min(young, key=self.quota.packets.__getitem__, default=None))

    def _displace(self, feed: FeedId | None) -> bool:
        if feed is None:
            return False
        if self._tips[feed].seq:
            self._cut(feed, 0)
        self._tips[feed] = Tip(feed, None, 0, None)
        self._keep(self.record(feed))
        self._drop(feed)
        return True

    def _drop(self, feed: FeedId) -> None:
        """Delete a feed of which nothing is stored from the store, and forget it."""
        self._store.drop_feed(feed)
        self._forget(feed)

    def _forget(self, feed: FeedId) -> None:
        """Forget a feed of which nothing is stored."""
        self._sought.pop(feed, None)
        self._growing.pop(feed, None)
        self._retired.discard(feed)
        del self._records[feed], self._tips[feed]
        self.followed_beyond.discard(feed)
        self.newest.forget(feed)
        self.blocked.discard(feed)
        self.quota.forget(feed)
        self.expectations.forget_feed(feed)
        self.coded.forget(feed)
        self.coded_chunks.forget(feed)
        self.frontiers.forget(feed)

    def retire(self, feed: FeedId) -> list[Event]:
        """Let a closed feed leave the set, or what is beyond it; its entries stay stored."""
        assert feed in self._closed
        assert not self.read_only
        self._keep(replace(self.record(feed), retired=True))
        self._retired.add(feed)
        self._follow_frontier(feed)
        if feed not in self.goset:
            return []
        self.goset.remove(feed)
        return [SetChanged(feed=feed, count=len(self.goset), state=self.goset.state, face=None, left=True)]

    def _follow_frontier(self, feed: FeedId) -> None:
        """Note up to which entry *feed* is given: nothing of feeds that left the set or are blocked."""
        hidden = feed in self._retired or feed in self.blocked
        # Of a fork nodes hold either branch.
        branch = b"" if hidden or feed in self._forks else self._tips[feed].id or b""
        self.frontiers.set(feed, 0 if hidden else self.last_to_give(feed), branch)

    def own_feed(
        self,
        feed: FeedId,
        dialect: Dialect,
        *,
        child: bool = False,
        beyond: bool = False,
        writes: bool = False,
    ) -> list[Event]:
        """Make *feed* ours, as a *child* or as our main feed, to be written in *dialect* if it has no entry yet: in the
        set, if there is room, or *beyond* it. *writes*: its next entry follows; until then a feed of ours that left
        the set for want of an entry stays beyond it.

        Raises SetFullError if more feeds are known than can be.
        """
        waits = not writes and feed in self._records and self.record(feed).beyond and not self._tips[feed].seq
        events = [] if beyond or waits else self.add_feed(feed, None)
        if feed not in self.goset and not self.add_beyond(feed, keep=True) and not self.is_current(feed):
            raise SetFullError(len(self._records))
        tip = self._tips[feed]
        if not self._records[feed].ours or tip.dialect is None:
            self._tips[feed] = replace(tip, dialect=tip.dialect or dialect)
            self._keep(replace(self.record(feed), own=not child, child=child, wanted=True))
            self.blocked.discard(feed)
            self._expect_entries(feed)
            self._follow_frontier(feed)
        return events

    def is_current(self, feed: FeedId) -> bool:
        """Return True if *feed* is in the set or beyond it."""
        return feed in self._records and feed not in self._retired

    def set_wanted(
        self, feed: FeedId, *, wanted: bool, keep: bool = False, asker: FeedAsker | None = FeedAsker.USER
    ) -> None:
        """Set whether a feed is wanted, as *asker* says; None: a peer. With *keep* it is not evicted even if it is not
        wanted: a group reads it again after each start."""
        before = self.record(feed)
        after = replace(before, wanted=wanted)
        if wanted:
            after = asked(after, asker)
        elif not keep:
            after = replace(after, followed=False, for_group=False)
        if after != before:
            self._empty.pop(feed, None)
            self._sought.pop(feed, None)
            self._keep(after)
            self._expect_anew([feed])

    def set_blocked(self, shorts: Collection[bytes]) -> bool:
        """Block feeds whose ids begin so, known or not, but for our own. What is stored of them is deleted, unless
        somebody here follows them. Return False if they were blocked before."""
        self._blocked_shorts = frozenset(shorts)
        before, self.blocked = self.blocked, set(filter(self.is_blocked, self._records))
        for feed in before - self.blocked:
            self.quota.stay(feed)
        for feed in self.blocked & self.quota.others:
            self.quota.evict(feed)
        self._expect_anew([*(before ^ self.blocked)])
        return before != self.blocked

    def is_blocked(self, feed: FeedId) -> bool:
        """Return True if *feed* is blocked, known or not."""
        ours = feed in self._records and self._records[feed].ours
        return not ours and blocked_short(feed) in self._blocked_shorts

    def _expect_anew(self, feeds: Sequence[FeedId]) -> None:
        for feed in feeds:
            self.expectations.forget_feed(feed)
            self._expect_entries(feed)
            self._follow_frontier(feed)
        self._expect_stored_chains()

    def _keep(self, record: FeedRecord) -> None:
        self._records[record.feed] = record
        self._store.put_feed(record)
        self._note_followed(record)

    # --- room on the disk

    def set_quota(self, limits: QuotaLimits) -> bool:
        """Set the room for feeds that nobody here asked for. Return True if it changes what is requested."""
        changed = self.quota.set_limits(limits)
        self._expect_anew([*changed])
        return bool(changed)

    def evict(self, count: int) -> FeedId | None:
        """Delete some *count* packets of a feed that is to be evicted, more if it takes more to stay within the quota:
        from its end, so that the rest is a whole feed at any time. Return it; None: there is room for all."""
        chosen = None if self.read_only else self.quota.choose()
        if chosen is None:
            return None
        feed, excess = chosen
        seq = self._tips[feed].seq
        # Entries have as many packets as they have on average.
        entries = -(-max(count, excess) * seq // self.quota.packets[feed])
        self._cut(feed, max(0, seq - entries))
        return feed

    def purge(self, feed: FeedId) -> int:
        """Let ``evict`` delete all that is stored of *feed*, which nobody here follows. Return how many packets that
        are."""
        packets = self.quota.evict(feed)
        self._expect_anew([feed])
        return packets

    def _close_if_full(self, feed: FeedId) -> None:
        """Expect no more of *feed* if it has used up its room."""
        if feed in self.quota.refused:
            self._expect_anew([feed])

    def _cut(self, feed: FeedId, keep: int) -> int:
        """Delete all that is stored of *feed* behind entry *keep*."""
        packets = self._store.cut_feed(feed, keep)
        self.quota.removed(feed, packets)
        last = self._store.entry(feed, keep) if keep else None
        # Of an evicted feed the dialect shows that entries were here. Of a blocked one nothing is requested anyway, and
        # all of it once it is not blocked any more.
        dialect = None if not keep and feed in self.blocked else self._tips[feed].dialect
        self._tips[feed] = Tip(feed, dialect, keep, None if last is None else last.id)
        forked_at = self._records[feed].forked_at
        if forked_at is not None and forked_at > keep:
            self._forks.pop(feed, None)
            forked_at = None
        self._keep(replace(self.record(feed), forked_at=forked_at))
        self._growing[feed] = sum(chain.growing for chain in self._store.side_chains(feed))
        self._closed.discard(feed)
        if not keep:
            self._other_firsts = {dmx: of for dmx, of in self._other_firsts.items() if of != feed}
        self.coded.forget(feed)
        self.coded_chunks.forget(feed)
        self.newest.forget(feed)
        self._expect_anew([feed])
        return packets

    def _note_followed(self, record: FeedRecord) -> None:
        asked_for = record.ours or ((record.followed or record.for_group) and record.wanted)
        kept = record.ours or record.followed
        evicted = record.evicted and not self._tips[record.feed].seq
        self.quota.note(record.feed, asked_for=kept, evicted=evicted)
        if not kept and record.feed in self.blocked:
            self.quota.evict(record.feed)
        open_ = asked_for and not record.retired and record.feed not in self._closed
        for feeds, belongs in (
            (self.followed_beyond, record.beyond and open_),
            (self.followed, open_ and not record.ours),
        ):
            if belongs:
                feeds.add(record.feed)
            else:
                feeds.discard(record.feed)

    # --- packets of 120 bytes

    def offer(self, packet: bytes, hash_: bytes, origin: Origin, face: FaceName | None) -> PacketOutcome:
        """Find out what *packet* is, by its DMX and by its hash (SHA-256[:20]), and keep it if it is new.

        1. A packet that is neither expected nor stored is an orphan at best. This comes first: floods must cost little.
        2. One that is expected and fits is appended, and with it the orphans that follow it.
        3. One that is stored already is a duplicate; another one in the place of a stored entry proves a fork.
        4. Any other is an orphan.
        """
        dmx = packet[: limits.DMX_SIZE]
        expected = self.expectations.expects(dmx, hash_)
        if not expected:
            feed = self.coded.feed_of(packet)
            if feed is not None and (coded := parse_coded(packet)) is not None:
                return self._offer_coded(feed, coded, origin, face)
            if (place := self.newest.find(packet)) is not None:
                return _entry_outcome(Verdict.DUPLICATE, *place)
            if dmx not in self._other_firsts and not self._store.may_hold(dmx, hash_):
                return self._keep_orphan(packet, hash_)
        outcome = self._append_or_compare(packet, hash_, origin, face)
        if outcome.verdict is Verdict.NEW and (
            len(self.orphans) or len(self.coded) or len(self.newest) or self.expectations.has_chains
        ):
            self._append_followers(outcome, origin, face)
            if not outcome.events:
                self._adopt_newest(outcome, origin, face)
        return outcome

    def _adopt_newest(self, outcome: PacketOutcome, origin: Origin, face: FaceName | None) -> None:
        """Store orphans that follow what was stored beyond a frontier, and so on while anything fits."""
        unread = [outcome]
        while unread:
            adopted = unread.pop()
            if adopted.verdict is not Verdict.NEW or adopted.feed is None or adopted.seq is None:
                continue
            for hash_, packet in self._orphans_next(adopted.feed, adopted.seq):
                unread.append(self._append_or_compare(packet, hash_, origin, face))

    def _offer_coded(
        self, feed: FeedId, coded: Coded, origin: Origin, face: FaceName | None
    ) -> PacketOutcome:
        """Keep a coded entry, and append the entries that can be computed with it."""
        following = self.next_wanted(feed)
        here = generation_of(self._tips[feed].seq + 1)
        # Of the numbers that end so, the one that is nearest to where we are.
        generation = here + (coded.generation - here + GENERATIONS // 2) % GENERATIONS - GENERATIONS // 2
        seq = generation * GENERATION_SIZE + coded.row + 1 if coded.row < GENERATION_SIZE else None
        events = [] if seq is None else self._forks_by_row(feed, seq, coded)
        reason = None
        if events:
            verdict, reason = Verdict.INVALID, FORKED
        elif self.read_only or following == NOT_WANTED:
            verdict = Verdict.NOT_OURS
        elif generation < here or (new := self._add_row(feed, generation, coded)) is False:
            verdict = Verdict.DUPLICATE
        else:
            verdict = Verdict.NEW
            for hash_, packet in self._coded_next(feed):
                appended = self._append_or_compare(packet, hash_, origin, face)
                if appended.verdict is Verdict.NEW:
                    self._append_followers(appended, origin, face)
                    events = appended.events
                    break
            if new is None or self.coded.refute(feed, self._tips[feed].seq + 1):
                verdict, reason = Verdict.INVALID, POISONED
        return PacketOutcome(
            PacketKind.CODED, verdict, reason, feed, seq, generation=generation, events=events
        )

    def _forks_by_row(self, feed: FeedId, seq: int, coded: Coded) -> list[Event]:
        """Return the fork that a row of entry *seq* alone proves: where branches part, the DMX that it leaves out is
        that of the stored entry."""
        if not 0 < seq <= self._tips[feed].seq:
            return []
        return self._compare(feed, seq, self._held(feed, seq).packet[: limits.DMX_SIZE] + coded.body).events

    def _add_row(self, feed: FeedId, generation: int, coded: Coded) -> bool | None:
        first = generation * GENERATION_SIZE + 1

        def held() -> list[bytes]:
            count = self._tips[feed].seq - first + 1
            return [entry.packet for entry in self._store.entries(feed, first, count)] if count > 0 else []

        return self.coded.add(feed, generation, coded, held)

    def _coded_next(self, feed: FeedId) -> list[tuple[bytes, bytes]]:
        """Return what the next entry of *feed* must be by the rows of its generation, with its hash: once for each
        dialect that is possible."""
        following = self._tips[feed].seq + 1
        body = self.coded.solution(feed, following)
        if body is None:
            return []
        places = [place for place in self.expectations.of_feed(feed) if place.seq == following]
        packets = [place.dmx + body for place in places]
        return [(chunk_hash(packet), packet) for packet in packets]

    def offer_coded_chunk(
        self, feed: FeedId, packet: bytes, origin: Origin, face: FaceName | None
    ) -> PacketOutcome:
        """Keep a coded chunk of *feed*, and append the chunks that can be computed with it."""
        coded = parse_coded_chunk(packet)
        if coded is None:
            return PacketOutcome(PacketKind.CODED_CHUNK, Verdict.INVALID, MALFORMED, feed)
        id_ = self.coded_chunks.id_of(feed, coded)
        block = self.coded_chunks.block(id_)
        if id_.generation < 0 or self.read_only or not self._takes(feed):
            return _row_outcome(Verdict.NOT_OURS, id_)
        if block is not None and self._holds_all(block, coded.length):
            return _row_outcome(Verdict.DUPLICATE, id_)
        new = self.coded_chunks.add(id_, coded)
        rebuilt = [] if block is None or not new else self._rebuilt(block)
        if new is None or rebuilt is None:
            return _row_outcome(Verdict.INVALID, id_, POISONED)
        outcome = _row_outcome(Verdict.NEW if new else Verdict.DUPLICATE, id_)
        for hash_, chunk in rebuilt:
            outcome.events.extend(self._append_or_compare(chunk, hash_, origin, face).events)
        self._append_followers(outcome, origin, face)
        if block is not None and block.final and self._holds_all(block, LENGTH_MAX):
            self.coded_chunks.drop(id_)
        return outcome

    def _holds_all(self, block: ChunkBlock, length: int) -> bool:
        """Return True if the first *length* chunks of a chunk block are stored."""
        return (block.final or length <= block.length) and not any(
            self.expectations.of_chain(block.id.feed, chain.seq) for chain in block.chains
        )

    def _rebuilt(self, block: ChunkBlock) -> list[tuple[bytes, bytes]] | None:
        """Return the chunks that the rows of a block determine, each behind its hash; None if one of them was a lie,
        and all are forgotten."""
        rebuilt: list[tuple[bytes, bytes]] = []
        for place in block.chains:
            chain = self.expectations.of_chain(block.id.feed, place.seq)
            rest = [] if chain is None else self.coded_chunks.rest_of(block, chain)
            if chain is not None and rest and rest[0][0] != chain.next_hash:
                self.coded_chunks.drop(block.id)
                return None
            rebuilt += rest
        return rebuilt

    def _coded_chunks_next(self, feed: FeedId, seq: int) -> list[tuple[bytes, bytes]]:
        """Return the chunks that rows determine now that an entry or chunk was appended, each behind its hash."""
        block = self.coded_chunks.block_with(feed, seq)
        return [] if block is None else self._rebuilt(block) or []

    def _append_or_compare(
        self, packet: bytes, hash_: bytes, origin: Origin, face: FaceName | None
    ) -> PacketOutcome:
        return (
            self._append_expected(packet, hash_, origin, face)
            or self._compare_stored(packet, hash_)
            or self._keep_orphan(packet, hash_)
        )

    def _append_expected(
        self, packet: bytes, hash_: bytes, origin: Origin, face: FaceName | None
    ) -> PacketOutcome | None:
        """Append a packet that is expected and fits; None if it is not expected. A malformed packet under an expected
        DMX may still be an expected chunk, whose first bytes are an entry's DMX by chance."""
        outcome: PacketOutcome | None = None
        for expectation in self.expectations.entries(packet[: limits.DMX_SIZE]):
            verified = accept(expectation, packet, self._verify)
            if isinstance(verified, Extended):
                beyond = expectation.seq > self._tips[expectation.feed].seq + 1
                outcome = self._add_newest(verified) if beyond else self._append_entry(verified, origin, face)
                break
            reason = type(verified).__name__
            outcome = _entry_outcome(Verdict.INVALID, expectation.feed, expectation.seq, reason)
        for chain in self.expectations.chunks(hash_):
            grown = advance(chain, packet)
            assert isinstance(grown, ChunkAccepted)
            beyond = chain.seq > self._tips[chain.feed].seq
            chunk = (
                self._add_newest_chunk(grown, packet)
                if beyond
                else self._append_chunk(grown, packet, origin, face)
            )
            if outcome is None or outcome.verdict is not Verdict.NEW:
                outcome = chunk
            else:
                outcome.events.extend(chunk.events)
        return outcome

    def _compare_stored(self, packet: bytes, hash_: bytes) -> PacketOutcome | None:
        """Compare a packet with the entries stored under its DMX, and with stored chunks; None if there are none."""
        dmx = packet[: limits.DMX_SIZE]
        places = [*self._store.find_entries(dmx)]
        if dmx in self._other_firsts:
            places.append((self._other_firsts[dmx], 1))
        outcomes = [self._compare(feed, seq, packet) for feed, seq in places]
        for outcome in outcomes:
            if outcome.verdict is Verdict.DUPLICATE or outcome.reason == FORKED:
                return outcome
        for feed, seq, chunk in self._store.find_chunks(hash_):
            return PacketOutcome(PacketKind.CHUNK, Verdict.DUPLICATE, None, feed, seq, chunk)
        return outcomes[0] if outcomes else None

    def _compare(self, feed: FeedId, seq: int, packet: bytes) -> PacketOutcome:
        """Compare a packet with the stored entry *seq* of *feed*: the same, a fork of it, or malformed."""
        compared = extend(self._network, self._tips[feed], seq, packet, self._held(feed, seq))
        if isinstance(compared, Duplicate):
            return _entry_outcome(Verdict.DUPLICATE, feed, seq)
        if isinstance(compared, Forked):
            forked = _entry_outcome(Verdict.INVALID, feed, seq, FORKED)
            forked.events.extend(self._freeze(compared.proof))
            return forked
        return _entry_outcome(Verdict.INVALID, feed, seq, type(compared).__name__)

    def _keep_orphan(self, packet: bytes, hash_: bytes) -> PacketOutcome:
        self.strays += 1
        return STRAYS[None if self.orphans.put(hash_, packet) else ORPHANS_FULL]

    def _append_entry(self, extended: Extended, origin: Origin, face: FaceName | None) -> PacketOutcome:
        tip = extended.tip
        feed, seq, id_ = tip.feed, tip.seq, tip.id
        assert id_ is not None
        if self.read_only:
            return _entry_outcome(Verdict.NOT_OURS, feed, seq, READ_ONLY)
        first = self._tips[feed].dialect is None
        self._tips[feed] = tip
        if first:
            self._empty.pop(feed, None)
            self._sought.pop(feed, None)
            self._keep(replace(self._records[feed], dialect=tip.dialect))
        if seq == 1:
            self._watch_other_first(tip)
        arrival = self._store.append_entry(feed, seq, extended.packet, id_, origin, face)
        self.quota.added(feed)
        self.coded.stored(feed, seq, extended.packet)
        self.expectations.expect_entries(feed, self._places(tip))
        layout = extended.layout
        outcome = _entry_outcome(Verdict.NEW, feed, seq)
        outcome.events.append(
            EntryAppended(
                feed=feed,
                seq=seq,
                id=id_,
                type=extended.type,
                size=layout.size,
                chunks=layout.chunks,
                origin=origin,
                face=face,
                arrival=arrival,
            )
        )
        chain = begin(feed, seq, layout)
        if chain is not None:
            self._store.put_side_chain(chain)
            self._growing[feed] += chain.growing
            self._expect_chain(chain)
        self._watch_end(feed)
        self._follow_frontier(feed)
        self._close_if_full(feed)
        return outcome

    def _append_chunk(
        self, grown: ChunkAccepted, packet: bytes, origin: Origin, face: FaceName | None
    ) -> PacketOutcome:
        chain = grown.chain
        place = chain.feed, chain.seq, grown.chunk
        if self.read_only:
            return PacketOutcome(PacketKind.CHUNK, Verdict.NOT_OURS, READ_ONLY, *place)
        arrival = self._store.append_chunk(chain.feed, chain.seq, grown.chunk, packet, origin, face)
        self.quota.added(chain.feed)
        self._store.put_side_chain(chain)
        self.coded_chunks.stored(chain.feed, chain.seq, grown.chunk, packet)
        self._growing[chain.feed] -= not chain.growing
        self._watch_end(chain.feed)
        if grown.complete:
            self.expectations.forget_chain(chain.feed, chain.seq)
        else:
            self._expect_chain(chain)
        self._expect_left_out_chains()
        self._close_if_full(chain.feed)
        outcome = PacketOutcome(PacketKind.CHUNK, Verdict.NEW, None, *place)
        outcome.events.append(
            ChunkAppended(
                feed=chain.feed,
                seq=chain.seq,
                chunk=grown.chunk,
                size=grown.size,
                complete=grown.complete,
                origin=origin,
                face=face,
                arrival=arrival,
            )
        )
        return outcome

    def _add_newest(self, extended: Extended) -> PacketOutcome:
        """Store an entry beyond the frontier, which its signature proves."""
        feed, seq = extended.tip.feed, extended.tip.seq
        if self.read_only:
            return _entry_outcome(Verdict.NOT_OURS, feed, seq, READ_ONLY)
        chain = self.newest.add(extended)
        self._expect_entries(feed)
        if chain is not None:
            self._expect_chain(chain)
        return _entry_outcome(Verdict.NEW, feed, seq)

    def _add_newest_chunk(self, grown: ChunkAccepted, packet: bytes) -> PacketOutcome:
        """Store a packet of the side chain of such an entry."""
        chain = grown.chain
        place = chain.feed, chain.seq, grown.chunk
        if self.read_only:
            return PacketOutcome(PacketKind.CHUNK, Verdict.NOT_OURS, READ_ONLY, *place)
        self.newest.add_chunk(chain, packet)
        if grown.complete:
            self.expectations.forget_chain(chain.feed, chain.seq)
        else:
            self._expect_chain(chain)
        return PacketOutcome(PacketKind.CHUNK, Verdict.NEW, None, *place)

    def _newest_next(self, appended: EntryAppended) -> Sequence[tuple[bytes, bytes]]:
        """Return the entry behind *appended* that was stored beyond the frontier, with its side chain."""
        following = self.newest.following(appended.feed, appended.seq + 1, appended.id)
        if following is None:
            # Like an entry that fits nothing: it may be of another branch.
            self.strays += 1
            self._expect_entries(appended.feed)
        return following or []

    def forget_orphans(self) -> None:
        """Drop all packets that came too early."""
        self.orphans = Orphans()

    def adopt_orphans(self, feed: FeedId, face: FaceName | None) -> list[Event]:
        """Append entries of *feed* that came before it was in the set; *face* named it, None: our user."""
        events: list[Event] = []
        for hash_, packet in self._orphans_next(feed, 0):
            events += self.offer(packet, hash_, Origin.PEER, face).events
        return events

    def _append_followers(self, outcome: PacketOutcome, origin: Origin, face: FaceName | None) -> None:
        """Append orphans that follow what *outcome* appended, and chunks that another side chain has in common with
        this one; and so on while anything fits."""
        unread: list[Event] = list(outcome.events)
        shared = 0
        while unread:
            event = unread.pop(0)
            if not isinstance(event, EntryAppended | ChunkAppended):
                continue
            known = self._orphans_next(event.feed, event.seq) + self._coded_next(event.feed)
            if isinstance(event, EntryAppended):
                known += self._newest_next(event)
            if len(self.coded_chunks) and (isinstance(event, ChunkAppended) or event.chunks):
                known += self._coded_chunks_next(event.feed, event.seq)
            if shared < limits.SHARED_CHUNKS_MAX:
                held = self._shared_next(event.feed, event.seq)
                shared += len(held)
                known += held
            for hash_, packet in known:
                # Of two that waited for one place the second is no longer expected, and proves a fork.
                adopted = self._append_or_compare(packet, hash_, origin, face)
                outcome.events.extend(adopted.events)
                unread += adopted.events

    def _orphans_next(self, feed: FeedId, seq: int) -> list[tuple[bytes, bytes]]:
        """Orphans that are expected now, with their hashes: they are orphans no more."""
        if not len(self.orphans):
            return []
        hashes = [
            hash_
            for expectation in self.expectations.of_feed(feed)
            for hash_ in self.orphans.with_dmx(expectation.dmx)
        ]
        chain = self.expectations.of_chain(feed, seq)
        if chain is not None and chain.next_hash in self.orphans and chain.next_hash not in hashes:
            hashes.append(chain.next_hash)
        return [(hash_, self.orphans.take(hash_)) for hash_ in hashes]

    def _shared_next(self, feed: FeedId, seq: int) -> list[tuple[bytes, bytes]]:
        """The next chunk of a side chain, with its hash, if another side chain has it too."""
        chain = self.expectations.of_chain(feed, seq)
        if chain is None:
            return []
        packets = [self._store.chunk(*place) for place in self._store.find_chunks(chain.next_hash)[:1]]
        return [(chain.next_hash, packet) for packet in packets if packet is not None]

    def _held(self, feed: FeedId, seq: int) -> HeldEntry:
        entry = self._store.entry(feed, seq)
        assert entry is not None
        if seq > 1:
            before = self._store.entry(feed, seq - 1)
            assert before is not None
            return HeldEntry(before.id, entry.packet)
        dialect = self._tips[feed].dialect
        assert dialect is not None
        return HeldEntry(first_prev(feed, dialect), entry.packet)

    def _freeze(self, proof: ForkProof) -> list[Event]:
        """Keep the proof; take no further entries of the feed. Of several forks the first place counts."""
        record = self.record(proof.feed)
        if self.read_only or (record.forked_at is not None and record.forked_at <= proof.seq):
            return []
        self._store.put_fork(proof)
        self._forks[proof.feed] = proof
        self._keep(replace(record, forked_at=proof.seq))
        self.expectations.expect_entries(proof.feed, ())
        self._follow_frontier(proof.feed)
        held, other = fork_ids(self._network, proof)
        return [ForkFound(feed=proof.feed, seq=proof.seq, held=held, other=other)]

    # --- our own feeds

    def append(
        self, key: SigningKey, content: bytes, type_: int | None = None
    ) -> list[EntryAppended | ChunkAppended]:
        """Append *content* to a feed of ours: the entry, then the packets of its side chain. With a *type_* of its own
        content has at most 48 bytes, and no side chain.

        Raises ContentTooLongError, FeedFullError, FeedForkedError, FeedEndedError, NodeReadOnlyError.
        """
        if self.read_only:
            raise NodeReadOnlyError
        feed = key.feed_id
        record = self._records[feed]
        if record.forked_at is not None:
            raise FeedForkedError(feed, record.forked_at)
        if type_ is None:
            composed = compose(self._network, key, self._tips[feed], content)
        else:
            composed = compose_fixed(self._network, key, self._tips[feed], content, type_=type_)
        events = self._append_entry(composed.extended, Origin.OWN, None).events
        chain = begin(feed, composed.extended.tip.seq, composed.extended.layout)
        for packet in composed.chunks:
            assert chain is not None
            grown = advance(chain, packet)
            assert isinstance(grown, ChunkAccepted)
            events += self._append_chunk(grown, packet, Origin.OWN, None).events
            chain = grown.chain
        return [event for event in events if isinstance(event, EntryAppended | ChunkAppended)]

    # --- expecting

    def _watch_end(self, feed: FeedId) -> None:
        if self._tips[feed].ended and not self._growing[feed]:
            self._closed.add(feed)
            self.followed_beyond.discard(feed)
            self.followed.discard(feed)

    def _watch_other_first(self, tip: Tip) -> None:
        if tip.seq and tip.dialect is not None:
            other = Dialect.DEPLOYED if tip.dialect is Dialect.SPEC else Dialect.SPEC
            name = entry_name(self._network, tip.feed, 1, first_prev(tip.feed, other))
            self._other_firsts[dmx_of(name)] = tip.feed

    def _expect_entries(self, feed: FeedId) -> None:
        places = self._places(self._tips[feed]) if self._is_open(feed) else ()
        self.coded_chunks.watch(feed)
        if places:
            self.coded.watch(feed)
        else:
            self.coded.forget(feed)
        self.expectations.expect_entries(feed, places)

    def _places(self, tip: Tip) -> tuple[Expectation, ...]:
        """Return where an entry of the feed may come: behind its tip, and behind the newest entries."""
        places = expectations(self._network, tip)
        if tip.dialect is None or tip.ended:
            return places
        return places + self.newest.places(tip.feed, tip.dialect, tip.seq)

    def _expect_chain(self, chain: SideChain) -> None:
        self.expectations.forget_chain(chain.feed, chain.seq)
        if chain.broken:
            return
        if not self.expectations.has_chunk_room:
            self._chains_left_out = True
            if not self.expectations.make_chunk_room(chain.feed):
                return
        self.expectations.expect_chunk(chain)

    def _expect_stored_chains(self) -> None:
        self._chains_left_out = False
        for chain in self._store.side_chains():
            if self._takes(chain.feed) and self.expectations.of_chain(chain.feed, chain.seq) is None:
                self._expect_chain(chain)
        for feed in self.newest.feeds:
            dialect = self._tips[feed].dialect
            if dialect is not None and self._is_open(feed):
                for chain in self.newest.chains(feed, dialect):
                    if self.expectations.of_chain(feed, chain.seq) is None:
                        self._expect_chain(chain)

    def _expect_left_out_chains(self) -> None:
        # Half empty before the store is asked again: a full scan per finished chain would be quadratic.
        if self._chains_left_out and 2 * len(self.expectations.side_chains) < limits.SIDE_CHAINS_MAX:
            self._expect_stored_chains()


def _entry_outcome(verdict: Verdict, feed: FeedId, seq: int, reason: str | None = None) -> PacketOutcome:
    return PacketOutcome(PacketKind.ENTRY, verdict, reason, feed, seq)


def _row_outcome(verdict: Verdict, id_: ChunkBlockId, reason: str | None = None) -> PacketOutcome:
    return PacketOutcome(PacketKind.CODED_CHUNK, verdict, reason, id_.feed, chunk_block=id_)
