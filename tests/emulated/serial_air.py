"""A radio channel of emulated devices on serial cables: packets arrive at devices with equal settings. Pure.

All devices receive each other equally well. Two packets at a time destroy each other, and a sending device is deaf.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from firmware_bridge.lora import LoraSettings, airtime_us

RSSI_DBM = -91
"""Signal strength of every packet."""
SNR_DB = 7.25
"""Signal-to-noise ratio of every packet."""


@dataclass(slots=True, eq=False)
class Flight:
    """A packet on the air."""

    sender: "Device"
    frame: bytes
    lora: LoraSettings
    end_us: int
    deaf: set["Device"] = field(default_factory=set)
    """Devices that were sending at some time of it."""
    destroyed: bool = False
    """True if another packet was on the air at the same time."""


class Air:
    """The channel, with all devices in reach of each other."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.sent: list[bytes] = []
        """All frames that were on the air, in the order of their beginnings."""
        self._flights: list[Flight] = []

    def begin(self, sender: "Device", frame: bytes, now_us: int) -> int:
        """Begin to send *frame* from *sender*. Returns the time of its end."""
        assert sender.lora is not None
        flight = Flight(sender, frame, sender.lora, now_us + airtime_us(sender.lora, len(frame)))
        for other in self._flights:
            flight.deaf.add(other.sender)
            other.deaf.add(sender)
            if _hears(other.lora, flight.lora):
                flight.destroyed = other.destroyed = True
        self._flights.append(flight)
        self.sent.append(frame)
        return flight.end_us

    def is_busy(self, listener: "Device") -> bool:
        """Return whether *listener* would detect a packet now."""
        return any(flight.sender is not listener and listener.hears(flight.lora) for flight in self._flights)

    def end(self, sender: "Device") -> None:
        """End the packet of *sender*, and deliver it."""
        (flight,) = [flight for flight in self._flights if flight.sender is sender]
        self._flights.remove(flight)
        for device in self.devices:
            deaf = device is sender or device in flight.deaf
            if device.is_on and not deaf and not flight.destroyed and device.hears(flight.lora):
                device.heard(flight.frame)


def _hears(left: LoraSettings, right: LoraSettings) -> bool:
    """Return whether modems with these settings receive each other. Preambles may differ in length, and the explicit
    header shows whether there is a CRC."""
    return (left.frequency_hz, left.bandwidth_hz, left.spreading_factor, left.sync_word) == (
        right.frequency_hz,
        right.bandwidth_hz,
        right.spreading_factor,
        right.sync_word,
    )


class Device(ABC):
    """An emulated radio on a cable: bytes and time in, bytes out. It sends its queue when the channel is free."""

    BACKOFF_US = 10_000
    """Wait before the next attempt while the channel is busy."""

    def __init__(self, air: Air) -> None:
        self.air = air
        air.devices.append(self)
        self.lora: LoraSettings | None = None
        """The modem's settings; None: not set up."""
        self.is_on = True
        self.write: Callable[[bytes], None] = lambda _data: None
        """Writes to the host; set by the cable."""
        self.queue: list[bytes] = []
        """Frames that wait to be sent."""
        self._timers: dict[str, int] = {}

    def hears(self, lora: LoraSettings) -> bool:
        """Return whether the modem receives a packet with these settings."""
        return self.lora is not None and _hears(self.lora, lora)

    @abstractmethod
    def receive(self, data: bytes, now_us: int) -> None:
        """Handle *data* from the host."""

    @abstractmethod
    def heard(self, frame: bytes) -> None:
        """Handle a received *frame*."""

    def ring(self, timer: str, now_us: int) -> None:
        """Handle an expired timer: send the next frame, or wait while the channel is busy."""
        if timer == "sending":
            self.air.end(self)
        if not self.queue:
            return
        if self.air.is_busy(self):
            self.set_timer("decide", now_us + self.BACKOFF_US)
            return
        self.set_timer("sending", self.air.begin(self, self.queue.pop(0), now_us))

    def enqueue(self, frame: bytes, now_us: int) -> None:
        """Queue *frame*, and send it when its turn comes."""
        self.queue.append(frame)
        if not self._timers:
            self.set_timer("decide", now_us)

    def boot(self) -> None:
        """Restart: lose all state that is not in flash."""
        if "sending" in self._timers:
            self.air.end(self)
        self._timers.clear()
        self.queue.clear()

    def set_timer(self, timer: str, at_us: int) -> None:
        """Schedule a call of ``ring``."""
        self._timers[timer] = at_us

    def wake(self, now_us: int) -> None:
        """Call ``ring`` for each expired timer, also for those set meanwhile."""
        while (next_us := self.next_wake_us) is not None and next_us <= now_us:
            timer = min(self._timers, key=self._timers.__getitem__)
            del self._timers[timer]
            self.ring(timer, now_us)

    @property
    def next_wake_us(self) -> int | None:
        """Time of the next timer."""
        return min(self._timers.values(), default=None)
