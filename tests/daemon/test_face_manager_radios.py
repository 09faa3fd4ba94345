"""A radio that is not what a face needs is told in one sentence, by the log and by `probe`; the other faces go on."""

import asyncio
import errno
from collections.abc import Callable
from pathlib import Path

import pytest
import serialx
import structlog

from firmware_bridge.boards import BoardProfile, load_board
from firmware_bridge.drivers.errors import access_denied, bus_missing
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.drivers.probe import probe
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.loop import shared_ether
from firmware_bridge.emulation.sx127x import EmulatedSx127x
from firmware_bridge.serial import limits as serial_limits
from tests.emulated.kiss import KissModem
from tests.emulated.meshcore import MeshcoreCompanion
from tests.emulated.meshtastic import MeshtasticDevice
from tests.emulated.rnode import Rnode
from tests.emulated.serial_air import Air, Device
from tests.faces.recording_sink import PATIENCE_S, RecordingSink
from tests.faces.serial_rig import plugged, spec_text
from tests.faces.test_serial import Impostor
from tinyssb_node.daemon.face_manager import FaceManager
from tinyssb_node.faces import lora

pytestmark = pytest.mark.realtime

GOOD = "lora:meshadv-mini?region=EU868&plan=EU868.a&emulated=on&name=good"
BAD_BOARD = "dragino-lora-gps-hat"
GPS = b"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4*6A\r\n"


async def told(bad: str) -> str:
    """Return the log's words on *bad*, once a good face beside it is up."""
    said, spoken = list[str](), asyncio.Event()

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        said.append(str(line["error"]))
        spoken.set()
        raise structlog.DropEvent

    sink = RecordingSink()
    links = FaceManager([bad, GOOD], sink, structlog.wrap_logger(None, processors=[keep]))
    running = asyncio.create_task(links.run())
    try:
        async with asyncio.timeout(PATIENCE_S):
            await spoken.wait()
        await sink.until(lambda: bool(sink.faces))
        assert sink.face().name == "good"
        assert [row.problem for row in links.rows()] == [said[0], None]
    finally:
        running.cancel()
        await asyncio.wait([running])
    (sentence,) = said
    assert sentence.startswith(f"The face '{bad}' cannot be opened: ")
    return sentence


@pytest.fixture(autouse=True)
def _impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for answers as long as an emulated device takes."""
    monkeypatch.setattr(serial_limits, "ANSWER_US", 20_000)
    monkeypatch.setattr(serial_limits, "HELLO_TRIES", 2)


# --- on cables


@pytest.mark.parametrize(
    ("kind", "make", "words"),
    [
        ("kiss", lambda: Impostor(GPS), ["it is a GPS receiver", "Give the port that the radio is at"]),
        ("rnode", lambda: Impostor(b""), ["nothing there answers as an RNode", "has power"]),
        ("meshcore", lambda: Impostor(b"", echoes=True), ["echoes what it is sent"]),
        ("rnode", lambda: Rnode(Air(), version=(1, 20)), ["firmware 1.20 is too old", "rnodeconf"]),
        ("meshcore", lambda: MeshcoreCompanion(Air(), version=3), ["too old", "1.15 or later"]),
        ("kiss", lambda: KissModem(Air(), extended=False), ["cannot set the sync word 0x58", "Flash"]),
        ("meshtastic", lambda: MeshtasticDevice(Air(), 7, channels=("",)), ["no channel named", "--ch-add"]),
    ],
)
async def test_something_else_at_the_port(kind: str, make: Callable[[], Device], words: list[str]) -> None:
    with plugged(make()) as plug:
        sentence = await told(spec_text(kind, plug.path))
    assert [word for word in words if word not in sentence] == []


async def test_a_port_that_is_not_there() -> None:
    sentence = await told(spec_text("kiss", "/dev/nowhere"))
    assert "there is no /dev/nowhere. Plug the radio in" in sentence


async def test_a_port_that_this_user_may_not_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(path: str, **_options: object) -> None:
        raise PermissionError(errno.EACCES, "Permission denied", path)

    monkeypatch.setattr(serialx, "open_serial_connection", refuse)
    port = tmp_path / "ttyUSB0"
    port.touch()
    sentence = await told(spec_text("kiss", str(port)))
    assert f"this user may not open {port}. Type: sudo usermod -aG dialout" in sentence


# --- on the header


def missing(profile: BoardProfile) -> Hardware:
    raise bus_missing(profile.bus.device, profile.config_txt)


def forbidden(profile: BoardProfile) -> Hardware:
    raise access_denied(profile.bus.device, "spi")


def no_board(profile: BoardProfile) -> Hardware:
    board = EmulatedBoard(profile, shared_ether(), "nobody")
    board.stuck_at = 0x00
    return board.open()


def another_chip(profile: BoardProfile) -> Hardware:
    board = EmulatedBoard(profile, shared_ether(), "older")
    board.chip = EmulatedSx127x(shared_ether(), "older", version=0x22)
    return board.open()


@pytest.mark.parametrize(
    ("opener", "words"),
    [
        (missing, ["/dev/spidev0.0 does not exist", "/boot/firmware/config.txt"]),
        (forbidden, ["this user may not open it", "usermod -aG spi"]),
        (no_board, ["No SX1276 answers: every bit reads 0", "Push the board fully onto the header"]),
        (another_chip, ["its RegVersion is 0x22, not 0x12", "Name the board that is there"]),
    ],
)
async def test_something_else_on_the_header(
    opener: Callable[[BoardProfile], Hardware], words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lora, "open_linux", opener)
    sentence = await told(f"lora:{BAD_BOARD}?region=EU868&plan=EU868.a")
    assert [word for word in words if word not in sentence] == []
    found = [finding for finding in probe(load_board(BAD_BOARD), opener) if not finding.ok]
    assert f"{found[0].found}. {found[0].advice}" in sentence, "probe and log say the same"
