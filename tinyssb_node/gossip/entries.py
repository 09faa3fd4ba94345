"""What to say on a face: where replication (who lacks what) meets scheduling (when it may be said).

Adverts go out by Trickle timers; answers wait a random moment on shared media and are dropped when somebody else gives
them; what is new is offered on the other faces. Effects are returned, packets wait in the line's outbox.
"""

from collections.abc import Collection, Iterable, Sequence

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chnk_dmx, want_dmx
from tinyssb_node.codec.packets import Chnk, Want, serialize_chnk, serialize_want
from tinyssb_node.effects import Effect, Send
from tinyssb_node.events import ChnkSeen, ChunkAppended, EntryAppended, Event, ForkFound, WantSeen
from tinyssb_node.gossip.fork_gossip import ForkGossip
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.gossip.turn_taking import TurnTaking
from tinyssb_node.ids import Direction, Dmx, FaceName, FeedId, PacketKind, Verdict
from tinyssb_node.replication.chnk import build_chnk, read_chnk
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import build_want, read_want
from tinyssb_node.scheduling.line import Line
from tinyssb_node.scheduling.link import LinkMedium, Reception
from tinyssb_node.scheduling.requester import share_out, take_turns
from tinyssb_node.scheduling.trickle import RandomSource
from tinyssb_node.store.port import Store


class EntryGossip:
    """The conversation of one node on all its faces."""

    def __init__(
        self,
        replica: Replica,
        store: Store,
        network: Network,
        entropy: RandomSource,
        receipts: ReceiptTracker,
    ) -> None:
        self._replica = replica
        self._receipts = receipts
        self._store = store
        self._network = network
        self._entropy = entropy
        self._floors: dict[FaceName, TurnTaking] = {}
        self._forking = ForkGossip(replica)
        self._state = b""

    def face_up(self, line: Line) -> None:
        """A face can be used."""
        if line.on_air:
            self._floors[line.name] = TurnTaking(self._replica, line, self._entropy)

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self._floors.pop(face, None)
        self._forking.face_down(face)

    @property
    def want_dmx(self) -> Dmx:
        """DMX of WANTs, which depends on the set (spec 3.4.2)."""
        self._follow_set()
        return self._want_dmx

    @property
    def chnk_dmx(self) -> Dmx:
        """DMX of CHNKs, likewise."""
        self._follow_set()
        return self._chnk_dmx

    def _follow_set(self) -> None:
        if self._state != (state := self._replica.goset.state):
            self._state = state
            self._want_dmx = want_dmx(self._network, state)
            self._chnk_dmx = chnk_dmx(self._network, state)

    # --- adverts

    def build(
        self, line: Line, kind: PacketKind, now_us: int
    ) -> tuple[bytes, PacketKind, Event | None] | None:
        """What there is to say of *kind* now: WANT, CHNK or a pong. None for nothing."""
        if kind is PacketKind.PONG:
            return line.build_pong()
        return self._build_want(line, now_us) if kind is PacketKind.WANT else self._build_chnk(line)

    def _build_want(self, line: Line, now_us: int) -> tuple[bytes, PacketKind, Event] | None:
        replica = self._replica
        floor = self._floors.get(line.name)
        start = line.want_start if floor is None else floor.where_to_begin(line.want_start, now_us)
        built = build_want(replica.goset, self._forking.next_wanted(line), start)
        if built is None:
            return None
        want, following = built
        self._forking.asked(line, want, now_us)
        line.want_next = following if start == line.want_start else line.want_start
        if floor is not None:
            want = floor.address(want, now_us)
        packet = serialize_want(self.want_dmx, want)
        return packet, PacketKind.WANT, self._want_seen(Direction.TX, line, want)

    def _build_chnk(self, line: Line) -> tuple[bytes, PacketKind, Event] | None:
        built = build_chnk(self._replica.goset, self._replica.expectations.side_chains, line.chnk_start)
        if built is None:
            return None
        chnk, line.chnk_next = built
        packet = serialize_chnk(self.chnk_dmx, chnk)
        return packet, PacketKind.CHNK, self._chnk_seen(Direction.TX, line, chnk)

    # --- answers

    def heard_want(self, line: Line, want: Want, reception: Reception, now_us: int) -> list[Effect]:
        """Somebody with our very set says what it wants next of each feed."""
        replica = self._replica
        if not len(replica.goset):
            return []
        floor = self._floors.get(line.name)
        self._receipts.heard_want(line.name, want, now_us, on_air=floor is not None)
        reading = read_want(replica.goset, want, self._forking.next_wanted(line))
        self._forking.heard_want(line, reading, now_us)
        asked = {feed: seq for feed, seq in reading.wanted if seq <= replica.last_to_give(feed)}
        line.agreed(PacketKind.CLAIM)
        if asked or reading.behind:
            line.expect_answers(now_us)
        if reading.behind:
            line.want_timer.disagree(now_us)
            if floor is not None:
                line.ask(PacketKind.WANT, now_us)
        elif floor is None and reading.same:
            line.agreed(PacketKind.WANT)
        elif floor is not None and reading.serves and floor.speaks_for_us(want):
            line.served(PacketKind.WANT, same=reading.same)
        if floor is not None:
            floor.heard_want(want, reading, reception, now_us)
        else:
            self._answer(line, reading.wanted, asked, now_us)
        return [self._want_seen(Direction.RX, line, want)]

    def _answer(
        self, line: Line, wanted: Sequence[tuple[FeedId, int]], asked: dict[FeedId, int], now_us: int
    ) -> None:
        """Answer on a wire: all at once."""
        if line.profile.medium is LinkMedium.STREAM:
            for feed, seq in wanted:
                line.peer_next[feed] = line.given_entries.first_to_give(feed, seq, now_us)
        if asked:
            self._give_entries(line, asked, now_us)

    def _give_entries(self, line: Line, asked: dict[FeedId, int], now_us: int) -> None:
        room = line.room(line.entry_credit.grant(asked))
        # Each answer begins with another feed: who reads another dialect only, or holds another branch of a fork, asks
        # for entries that it cannot use for ever, and they must not be all it ever gets.
        turn = line.give_start % len(asked)
        line.give_start += room
        feeds = [*asked][turn:] + [*asked][:turn]
        firsts = [line.given_entries.first_to_give(feed, asked[feed], now_us) for feed in feeds]
        available = [
            self._replica.last_to_give(feed) - first + 1 for feed, first in zip(feeds, firsts, strict=True)
        ]
        shares = share_out(room, available)
        chains: list[list[bytes]] = []
        for feed, first, share in zip(feeds, firsts, shares, strict=True):
            if share:
                chains.append([entry.packet for entry in self._store.entries(feed, first, share)])
                line.entries_given(feed, first, first + share - 1, now_us)
                line.peer_next[feed] = first + share
        due_us = line.answer_due_us(now_us)
        for packet in take_turns(chains):
            line.put(packet, PacketKind.ENTRY, due_us)

    def give(self, line: Line, now_us: int) -> list[Effect]:
        """Hand over what may go now on the air: entries chosen by what was asked for and heard up to now, then news."""
        floor = self._floors.get(line.name)
        effects: list[Effect] = []
        if floor is None:
            return effects
        while line.may_give(now_us) and (place := floor.next_place(now_us)) is not None:
            entry = self._store.entry(*place)
            assert entry is not None
            line.give(entry.packet, now_us)
            effects.append(Send(line.name, entry.packet, PacketKind.ENTRY))
        while (news := line.pop_news(now_us)) is not None:
            for place in self._store.find_entries(news[: limits.DMX_SIZE]):
                floor.gave(*place, now_us)
            effects.append(Send(line.name, news, PacketKind.ENTRY))
        return effects

    def heard_chnk(self, line: Line, chnk: Chnk, now_us: int) -> list[Effect]:
        """Somebody with our very set says which chunks it lacks."""
        goset = self._replica.goset
        asked = {(feed, seq): chunk for feed, seq, chunk in read_chnk(goset, chnk)}
        line.expect_answers(now_us)
        if self._serves_our_chunks(line, asked):
            line.served(PacketKind.CHNK, same=False)
        self._give_chunks(line, asked, now_us)
        return [self._chnk_seen(Direction.RX, line, chnk)]

    def _give_chunks(self, line: Line, asked: dict[tuple[FeedId, int], int], now_us: int) -> None:
        room = line.room(line.chunk_credit.grant(asked))
        firsts = {chain: line.given_chunks.first_to_give(chain, asked[chain], now_us) for chain in asked}
        # What side chains have in common is given once, to all of them: it must not use up each one's share.
        heads = {self._store.chunk(*chain, first) for chain, first in firsts.items()} - {None}
        share = -(-room // max(1, len(heads)))
        chains: list[list[bytes]] = []
        given: set[bytes] = set()
        for chain, first in firsts.items():
            packets: list[bytes] = []
            for packet in self._store.chunks(*chain, first, share):
                if packet not in given and len(given) == room:
                    break
                given.add(packet)
                packets.append(packet)
            chains.append(packets)
            line.peer_next_chunk[chain] = first + len(packets)
            if packets:
                line.given_chunks.give(chain, first, first + len(packets) - 1, now_us)
        due_us = line.answer_due_us(now_us)
        for packet in take_turns(chains):
            line.put(packet, PacketKind.CHUNK, due_us)

    def _serves_our_chunks(self, line: Line, asked: dict[tuple[FeedId, int], int]) -> bool:
        """True if answers to *asked* bring, on the air, what our own CHNK would ask for."""
        if line.profile.medium is not LinkMedium.AIR:
            return False
        ours = build_chnk(self._replica.goset, self._replica.expectations.side_chains, line.chnk_start)
        if ours is None:
            return True
        wanted = read_chnk(self._replica.goset, ours[0])
        return all((feed, seq) in asked and asked[feed, seq] <= chunk for feed, seq, chunk in wanted)

    # --- what is heard

    def heard_content(self, line: Line, packet: bytes, finding: PacketOutcome, now_us: int) -> None:
        """An entry or chunk was heard, new or not: who lacks it in reach of both heard it too."""
        feed, seq = finding.feed, finding.seq
        if finding.verdict not in {Verdict.NEW, Verdict.DUPLICATE}:
            return
        if line.on_air:
            floor = self._floors[line.name]
            new = finding.kind is PacketKind.ENTRY and finding.verdict is Verdict.NEW
            news = new and feed is not None and seq is not None and floor.is_news(feed, seq)
            line.heard_news(packet, now_us, new=news)
        if feed is None or seq is None:
            return
        if finding.chunk is None:
            self._forking.heard_entry(line, finding, now_us)
        if finding.chunk is not None:
            line.chunk_given(feed, seq, finding.chunk, now_us)
        elif line.on_air:
            new = finding.verdict is Verdict.NEW
            self._floors[line.name].heard_entry(feed, seq, now_us, new=new)
        elif finding.verdict is Verdict.DUPLICATE:
            line.entry_given(feed, seq, now_us)

    # --- news

    def propagate(
        self, lines: Collection[Line], origin: Line | None, events: Iterable[Event], now_us: int
    ) -> None:
        """Something was appended: request more where it came from, offer it on the other faces, and prove forks on
        all."""
        ask_entries = ask_chunks = False
        for event in events:
            if isinstance(event, ForkFound):
                self._forking.found(lines, event.feed, now_us)
            if not isinstance(event, EntryAppended | ChunkAppended):
                continue
            if origin is not None and isinstance(event, EntryAppended):
                chained = event.chunks > 0
                ask_entries |= origin.took_entry(event.feed, event.seq, now_us, chained=chained)
            elif origin is not None and isinstance(event, ChunkAppended):
                ask_chunks |= origin.took_chunk(event.feed, event.seq, event.chunk, now_us)
            for line in lines:
                if line is not origin:
                    self.offer(line, event, now_us)
        if origin is not None and ask_entries:
            origin.ask(PacketKind.WANT, now_us)
        if origin is not None and ask_chunks:
            origin.ask(PacketKind.CHNK, now_us)

    def offer(self, line: Line, appended: EntryAppended | ChunkAppended, now_us: int) -> None:
        """Offer what was appended on a face that did not bring it: given at once to a peer that waits for just that,
        made known by the next advert otherwise."""
        if isinstance(appended, EntryAppended):
            line.want_timer.disagree(now_us)
            if line.profile.medium is LinkMedium.STREAM and line.peer_next[appended.feed] == appended.seq:
                self._push_entry(line, appended, now_us)
            return
        chain = (appended.feed, appended.seq)
        if line.profile.medium is LinkMedium.STREAM and line.peer_next_chunk[chain] == appended.chunk:
            self._push_chunk(line, appended, now_us)

    def push(self, line: Line, published: Sequence[EntryAppended | ChunkAppended], now_us: int) -> None:
        """Say at once, unasked, what we just published: nobody else can."""
        line.want_timer.disagree(now_us)
        for appended in published[: 1 + limits.PUSH_CHUNKS_MAX]:
            if isinstance(appended, EntryAppended):
                self._push_entry(line, appended, now_us)
            else:
                self._push_chunk(line, appended, now_us)

    def _push_entry(self, line: Line, appended: EntryAppended, now_us: int) -> None:
        entry = self._store.entry(appended.feed, appended.seq)
        assert entry is not None
        line.put(entry.packet, PacketKind.ENTRY, now_us)
        if line.on_air:
            self._floors[line.name].gave(appended.feed, appended.seq, now_us)
        line.entries_given(appended.feed, appended.seq, appended.seq, now_us)
        line.peer_next[appended.feed] = appended.seq + 1

    def _push_chunk(self, line: Line, appended: ChunkAppended, now_us: int) -> None:
        packet = self._store.chunk(appended.feed, appended.seq, appended.chunk)
        assert packet is not None
        chain = (appended.feed, appended.seq)
        # Waiting for an entry before this one, it would come too early for whoever copies nothing between side chains.
        line.outbox.cancel(packet)
        line.put(packet, PacketKind.CHUNK, now_us)
        line.given_chunks.give(chain, appended.chunk, appended.chunk, now_us)
        line.peer_next_chunk[chain] = appended.chunk + 1

    # --- events

    def _want_seen(self, direction: Direction, line: Line, want: Want) -> WantSeen:
        state = self._replica.goset.state
        return WantSeen(
            direction=direction, face=line.name, state=state, offset_index=want.offset, seqs=want.seqs
        )

    def _chnk_seen(self, direction: Direction, line: Line, chnk: Chnk) -> ChnkSeen:
        state = self._replica.goset.state
        return ChnkSeen(direction=direction, face=line.name, state=state, chunks_wanted=chnk.wanted)
