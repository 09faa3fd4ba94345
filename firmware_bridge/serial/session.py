"""The host's session with a radio on a serial cable: bytes and time in, actions out. Pure.

The module of each kind of radio has the dialogues, as generators that yield an ``Ask`` and are resumed with its answer.
This module retries unanswered requests, keeps the order, and notices when a device has restarted or changed.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Any, Final, Generic, TypeVar

from firmware_bridge.lora import LoraSettings, airtime_us
from firmware_bridge.serial import limits

Message = TypeVar("Message")

RESTARTED: Final = "the radio has restarted"
"""Why a session ended after it was ready."""


class Outcome(StrEnum):
    """The fate of a packet that was to be sent."""

    SENT = "sent"
    """Sent, and its airtime is over; or unknown, so that its airtime counts."""
    KEPT = "kept"
    """Not sent, as the device itself reports: the channel is busy, or it may not or cannot send now."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes for the device."""

    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The device is ready."""

    device: str
    """The device's name for itself, for people."""
    lora: LoraSettings
    """The modem's settings, which determine airtime."""
    power_dbm: int
    """The sending power."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A packet received by radio."""

    packet: bytes
    rssi_dbm: int | None = None
    snr_db: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """The fate of the last packet given to ``send``."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Noise:
    """Bytes from the cable that are not a message."""

    reason: str
    """The cause, in plain words."""
    length: int
    """Number of bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The device cannot be used, or no longer. The caller closes the port, and may try again."""

    what: str
    """The finding, in plain words."""
    remedy: str = ""
    """The next step for a person; empty where a retry may help by itself."""


Action = Write | Ready | Heard | Done | Noise | Failed
"""A request of a session to its caller, or a report."""


@dataclass(frozen=True, slots=True)
class Ask(Generic[Message]):
    """A request to the device, and the test for its answer."""

    request: bytes
    """Bytes to write at each try; empty: only wait."""
    answers: Callable[[Message], bool] = lambda _message: False
    """Returns True for an answer. Other messages are handled as if nothing had been asked."""
    wait_us: int = field(default_factory=lambda: limits.ANSWER_US)
    """How long to wait for the answer at each try."""
    tries: int = 1
    """Number of tries."""


Dialogue = Generator[Ask[Message], Message | None, Action | None]
"""Yields requests, is resumed with the answer or None, and ends in a report, if any."""
Steps = Generator[Ask[Message], Message | None, Failed | None]
"""A part of a dialogue: ends in a failure, if any."""


class _State(Enum):
    CLOSED = "closed"
    OPENING = "opening"
    UP = "up"
    FAILED = "failed"


class NotReadyError(RuntimeError):
    """A packet for a device that is not ready, or is still sending: a mistake of the caller."""


class Session(ABC, Generic[Message]):
    """One session, from the opening of a port to its end: the base of those with each kind of radio."""

    packet_max: int
    """Bytes of the longest packet."""

    def __init__(self) -> None:
        self._state = _State.CLOSED
        self._now_us = 0
        self._time_scale = 1.0
        self._seen = bytearray()
        self._waiting: deque[Dialogue[Message]] = deque()
        self._dialogue: Dialogue[Message] | None = None
        self._ask: Ask[Message] | None = None
        self._tries_left = 0
        self._due_us: int | None = None
        self._check_us: int | None = None
        self._timer_us: int | None = None
        self._sending = False
        self._late = 0
        self._restarts = 0

    # --- what each kind of radio implements

    @abstractmethod
    def _decode(self, data: bytes) -> list[Message | Noise]:
        """Parse *data* from the cable, with the rest of the data before."""

    @abstractmethod
    def _greet(self) -> Dialogue[Message]:
        """Identify the device and set it up; ends in Ready or Failed."""

    @abstractmethod
    def _check(self) -> Steps[Message]:
        """Check that the device's settings are unchanged."""

    @abstractmethod
    def _transmit(self, packet: bytes) -> Dialogue[Message]:
        """Send *packet*; ends in Done or Failed."""

    @abstractmethod
    def _take(self, message: Message) -> list[Action]:
        """Handle a message that is not an answer."""

    def _ring(self) -> list[Action]:
        """Handle the expiry of ``_timer_us``, which is unset then."""
        return []

    @abstractmethod
    def air_bytes(self, length: int) -> int:
        """Return the bytes on the air of a packet of *length* bytes."""

    # --- calls of the shell

    def start(self, now_us: int, time_scale: float = 1.0) -> list[Action]:
        """Begin, with the port open. *time_scale*: how many times faster than the clock packets are on the air; not 1
        for emulated radios only."""
        self._now_us = now_us
        self._time_scale = time_scale
        self._state = _State.OPENING
        return self._begin(self._greet())

    def receive(self, data: bytes, now_us: int) -> list[Action]:
        """Handle *data* from the cable."""
        self._now_us = now_us
        if self._state is _State.OPENING:
            # The first bytes, to guess the device behind the port.
            self._seen += data[: 512 - len(self._seen)]
        actions: list[Action] = []
        for message in self._decode(data):
            if self._state in (_State.CLOSED, _State.FAILED):
                break
            if isinstance(message, Noise):
                actions.append(message)
                self._check_soon()
            elif self._ask is not None and self._ask.answers(message):
                actions += self._resume(message)
            else:
                actions += self._note(self._take(message))
        return actions

    def wake(self, now_us: int) -> list[Action]:
        """Run what is due at *now_us*."""
        self._now_us = now_us
        if self._due_us is not None and self._due_us <= now_us:
            return self._try_again()
        if self._timer_us is not None and self._timer_us <= now_us:
            self._timer_us = None
            return self._note(self._ring())
        if self._state is _State.UP and self._check_us is not None and self._check_us <= now_us:
            self._check_us = now_us + limits.CHECK_US
            return self._begin(self._check())
        return []

    def send(self, packet: bytes, now_us: int) -> list[Action]:
        """Send *packet*; a Done reports its fate. Raises NotReadyError."""
        self._now_us = now_us
        if self._state is not _State.UP or self._sending or len(packet) > self.packet_max:
            raise NotReadyError
        self._sending = True
        return self._begin(self._transmit(packet))

    @property
    def next_wake_us(self) -> int | None:
        """Time of the next call of ``wake``; None: none is needed."""
        due = (self._due_us, self._timer_us, self._check_us)
        return min((at_us for at_us in due if at_us is not None), default=None)

    @property
    def seen(self) -> bytes:
        """The first bytes from the cable."""
        return bytes(self._seen)

    # --- dialogues, one at a time

    def _begin(self, dialogue: Dialogue[Message]) -> list[Action]:
        self._waiting.append(dialogue)
        return [] if self._dialogue is not None else self._next()

    def _next(self) -> list[Action]:
        if not self._waiting:
            return []
        self._dialogue = self._waiting.popleft()
        return self._resume(None)

    def _resume(self, answer: Message | None) -> list[Action]:
        assert self._dialogue is not None
        self._ask, self._due_us = None, None
        try:
            self._ask = self._dialogue.send(answer)
        except StopIteration as end:
            self._dialogue = None
            actions = [] if end.value is None else self._note([end.value])
            return actions if self._state is _State.FAILED else actions + self._next()
        self._tries_left = self._ask.tries
        return self._try_again()

    def _try_again(self) -> list[Action]:
        """Write the request once more, or resume the dialogue without an answer after the last try."""
        assert self._ask is not None
        if self._tries_left == 0:
            return self._resume(None)
        self._tries_left -= 1
        self._due_us = self._now_us + self._ask.wait_us
        return [Write(self._ask.request)] if self._ask.request else []

    def _note(self, actions: list[Action]) -> list[Action]:
        for action in actions:
            if isinstance(action, Ready):
                self._state = _State.UP
                self._check_us = self._now_us + limits.CHECK_US
            elif isinstance(action, Done):
                self._sending = False
            elif isinstance(action, Failed):
                self._fail()
        return actions

    def _restarted(self) -> list[Action]:
        """Handle a restart of the device, which loses its settings: begin again, or fail."""
        self._restarts += 1
        if self._state is _State.UP or self._restarts > limits.RESTARTS_MAX:
            return [Failed(what=RESTARTED)]
        self._dialogue = None
        return self._begin(self._greet())

    def _fail(self) -> None:
        self._state = _State.FAILED
        self._waiting.clear()
        self._dialogue = self._ask = self._due_us = self._timer_us = self._check_us = None

    def _check_soon(self) -> None:
        if self._check_us is not None:
            self._check_us = min(self._check_us, self._now_us + limits.CHECK_SOON_US)

    def _air_us(self, lora: LoraSettings, packet: bytes) -> int:
        """Return the airtime of *packet*, by our clock."""
        return round(airtime_us(lora, self.air_bytes(len(packet))) / self._time_scale)

    def _unreported(self, outcome: Outcome = Outcome.SENT) -> Done | Failed:
        """Handle a packet that was not reported as sent, although it may have been."""
        self._late += 1
        if self._late >= limits.LATE_MAX:
            return Failed(what="the radio accepts packets but does not send them")
        return Done(outcome)

    def _sent(self) -> Done:
        self._late = 0
        return Done(Outcome.SENT)


AnySession = Session[Any]
"""A session with any kind of radio."""
