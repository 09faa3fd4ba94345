"""One side of the sync with one peer: packets and time in, packets and what happened out.

    sync.start(root)
    while (packet := sync.next_packet()) is not None:
        send(packet)
    sync.receive(received, now_us)
    for event in sync.events():
        ...

Each exchange compares one window of one tangle in rounds; behind it the next window follows, until the tangle is done.
A lost packet stalls an exchange, which is then given up; what was taken until then is kept.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.holdings import Bloom, TangleHoldings, differs_from, digests, filter_of, plan
from tinyssb_node.pzp.sync.packets import (
    EMPTY,
    DepthRange,
    EndReason,
    ExchangeId,
    Packet,
    PzpAnswer,
    PzpAsk,
    PzpEnd,
    PzpGive,
    PzpHave,
    PzpWant,
    SyncPacketError,
    parse_packet,
    serialize_packet,
    wanted,
)
from tinyssb_node.pzp.sync.port import MessageOutcome, PzpReplica
from tinyssb_node.pzp.sync.rounds import RoundReceiver, RoundSender


@dataclass(frozen=True, slots=True)
class SyncCompleted:
    """A sync that this side began has ended as it should."""

    root: str
    complete: bool
    """False: there is more to compare than goes in one sync. The next one begins at the root again."""
    got: int
    """Messages taken that were not held, or not whole."""
    given: int
    """Messages that the other side was given, whether it took them or not."""
    refused: int
    """Messages that were offered and not taken."""


@dataclass(frozen=True, slots=True)
class SyncAborted:
    """A sync that this side began has ended before it was done. What was taken is kept; begin it again later."""

    root: str
    why: str
    """In words."""


@dataclass(frozen=True, slots=True)
class PzpSyncViolation:
    """The peer sends what nobody would who speaks this protocol: hang up."""

    why: str
    """In words."""


Event: TypeAlias = SyncCompleted | SyncAborted | PzpSyncViolation


@dataclass(slots=True)
class _Running:
    """An exchange that runs."""

    of: ExchangeId
    ours: bool
    active_us: int
    """When something of it came or went last."""
    start: int = 0
    windows: int = 1
    """Exchanges of this sync until now."""
    mine: DepthRange = EMPTY
    """Depths of which this side wants messages."""
    theirs: DepthRange = EMPTY
    """Depths of which the other side does."""
    top: int = 0
    """Deepest of both."""
    window: DepthRange = EMPTY
    round: int = -1
    their_filter: bytes = b""
    giving: RoundSender | None = None
    taking: RoundReceiver | None = None
    before: set[str] = field(default_factory=set)
    """Messages that were given already."""
    moved: bool = False
    """True if anything was given in this round."""
    got: int = 0
    given: int = 0
    refused: int = 0


class PzpSync:
    """One side of the sync with one peer."""

    def __init__(self, msgs: PzpReplica, entropy: Callable[[int], bytes]) -> None:
        """Sync the replica *msgs*. *entropy* gives so many random bytes."""
        self._msgs: Final = msgs
        self._entropy = entropy
        self._waiting: dict[str, None] = {}
        self._running: dict[ExchangeId, _Running] = {}
        self._outbox: deque[Packet] = deque()
        self._events: list[Event] = []
        self._minute = -1
        self._begun = 0
        """Exchanges that the peer began in that minute, and windows that were compared beyond the first."""

    # --- what the shell calls

    def start(self, root: str) -> bool:
        """Sync the tangle *root*, when it is its turn; False if too many wait."""
        if len(self._waiting) >= limits.WAITING_MAX and root not in self._waiting:
            return False
        self._waiting[root] = None
        return True

    def receive(self, data: bytes, now_us: int) -> None:
        """Take what the peer sent. Raises LocalErrors of the replica only."""
        try:
            self._take(parse_packet(data), now_us)
        except SyncPacketError as error:
            self._events.append(PzpSyncViolation(str(error)))
        if len(self._outbox) > limits.OUTBOX_MAX:
            self._events.append(PzpSyncViolation("it asks without taking the answers"))

    def next_packet(self, now_us: int) -> bytes | None:
        """The next packet to send; None if there is none for now."""
        if not self._outbox:
            self._begin_waiting(now_us)
        if self._outbox:
            return serialize_packet(self._outbox.popleft())
        for running in self._running.values():
            if running.giving is not None:
                # Last in turn next time: all exchanges come forward.
                self._running[running.of] = self._running.pop(running.of)
                return serialize_packet(self._give(running, running.giving, now_us))
        return None

    def events(self) -> list[Event]:
        """Return the events since the last call."""
        events, self._events = self._events, []
        return events

    def wake(self, now_us: int) -> None:
        """Give up what is stalled; to be called at ``next_wake_us``."""
        for running in [one for one in self._running.values() if now_us - one.active_us >= limits.STALL_US]:
            del self._running[running.of]
            if running.ours:
                self._events.append(SyncAborted(running.of.root, "nothing came or went for a minute"))

    def next_wake_us(self) -> int | None:
        """When ``wake`` is to be called; None while nothing runs."""
        return min((one.active_us + limits.STALL_US for one in self._running.values()), default=None)

    @property
    def idle(self) -> bool:
        """Return True if nothing runs, waits, or is to be sent."""
        return not (self._running or self._waiting or self._outbox)

    # --- beginning

    def _begin_waiting(self, now_us: int) -> None:
        busy = {one.of.root for one in self._running.values() if one.ours}
        for root in list(self._waiting):
            if len(busy) >= limits.EXCHANGES_MAX:
                return
            if root not in busy:
                del self._waiting[root]
                busy.add(root)
                self._begin(_Running(ExchangeId(root, b""), True, now_us))

    def _begin(self, running: _Running) -> None:
        """Begin an exchange, the first of a sync or that of its next window."""
        root, nonce = running.of.root, self._entropy(limits.NONCE_SIZE)
        running.of = ExchangeId(root, nonce)
        self._running[running.of] = running
        held = TangleHoldings(self._msgs, root)
        found = digests(self._msgs, held, running.start, nonce)
        self._outbox.append(PzpHave(running.of, running.start, held.whole(), found))

    # --- packets

    def _take(self, packet: Packet, now_us: int) -> None:
        if isinstance(packet, PzpHave):
            self._on_have(packet, now_us)
            return
        running = self._running.get(packet.of)
        if running is None:
            return  # of an exchange that was given up
        running.active_us = now_us
        match packet:
            case PzpWant() if running.ours and running.round < 0:
                self._on_want(running, packet)
            case PzpAsk() if not running.ours and packet.round > running.round:
                self._on_ask(running, packet)
            case PzpAnswer() if running.ours and packet.round == running.round and running.taking is None:
                self._on_answer(running, packet)
            case PzpGive() if running.taking is not None and packet.round == running.round:
                self._on_give(running, running.taking, packet, now_us)
            case PzpEnd():
                self._on_end(running, packet)
            case _:
                pass  # it was on its way while something else was lost

    def _on_have(self, packet: PzpHave, now_us: int) -> None:
        of = packet.of
        for running in [one for one in self._running.values() if not one.ours and one.of.root == of.root]:
            del self._running[running.of]
        if of in self._running or not self._has_room(now_us):
            self._outbox.append(PzpEnd(of, EndReason.BUSY))
            return
        held = TangleHoldings(self._msgs, of.root)
        start = differs_from(self._msgs, held, packet.start, packet.digests, of.nonce)
        self._begun += sum(start is None or one.high < start for one in packet.digests[:-1])
        if start is None:
            self._outbox.append(PzpEnd(of, EndReason.DONE))
            return
        have = held.whole()
        running = _Running(of, False, now_us, mine=wanted(self._msgs.goal(of.root), have, packet.have))
        self._running[of] = running
        self._outbox.append(PzpWant(of, start, have, running.mine))

    def _has_room(self, now_us: int) -> bool:
        """Return True if the peer may begin an exchange now."""
        minute = now_us // 60_000_000
        if minute != self._minute:
            self._minute, self._begun = minute, 0
        self._begun += 1
        running = sum(not one.ours for one in self._running.values())
        return running < limits.EXCHANGES_MAX and self._begun <= limits.BEGUN_A_MINUTE_MAX

    def _on_want(self, running: _Running, packet: PzpWant) -> None:
        root = running.of.root
        running.mine = wanted(self._msgs.goal(root), TangleHoldings(self._msgs, root).whole(), packet.have)
        running.theirs = packet.want
        ranges = [one for one in (running.mine, running.theirs) if one]
        running.top = max((one.high for one in ranges), default=-1)
        low = max(running.start, packet.start, min((one.low for one in ranges), default=0))
        if low > running.top:
            self._finish(running, complete=True)
            return
        running.window = DepthRange(low, running.top)
        self._ask(running)

    def _ask(self, running: _Running) -> None:
        """Begin the next round."""
        running.round += 1
        running.taking, running.moved = None, False
        bits = self._filter(running)
        self._outbox.append(PzpAsk(running.of, running.round, running.mine, running.window, bits))

    def _on_ask(self, running: _Running, packet: PzpAsk) -> None:
        running.round, running.theirs, running.window = packet.round, packet.want, packet.window
        bits = self._filter(running)
        self._outbox.append(PzpAnswer(running.of, running.round, running.window.high, bits))
        running.their_filter = packet.filter
        running.giving, running.taking = None, RoundReceiver(self._msgs, running.of, running.mine)

    def _filter(self, running: _Running) -> bytes:
        """A filter over the window, which becomes smaller if there is too much in it."""
        held = TangleHoldings(self._msgs, running.of.root)
        window = held.window(running.window)
        running.window = window.depths
        return filter_of(self._msgs, held, window, _salt(running))

    def _on_answer(self, running: _Running, packet: PzpAnswer) -> None:
        if packet.high not in running.window:
            raise SyncPacketError(f"depth {packet.high} in answer to {running.window}")
        running.window = DepthRange(running.window.low, packet.high)
        running.their_filter = packet.filter
        running.taking = RoundReceiver(self._msgs, running.of, running.mine)
        self._begin_giving(running)

    def _on_give(self, running: _Running, taking: RoundReceiver, packet: PzpGive, now_us: int) -> None:
        """Take what is given. Who did not lead gives when the other has: his last packet says that all came."""
        if taking.take(packet) and not running.ours:
            self._begin_giving(running)
        self._go_on(running, now_us)

    def _begin_giving(self, running: _Running) -> None:
        """Give in this round what their filter lacks."""
        theirs = Bloom(running.their_filter, _salt(running))
        held = TangleHoldings(self._msgs, running.of.root)
        planned = plan(held, held.window(running.window).ids, running.theirs, theirs)
        running.giving = RoundSender(self._msgs, running.of, running.round, planned, theirs, running.before)

    def _give(self, running: _Running, giving: RoundSender, now_us: int) -> PzpGive:
        running.active_us = now_us
        packet = giving.next_packet()
        if packet.last:
            running.giving = None
            running.given += giving.given
            running.moved |= giving.given > 0
            self._go_on(running, now_us)
        return packet

    # --- going on

    def _go_on(self, running: _Running, now_us: int) -> None:
        """The next round or window, if this one is done and this side leads."""
        taking = running.taking
        if not running.ours or taking is None or not taking.ended or running.giving is not None:
            return
        new = taking.counts[MessageOutcome.NEW]
        running.got += new
        running.refused += taking.counts[MessageOutcome.REFUSED]
        done = running.round + 1
        if done < limits.ROUNDS_MIN or (done < limits.ROUNDS_MAX and (running.moved or new)):
            self._ask(running)
        elif running.window.high >= running.top or running.windows >= limits.WINDOWS_MAX:
            self._finish(running, complete=running.window.high >= running.top)
        else:
            del self._running[running.of]
            following = _Running(running.of, True, now_us, start=running.window.high + 1)
            following.windows = running.windows + 1
            following.got, following.given, following.refused = running.got, running.given, running.refused
            self._begin(following)

    def _finish(self, running: _Running, *, complete: bool) -> None:
        del self._running[running.of]
        self._outbox.append(PzpEnd(running.of, EndReason.DONE))
        self._say_synced(running, complete=complete)

    def _say_synced(self, running: _Running, *, complete: bool) -> None:
        self._events.append(
            SyncCompleted(running.of.root, complete, running.got, running.given, running.refused)
        )

    def _on_end(self, running: _Running, packet: PzpEnd) -> None:
        del self._running[running.of]
        if not running.ours:
            return
        if packet.why is EndReason.BUSY:
            self._events.append(SyncAborted(running.of.root, "the other side is busy with other tangles"))
        elif running.round >= 0:
            self._events.append(SyncAborted(running.of.root, "the other side ended it"))
        else:
            self._say_synced(running, complete=True)


def _salt(running: _Running) -> bytes:
    """Return a salt that makes the filters of this round differ from those of any other."""
    return running.of.nonce + bytes([running.round])
