"""Faces on emulated radios at pseudo-terminals: packets go across, cables are pulled, other things are told apart."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from firmware_bridge.serial import limits as serial_limits
from firmware_bridge.serial.framing import serialize_frame
from firmware_bridge.serial.session import RESTARTED
from tests.emulated.kiss import KissModem
from tests.emulated.meshtastic import SHORT_FAST_EU868, MeshtasticDevice
from tests.emulated.serial_air import RSSI_DBM, SNR_DB, Air, Device
from tests.faces.recording_sink import PATIENCE_S, RecordingSink, running
from tests.faces.serial_rig import KINDS, endpoint, plugged, spec_text
from tinyssb_node import limits
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.frames import FrameFault, serialize_crc_frame
from tinyssb_node.faces.serial import UNPLUGGED, SerialEndpoint
from tinyssb_node.faces.serial_port import UsbPort
from tinyssb_node.scheduling.link import Reception

pytestmark = pytest.mark.realtime

PACKETS = [number.to_bytes(4) * 30 for number in range(40)]


@pytest.fixture
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for answers as long as an emulated device takes."""
    monkeypatch.setattr(serial_limits, "ANSWER_US", 50_000)
    monkeypatch.setattr(serial_limits, "HELLO_TRIES", 2)


@dataclass
class Pair:
    """Two nodes with a radio each."""

    air: Air
    left: RecordingSink
    right: RecordingSink


@asynccontextmanager
async def a_pair(kind: str) -> AsyncIterator[Pair]:
    air = Air()
    make = KINDS[kind][2]
    with plugged(make(air, 1)) as left_plug, plugged(make(air, 2)) as right_plug:
        async with (
            running(endpoint(spec_text(kind, left_plug.path))) as left,
            running(endpoint(spec_text(kind, right_plug.path))) as right,
        ):
            await left.until(lambda: bool(left.faces))
            await right.until(lambda: bool(right.faces))
            yield Pair(air, left, right)


async def refusal(face: SerialEndpoint) -> FaceOpenError:
    """Return the error by which *face* is refused."""
    with pytest.raises(FaceOpenError) as error:
        async with asyncio.timeout(PATIENCE_S):
            await face.run(RecordingSink())
    return error.value


class Impostor(Device):
    """Something else at the port, which says what it says over and over."""

    def __init__(self, says: bytes, *, echoes: bool = False) -> None:
        super().__init__(Air())
        self._says = says
        self._echoes = echoes
        self.set_timer("speak", 0)

    def receive(self, data: bytes, _now_us: int) -> None:
        if self._echoes:
            self.write(data)

    def heard(self, _frame: bytes) -> None:
        raise AssertionError("it has no radio")

    def ring(self, timer: str, now_us: int) -> None:
        self.set_timer(timer, now_us + 1_000_000)
        self.write(self._says)


@pytest.mark.parametrize("kind", KINDS)
async def test_packets_go_across_in_order(kind: str) -> None:
    async with a_pair(kind) as pair:
        for packet in PACKETS:
            assert await pair.left.face().send([packet]) == 1
        await pair.right.until(lambda: len(pair.right.packets) >= len(PACKETS))
        assert pair.right.packets == PACKETS
        assert pair.right.junks == []
        assert pair.left.frames == []


async def test_a_packet_comes_with_its_signal_and_airtime() -> None:
    async with a_pair("kiss") as pair:
        await pair.left.face().send([PACKETS[1]])
        await pair.right.until(lambda: bool(pair.right.frames))
        ((face, _, reception),) = pair.right.frames
        assert face == "kiss"
        airtime_us = pair.right.face().profile.airtime_us[120]
        assert reception == Reception(rssi_dbm=RSSI_DBM, snr_db=SNR_DB, airtime_us=airtime_us)
        # 205.1 ms at SF7 and 125 kHz, a hundred times as quick.
        assert airtime_us == 2_051


async def test_on_the_air_is_what_boards_send() -> None:
    async with a_pair("kiss") as pair:
        await pair.left.face().send([PACKETS[1]])
        assert pair.air.sent == [serialize_crc_frame(PACKETS[1])]


async def test_what_somebody_else_sends_is_junk_if_it_is_no_packet() -> None:
    air = Air()
    stranger = KissModem(air)
    with plugged(KissModem(air)) as plug:
        async with running(endpoint(spec_text("kiss", plug.path))) as sink:
            await sink.until(lambda: bool(sink.faces))
            for frame in (b"short", bytes(120), bytes(200)):
                plug.device.heard(frame)
            await sink.until(lambda: len(sink.junks) == 3)
            assert [reason for _, reason, _ in sink.junks] == [
                FrameFault.TOO_SHORT,
                FrameFault.WRONG_CRC,
                FrameFault.TOO_LONG,
            ]
            assert stranger.air is air


async def test_the_law_of_the_region_is_in_the_profile() -> None:
    async with a_pair("rnode") as pair:
        profile = pair.left.face().profile
        assert profile.allowance is not None
        assert profile.allowance.band.startswith("EU868 868.0-868.6")
        assert profile.window == 1
        assert not profile.answers_pings


async def test_who_asks_for_it_answers_pings() -> None:
    with plugged(KissModem(Air())) as plug:
        async with running(endpoint(spec_text("kiss", plug.path) + "&pongs=on")) as sink:
            await sink.until(lambda: bool(sink.faces))
            assert sink.face().profile.answers_pings


async def test_a_guest_leaves_the_air_to_others() -> None:
    async with a_pair("meshtastic") as pair:
        profile = pair.left.face().profile
        assert profile.gap_us == limits.GUEST_GAP_PACKETS * profile.airtime_us[120]


async def test_who_reads_slowly_is_not_drowned() -> None:
    async with a_pair("kiss") as pair:
        pair.right.accepting.clear()
        for packet in PACKETS[:5]:
            await pair.left.face().send([packet])
        await pair.right.until(lambda: pair.right.rooms > 0)
        pair.right.accepting.set()
        await pair.right.until(lambda: len(pair.right.packets) == 5)
        assert pair.right.packets == PACKETS[:5]


# --- cables


async def test_unplugged_and_plugged_in_again_under_the_same_link(tmp_path: Path) -> None:
    air, link = Air(), tmp_path / "usb-bridge-if00"
    device = KissModem(air)
    with plugged(device, link) as plug:
        face = endpoint(spec_text("kiss", str(link)))
        async with running(face) as sink:
            await sink.until(lambda: bool(sink.faces))
            plug.pull()
            await sink.until(lambda: not sink.faces)
            with plugged(device, link):
                await sink.until(lambda: len(sink.ups) == 2)
                assert face.problem is None
                assert sink.downs == [("kiss", UNPLUGGED)]
                assert await sink.face().send([PACKETS[0]]) == 1


async def test_plugged_in_again_under_another_name() -> None:
    device = KissModem(Air())
    ports: list[UsbPort] = []

    def port(path: str, serial_number: str | None = "E661410403") -> UsbPort:
        return UsbPort(path=path, serial_number=serial_number, vendor_id=0x2E8A, product_id=5, interface=0)

    with plugged(device) as plug:
        ports[:] = [port("/dev/ttyUSB9", "another"), port(plug.path)]
        async with running(endpoint(spec_text("kiss", plug.path), lambda: ports)) as sink:
            await sink.until(lambda: bool(sink.faces))
            plug.pull()
            await sink.until(lambda: not sink.faces)
            # Somebody else gets the name that was free.
            with plugged(Impostor(b"$GPRMC,")) as other, plugged(device) as elsewhere:
                assert other.path == plug.path != elsewhere.path
                ports[:] = [port(other.path, "another"), port(elsewhere.path)]
                await sink.until(lambda: bool(sink.faces))
                assert await sink.face().send([PACKETS[0]]) == 1


async def test_a_cable_pulled_in_the_middle_of_a_packet_ends_the_sending() -> None:
    device = KissModem(Air())
    with plugged(device) as plug:
        async with running(endpoint(spec_text("kiss", plug.path))) as sink:
            await sink.until(lambda: bool(sink.faces))
            sending = asyncio.ensure_future(sink.face().send([PACKETS[0]]))
            await asyncio.sleep(0)
            plug.pull()
            with pytest.raises(ConnectionResetError, match=UNPLUGGED):
                await sending
            assert device.air.is_busy(KissModem(device.air)) is False


async def test_a_cable_lost_while_writing_takes_the_face_down(monkeypatch: pytest.MonkeyPatch) -> None:
    with plugged(KissModem(Air())) as plug:
        async with running(endpoint(spec_text("kiss", plug.path))) as sink:
            await sink.until(lambda: bool(sink.faces))

            def broken_once(_writer: asyncio.StreamWriter, _data: bytes) -> None:
                monkeypatch.undo()
                raise OSError(5, "Input/output error")

            monkeypatch.setattr(asyncio.StreamWriter, "write", broken_once)
            with pytest.raises(ConnectionResetError, match=UNPLUGGED):
                await sink.face().send([PACKETS[0]])
            await sink.until(lambda: len(sink.ups) == 2)


async def test_no_packet_is_half_received_across_a_lost_cable(tmp_path: Path) -> None:
    air, link = Air(), tmp_path / "radio"
    device, other = KissModem(air), KissModem(air)
    frames = [serialize_frame(b"\x00" + serialize_crc_frame(packet)) for packet in PACKETS[:2]]
    with plugged(device, link) as plug:
        async with running(endpoint(spec_text("kiss", str(link)))) as sink:
            await sink.until(lambda: bool(sink.faces))
            plug.write(frames[0][:50])
            plug.pull()
            await sink.until(lambda: not sink.faces)
            with plugged(device, link) as again:
                await sink.until(lambda: bool(sink.faces))
                again.write(frames[0][50:] + frames[1])
                await sink.until(lambda: bool(sink.packets))
                assert sink.packets == [PACKETS[1]]
                assert other.air is air


@pytest.mark.parametrize("kind", ["kiss", "rnode", "meshtastic"])
async def test_a_radio_that_restarts_is_set_up_again(kind: str) -> None:
    device = KINDS[kind][2](Air(), 1)
    with plugged(device) as plug:
        async with running(endpoint(spec_text(kind, plug.path))) as sink:
            await sink.until(lambda: bool(sink.faces))
            settings = device.lora
            plug.reboot()
            await sink.until(lambda: len(sink.ups) == 2)
            assert [reason for _, reason in sink.downs] == [RESTARTED]
            assert device.lora == settings
            assert await sink.face().send([PACKETS[0]]) == 1


async def test_noise_is_counted_and_packets_around_it_come_through() -> None:
    air = Air()
    with plugged(KissModem(air)) as plug:
        async with running(endpoint(spec_text("kiss", plug.path))) as sink:
            await sink.until(lambda: bool(sink.faces))
            plug.device.heard(serialize_crc_frame(PACKETS[0]))
            plug.write(b"\xc0\xfe\xdb\x00noise")
            plug.device.heard(serialize_crc_frame(PACKETS[1]))
            await sink.until(lambda: len(sink.packets) == 2)
            assert sink.packets == PACKETS[:2]
            assert sink.junks == [("kiss", "a broken escape", 8)]


# --- what is not what it should be


@pytest.mark.parametrize("kind", ["kiss", "rnode", "meshtastic", "meshcore"])
async def test_a_gps_receiver_is_named(kind: str, impatience: None) -> None:
    with plugged(Impostor(b"$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4*6A\r\n")) as plug:
        error = await refusal(endpoint(spec_text(kind, plug.path)))
    assert "nothing there answers" in error.what
    assert "it is a GPS receiver (it sends $GPRMC sentences)" in error.what
    assert error.remedy


async def test_a_port_that_echoes_is_named(impatience: None) -> None:
    with plugged(Impostor(b"", echoes=True)) as plug:
        error = await refusal(endpoint(spec_text("kiss", plug.path)))
    assert "echoes" in error.what


async def test_a_port_that_is_silent_is_told(impatience: None) -> None:
    with plugged(Impostor(b"")) as plug:
        error = await refusal(endpoint(spec_text("rnode", plug.path)))
    assert error.what == "nothing there answers as an RNode"
    assert "power" in error.remedy


async def test_a_port_that_is_not_there_is_told() -> None:
    error = await refusal(endpoint(spec_text("kiss", "/dev/serial/by-id/usb-none")))
    assert error.what == "there is no /dev/serial/by-id/usb-none"
    assert "Plug the radio in" in error.remedy


async def test_a_file_that_is_no_port_is_told(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_bytes(b"")
    error = await refusal(endpoint(spec_text("kiss", str(file))))
    assert f"{file} is no serial port" in error.what


async def test_a_port_that_another_program_has_is_told() -> None:
    with plugged(KissModem(Air())) as plug:
        async with running(endpoint(spec_text("kiss", plug.path))) as sink:
            await sink.until(lambda: bool(sink.faces))
            error = await refusal(endpoint(spec_text("kiss", plug.path)))
    assert f"another program has {plug.path} open" in error.what


async def test_a_radio_set_to_what_is_not_legal_is_refused() -> None:
    america = replace(SHORT_FAST_EU868, region=1)
    with plugged(MeshtasticDevice(Air(), 1, config=america)) as plug:
        error = await refusal(endpoint(spec_text("meshtastic", plug.path)))
    assert "not legal in EU868" in error.what


async def test_too_much_power_is_refused() -> None:
    with plugged(MeshtasticDevice(Air(), 1)) as plug:
        error = await refusal(endpoint(f"meshtastic:{plug.path}?region=EU868&gain=20"))
    assert "14 dBm on an antenna of 20 dBi is more than" in error.what


async def test_another_thing_in_the_radio_s_place_is_told_even_later(
    tmp_path: Path, impatience: None
) -> None:
    link = tmp_path / "radio"
    with plugged(KissModem(Air()), link) as plug:
        face = endpoint(spec_text("kiss", str(link)))
        sink = RecordingSink()
        task = asyncio.create_task(face.run(sink))
        await sink.until(lambda: bool(sink.faces))
        plug.pull()
        with plugged(Impostor(b"$GPRMC,1\r\n"), link):
            async with asyncio.timeout(PATIENCE_S):
                with pytest.raises(FaceOpenError, match="GPS"):
                    await task


async def test_cancelled_it_leaves_the_port_free() -> None:
    with plugged(KissModem(Air())) as plug:
        for _ in range(2):
            async with running(endpoint(spec_text("kiss", plug.path))) as sink:
                await sink.until(lambda: bool(sink.faces))
            assert [reason for _, reason in sink.downs] == ["this node closed it"]
