"""A chip driven from a loop: out after listening, in as it comes, and back on its feet when it hangs."""

import asyncio
import contextlib

import pytest

from firmware_bridge.boards import load_board
from firmware_bridge.chips.modem import Modem
from firmware_bridge.chips.sx127x import Sx127x
from firmware_bridge.drivers.errors import RadioError
from firmware_bridge.drivers.spi import SpiRadio
from firmware_bridge.emulation.board import EmulatedBoard
from tests.firmware_bridge.drivers.bench import (
    SCALE,
    SX126X,
    SX127X,
    TINYSSB,
    Sink,
    WatchedEther,
    radio,
)

BOARDS = [SX127X, SX126X]
LONG = Modem(frequency_hz=868_300_000, sync_word=0x58, preamble_symbols=400)
"""A preamble of 0.4 s, to be found in."""
WATCHED_S = 0.05
"""How often a watched radio is looked at, in its own time."""


@pytest.fixture
async def ether() -> WatchedEther:
    return WatchedEther()


@pytest.mark.parametrize("first", BOARDS)
@pytest.mark.parametrize("second", BOARDS)
async def test_frames_go_both_ways(ether: WatchedEther, first: str, second: str) -> None:
    async with radio(ether, "ana", first) as ana, radio(ether, "ben", second) as ben:
        for number in range(5):
            assert await ana.radio.send(bytes([number]) * 124)
            assert await ben.radio.send(bytes([number]) * 40)
        assert await ben.heard(5) == [bytes([number]) * 124 for number in range(5)]
        assert await ana.heard(5) == [bytes([number]) * 40 for number in range(5)]
        assert [frame.damaged for frame in ana.sink.frames + ben.sink.frames] == [False] * 10
        assert ana.sink.resets == []


@pytest.mark.parametrize("board", BOARDS)
async def test_sending_takes_its_airtime(ether: WatchedEther, board: str) -> None:
    clock = asyncio.get_running_loop().time
    async with radio(ether, "ana", board) as ana:
        begun_s = clock()
        assert await ana.radio.send(bytes(124))
        assert (clock() - begun_s) * SCALE >= 0.205


@pytest.mark.parametrize("board", BOARDS)
async def test_nobody_is_interrupted(ether: WatchedEther, board: str) -> None:
    async with radio(ether, "ana") as ana, radio(ether, "ben", board) as ben:
        talking = asyncio.create_task(ana.radio.send(bytes(200)))
        await ether.sending(then_us=30_000)
        assert not await ben.radio.send(bytes(50))
        assert await talking
        # The frame that was listened to came in all the same.
        assert await ben.heard(1) == [bytes(200)]
        assert await ben.radio.send(bytes(50))
        assert await ana.heard(1) == [bytes(50)]


@pytest.mark.parametrize("board", BOARDS)
async def test_what_activity_detection_finds_keeps_a_frame_back(ether: WatchedEther, board: str) -> None:
    # Another sync word: the receiver lets go of it, but chirps are chirps.
    other = Modem(frequency_hz=868_300_000, sync_word=0x12, preamble_symbols=400)
    async with radio(ether, "ana", modem=other) as ana, radio(ether, "ben", board, LONG) as ben:
        talking = asyncio.create_task(ana.radio.send(bytes(10)))
        await ether.sending()
        ether.listen(ben.board.chip.antenna, None)
        assert not await ben.radio.send(bytes(50))
        assert await talking


async def test_a_damaged_frame_is_handed_on_as_such(ether: WatchedEther) -> None:
    modem = Modem(frequency_hz=868_300_000, sync_word=0x58, crc=True)
    async with (
        radio(ether, "ana", modem=modem) as ana,
        radio(ether, "ben", modem=modem) as ben,
        radio(ether, "cleo", SX126X, modem) as cleo,
    ):
        ether.losses_db["ana", "cleo"] = ether.losses_db["cleo", "ana"] = 200.0
        first = asyncio.create_task(ana.radio.send(bytes(120)))
        # Behind the header; had that been hit, nothing at all would have come in.
        await ether.sending(then_us=60_000)
        await cleo.radio.send(bytes(20))
        await first
        await ben.sink.until(lambda: bool(ben.sink.frames))
        assert [frame.damaged for frame in ben.sink.frames] == [True]


@pytest.mark.parametrize("board", BOARDS)
async def test_a_chip_that_hangs_while_sending_is_reset(ether: WatchedEther, board: str) -> None:
    async with radio(ether, "ana", board) as ana, radio(ether, "ben") as ben:
        sending = asyncio.create_task(ana.radio.send(bytes(124)))
        await ether.sending()
        ana.board.chip.hung = True
        # Part of it was on the air: its time is spent.
        assert await sending
        await ana.sink.until(lambda: bool(ana.sink.resets))
        assert len(ana.sink.resets) == 1
        assert await ana.radio.send(bytes(30))
        assert (await ben.heard(1))[-1] == bytes(30)


@pytest.mark.parametrize("board", BOARDS)
async def test_a_chip_that_forgot_its_settings_gets_them_again(ether: WatchedEther, board: str) -> None:
    async with radio(ether, "ana", board, check_s=WATCHED_S) as ana, radio(ether, "ben") as ben:
        ana.board.chip.brown_out()
        await ana.sink.until(lambda: bool(ana.sink.resets))
        assert "registers lost their values" in ana.sink.resets[0]
        assert await ben.radio.send(bytes(30))
        assert await ana.heard(1) == [bytes(30)]


@pytest.mark.parametrize("board", BOARDS)
async def test_a_lost_edge_loses_no_frame(ether: WatchedEther, board: str) -> None:
    async with radio(ether, "ana", board, check_s=WATCHED_S) as ana, radio(ether, "ben") as ben:
        ana.board.lose_edges = True
        assert await ben.radio.send(bytes(30))
        assert await ana.heard(1) == [bytes(30)]
        assert await ana.radio.send(bytes(40))
        assert await ben.heard(1) == [bytes(40)]
        assert ana.board.take_edges() == 0
        assert ana.sink.resets == []


@pytest.mark.parametrize("board", BOARDS)
async def test_what_no_reset_helps_is_given_up(ether: WatchedEther, board: str) -> None:
    async with radio(ether, "ana", board, check_s=WATCHED_S) as ana:
        ana.board.stuck_at = 0x00
        await asyncio.wait([ana.task], timeout=10)
        error = ana.task.exception()
        assert isinstance(error, RadioError)
        assert "3 resets in a row did not help" in error.found
        with pytest.raises(ConnectionError):
            await ana.radio.send(bytes(10))


async def test_a_bus_that_fails_for_a_moment_is_no_end(ether: WatchedEther) -> None:
    async with radio(ether, "ana") as ana, radio(ether, "ben") as ben:
        ana.board.bus_error = OSError(5, "Input/output error")
        assert not await ana.radio.send(bytes(10))
        ana.board.bus_error = None
        await ana.sink.until(lambda: bool(ana.sink.resets))
        assert "Input/output error" in ana.sink.resets[0]
        assert await ana.radio.send(bytes(10))
        assert await ben.heard(1) == [bytes(10)]


async def test_whoever_gives_up_while_sending_leaves_no_deaf_radio(ether: WatchedEther) -> None:
    async with radio(ether, "ana") as ana, radio(ether, "ben") as ben:
        sending = asyncio.create_task(ana.radio.send(bytes(200)))
        await ether.sending()
        sending.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await sending
        await ana.sink.until(lambda: bool(ana.sink.resets))
        # What is on the air is over when its time is, whoever lost interest.
        await ether.after(1_000_000)
        assert await ben.radio.send(bytes(10))
        assert bytes(10) in await ana.heard(1)


async def test_it_ends_asleep_and_can_be_started_again(ether: WatchedEther) -> None:
    async with radio(ether, "ana", SX126X) as ana:
        pass
    assert ana.board.chip.busy(), "a SX126x that sleeps is busy"
    second = asyncio.create_task(ana.radio.run())
    await ana.sink.until(lambda: ana.sink.ups == 2)
    second.cancel()
    await asyncio.wait([second])


@pytest.mark.parametrize("board", BOARDS)
async def test_a_board_that_is_not_there_is_told(ether: WatchedEther, board: str) -> None:
    emulated = EmulatedBoard(load_board(board), ether, "ana")
    emulated.stuck_at = 0x00
    driver = SpiRadio(emulated.profile, TINYSSB, 14, Sink(), emulated.open)
    with pytest.raises(RadioError, match="every bit reads 0"):
        await driver.run()


async def test_a_bus_that_fails_at_once_is_told(ether: WatchedEther) -> None:
    emulated = EmulatedBoard(load_board(SX127X), ether, "ana")
    emulated.bus_error = OSError(5, "Input/output error")
    driver = SpiRadio(emulated.profile, TINYSSB, 14, Sink(), emulated.open)
    with pytest.raises(RadioError, match="fails: Input/output error"):
        await driver.run()


@pytest.mark.parametrize("board", BOARDS)
async def test_a_frame_that_has_just_come_in_is_not_thrown_away_by_sending(
    ether: WatchedEther, board: str
) -> None:
    async with radio(ether, "ana", board) as ana, radio(ether, "ben") as ben:
        ana.board.lose_edges = True
        assert await ben.radio.send(bytes(30))
        assert ana.sink.frames == []
        assert await ana.radio.send(bytes(40))
        assert await ana.heard(1) == [bytes(30)]


async def test_a_receiver_that_is_stuck_is_started_anew(
    ether: WatchedEther, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with radio(ether, "ana") as ana:
        monkeypatch.setattr(Sx127x, "receiving", lambda _chip: True)
        assert not await ana.radio.send(bytes(10))
        await ether.after(2 * TINYSSB.airtime_us(255) + 10_000)
        assert await ana.radio.send(bytes(10))
        assert ana.sink.resets == []


async def test_a_chip_that_hangs_while_it_listens_is_reset(ether: WatchedEther) -> None:
    async with radio(ether, "ana") as ana:
        ana.board.chip.hung = True
        assert not await ana.radio.send(bytes(10))
        await ana.sink.until(lambda: bool(ana.sink.resets))
        assert ana.sink.resets == ["it did not finish listening"]
        assert await ana.radio.send(bytes(10))


async def test_while_it_is_being_reset_nothing_is_sent(ether: WatchedEther) -> None:
    async with radio(ether, "ana") as ana:
        ana.board.bus_error = OSError(5, "Input/output error")
        first, second = await asyncio.gather(ana.radio.send(bytes(10)), ana.radio.send(bytes(10)))
        assert (first, second) == (False, False)
        ana.board.bus_error = None
        await ana.sink.until(lambda: bool(ana.sink.resets))


async def test_lines_that_fail_for_a_moment_are_no_end(
    ether: WatchedEther, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with radio(ether, "ana") as ana, radio(ether, "ben") as ben:
        failing = OSError(5, "Input/output error")

        def fail(_board: EmulatedBoard) -> int:
            raise failing

        with monkeypatch.context() as broken:
            broken.setattr(EmulatedBoard, "take_edges", fail)
            assert not await ana.radio.send(bytes(10))
            await ana.sink.until(lambda: bool(ana.sink.resets))
        assert "the GPIO lines fail: Input/output error" in ana.sink.resets[0]
        assert ben.task.done() is False
