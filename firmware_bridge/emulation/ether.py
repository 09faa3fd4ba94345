"""The radio channel ("ether") of emulated chips: reception with airtime, collisions and capture. Pure.

A receiver locks on a preamble of its own frequency, bandwidth, spreading factor and chirp polarity. It drops the signal
if the sync word differs, and receives a frame to its end unless a signal of similar strength collides with it.
"""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial
from math import log10
from typing import Final, Protocol

from firmware_bridge.chips.modem import Modem, preamble_quarters, symbols_us
from firmware_bridge.emulation.timeline import Timeline
from firmware_bridge.lora import DEMODULATION_SNR_DB, noise_floor_dbm

LOCK_SYMBOLS: Final = 4
"""Preamble symbols that a receiver needs (SX1276 data sheet 4.1.1.6: at least 4.25 symbols)."""
CAPTURE_DB: Final = 6.0
"""Capture effect: how much stronger than a colliding frame one must be to survive (Bor et al., MSWiM 2016)."""
FREQUENCY_TOLERANCE: Final = 4
"""Carriers may differ by a quarter of the bandwidth (SX1276 data sheet 4.1.5)."""
DEFAULT_LOSS_DB: Final = 100.0
"""Path loss between any two antennas: a few hundred metres outdoors."""
SNR_MAX_DB: Final = 12.0
"""Greatest ratio that chips report."""
KEEP_US: Final = 60_000_000
"""How long signals are remembered: longer than any frame."""
SHORT_SNR_DB: Final = -5.0
"""Least signal-to-noise ratio at SF5 and SF6 (SX1261/2 data sheet, table 6-1)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Signal:
    """A frame on the air."""

    modem: Modem
    """The sender's settings."""
    payload: bytes
    """The bytes of the frame."""
    power_dbm: float
    """Power at the sender's antenna."""
    start_us: int
    """Time of the beginning."""

    @property
    def lock_us(self) -> int:
        """Time after which a receiver that was not listening is too late."""
        early = 4 * max(self.modem.preamble_symbols - LOCK_SYMBOLS, 0)
        return self.start_us + symbols_us(self.modem, early)

    @property
    def synced_us(self) -> int:
        """Time of the end of preamble and sync word."""
        return self.start_us + symbols_us(self.modem, preamble_quarters(self.modem))

    @property
    def header_us(self) -> int:
        """Time of the end of the header, which fills the first block of 8 symbols."""
        return self.start_us + symbols_us(self.modem, preamble_quarters(self.modem) + 4 * 8)

    @property
    def end_us(self) -> int:
        """Time of the end."""
        return self.start_us + self.modem.airtime_us(len(self.payload))


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSignal:
    """A frame as a receiver got it."""

    payload: bytes
    """The bytes, garbled by a collision."""
    intact: bool
    """True if there was no collision."""
    crc: bool
    """True if the frame has a CRC that shows damage."""
    rssi_dbm: float
    """Signal strength."""
    snr_db: float
    """Signal-to-noise ratio."""


class Listener(Protocol):
    """The receiver of a chip."""

    def preamble_found(self) -> None:
        """Handle a preamble, with any sync word."""
        ...

    def sync_found(self) -> None:
        """Handle the right sync word."""
        ...

    def header_found(self, *, valid: bool) -> None:
        """Handle the end of the header; if not *valid*, nothing more follows."""
        ...

    def frame_found(self, heard: ReceivedSignal) -> None:
        """Handle the end of the frame."""
        ...

    def signal_lost(self) -> None:
        """Handle the loss of the signal, or another sync word."""
        ...


def same_chirps(first: Modem, second: Modem) -> bool:
    """Return whether a receiver set to one locks on a sender set to the other."""
    return (
        first.bandwidth_hz == second.bandwidth_hz
        and first.spreading_factor == second.spreading_factor
        and first.inverted_iq == second.inverted_iq
        and abs(first.frequency_hz - second.frequency_hz) * FREQUENCY_TOLERANCE <= first.bandwidth_hz
    )


@dataclass(eq=False)
class EmulatedAntenna:
    """The connection of one chip to the ether."""

    name: str
    """The name in path losses."""
    listener: Listener
    """The chip's receiver."""
    tuning: Modem | None = None
    """Settings of the receiver; None: it is off."""
    locked: Signal | None = None
    """The signal that the receiver is locked on."""
    gain_db: Callable[[], float] = field(default=lambda: 0.0)
    """Gain between chip and air now: an antenna switch in the wrong position attenuates."""


_Step = Callable[[EmulatedAntenna, Signal], None]


class Ether:
    """The radio channel: carries signals between antennas."""

    def __init__(self, timeline: Timeline, *, default_loss_db: float = DEFAULT_LOSS_DB) -> None:
        self.timeline = timeline
        self.losses_db: dict[tuple[str, str], float] = {}
        """Path loss from one name to another, if not the default; infinite cuts a link."""
        self.sent: deque[tuple[str, Signal]] = deque()
        """Senders and signals of the last minute."""
        self._default_loss_db = default_loss_db
        self._antennas: list[EmulatedAntenna] = []

    def join(self, antenna: EmulatedAntenna) -> None:
        """Connect *antenna*."""
        self._antennas.append(antenna)

    def leave(self, antenna: EmulatedAntenna) -> None:
        """Disconnect *antenna*."""
        self._antennas.remove(antenna)

    def transmit(self, sender: EmulatedAntenna, signal: Signal) -> None:
        """Begin to send *signal* to all receivers."""
        while self.sent and self.sent[0][1].end_us < signal.start_us - KEEP_US:
            self.sent.popleft()
        self.sent.append((sender.name, signal))
        for antenna in self._antennas:
            if antenna is not sender:
                self.timeline.at(signal.lock_us, partial(self._lock, antenna, signal))

    def listen(self, antenna: EmulatedAntenna, tuning: Modem | None) -> None:
        """Tune the receiver of *antenna*, or switch it off with None. The signal it was locked on is lost."""
        antenna.locked = None
        antenna.tuning = tuning

    def activity(self, antenna: EmulatedAntenna, tuning: Modem, since_us: int, *, in_data: bool) -> bool:
        """Return whether *tuning* matched chirps since *since_us*: those of preambles, and of data if *in_data*."""
        now_us = self.timeline.now_us()
        for signal in self._near(antenna, since_us, now_us):
            end_us = signal.end_us if in_data else signal.synced_us
            audible = self.snr_db(antenna, signal) >= _snr_least_db(tuning)
            if audible and end_us > since_us and same_chirps(tuning, signal.modem):
                return True
        return False

    def power_dbm(self, antenna: EmulatedAntenna) -> float:
        """Return the power in the channel that *antenna* is tuned to, now."""
        tuning = antenna.tuning
        assert tuning is not None, "a receiver that is off measures nothing"
        now_us = self.timeline.now_us()
        milliwatts = 10 ** (noise_floor_dbm(tuning) / 10)
        for signal in self._near(antenna, now_us, now_us):
            apart_hz = abs(signal.modem.frequency_hz - tuning.frequency_hz)
            if 2 * apart_hz < signal.modem.bandwidth_hz + tuning.bandwidth_hz:
                milliwatts += 10 ** (self.rssi_dbm(antenna, signal) / 10)
        return 10 * log10(milliwatts)

    def rssi_dbm(self, antenna: EmulatedAntenna, signal: Signal) -> float:
        """Return the strength of *signal* at *antenna*."""
        (sender,) = [name for name, sent in self.sent if sent is signal]
        loss_db = self.losses_db.get((sender, antenna.name), self._default_loss_db)
        return signal.power_dbm - loss_db + antenna.gain_db()

    def snr_db(self, antenna: EmulatedAntenna, signal: Signal) -> float:
        """Return the signal-to-noise ratio of *signal* at *antenna*."""
        return self.rssi_dbm(antenna, signal) - noise_floor_dbm(signal.modem)

    # --- one receiver follows one signal

    def _follow(self, time_us: int, antenna: EmulatedAntenna, signal: Signal, step: _Step) -> None:
        """Run *step* at *time_us* if the receiver is still locked on *signal*."""

        def go_on() -> None:
            if antenna.locked is signal:
                step(antenna, signal)

        self.timeline.at(time_us, go_on)

    def _lock(self, antenna: EmulatedAntenna, signal: Signal) -> None:
        tuning = antenna.tuning
        if tuning is None or antenna.locked is not None or not same_chirps(tuning, signal.modem):
            return
        if self.snr_db(antenna, signal) < _snr_least_db(tuning) or self._spoilt(antenna, signal):
            return
        antenna.locked = signal
        antenna.listener.preamble_found()
        self._follow(signal.synced_us, antenna, signal, self._synchronize)

    def _synchronize(self, antenna: EmulatedAntenna, signal: Signal) -> None:
        tuning = antenna.tuning
        assert tuning is not None, "a locked receiver is tuned"
        if signal.modem.sync_word != tuning.sync_word or self._spoilt(antenna, signal):
            self._lose(antenna)
            return
        antenna.listener.sync_found()
        self._follow(signal.header_us, antenna, signal, self._read_header)

    def _read_header(self, antenna: EmulatedAntenna, signal: Signal) -> None:
        tuning = antenna.tuning
        assert tuning is not None, "a locked receiver is tuned"
        same = tuning.explicit_header == signal.modem.explicit_header
        valid = same and not self._spoilt(antenna, signal)
        if tuning.explicit_header:
            antenna.listener.header_found(valid=valid)
            if not valid:
                self._lose(antenna)
                return
        self._follow(signal.end_us, antenna, signal, self._finish)

    def _finish(self, antenna: EmulatedAntenna, signal: Signal) -> None:
        tuning = antenna.tuning
        assert tuning is not None, "a locked receiver is tuned"
        antenna.locked = None
        agreed = signal.modem.low_data_rate == tuning.low_data_rate
        if not tuning.explicit_header:
            agreed = agreed and signal.modem.coding_rate == tuning.coding_rate
            agreed = (
                agreed and not signal.modem.explicit_header and len(signal.payload) == tuning.payload_length
            )
        intact = agreed and not self._spoilt(antenna, signal)
        antenna.listener.frame_found(
            ReceivedSignal(
                payload=signal.payload if intact else garbled(signal.payload),
                intact=intact,
                crc=signal.modem.crc if tuning.explicit_header else tuning.crc,
                rssi_dbm=self.rssi_dbm(antenna, signal),
                snr_db=min(self.snr_db(antenna, signal), SNR_MAX_DB),
            )
        )

    def _lose(self, antenna: EmulatedAntenna) -> None:
        antenna.locked = None
        antenna.listener.signal_lost()

    def _spoilt(self, antenna: EmulatedAntenna, signal: Signal) -> bool:
        """Return whether a signal of similar strength has collided with *signal* so far."""
        strength_dbm = self.rssi_dbm(antenna, signal)
        return any(
            other is not signal
            and _collides(signal.modem, other.modem)
            and self.rssi_dbm(antenna, other) > strength_dbm - CAPTURE_DB
            for other in self._near(antenna, signal.lock_us, self.timeline.now_us())
        )

    def _near(self, antenna: EmulatedAntenna, since_us: int, until_us: int) -> Iterator[Signal]:
        """Yield the signals of others in a span of time."""
        for sender, signal in self.sent:
            if sender != antenna.name and signal.start_us < until_us + 1 and signal.end_us > since_us:
                yield signal


def garbled(payload: bytes) -> bytes:
    """Return *payload* after a collision: its second half is wrong."""
    half = len(payload) // 2
    return payload[:half] + bytes(byte ^ 0xA5 for byte in payload[half:])


def _collides(first: Modem, second: Modem) -> bool:
    """Return whether signals collide: same spreading factor, overlapping channels (Bor et al.)."""
    apart_hz = abs(first.frequency_hz - second.frequency_hz)
    return (
        first.spreading_factor == second.spreading_factor
        and first.inverted_iq == second.inverted_iq
        and 2 * apart_hz < first.bandwidth_hz + second.bandwidth_hz
    )


def _snr_least_db(modem: Modem) -> float:
    return DEMODULATION_SNR_DB.get(modem.spreading_factor, SHORT_SNR_DB)
