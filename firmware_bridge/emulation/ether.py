"""The ether of emulated chips: who hears what, with airtime, collisions and capture. Pure.

A receiver locks on a preamble of its own frequency, bandwidth, spreading factor and polarity of chirps, lets it go if
the sync word is another, and hears a frame to its end unless something as strong falls into it.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, Protocol

from firmware_bridge.chips.modem import Modem
from firmware_bridge.emulation.timeline import Timeline
from firmware_bridge.lora import DEMODULATION_SNR_DB, NOISE_FIGURE_DB, THERMAL_NOISE_DBM_PER_HZ

LOCK_SYMBOLS: Final = 4
"""Symbols of preamble a receiver needs (SX1276 data sheet 4.1.1.6: it must be 4.25 symbols at least)."""
CAPTURE_DB: Final = 6.0
"""How much stronger a frame must be than another on its channel to survive it (Bor et al., MSWiM 2016)."""
FREQUENCY_TOLERANCE: Final = 4
"""Carriers may differ by a quarter of the bandwidth (SX1276 data sheet 4.1.5)."""
DEFAULT_LOSS_DB: Final = 100.0
"""Path loss between any two antennas: a few hundred metres outdoors."""
SNR_MAX_DB: Final = 12.0
"""Chips do not report more, however strong the signal."""
KEEP_US: Final = 60_000_000
"""How long what was sent is remembered: longer than any frame."""
SHORT_SNR_DB: Final = -5.0
"""Weakest signal-to-noise ratio at SF5 and SF6 (SX1261/2 data sheet, table 6-1)."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Signal:
    """A frame on the air."""

    modem: Modem
    """How it is sent."""
    payload: bytes
    """What it carries."""
    power_dbm: float
    """What leaves the antenna."""
    start_us: int
    """When it begins."""

    @property
    def lock_us(self) -> int:
        """When a receiver that was not listening is too late."""
        early = 4 * max(self.modem.preamble_symbols - LOCK_SYMBOLS, 0)
        return self.start_us + self.modem.symbols_us(early)

    @property
    def synced_us(self) -> int:
        """When preamble and sync word are over."""
        return self.start_us + self.modem.symbols_us(self.modem.preamble_quarters())

    @property
    def header_us(self) -> int:
        """When its header is over."""
        return self.start_us + self.modem.symbols_us(self.modem.header_quarters())

    @property
    def end_us(self) -> int:
        """When it is over."""
        return self.start_us + self.modem.airtime_us(len(self.payload))


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A frame as a receiver got it."""

    payload: bytes
    """Garbled if something fell into it."""
    intact: bool
    """Whether nothing did."""
    crc: bool
    """Whether it has a CRC by which the chip can tell."""
    rssi_dbm: float
    """Strength."""
    snr_db: float
    """Signal to noise ratio."""


class Listener(Protocol):
    """A chip, as its receiver sees it."""

    def preamble_found(self) -> None:
        """A preamble began, with whatever sync word."""
        ...

    def sync_found(self) -> None:
        """The sync word is the right one."""
        ...

    def header_found(self, *, valid: bool) -> None:
        """The header is over; if not *valid*, nothing more follows."""
        ...

    def frame_found(self, heard: Heard) -> None:
        """The frame is over."""
        ...

    def signal_lost(self) -> None:
        """What began was for somebody else, or is gone."""
        ...


def same_chirps(first: Modem, second: Modem) -> bool:
    """Whether what one sends looks like a signal to the other."""
    return (
        first.bandwidth_hz == second.bandwidth_hz
        and first.spreading_factor == second.spreading_factor
        and first.inverted_iq == second.inverted_iq
        and abs(first.frequency_hz - second.frequency_hz) * FREQUENCY_TOLERANCE <= first.bandwidth_hz
    )


def noise_dbm(modem: Modem) -> float:
    """Noise in a receiver's channel, its own included."""
    return THERMAL_NOISE_DBM_PER_HZ + 10 * math.log10(modem.bandwidth_hz) + NOISE_FIGURE_DB


@dataclass(eq=False)
class Antenna:
    """One chip's place on the ether."""

    name: str
    """For tests and faults."""
    listener: Listener
    """The chip."""
    tuning: Modem | None = None
    """What it listens to; None: it does not."""
    locked: Signal | None = None
    """What it is following."""
    gain_db: Callable[[], float] = field(default=lambda: 0.0)
    """What stands between chip and air now: an antenna switch in the wrong place costs."""


class Ether:
    """Carries signals between antennas."""

    def __init__(self, timeline: Timeline, *, default_loss_db: float = DEFAULT_LOSS_DB) -> None:
        self.timeline = timeline
        self.losses_db: dict[tuple[str, str], float] = {}
        """Path loss from one name to another where it is not the default; infinite cuts a link."""
        self.sent: deque[tuple[str, Signal]] = deque()
        """What was sent in the last minute, by whom."""
        self._default_loss_db = default_loss_db
        self._antennas: list[Antenna] = []

    def join(self, antenna: Antenna) -> None:
        """Let *antenna* hear and be heard."""
        self._antennas.append(antenna)

    def leave(self, antenna: Antenna) -> None:
        """Take *antenna* down."""
        self._antennas.remove(antenna)

    def transmit(self, sender: Antenna, signal: Signal) -> None:
        """Begin to send; every receiver follows it as far as it can."""
        while self.sent and self.sent[0][1].end_us < signal.start_us - KEEP_US:
            self.sent.popleft()
        self.sent.append((sender.name, signal))
        for antenna in self._antennas:
            if antenna is not sender:
                self._at(signal.lock_us, antenna, signal, self._lock)

    def listen(self, antenna: Antenna, tuning: Modem | None) -> None:
        """Tune *antenna*, or with None make it deaf. What it was following is lost."""
        antenna.locked = None
        antenna.tuning = tuning

    def activity(self, antenna: Antenna, tuning: Modem, since_us: int, *, in_data: bool) -> bool:
        """Whether since *since_us* there were chirps as *tuning* wants them: of preambles, or *in_data*, too."""
        now_us = self.timeline.now_us()
        for signal in self._near(antenna, since_us, now_us):
            end_us = signal.end_us if in_data else signal.synced_us
            audible = self.snr_db(antenna, signal) >= _snr_least_db(tuning)
            if audible and end_us > since_us and same_chirps(tuning, signal.modem):
                return True
        return False

    def power_dbm(self, antenna: Antenna) -> float:
        """Power in the channel that *antenna* is tuned to, now."""
        tuning = antenna.tuning
        assert tuning is not None, "a receiver that is off measures nothing"
        now_us = self.timeline.now_us()
        milliwatts = 10 ** (noise_dbm(tuning) / 10)
        for signal in self._near(antenna, now_us, now_us):
            apart_hz = abs(signal.modem.frequency_hz - tuning.frequency_hz)
            if 2 * apart_hz < signal.modem.bandwidth_hz + tuning.bandwidth_hz:
                milliwatts += 10 ** (self.rssi_dbm(antenna, signal) / 10)
        return 10 * math.log10(milliwatts)

    def rssi_dbm(self, antenna: Antenna, signal: Signal) -> float:
        """How strong *signal* is at *antenna*."""
        (sender,) = [name for name, sent in self.sent if sent is signal]
        loss_db = self.losses_db.get((sender, antenna.name), self._default_loss_db)
        return signal.power_dbm - loss_db + antenna.gain_db()

    def snr_db(self, antenna: Antenna, signal: Signal) -> float:
        """The same above the noise."""
        return self.rssi_dbm(antenna, signal) - noise_dbm(signal.modem)

    # --- one receiver follows one signal

    def _at(
        self, time_us: int, antenna: Antenna, signal: Signal, step: Callable[[Antenna, Signal], None]
    ) -> None:
        self.timeline.at(time_us, lambda: step(antenna, signal))

    def _follow(
        self, time_us: int, antenna: Antenna, signal: Signal, step: Callable[[Antenna, Signal], None]
    ) -> None:
        """Go on with *step* if the receiver has not turned away from *signal* by then."""

        def go_on() -> None:
            if antenna.locked is signal:
                step(antenna, signal)

        self.timeline.at(time_us, go_on)

    def _lock(self, antenna: Antenna, signal: Signal) -> None:
        tuning = antenna.tuning
        if tuning is None or antenna.locked is not None or not same_chirps(tuning, signal.modem):
            return
        if self.snr_db(antenna, signal) < _snr_least_db(tuning) or self._spoilt(antenna, signal):
            return
        antenna.locked = signal
        antenna.listener.preamble_found()
        self._follow(signal.synced_us, antenna, signal, self._synchronize)

    def _synchronize(self, antenna: Antenna, signal: Signal) -> None:
        tuning = antenna.tuning
        assert tuning is not None, "who is locked is tuned"
        if signal.modem.sync_word != tuning.sync_word or self._spoilt(antenna, signal):
            self._lose(antenna)
            return
        antenna.listener.sync_found()
        self._follow(signal.header_us, antenna, signal, self._read_header)

    def _read_header(self, antenna: Antenna, signal: Signal) -> None:
        tuning = antenna.tuning
        assert tuning is not None, "who is locked is tuned"
        same = tuning.explicit_header == signal.modem.explicit_header
        valid = same and not self._spoilt(antenna, signal)
        if tuning.explicit_header:
            antenna.listener.header_found(valid=valid)
            if not valid:
                self._lose(antenna)
                return
        self._follow(signal.end_us, antenna, signal, self._finish)

    def _finish(self, antenna: Antenna, signal: Signal) -> None:
        tuning = antenna.tuning
        assert tuning is not None, "who is locked is tuned"
        antenna.locked = None
        agreed = signal.modem.low_data_rate == tuning.low_data_rate
        if not tuning.explicit_header:
            agreed = agreed and signal.modem.coding_rate == tuning.coding_rate
            agreed = (
                agreed and not signal.modem.explicit_header and len(signal.payload) == tuning.payload_length
            )
        intact = agreed and not self._spoilt(antenna, signal)
        antenna.listener.frame_found(
            Heard(
                payload=signal.payload if intact else garbled(signal.payload),
                intact=intact,
                crc=signal.modem.crc if tuning.explicit_header else tuning.crc,
                rssi_dbm=self.rssi_dbm(antenna, signal),
                snr_db=min(self.snr_db(antenna, signal), SNR_MAX_DB),
            )
        )

    def _lose(self, antenna: Antenna) -> None:
        antenna.locked = None
        antenna.listener.signal_lost()

    def _spoilt(self, antenna: Antenna, signal: Signal) -> bool:
        """Whether something nearly as strong has been on the air together with what was heard of *signal* so far."""
        strength_dbm = self.rssi_dbm(antenna, signal)
        return any(
            other is not signal
            and _collides(signal.modem, other.modem)
            and self.rssi_dbm(antenna, other) > strength_dbm - CAPTURE_DB
            for other in self._near(antenna, signal.lock_us, self.timeline.now_us())
        )

    def _near(self, antenna: Antenna, since_us: int, until_us: int) -> Iterator[Signal]:
        """What others had on the air in a span of time."""
        for sender, signal in self.sent:
            if sender != antenna.name and signal.start_us < until_us + 1 and signal.end_us > since_us:
                yield signal


def garbled(payload: bytes) -> bytes:
    """*payload* as it looks when something fell into it: its second half is wrong."""
    half = len(payload) // 2
    return payload[:half] + bytes(byte ^ 0xA5 for byte in payload[half:])


def _collides(first: Modem, second: Modem) -> bool:
    """Whether one spoils the other: same spreading factor, overlapping channels (Bor et al.)."""
    apart_hz = abs(first.frequency_hz - second.frequency_hz)
    return (
        first.spreading_factor == second.spreading_factor
        and first.inverted_iq == second.inverted_iq
        and 2 * apart_hz < first.bandwidth_hz + second.bandwidth_hz
    )


def _snr_least_db(modem: Modem) -> float:
    return DEMODULATION_SNR_DB.get(modem.spreading_factor, SHORT_SNR_DB)
