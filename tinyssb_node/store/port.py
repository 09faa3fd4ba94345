"""The core's view of the store: small, synchronous, the same for SQLite and memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from tinyssb_node.feeds.fork import ForkProof
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedRecord:
    """The record of a feed, without its packets."""

    feed: FeedId
    """The feed."""
    dialect: Dialect | None
    """Its dialect; None until its first entry fixed it."""
    seq: int
    """Sequence number of the last entry held, 0 for none."""
    tip: MessageId | None
    """Message id of that entry."""
    own: bool
    """True if it is our main feed: the one that stands for us."""
    wanted: bool
    """False if its user does not want it: it stays in the set, is not asked for."""
    forked_at: int | None
    """Sequence number at which two signed entries were seen; the feed is frozen. None: no fork known."""
    child: bool = False
    """True if it is a further feed of ours: we hold its key, and people know us by our main feed."""
    retired: bool = False
    """True if it has left the set, or the set was left for one without it. Its entries stay stored, and it returns when
    a peer names it; until then no more of it is accepted."""
    beyond: bool = False
    """True if it is beyond the set, which has at most 255 feeds: nodes of ours exchange it by name."""
    followed: bool = True
    """False if only peers named it, or an invitation to a group needs it: nobody here asked for it."""
    for_group: bool = False
    """True if the user did not ask for it: a group of theirs did, or if it is not *followed*, an invitation to one."""
    newest: int = 0
    """How many of its last entries our user wants before its history, 0 for none."""

    @property
    def in_set(self) -> bool:
        """True if it is in the set that peers agree on."""
        return not (self.retired or self.beyond)

    @property
    def of_user(self) -> bool:
        """True if our user follows it, and not just a group of theirs."""
        return self.followed and self.wanted and not self.for_group

    @property
    def invited(self) -> bool:
        """True if only an invitation to a group needs it, which our user did not accept."""
        return self.for_group and not self.followed

    @property
    def ours(self) -> bool:
        """True if we hold its key."""
        return self.own or self.child

    @property
    def evicted(self) -> bool:
        """True if entries of it were stored and were deleted, since nobody here asked for it (decision 0063)."""
        return self.dialect is not None and not (self.seq or self.followed or self.ours)


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredEntry:
    """A stored entry."""

    feed: FeedId
    seq: int
    packet: bytes
    """120 bytes."""
    id: MessageId
    origin: Origin
    face: FaceName | None
    arrival: int
    """Counts appends of this store, entries and chunks together, from 1; no number is given twice."""
    committed_us: int
    """Wall clock at commit, microseconds since 1970; 0 before the commit."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredChunk:
    """A stored packet of a side chain."""

    feed: FeedId
    seq: int
    chunk: int
    """From 0."""
    packet: bytes
    """120 bytes."""
    origin: Origin
    face: FaceName | None
    arrival: int
    committed_us: int


@dataclass(frozen=True, slots=True, kw_only=True)
class NewestEntry:
    """An entry that is proven, and of whose predecessors some are missing (docs/formats/packets.md, ANCHOR)."""

    feed: FeedId
    seq: int
    prev: MessageId
    """Id of the entry before, as its signature proves."""
    id: MessageId
    packet: bytes
    """120 bytes."""
    chunks: tuple[bytes, ...] = ()
    """The packets of its side chain that are stored, from the first without gaps."""
    known_us: int = 0
    """Wall clock at the commit that kept it, microseconds since 1970; 0 before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AirtimeCharge:
    """Airtime charged to a sub-band's account, written before the packet may leave."""

    band: str
    """Which account."""
    number: int
    """Counts the account's charges, upward."""
    advert: bool
    """True for adverts and requests, False for entries and chunks."""
    airtime_us: int
    """Microseconds on the air."""
    ended_us: int | None
    """Ledger time by which it had left; None: it may not have left yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """The fact that a peer stores a feed up to an entry."""

    number: int
    """Counts receipts, upward."""
    feed: FeedId
    """The stored feed."""
    seq: int
    """Up to which entry."""
    holder: FeedId | None
    """The peer, which has signed it; None: it was inferred from a WANT of an unknown node."""
    face: FaceName | None
    """The face of that WANT; None for a signed receipt."""
    speaker: bytes
    """The sender's name on the air, 2 bytes; empty where nodes have no names."""
    known_us: int
    """Wall clock at the commit that kept it, microseconds since 1970; 0 before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FeedUsage:
    """The room that a feed takes."""

    feed: FeedId
    packets: int
    """Stored entries and chunks, 120 bytes each."""
    begun: int
    """Arrival number of its first entry that is stored."""


class Store(Protocol):
    """The store. Everything between two commits is one transaction: all of it is stored, or none.

    Reads see earlier writes, committed or not. Raises StoreFullError when the disk is full and StoreFailedError for
    other failures of the disk; after either, call ``rollback`` and load again.
    """

    def feeds(self) -> Sequence[FeedRecord]:
        """Return all feeds, retired ones included, sorted by feed id."""
        ...

    def put_feed(self, record: FeedRecord) -> None:
        """Add or replace the record of a feed."""
        ...

    def drop_feed(self, feed: FeedId) -> None:
        """Delete a feed of which nothing is stored, and that is not ours. Added again, it is new."""
        ...

    def cut_feed(self, feed: FeedId, keep: int) -> int:
        """Delete all that is stored of *feed* behind entry *keep*, 0 for all of it, proofs of forks included, and move
        its frontier back. Returns how many packets that were. Arrival numbers are not given again."""
        ...

    def usage(self) -> Sequence[FeedUsage]:
        """Return the room that each feed takes of which an entry is stored, sorted by feed id."""
        ...

    def append_entry(
        self, feed: FeedId, seq: int, packet: bytes, id_: MessageId, origin: Origin, face: FaceName | None
    ) -> int:
        """Add a verified entry behind the last one and move the feed's frontier to it. Returns its arrival number.

        The feed was put before. That *seq* follows the last one is the caller's care, checked here too
        (AssertionError).
        """
        ...

    def append_chunk(
        self, feed: FeedId, seq: int, chunk: int, packet: bytes, origin: Origin, face: FaceName | None
    ) -> int:
        """Add a verified packet of a side chain. Returns its arrival number."""
        ...

    def put_side_chain(self, chain: SideChain) -> None:
        """Store the state of an unfinished side chain; delete it when the chain is complete."""
        ...

    def side_chains(self, feed: FeedId | None = None) -> Iterator[SideChain]:
        """Yield the unfinished side chains, of one feed if so asked: those of a feed together, in order of their
        sequence numbers. There may be as many as entries, so they are read a few at a time; what is stored meanwhile
        may be among them."""
        ...

    def entry(self, feed: FeedId, seq: int) -> StoredEntry | None:
        """Return one entry, O(log n)."""
        ...

    def entries(self, feed: FeedId, first: int, limit: int) -> Sequence[StoredEntry]:
        """Return up to *limit* entries from sequence number *first* on, in order."""
        ...

    def chunk(self, feed: FeedId, seq: int, chunk: int) -> bytes | None:
        """Return one packet of a side chain, O(log n)."""
        ...

    def chunks(self, feed: FeedId, seq: int, first: int, limit: int) -> Sequence[bytes]:
        """Return up to *limit* packets of a side chain from number *first* on, in order."""
        ...

    def last_packet(self, feed: FeedId, seq: int) -> int:
        """Return the arrival number of the last packet of an entry and its side chain; 0: it is not stored."""
        ...

    def find_entries(self, dmx: bytes) -> Sequence[tuple[FeedId, int]]:
        """Return the positions of stored entries with this DMX (7 bytes; more than one only by chance or design)."""
        ...

    def find_chunks(self, hash_: bytes) -> Sequence[tuple[FeedId, int, int]]:
        """Return the positions of stored chunks with this SHA-256[:20]."""
        ...

    def may_hold(self, dmx: bytes, hash_: bytes) -> bool:
        """Return False if ``find_entries`` and ``find_chunks`` would find nothing. In a flood, calling both would cost
        most."""
        ...

    def put_fork(self, proof: ForkProof) -> None:
        """Keep both branches of a fork. Put again, it changes nothing."""
        ...

    def forks(self) -> Sequence[ForkProof]:
        """Return all proofs, sorted by feed and sequence number. Raises StoreDamagedError."""
        ...

    def fork_rows(self) -> Sequence[tuple[FeedId, int, ForkProof | None]]:
        """Return the same with the positions they are stored under; None instead of a proof that is malformed or about
        another position."""
        ...

    def after(self, arrival: int, limit: int) -> Sequence[StoredEntry | StoredChunk]:
        """Return the next *limit* appends with arrival numbers above *arrival*, in order; fewer if there are no more.

        Numbers may be missing between them, where something was removed (``cut_feed``, ``store.repair``).
        """
        ...

    def last_arrival(self) -> int:
        """Return the highest arrival number that was given, 0 for none."""
        ...

    def put_charge(self, charge: AirtimeCharge) -> None:
        """Add or replace a charge."""
        ...

    def drop_charges(self, band: str, through: int) -> None:
        """Delete the account's charges up to and including number *through*."""
        ...

    def charges(self) -> Sequence[AirtimeCharge]:
        """Return all charges, sorted by account and number."""
        ...

    def put_receipt(self, receipt: Receipt) -> None:
        """Add or replace a receipt; the next commit dates it. Its feed, and its holder, were put before."""
        ...

    def drop_receipts(self, numbers: Sequence[int]) -> None:
        """Delete the receipts of these numbers."""
        ...

    def receipts(self) -> Sequence[Receipt]:
        """Return all receipts, by number."""
        ...

    def unused(self) -> int:
        """Return the bytes of the store that hold nothing: what is appended takes these first."""
        ...

    def put_newest_entry(self, entry: NewestEntry) -> None:
        """Add or replace an entry of which earlier ones are missing; the next commit dates it. Its feed was put
        before."""
        ...

    def drop_newest_entry(self, feed: FeedId, seq: int) -> None:
        """Delete such an entry."""
        ...

    def newest_entries(self) -> Sequence[NewestEntry]:
        """Return all of them, sorted by feed and sequence number."""
        ...

    def get_meta(self, key: str) -> str | None:
        """Return a small value stored by name (boot counter, ledger clock)."""
        ...

    def put_meta(self, key: str, value: str) -> None:
        """Keep a small value by name."""
        ...

    def get_secret(self) -> bytes | None:
        """Return the secrets that must be erasable; None if there are none, or their key is lost."""
        ...

    def put_secret(self, secret: bytes) -> None:
        """Keep secrets in place of those before, which nothing on the disk opens once this is committed."""
        ...

    def commit(self, wall_us: int) -> None:
        """Make everything written since the last commit durable (fsync included), stamped with *wall_us*."""
        ...

    def rollback(self) -> None:
        """Undo everything written since the last commit."""
        ...

    def close(self) -> None:
        """Close; uncommitted writes are lost."""
        ...
