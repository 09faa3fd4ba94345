"""The packets expected next: tables in which a received packet is looked up by DMX and by hash."""

from collections import Counter, OrderedDict
from collections.abc import Sequence

from tinyssb_node import limits
from tinyssb_node.feeds.chain import Expectation
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.ids import FeedId


class Expectations:
    """Expected entries by DMX, expected chunks by hash. Either key may have several: seven bytes can collide, and two
    side chains can end with the same packet."""

    def __init__(self) -> None:
        self._entries: dict[bytes, tuple[Expectation, ...]] = {}
        self._of_feed: dict[FeedId, tuple[Expectation, ...]] = {}
        self._chunks: dict[bytes, SideChain] = {}
        self._alike: dict[bytes, dict[tuple[FeedId, int], SideChain]] = {}
        """Further side chains that expect the same packet. Few do: a table for each packet would be 200 bytes more."""
        self._of_chain: dict[tuple[FeedId, int], SideChain] = {}
        self._chain_counts: Counter[FeedId] = Counter()

    def entries(self, dmx: bytes) -> Sequence[Expectation]:
        """Return the entries that a packet with this DMX may be."""
        return self._entries.get(dmx, ())

    def expects(self, dmx: bytes, hash_: bytes) -> bool:
        """Return True if a packet with this DMX and SHA-256[:20] may be an expected entry or is an expected chunk."""
        return dmx in self._entries or hash_ in self._chunks

    def of_feed(self, feed: FeedId) -> Sequence[Expectation]:
        """Return the entries expected of *feed*."""
        return self._of_feed.get(feed, ())

    def of_chain(self, feed: FeedId, seq: int) -> SideChain | None:
        """Return the side chain expected on an entry."""
        return self._of_chain.get((feed, seq))

    def expect_entries(self, feed: FeedId, expectations: tuple[Expectation, ...]) -> None:
        """Replace the expectations of *feed*; an empty tuple for none."""
        for old in self._of_feed.pop(feed, ()):
            others = self._entries.pop(old.dmx)
            if len(others) > 1:
                self._entries[old.dmx] = tuple(other for other in others if other.feed != feed)
        if expectations:
            self._of_feed[feed] = expectations
        for new in expectations:
            others = self._entries.get(new.dmx, ())
            # One feed's tuple serves both tables, as a rule.
            alone = expectations if len(expectations) == 1 else (new,)
            self._entries[new.dmx] = (*others, new) if others else alone

    def chunks(self, hash_: bytes) -> Sequence[SideChain]:
        """Return the side chains that expect a packet with this SHA-256[:20]."""
        first = self._chunks.get(hash_)
        if first is None:
            return ()
        return (first, *self._alike[hash_].values()) if hash_ in self._alike else (first,)

    @property
    def has_chains(self) -> bool:
        """True if a side chain is expected."""
        return bool(self._of_chain)

    @property
    def side_chains(self) -> Sequence[SideChain]:
        """Every side chain expected, in order of expectation."""
        return tuple(self._of_chain.values())

    @property
    def has_chunk_room(self) -> bool:
        """True if a further side chain can be expected (limits.SIDE_CHAINS_MAX)."""
        return len(self._of_chain) < limits.SIDE_CHAINS_MAX

    def make_chunk_room(self, feed: FeedId) -> bool:
        """Make room for a side chain of *feed* in a full table: of the feed that has the most, the one without progress
        for longest goes. False if *feed* has its share: chunks that no node has must not stop all others."""
        greediest = max(self._chain_counts, key=self._chain_counts.__getitem__)
        if self._chain_counts[greediest] <= self._chain_counts[feed] + 1:
            return False
        self.forget_chain(*next(key for key in self._of_chain if key[0] == greediest))
        return True

    def expect_chunk(self, chain: SideChain) -> None:
        """Wait for the next packet of *chain*, in place of an earlier one of the same side chain."""
        key = (chain.feed, chain.seq)
        self.forget_chain(*key)
        self._of_chain[key] = chain
        self._chain_counts[chain.feed] += 1
        if self._chunks.setdefault(chain.next_hash, chain) is not chain:
            self._alike.setdefault(chain.next_hash, {})[key] = chain

    def forget_chain(self, feed: FeedId, seq: int) -> None:
        """Wait no more for a side chain."""
        old = self._of_chain.pop((feed, seq), None)
        if old is None:
            return
        self._chain_counts[feed] -= 1
        hash_ = old.next_hash
        alike = self._alike.get(hash_, {})
        if self._chunks[hash_] is not old:
            del alike[feed, seq]
        elif alike:
            self._chunks[hash_] = alike.pop(next(iter(alike)))
        else:
            del self._chunks[hash_]
        if not alike:
            self._alike.pop(hash_, None)

    def forget_feed(self, feed: FeedId) -> None:
        """Expect nothing of *feed* any more."""
        self.expect_entries(feed, ())
        for owner, seq in [key for key in self._of_chain if key[0] == feed]:
            self.forget_chain(owner, seq)


class Orphans:
    """Packets that nothing expects yet: an entry or chunk that overtook its predecessor.

    The table is bounded and evicts the oldest, so that junk costs the oldest orphan a repeat and nothing else.
    """

    def __init__(self) -> None:
        self._by_hash: OrderedDict[bytes, bytes] = OrderedDict()
        self._by_dmx: dict[bytes, tuple[bytes, ...]] = {}

    def __len__(self) -> int:
        return len(self._by_hash)

    def __contains__(self, hash_: bytes) -> bool:
        return hash_ in self._by_hash

    def put(self, hash_: bytes, packet: bytes) -> bool:
        """Keep *packet*. False if an older one had to go."""
        by_hash, by_dmx = self._by_hash, self._by_dmx
        if hash_ in by_hash:
            return True
        by_hash[hash_] = packet
        dmx = packet[: limits.DMX_SIZE]
        by_dmx[dmx] = (*by_dmx[dmx], hash_) if dmx in by_dmx else (hash_,)
        if len(by_hash) <= limits.ORPHANS_MAX:
            return True
        old_hash, old = by_hash.popitem(last=False)
        self._forget(old_hash, old[: limits.DMX_SIZE])
        return False

    def with_dmx(self, dmx: bytes) -> Sequence[bytes]:
        """Hashes of the packets kept that begin with *dmx*, in a fixed order."""
        return sorted(self._by_dmx.get(dmx, ()))

    def packet(self, hash_: bytes) -> bytes:
        """Return a packet that is kept. Raises KeyError."""
        return self._by_hash[hash_]

    def take(self, hash_: bytes) -> bytes:
        """Remove and return a packet that is kept."""
        packet = self._by_hash.pop(hash_)
        self._forget(hash_, packet[: limits.DMX_SIZE])
        return packet

    def _forget(self, hash_: bytes, dmx: bytes) -> None:
        alike = self._by_dmx.pop(dmx)
        if len(alike) > 1:
            self._by_dmx[dmx] = tuple(other for other in alike if other != hash_)
