"""A LoRa chip on SPI, driven from an asyncio loop: frames out after listening, frames in, and a watch over the chip.

Transfers are done in the loop: 255 bytes at 2 MHz take a millisecond. The chip tells by its interrupt line what
happened; nothing is polled but, every five seconds, whether the chip still is what it was made.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

from firmware_bridge.boards import BoardProfile
from firmware_bridge.chips.errors import ChipError
from firmware_bridge.chips.modem import (
    EVENT_CAD_BUSY,
    EVENT_CAD_DONE,
    EVENT_RECEIVED,
    EVENT_SENT,
    EVENT_TIMEOUT,
    Frame,
    Modem,
)
from firmware_bridge.chips.port import LoraChip
from firmware_bridge.drivers import limits
from firmware_bridge.drivers.errors import RadioError, StuckError
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.drivers.wiring import Wiring, explain, make_chip


class RadioSink(Protocol):
    """Who is told what the radio does. Called in the event loop; none of it blocks or raises."""

    def radio_up(self) -> None:
        """The radio listens."""
        ...

    def radio_heard(self, frame: Frame) -> None:
        """A frame came in, damaged ones included."""
        ...

    def radio_reset(self, reason: str) -> None:
        """The chip hung or forgot its settings, and was started anew."""
        ...


@dataclass(slots=True)
class RadioCounters:
    """What a radio has seen since it was made."""

    sent: int = 0
    """Frames that left."""
    received: int = 0
    """Frames that came in whole."""
    damaged: int = 0
    """Frames whose own CRC failed."""
    kept: int = 0
    """Times nothing was sent because the channel was in use."""
    resets: int = 0
    """Times the chip was reset because it hung or forgot."""
    missed_edges: int = 0
    """Times something had happened that no edge of the interrupt line told of."""


class SpiRadio:
    """One board. ``run`` keeps it up; ``send`` may be used while it is."""

    def __init__(
        self,
        profile: BoardProfile,
        modem: Modem,
        power_dbm: int,
        sink: RadioSink,
        open_hardware: Callable[[], Hardware],
        *,
        check_s: float = limits.CHECK_S,
        time_scale: float = 1.0,
        sleep_s: Callable[[float], None] = time.sleep,
    ) -> None:
        """*power_dbm* is what the chip is told, its amplifier's gain taken off. *time_scale*: how much quicker than
        ours the time of an emulated chip passes."""
        self.counters = RadioCounters()
        self._profile = profile
        self._modem = modem
        self._power_dbm = power_dbm
        self._sink = sink
        self._open_hardware = open_hardware
        self._check_s = check_s
        self._time_scale = time_scale
        self._sleep_s = sleep_s
        self._chip: LoraChip | None = None
        self._wiring: Wiring | None = None
        self._sending = asyncio.Lock()
        self._waiting: tuple[int, asyncio.Future[int]] | None = None
        self._trouble = asyncio.Event()
        self._reason = ""
        self._resets_in_a_row = 0
        self._receiving_since_s: float | None = None

    # --- up and down

    async def run(self) -> None:
        """Open the board and keep it working until cancelled. Raises RadioError when that cannot be done."""
        hardware = self._open_hardware()
        try:
            self._wiring = Wiring(self._profile, hardware, self._sleep_s)
            await self._serve(hardware, make_chip(self._profile, self._wiring))
        finally:
            hardware.close()

    async def _serve(self, hardware: Hardware, chip: LoraChip) -> None:
        loop = asyncio.get_running_loop()
        self._resets_in_a_row = 0
        self._trouble.clear()
        try:
            self._start(chip)
            loop.add_reader(hardware.lines.fd, self._edge, hardware)
            self._chip = chip
            self._sink.radio_up()
            await self._watch(chip)
        finally:
            loop.remove_reader(hardware.lines.fd)
            self._chip = None
            self._give_up_waiting()
            self._fall_asleep(chip)

    def _start(self, chip: LoraChip) -> None:
        """From power-up to listening. Raises RadioError."""
        try:
            chip.begin()
            chip.configure(self._modem, self._power_dbm)
            chip.start_receive()
        except ChipError as error:
            raise explain(self._profile, error) from error

    def _fall_asleep(self, chip: LoraChip) -> None:
        """Leave the chip quiet: it must not go on receiving, let alone sending, for nobody."""
        try:
            chip.sleep()
        except (ChipError, RadioError):
            # It does not answer, which is known already; there is nothing left to do for it.
            return

    async def _watch(self, chip: LoraChip) -> None:
        """Wait for trouble, look at the chip now and then, and reset it when it needs that."""
        while True:
            try:
                async with asyncio.timeout(self._check_s / self._time_scale):
                    await self._trouble.wait()
                reason: str | None = self._reason
            except TimeoutError:
                reason = self._examine(chip)
            if reason is not None:
                await self._recover(chip, reason)
            else:
                self._resets_in_a_row = 0

    def _examine(self, chip: LoraChip) -> str | None:
        """What is wrong with the chip; None for nothing."""
        assert self._wiring is not None, "who is watched is open"
        try:
            if self._wiring.interrupted():
                self.counters.missed_edges += 1
                self._take_events(chip)
            if self._sending.locked():
                return None
            lost = chip.differences()
        except (ChipError, RadioError) as error:
            return str(error)
        if not lost:
            return None
        first = lost[0]
        return (
            f"{len(lost)} registers lost what they were set to, {first.name} among them: "
            f"0x{first.found:02X} instead of 0x{first.expected:02X}"
        )

    async def _recover(self, chip: LoraChip, reason: str) -> None:
        """Reset and set up anew, sending nothing meanwhile. Raises StuckError when that is of no use."""
        self._in_trouble(reason)
        self._give_up_waiting()
        self._receiving_since_s = None
        while True:
            if self._resets_in_a_row >= limits.RESETS_IN_A_ROW:
                raise StuckError(reason, self._resets_in_a_row)
            self._resets_in_a_row += 1
            self.counters.resets += 1
            try:
                self._start(chip)
            except RadioError as error:
                reason = str(error)
                await asyncio.sleep(limits.RESET_PAUSE_S / self._time_scale)
                continue
            self._trouble.clear()
            self._sink.radio_reset(reason)
            return

    def _in_trouble(self, reason: str) -> None:
        self._reason = reason
        self._trouble.set()

    # --- what the chip tells

    def _edge(self, hardware: Hardware) -> None:
        """The interrupt line rose."""
        chip = self._chip
        try:
            hardware.lines.take_edges()
            if chip is not None and not self._trouble.is_set():
                self._take_events(chip)
        except OSError as error:
            self._in_trouble(f"the GPIO lines fail: {error.strerror or error}")
        except (ChipError, RadioError) as error:
            self._in_trouble(str(error))

    def _take_events(self, chip: LoraChip) -> None:
        """Ask for events until there are none: the line tells of the first only."""
        for _ in range(limits.EVENTS_IN_A_ROW):
            events = chip.take_events()
            if not events:
                return
            if events & EVENT_RECEIVED:
                self._receiving_since_s = None
                frame = chip.read_frame(events)
                self.counters.damaged += frame.damaged
                self.counters.received += not frame.damaged
                self._sink.radio_heard(frame)
            if self._waiting is not None and events & self._waiting[0]:
                over = self._waiting[1]
                if not over.done():
                    over.set_result(events)

    async def _wait_for(self, wanted: int, timeout_s: float, chip: LoraChip) -> int | None:
        """The events with one of *wanted*; 0 if the chip was reset meanwhile, None if it keeps silent."""
        over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting = (wanted, over)
        try:
            async with asyncio.timeout(timeout_s / self._time_scale):
                return await over
        except TimeoutError:
            # The edge may have been lost; then the chip has it all the same.
            events = chip.take_events()
            if events & wanted:
                self.counters.missed_edges += 1
                return events
            return None
        finally:
            self._waiting = None

    def _give_up_waiting(self) -> None:
        if self._waiting is not None and not self._waiting[1].done():
            self._waiting[1].set_result(0)

    # --- sending

    async def send(self, frame: bytes) -> bool:
        """Listen, and send *frame* (1 to 255 bytes) if nobody else is on the air. True: its airtime is spent.

        A frame during which the chip hangs counts as sent, since part of it was. Raises ConnectionError when the radio
        is down.
        """
        async with self._sending:
            chip = self._chip
            if chip is None:
                raise ConnectionResetError("the radio is down")
            if self._trouble.is_set():
                return False
            try:
                return await self._send(chip, frame)
            except (ChipError, RadioError) as error:
                self._in_trouble(str(error))
                return False
            except asyncio.CancelledError:
                if self._chip is chip:
                    # Whoever gave the frame is gone, but not the radio.
                    self._in_trouble("sending was broken off")
                raise

    async def _send(self, chip: LoraChip, frame: bytes) -> bool:
        if self._coming_in(chip) or await self._occupied(chip):
            self.counters.kept += 1
            return False
        chip.start_send(frame)
        try:
            await self._finish(chip, frame)
        except (ChipError, RadioError) as error:
            self._in_trouble(str(error))
        return True

    async def _finish(self, chip: LoraChip, frame: bytes) -> None:
        """Wait for the end of a frame that is on the air, and listen again."""
        timeout_s = self._modem.airtime_us(len(frame)) / 1e6 + limits.SEND_MARGIN_S
        events = await self._wait_for(EVENT_SENT | EVENT_TIMEOUT, timeout_s, chip)
        if events is None or events & EVENT_TIMEOUT:
            self._in_trouble("it did not finish sending")
        elif events:
            self.counters.sent += 1
            chip.start_receive()

    def _coming_in(self, chip: LoraChip) -> bool:
        """Whether a frame is being received; a receiver that says so for longer than a frame takes is started anew."""
        assert self._wiring is not None, "who sends is open"
        if self._wiring.interrupted():
            # A frame is over whose edge has not reached us: what comes next would throw it away.
            self._take_events(chip)
        if not chip.receiving():
            self._receiving_since_s = None
            return False
        now_s = asyncio.get_running_loop().time()
        if self._receiving_since_s is None:
            self._receiving_since_s = now_s
        longest_s = self._modem.airtime_us(limits.FRAME_MAX) / 1e6 / self._time_scale
        if now_s - self._receiving_since_s <= limits.RECEIVING_FRAMES * longest_s:
            return True
        self._receiving_since_s = None
        chip.start_receive()
        return False

    async def _occupied(self, chip: LoraChip) -> bool:
        """Listen for chirps; back to receiving at once if there are some, which may still be caught."""
        for _ in range(limits.CAD_TRIES):
            chip.start_cad()
            events = await self._wait_for(EVENT_CAD_DONE, limits.CAD_WAIT_S, chip)
            if events is None:
                self._in_trouble("it did not finish listening")
            elif events & EVENT_CAD_BUSY:
                chip.start_receive()
            if not events or events & EVENT_CAD_BUSY:
                return True
        return False
