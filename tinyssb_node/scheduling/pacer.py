"""Pacing: when one face may be given the next packet, and of which urgency.

Wired faces need a steady pace: no more than the face can hold, a short gap between packets. On the air all stations in
reach share the channel, and nothing decides which one sends next: see ``ContentionPacer``.
"""

from enum import IntEnum
from typing import Final

from tinyssb_node import limits
from tinyssb_node.scheduling.link import LinkMedium, LinkProfile
from tinyssb_node.scheduling.trickle import RandomSource

# Packets with refused ids, in excess of what was of use: from here on ask as soon as we would answer.
_IN_VAIN_PACKETS: Final = 4
# The same for unknown networks: a batch of one is soon over.
_STRAY_PACKETS: Final = 16
# The same for packets about sets and requests that told us nothing new. One is also forgotten each time that so many
# packets take: honest neighbours send few of them without data in between.
_TALK_PACKETS: Final = 4
_TALK_FORGOTTEN_PACKETS: Final = 16
# The same for entries and chunks, coded or not, that added nothing, less those that did: replies to others are mostly
# heard so, but not so many in a row without one for us.
_VAIN_PACKETS: Final = 12


class Urgency(IntEnum):
    """The purpose of a packet: the more urgent, the sooner after the channel fell silent it may go."""

    REPLY = 0
    """New entries of ours, and entries and chunks that a peer requested."""
    RELAY = 1
    """New entries of others, relayed to stations out of their reach."""
    ADVERT = 2
    """CLAIM, WANT, CHNK: their replies may be on the way already."""


class Pacer:
    """Decides when to hand packets to one face. This one is for wires: within the window, with a gap, whatever the
    urgency."""

    def __init__(self, profile: LinkProfile, now_us: int) -> None:
        self._window = profile.window
        self._gap_us = profile.gap_us
        self._next_us = now_us
        self.outstanding = 0
        """Packets handed to the face and not yet reported as sent."""

    def due_us(self, urgency: Urgency, patience: float = 1.0) -> int | None:  # noqa: ARG002 - a wire knows neither
        """Return when a packet of this urgency may go; None while the face is full. *patience* multiplies the time for
        which it lets others go first."""
        return self._next_us if self.outstanding < self._window else None

    def handed(self) -> None:
        """A packet was handed to the face."""
        self.outstanding += 1

    def sent(self, count: int, now_us: int) -> None:
        """*count* packets have left."""
        self.outstanding -= count
        assert self.outstanding >= 0
        self._next_us = max(self._next_us, now_us + self._gap_us)

    def busy(self, now_us: int) -> None:
        """The face gave a packet back: carrier sense reports another sender. A wire is never busy, but its face may
        still hand a packet back."""
        self.sent(1, now_us)

    def heard(self, now_us: int, *, data: bool) -> None:
        """A packet was heard; *data* if it was an entry or a chunk, and more of them may follow."""

    def heard_useless(self, *, stray: bool) -> None:
        """The packet heard last was of no use to us; *stray*: it belongs to nobody we know."""

    def heard_useful(self) -> None:
        """Something else was heard: an entry or a chunk, or something new about sets."""

    def heard_talk(self) -> None:
        """The packet heard last, about a set or a request, told us nothing new."""

    def heard_data(self, waste: float) -> None:
        """The packet heard last was an entry or chunk, coded or not; *waste* tells how little it is worth, 0 if it
        added something to the store."""

    def wanted(self, now_us: int) -> None:
        """Something is to be sent on a face that had nothing to send."""

    def take_turn(self, now_us: int) -> None:
        """We were asked by name: several packets in a row may go at once."""

    def leave_turn(self, now_us: int, *, in_reach: bool) -> None:
        """Another station was asked by name, by us or by others, and may send several packets in a row. *in_reach*: we
        would hear it."""

    def asked(self, now_us: int) -> None:
        """We asked everybody: the answer may come from any station."""

    def crowd(self, neighbours: int) -> None:
        """So many stations are known to be in reach; 0 if that is not known."""

    def note_exchange(self, *, hidden: bool, named: bool = True) -> None:
        """A packet for another station was heard; *hidden* if that station is out of our reach. *named*: a neighbour
        that has proved itself named it; others may have made it up."""

    @property
    def turn_packets(self) -> int:
        """Packets in a row that a station that is asked by name may send."""
        return 0

    @property
    def hidden(self) -> float:
        """How far to take account of hidden terminals: 0 if all stations hear each other, 1 if many do not."""
        return 0.0

    @property
    def shared_patience(self) -> float:
        """How patiently a reply goes that others out of our reach may give at the same time."""
        return 1.0


class _HiddenShare:
    """The share of packets for other stations that are for stations out of reach."""

    def __init__(self) -> None:
        self.count = 0
        self.share = 0.0

    def add(self, hidden: bool) -> None:
        """Count one: it is the mean of the first ten, then a moving one, as meshes change."""
        self.count += 1
        self.share += (hidden - self.share) / min(10, self.count)


class ContentionPacer(Pacer):
    """Pacer for the air (CSMA with random backoff): every station waits a random time once the channel is silent, and
    the first to send silences the rest.

    A station that hears a packet, or finds the channel busy, draws a new time. Collisions happen when two draws are
    closer than carrier sense can tell apart (two symbols, a hundredth of a packet). The winner may send several packets
    in a row, with gaps too short for others to slip into, so that one contention serves several packets. Less urgent
    packets wait for a longer silence: relayed entries longer than replies, adverts longest, because a reply on its way
    makes a request needless. Behind the packets of a station that was asked by name no reply is on its way.

    Where all stations hear each other, short windows suffice. Hidden terminals (stations that hear us and not each
    other) collide although they listen first. So a station that hears requests for stations out of its reach widens
    its windows, the more the more it hears.

    Times are in packets of 120 bytes; the numbers were found in the simulator (docs/reference/benchmarks.md).
    """

    def __init__(self, profile: LinkProfile, entropy: RandomSource, now_us: int) -> None:
        super().__init__(profile, now_us)
        self._packet_us = profile.airtime_us[limits.PACKET_SIZE]
        # A preamble and header: longer than the gap within a batch plus what carrier sense is blind for.
        self._between_us = profile.airtime_us[0] // 4
        self._entropy = entropy
        self._since_us = now_us - self._between_us
        self._after: tuple[float, float, float] = (0.0, 0.0, 0.0)
        self._luck = [0.0] * len(Urgency)
        self._batch_left = 0
        self._batch_us = now_us
        self._crowd = 1.0
        self._in_vain = 0
        self._strays = 0
        self._talk = 0.0
        self._vain = 0.0
        self._heard_us = now_us
        self._in_turn = False
        self._named_exchanges = _HiddenShare()
        self._all_exchanges = _HiddenShare()
        self._load = 0.0
        self._load_us = now_us

    def _draw(self, now_us: int, after: tuple[float, float, float]) -> None:
        """Wait a random time, beginning for each urgency so many packets after *now_us*."""
        self._batch_left = 0
        self._since_us = now_us
        self._after = after
        for urgency in range(len(after)):
            self._luck[urgency] = self._entropy.random()

    def due_us(self, urgency: Urgency, patience: float = 1.0) -> int | None:
        """See Pacer. Within a batch the next answer goes at once."""
        if self.outstanding >= self._window:
            return None
        if self._batch_left and urgency is Urgency.REPLY:
            return self._batch_us
        if urgency is Urgency.ADVERT and (
            self._chatter or self._talk >= _TALK_PACKETS or self._vain >= _VAIN_PACKETS
        ):
            # Or a station that sends without end would keep us from ever requesting.
            urgency, patience = Urgency.REPLY, 1.0
        packets = self._after[urgency] + self._luck[urgency] * limits.CONTENTION_PACKETS[urgency] * patience
        if urgency is Urgency.ADVERT:
            packets += limits.ASK_PATIENCE_PACKETS * (patience - 1.0)
        if urgency is not Urgency.RELAY:
            # On a channel that is hardly used there is nothing to collide with.
            spread = self.hidden * self._load / limits.LOAD_PACKETS
            packets *= self._crowd * (1.0 + spread * limits.HIDDEN_SPREAD[urgency])
        if self._chatter:
            # Finds room between the packets of a node that floods the channel.
            packets *= 0.25
        return self._since_us + self._between_us + int(packets * self._packet_us)

    @property
    def _chatter(self) -> bool:
        """True if most of what was heard lately was of no use."""
        return self._in_vain >= _IN_VAIN_PACKETS or self._strays >= _STRAY_PACKETS

    def sent(self, count: int, now_us: int) -> None:
        """See Pacer."""
        self.outstanding -= count
        assert self.outstanding >= 0
        left = (self._batch_left or self._batch) - count
        self._draw(now_us, self._after_data)
        self._go_on(max(0, left), now_us)

    @property
    def _batch(self) -> int:
        alone = self._all_exchanges.count > 0 and self.hidden < 1
        return limits.BATCH_PACKETS if alone else limits.BATCH_HIDDEN_PACKETS

    @property
    def turn_packets(self) -> int:
        """See Pacer."""
        return max(limits.FLOOR_PACKETS, self._batch)

    def _go_on(self, packets: int, now_us: int) -> None:
        """Let so many more packets in a row follow now."""
        self._batch_left = packets
        self._batch_us = now_us + limits.BATCH_GAP_US

    @property
    def _after_data(self) -> tuple[float, float, float]:
        """Packets' time to wait after data, by urgency."""
        if not self._in_turn:
            return limits.AFTER_DATA_PACKETS
        reply, relay, advert = limits.AFTER_TURN_PACKETS
        # A hidden terminal may be asked next, unheard by us.
        return reply, relay, advert + self.hidden * (limits.AFTER_DATA_PACKETS[Urgency.ADVERT] - advert)

    def busy(self, now_us: int) -> None:
        """See Pacer. The packet on the air may be one in a row: a try in each of its gaps would hit one."""
        self.outstanding -= 1
        packets = 0 if self._chatter else limits.BUSY_PACKETS
        self._draw(now_us + packets * self._packet_us, self._after_data)

    def heard(self, now_us: int, *, data: bool) -> None:
        """See Pacer. Behind a request no data is under way yet, so those who ask need not wait for it to end."""
        forgotten = (now_us - self._heard_us) / (_TALK_FORGOTTEN_PACKETS * self._packet_us)
        self._talk = max(0.0, self._talk - forgotten)
        self._heard_us = now_us
        self._in_turn = self._in_turn and data
        self._count_load(now_us, data=data)
        self._draw(now_us, self._after_data if data else limits.AFTER_VECTOR_PACKETS)

    def _count_load(self, now_us: int, *, data: bool) -> None:
        """Count a packet that was heard into the load of the channel, a leaky bucket."""
        passed = (now_us - self._load_us) / self._packet_us
        self._load_us = now_us
        left = max(0.0, self._load - passed * limits.LOAD_LEAK)
        self._load = min(limits.LOAD_PACKETS, left + (1.0 if data else limits.LOAD_ADVERT))

    def heard_useless(self, *, stray: bool) -> None:
        """See Pacer. To such packets, if they are more than others, we give way a few times only. Strays may be of
        another network, which has a right to the air: we give way more often, and not for ever."""
        if stray:
            self._strays = min(self._strays + 1, 2 * _STRAY_PACKETS)
        else:
            self._in_vain = min(self._in_vain + 1, 2 * _IN_VAIN_PACKETS)

    def heard_talk(self) -> None:
        """See Pacer."""
        self._talk = min(self._talk + 1, 2 * _TALK_PACKETS)

    def heard_useful(self) -> None:
        """See Pacer."""
        self._in_vain = max(0, self._in_vain - 1)
        self._strays = max(0, self._strays - 1)
        self._talk = max(0.0, self._talk - 1)

    def heard_data(self, waste: float) -> None:
        """See Pacer."""
        if waste:
            self._vain = min(self._vain + waste, _VAIN_PACKETS + 4)
        else:
            self._vain = max(0.0, self._vain - 4) if self._vain >= _VAIN_PACKETS else 0.0

    def wanted(self, now_us: int) -> None:
        """See Pacer. Others may have got the same idea at the same moment, but seldom with something to give: nobody
        asked."""
        if all((due_us := self.due_us(urgency)) is None or due_us <= now_us for urgency in Urgency):
            self._draw(now_us, limits.AFTER_VECTOR_PACKETS)
            self._luck[Urgency.REPLY] *= limits.UNASKED_WINDOW

    def take_turn(self, now_us: int) -> None:
        """See Pacer."""
        self._in_turn = True
        self._draw(now_us, self._after_data)
        self._go_on(self.turn_packets, now_us)

    def leave_turn(self, now_us: int, *, in_reach: bool) -> None:
        """See Pacer. Silence of a station in reach shows that it did not hear the request."""
        self._in_turn = True
        packets = limits.VOID_TURN_PACKETS if in_reach else limits.FLOOR_PACKETS
        self._draw(now_us + packets * self._packet_us, self._after_data)

    def asked(self, now_us: int) -> None:
        """See Pacer."""
        self._in_turn = False
        self._draw(now_us, limits.AFTER_VECTOR_PACKETS)

    def crowd(self, neighbours: int) -> None:
        """See Pacer."""
        # Answers and requests spread widely among two stations or more in reach; with fewer they need half the time.
        self._crowd = min(1.0, max(0.5, neighbours / 2)) if neighbours else 1.0

    def note_exchange(self, *, hidden: bool, named: bool = True) -> None:
        """See Pacer."""
        self._all_exchanges.add(hidden)
        if named:
            self._named_exchanges.add(hidden)

    @property
    def hidden(self) -> float:
        """See Pacer. Packets that anybody can make up count while little else was heard, and add little to it."""
        some, many = limits.HIDDEN_SHARES
        share = self._all_exchanges.share
        if self._named_exchanges.count >= limits.HIDDEN_NAMED:
            share = min(share, self._named_exchanges.share + limits.HIDDEN_UNPROVED)
        return min(1.0, max(0.0, (share - some) / (many - some)))

    @property
    def shared_patience(self) -> float:
        """See Pacer. A request is replied to in the same moment, however little else is sent."""
        quiet = 1.0 - self._load / limits.LOAD_PACKETS
        return 1.0 + limits.HIDDEN_SPREAD[Urgency.REPLY] * self.hidden * quiet


def make_pacer(profile: LinkProfile, entropy: RandomSource, now_us: int) -> Pacer:
    """Return the pacer for a face's medium."""
    if profile.medium is LinkMedium.AIR:
        return ContentionPacer(profile, entropy, now_us)
    return Pacer(profile, now_us)
