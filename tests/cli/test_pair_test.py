"""The pair test: emulated chips and serial radios of which the figures are known, and the law that it keeps."""

import asyncio
import json
import math
from pathlib import Path

import pytest

from firmware_bridge.boards import load_board
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.loop import LoopTimeline
from firmware_bridge.lora import airtime_us
from firmware_bridge.plans import named_plan
from tests.daemon.processes import daemon, make_home, tinyssb
from tests.emulated.serial_air import RSSI_DBM, Air
from tests.faces.serial_rig import KINDS, TIME_SCALE, endpoint, plugged, spec_text
from tinyssb_node.cli.pair_test import LENGTH, AirAccount, PacketTime, PairDirection, run_pair_test
from tinyssb_node.cli.pair_words import pair_words
from tinyssb_node.daemon.clock import SystemClock, find_boot
from tinyssb_node.errors import ExitCode
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.lora import LoraEndpoint
from tinyssb_node.faces.lora_spec import LoraSpec
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.store.memory import MemoryStore

pytestmark = pytest.mark.realtime

SCALE = 10.0
"""How much quicker than real emulated time passes."""
LEGAL = "region=EU868&plan=EU868.a"
CRC_SIZE = 4
FORMULA_US = airtime_us(named_plan("EU868.a"), LENGTH + CRC_SIZE)


def account() -> tuple[AirAccount, MemoryStore, SystemClock]:
    clock, store = SystemClock(), MemoryStore()
    return AirAccount(store, find_boot(clock), clock), store, clock


class Desk:
    """Two boards with chips of both families on one ether."""

    def __init__(self, options: str = LEGAL) -> None:
        self.ether = Ether(LoopTimeline(SCALE))
        self.boards: list[EmulatedBoard] = []
        self.endpoints = (
            self._endpoint("dragino-lora-gps-hat", options),
            self._endpoint("meshadv-mini", options),
        )

    def _endpoint(self, name: str, options: str) -> LoraEndpoint:
        text = f"lora:{name}?{options}"
        spec = parse_spec(text)
        assert isinstance(spec, LoraSpec)
        board = EmulatedBoard(load_board(name), self.ether, name)
        self.boards.append(board)
        return LoraEndpoint(
            text, spec, entropy=lambda: 0.0, opener=lambda _: board.open(), time_scale=SCALE, check_s=600.0
        )


async def test_two_chips_take_what_the_formula_says() -> None:
    desk = Desk()
    spent, _, clock = account()
    directions = await run_pair_test(desk.endpoints, 3, spent, clock)
    assert [direction.lost for direction in directions] == [0, 0]
    for direction in directions:
        assert direction.airtime_us == pytest.approx(FORMULA_US / SCALE, abs=1)
        assert not direction.is_early
        for packet in direction.packets:
            assert packet.heard_us is not None
            assert direction.airtime_us <= packet.heard_us
            assert packet.reception is not None
            assert packet.reception.rssi_dbm is not None
    assert [direction.sender for direction in directions] == [one.spec for one in desk.endpoints]


async def test_a_link_that_is_cut_one_way_shows_which() -> None:
    desk = Desk()
    desk.ether.losses_db["dragino-lora-gps-hat", "meshadv-mini"] = math.inf
    spent, _, clock = account()
    out, back = await run_pair_test(desk.endpoints, 2, spent, clock, late_s=0.05)
    assert (out.lost, back.lost) == (2, 0)
    assert "lost           2 (PER 100.0%" in "\n".join(pair_words([out, back], 2))


async def test_each_packet_is_in_the_account_and_the_law_ends_the_test() -> None:
    desk = Desk()
    spent, store, clock = account()
    await run_pair_test(desk.endpoints, 2, spent, clock)
    assert [charge.airtime_us for charge in store.charges()] == [pytest.approx(FORMULA_US / SCALE, abs=1)] * 4
    limited = Desk()
    directions = await run_pair_test(
        limited.endpoints, 1_000, AirAccount(_spent(), find_boot(clock), clock), clock
    )
    assert sum(len(direction.packets) for direction in directions) == 8
    assert "The law leaves no more airtime" in "\n".join(pair_words(directions, 1_000))


def _spent() -> MemoryStore:
    """A store of a node that has used up nearly all of its hour."""
    from firmware_bridge.plans import resolve
    from firmware_bridge.regions import Region
    from tinyssb_node.faces.radio import allowance_of
    from tinyssb_node.store.port import AirtimeCharge

    allowance = allowance_of(resolve(Region.EU868, named_plan("EU868.a")), SCALE)
    assert allowance is not None
    store = MemoryStore()
    used_us = allowance.limit_us - 8 * math.ceil(FORMULA_US / SCALE)
    store.put_charge(
        AirtimeCharge(band=allowance.band, number=1, advert=True, airtime_us=used_us, ended_us=1)
    )
    store.commit(0)
    return store


async def test_a_board_that_is_not_there_ends_the_test_with_its_reason() -> None:
    desk = Desk()
    desk.boards[1].stuck_at = 0
    spent, store, clock = account()
    with pytest.raises(FaceOpenError):
        await run_pair_test(desk.endpoints, 1, spent, clock)
    assert store.charges() == []


@pytest.mark.parametrize(("kind", "rssi_dbm"), [("kiss", RSSI_DBM), ("rnode", RSSI_DBM), ("meshcore", None)])
async def test_radios_on_cables_are_measured_too(kind: str, rssi_dbm: int | None) -> None:
    air, make = Air(), KINDS[kind][2]
    spent, _, clock = account()
    with plugged(make(air, 1)) as left, plugged(make(air, 2)) as right:
        endpoints = (endpoint(spec_text(kind, left.path)), endpoint(spec_text(kind, right.path)))
        directions = await asyncio.wait_for(run_pair_test(endpoints, 2, spent, clock), 20)
    assert [(direction.lost, len(direction.packets)) for direction in directions] == [(0, 2), (0, 2)]
    assert [direction.fields()["rssi_dbm"] for direction in directions] == [rssi_dbm, rssi_dbm]
    assert [direction.airtime_us > 100_000 / TIME_SCALE for direction in directions] == [True, True]


def direction(*heard_us: int | None, sent_us: int = 205_000) -> PairDirection:
    packets = [PacketTime(sent_us=sent_us, heard_us=one, reception=None) for one in heard_us]
    return PairDirection(sender="a", receiver="b", airtime_us=200_000, packets=packets)


def test_few_packets_promise_little() -> None:
    assert direction(*[1] * 20).loss_max == pytest.approx(0.161, abs=0.001)
    assert direction(*[1] * 200).loss_max == pytest.approx(0.019, abs=0.001)
    assert direction().loss_max == 1


def test_an_end_before_the_formula_is_remarked() -> None:
    assert not direction(1, sent_us=200_000).is_early
    assert direction(1, sent_us=150_000).is_early
    assert "earlier than the formula" in "\n".join(pair_words([direction(1, sent_us=150_000)], 1))


EMULATED = [f"lora:{board}?{LEGAL}&emulated=on" for board in ("dragino-lora-gps-hat", "meshadv-mini")]


def test_the_command_shows_both_directions(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "pair-test", *EMULATED, "--packets", "1")
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.decode().splitlines()
    assert lines[0] == f"{EMULATED[0]} -> {EMULATED[1]}"
    assert f"  airtime        {FORMULA_US / 1000:.1f} ms by the formula (Semtech AN1200.13)" in lines
    ended = tinyssb(tmp_path, "radio", "pair-test", *EMULATED, "--packets", "1", "--json")
    rows = [json.loads(line) for line in ended.stdout.splitlines()]
    assert [(row["sent"], row["lost"], row["airtime_us"]) for row in rows] == [(1, 0, FORMULA_US)] * 2


def test_a_link_without_radio_is_refused(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "pair-test", EMULATED[0], "udp:239.5.5.8:1558")
    assert ended.returncode == ExitCode.USAGE
    assert b"is not a LoRa radio" in ended.stderr


def test_while_the_daemon_runs_its_account_cannot_be_charged(tmp_path: Path) -> None:
    make_home(tmp_path)
    radios = [f"kiss:/dev/nowhere{number}?{LEGAL}" for number in (1, 2)]
    with daemon(tmp_path):
        ended = tinyssb(tmp_path, "radio", "pair-test", *radios)
    assert ended.returncode == ExitCode.BUSY
    assert b"already in use" in ended.stderr
