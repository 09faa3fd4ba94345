"""The ether: a modelled LoRa channel in real time, for several daemons on one machine (docs/formats/ether.md)."""

import asyncio
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from tinyssb_node import limits
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.faces.errors import EtherUnreachableError
from tinyssb_node.faces.ether_protocol import (
    Command,
    EtherBusy,
    EtherCut,
    EtherFrame,
    EtherGetStatus,
    EtherHeal,
    EtherHello,
    EtherNodeStatus,
    EtherPlug,
    EtherRefused,
    EtherSend,
    EtherSent,
    EtherSetLink,
    EtherSetLoss,
    EtherStatus,
    EtherUnplug,
    EtherWelcome,
    parse_from_client,
    parse_from_ether,
    serialize_message,
    welcome,
)
from tinyssb_node.faces.lines import read_line
from tinyssb_node.sim.links import ChannelRandomSource, LinkQuality
from tinyssb_node.sim.medium import LossReason, MediumOptions, SimulatedMedium, TransmissionOutcome


@dataclass(frozen=True, slots=True, kw_only=True)
class EtherConfig:
    """The start settings of an ether."""

    host: str = "127.0.0.1"
    """Address to listen on."""
    port: int = limits.ETHER_PORT
    """TCP port; 0 takes any free one."""
    medium: MediumOptions = field(default_factory=MediumOptions)
    """The channel's settings."""
    positions_m: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """Positions of nodes, in metres; nodes without one hear each other by ``medium.default_rssi_dbm``."""
    links: Mapping[tuple[str, str], LinkQuality] = field(default_factory=dict)
    """Pairs of nodes of which it is known how they hear each other."""
    time_scale: float = 1.0
    """Modelled seconds in a second, above 0 and up to ETHER_TIME_SCALE_MAX. Raises ValueError for others."""

    def __post_init__(self) -> None:
        if not 0 < self.time_scale <= limits.ETHER_TIME_SCALE_MAX:
            raise ValueError(
                f"time_scale is {self.time_scale}; possible: above 0, up to {limits.ETHER_TIME_SCALE_MAX}"
            )


@dataclass(slots=True)
class _Node:
    """A node that is or was connected."""

    name: str
    writer: asyncio.StreamWriter | None = None
    queue: asyncio.Queue[EtherSend] = field(default_factory=lambda: asyncio.Queue(limits.ETHER_QUEUE))
    sent: int = 0
    airtime_us: int = 0
    heard: int = 0
    collided: int = 0
    lost: int = 0

    def send_line(self, message: EtherFrame | EtherSent | EtherBusy) -> None:
        """Send a line, unless the node reads too slowly: then it misses it, as it would on air."""
        if (
            self.writer is not None
            and self.writer.transport.get_write_buffer_size() < limits.ETHER_WRITE_BUFFER
        ):
            self.writer.write(serialize_message(message))

    def status(self) -> EtherNodeStatus:
        return EtherNodeStatus(
            name=self.name,
            connected=self.writer is not None,
            sent=self.sent,
            airtime_us=self.airtime_us,
            heard=self.heard,
            collided=self.collided,
            lost=self.lost,
        )


class Ether:
    """The channel, its nodes, and its connections."""

    def __init__(self, config: EtherConfig, entropy: ChannelRandomSource) -> None:
        self._config = config
        self._entropy = entropy
        self._medium = SimulatedMedium(config.medium, entropy)
        for (left, right), link in config.links.items():
            self._medium.set_link(left, right, link)
        self._nodes: dict[str, _Node] = {}
        self._unplugged: set[str] = set()
        self._connections: set[asyncio.Task[None]] = set()
        self._clock = asyncio.get_running_loop().time
        self._begun_s = self._clock()

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Begin to serve a new connection, if there is room for it."""
        if len(self._connections) >= limits.ETHER_NODES_MAX + limits.ETHER_CONTROLS_MAX:
            writer.transport.abort()
            return
        connection = asyncio.create_task(self._serve(reader, writer))
        self._connections.add(connection)
        connection.add_done_callback(self._connections.discard)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            refused = await self._converse(reader, writer)
            if refused is not None:
                await _tell(writer, refused)
        finally:
            writer.close()

    async def close(self) -> None:
        """End all connections."""
        for connection in self._connections:
            connection.cancel()
        if self._connections:
            await asyncio.wait(self._connections)

    async def _converse(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> EtherRefused | None:
        try:
            async with asyncio.timeout(limits.ETHER_HELLO_S):
                line = await read_line(reader)
        except TimeoutError:
            return EtherRefused(reason="no hello came")
        hello = None if line is None else parse_from_client(line)
        if not isinstance(hello, EtherHello):
            return EtherRefused(reason="the first line must be a hello")
        if hello.version != limits.ETHER_VERSION:
            return EtherRefused(
                reason=f"this ether speaks version {limits.ETHER_VERSION}, not {hello.version}"
            )
        if hello.name is None:
            return await self._take_commands(reader, writer)
        return await self._host(hello.name, reader, writer)

    async def _take_commands(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> EtherRefused | None:
        await _tell(writer, welcome(self._config.medium.lora, self._config.time_scale))
        while (line := await read_line(reader)) is not None:
            command = parse_from_client(line)
            if command is None or isinstance(command, EtherHello | EtherSend):
                return EtherRefused(reason="that is no command, or a name or number in it is out of bounds")
            if not await _tell(writer, self._obey(command)):
                break
        return None

    def _obey(self, command: Command) -> EtherStatus | EtherRefused:
        try:
            match command:
                case EtherCut(left=left, right=right):
                    self._medium.cut(left, right)
                case EtherHeal():
                    self._medium.heal()
                case EtherUnplug(name=name):
                    self._unplug(name)
                case EtherPlug(name=name):
                    self._unplugged.discard(name)
                case EtherSetLink(left=one, right=other, rssi_dbm=rssi_dbm, loss=loss):
                    self._medium.set_link(one, other, LinkQuality(rssi_dbm, loss))
                case EtherSetLoss(loss=loss):
                    self._medium.set_default_loss(loss)
                case EtherGetStatus():
                    pass
        except ValueError as error:
            return EtherRefused(reason=str(error))
        return self._status()

    def _unplug(self, name: str) -> None:
        """End the connection of a node. Raises ValueError for a name that is not here."""
        node = self._nodes.get(name)
        if node is None:
            raise ValueError(f"no node named '{name}' was ever here")
        self._unplugged.add(name)
        if node.writer is not None:
            node.writer.transport.abort()

    def _status(self) -> EtherStatus:
        return EtherStatus(
            nodes=tuple(node.status() for _, node in sorted(self._nodes.items())),
            cuts=tuple((tuple(sorted(left)), tuple(sorted(right))) for left, right in self._medium.cuts),
            time_us=self._now_us(),
        )

    async def _host(
        self, name: str, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> EtherRefused | None:
        """Have a node on the channel while it is connected."""
        node = self._arrive(name, writer)
        if isinstance(node, EtherRefused):
            return node
        writer.write(serialize_message(welcome(self._config.medium.lora, self._config.time_scale)))
        try:
            async with asyncio.TaskGroup() as group:
                sending = group.create_task(self._send_all(node))
                refused = await _queue_sends(node, reader)
                sending.cancel()
            return refused
        finally:
            self._medium.remove_node(name)
            node.writer = None
            node.queue = asyncio.Queue(limits.ETHER_QUEUE)

    def _arrive(self, name: str, writer: asyncio.StreamWriter) -> _Node | EtherRefused:
        node = self._nodes.get(name)
        if node is not None and node.writer is not None:
            return EtherRefused(reason=f"a node named '{name}' is here already; choose another name")
        if name in self._unplugged:
            return EtherRefused(reason=f"the radio of '{name}' is unplugged")
        try:
            self._medium.add_node(name, self._config.positions_m.get(name))
        except ValueError as error:
            return EtherRefused(reason=str(error))
        if node is None:
            self._forget_one_if_full()
            node = self._nodes[name] = _Node(name)
        node.writer = writer
        return node

    def _forget_one_if_full(self) -> None:
        """Make room in the statistics: of the nodes that left, the first that ever came is forgotten."""
        if len(self._nodes) >= limits.ETHER_NODES_MAX:
            gone = next(name for name, node in self._nodes.items() if node.writer is None)
            del self._nodes[gone]

    async def _send_all(self, node: _Node) -> None:
        while True:
            message = await node.queue.get()
            if self._medium.is_busy(node.name, self._now_us()):
                node.send_line(EtherBusy(id=message.id))
                continue
            packet_size = len(message.packet) // 2
            begin_us = self._now_us()
            end_us = self._medium.begin_send(node.name, packet_size + limits.CRC_SIZE, begin_us)
            await asyncio.sleep((end_us - self._now_us()) / self._config.time_scale / 1_000_000)
            node.sent += 1
            node.airtime_us += end_us - begin_us
            self._deliver(message.packet, self._medium.end_send(node.name))
            node.send_line(EtherSent(id=message.id))

    def _deliver(self, packet: str, outcome: TransmissionOutcome) -> None:
        for delivery in outcome.deliveries:
            receiver = self._nodes[delivery.receiver]
            receiver.heard += 1
            receiver.send_line(EtherFrame(packet=packet, rssi_dbm=delivery.rssi_dbm, snr_db=delivery.snr_db))
        for name, miss in outcome.misses:
            if miss in (LossReason.COLLISION, LossReason.DEAF):
                self._nodes[name].collided += 1
            else:
                self._nodes[name].lost += 1

    def _now_us(self) -> int:
        """Modelled microseconds since the ether began."""
        return int((self._clock() - self._begun_s) * self._config.time_scale * 1_000_000)


async def _queue_sends(node: _Node, reader: asyncio.StreamReader) -> EtherRefused | None:
    """Send the packets of *node*, as fast as the channel does, until it leaves."""
    while (line := await read_line(reader)) is not None:
        message = parse_from_client(line)
        if not isinstance(message, EtherSend):
            return EtherRefused(reason="a node may only send")
        await node.queue.put(message)
    return None


async def _tell(writer: asyncio.StreamWriter, message: EtherWelcome | EtherRefused | EtherStatus) -> bool:
    """Send a line and wait until it is on its way. Return False if the connection is gone."""
    try:
        writer.write(serialize_message(message))
        await writer.drain()
    except OSError:
        return False
    return True


async def serve_ether(
    config: EtherConfig,
    *,
    entropy: ChannelRandomSource | None = None,
    ready: Callable[[int], None] | None = None,
) -> None:
    """Run an ether until cancelled; *ready* is called with its port once nodes can come.

    Raises LocalError if the address cannot be listened on.
    """
    ether = Ether(config, entropy if entropy is not None else random.SystemRandom())
    try:
        server = await asyncio.start_server(
            ether.accept, config.host, config.port, limit=limits.ETHER_LINE_MAX
        )
    except OSError as error:
        raise LocalError(
            f"The ether cannot listen at {config.host} port {config.port} ({error.strerror or str(error)})."
            " Choose another port, or stop the program that uses this one.",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error
    if ready is not None:
        ready(server.sockets[0].getsockname()[1])
    try:
        await asyncio.get_running_loop().create_future()
    finally:
        server.close()
        await ether.close()
        await server.wait_closed()


async def ether_command(host: str, port: int, command: Command) -> EtherStatus:
    """Have an ether do *command* and return how things are then.

    Raises EtherUnreachableError if there is none, LocalError if it will not.
    """
    try:
        async with asyncio.timeout(limits.ETHER_HELLO_S):
            reader, writer = await asyncio.open_connection(host, port, limit=limits.ETHER_STATUS_MAX)
            try:
                writer.write(serialize_message(EtherHello(version=limits.ETHER_VERSION)))
                writer.write(serialize_message(command))
                return await _await_status(host, port, reader)
            finally:
                writer.close()
    except OSError as error:
        raise EtherUnreachableError(host, port, error.strerror or "it does not answer") from error


async def _await_status(host: str, port: int, reader: asyncio.StreamReader) -> EtherStatus:
    while (line := await read_line(reader)) is not None:
        match parse_from_ether(line):
            case EtherStatus() as status:
                return status
            case EtherRefused(reason=reason):
                raise LocalError(f"The ether refuses: {reason}", exit_code=ExitCode.DATA)
            case EtherWelcome():
                continue
            case _:
                break
    raise EtherUnreachableError(host, port, "what answers there is no ether")
