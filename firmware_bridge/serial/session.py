"""The host's half of a conversation with a radio on a serial cable: bytes and time in, actions out. Pure.

A device's module says what is asked and answered, as generators that yield an ``Ask`` and are resumed with its answer.
This one repeats what is not answered, keeps the order, and knows when a device is no longer what it was.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from typing import Final, Generic, Protocol, TypeVar

from firmware_bridge.lora import LoraSettings, airtime_us
from firmware_bridge.serial import limits

Message = TypeVar("Message")

RESTARTED: Final = "the radio has restarted"
"""Why a session ended that began well."""


class Outcome(StrEnum):
    """What became of a packet that was to be sent."""

    SENT = "sent"
    """It has left and its airtime is over; or nobody knows, so that its airtime counts."""
    KEPT = "kept"
    """It did not leave, as the device says itself: somebody else is on the air, or it may or can send nothing now."""


@dataclass(frozen=True, slots=True)
class Write:
    """Bytes for the device."""

    data: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The device can be used."""

    device: str
    """What it said it is, for people."""
    lora: LoraSettings
    """How its modem is set, from which airtime follows."""
    power_dbm: int
    """What it sends with."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Heard:
    """A packet came in by radio."""

    packet: bytes
    rssi_dbm: int | None = None
    snr_db: float | None = None


@dataclass(frozen=True, slots=True)
class Done:
    """What became of the packet last given to ``send``."""

    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Noise:
    """Something came over the cable that was no message."""

    reason: str
    """In plain words."""
    length: int
    """Bytes of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The device cannot be used, or no longer: the port is to be closed, and may be tried again."""

    what: str
    """What was found, in plain words."""
    remedy: str = ""
    """What a person can do; empty where trying again may help by itself."""


Action = Write | Ready | Heard | Done | Noise | Failed
"""What a session wants done, or tells."""


@dataclass(frozen=True, slots=True)
class Ask(Generic[Message]):
    """A request, and what is an answer to it."""

    request: bytes
    """What to write, each time it is tried; empty: just wait."""
    answers: Callable[[Message], bool] = lambda _message: False
    """True for an answer. Everything else is handled as if nothing had been asked."""
    wait_us: int = field(default_factory=lambda: limits.ANSWER_US)
    """How long to wait for it, each time."""
    tries: int = 1
    """How often to try."""


Dialogue = Generator[Ask[Message], Message | None, Action | None]
"""Yields requests, is given the answer or None, and ends in what to tell, if anything."""
Steps = Generator[Ask[Message], Message | None, Failed | None]
"""A part of a dialogue: ends in what went wrong, if anything."""


class Conversation(Protocol):
    """A session as the shell sees it, whatever is spoken."""

    def start(self, now_us: int, time_scale: float = 1.0) -> list[Action]:
        """The port is open. *time_scale*: how many times as quick as the clock packets are on the air, which is once
        unless the radio is an emulated one."""
        ...

    def receive(self, data: bytes, now_us: int) -> list[Action]:
        """*data* came over the cable."""
        ...

    def wake(self, now_us: int) -> list[Action]:
        """It is *now_us*: do what is due."""
        ...

    def send(self, packet: bytes, now_us: int) -> list[Action]:
        """Send *packet*; a Done tells when it has left. Raises NotReadyError."""
        ...

    @property
    def next_wake_us(self) -> int | None:
        """When to call ``wake``; None: no need."""
        ...

    @property
    def seen(self) -> bytes:
        """The first that came over the cable."""
        ...

    def air_bytes(self, length: int) -> int:
        """Bytes on the air of a packet of *length* bytes."""
        ...


class _State(Enum):
    CLOSED = "closed"
    OPENING = "opening"
    UP = "up"
    FAILED = "failed"


class NotReadyError(RuntimeError):
    """A packet was given to a device that is not ready, or is still at the last one: a mistake of the caller."""


class Session(ABC, Generic[Message]):
    """One conversation, from the opening of a port to its end."""

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

    # --- what a device's module says

    @abstractmethod
    def _decode(self, data: bytes) -> list[Message | Noise]:
        """Take *data* from the cable apart, with what was left of the data before."""

    @abstractmethod
    def _greet(self) -> Dialogue[Message]:
        """Find out what is there, set it up; ends in Ready or Failed."""

    @abstractmethod
    def _check(self) -> Steps[Message]:
        """See whether all is as it was."""

    @abstractmethod
    def _transmit(self, packet: bytes) -> Dialogue[Message]:
        """Send *packet*; ends in Done or Failed."""

    @abstractmethod
    def _take(self, message: Message) -> list[Action]:
        """Handle a message that answers nothing asked."""

    def _ring(self) -> list[Action]:
        """Do what ``_timer_us`` was set for; it is not set any more."""
        return []

    @abstractmethod
    def air_bytes(self, length: int) -> int:
        """Bytes on the air of a packet of *length* bytes."""

    @property
    @abstractmethod
    def packet_max(self) -> int:
        """Bytes of the longest packet."""

    # --- what the shell says

    def start(self, now_us: int, time_scale: float = 1.0) -> list[Action]:
        """See Conversation."""
        self._now_us = now_us
        self._time_scale = time_scale
        self._state = _State.OPENING
        return self._begin(self._greet())

    def receive(self, data: bytes, now_us: int) -> list[Action]:
        """*data* came over the cable."""
        self._now_us = now_us
        if self._state is _State.OPENING:
            self._seen += data[: limits.SEEN_MAX - len(self._seen)]
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
                actions += self._told(self._take(message))
        return actions

    def wake(self, now_us: int) -> list[Action]:
        """It is *now_us*: do what is due."""
        self._now_us = now_us
        if self._due_us is not None and self._due_us <= now_us:
            return self._try_again()
        if self._timer_us is not None and self._timer_us <= now_us:
            self._timer_us = None
            return self._told(self._ring())
        if self._state is _State.UP and self._check_us is not None and self._check_us <= now_us:
            self._check_us = now_us + limits.CHECK_US
            return self._begin(self._check())
        return []

    def send(self, packet: bytes, now_us: int) -> list[Action]:
        """Send *packet*; a Done tells when it has left. Raises NotReadyError."""
        self._now_us = now_us
        if self._state is not _State.UP or self._sending or len(packet) > self.packet_max:
            raise NotReadyError
        self._sending = True
        return self._begin(self._transmit(packet))

    @property
    def next_wake_us(self) -> int | None:
        """When to call ``wake``; None: no need."""
        due = (self._due_us, self._timer_us, self._check_us)
        return min((at_us for at_us in due if at_us is not None), default=None)

    @property
    def seen(self) -> bytes:
        """The first that came over the cable."""
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
        """Let the dialogue go on with *answer*."""
        assert self._dialogue is not None
        self._ask, self._due_us = None, None
        try:
            self._ask = self._dialogue.send(answer)
        except StopIteration as end:
            self._dialogue = None
            actions = [] if end.value is None else self._told([end.value])
            return actions if self._state is _State.FAILED else actions + self._next()
        self._tries_left = self._ask.tries
        return self._try_again()

    def _try_again(self) -> list[Action]:
        """Write the request once more, or let the dialogue know that nobody answers."""
        assert self._ask is not None
        if self._tries_left == 0:
            return self._resume(None)
        self._tries_left -= 1
        self._due_us = self._now_us + self._ask.wait_us
        return [Write(self._ask.request)] if self._ask.request else []

    def _told(self, actions: list[Action]) -> list[Action]:
        """Note what *actions* mean to the session itself."""
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
        """The device has just started: what it was told before is forgotten."""
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
        """How long *packet* is on the air, by our clock."""
        return round(airtime_us(lora, self.air_bytes(len(packet))) / self._time_scale)

    def _unreported(self, outcome: Outcome = Outcome.SENT) -> Done | Failed:
        """A packet was not reported as sent. That alone does not say that it was not."""
        self._late += 1
        if self._late >= limits.LATE_MAX:
            return Failed(what="the radio takes packets but does not send them")
        return Done(outcome)

    def _sent(self) -> Done:
        self._late = 0
        return Done(Outcome.SENT)
