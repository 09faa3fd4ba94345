"""Attacks on faces of radios: a modelled channel, radios on cables, a LoRa chip, Bluetooth."""

import asyncio
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, Final

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import protobuf
from tests.emulated.meshcore import MeshcoreCompanion
from tests.emulated.serial_air import Air, Device
from tests.emulated.serial_pty import Plug
from tests.faces.serial_rig import KINDS
from tests.firmware_bridge.ble.fake_bluez import FakeBoard, FakePhone, RefusedError, fake_bluez
from tests.firmware_bridge.ble.private_bus import private_bus
from tests.torture.hostile_face import HOST, HostileFace
from tests.torture.hostile_peer import Stage, until
from tests.torture.kills import free_port
from tinyssb_node.faces.ether_protocol import (
    EtherBusy,
    EtherFrame,
    EtherSend,
    EtherSent,
    parse_from_client,
    serialize_message,
    welcome,
)
from tinyssb_node.faces.frames import serialize_crc_frame

BACKLOG_MAX: Final = 16_384
"""Bytes for the host that may wait in a cable."""
WAITING_MAX: Final = 64
"""Packets that may wait in a device until the host asks for them."""
PHONES: Final = 6
"""Phones at a time."""
CHANNEL: Final = b"tinySSB"
"""The channel's name on Meshtastic and MeshCore."""


class EtherFace(HostileFace):
    """A modelled channel whose server floods its client."""

    name = "ether"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.specs = (f"ether:{HOST}:{self.port}?name=ana",)

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""

        async def client(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            answering = asyncio.create_task(_answer_ether(reader, writer))
            try:
                await stage.begin()
                await _flood_ether(stage, self, writer)
            finally:
                answering.cancel()

        server = await asyncio.start_server(client, HOST, self.port)
        async with server:
            await stage.begin()
            await stage.run()


async def _answer_ether(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    settings = LoraSettings(frequency_hz=868_300_000, bandwidth_hz=250_000, spreading_factor=7, coding_rate=5)
    await reader.readline()
    writer.write(serialize_message(welcome(settings, 1.0)))
    while line := await reader.readline():
        if isinstance(sent := parse_from_client(line), EtherSend):
            writer.write(serialize_message(EtherSent(id=sent.id)))


async def _flood_ether(stage: Stage, face: HostileFace, writer: asyncio.StreamWriter) -> None:
    chance = random.Random(stage.seed)
    for packet in face.traffic(stage).packets():
        frame = EtherFrame(packet=packet.hex(), rssi_dbm=-90, snr_db=5.0)
        line = serialize_message(frame)
        if chance.random() < 0.05:
            line = chance.choice((b"{}\n", b"junk\n", serialize_message(EtherBusy(id=chance.randrange(99)))))
        writer.write(line)
        stage.count()
        try:
            await writer.drain()
        except ConnectionError:
            return


class SerialFace(HostileFace):
    """A radio on a cable that delivers frames as fast as the cable takes them, and noise."""

    kind: ClassVar[str]

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.device = folder / "radio"
        scheme, options, _ = KINDS[self.kind]
        self.specs = (f"{scheme}:{self.device}?{options}",)

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        device = KINDS[self.kind][2](Air(), 1)
        plug = Plug(device, link=self.device)
        await stage.begin()
        await stage.run(self._flood(stage, plug, device))

    async def _flood(self, stage: Stage, plug: Plug, device: Device) -> None:
        chance = random.Random(stage.seed)
        for packet in self.traffic(stage).packets():
            await until(lambda: plug.backlog < BACKLOG_MAX and self.waiting(device) < WAITING_MAX, 0.001)
            if chance.random() < 0.1:
                plug.write(chance.randbytes(200))
            else:
                device.heard(self.frame_of(packet))
            stage.count()
            await asyncio.sleep(0)

    def waiting(self, device: Device) -> int:
        """Return how many packets wait in *device* until the host asks for them."""
        del device
        return 0

    def frame_of(self, packet: bytes) -> bytes:
        """Return the frame in which a radio of the kind carries *packet*."""
        return serialize_crc_frame(packet)


class KissFace(SerialFace):
    """A KISS modem."""

    name = kind = "kiss"


class RnodeFace(SerialFace):
    """An RNode."""

    name = kind = "rnode"

    def frame_of(self, packet: bytes) -> bytes:
        """See SerialFace."""
        return b"\xa0" + packet


class MeshtasticFace(SerialFace):
    """A Meshtastic device."""

    name = kind = "meshtastic"

    def frame_of(self, packet: bytes) -> bytes:
        """See SerialFace."""
        inner = protobuf.serialize_fields([(1, 256), (2, packet), (9, 0)])
        return packet[:8].ljust(8, b"\0") + bytes([len(CHANNEL)]) + CHANNEL + inner


class MeshcoreFace(SerialFace):
    """A MeshCore companion."""

    name = kind = "meshcore"

    def waiting(self, device: Device) -> int:
        """See SerialFace."""
        assert isinstance(device, MeshcoreCompanion)
        return len(device.waiting)

    def frame_of(self, packet: bytes) -> bytes:
        """See SerialFace."""
        return bytes([len(CHANNEL)]) + CHANNEL + bytes([len(packet)]) + b"\x58\xff" + packet


class LoraFace(HostileFace):
    """An emulated LoRa chip, and a station that fills its channel: within the daemon's process, since chips of one
    process share an ether."""

    name = "lora"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.specs = ("lora:dragino-lora-gps-hat?region=EU868&plan=EU868.a&emulated=on",)
        self.begin, self.sent = folder / "begin", folder / "sent"
        arguments = (str(self.home), str(self.begin), str(self.sent))
        code = "import sys; from tests.torture.hostile_lora import main; sys.exit(main())"
        self.program = [sys.executable, "-c", code, *arguments]

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        await stage.begin()
        self.sent.touch()
        self.begin.touch()
        await stage.run(self._count(stage))

    async def _count(self, stage: Stage) -> None:
        counted = 0
        while True:
            while counted < self.sent.stat().st_size:
                counted += 1
                stage.count()
            await asyncio.sleep(0.1)


class BluetoothFace(HostileFace):
    """Phones and a board, below them a BlueZ that is not real."""

    name = "bluetooth"
    specs = ("ble:peripheral", "ble:central?name=boards")

    @contextmanager
    def surroundings(self) -> Iterator[object]:
        """See HostileFace."""
        with private_bus(self.folder) as address:
            self.environ = {"DBUS_SYSTEM_BUS_ADDRESS": address}
            yield address

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        assert self.environ is not None
        async with fake_bluez(self.environ["DBUS_SYSTEM_BUS_ADDRESS"]) as bluez:
            board = FakeBoard(bluez)
            await stage.begin()
            phones = [FakePhone(bluez, f"5C:0A:11:22:33:{number:02X}") for number in range(PHONES)]
            await stage.run(
                *(self._phone(stage, phone, number) for number, phone in enumerate(phones)),
                self._board(stage, board),
            )

    async def _phone(self, stage: Stage, phone: FakePhone, number: int) -> None:
        """Write as fast as it is taken, and read nothing; leave and come back."""
        packets = self.traffic(stage, f"phone {number}").packets()
        while True:
            try:
                async with asyncio.timeout(20.0):
                    await phone.subscribe()
                    for _ in range(2_000):
                        await phone.write(next(packets))
                        stage.count()
            except (RefusedError, TimeoutError, ValueError):
                await asyncio.sleep(0.1)
            if phone.socket is not None:
                phone.leave()
                phone.socket = None

    async def _board(self, stage: Stage, board: FakeBoard) -> None:
        for packet in self.traffic(stage, "board").packets():
            await until(lambda: board.connected)
            board.notify(packet)
            stage.count()
            await asyncio.sleep(0.001)


RADIOS: Final = (EtherFace, KissFace, RnodeFace, MeshtasticFace, MeshcoreFace, LoraFace, BluetoothFace)
"""All faces of radios."""
