"""The transceiver: one LoRa chip that receives, and sends one packet at a time. Runs in MicroPython.

Time comes in with each ``step``. Nothing here waits, except for the few milliseconds of a chip's start.
"""

from collections import deque

from firmware_bridge.chips.errors import ChipError, ModemError
from firmware_bridge.chips.modem import (
    EVENT_CAD_BUSY,
    EVENT_CAD_DONE,
    EVENT_RECEIVED,
    EVENT_SENT,
    EVENT_TIMEOUT,
    EVENTS_IN_A_ROW,
    PAYLOAD_MAX,
    RECEIVING_FRAMES,
)
from firmware_bridge.firmware import kiss, limits

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from firmware_bridge.chips.modem import Frame, Modem
    from firmware_bridge.chips.port import LoraChip
    from firmware_bridge.firmware.dutycycle import DutyCycle

IDLE = 0
"""No packet is to be sent."""
WAITING = 1
"""Waits for a clear channel, or for TxDelay."""
LISTENING = 2
"""Channel activity detection is under way."""
SENDING = 3
"""A packet is on the air."""


class Transceiver:
    """Keeps the chip receiving. Attributes hold its parameters, received packets and counters."""

    def __init__(
        self,
        chip: "LoraChip",
        interrupted: "Callable[[], bool]",
        random_byte: "Callable[[], int]",
        duty_cycle: "DutyCycle",
    ) -> None:
        """*interrupted*: whether the chip's interrupt line is high. *random_byte*: a random number from 0 to 255."""
        self.tx_delay_us = 50 * limits.TICK_US
        """Wait before sending."""
        self.persistence = 63
        """A clear channel is used with probability (this + 1) / 256."""
        self.slot_us = 10 * limits.TICK_US
        """Time until the channel is checked again."""
        self.full_duplex = False
        """True if packets are sent without checking the channel."""
        self.cad_tries = 0
        """Channel activity detections before each packet."""
        self.duty_permille = 0
        """Limit of the duty cycle in any hour; 0: no limit."""
        self.duty_cycle = duty_cycle
        """The airtime of the last hour."""
        self.heard: deque[Frame] = deque([], limits.RING_SLOTS)  # noqa: RUF037 - MicroPython's takes no keywords
        """Packets received, the oldest first; when it is full the oldest is dropped."""
        self.damaged = 0
        """Number of packets with a wrong CRC."""
        self.resets = 0
        """Number of resets because the chip hung or lost its settings."""
        self.fault = ""
        """Why the chip is unusable; empty if it is usable."""
        self._chip = chip
        self._interrupted = interrupted
        self._random_byte = random_byte
        self._modem: Modem | None = None
        self._power_dbm = limits.POWER_START_DBM
        self._phase = IDLE
        self._packet = b""
        self._due_us = 0
        self._check_us = 0
        self._delayed = False
        self._tries_left = 0
        self._receiving_since_us: int | None = None
        self._result: int | None = None
        self._try_start()

    # --- up and down

    def configure(self, modem: "Modem", power_dbm: int, now_us: int) -> None:
        """Receive with other settings. Raises ModemError for impossible settings, and keeps the old ones; ChipError if
        the chip does not answer."""
        assert self._phase == IDLE, "settings do not change while a packet is being sent"
        if self.fault:
            self._try_start()
        if self.fault:
            raise ChipError(self.fault)
        try:
            self._chip.configure(modem, power_dbm)
            self._chip.start_receive()
        except ModemError:
            raise
        except ChipError as error:
            self._recover(error, now_us)
            raise
        self._modem, self._power_dbm = modem, power_dbm
        self._check_us = now_us + limits.CHECK_US

    def _try_start(self) -> None:
        """Bring the chip from reset to reception, if settings are known; records a fault."""
        try:
            self._chip.begin()
            if self._modem is not None:
                self._chip.configure(self._modem, self._power_dbm)
                self._chip.start_receive()
        except ChipError as error:
            self.fault = str(error)
            return
        self.fault = ""

    def _recover(self, error: ChipError, now_us: int) -> None:
        """Reset the chip. The airtime of a packet that was on the air stays counted, since part of it was sent."""
        self.resets += 1
        self.fault = str(error)
        self._receiving_since_us = None
        if self._phase != IDLE:
            self._finish(kiss.FAILED)
        self._check_us = now_us + limits.CHECK_US
        self._try_start()

    # --- time passes

    def step(self, now_us: int) -> None:
        """Do the work that is due; to be called a thousand times a second."""
        try:
            if not self.fault and self._modem is not None:
                self._listen(now_us)
            if now_us >= self._check_us and self._phase == IDLE:
                self._check(now_us)
        except ChipError as error:
            self._recover(error, now_us)

    def _listen(self, now_us: int) -> None:
        if self._interrupted():
            self._take_events(now_us)
        if self._phase == IDLE or now_us < self._due_us:
            return
        if self._phase == WAITING:
            self._contend(now_us)
            return
        # The interrupt line may be broken; the chip has the event all the same.
        overdue = self._phase
        self._take_events(now_us)
        if self._phase == overdue and now_us >= self._due_us:
            doing = "sending" if overdue == SENDING else "channel activity detection"
            raise ChipError(f"the chip did not finish {doing}")

    def _check(self, now_us: int) -> None:
        """Check that the chip kept its settings, or that a missing one has come back."""
        self._check_us = now_us + limits.CHECK_US
        if self.fault:
            self._try_start()
        elif self._modem is not None:
            self._take_events(now_us)
            lost = self._chip.differences()
            if lost:
                raise ChipError(f"the chip has lost {lost[0].name}")

    def _take_events(self, now_us: int) -> None:
        for _ in range(EVENTS_IN_A_ROW):
            events = self._chip.take_events()
            if not events:
                return
            if events & EVENT_RECEIVED:
                self._keep(self._chip.read_frame(events))
            if self._phase == LISTENING and events & EVENT_CAD_DONE:
                self._listened(events, now_us)
            elif self._phase == SENDING and events & (EVENT_SENT | EVENT_TIMEOUT):
                self._sent(events)

    def _keep(self, frame: "Frame") -> None:
        self._receiving_since_us = None
        if frame.damaged:
            self.damaged += 1
        elif frame.payload:
            self.heard.append(frame)

    # --- sending

    @property
    def sending(self) -> bool:
        """True if a packet is waiting or on the air."""
        return self._phase != IDLE

    def send(self, packet: bytes, now_us: int) -> None:
        """Send *packet*, 1 to 255 bytes; ``take_result`` reports its fate."""
        assert self._phase == IDLE, "one packet at a time"
        if self.fault or self._modem is None:
            self._result = kiss.FAILED
            return
        self._packet = packet
        self._phase = WAITING
        self._delayed = self.full_duplex
        self._due_us = now_us + (self.tx_delay_us if self.full_duplex else 0)

    def take_result(self) -> "int | None":
        """Return the fate of the packet, as numbered in docs/formats/kiss.md, once; None: no news."""
        result, self._result = self._result, None
        return result

    def _contend(self, now_us: int) -> None:
        """Check the channel, or send after TxDelay."""
        if self._delayed:
            self._begin(now_us)
        elif self._incoming(now_us) or self._random_byte() > self.persistence:
            self._due_us = now_us + self.slot_us
        else:
            self._delayed = True
            self._due_us = now_us + self.tx_delay_us

    def _begin(self, now_us: int) -> None:
        """Check the duty cycle and, if required, the channel."""
        limit_us = limits.WINDOW_US // limits.PERMILLE * self.duty_permille
        if limit_us and not self.duty_cycle.allows(self._airtime_us(), now_us, limit_us):
            self._finish(kiss.DUTY_SPENT)
        elif not self.cad_tries:
            self._transmit(now_us)
        elif self._incoming(now_us):
            self._finish(kiss.BUSY)
        else:
            self._tries_left = self.cad_tries
            self._detect(now_us)

    def _detect(self, now_us: int) -> None:
        self._tries_left -= 1
        self._phase = LISTENING
        self._due_us = now_us + limits.CAD_WAIT_US
        self._chip.start_cad()

    def _listened(self, events: int, now_us: int) -> None:
        if events & EVENT_CAD_BUSY:
            self._finish(kiss.BUSY)
            # At once: the detected frame may still be received.
            self._chip.start_receive()
        elif self._tries_left:
            self._detect(now_us)
        else:
            self._transmit(now_us)

    def _transmit(self, now_us: int) -> None:
        airtime_us = self._airtime_us()
        self.duty_cycle.charge(airtime_us, now_us)
        self._phase = SENDING
        self._due_us = now_us + airtime_us + limits.SEND_MARGIN_US
        self._chip.start_send(self._packet)

    def _sent(self, events: int) -> None:
        self._finish(kiss.SENT if events & EVENT_SENT else kiss.FAILED)
        self._chip.start_receive()

    def _finish(self, result: int) -> None:
        self._phase = IDLE
        self._packet = b""
        self._result = result

    def _airtime_us(self) -> int:
        assert self._modem is not None, "the radio is set up before it sends"
        return self._modem.airtime_us(len(self._packet))

    def _incoming(self, now_us: int) -> bool:
        """Return whether a frame is coming in. A receiver that reports one for too long is restarted."""
        assert self._modem is not None, "the radio is set up before it sends"
        if not self._chip.receiving():
            self._receiving_since_us = None
            return False
        if self._receiving_since_us is None:
            self._receiving_since_us = now_us
        longest_us = RECEIVING_FRAMES * self._modem.airtime_us(PAYLOAD_MAX)
        if now_us - self._receiving_since_us <= longest_us:
            return True
        self._receiving_since_us = None
        self._chip.start_receive()
        return False
