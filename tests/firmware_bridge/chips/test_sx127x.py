"""SX127x: what is written to which register, by the tables of its data sheet and errata."""

import pytest

from firmware_bridge.chips import sx127x
from firmware_bridge.chips.errors import ModemError, WrongChipError
from firmware_bridge.chips.modem import Modem
from firmware_bridge.chips.sx127x import Sx127x, current_limit, frequency_registers
from firmware_bridge.emulation.sx127x import EmulatedSx127x
from tests.firmware_bridge.chips.virtual import SX127X, TINYSSB, Air


def registers(air: Air, modem: Modem = TINYSSB, power_dbm: int = 14) -> EmulatedSx127x:
    """The chip, listening."""
    chip = air.station(SX127X, "ana", modem, power_dbm).chip
    assert isinstance(chip, EmulatedSx127x)
    return chip


@pytest.mark.parametrize(
    ("frequency_hz", "expected"),
    [(868_300_000, "d91333"), (904_600_000, "e22666"), (433_300_000, "6c5333"), (868_200_000, "d90ccc")],
)
def test_frequencies(frequency_hz: int, expected: str) -> None:
    assert frequency_registers(frequency_hz).hex() == expected


@pytest.mark.parametrize(
    ("limit_ma", "expected"),
    [(45, 0x20), (100, 0x2B), (120, 0x2F), (130, 0x30), (140, 0x31), (240, 0x3B), (500, 0x3B), (0, 0x20)],
)
def test_current_limits(limit_ma: int, expected: int) -> None:
    assert current_limit(limit_ma) == expected


def test_a_plan_of_tinyssb_boards(air: Air) -> None:
    chip = registers(air)
    expected = {
        sx127x.REG_OP_MODE: 0x85,
        sx127x.REG_MODEM_CONFIG_1: 0x72,
        sx127x.REG_MODEM_CONFIG_2: 0x70,
        sx127x.REG_MODEM_CONFIG_3: 0x04,
        sx127x.REG_PREAMBLE: 0x00,
        sx127x.REG_PREAMBLE + 1: 0x08,
        sx127x.REG_SYNC_WORD: 0x58,
        sx127x.REG_INVERT_IQ: 0x27,
        sx127x.REG_INVERT_IQ_2: 0x1D,
        sx127x.REG_DETECTION_THRESHOLD: 0x0A,
        sx127x.REG_LNA: 0x23,
    }
    assert {register: chip.register(register) for register in expected} == expected


@pytest.mark.parametrize(
    ("modem", "expected"),
    [
        # Errata 2.1: the sensitivity at 500 kHz.
        (Modem(frequency_hz=868_300_000, bandwidth_hz=500_000), {0x36: 0x02, 0x3A: 0x64, 0x31: 0xC3}),
        (Modem(frequency_hz=433_300_000, bandwidth_hz=500_000), {0x36: 0x02, 0x3A: 0x7F, 0x31: 0xC3}),
        # Errata 2.3: spurious reception below it; at 41.7 kHz and less the frequency moves, too.
        (Modem(frequency_hz=868_300_000), {0x36: 0x03, 0x31: 0x43, 0x2F: 0x40, 0x30: 0x00, 0x08: 0x33}),
        (
            Modem(frequency_hz=868_300_000, bandwidth_hz=7_800),
            {0x31: 0x43, 0x2F: 0x48, 0x30: 0x00, 0x06: 0xD9, 0x07: 0x13, 0x08: 0xB3},
        ),
        # Low data rate optimisation: symbols of 16 ms or more, and an automatic gain control always.
        (Modem(frequency_hz=868_300_000, spreading_factor=11), {0x26: 0x0C, 0x1E: 0xB0}),
        (Modem(frequency_hz=868_300_000, spreading_factor=11, low_data_rate=False), {0x26: 0x04}),
        (Modem(frequency_hz=868_300_000, spreading_factor=10), {0x26: 0x04, 0x1E: 0xA0}),
        # SF6 has settings of its own, and no header (data sheet 4.1.1.2).
        (
            Modem(frequency_hz=868_300_000, spreading_factor=6, explicit_header=False, payload_length=9),
            {0x31: 0x45, 0x37: 0x0C, 0x1D: 0x73, 0x1E: 0x60, 0x22: 9},
        ),
        (Modem(frequency_hz=433_300_000, crc=True), {0x01: 0x8D, 0x1E: 0x74}),
        (Modem(frequency_hz=868_300_000, inverted_iq=True), {0x33: 0x66, 0x3B: 0x19}),
    ],
)
def test_errata_and_special_cases(air: Air, modem: Modem, expected: dict[int, int]) -> None:
    chip = registers(air, modem)
    assert {register: chip.register(register) for register in expected} == expected


def test_with_a_moved_frequency_it_sends_on_the_channel_itself(air: Air) -> None:
    ana = air.station(SX127X, "ana", Modem(frequency_hz=868_300_000, bandwidth_hz=7_800, spreading_factor=7))
    assert isinstance(ana.chip, EmulatedSx127x)
    ana.driver.start_send(b"x")
    air.timeline.advance(1_000)
    assert bytes(ana.chip.register(6 + offset) for offset in range(3)) == frequency_registers(868_300_000)


@pytest.mark.parametrize(
    ("power_dbm", "expected"),
    [
        (2, {0x09: 0xF0, 0x4D: 0x84, 0x0B: 0x2B}),
        (17, {0x09: 0xFF, 0x4D: 0x84, 0x0B: 0x2B}),
        (18, {0x09: 0xFD, 0x4D: 0x87, 0x0B: 0x31}),
        (20, {0x09: 0xFF, 0x4D: 0x87, 0x0B: 0x31}),
    ],
)
def test_power_on_pa_boost(air: Air, power_dbm: int, expected: dict[int, int]) -> None:
    chip = registers(air, power_dbm=power_dbm)
    assert {register: chip.register(register) for register in expected} == expected


@pytest.mark.parametrize(("power_dbm", "told_dbm"), [(-4, -4.2), (0, -0.2), (1, 1.0), (14, 14.0)])
def test_power_on_rfo(air: Air, power_dbm: int, told_dbm: float) -> None:
    ana = air.station(SX127X, "ana", None)
    driver = Sx127x(ana.wiring, boost=False)
    driver.begin()
    driver.configure(TINYSSB, power_dbm)
    assert ana.chip.power_dbm() == pytest.approx(told_dbm)
    with pytest.raises(ModemError, match="power_dbm"):
        driver.configure(TINYSSB, 15)


def test_sf6_with_a_header_does_not_exist(air: Air) -> None:
    ana = air.station(SX127X, "ana", None)
    ana.driver.begin()
    with pytest.raises(ModemError, match="spreading_factor = 6"):
        ana.driver.configure(Modem(frequency_hz=868_300_000, spreading_factor=6), 14)


def test_an_older_chip_is_told(air: Air) -> None:
    ana = air.station(SX127X, "ana", None)
    assert isinstance(ana.chip, EmulatedSx127x)
    ana.chip.version = 0x22
    with pytest.raises(WrongChipError, match="RegVersion is 0x22, expected 0x12"):
        ana.driver.begin()


def test_a_chip_without_a_reset_line_is_set_up_from_whatever_state(air: Air) -> None:
    ana = air.station("uputronics-lora-ce0", "ana")
    ana.driver.start_send(bytes(200))
    air.timeline.advance(10_000)
    ana.start()
    assert ana.driver.differences() == []
    assert ana.driver.after_reset() == []


def test_the_gain_that_the_agc_moves_is_no_difference(air: Air) -> None:
    ana = air.station(SX127X, "ana")
    assert isinstance(ana.chip, EmulatedSx127x)
    ana.chip.set_gain(0xC3)
    assert ana.driver.differences() == []
    ana.chip.set_gain(0xC0)
    assert [wrong.name for wrong in ana.driver.differences()] == ["RegLna"]


@pytest.mark.parametrize(("strength_dbm", "snr_db", "expected_dbm"), [(-60, 9.0, -60), (-130, -12.5, -130)])
def test_the_low_bands_count_from_another_offset(
    air: Air, strength_dbm: float, snr_db: float, expected_dbm: int
) -> None:
    modem = Modem(frequency_hz=433_300_000, spreading_factor=10)
    ana = air.station(SX127X, "ana", modem)
    ben = air.station("loraham-pi-433", "ben", modem)
    air.ether.losses_db["ben", "ana"] = 14.0 - strength_dbm
    ben.send(bytes(10))
    heard = ana.received()
    assert heard is not None
    assert abs(heard.rssi_dbm - expected_dbm) <= 1
