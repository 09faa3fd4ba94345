"""Managed flooding as Meshtastic does it, on the same ground and for the same traffic: a mesh of another kind, to
measure ours against.

After the project's description of its algorithm (meshtastic.org, "Mesh Broadcast Algorithm") and its firmware of 2026
where that leaves something open (RadioInterface, FloodingRouter, ReliableRouter). Who hears a message for the first
time says it again, unless three have relayed it before: after a random time, longest where it came in loudest, so that
who is far off goes first. Who hears it again meanwhile keeps still. The author says it again when nobody is heard to
relay it, three times at most. Nobody repairs later what was lost. No law is applied; the outcome says what was sent.
"""

import heapq
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Final

from firmware_bridge import lora
from tinyssb_node.ids import FeedId
from tinyssb_node.sim.ground import place_nodes
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.report import spread
from tinyssb_node.sim.world import stream

HOPS: Final = 3
"""Times that a message may be relayed: Meshtastic's default hop limit."""
HEADER_SIZE: Final = 16
"""Bytes before the payload on the air (its RadioInterface, MESHTASTIC_HEADER_LENGTH)."""
PREAMBLE_SYMBOLS: Final = 16
"""Length of its preamble, longer than the usual 8 so that receivers may sleep (its Mesh Broadcast Algorithm page)."""
WINDOW_MIN: Final = 3
"""Contention windows have two to this power of slots at least (its RadioInterface, CWmin)."""
WINDOW_MAX: Final = 8
"""And to this power at most (CWmax)."""
SNR_LOW_DB: Final = -20.0
"""Nodes that receive a message at this signal-to-noise ratio, or worse, relay it from the smallest window (SNR_MIN)."""
SNR_HIGH_DB: Final = 10.0
"""Nodes that receive a message at this ratio, or better, use the largest (SNR_MAX)."""
SLOT_QUARTERS: Final = 10
"""Quarters of a symbol in a slot: two and a half symbols of channel activity detection (computeSlotTimeMsec)."""
SLOT_FIXED_US: Final = 7_600
"""The rest of a slot: 0.2 ms of propagation, 0.4 ms of turnaround, 7 ms of processing; same source."""
PROCESSING_US: Final = 4_500_000
"""The time that an author waits to hear a relay, besides packets and slots (PROCESSING_TIME_MSEC)."""
RETRIES: Final = 3
"""Times that an author says it again at most (its overview page, and its simulator's default)."""
QUEUE_MAX: Final = 16
"""Packets that wait (MAX_TX_QUEUE)."""
UTILISATION_US: Final = 60_000_000
"""Time over which the channel's use is looked at (its airtime module, channelUtilizationPercent)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FloodingReport:
    """Outcome of a flooding run."""

    nodes: int
    messages: int
    """Messages published."""
    delivered: int
    """Messages that came to nodes other than their author's."""
    packets: int
    """Times that something was sent."""
    airtime_us: int
    """Time on the air, all nodes together."""
    duty_max: float
    """Share of the time from the first to the last packet that the busiest node was on the air."""
    delays_us: tuple[int, ...]
    """Least, median, 95th percentile and longest time from publishing to delivery; empty if nothing was delivered."""

    @property
    def reach(self) -> float:
        """Share of the other nodes that a message came to, on average; 0 where nothing was published."""
        wanted = self.messages * (self.nodes - 1)
        return self.delivered / wanted if wanted else 0.0

    @property
    def airtime_each_us(self) -> float:
        """Airtime for each message delivered to somebody; infinite if none was."""
        return self.airtime_us / self.delivered if self.delivered else float("inf")


def flood(options: SimulationOptions) -> FloodingReport:
    """Play *options* with nodes that flood: their places, radio, channel and traffic count, nothing else of them.

    Raises OptionError where nodes find no room.
    """
    return Flooding(options).run()


@dataclass(frozen=True, slots=True)
class _Message:
    """Something published."""

    number: int
    author: str
    length: int
    """Bytes on the air, header and all."""
    published_us: int


@dataclass(slots=True, eq=False)
class _Copy:
    """A message that waits to be sent by somebody."""

    message: _Message
    hops_left: int
    """Times it may be relayed after this."""
    snr_db: float | None
    """How well it came in; None for one's own."""


@dataclass(slots=True)
class _Station:
    """A node."""

    name: str
    seen: set[int] = field(default_factory=set)
    """Messages it had or has."""
    waiting: deque[_Copy] = field(default_factory=deque)
    unconfirmed: set[int] = field(default_factory=set)
    """Messages of its own that nobody was heard to relay."""
    occupied_us: deque[tuple[int, int]] = field(default_factory=deque)
    """When it last heard or sent something, and how long that was."""
    armed: bool = False
    """True if a time to send is set."""
    sending: _Copy | None = None
    airtime_us: int = 0


class Flooding:
    """One mesh and its time."""

    def __init__(self, options: SimulationOptions) -> None:
        """Raises OptionError."""
        radio = replace(options.radio, preamble_symbols=PREAMBLE_SYMBOLS)
        self._options = replace(options, radio=radio)
        self._medium = place_nodes(self._options).medium
        self._chance = self.chance("flooding")
        self._slot_us = lora.symbols_us(radio.lora, SLOT_QUARTERS) + SLOT_FIXED_US
        self._stations = {name: _Station(name) for name in options.names}
        self._queue: list[tuple[int, int, Callable[[], object]]] = []
        self._numbers = 0
        self._now_us = 0
        self._messages = 0
        self._packets = 0
        self._began_us: int | None = None
        self._delays_us: list[int] = []

    def run(self) -> FloodingReport:
        """Let it happen, up to the end that the options set."""
        for source in self._options.traffic:
            source.schedule(self)
        happenings = 0
        while self._queue and self._queue[0][0] <= self._options.limit_us:
            self._now_us, _, do = heapq.heappop(self._queue)
            do()
            happenings += 1
            if happenings >= self._options.happenings:
                break
        span_us = max(1, self._now_us - (self._began_us or 0))
        stations = self._stations.values()
        return FloodingReport(
            nodes=len(stations),
            messages=self._messages,
            delivered=len(self._delays_us),
            packets=self._packets,
            airtime_us=sum(station.airtime_us for station in stations),
            duty_max=max(station.airtime_us for station in stations) / span_us,
            delays_us=spread(self._delays_us),
        )

    # --- what traffic calls

    def chance(self, purpose: str) -> random.Random:
        """The stream of chance for *purpose*: for traffic, that of a ``World`` with the same seed."""
        return stream(self._options.seed, purpose)

    def at(self, at_us: int, do: Callable[[], object]) -> None:
        """Do something at a time to come."""
        self._numbers += 1
        heapq.heappush(self._queue, (at_us, self._numbers, do))

    def inject(self, name: str, content: bytes) -> bool:
        """A node has something to say to all. Always True: nobody is off here."""
        station = self._stations[name]
        self._messages += 1
        message = _Message(self._messages, name, HEADER_SIZE + len(content), self._now_us)
        station.seen.add(message.number)
        station.unconfirmed.add(message.number)
        self._say(station, message, RETRIES)
        return True

    def follow(self, name: str, feed: FeedId) -> None:
        """Nothing: here everybody gets everything, or does not."""

    # --- sending

    def _say(self, station: _Station, message: _Message, tries_left: int) -> None:
        """Its author says *message*, and will again if nobody is heard to relay it."""
        self._put(station, _Copy(message, HOPS, None))
        if tries_left:
            wait_us = self._retry_us(station, message)
            self.at(self._now_us + wait_us, lambda: self._say_again(station, message, tries_left - 1))

    def _say_again(self, station: _Station, message: _Message, tries_left: int) -> None:
        if message.number in station.unconfirmed:
            self._say(station, message, tries_left)

    def _retry_us(self, station: _Station, message: _Message) -> int:
        middle = (WINDOW_MIN + WINDOW_MAX) // 2
        slots = (1 << self._own_window(station)) + 2 * WINDOW_MAX + (1 << middle)
        packet_us = self._medium.airtime_us(message.length)
        return 2 * packet_us + slots * self._slot_us + PROCESSING_US

    def _put(self, station: _Station, copy: _Copy) -> None:
        """A full queue drops it."""
        if len(station.waiting) < QUEUE_MAX:
            station.waiting.append(copy)
            self._arm(station)

    def _arm(self, station: _Station) -> None:
        """Set a time to send what waits first."""
        if station.armed or station.sending is not None or not station.waiting:
            return
        station.armed = True
        self.at(self._now_us + self._delay_us(station, station.waiting[0]), lambda: self._try(station))

    def _try(self, station: _Station) -> None:
        station.armed = False
        if not station.waiting:
            return
        if self._medium.is_busy(station.name, self._now_us):
            self._arm(station)
        else:
            self._send(station, station.waiting.popleft())

    def _send(self, station: _Station, copy: _Copy) -> None:
        end_us = self._medium.begin_send(station.name, copy.message.length, self._now_us)
        station.sending = copy
        station.airtime_us += end_us - self._now_us
        self._packets += 1
        if self._began_us is None:
            self._began_us = self._now_us
        self.at(end_us, lambda: self._end(station, copy))

    def _end(self, station: _Station, copy: _Copy) -> None:
        station.sending = None
        packet_us = self._medium.airtime_us(copy.message.length)
        station.occupied_us.append((self._now_us, packet_us))
        for delivery in self._medium.end_send(station.name).deliveries:
            receiver = self._stations[delivery.receiver]
            receiver.occupied_us.append((self._now_us, packet_us))
            self._hear(receiver, copy, delivery.snr_db)
        self._arm(station)

    # --- when

    def _delay_us(self, station: _Station, copy: _Copy) -> int:
        if copy.snr_db is None:
            return int(self._chance.random() * (1 << self._own_window(station))) * self._slot_us
        slots = int(self._chance.random() * (1 << window_for(copy.snr_db)))
        # What routers have for themselves comes first; there is none here.
        return (2 * WINDOW_MAX + slots) * self._slot_us

    def _own_window(self, station: _Station) -> int:
        """By how busy the channel was around it."""
        since_us = self._now_us - UTILISATION_US
        while station.occupied_us and station.occupied_us[0][0] <= since_us:
            station.occupied_us.popleft()
        busy = sum(packet_us for _, packet_us in station.occupied_us) / UTILISATION_US
        width = WINDOW_MAX - WINDOW_MIN
        return WINDOW_MIN + int(min(1.0, busy) * width)

    # --- hearing

    def _hear(self, station: _Station, copy: _Copy, snr_db: float) -> None:
        message = copy.message
        if message.number in station.seen:
            station.unconfirmed.discard(message.number)
            waiting = [other for other in station.waiting if other.message.number != message.number]
            station.waiting = deque(waiting)
            return
        station.seen.add(message.number)
        self._delays_us.append(self._now_us - message.published_us)
        if copy.hops_left:
            self._put(station, _Copy(message, copy.hops_left - 1, snr_db))


def window_for(snr_db: float) -> int:
    """From how many slots, as a power of two, a relay draws that heard a message at *snr_db*."""
    low_db, high_db = SNR_LOW_DB, SNR_HIGH_DB
    share = (min(max(snr_db, low_db), high_db) - low_db) / (high_db - low_db)
    return WINDOW_MIN + int(share * (WINDOW_MAX - WINDOW_MIN))
