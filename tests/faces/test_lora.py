"""A face on a LoRa chip, the chip being emulated: what goes on the air, what comes from it, and what goes wrong."""

import asyncio
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firmware_bridge.boards import BoardProfile, load_board
from firmware_bridge.chips.modem import Frame, Modem
from firmware_bridge.drivers.errors import UnfitError, bus_missing
from firmware_bridge.drivers.hardware import Hardware
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, ReceivedSignal, Signal
from firmware_bridge.emulation.loop import LoopTimeline
from firmware_bridge.lora import airtime_us
from firmware_bridge.plans import NAMED_PLANS, FirmwareRelease, named_plan, resolve
from firmware_bridge.regions import Region
from tests.faces.recording_sink import PATIENCE_S, RecordingSink, running
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.frames import FrameFault
from tinyssb_node.faces.lora import LoraEndpoint, LoraFace, chip_power_dbm
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.spec import open_endpoint, parse_spec
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import Allowance, LinkMedium, stream_profile

pytestmark = pytest.mark.realtime

SCALE = 10.0
"""How much quicker than real emulated time passes."""
PACKET = bytes(range(120))
PACKET_CRC = "2345 5e6e"
"""The CRC-32 that tinySSB boards send behind it."""


class Field:
    """An ether with a deployed board on it, which sends and hears frames as they are."""

    def __init__(self) -> None:
        self.ether = Ether(LoopTimeline(SCALE))
        self.antenna = EmulatedAntenna("board", self)
        self.heard: list[ReceivedSignal] = []
        self.boards: dict[str, EmulatedBoard] = {}
        self._changed = asyncio.Event()
        self.ether.join(self.antenna)

    def endpoint(self, spec: str, name: str = "lora", check_s: float = 600.0) -> LoraEndpoint:
        """A face on a board of this ether."""
        parsed = parse_spec(spec)
        assert isinstance(parsed, LoraSpec)
        board = self.boards[name] = EmulatedBoard(load_board(parsed.board), self.ether, name)
        return LoraEndpoint(
            spec,
            parsed,
            entropy=lambda: 0.0,
            opener=lambda _: board.open(),
            time_scale=SCALE,
            check_s=check_s,
        )

    def tune(self, modem: Modem) -> None:
        self.ether.listen(self.antenna, modem)

    def send(self, modem: Modem, frame: bytes) -> None:
        """A frame from the board."""
        now_us = self.ether.timeline.now_us()
        self.ether.transmit(self.antenna, Signal(modem=modem, payload=frame, power_dbm=20.0, start_us=now_us))

    async def hears(self, count: int) -> list[bytes]:
        async with asyncio.timeout(PATIENCE_S):
            while len(self.heard) < count:
                self._changed.clear()
                await self._changed.wait()
        return [heard.payload for heard in self.heard]

    def preamble_found(self) -> None: ...

    def sync_found(self) -> None: ...

    def signal_lost(self) -> None: ...

    def header_found(self, *, valid: bool) -> None: ...

    def frame_found(self, heard: ReceivedSignal) -> None:
        self.heard.append(heard)
        self._changed.set()


@pytest.fixture
async def field() -> Field:
    return Field()


def board_modem(plan: str = "EU868.a") -> Modem:
    """How deployed firmware sets its chip, written out from its own table."""
    lora = named_plan(plan)
    return Modem(
        frequency_hz=lora.frequency_hz, bandwidth_hz=lora.bandwidth_hz, spreading_factor=lora.spreading_factor,
        coding_rate=lora.coding_rate, preamble_symbols=8, sync_word=lora.sync_word, crc=False,
    )  # fmt: skip


def framed(packet: bytes) -> bytes:
    return packet + zlib.crc32(packet).to_bytes(4, "big")


EUROPE = "lora:dragino-lora-gps-hat?region=EU868&plan=EU868.a"


async def up(sink: RecordingSink) -> None:
    await sink.until(lambda: bool(sink.faces))


@pytest.mark.parametrize("board", ["dragino-lora-gps-hat", "meshadv-mini"])
async def test_the_bytes_on_the_air_are_those_of_deployed_boards(field: Field, board: str) -> None:
    field.tune(board_modem())
    async with running(field.endpoint(f"lora:{board}?region=EU868&plan=EU868.a")) as sink:
        await up(sink)
        assert await sink.face().send([PACKET, PACKET[:8]]) == 2
        frames = await field.hears(2)
    assert frames[0] == PACKET + bytes.fromhex(PACKET_CRC)
    assert frames[1] == framed(PACKET[:8])
    sent = [signal for name, signal in field.ether.sent if name == "lora"]
    modem = sent[0].modem
    assert (modem.sync_word, modem.crc, modem.explicit_header, modem.preamble_symbols) == (
        0x58,
        False,
        True,
        8,
    )


@pytest.mark.parametrize(
    ("region", "plan"),
    [
        (Region.EU868, "EU868.a"), (Region.EU868, "EU868.b"), (Region.EU868, "EU868.c"), (Region.EU433, "EU433.a"),
        (Region.US915, "US915.c"), (Region.EU868, "E22-868"),
    ],
)  # fmt: skip
async def test_a_board_set_to_the_same_plan_and_we_hear_each_other(
    field: Field, region: Region, plan: str
) -> None:
    modem = board_modem(plan)
    field.tune(modem)
    board = "loraham-pi-433" if region is Region.EU433 else "adafruit-lora-bonnet"
    async with running(field.endpoint(f"lora:{board}?region={region}&plan={plan}")) as sink:
        await up(sink)
        assert await sink.face().send([PACKET]) == 1
        assert await field.hears(1) == [framed(PACKET)]
        field.send(modem, framed(PACKET))
        await sink.until(lambda: bool(sink.frames))
    ((name, packet, reception),) = sink.frames
    assert (name, packet) == ("lora", PACKET)
    assert reception.rssi_dbm == pytest.approx(-80, abs=1)
    assert reception.snr_db == 12.0
    assert reception.airtime_us == airtime_us(NAMED_PLANS[FirmwareRelease.FW2025][plan], 124)


@pytest.mark.parametrize(
    ("frame", "kind"),
    [
        (framed(bytes(7)), FrameFault.TOO_SHORT),
        (b"\x00", FrameFault.TOO_SHORT),
        (PACKET + bytes(4), FrameFault.WRONG_CRC),
        (framed(bytes(121)), FrameFault.TOO_LONG),
        (framed(bytes(123)), FrameFault.TOO_LONG),
        # Cut to 127 bytes, so that what is read as a CRC is none: what boards do with it.
        (framed(bytes(range(124))), FrameFault.TOO_LONG),
        (framed(bytes(251)), FrameFault.TOO_LONG),
    ],
)
async def test_frames_that_are_no_packets_are_counted(field: Field, frame: bytes, kind: FrameFault) -> None:
    async with running(field.endpoint(EUROPE)) as sink:
        await up(sink)
        field.send(board_modem(), frame)
        await sink.until(lambda: bool(sink.junks))
        assert sink.junks == [("lora", kind, len(frame))]
        field.send(board_modem(), framed(PACKET[:8]))
        await sink.until(lambda: sink.packets == [PACKET[:8]])


@given(
    payload=st.binary(max_size=255) | st.binary(max_size=124).map(framed),
    damaged=st.booleans(),
    rssi_dbm=st.integers(-200, 50),
    snr_db=st.floats(-40, 40),
)
def test_any_frame_is_a_packet_or_junk_and_counted_once(
    payload: bytes, damaged: bool, rssi_dbm: int, snr_db: float
) -> None:
    sink = RecordingSink()
    face = LoraFace(FaceName("lora"), stream_profile(), board_modem(), sink, EUROPE)
    face.radio_up()
    face.radio_heard(Frame(payload, rssi_dbm, snr_db, damaged=damaged))
    assert len(sink.frames) + len(sink.junks) == 1
    for packet in sink.packets:
        assert not damaged
        assert framed(packet) == payload


async def test_a_frame_whose_chips_crc_fails_is_junk(field: Field) -> None:
    async with running(field.endpoint(EUROPE + "&crc=on")) as sink:
        await up(sink)
        damaged = board_modem()
        damaged.crc, damaged.low_data_rate = True, True
        field.send(damaged, framed(PACKET))
        await sink.until(lambda: sink.junks == [("lora", FrameFault.WRONG_CRC, 124)])


async def test_packets_wait_where_somebody_is_on_the_air(field: Field) -> None:
    async with running(field.endpoint(EUROPE)) as sink:
        await up(sink)
        field.send(board_modem(), framed(PACKET))
        reached = asyncio.get_running_loop().create_future()
        field.ether.timeline.at(field.ether.timeline.now_us() + 60_000, lambda: reached.set_result(None))
        await reached
        assert await sink.face().send([PACKET, PACKET]) == 0
        await sink.until(lambda: sink.packets == [PACKET])


async def test_it_is_scheduled_by_its_airtime_and_the_law(field: Field) -> None:
    async with running(field.endpoint(EUROPE)) as sink:
        await up(sink)
        profile = sink.face().profile
    assert profile.medium is LinkMedium.AIR
    assert profile.airtime_us[120] == round(205_056 / SCALE)
    assert profile.allowance == Allowance(
        band="EU868 868.0-868.6 ×10", limit_us=3_600_000, window_us=360_000_000
    )
    assert not profile.answers_pings


async def test_who_asks_for_it_answers_pings(field: Field) -> None:
    async with running(field.endpoint(EUROPE + "&pongs=on")) as sink:
        await up(sink)
        assert sink.face().profile.answers_pings


async def test_a_radio_that_was_reset_says_so_and_goes_on(field: Field) -> None:
    async with running(field.endpoint(EUROPE, check_s=0.05)) as sink:
        await up(sink)
        field.boards["lora"].chip.brown_out()
        await sink.until(lambda: len(sink.ups) == 2)
        ((_, reason),) = sink.downs
        assert reason.startswith("the radio was reset: ")
        assert "registers lost their values" in reason
        assert await sink.face().send([PACKET]) == 1


async def test_a_radio_that_is_lost_is_opened_anew(field: Field) -> None:
    endpoint = field.endpoint(EUROPE, check_s=0.05)
    board = field.boards["lora"]
    async with running(endpoint) as sink:
        await up(sink)
        face = sink.face()
        board.stuck_at = 0x00
        await sink.until(lambda: not sink.faces)
        board.stuck_at = None
        assert "The radio hangs" in sink.downs[0][1]
        with pytest.raises(ConnectionError):
            await face.send([PACKET])
        await up(sink)
        assert endpoint.problem is None


async def test_a_board_that_is_not_there_is_said_once(field: Field) -> None:
    endpoint = field.endpoint(EUROPE)
    field.boards["lora"].stuck_at = 0xFF
    with pytest.raises(FaceOpenError) as caught:
        await endpoint.run(RecordingSink())
    assert "No SX1276 answers: every bit reads 1" in str(caught.value)


async def test_a_missing_overlay_is_said_with_the_line_to_add() -> None:
    def missing(profile: BoardProfile) -> Hardware:
        raise bus_missing(profile.bus.device, profile.config_txt)

    parsed = parse_spec(EUROPE)
    assert isinstance(parsed, LoraSpec)
    endpoint = LoraEndpoint(EUROPE, parsed, opener=missing)
    with pytest.raises(FaceOpenError, match="Put 'dtparam=spi=on' and 'dtoverlay=spi0-0cs' into"):
        await endpoint.run(RecordingSink())


async def test_a_board_for_another_band_is_refused(field: Field) -> None:
    with pytest.raises(FaceOpenError, match=r"made for 433\.05 to 434\.79 MHz, not for 868\.3 MHz"):
        await field.endpoint("lora:loraham-pi-433?region=EU868&plan=EU868.a").run(RecordingSink())


@pytest.mark.parametrize(
    ("board", "plan", "told_dbm"),
    [
        ("dragino-lora-gps-hat", "EU868.a", 14),
        ("meshadv-pi", "EU868.a", 4),
        ("zebrahat-1w", "EU868.a", 2),
        ("dragino-lora-gps-hat", "US915.c", 17),
        ("meshadv-mini", "US915.c", 20),
    ],
)
def test_the_law_holds_behind_the_amplifier(board: str, plan: str, told_dbm: int) -> None:
    region = Region.US915 if plan.startswith("US") else Region.EU868
    assert chip_power_dbm(load_board(board), resolve(region, named_plan(plan))) == told_dbm


def test_a_board_that_cannot_whisper_is_refused() -> None:
    profile = load_board("dragino-lora-gps-hat")
    with pytest.raises(UnfitError, match="it sends with 2 dBm at least, and 0 dBm is the most"):
        chip_power_dbm(profile, resolve(Region.EU868, named_plan("EU868.a"), 0))


async def test_emulated_boards_of_one_process_hear_each_other() -> None:
    spec = "lora:{}?region=EU868&plan=EU868.c&emulated=on&name={}"
    ana = open_endpoint(spec.format("dragino-lora-gps-hat", "ana"))
    ben = open_endpoint(spec.format("meshadv-pi", "ben"))
    async with running(ana) as at_ana, running(ben) as at_ben:
        await up(at_ana)
        await up(at_ben)
        assert await at_ana.face().send([PACKET]) == 1
        await at_ben.until(lambda: at_ben.packets == [PACKET])
    assert at_ben.ups[0][0] == FaceName("ben")
