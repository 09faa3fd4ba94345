"""Faces on radios at the end of a serial cable. firmware_bridge.serial has the protocols."""

import asyncio
import random
from collections.abc import Callable, Iterable
from contextlib import suppress

from firmware_bridge.serial.identify import guess
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
from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.frames import FrameFault
from tinyssb_node.faces.serial_kinds import SerialRadioKind, kind_of, profile_of
from tinyssb_node.faces.serial_port import PortFinder, PortProblem, UsbPort, list_usb_ports, open_port
from tinyssb_node.faces.serial_spec import SerialSpec
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import LinkProfile, Reception

UNPLUGGED = "the radio was unplugged"
"""Reason of a face that went down because its port is gone."""
CLOSED = "this node closed it"
"""Reason of a face that we closed."""
NO_ANSWER_REMEDY = "See that the radio has power and the firmware that the face is for."
"""Advice about a port that does not answer."""


class SerialFace:
    """A radio at an open port: a face from the moment on that it is ready."""

    def __init__(
        self,
        text: str,
        spec: SerialSpec,
        port: tuple[asyncio.StreamReader, asyncio.StreamWriter],
        sink: FaceSink,
        on_ready: Callable[[], None],
        entropy: Callable[[], float],
        time_scale: float,
    ) -> None:
        self.name: FaceName = spec.face_name
        self._text = text
        self._spec = spec
        self._kind: SerialRadioKind = kind_of(spec, entropy)
        self._conversation: AnySession = self._kind.converse()
        self._reader, self._writer = port
        self._sink = sink
        self._on_ready = on_ready
        self._scale = time_scale
        self._loop = asyncio.get_running_loop()
        self._profile: LinkProfile | None = None
        self._failed: Failed | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Future[Outcome] | None = None
        self._asked = b""
        self._has_room = True

    @property
    def profile(self) -> LinkProfile:
        """See Face."""
        assert self._profile is not None, "asked for before it was up"
        return self._profile

    async def send(self, packets: list[bytes]) -> int:
        """See Face. Returns when the radio has sent the last, or keeps one. Raises ConnectionResetError."""
        for count, packet in enumerate(packets):
            if self._failed is not None:
                raise ConnectionResetError(self._failed.what)
            self._sending = self._loop.create_future()
            self._perform(self._conversation.send(self._kind.frame(packet), self._now_us))
            if await self._sending is Outcome.KEPT:
                return count
        return len(packets)

    async def serve(self) -> Failed:
        """Talk until the port or the radio fails. Returns why it did."""
        reason = CLOSED
        try:
            self._perform(self._conversation.start(self._now_us, self._scale))
            while self._failed is None:
                await self._read()
            reason = self._failed.what
            return self._failed
        finally:
            await self._close(reason)

    async def _read(self) -> None:
        try:
            data = await self._reader.read(limits.SERIAL_READ_SIZE)
        except OSError:
            data = b""
        if not data:
            self._failed = self._failed or Failed(what=UNPLUGGED)
            return
        self._perform(self._conversation.receive(data, self._now_us))
        if not self._has_room:
            await self._sink.room(self.name)
            self._has_room = True

    async def _close(self, reason: str) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self._sending is not None and not self._sending.done():
            self._sending.set_exception(ConnectionResetError(reason))
        if self._profile is not None:
            self._sink.down(self.name, reason)
        self._writer.transport.abort()
        # The port must be free before it is opened again; bytes that could no longer be written do not matter.
        with suppress(OSError):
            await self._writer.wait_closed()

    @property
    def _now_us(self) -> int:
        return round(self._loop.time() * 1e6)

    def _wake(self) -> None:
        self._perform(self._conversation.wake(self._now_us))

    def _perform(self, actions: Iterable[Action]) -> None:
        for action in actions:
            match action:
                case Write(data):
                    self._write(data)
                case Ready():
                    self._go_up(action)
                case Heard():
                    self._hear(action)
                case Done(outcome):
                    if self._sending is not None and not self._sending.done():
                        self._sending.set_result(outcome)
                case Noise(reason, length):
                    if self._profile is not None:
                        self._sink.junk(self.name, reason, length)
                case Failed():
                    self._fail(action)
        self._rearm()

    def _write(self, data: bytes) -> None:
        self._asked = self._asked or data
        try:
            self._writer.write(data)
        except OSError:
            self._fail(Failed(what=UNPLUGGED))

    def _rearm(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        wake_us = self._conversation.next_wake_us
        if wake_us is not None and self._failed is None:
            self._timer = self._loop.call_at(wake_us / 1e6, self._wake)

    def _go_up(self, ready: Ready) -> None:
        profile = profile_of(self._kind, self._conversation, self._spec.radio, ready, self._scale)
        if isinstance(profile, str):
            self._fail(
                Failed(what=f"the radio's settings are not legal: {profile}", remedy="Change its settings.")
            )
            return
        self._profile = profile
        self._on_ready()
        self._sink.up(self, self._text)

    def _hear(self, heard: Heard) -> None:
        if self._profile is None:
            return
        packet = self._kind.parse(heard.packet)
        if isinstance(packet, FrameFault):
            self._sink.junk(self.name, packet, len(heard.packet))
            return
        reception = Reception(
            rssi_dbm=heard.rssi_dbm,
            snr_db=heard.snr_db,
            airtime_us=self._profile.airtime_us[len(packet)],
        )
        if not self._sink.frame(self.name, packet, reception):
            self._has_room = False

    def _fail(self, failed: Failed) -> None:
        if self._failed is not None:
            return
        found = (
            None
            if self._profile is not None or failed.remedy
            else guess(self._conversation.seen, self._asked)
        )
        if found is not None:
            failed = Failed(
                what=f"{failed.what}: it is {found}", remedy="Give the port that the radio is at."
            )
        self._failed = failed
        # Ends the reading.
        self._writer.transport.abort()


class SerialEndpoint:
    """An endpoint that keeps one radio on a cable up, at whatever port it is plugged in."""

    def __init__(
        self,
        text: str,
        spec: SerialSpec,
        entropy: Callable[[], float] = random.random,
        *,
        list_ports: Callable[[], Iterable[UsbPort]] = list_usb_ports,
        time_scale: float = 1.0,
        backoff: Backoff | None = None,
    ) -> None:
        """*list_ports* returns the USB ports. *time_scale*: how many times as fast as the clock the channel runs; 1
        unless the radio is an emulated one."""
        self.spec = text
        self.problem: str | None = None
        self._radio = spec
        self._entropy = entropy
        self._backoff = backoff or Backoff(entropy)
        self._finder = PortFinder(spec.device, list_ports)
        self._scale = time_scale
        self._was_up = False

    async def run(self, sink: FaceSink) -> None:
        """Find the radio, and find it again whenever it is lost, until cancelled.

        Raises FaceOpenError if it is not there at first, or if something else is in its place.
        """
        clock = asyncio.get_running_loop().time
        while True:
            begun_s = clock()
            ended = await self._attempt(sink)
            # A port that comes back may for a moment have no owner, or be open to all: only a wrong path is an error.
            may_come_back = self._was_up and (isinstance(ended, PortProblem) or not ended.remedy)
            if not may_come_back:
                raise FaceOpenError(self.spec, ended.what, ended.remedy or NO_ANSWER_REMEDY)
            self.problem = ended.what
            self._backoff.link_was_up(clock() - begun_s)
            await asyncio.sleep(self._backoff.next_s())

    async def _attempt(self, sink: FaceSink) -> PortProblem | Failed:
        """Open the port and use the radio until it fails. Returns why it did, or why there is none."""
        path = self._finder.find()
        if isinstance(path, PortProblem):
            return path
        port = await open_port(path, self._radio.speed)
        if isinstance(port, PortProblem):
            return port

        def ready() -> None:
            self.problem = None
            self._was_up = True
            self._finder.opened(path)

        return await SerialFace(self.spec, self._radio, port, sink, ready, self._entropy, self._scale).serve()
