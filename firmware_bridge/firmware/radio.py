"""One LoRa chip on a microcontroller: it listens, and sends one packet at a time. Runs in MicroPython.

Time comes in with each ``step``; nothing here waits, but for the few milliseconds that a chip takes to start.
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
    from firmware_bridge.firmware.account import Account

IDLE = 0
"""Nothing is to be sent."""
WAITING = 1
"""For a clear channel, or for TxDelay."""
LISTENING = 2
"""Channel activity detection is under way."""
SENDING = 3
"""A packet is on the air."""


class StuckError(ChipError):
    """The chip did not finish what it was told to do."""

    def __init__(self, doing: str) -> None:
        super().__init__(f"the chip did not finish {doing}")
        self.doing = doing
        """What that was."""


class ForgetfulError(ChipError):
    """The chip lost what it was set to: it was without power for a moment."""

    def __init__(self, register: str) -> None:
        super().__init__(f"the chip has lost {register}")
        self.register = register
        """One of the registers, as the data sheet calls it."""


class Radio:
    """Keeps the chip listening. What it is to do is set by attributes; what it was, and what it heard, can be taken."""

    def __init__(
        self,
        chip: "LoraChip",
        interrupted: "Callable[[], bool]",
        random_byte: "Callable[[], int]",
        account: "Account",
    ) -> None:
        """*interrupted*: whether the chip's interrupt line is high. *random_byte*: a number from 0 to 255."""
        self.tx_delay_us = 50 * limits.TICK_US
        """Wait before sending."""
        self.persistence = 63
        """A clear channel is taken with probability (this + 1) / 256."""
        self.slot_us = 10 * limits.TICK_US
        """How soon the channel is looked at again."""
        self.full_duplex = False
        """Whether it is not looked at."""
        self.cad_tries = 0
        """Channel activity detections before each packet."""
        self.duty_permille = 0
        """Most of any hour that is spent on the air; 0: no limit."""
        self.account = account
        """What was spent."""
        self.heard: deque[Frame] = deque([], limits.RING_SLOTS)  # noqa: RUF037 - MicroPython's takes no keywords
        """Packets received, the oldest first; when it is full the oldest goes."""
        self.overrun = 0
        """How many went so."""
        self.damaged = 0
        """Packets whose CRC was wrong."""
        self.resets = 0
        """Times the chip was reset because it hung or forgot."""
        self.fault = ""
        """Why the chip cannot be used; empty: it can."""
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
        """Listen with other settings from now on. Raises ModemError for what the chip cannot do, after which all is as
        it was, and ChipError if it does not answer."""
        assert self._phase == IDLE, "nobody changes what is being sent"
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
        """From reset to listening, if it is known to what; notes a fault."""
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
        """Reset the chip; a packet that was on the air counts as spent, since part of it was."""
        self.resets += 1
        self.fault = str(error)
        self._receiving_since_us = None
        if self._phase != IDLE:
            self._finish(kiss.FAILED)
        self._check_us = now_us + limits.CHECK_US
        self._try_start()

    # --- time passes

    def step(self, now_us: int) -> None:
        """Do what is due. To be called a thousand times a second."""
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
        # The interrupt line may be broken; the chip knows all the same.
        overdue = self._phase
        self._take_events(now_us)
        if self._phase == overdue and now_us >= self._due_us:
            raise StuckError("sending" if overdue == SENDING else "listening for others")

    def _check(self, now_us: int) -> None:
        """Whether the chip is as it was left; one that was not there may be by now."""
        self._check_us = now_us + limits.CHECK_US
        if self.fault:
            self._try_start()
        elif self._modem is not None:
            self._take_events(now_us)
            lost = self._chip.differences()
            if lost:
                raise ForgetfulError(lost[0].name)

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
            self.overrun += len(self.heard) == limits.RING_SLOTS
            self.heard.append(frame)

    # --- sending

    @property
    def sending(self) -> bool:
        """Whether there is a packet of which nobody knows yet what became."""
        return self._phase != IDLE

    def send(self, packet: bytes, now_us: int) -> None:
        """Send *packet*, 1 to 255 bytes; ``take_result`` tells when it has left, or will not."""
        assert self._phase == IDLE, "one packet at a time"
        if self.fault or self._modem is None:
            self._result = kiss.FAILED
            return
        self._packet = packet
        self._phase = WAITING
        self._delayed = self.full_duplex
        self._due_us = now_us + (self.tx_delay_us if self.full_duplex else 0)

    def take_result(self) -> "int | None":
        """What became of the packet, as docs/formats/kiss.md numbers it, once; None: nothing new."""
        result, self._result = self._result, None
        return result

    def _contend(self, now_us: int) -> None:
        """The time has come to look at the channel, or TxDelay is over."""
        if self._delayed:
            self._begin(now_us)
        elif self._incoming(now_us) or self._random_byte() > self.persistence:
            self._due_us = now_us + self.slot_us
        else:
            self._delayed = True
            self._due_us = now_us + self.tx_delay_us

    def _begin(self, now_us: int) -> None:
        """Ask the law and, if told to, the channel."""
        limit_us = limits.WINDOW_US // limits.PERMILLE * self.duty_permille
        if limit_us and not self.account.allows(self._airtime_us(), now_us, limit_us):
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
            # At once: what was detected may still be caught.
            self._chip.start_receive()
        elif self._tries_left:
            self._detect(now_us)
        else:
            self._transmit(now_us)

    def _transmit(self, now_us: int) -> None:
        airtime_us = self._airtime_us()
        self.account.charge(airtime_us, now_us)
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
        assert self._modem is not None, "who sends is set up"
        return self._modem.airtime_us(len(self._packet))

    def _incoming(self, now_us: int) -> bool:
        """Whether a frame is coming in; a receiver that says so for longer than a frame takes is started anew."""
        assert self._modem is not None, "who sends is set up"
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
