"""What is new here, and who is told: feeds of the set, entries and chunks of others, what we write ourselves."""

from collections.abc import Collection, Mapping, Sequence

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import chunk_hash
from tinyssb_node.codec.packets import Claim, Sketch
from tinyssb_node.effects import Effect
from tinyssb_node.errors import FeedEndedError, NodeReadOnlyError, SetFullError
from tinyssb_node.events import ChunkAppended, EntryAppended, Event, ForkFound, SetChanged
from tinyssb_node.gossip.acknowledgements import Acknowledger
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.gossip.entries import EntryGossip
from tinyssb_node.gossip.receipts import ReceiptTracker
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.gossip.set_gossip import SetGossip
from tinyssb_node.groups.host import GroupHost
from tinyssb_node.ids import FaceName, FeedId, Origin, PacketKind, Verdict
from tinyssb_node.node.shelf_port import BringResult
from tinyssb_node.node.shelfhost import ShelfHost
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.replication.packet_outcome import PacketOutcome
from tinyssb_node.replication.replica import CHILD_DIALECT, Replica
from tinyssb_node.scheduling.line import Line
from tinyssb_node.scheduling.refusals import RefusalLog


class Propagation:
    """Tells the machines of one node, and its lines, what another of them brought about."""

    def __init__(
        self,
        replica: Replica,
        gossip: EntryGossip,
        sets: SetGossip,
        receipts: ReceiptTracker,
        acknowledging: Acknowledger,
        leaving: FeedRetirement,
        groups: GroupHost,
        refusals: RefusalLog,
        lines: Mapping[FaceName, Line],
        admission: Admission | None,
        shelf: ShelfHost,
    ) -> None:
        """*lines* are those that are up at any moment. *admission* None lets in whatever is named."""
        self._replica = replica
        self._gossip = gossip
        self._sets = sets
        self._receipts = receipts
        self._acknowledging = acknowledging
        self._leaving = leaving
        self._groups = groups
        self._refusals = refusals
        self._lines = lines
        self._admission = admission
        self._shelf = shelf

    # --- the set

    def learn(self, line: Line, feeds: Sequence[FeedId], now_us: int, effects: list[Effect]) -> bool:
        """A face named feed ids: take them into the set. False if one of them is not let in now."""
        welcome = True
        for feed in feeds:
            if feed in self._replica.goset:
                continue
            if (rule := self._refusal(feed, line, now_us)) is not None:
                self._refusals.refuse(rule, line.name)
                welcome = False
                continue
            events = self._replica.add_feed(feed, line.name)
            if not events:
                self._refusals.refuse("read_only" if self._replica.read_only else "set", line.name)
                continue
            self._grew(feed, events, line, now_us, effects)
        if not welcome:
            line.heard_in_vain()
            self._sets.refused(line.name, now_us)
        return welcome

    def _refusal(self, feed: FeedId, line: Line, now_us: int) -> str | None:
        """By which rule *feed*, which *line* names, is not let in now."""
        replica = self._replica
        # What left the set comes back: it is here, and was let in before.
        if self._admission is None or feed in replica.retired or replica.goset.full or replica.read_only:
            return None
        asked = self._sets.awaits(line, feed)
        across = not line.on_air and any(other.on_air for other in self._lines.values())
        return self._admission.refusal(
            feed, line.name, len(replica.goset), now_us, asked=asked, across=across
        )

    def follow(self, feed: FeedId, now_us: int, effects: list[Effect]) -> None:
        """Take *feed* into the set, if it is not there, and want it. Raises SetFullError, NodeReadOnlyError."""
        if self._replica.read_only:
            raise NodeReadOnlyError
        events = self._replica.add_feed(feed, None)
        if feed not in self._replica.goset:
            raise SetFullError(len(self._replica.goset))
        self._replica.set_wanted(feed, wanted=True)
        if events:
            self._grew(feed, events, None, now_us, effects)

    def _grew(
        self, feed: FeedId, events: Sequence[Event], origin: Line | None, now_us: int, effects: list[Effect]
    ) -> None:
        """*feed* is in the set now; entries that came before may be orphans still, or on the shelf."""
        effects += events
        self._shelf.entered(feed)
        self._leaving.returned(feed, now_us)
        self.tell_set(events, origin, now_us, effects)
        adopted = self._replica.adopt_orphans(feed, None if origin is None else origin.name)
        effects += adopted
        self.note(adopted, None, now_us)
        self.spread(origin, adopted, now_us)

    def tell_set(
        self, events: Sequence[Event], origin: Line | None, now_us: int, effects: list[Effect]
    ) -> None:
        """The set grew, as *events* say, because of what *origin* brought: tell all others."""
        for event in events:
            assert isinstance(event, SetChanged)
            self._gossip.set_changed()
            self._sets.grew(event.feed)
            for line in self._lines.values():
                if line is not origin:
                    effects += self._sets.tell_feed(line, event.feed, now_us)
                else:
                    line.claim_timer.disagree(now_us)
                    line.want_timer.disagree(now_us)

    def let_go(self, line: Line, said: Claim | Sketch, now_us: int, effects: list[Effect]) -> None:
        """Somebody on *line* *said* what its set is: let go what it lacks, if that may leave, instead of giving it."""
        closed = self._leaving.closed
        if not closed:
            return
        lacked = self._sets.lacked(line, said, closed)
        # What may not leave is given, though it was named before.
        line.named.difference_update(lacked)
        self.leave([feed for feed in lacked if self._leaving.may_leave(feed, now_us)], now_us, effects)

    def leave(self, feeds: Collection[FeedId], now_us: int, effects: list[Effect]) -> None:
        """Let *feeds* leave the set, and show it on every face."""
        if not feeds:
            return
        for feed in feeds:
            effects += self._replica.retire(feed)
            self._leaving.left(feed)
        self._gossip.set_changed()
        self._sets.shrank(feeds)
        for line in self._lines.values():
            line.claim_timer.disagree(now_us)
            line.want_timer.disagree(now_us)
            if not line.on_air:
                line.ask(PacketKind.CLAIM, now_us)

    # --- from elsewhere

    def take(self, packet: bytes, now_us: int, effects: list[Effect]) -> PacketOutcome:
        """Take an entry or chunk that no face brought."""
        finding = self._replica.offer(packet, chunk_hash(packet), Origin.IMPORT, None)
        effects += finding.events
        self.note(finding.events, packet, now_us)
        self.spread(None, finding.events, now_us)
        return finding

    def bring(
        self, feed: FeedId, packets: Sequence[bytes], now_us: int, effects: list[Effect]
    ) -> BringResult:
        """Take packets of *feed* into the set's feed, or onto the shelf if it is none of the set."""
        replica = self._replica
        if replica.read_only:
            raise NodeReadOnlyError
        if replica.is_blocked(feed) or (feed in replica.goset and not replica.record(feed).wanted):
            return BringResult(shelved=False, refused=(0, "not wanted"))
        if feed not in replica.goset and feed not in replica.retired:
            return self._shelf.bring(feed, packets) or BringResult(shelved=False, refused=(0, "no shelf"))
        while self._shelf.moves(feed):
            for packet in self._shelf.take(set_limits.SHELF_PIECE, feed):
                self.take(packet, now_us, effects)
        brought = BringResult(shelved=False)
        for number, packet in enumerate(packets):
            finding = self.take(packet, now_us, effects)
            if finding.verdict is Verdict.DUPLICATE:
                brought.held += 1
            elif finding.verdict is not Verdict.NEW:
                gone = "not in the set" if feed in replica.retired else "nothing the node holds leads to it"
                brought.refused = number, finding.reason or gone
                break
            brought.entries += sum(isinstance(event, EntryAppended) for event in finding.events)
            brought.chunks += sum(isinstance(event, ChunkAppended) for event in finding.events)
        return brought

    def unshelve(self, now_us: int, effects: list[Effect]) -> None:
        """Go on taking into the set what is on the shelf of its feeds."""
        if self._shelf.due:
            for packet in self._shelf.take(set_limits.SHELF_PIECE):
                self.take(packet, now_us, effects)

    # --- entries and chunks of others

    def note(self, events: Sequence[Event], packet: bytes | None, now_us: int) -> None:
        """Something of others was appended, *packet* first if it is given: who holds what now, and what do we owe."""
        self._receipts.appended(events, packet, now_us)
        if self._admission is not None:
            self._admission.appended(events)
        self._acknowledging.appended(events, now_us)
        self._leaving.appended(events, now_us)
        self._groups.appended(events, now_us)

    def spread(self, origin: Line | None, events: Sequence[Event], now_us: int) -> None:
        """Something was appended: ask where it came from for more, offer it on the other faces."""
        ask_entries = ask_chunks = False
        for event in events:
            if isinstance(event, ForkFound):
                self._gossip.fork_found(self._lines.values(), event.feed, now_us)
            if not isinstance(event, EntryAppended | ChunkAppended):
                continue
            if origin is not None and isinstance(event, EntryAppended):
                chained = event.chunks > 0
                ask_entries |= origin.took_entry(event.feed, event.seq, now_us, chained=chained)
            elif origin is not None and isinstance(event, ChunkAppended):
                ask_chunks |= origin.took_chunk(event.feed, event.seq, event.chunk, now_us)
            for line in self._lines.values():
                if line is not origin:
                    self._gossip.offer(line, event, now_us)
        if origin is not None and ask_entries:
            origin.ask(PacketKind.WANT, now_us)
        if origin is not None and ask_chunks:
            origin.ask(PacketKind.CHNK, now_us)

    # --- our own feeds

    def publish(
        self, key: SigningKey, content: bytes, type_: int | None, now_us: int, effects: list[Effect]
    ) -> EntryAppended:
        """Append *content* to the feed of *key*, a child of ours from then on if it was not ours before, and say so on
        every face. With a *type_* of its own content has at most 48 bytes.

        Raises ContentTooLongError, FeedFullError, FeedForkedError, FeedEndedError, SetFullError, NodeReadOnlyError.
        """
        if self._replica.read_only:
            raise NodeReadOnlyError
        feed = key.feed_id
        if self._replica.ended(feed):
            raise FeedEndedError(feed, self._replica.frontier(feed))
        if feed not in self._replica.goset or not self._replica.record(feed).ours:
            events = self._replica.own_feed(feed, CHILD_DIALECT, child=True)
            effects += events
            self.tell_set(events, None, now_us, effects)
        published = self._replica.publish(key, content, type_)
        effects += published
        self._leaving.appended(published, now_us)
        if self._admission is not None:
            self._admission.appended(published)
        for line in self._lines.values():
            self._gossip.push(line, published, now_us)
        self._groups.appended(published, now_us)
        first = published[0]
        assert isinstance(first, EntryAppended)
        return first
