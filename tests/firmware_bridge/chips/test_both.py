"""Behaviour common to all chips: the same tests over SX127x and SX126x, alone and mixed."""

import itertools
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firmware_bridge.chips.errors import ChipError, ModemError, WrongChipError
from firmware_bridge.chips.modem import EVENT_CAD_BUSY, EVENT_CAD_DONE, EVENT_SENT, Modem
from firmware_bridge.chips.sx126x import Sx126x
from firmware_bridge.drivers.errors import RadioError
from firmware_bridge.emulation.ether import garbled
from firmware_bridge.lora import LoraSettings, modem_of
from firmware_bridge.plans import NAMED_PLANS, FirmwareRelease
from tests.firmware_bridge.chips.virtual import SX126X, SX127X, TINYSSB, Air, Station

CHIPS = [SX127X, SX126X]
PAIRS = list(itertools.product(CHIPS, CHIPS))


def with_(**changes: Any) -> Modem:
    """Plan EU868.a with something else."""
    fields: dict[str, Any] = {
        "frequency_hz": 868_300_000, "bandwidth_hz": 125_000, "spreading_factor": 7, "coding_rate": 5,
        "preamble_symbols": 8, "sync_word": 0x58,
    }  # fmt: skip
    return Modem(**(fields | changes))


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
def test_every_chip_hears_every_other(air: Air, sender: str, receiver: str) -> None:
    ana, ben = air.station(sender, "ana"), air.station(receiver, "ben")
    for number, frame in enumerate([bytes(range(124)), b"\x00", bytes(255), b"\xc0\xdb" * 60]):
        (ana, ben)[number % 2].send(frame)
        heard = (ben, ana)[number % 2].received()
        assert heard is not None
        assert (heard.payload, heard.damaged) == (frame, False)
        assert heard.snr_db == 12.0


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
@settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(frames=st.lists(st.binary(min_size=1, max_size=255), min_size=1, max_size=4))
def test_any_bytes_pass(sender: str, receiver: str, frames: list[bytes]) -> None:
    air = Air()
    try:
        ana, ben = air.station(sender, "ana"), air.station(receiver, "ben")
        for frame in frames:
            ana.send(frame)
            heard = ben.received()
            assert heard is not None
            assert heard.payload == frame
    finally:
        air.close()


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
@pytest.mark.parametrize(
    ("plan", "settings"),
    list(NAMED_PLANS[FirmwareRelease.FW2025].items()),
    ids=list(NAMED_PLANS[FirmwareRelease.FW2025]),
)
def test_every_plan_of_deployed_boards_can_be_set(
    air: Air, sender: str, receiver: str, plan: str, settings: LoraSettings
) -> None:
    modem = modem_of(settings)
    ana, ben = air.station(sender, "ana", modem), air.station(receiver, "ben", modem)
    ana.send(bytes(124))
    assert ben.received() is not None, plan


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
@pytest.mark.parametrize(
    "other",
    [
        {"sync_word": 0x12},
        {"spreading_factor": 8},
        {"bandwidth_hz": 250_000},
        {"frequency_hz": 868_500_000},
        {"inverted_iq": True},
        {"explicit_header": False, "payload_length": 20},
    ],
    ids=str,
)
def test_who_is_set_otherwise_hears_nothing(
    air: Air, sender: str, receiver: str, other: dict[str, object]
) -> None:
    ana, ben = air.station(sender, "ana"), air.station(receiver, "ben", with_(**other))
    ana.send(bytes(20))
    heard = ben.received()
    assert heard is None or heard.payload != bytes(20)


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
@pytest.mark.parametrize(
    "modem",
    [
        with_(inverted_iq=True),
        with_(explicit_header=False, payload_length=20),
        with_(bandwidth_hz=500_000),
        with_(bandwidth_hz=41_700),
        with_(spreading_factor=12),
        with_(frequency_hz=433_300_000, bandwidth_hz=500_000),
        with_(coding_rate=8, crc=True, preamble_symbols=16, sync_word=0xAB),
    ],
    ids=lambda modem: f"{modem.frequency_hz}-{modem.bandwidth_hz}-{modem.spreading_factor}-{modem.crc}",
)
def test_all_settings_that_both_can_do(air: Air, sender: str, receiver: str, modem: Modem) -> None:
    ana, ben = air.station(sender, "ana", modem), air.station(receiver, "ben", modem)
    ana.send(bytes(range(20)))
    heard = ben.received()
    assert heard is not None
    assert heard.payload == bytes(range(20))


@pytest.mark.parametrize("receiver", CHIPS)
@pytest.mark.parametrize("crc", [True, False])
def test_a_collision_damages_and_only_the_chips_crc_tells(air: Air, receiver: str, crc: bool) -> None:
    modem = with_(crc=crc)
    ana, cleo = air.station(SX127X, "ana", modem), air.station(SX126X, "cleo", modem)
    ben = air.station(receiver, "ben", modem)
    ana.driver.start_send(bytes(60))
    air.timeline.advance(60_000)
    cleo.driver.start_send(bytes(60))
    air.timeline.advance(1_000_000)
    heard = ben.received()
    assert heard is not None
    assert (heard.payload, heard.damaged) == (garbled(bytes(60)), crc)


@pytest.mark.parametrize("receiver", CHIPS)
def test_two_at_once_give_nothing(air: Air, receiver: str) -> None:
    ana, cleo = air.station(SX127X, "ana"), air.station(SX127X, "cleo")
    ben = air.station(receiver, "ben")
    ana.driver.start_send(bytes(60))
    cleo.driver.start_send(bytes(60))
    air.timeline.advance(1_000_000)
    assert ben.received() is None


@pytest.mark.parametrize("receiver", CHIPS)
def test_a_much_stronger_frame_survives(air: Air, receiver: str) -> None:
    ana, cleo = air.station(SX127X, "ana"), air.station(SX127X, "cleo")
    ben = air.station(receiver, "ben")
    air.ether.losses_db["cleo", "ben"] = 115.0
    ana.driver.start_send(bytes(60))
    air.timeline.advance(50_000)
    cleo.driver.start_send(bytes(60))
    air.timeline.advance(1_000_000)
    heard = ben.received()
    assert heard is not None
    assert heard.payload == bytes(60)


@pytest.mark.parametrize(("sender", "receiver"), PAIRS)
@pytest.mark.parametrize("loss_db", [70.0, 100.0, 125.0, 136.0])
def test_strength_is_what_arrives(air: Air, sender: str, receiver: str, loss_db: float) -> None:
    ana, ben = air.station(sender, "ana"), air.station(receiver, "ben")
    air.ether.losses_db["ana", "ben"] = loss_db
    ana.send(bytes(20))
    heard = ben.received()
    assert heard is not None
    assert abs(heard.rssi_dbm - (14 - loss_db)) <= 1
    assert heard.snr_db == pytest.approx(min(14 - loss_db + 117.03, 12.0), abs=0.2)


@pytest.mark.parametrize("receiver", CHIPS)
def test_what_is_too_weak_is_not_heard(air: Air, receiver: str) -> None:
    ana, ben = air.station(SX127X, "ana"), air.station(receiver, "ben")
    air.ether.losses_db["ana", "ben"] = 140.0
    ana.send(bytes(20))
    assert ben.received() is None


@pytest.mark.parametrize("board", CHIPS)
def test_the_channels_power_is_measured(air: Air, board: str) -> None:
    ana, ben = air.station(SX127X, "ana"), air.station(board, "ben")
    assert ben.driver.rssi_dbm() == pytest.approx(-117, abs=1)
    ana.driver.start_send(bytes(200))
    air.timeline.advance(100_000)
    assert ben.driver.rssi_dbm() == pytest.approx(-86, abs=1)


@pytest.mark.parametrize("board", CHIPS)
def test_activity_is_detected_in_a_preamble_and_not_in_silence(air: Air, board: str) -> None:
    ana, ben = air.station(SX127X, "ana", with_(preamble_symbols=100)), air.station(board, "ben")
    ben.driver.start_cad()
    air.timeline.advance(20_000)
    assert ben.driver.take_events() == EVENT_CAD_DONE
    ana.driver.start_send(bytes(60))
    air.timeline.advance(10_000)
    ben.driver.start_cad()
    air.timeline.advance(20_000)
    assert ben.driver.take_events() == EVENT_CAD_DONE | EVENT_CAD_BUSY


@pytest.mark.parametrize("board", CHIPS)
def test_a_frame_that_comes_in_is_seen_before_it_is_over(air: Air, board: str) -> None:
    ana, ben = air.station(SX127X, "ana"), air.station(board, "ben")
    assert not ben.driver.receiving()
    ana.driver.start_send(bytes(60))
    for _ in range(3):
        air.timeline.advance(30_000)
        assert ben.driver.receiving()
    air.timeline.advance(1_000_000)
    assert ben.received() is not None
    assert not ben.driver.receiving()


@pytest.mark.parametrize("board", CHIPS)
def test_frames_behind_one_another_are_all_there(air: Air, board: str) -> None:
    ana, ben = air.station(SX127X, "ana"), air.station(board, "ben")
    for number in range(20):
        ana.send(bytes([number]) * 100)
        heard = ben.received()
        assert heard is not None
        assert heard.payload == bytes([number]) * 100


@pytest.mark.parametrize("board", CHIPS)
def test_time_on_the_air_is_the_formulas(air: Air, board: str) -> None:
    ana = air.station(board, "ana")
    before_us = air.timeline.now_us()
    ana.driver.start_send(bytes(124))
    while not ana.wiring.interrupted():
        air.timeline.advance(10)
    assert 205_056 <= air.timeline.now_us() - before_us <= 205_056 + 500


@pytest.mark.parametrize("board", CHIPS)
def test_the_interrupt_line_falls_when_events_are_taken(air: Air, board: str) -> None:
    ana = air.station(board, "ana")
    ana.driver.start_send(bytes(10))
    assert not ana.wiring.interrupted()
    air.timeline.advance(1_000_000)
    assert ana.wiring.interrupted()
    assert ana.driver.take_events() == EVENT_SENT
    assert not ana.wiring.interrupted()
    assert ana.driver.take_events() == 0


@pytest.mark.parametrize("board", CHIPS)
def test_nothing_is_lost_while_nothing_happens_and_all_by_a_brown_out(air: Air, board: str) -> None:
    ana = air.station(board, "ana")
    assert ana.driver.differences() == []
    ana.chip.brown_out()
    names = [difference.name for difference in ana.driver.differences()]
    assert any("ync" in name for name in names), names


@pytest.mark.parametrize("board", CHIPS)
def test_it_sleeps_and_wakes(air: Air, board: str) -> None:
    ana, ben = air.station(SX127X, "ana"), air.station(board, "ben")
    ben.driver.sleep()
    ana.send(bytes(20))
    ben.start()
    air.timeline.advance(1_000)
    ana.send(bytes(21))
    heard = ben.received()
    assert heard is not None
    assert len(heard.payload) == 21


@pytest.mark.parametrize("board", CHIPS)
@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_a_bus_on_which_nobody_answers(air: Air, board: str, value: int) -> None:
    ana = air.station(board, "ana", None)
    ana.board.stuck_at = value
    with pytest.raises(ChipError) as caught:
        ana.driver.begin()
    if value == 0x00 or board == SX127X:
        assert isinstance(caught.value, WrongChipError)
        assert caught.value.found == value


@pytest.mark.parametrize("board", CHIPS)
@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("frequency_hz", 100_000_000),
        ("bandwidth_hz", 200_000),
        ("spreading_factor", 13),
        ("spreading_factor", 4),
        ("coding_rate", 9),
        ("preamble_symbols", 0),
        ("preamble_symbols", 70_000),
        ("sync_word", 256),
        ("payload_length", 0),
    ],
)
def test_what_a_chip_cannot_be_set_to(air: Air, board: str, field: str, value: int) -> None:
    ana = air.station(board, "ana", None)
    ana.driver.begin()
    with pytest.raises(ModemError) as caught:
        ana.driver.configure(with_(**{field: value}), 14)
    assert (caught.value.field, caught.value.value) == (field, value)


@pytest.mark.parametrize("board", CHIPS)
@pytest.mark.parametrize("power_dbm", [-20, 23])
def test_powers_a_chip_does_not_have(air: Air, board: str, power_dbm: int) -> None:
    ana = air.station(board, "ana", None)
    ana.driver.begin()
    with pytest.raises(ModemError, match="power_dbm"):
        ana.driver.configure(TINYSSB, power_dbm)


@pytest.mark.parametrize("board", CHIPS)
@pytest.mark.parametrize("length", [0, 256])
def test_lengths_no_frame_has(air: Air, board: str, length: int) -> None:
    ana = air.station(board, "ana")
    with pytest.raises(ModemError, match="payload_length"):
        ana.driver.start_send(bytes(length))


@pytest.mark.parametrize("board", CHIPS)
def test_without_a_header_all_frames_have_one_length(air: Air, board: str) -> None:
    ana = air.station(board, "ana", with_(explicit_header=False, payload_length=20))
    with pytest.raises(ModemError, match="payload_length"):
        ana.driver.start_send(bytes(21))


@pytest.mark.parametrize("board", CHIPS)
def test_power_is_what_was_asked_for(air: Air, board: str) -> None:
    for power_dbm in range(2, 21):
        ana = air.station(board, f"at {power_dbm}", TINYSSB, power_dbm)
        assert ana.chip.power_dbm() == power_dbm


@pytest.mark.parametrize("board", CHIPS)
def test_a_bus_that_fails_is_told_as_such(air: Air, board: str) -> None:
    ana = air.station(board, "ana")
    ana.board.bus_error = OSError(5, "Input/output error")
    with pytest.raises(RadioError, match=r"/dev/spidev\S+ fails: Input/output error"):
        ana.driver.take_events()


def test_without_its_antenna_switch_a_board_is_deaf_and_dumb(air: Air) -> None:
    ana, ben = air.station(SX126X, "ana"), air.station(SX127X, "ben")
    assert isinstance(ana.driver, Sx126x)
    ana.board.levels[12] = False
    ben.send(bytes(20))
    assert ana.received() is None
    ana.start()
    air.timeline.advance(1_000)
    ben.send(bytes(20))
    assert ana.received() is not None


def test_a_station_does_not_hear_itself(air: Air) -> None:
    stations: list[Station] = [air.station(board, board) for board in CHIPS]
    for station in stations:
        station.send(bytes(20))
    assert [station.received() is None for station in stations] == [False, True]
