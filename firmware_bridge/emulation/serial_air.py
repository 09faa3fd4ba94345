"""Devices on cables that hear each other: what leaves one arrives at those set alike, after its time on the air. Pure.

Everybody hears everybody equally well. Two packets at a time destroy each other, and nobody hears while sending.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

from firmware_bridge.lora import LoraSettings, airtime_us

RSSI_DBM = -91
"""How strong every packet is heard."""
SNR_DB = 7.25
"""How clear."""


@dataclass(slots=True, eq=False)
class Flight:
    """A packet on the air."""

    sender: "Device"
    frame: bytes
    lora: LoraSettings
    end_us: int
    deaf: set["Device"] = field(default_factory=set)
    """Who was sending at some time of it."""
    destroyed: bool = False
    """Whether another packet was on the air at some time of it."""


class Air:
    """One place in which all devices are in reach of each other."""

    def __init__(self) -> None:
        self.devices: list[Device] = []
        self.sent: list[bytes] = []
        """All frames that were on the air, in the order they began."""
        self._flights: list[Flight] = []

    def begin(self, sender: "Device", frame: bytes, now_us: int) -> int:
        """*sender* starts to send *frame*. Returns when it is over."""
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
        """Whether *listener* would hear somebody now."""
        return any(flight.sender is not listener and listener.hears(flight.lora) for flight in self._flights)

    def end(self, sender: "Device") -> None:
        """The packet of *sender* is over: deliver it."""
        (flight,) = [flight for flight in self._flights if flight.sender is sender]
        self._flights.remove(flight)
        for device in self.devices:
            deaf = device is sender or device in flight.deaf
            if device.is_on and not deaf and not flight.destroyed and device.hears(flight.lora):
                device.heard(flight.frame)


def _hears(left: LoraSettings, right: LoraSettings) -> bool:
    """Whether a modem set to one hears one set to the other. The length of the preamble need not agree, and an explicit
    header says whether there is a CRC."""
    return (left.frequency_hz, left.bandwidth_hz, left.spreading_factor, left.sync_word) == (
        right.frequency_hz,
        right.bandwidth_hz,
        right.spreading_factor,
        right.sync_word,
    )


class Device(ABC):
    """A radio on a cable, as its host sees it: bytes and time in, bytes out."""

    def __init__(self, air: Air) -> None:
        self.air = air
        air.devices.append(self)
        self.lora: LoraSettings | None = None
        """What the modem is set to; None: not set up."""
        self.is_on = True
        self.write: Callable[[bytes], None] = lambda _data: None
        """Where to write to the host; set by who plugs the device in."""
        self._timers: dict[str, int] = {}

    def hears(self, lora: LoraSettings) -> bool:
        """Whether the modem receives what is sent so."""
        return self.lora is not None and _hears(self.lora, lora)

    @abstractmethod
    def receive(self, data: bytes, now_us: int) -> None:
        """*data* came from the host."""

    @abstractmethod
    def heard(self, frame: bytes) -> None:
        """*frame* came by radio."""

    @abstractmethod
    def ring(self, timer: str, now_us: int) -> None:
        """A timer set by ``set_timer`` is due."""

    @abstractmethod
    def boot(self) -> None:
        """Start anew: what is not kept in flash is forgotten."""

    def set_timer(self, timer: str, at_us: int) -> None:
        """Have ``ring`` called at that time."""
        self._timers[timer] = at_us

    def forget_timers(self) -> None:
        """Have nothing called any more."""
        self._timers.clear()

    def wake(self, now_us: int) -> None:
        """Ring what is due, also what ringing makes due."""
        while (next_us := self.next_wake_us) is not None and next_us <= now_us:
            timer = min(self._timers, key=self._timers.__getitem__)
            del self._timers[timer]
            self.ring(timer, now_us)

    @property
    def next_wake_us(self) -> int | None:
        """When ``wake`` has something to do."""
        return min(self._timers.values(), default=None)
