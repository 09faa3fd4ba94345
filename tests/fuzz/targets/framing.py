"""Frames on cables and in datagrams, and what radios of every kind say in them."""

from collections.abc import Iterable

from firmware_bridge.firmware import kiss as board_kiss
from firmware_bridge.firmware.limits import FRAME_MAX
from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial import identify, kiss, meshcore, meshtastic, protobuf, rnode
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from tinyssb_node.faces.ether_protocol import parse_from_client, parse_from_ether
from tinyssb_node.faces.frames import parse_bare, parse_crc_frame, serialize_crc_frame


def run(data: bytes) -> None:
    parse_bare(data)
    parse_crc_frame(data)
    if isinstance(parse_bare(data), bytes):
        assert parse_crc_frame(serialize_crc_frame(data)) == data
    parse_from_client(data)
    parse_from_ether(data)
    identify.guess(data, identify.GREETINGS[0])
    identify.identify(data)
    frames = [frame for frame in KissFrameReader().feed(data) if isinstance(frame, bytes)]
    board_kiss.KissReader().feed(data)
    for frame in (*frames, *([data] if data else [])):
        if len(frame) <= FRAME_MAX:
            assert KissFrameReader().feed(serialize_frame(frame)) == [frame]
        kiss.parse_message(frame)
        rnode.parse_message(frame)
        meshcore.parse_message(frame)
    _signal_report(data[:3])
    _companions(data)


def _signal_report(body: bytes) -> None:
    session = kiss.KissSession(LoraSettings(), 14)
    session.start(0)
    report = bytes([board_kiss.HARDWARE, board_kiss.RX_META]) + body
    session.receive(serialize_frame(b"\x00packet") + serialize_frame(report), 1)


def _companions(data: bytes) -> None:
    for start in (meshcore.TO_COMPANION, meshcore.FROM_COMPANION):
        for message in meshcore.frame_reader(start).feed(data):
            meshcore.parse_message(message)
    for message in (data, *meshtastic.frame_reader().feed(data)):
        meshtastic.parse_from_radio(message)


def seeds() -> Iterable[bytes]:
    packet = bytes(range(60))
    yield serialize_crc_frame(packet)
    yield serialize_frame(b"\x00" + packet)
    yield from identify.GREETINGS
    yield meshcore.serialize_frame(meshcore.FROM_COMPANION, bytes([meshcore.Reply.SELF_INFO]) + bytes(60))
    yield meshtastic.serialize_frame(protobuf.serialize_fields([(1, 7), (2, packet)]))
    yield b'{"t":"heal"}'
    # Found: a tag that is no UTF-8.
    yield b'{"t":"he\xf7al"}'
