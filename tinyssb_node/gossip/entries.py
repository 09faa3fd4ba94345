"""Gossip about entries and chunks: where replication (which peer lacks what) meets scheduling (when to send).

Adverts go out by Trickle timers; replies wait a random moment on shared media and are dropped when a peer gives them
first; new entries are offered on the other faces. Effects are returned, packets wait in the transmit queue.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.codec.events import (
    ChnkSeen,
    ChunkAppended,
    Effect,
    EntryAppended,
    Event,
    ForkFound,
    Send,
    WantSeen,
)
from tinyssb_node.codec.packets import (
    GENERATION_SIZE,
    Anchor,
    Chnk,
    Diff,
    NamedChnk,
    NamedWant,
    Newest,
    Want,
    parse_coded,
    serialize_anchor,
    serialize_chnk,
    serialize_named_chnk,
    serialize_named_want,
    serialize_newest,
    serialize_want,
)
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.gossip.chain_order import CHNK_DELAY_US, ChainOrder, Piece
from tinyssb_node.gossip.chunk_rows import ChunkRows
from tinyssb_node.gossip.deployed_peers import WIRE_NAME
from tinyssb_node.gossip.deployed_set import DeployedSet
from tinyssb_node.gossip.expiry import IdExpiry
from tinyssb_node.gossip.fork_gossip import ForkGossip
from tinyssb_node.gossip.frontier_gossip import FrontierGossip
from tinyssb_node.gossip.newest_gossip import NewestGossip
from tinyssb_node.gossip.peer_memory import PeerMemory
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.gossip.turn_taking import TurnTaking
from tinyssb_node.ids import Direction, Dmx, FaceName, FeedId, Origin, PacketKind, Verdict
from tinyssb_node.replication.chnk import build_chnk, read_chnk
from tinyssb_node.replication.chunk_blocks import ChunkBlockId
from tinyssb_node.replication.coded_entries import code, generation_of
from tinyssb_node.replication.erasure import ROWS
from tinyssb_node.replication.goset import Goset
from tinyssb_node.replication.neighbours import GenerationSum, Gift, Neighbour
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import WantReading, build_want, read_numbers, read_want
from tinyssb_node.scheduling.budget import AirUse
from tinyssb_node.scheduling.link import LinkMedium, Reception
from tinyssb_node.scheduling.requester import share_out, take_turns
from tinyssb_node.scheduling.transmit_queue import GossipPacket, HandedPacket, TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource
from tinyssb_node.store.port import Store

_FOLLOWED_ONLY_US = 60_000_000
"""Time after something of such a feed came for which requests leave out all others: some requests and replies."""

_DEPLOYED_EVERY = 4
"""Requests by place of which one is about the set of deployed peers, where it is not ours: strangers may make it up."""


class EntryGossip:
    """The exchange of entries and chunks with peers, on all faces of one node."""

    def __init__(
        self,
        replica: Replica,
        store: Store,
        network: Network,
        entropy: RandomSource,
        receipts: ReceiptTracker,
        retirement: FeedRetirement,
        frontiers: FrontierGossip,
        expiry: IdExpiry,
        deployed: DeployedSet,
    ) -> None:
        """*deployed* is the set that deployed peers have."""
        self._replica = replica
        self._expiry = expiry
        self._deployed = deployed
        self._spoken: dict[tuple[FaceName, PacketKind], int] = {}
        """Requests by place sent while their set was not ours."""
        self._receipts = receipts
        self._retirement = retirement
        self._frontiers = frontiers
        self._store = store
        self._network = network
        self._entropy = entropy
        self._peers: dict[FaceName, PeerMemory] = {}
        self._turns: dict[FaceName, TurnTaking] = {}
        self._turn: dict[tuple[FaceName, PacketKind], bool] = {}
        """True if the last request named feeds, where both kinds are to be sent."""
        self._plain_until_us: dict[FaceName, int] = {}
        """Until when a face takes no coded entries, as one was a lie."""
        self._followed_until_us: dict[FaceName, int] = {}
        """Until when requests name only feeds that our user or a group follows."""
        self._rows: dict[FaceName, ChunkRows] = {}
        """On the air."""
        self._orders: dict[FaceName, ChainOrder] = {}
        """Elsewhere."""
        self._forking = ForkGossip(replica)
        self._newest = NewestGossip(replica, frontiers)
        self._goset_dmx = network.goset_dmx
        self._follow_set()

    def face_up(self, queue: TransmitQueue, now_us: int) -> None:
        """A face can be used."""
        self._followed_until_us[queue.name] = now_us + _FOLLOWED_ONLY_US
        self._peers[queue.name] = PeerMemory(queue)
        self._newest.face_up(queue.name)
        if queue.on_air:
            self._turns[queue.name] = TurnTaking(self._replica, queue, self._entropy)
            self._rows[queue.name] = ChunkRows(self._replica, self._network, queue, self._entropy)
        else:
            self._orders[queue.name] = ChainOrder(
                self._replica, self._store, lossy=queue.profile.medium is not LinkMedium.STREAM
            )

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        del self._peers[face]
        self._turns.pop(face, None)
        self._rows.pop(face, None)
        self._orders.pop(face, None)
        self._plain_until_us.pop(face, None)
        self._followed_until_us.pop(face, None)
        for kind in (PacketKind.WANT, PacketKind.CHNK):
            self._turn.pop((face, kind), None)
            self._spoken.pop((face, kind), None)
        self._forking.face_down(face)
        self._newest.face_down(face)

    def kind(self, dmx: bytes) -> PacketKind | None:
        """Return the kind of a packet with this DMX, WANT or CHNK; None: it is neither. Both depend on the set (spec
        3.4.2)."""
        if (
            self._state is not self._replica.goset.state
            or self._deployed_state is not self._deployed.goset.state
        ):
            self._follow_set()
        return self._kinds.get(dmx)

    def set_under(self, dmx: bytes) -> Goset:
        """Return the set that a packet with this DMX is about, WANT or CHNK: ours, or that of deployed peers."""
        return self._deployed.goset if dmx in self._of_deployed else self._replica.goset

    def _dmx(self, kind: PacketKind, goset: Goset) -> Dmx:
        make = want_dmx if kind is PacketKind.WANT else chnk_dmx
        return make(self._network, goset.state)

    def _follow_set(self) -> None:
        self._state = state = self._replica.goset.state
        self._deployed_state = deployed = self._deployed.goset.state
        kinds = (PacketKind.WANT, PacketKind.CHNK)
        theirs: dict[bytes, PacketKind] = {}
        if deployed is not state:
            theirs = {self._dmx(kind, self._deployed.goset): kind for kind in kinds}
        self._of_deployed = theirs.keys()
        self._kinds: dict[bytes, PacketKind] = {
            **theirs,
            **{self._dmx(kind, self._replica.goset): kind for kind in kinds},
        }

    def _set_to_speak_of(self, queue: TransmitQueue, kind: PacketKind, now_us: int) -> Goset:
        """Return the set of which the next request by place speaks: ours, or each fourth time that of a deployed peer
        near."""
        ours, theirs = self._replica.goset, self._deployed.goset
        if theirs is ours or not self._frontiers.deployed.talks(queue.name, now_us):
            return ours
        self._spoken[queue.name, kind] = spoken = self._spoken.get((queue.name, kind), 0) + 1
        return theirs if spoken % _DEPLOYED_EVERY == 1 else ours

    # --- adverts

    def wake(self, queue: TransmitQueue, now_us: int) -> None:
        """Move the timers of a face on to *now_us*."""
        for kind in queue.wake(now_us):
            self._peers[queue.name].timer_requested(kind)
        self._newest.wake(queue.name, now_us)

    def build(self, queue: TransmitQueue, kind: PacketKind, now_us: int) -> GossipPacket | None:
        """Build the packet for an advert of *kind*: WANT, CHNK or a pong. None if there is nothing to advertise."""
        if kind is PacketKind.PONG:
            return queue.build_pong()
        by_name = self._names_feeds(queue, kind, now_us)
        if kind is PacketKind.WANT:
            return self._build_named_want(queue, now_us) if by_name else self._build_want(queue, now_us)
        return self._build_named_chnk(queue, now_us) if by_name else self._build_chnk(queue, now_us)

    def _names_feeds(self, queue: TransmitQueue, kind: PacketKind, now_us: int) -> bool:
        """Return True if the next request names feeds, rather than counting on peers with the same set."""
        if self._frontiers.sets_differ(queue, now_us):
            return True
        if not (queue.on_air or self._frontiers.understood(queue.name)):
            return False
        if kind is PacketKind.WANT:
            beyond = self._frontiers.has_requests(queue.name) or bool(self._frontiers.beyond(queue, now_us))
            # By name neighbours understand it before sets are the same, which takes minutes with hundreds of feeds.
            beyond |= self._frontiers.sets_seem_to_differ(queue.name) and bool(self._replica.followed)
            searched = self._forking.searched(queue)
            beyond |= searched is not None and searched not in self._replica.goset
        else:
            in_set = len(self._chains_in_set())
            beyond = len(self._replica.expectations.side_chains) > in_set
            if beyond and not in_set:
                return True
        if not beyond:
            return False
        self._turn[queue.name, kind] = turn = not self._turn.get((queue.name, kind), False)
        return turn

    def _build_want(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        turn = self._turns.get(queue.name)
        cursor = self._peers[queue.name].want_cursor
        goset = self._set_to_speak_of(queue, PacketKind.WANT, now_us)
        ours = goset is self._replica.goset
        start = cursor.start if turn is None or not ours else turn.first_index(cursor.start, now_us)
        next_wanted = self._forking.next_wanted(queue)
        built = build_want(goset, next_wanted, start, self._lacking(queue, now_us))
        if built is None:
            return None
        want, following = built
        feeds = goset.feeds
        named = [feeds[(want.offset + number) % len(feeds)] for number in range(len(want.seqs))]
        self._forking.asked(queue, named, now_us)
        cursor.built(following if start == cursor.start else cursor.start)
        if turn is not None:
            speaker, asks = turn.address(now_us)
            want = replace(want, speaker=speaker, asks=asks)
        else:
            want = replace(want, speaker=WIRE_NAME)
        packet, seen = (
            serialize_want(self._dmx(PacketKind.WANT, goset), want),
            self._want_seen(Direction.TX, queue, goset, want),
        )
        return GossipPacket(packet, PacketKind.WANT, seen, addressed=bool(want.asks))

    def _lacking(self, queue: TransmitQueue, now_us: int) -> Callable[[FeedId], int] | None:
        """Return what tells how many rows we lack of a feed; None where we take no coded entries: one was a lie, or a
        fork is searched, which a row hides, as it stands for a place on any branch."""
        distrusts = now_us < self._plain_until_us.get(queue.name, now_us)
        if not queue.on_air or distrusts or self._forking.searched(queue) is not None:
            return None
        return self._replica.rows_lacking

    def _build_named_want(
        self, queue: TransmitQueue, now_us: int, *, again: bool = True
    ) -> GossipPacket | None:
        """Build a request that names feeds: on the air, where sets differ, all feeds of the set in turn."""
        turn = self._turns.get(queue.name)
        first: Sequence[FeedId] = ()
        rest: Sequence[FeedId] = ()
        if again:
            rest = beyond = self._frontiers.beyond(queue, now_us)
            if turn is not None and self._frontiers.sets_differ(queue, now_us):
                rest = (*self._feeds_to_name(queue, now_us), *rest)
            rest = self._peers[queue.name].named_from(rest)
            if turn is not None:
                first = self._asked_for(queue, turn, beyond, now_us)
            if (
                self._replica.followed
                and self._grows(queue, now_us)
                and self._frontiers.sets_seem_to_differ(queue.name)
            ):
                rest = ()
            if not self._replica.has_large_set:
                first, rest = (), (*first, *rest)
        if again:
            self._frontiers.ask_again(queue.name)
        if (searched := self._forking.searched(queue)) is not None:
            first = (searched, *first)
        want = self._frontiers.build_want(queue, first, rest, self._forking.next_wanted(queue))
        if want is None:
            return None
        if searched is not None:
            self._forking.asked(queue, (searched,), now_us)
        self._peers[queue.name].named(len(want.wanted))
        speaker, asks = (b"", b"") if turn is None else turn.address(now_us)
        packet = serialize_named_want(self._goset_dmx, replace(want, speaker=speaker, asks=asks))
        return GossipPacket(packet, PacketKind.NAMED_WANT, None, addressed=bool(asks))

    def _feeds_to_name(self, queue: TransmitQueue, now_us: int) -> Sequence[FeedId]:
        """Return the feeds of the set that a request on the air names in turn; in a flood of made-up ids only those of
        which an entry is here. Of others a neighbour that has entries says so."""
        feeds, holds = self._replica.goset.feeds, self._replica.holds
        return (
            [feed for feed in feeds if holds(feed)] if self._expiry.is_flooded(queue.name, now_us) else feeds
        )

    def _asked_for(
        self, queue: TransmitQueue, turn: TurnTaking, beyond: Sequence[FeedId], now_us: int
    ) -> Sequence[FeedId]:
        """Return the feeds that a request on the air names first, half a packet of them: those that our user or a group
        follows, and those that a neighbour follows, in the set and *beyond* it, of both in turn; while sets differ, or
        where there are some beyond a large set. There may be hundreds of others, and the law leaves no airtime for all.
        """
        large = self._replica.has_large_set and beyond
        if not (large or self._frontiers.sets_seem_to_differ(queue.name)):
            return ()
        peers, first = self._peers[queue.name], limits.NAMED_FIRST
        # Our user may follow hundreds: what a neighbour waits for must not have its turn after all of those.
        neighbours = sorted({*beyond, *turn.named_in_set(now_us)}) if large else ()
        theirs = peers.neighbours_turn.take(neighbours, first // 2)
        ours = peers.followed_turn.take(
            sorted(self._replica.followed.difference(theirs)), first - len(theirs)
        )
        return take_turns([theirs, ours])

    def _grows(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if something of a feed that our user or a group follows came on the air a moment ago. Then the
        next thing may follow from it, such as the feeds of a group from a key: requests leave all other feeds out."""
        return now_us < self._followed_until_us[queue.name]

    def lacks_something(self, face: FaceName) -> bool:
        """Return True if a neighbour on *face* is known to have entries that we lack, or chunks of ours are missing."""
        turn = self._turns.get(face)
        offered = turn is not None and turn.is_offered
        return offered or self._replica.expectations.has_chains

    def has_packets(self, face: FaceName) -> bool:
        """Return True if a request is to be sent on *face* that waits for no timer, besides named WANTs."""
        return self._newest.has_requests(face)

    def more_wants(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        """Return a request that need not wait for a timer: for newest entries, or another named WANT on wires, where
        requests cost nothing."""
        if (newest := self._newest.build(queue, now_us)) is not None:
            return GossipPacket(serialize_newest(self._goset_dmx, newest), PacketKind.NEWEST, None)
        if queue.on_air or not self._frontiers.has_news(queue.name):
            return None
        return self._build_named_want(queue, now_us, again=False)

    def _build_chnk(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        cursor = self._peers[queue.name].chnk_cursor
        goset = self._set_to_speak_of(queue, PacketKind.CHNK, now_us)
        built = self._ask_chunks(queue, goset, now_us)
        if built is None:
            return None
        chnk, following = built
        cursor.built(following)
        packet = serialize_chnk(self._dmx(PacketKind.CHNK, goset), chnk)
        return GossipPacket(packet, PacketKind.CHNK, self._chnk_seen(Direction.TX, queue, goset, chnk))

    def _ask_chunks(self, queue: TransmitQueue, goset: Goset, now_us: int) -> tuple[Chnk, int] | None:
        """Build our next CHNK, and where to start the one behind it. None if no chunk is missing."""
        rows, chains = self._rows.get(queue.name), self._chains_in_set()
        start = self._peers[queue.name].chnk_cursor.start
        if rows is None:
            return build_chnk(goset, chains, start)
        return rows.build_chnk(goset, chains, start, now_us)

    def _chains_in_set(self) -> Sequence[SideChain]:
        """Return the side chains that a CHNK names: of the set, and of entries whose place in it all know."""
        replica = self._replica
        chains = replica.expectations.side_chains
        return [
            chain
            for chain in chains
            if chain.feed in replica.goset and chain.seq <= replica.frontier(chain.feed)
        ]

    def _build_named_chnk(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        chains = self._replica.expectations.side_chains
        if not chains:
            return None
        cursor = self._peers[queue.name].chnk_cursor
        start = cursor.start % len(chains)
        chains = (*chains[start:], *chains[:start])
        first = [chain for chain in chains if chain.feed in self._replica.followed]
        if not (first and queue.on_air and self._grows(queue, now_us)):
            first = [*dict.fromkeys((*first[: limits.NAMED_FIRST], *chains))]
        asked = [(chain.feed, chain.seq, chain.held) for chain in first]
        chnk = self._frontiers.build_chnk(queue, asked)
        cursor.built((start + len(chnk.wanted)) % len(chains))
        return GossipPacket(serialize_named_chnk(self._goset_dmx, chnk), PacketKind.NAMED_CHNK, None)

    def sent(self, queue: TransmitQueue, sent: HandedPacket, now_us: int) -> None:
        """A packet has left: the next request begins behind this one."""
        peers = self._peers[queue.name]
        if sent.kind in {PacketKind.CHNK, PacketKind.NAMED_CHNK}:
            peers.chnk_cursor.sent()
        elif sent.kind in {PacketKind.WANT, PacketKind.NAMED_WANT}:
            if sent.kind is PacketKind.WANT:
                peers.want_cursor.sent()
            if (turn := self._turns.get(queue.name)) is not None:
                turn.want_sent(now_us)
            if sent.addressed:
                peers.expect_answers(now_us)
        elif sent.kind is PacketKind.NEWEST:
            peers.expect_answers(now_us)
        elif sent.chosen:
            self._turns[queue.name].gave_chosen(now_us)

    def neighbours(self) -> dict[FaceName, list[Neighbour]]:
        """Return the neighbours on each face on the air."""
        return {face: turn.neighbours() for face, turn in self._turns.items()}

    # --- answers

    def heard_want(
        self, queue: TransmitQueue, goset: Goset, want: Want, reception: Reception, now_us: int
    ) -> list[Effect]:
        """Handle a WANT of a peer with the same set, *goset*: the next entry it wants of each feed."""
        if not len(goset):
            return []
        if goset is self._replica.goset:
            self._frontiers.set_compared(queue.name, same=True, now_us=now_us)
            queue.suppress_claim()
        if not want.speaker:
            self._frontiers.deployed.heard(queue.name, now_us)
        reading = read_want(goset, want, self._forking.next_wanted(queue))
        turn = self._turns.get(queue.name)
        self._heard_requests(queue, want, reading, now_us)
        whole = len(want.seqs) >= min(len(goset), limits.WANT_FEEDS)
        if whole and not reading.behind:
            if turn is None and reading.same:
                queue.suppress(PacketKind.WANT)
            elif turn is not None and reading.serves and turn.speaks_for_us(want):
                queue.suppress_served(PacketKind.WANT, same=reading.same)
        self._reply(queue, want, reading, reception, now_us)
        return [self._want_seen(Direction.RX, queue, goset, want)]

    def heard_named_want(
        self, queue: TransmitQueue, want: NamedWant, reception: Reception, now_us: int
    ) -> list[Effect]:
        """Handle a named WANT of a peer, whatever its set is: the next entry it wants of each feed that we know."""
        shorts, empty = [short for short, _ in want.wanted], {short for short, seq in want.wanted if seq == 1}
        feeds = self._frontiers.named(queue, want.salt, shorts, now_us, empty)
        numbers = [(feed, seq) for feed, (_, seq) in zip(feeds, want.wanted, strict=True) if feed is not None]
        reading = read_numbers(numbers, self._forking.next_wanted(queue))
        if self._heard_requests(queue, want, reading, now_us):
            self._frontiers.behind(queue.name, reading.wanted)
        self._reply(queue, want, reading, reception, now_us)
        return []

    def heard_diff(self, queue: TransmitQueue, diff: Diff, now_us: int) -> None:
        """Handle a peer's summary of what it holds: name feeds, soon, if it differs."""
        follows = self._frontiers.heard_diff(queue, diff, now_us)
        if follows is None:
            return
        if follows:
            queue.want_timer.hear_inconsistent(now_us)
            queue.claim_timer.hear_inconsistent(now_us)
        elif diff.depth == 0 and not self._frontiers.sets_seem_to_differ(queue.name):
            # While sets differ, the sketches must go on that show it: the same ids leave both of them (decision 0070).
            queue.suppress(PacketKind.CLAIM)
        if diff.depth == 0 and self._frontiers.equal(queue.name):
            self._receipts.heard_equal(queue.name, now_us)
            self._retirement.heard_equal()

    def _heard_requests(
        self, queue: TransmitQueue, want: Want | NamedWant, reading: WantReading, now_us: int
    ) -> bool:
        """Note what the request of a peer shows. Return True if it has entries that we lack, and that is heeded."""
        turn = self._turns.get(queue.name)
        # Off the air names mean nothing.
        self._receipts.heard_want(queue.name, want.speaker if turn is not None else b"", reading, now_us)
        self._retirement.heard_want(reading, now_us)
        self._forking.heard_want(queue, reading, now_us)
        self._forking.heard_alike(queue, self._frontiers.alike(queue.name, reading.wanted), now_us)
        self._newest.heard_want(queue, reading, now_us)
        heeded = reading.behind and (turn is None or turn.heeds(want.speaker, now_us))
        if heeded:
            queue.want_timer.hear_inconsistent(now_us)
            if turn is not None:
                queue.advertise(PacketKind.WANT, now_us)
        return heeded

    def _reply(
        self,
        queue: TransmitQueue,
        want: Want | NamedWant,
        reading: WantReading,
        reception: Reception,
        now_us: int,
    ) -> None:
        asked = {feed: seq for feed, seq in reading.wanted if seq <= self._replica.last_to_give(feed)}
        if asked or reading.behind or want.asks:
            self._peers[queue.name].expect_answers(now_us)
        if (turn := self._turns.get(queue.name)) is not None:
            turn.heard_want(want, reading, reception, now_us)
        else:
            self._answer(queue, reading.wanted, asked, now_us, named=bool(want.speaker))

    def _answer(
        self,
        queue: TransmitQueue,
        wanted: Sequence[tuple[FeedId, int]],
        asked: dict[FeedId, int],
        now_us: int,
        *,
        named: bool,
    ) -> None:
        """Reply on a wire: all at once. Nodes of ours are *named*."""
        if queue.profile.medium is LinkMedium.STREAM:
            peers = self._peers[queue.name]
            for feed, seq in wanted:
                peers.next_entry[feed] = peers.given_entries.first_to_give(feed, seq, now_us)
        if asked:
            self._give_entries(queue, asked, now_us, named=named)

    def _give_entries(
        self, queue: TransmitQueue, requested: dict[FeedId, int], now_us: int, *, named: bool
    ) -> None:
        peers = self._peers[queue.name]
        room = queue.room(peers.entry_credit.grant(requested))
        asked = peers.not_repeated(requested, now_us)
        if not asked:
            return
        feeds = peers.rotate([*asked], room)
        firsts = [peers.given_entries.first_to_give(feed, asked[feed], now_us) for feed in feeds]
        if self._frontiers.deployed.near(queue.name, now_us):
            self._give_in_order(queue, dict(zip(feeds, firsts, strict=True)), room, now_us, named=named)
            peers.answered(asked.items(), now_us)
            return
        available = [
            self._replica.last_to_give(feed) - first + 1 for feed, first in zip(feeds, firsts, strict=True)
        ]
        shares = share_out(room, available)
        chains: list[list[bytes]] = []
        for feed, first, share in zip(feeds, firsts, shares, strict=True):
            if share:
                chains.append([entry.packet for entry in self._store.entries(feed, first, share)])
                peers.gave_entries(feed, first, first + share - 1, now_us)
                peers.answered([(feed, asked[feed])], now_us)
        due_us = queue.reply_due_us(now_us)
        for packet in take_turns(chains):
            queue.put(packet, PacketKind.ENTRY, due_us)
        self._frontiers.gave(queue.name, sum(map(len, chains)))

    def _give_in_order(
        self, queue: TransmitQueue, firsts: Mapping[FeedId, int], room: int, now_us: int, *, named: bool
    ) -> None:
        """Give entries of feeds, each from its first on, with the chunks of each behind it."""
        peers, order = self._peers[queue.name], self._orders[queue.name]
        found = {feed: order.pieces(feed, first, room, now_us) for feed, first in firsts.items()}
        shares = share_out(room, [len(pieces) for pieces in found.values()])
        due_us = queue.reply_due_us(now_us)
        chains: dict[bool, list[list[Piece]]] = {False: [], True: []}
        for (feed, pieces), share in zip(found.items(), shares, strict=True):
            delayed = not named and order.delays(feed, now_us)
            given = pieces[:share]
            order.gave(feed, given, now_us, delayed=delayed)
            chains[delayed].append(given)
            for piece in given:
                if piece.chunk is None:
                    peers.gave_entries(feed, piece.seq, piece.seq, now_us)
                else:
                    peers.gave_chunks((feed, piece.seq), piece.chunk, 1, now_us)
        for delayed, of_feeds in chains.items():
            for piece in take_turns(of_feeds):
                kind = PacketKind.ENTRY if piece.chunk is None else PacketKind.CHUNK
                queue.put(piece.packet, kind, due_us + (CHNK_DELAY_US if delayed else 0))
        self._frontiers.gave(queue.name, sum(len(given) for each in chains.values() for given in each))

    def heard_newest(self, queue: TransmitQueue, newest: Newest, now_us: int) -> None:
        """Handle a NEWEST of a peer: give the last entries of feeds, with an anchor where it does not know their
        place."""
        peers = self._peers[queue.name]
        feeds = self._frontiers.named(queue, newest.salt, [short for short, _, _ in newest.wanted], now_us)
        peers.expect_answers(now_us)
        room, due_us = queue.room(limits.NEWEST_MAX), queue.reply_due_us(now_us)
        for feed, (short, seq, count) in zip(feeds, newest.wanted, strict=True):
            last = 0 if feed is None else self._replica.last_to_give(feed)
            first = max(1, seq, last - min(count, room) + 1)
            if feed is None or first > last:
                continue
            if first > max(1, seq):
                begin, before = self._store.entry(feed, 1), self._store.entry(feed, first - 1)
                assert begin is not None
                assert before is not None
                if seq <= 1:
                    queue.put(begin.packet, PacketKind.ENTRY, due_us)
                anchor = serialize_anchor(self._goset_dmx, Anchor(newest.salt, short, first, before.id))
                queue.put(anchor, PacketKind.ANCHOR, due_us)
            entries = self._store.entries(feed, first, last - first + 1)
            room -= len(entries)
            turn = self._turns.get(queue.name)
            for entry in entries:
                if turn is not None and not turn.may_give(feed, entry.seq, now_us):
                    continue
                if peers.given_entries.first_to_give(feed, entry.seq, now_us) == entry.seq:
                    queue.put(entry.packet, PacketKind.ENTRY, due_us)
                    peers.gave_entries(feed, entry.seq, entry.seq, now_us)

    def heard_anchor(self, queue: TransmitQueue, anchor: Anchor) -> None:
        """Handle an ANCHOR: expect the entry that it is about."""
        feed = self._frontiers.feed_of(anchor.salt, anchor.short)
        if feed is not None:
            for hash_, packet in self._replica.expect_newest(feed, anchor.seq, anchor.prev):
                self._replica.offer(packet, hash_, Origin.PEER, queue.name)

    def give(self, queue: TransmitQueue, now_us: int) -> list[Effect]:
        """Hand over what may go now on the air: entries chosen by the requests heard up to now, then entries to
        relay."""
        turn = self._turns.get(queue.name)
        effects: list[Effect] = []
        if turn is None:
            return effects
        while (use := queue.may_reply(now_us)) is not None:
            gift = turn.next_to_give(now_us, own=use is AirUse.OWN)
            if gift is None:
                break
            packet, kind = self._wrap(turn, gift, now_us)
            queue.hand_reply(packet, kind, now_us, use)
            effects.append(Send(queue.name, packet, kind))
        while (relayed := queue.pop_relayed(now_us)) is not None:
            for place in self._store.find_entries(relayed[: limits.DMX_SIZE]):
                turn.record_given(*place, now_us)
            effects.append(Send(queue.name, relayed, PacketKind.ENTRY))
        return effects

    def _wrap(self, turn: TurnTaking, gift: Gift, now_us: int) -> tuple[bytes, PacketKind]:
        """Return the packet for what a neighbour is given."""
        if isinstance(gift, GenerationSum):
            feed, generation = gift.feed, gift.generation
            # One of 240: the same as another node's would help nobody.
            row = GENERATION_SIZE + int(self._entropy.random() * (ROWS - GENERATION_SIZE))
        else:
            feed, seq = gift
            if not turn.all_read_coded(feed, seq, now_us):
                entry = self._store.entry(feed, seq)
                assert entry is not None
                return entry.packet, PacketKind.ENTRY
            generation, row = generation_of(seq), (seq - 1) % GENERATION_SIZE
        first = generation * GENERATION_SIZE + 1
        length = min(GENERATION_SIZE, self._replica.last_to_give(feed) - first + 1)
        packets = [entry.packet for entry in self._store.entries(feed, first, length)]
        return code(self._network, feed, generation, row, packets), PacketKind.CODED

    def heard_chnk(self, queue: TransmitQueue, goset: Goset, chnk: Chnk, now_us: int) -> list[Effect]:
        """Handle a CHNK of a peer with the same set, *goset*: the chunks it lacks."""
        asked = {(feed, seq): chunk for feed, seq, chunk in read_chnk(goset, chnk)}
        coded = self._rows.get(queue.name)
        rows = {} if coded is None else coded.heard_chnk(goset, chnk, now_us)
        if self._serves_our_chunks(queue, asked, rows, now_us):
            queue.suppress_served(PacketKind.CHNK, same=False)
        self._heard_chunks_asked(queue, asked, rows, now_us)
        return [self._chnk_seen(Direction.RX, queue, goset, chnk)]

    def heard_named_chnk(self, queue: TransmitQueue, chnk: NamedChnk, now_us: int) -> list[Effect]:
        """Handle a named CHNK of a peer, whatever its set is."""
        feeds = self._frontiers.named(queue, chnk.salt, [short for short, _, _ in chnk.wanted], now_us)
        places = zip(feeds, chnk.wanted, strict=True)
        asked = {(feed, seq): chunk for feed, (_, seq, chunk) in places if feed is not None}
        self._heard_chunks_asked(queue, asked, {}, now_us)
        return []

    def _heard_chunks_asked(
        self,
        queue: TransmitQueue,
        asked: dict[tuple[FeedId, int], int],
        rows: Mapping[ChunkBlockId, int],
        now_us: int,
    ) -> None:
        peers = self._peers[queue.name]
        self._retirement.heard_chnk(asked, now_us)
        peers.expect_answers(now_us)
        room, due_us = queue.room(peers.chunk_credit.grant(asked)), queue.reply_due_us(now_us)
        if (turn := self._turns.get(queue.name)) is not None:
            asked = {chain: first for chain, first in asked.items() if turn.may_give_chunks(chain[0], now_us)}
        if rows and self._rows[queue.name].gives_rows(now_us):
            asked, room = self._rows[queue.name].give(asked, rows, room, due_us, now_us)
        if not queue.on_air:
            if self._frontiers.deployed.near(queue.name, now_us):
                for packet in self._orders[queue.name].heard_chnk(asked.items(), now_us):
                    queue.waiting.cancel(packet)
            asked = peers.not_repeated(asked, now_us)
        self._give_chunks(queue, asked, room, due_us, now_us)

    def _give_chunks(
        self, queue: TransmitQueue, asked: dict[tuple[FeedId, int], int], room: int, due_us: int, now_us: int
    ) -> None:
        peers = self._peers[queue.name]
        firsts = {chain: peers.given_chunks.first_to_give(chain, asked[chain], now_us) for chain in asked}
        # Chunks that side chains have in common are given once, to all of them: they must not use up each one's share.
        heads = {self._store.chunk(*chain, first) for chain, first in firsts.items()} - {None}
        share = -(-room // max(1, len(heads)))
        chains: list[list[bytes]] = []
        given: set[bytes] = set()
        for chain, first in firsts.items():
            length = self._block_length(chain, first) if queue.on_air else 0
            if queue.on_air and not peers.may_give_chunks(chain, first, length, asked[chain], now_us):
                continue
            packets: list[bytes] = []
            for packet in self._store.chunks(*chain, first, share):
                if packet not in given and len(given) == room:
                    break
                given.add(packet)
                packets.append(packet)
            chains.append(packets)
            peers.gave_chunks(chain, first, len(packets), now_us)
            if not packets:
                continue
            if queue.on_air:
                peers.count_chunks(chain, first, length, len(packets), now_us)
            else:
                peers.answered([(chain, asked[chain])], now_us)
                self._orders[queue.name].gave_chunks(*chain, first + len(packets), now_us)
        for packet in take_turns(chains):
            queue.put(packet, PacketKind.CHUNK, due_us)

    def _block_length(self, chain: tuple[FeedId, int], first: int) -> int:
        """Return how many chunks are here of the 16 of a side chain among which *first* is."""
        begin = first // GENERATION_SIZE * GENERATION_SIZE
        return len(self._store.chunks(*chain, begin, GENERATION_SIZE))

    def _serves_our_chunks(
        self,
        queue: TransmitQueue,
        asked: Mapping[tuple[FeedId, int], int],
        rows: Mapping[ChunkBlockId, int],
        now_us: int,
    ) -> bool:
        """Return True if replies to *asked* bring, on the air, what our own CHNK would request."""
        if queue.profile.medium is not LinkMedium.AIR:
            return False
        goset = self._replica.goset
        built = self._ask_chunks(queue, goset, now_us)
        if built is None:
            return True
        ours = built[0]
        lacked = self._rows[queue.name].asked(goset, ours)
        if any(lacking > rows.get(id_, 0) for id_, lacking in lacked.items() if rows):
            return False
        return all(
            (feed, seq) in asked and asked[feed, seq] <= chunk
            for feed, seq, chunk in read_chnk(goset, ours)
            if not (rows and self._replica.coded_chunks.block_with(feed, seq))
        )

    # --- what is heard

    def heard_content(self, queue: TransmitQueue, packet: bytes, finding: PacketOutcome, now_us: int) -> None:
        """An entry or chunk was heard, new or not: stations in reach of both senders heard it too."""
        feed, seq = finding.feed, finding.seq
        if finding.kind is PacketKind.CODED_CHUNK:
            self._heard_coded_chunk(queue, packet, finding, now_us)
            return
        if finding.kind is PacketKind.CODED:
            self._heard_coded(queue, packet, finding, now_us)
            return
        if finding.verdict not in {Verdict.NEW, Verdict.DUPLICATE}:
            return
        peers = self._peers[queue.name]
        if queue.on_air:
            turn = self._turns[queue.name]
            new = finding.kind is PacketKind.ENTRY and finding.verdict is Verdict.NEW
            unheard = new and feed is not None and seq is not None and turn.is_unheard(feed, seq)
            peers.heard_content(packet, now_us, new=unheard)
        if feed is None or seq is None:
            return
        if finding.chunk is None:
            self._forking.heard_entry(queue, finding, now_us)
        if finding.chunk is not None:
            peers.chunk_given(feed, seq, finding.chunk, now_us)
        elif queue.on_air:
            new = finding.verdict is Verdict.NEW
            self._turns[queue.name].heard_entry(feed, seq, now_us, new=new)
        elif finding.verdict is Verdict.DUPLICATE:
            peers.entry_given(feed, seq, now_us)

    def _heard_coded_chunk(
        self, queue: TransmitQueue, packet: bytes, finding: PacketOutcome, now_us: int
    ) -> None:
        if not queue.on_air or finding.chunk_block is None:
            return
        if finding.verdict is Verdict.INVALID:
            self._rows[queue.name].heard_lie(now_us)
            return
        self._peers[queue.name].expect_answers(now_us)
        self._rows[queue.name].heard(finding.chunk_block, packet[limits.CODED_TAG_SIZE + 3])
        if finding.verdict is Verdict.NEW:
            queue.request_when_quiet(PacketKind.CHNK, now_us)

    def _heard_coded(self, queue: TransmitQueue, packet: bytes, finding: PacketOutcome, now_us: int) -> None:
        if not queue.on_air or finding.feed is None or finding.generation is None:
            return
        turn = self._turns[queue.name]
        if finding.verdict is Verdict.INVALID:
            self._plain_until_us[queue.name] = now_us + limits.CODED_DISTRUST_US
            turn.heard_lie()
        elif finding.seq is not None:
            turn.heard_entry(finding.feed, finding.seq, now_us, new=finding.verdict is Verdict.NEW)
        else:
            coded = parse_coded(packet)
            assert coded is not None
            last = finding.generation * GENERATION_SIZE + coded.length
            new = finding.verdict is Verdict.NEW
            turn.heard_sum(finding.feed, finding.generation, last, now_us, new=new)

    # --- news

    def propagate(
        self,
        queues: Collection[TransmitQueue],
        origin: TransmitQueue | None,
        events: Iterable[Event],
        now_us: int,
    ) -> None:
        """Something was appended: request more where it came from, offer it on the other faces, and prove forks on
        all."""
        requests: set[PacketKind] = set()
        for event in events:
            if isinstance(event, ForkFound):
                self._forking.found(queues, event.feed, now_us)
            if not isinstance(event, EntryAppended | ChunkAppended):
                continue
            if origin is not None and (kind := self._took(origin, event, now_us)) is not None:
                requests.add(kind)
            for queue in queues:
                if queue is not origin:
                    self._offer(queue, event, now_us)
        for kind in (PacketKind.WANT, PacketKind.CHNK):
            if origin is not None and kind in requests:
                origin.advertise(kind, now_us)

    def _took(
        self, origin: TransmitQueue, event: EntryAppended | ChunkAppended, now_us: int
    ) -> PacketKind | None:
        """Note what *origin* brought. Return the kind of request to send at once, None: it is too early for more."""
        peers = self._peers[origin.name]
        if event.feed in self._replica.followed:
            self._followed_until_us[origin.name] = now_us + _FOLLOWED_ONLY_US
        if isinstance(event, ChunkAppended):
            more = peers.took_chunk(event.feed, event.seq, event.chunk, now_us)
            return PacketKind.CHNK if more else None
        if event.feed not in self._replica.goset or self._frontiers.sets_differ(origin, now_us):
            self._frontiers.took(origin.name, event.feed)
        more = peers.took_entry(event.feed, event.seq, now_us, chained=event.chunks > 0)
        return PacketKind.WANT if more else None

    def _offer(self, queue: TransmitQueue, appended: EntryAppended | ChunkAppended, now_us: int) -> None:
        """Offer an appended entry or chunk on a face that did not bring it: push it to a peer that waits for just that,
        otherwise advertise it soon."""
        peers = self._peers[queue.name]
        if isinstance(appended, EntryAppended):
            queue.want_timer.hear_inconsistent(now_us)
            awaited = peers.next_entry[appended.feed]
            if awaited is None and self._frontiers.equal(queue.name):
                awaited = appended.seq
                if appended.seq == 1 and appended.feed not in self._replica.goset:
                    self._frontiers.introduce(queue, appended.feed, now_us)
            if not queue.on_air:
                queue.claim_timer.hear_inconsistent(now_us)
            pushes = queue.profile.medium is LinkMedium.STREAM and awaited == appended.seq
            if pushes and not self._waits_for_chunks(queue, appended, now_us):
                self._push_entry(queue, appended, now_us)
            elif not queue.on_air or appended.feed not in self._replica.goset:
                self._frontiers.news(queue.name, appended.feed)
            return
        chain = (appended.feed, appended.seq)
        if queue.profile.medium is LinkMedium.STREAM and peers.next_chunk[chain] == appended.chunk:
            self._push_chunk(queue, appended, now_us)

    def _waits_for_chunks(self, queue: TransmitQueue, appended: EntryAppended, now_us: int) -> bool:
        """Return True if an entry must not be pushed yet: a deployed peer has to have the side chains of earlier ones
        before, and one is missing here."""
        return self._frontiers.deployed.near(queue.name, now_us) and any(
            chain.feed == appended.feed and chain.seq < appended.seq
            for chain in self._replica.expectations.side_chains
        )

    def push(
        self, queue: TransmitQueue, published: Sequence[EntryAppended | ChunkAppended], now_us: int
    ) -> None:
        """Send at once, unrequested, what we just published: no other node can."""
        queue.want_timer.hear_inconsistent(now_us)
        for appended in published[: 1 + limits.PUSH_CHUNKS_MAX]:
            if isinstance(appended, EntryAppended):
                self._push_entry(queue, appended, now_us)
            else:
                self._push_chunk(queue, appended, now_us)

    def _push_entry(self, queue: TransmitQueue, appended: EntryAppended, now_us: int) -> None:
        entry = self._store.entry(appended.feed, appended.seq)
        assert entry is not None
        queue.put_own(entry.packet, PacketKind.ENTRY, now_us)
        if queue.on_air:
            self._turns[queue.name].record_given(appended.feed, appended.seq, now_us, own=True)
        self._peers[queue.name].gave_entries(appended.feed, appended.seq, appended.seq, now_us)

    def _push_chunk(self, queue: TransmitQueue, appended: ChunkAppended, now_us: int) -> None:
        packet = self._store.chunk(appended.feed, appended.seq, appended.chunk)
        assert packet is not None
        chain = (appended.feed, appended.seq)
        if queue.on_air:
            queue.put_own(packet, PacketKind.CHUNK, now_us)
        else:
            # It may wait for an entry before this one: too early for peers that copy nothing between side chains.
            queue.put_last(packet, PacketKind.CHUNK, now_us)
        self._peers[queue.name].gave_chunks(chain, appended.chunk, 1, now_us)

    # --- events

    def _want_seen(self, direction: Direction, queue: TransmitQueue, goset: Goset, want: Want) -> WantSeen:
        return WantSeen(
            direction=direction, face=queue.name, state=goset.state, offset_index=want.offset, seqs=want.seqs
        )

    def _chnk_seen(self, direction: Direction, queue: TransmitQueue, goset: Goset, chnk: Chnk) -> ChnkSeen:
        return ChnkSeen(direction=direction, face=queue.name, state=goset.state, chunks_wanted=chnk.wanted)
