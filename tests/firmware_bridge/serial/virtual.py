"""A host's session and emulated devices in virtual time: the clock jumps from one thing that is due to the next."""

from collections.abc import Callable
from typing import TypeVar

from firmware_bridge.serial.session import (
    Action,
    AnySession,
    Done,
    Failed,
    Heard,
    Noise,
    Outcome,
    Ready,
    Write,
)
from tests.emulated.serial_air import Device

Told = TypeVar("Told", Ready, Heard, Done, Noise, Failed)


class Bench:
    """One session, the device on its cable, and others in reach that have no host."""

    def __init__(self, session: AnySession, device: Device | None, *others: Device) -> None:
        self.session = session
        self.device = device
        self.told: list[Ready | Heard | Done | Noise | Failed] = []
        """Reports of the session, in order."""
        self.written: list[bytes] = []
        """The bytes that it wrote."""
        self.now_us = 1_000_000
        self._others = others
        self._inbound: list[bytes] = []
        if device is not None:
            device.write = self.device_says

    def device_says(self, data: bytes) -> None:
        """Let *data* come over the cable after the session's next actions."""
        self._inbound.append(data)

    def plug_in(self) -> None:
        """Open the port and run until it is ready, or fails."""
        self.perform(self.session.start(self.now_us))
        self.run_until(lambda: bool(self.of(Ready) or self.of(Failed)))

    def perform(self, actions: list[Action]) -> None:
        """Do what the session wants."""
        for action in actions:
            if not isinstance(action, Write):
                self.told.append(action)
                continue
            self.written.append(action.data)
            if self.device is not None:
                self.device.receive(action.data, self.now_us)
        while self._inbound:
            self.say(self._inbound.pop(0))

    def say(self, data: bytes) -> None:
        """Let *data* come over the cable."""
        self.perform(self.session.receive(data, self.now_us))

    def send(self, packet: bytes) -> Outcome | None:
        """Send *packet* and run until it is known what became of it; None: the device failed."""
        before = len(self.of(Done))
        self.perform(self.session.send(packet, self.now_us))
        self.run_until(lambda: len(self.of(Done)) > before or bool(self.of(Failed)))
        return self.of(Done)[-1].outcome if len(self.of(Done)) > before else None

    def run_until(self, condition: Callable[[], bool], limit_us: int = 1_000_000_000) -> None:
        """Let time pass until *condition* holds, nothing is due, or it takes too long."""
        end_us = self.now_us + limit_us
        while not condition():
            due = [self.session.next_wake_us, *(device.next_wake_us for device in self._devices())]
            times = [at_us for at_us in due if at_us is not None]
            if not times or min(times) > end_us:
                return
            self._step(max(self.now_us, min(times)))

    def pass_time(self, duration_us: int) -> None:
        """Let so much time pass."""
        end_us = self.now_us + duration_us
        self.run_until(lambda: False, duration_us)
        self.now_us = end_us

    def of(self, kind: type[Told]) -> list[Told]:
        """Return the reports of one kind."""
        return [told for told in self.told if isinstance(told, kind)]

    def _devices(self) -> list[Device]:
        return [device for device in (self.device, *self._others) if device is not None]

    def _step(self, now_us: int) -> None:
        self.now_us = now_us
        for device in self._devices():
            device.wake(now_us)
        wake_us = self.session.next_wake_us
        self.perform(self.session.wake(now_us) if wake_us is not None and wake_us <= now_us else [])
