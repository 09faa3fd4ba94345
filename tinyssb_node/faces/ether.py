"""A face on an ether: the modelled LoRa channel that another process runs (docs/formats/ether.md)."""

import asyncio
import random
from dataclasses import dataclass
from itertools import count

from firmware_bridge.plans import RadioPlan
from tinyssb_node import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.ether_protocol import (
    EtherBusy,
    EtherFrame,
    EtherHello,
    EtherRefused,
    EtherSend,
    EtherSent,
    EtherWelcome,
    parse_from_ether,
    serialize_message,
)
from tinyssb_node.faces.ether_spec import EtherSpec
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.lines import read_line
from tinyssb_node.faces.radio import fit, radio_profile
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import LinkProfile, Reception


@dataclass(frozen=True, slots=True)
class _Connection:
    """A connection on which the ether sent WELCOME."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    profile: LinkProfile


@dataclass(frozen=True, slots=True)
class _Unfit:
    """An ether on which we may not, or should not, send."""

    reason: str


class EtherFace:
    """A node's connection to the ether."""

    def __init__(self, name: FaceName, connection: _Connection) -> None:
        self.name = name
        self.profile = connection.profile
        self._reader = connection.reader
        self._writer = connection.writer
        self._numbers = count(1)
        self._waiting: dict[int, asyncio.Future[bool]] = {}

    async def send(self, packets: list[bytes]) -> int:
        """See Face. Returns when the airtime of the last is over, or one may not be sent. Raises ConnectionError."""
        for count_sent, packet in enumerate(packets):
            if not await self._send_one(packet):
                return count_sent
        return len(packets)

    async def _send_one(self, packet: bytes) -> bool:
        """Send one packet. Return False if another node is on the air."""
        if self._writer.is_closing():
            raise ConnectionResetError("the ether is gone")
        number = next(self._numbers)
        over: asyncio.Future[bool] = asyncio.get_running_loop().create_future()
        self._waiting[number] = over
        try:
            self._writer.write(serialize_message(EtherSend(id=number, packet=packet.hex())))
            return await over
        finally:
            del self._waiting[number]

    async def serve(self, sink: FaceSink, spec: str) -> str:
        """Run until the ether is gone, and pass received packets to *sink*. Returns the reason of the end."""
        reason = "this node closed it"
        sink.up(self, spec)
        try:
            while (line := await read_line(self._reader)) is not None:
                self._take(line, sink)
            reason = "the ether is gone"
        finally:
            self._writer.transport.abort()
            for over in self._waiting.values():
                if not over.done():
                    over.set_exception(ConnectionResetError("the ether is gone"))
            sink.down(self.name, reason)
        return reason

    def _take(self, line: bytes, sink: FaceSink) -> None:
        match parse_from_ether(line):
            case EtherFrame() as heard:
                packet = bytes.fromhex(heard.packet)
                sink.frame(
                    self.name,
                    packet,
                    Reception(
                        rssi_dbm=heard.rssi_dbm,
                        snr_db=heard.snr_db,
                        airtime_us=self.profile.airtime_us[len(packet)],
                    ),
                )
            case EtherSent() | EtherBusy() as told:
                over = self._waiting.get(told.id)
                if over is not None and not over.done():
                    over.set_result(isinstance(told, EtherSent))
            case _:
                sink.junk(self.name, "not understood", len(line))


class EtherEndpoint:
    """An endpoint that keeps one face, ``ether:NAME``, up."""

    def __init__(self, text: str, spec: EtherSpec, backoff: Backoff | None = None) -> None:
        self.spec = text
        self.problem: str | None = None
        self._ether = spec
        self._backoff = backoff or Backoff(random.random)

    async def run(self, sink: FaceSink) -> None:
        """Connect, and connect again whenever the ether is lost, until cancelled.

        Raises FaceOpenError if the first ether found refuses us; one that refuses later may change its mind.
        """
        clock = asyncio.get_running_loop().time
        welcomed = False
        while True:
            answer = await self._connect()
            if isinstance(answer, _Connection):
                welcomed = True
                begun_s = clock()
                self.problem = None
                self.problem = await EtherFace(self._ether.face_name, answer).serve(sink, self.spec)
                self._backoff.link_was_up(clock() - begun_s)
            elif isinstance(answer, EtherRefused | _Unfit):
                told = "the ether refuses it: " if isinstance(answer, EtherRefused) else ""
                self.problem = told + answer.reason
                if not welcomed:
                    raise FaceOpenError(self.spec, self.problem, "Change the spec string.")
            else:
                self.problem = answer
            await asyncio.sleep(self._backoff.next_s())

    async def _connect(self) -> _Connection | EtherRefused | _Unfit | str:
        """Try to connect once. A string gives the reason of a failure."""
        place = f"{self._ether.host} port {self._ether.port}"
        answer: _Connection | EtherRefused | _Unfit | None = None
        try:
            async with asyncio.timeout(limits.ETHER_HELLO_S):
                reader, writer = await asyncio.open_connection(
                    self._ether.host, self._ether.port, limit=limits.ETHER_STATUS_MAX
                )
                try:
                    answer = await self._greet(reader, writer)
                finally:
                    if not isinstance(answer, _Connection):
                        writer.transport.abort()
        except OSError as error:
            return f"no ether answers at {place}: {error.strerror or 'too slow'}"
        return answer or f"what answers at {place} is no ether, or of another version"

    async def _greet(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> _Connection | EtherRefused | _Unfit | None:
        writer.write(serialize_message(EtherHello(version=limits.ETHER_VERSION, name=self._ether.name)))
        line = await read_line(reader)
        answer = None if line is None else parse_from_ether(line)
        if isinstance(answer, EtherRefused):
            return answer
        if not isinstance(answer, EtherWelcome) or answer.version != limits.ETHER_VERSION:
            return None
        try:
            plan = self._plan(answer)
            if isinstance(plan, _Unfit):
                return plan
            profile = radio_profile(
                answer.lora(),
                lambda length: length + limits.CRC_SIZE,
                plan,
                time_scale=answer.time_scale,
                pongs=self._ether.radio is not None and self._ether.radio.pongs,
            )
        except ValueError:
            return None
        return _Connection(reader, writer, profile)

    def _plan(self, answer: EtherWelcome) -> RadioPlan | _Unfit | None:
        """Return the plan that the law allows on this ether; None without a region. Raises ValueError as ``lora``
        does."""
        radio = self._ether.radio
        if radio is None:
            return None
        plan = fit(radio, answer.lora())
        return _Unfit(plan) if isinstance(plan, str) else plan
