"""The driver of a LoRa chip on SPI, for asyncio: listen before talk, reception, and a watchdog over the chip.

Transfers run in the event loop: 255 bytes at 2 MHz take a millisecond. The chip reports events by its interrupt line.
Only the chip's registers are polled, every five seconds.
"""

import asyncio
import time
from collections.abc import Callable
from typing import Final, Protocol

from firmware_bridge.boards import BoardProfile
from firmware_bridge.chips.errors import ChipError
from firmware_bridge.chips.modem import (
    EVENT_CAD_BUSY,
    EVENT_CAD_DONE,
    EVENT_RECEIVED,
    EVENT_SENT,
    EVENT_TIMEOUT,
    EVENTS_IN_A_ROW,
    PAYLOAD_MAX,
    RECEIVING_FRAMES,
    Frame,
    Modem,
)
from firmware_bridge.chips.port import LoraChip
from firmware_bridge.drivers.errors import RadioError, radio_hangs
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.drivers.wiring import HardwareChipPort, explain, make_chip

CHECK_S: Final = 5.0
"""Time between checks of the chip: whether its registers are unchanged, and whether an edge was missed."""
_RESETS_IN_A_ROW: Final = 3  # without a good check between them; then the radio is closed and opened again


class RadioSink(Protocol):
    """The receiver of a radio's events. Called in the event loop; its methods neither block nor raise."""

    def radio_up(self) -> None:
        """Handle: the radio listens."""
        ...

    def radio_heard(self, frame: Frame) -> None:
        """Handle a received frame, damaged ones included."""
        ...

    def radio_reset(self, reason: str) -> None:
        """Handle: the chip hung or lost its settings, and was restarted."""
        ...


class SpiRadio:
    """The radio of one board. ``run`` keeps it up; ``send`` works meanwhile."""

    def __init__(
        self,
        profile: BoardProfile,
        modem: Modem,
        power_dbm: int,
        sink: RadioSink,
        open_hardware: Callable[[], Hardware],
        *,
        check_s: float = CHECK_S,
        time_scale: float = 1.0,
        sleep_s: Callable[[float], None] = time.sleep,
    ) -> None:
        """*power_dbm*: the chip's own power, without its amplifier's gain. *time_scale*: how many times faster than
        ours the time of an emulated chip passes."""
        self._profile = profile
        self._modem = modem
        self._power_dbm = power_dbm
        self._sink = sink
        self._open_hardware = open_hardware
        self._check_s = check_s
        self._time_scale = time_scale
        self._sleep_s = sleep_s
        self._chip: LoraChip | None = None
        self._wiring: HardwareChipPort | None = None
        self._sending = asyncio.Lock()
        self._waiting: tuple[int, asyncio.Future[int]] | None = None
        self._trouble = asyncio.Event()
        self._reason = ""
        self._resets_in_a_row = 0
        self._receiving_since_s: float | None = None

    # --- up and down

    async def run(self) -> None:
        """Open the board and keep it working until cancelled. Raises RadioError when that is impossible."""
        hardware = self._open_hardware()
        try:
            self._wiring = HardwareChipPort(self._profile, hardware, self._sleep_s)
            await self._serve(hardware, make_chip(self._profile, self._wiring))
        finally:
            hardware.close()

    async def _serve(self, hardware: Hardware, chip: LoraChip) -> None:
        loop = asyncio.get_running_loop()
        self._resets_in_a_row = 0
        self._trouble.clear()
        try:
            self._start(chip)
            loop.add_reader(hardware.fd, self._edge, hardware)
            self._chip = chip
            self._sink.radio_up()
            await self._watch(chip)
        finally:
            loop.remove_reader(hardware.fd)
            self._chip = None
            self._give_up_waiting()
            self._fall_asleep(chip)

    def _start(self, chip: LoraChip) -> None:
        """Bring the chip from power-up to reception. Raises RadioError."""
        try:
            chip.begin()
            chip.configure(self._modem, self._power_dbm)
            chip.start_receive()
        except ChipError as error:
            raise explain(self._profile, error) from error

    def _fall_asleep(self, chip: LoraChip) -> None:
        """Put the chip to sleep, so that it neither receives nor sends when the driver is gone."""
        try:
            chip.sleep()
        except (ChipError, RadioError):
            # It does not answer, which is known already.
            return

    async def _watch(self, chip: LoraChip) -> None:
        """Check the chip periodically and at reported trouble, and reset it when needed (watchdog)."""
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
        """Return what is wrong with the chip; None if nothing is."""
        assert self._wiring is not None, "the watchdog runs while the board is open"
        try:
            if self._wiring.interrupted():
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
            f"{len(lost)} registers lost their values, {first.name} among them: "
            f"0x{first.found:02X} instead of 0x{first.expected:02X}"
        )

    async def _recover(self, chip: LoraChip, reason: str) -> None:
        """Reset the chip and set it up again; nothing is sent meanwhile. Raises RadioError when that does not help."""
        self._in_trouble(reason)
        self._give_up_waiting()
        self._receiving_since_s = None
        while True:
            if self._resets_in_a_row >= _RESETS_IN_A_ROW:
                raise radio_hangs(f"{reason}; {self._resets_in_a_row} resets in a row did not help")
            self._resets_in_a_row += 1
            try:
                self._start(chip)
            except RadioError as error:
                reason = str(error)
                # A supply that dropped may have recovered by then.
                await asyncio.sleep(0.5 / self._time_scale)
                continue
            self._trouble.clear()
            self._sink.radio_reset(reason)
            return

    def _in_trouble(self, reason: str) -> None:
        self._reason = reason
        self._trouble.set()

    # --- events of the chip

    def _edge(self, hardware: Hardware) -> None:
        chip = self._chip
        try:
            hardware.take_edges()
            if chip is not None and not self._trouble.is_set():
                self._take_events(chip)
        except OSError as error:
            self._in_trouble(f"the GPIO lines fail: {error.strerror or error}")
        except (ChipError, RadioError) as error:
            self._in_trouble(str(error))

    def _take_events(self, chip: LoraChip) -> None:
        """Read events until there are none: the line signals the first only."""
        for _ in range(EVENTS_IN_A_ROW):
            events = chip.take_events()
            if not events:
                return
            if events & EVENT_RECEIVED:
                self._receiving_since_s = None
                self._sink.radio_heard(chip.read_frame(events))
            if self._waiting is not None and events & self._waiting[0]:
                over = self._waiting[1]
                if not over.done():
                    over.set_result(events)

    async def _wait_for(self, wanted: int, timeout_s: float, chip: LoraChip) -> int | None:
        """Wait for one of the events *wanted*. Returns 0 if the chip was reset meanwhile, None at a timeout."""
        over: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._waiting = (wanted, over)
        try:
            async with asyncio.timeout(timeout_s / self._time_scale):
                return await over
        except TimeoutError:
            # The edge may have been lost; the chip has the event all the same.
            events = chip.take_events()
            return events if events & wanted else None
        finally:
            self._waiting = None

    def _give_up_waiting(self) -> None:
        if self._waiting is not None and not self._waiting[1].done():
            self._waiting[1].set_result(0)

    # --- sending

    async def send(self, frame: bytes) -> bool:
        """Listen, and send *frame* (1 to 255 bytes) if the channel is free. Returns True if its airtime is spent.

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
                    # The sender of the frame is gone, but the radio is not.
                    self._in_trouble("sending was cancelled")
                raise

    async def _send(self, chip: LoraChip, frame: bytes) -> bool:
        if self._coming_in(chip) or await self._occupied(chip):
            return False
        chip.start_send(frame)
        try:
            await self._finish(chip, frame)
        except (ChipError, RadioError) as error:
            self._in_trouble(str(error))
        return True

    async def _finish(self, chip: LoraChip, frame: bytes) -> None:
        """Wait for the end of a frame that is on the air, then receive again."""
        timeout_s = self._modem.airtime_us(len(frame)) / 1e6 + 0.1  # later than this the chip counts as stuck
        events = await self._wait_for(EVENT_SENT | EVENT_TIMEOUT, timeout_s, chip)
        if events is None or events & EVENT_TIMEOUT:
            self._in_trouble("it did not finish sending")
        elif events:
            chip.start_receive()

    def _coming_in(self, chip: LoraChip) -> bool:
        """Return whether a frame is coming in. A receiver that reports one for too long is restarted."""
        assert self._wiring is not None, "the board is open while it sends"
        if self._wiring.interrupted():
            # A frame has arrived whose edge has not reached us; the next steps would discard it.
            self._take_events(chip)
        if not chip.receiving():
            self._receiving_since_s = None
            return False
        now_s = asyncio.get_running_loop().time()
        if self._receiving_since_s is None:
            self._receiving_since_s = now_s
        longest_s = self._modem.airtime_us(PAYLOAD_MAX) / 1e6 / self._time_scale
        if now_s - self._receiving_since_s <= RECEIVING_FRAMES * longest_s:
            return True
        self._receiving_since_s = None
        chip.start_receive()
        return False

    async def _occupied(self, chip: LoraChip) -> bool:
        """Detect channel activity; if there is some, receive at once, since the frame may still be caught."""
        chip.start_cad()
        events = await self._wait_for(EVENT_CAD_DONE, 0.2, chip)  # 4 symbols at SF12 and 125 kHz are 131 ms
        if events is None:
            self._in_trouble("it did not finish listening")
        elif events & EVENT_CAD_BUSY:
            chip.start_receive()
        return not events or bool(events & EVENT_CAD_BUSY)
