"""SX126x: what commands are given, by the tables of its data sheet and its known limitations."""

import pytest

from firmware_bridge.chips import sx126x
from firmware_bridge.chips.errors import ChipBusyError, ModemError, OscillatorError, WrongChipError
from firmware_bridge.chips.modem import BANDWIDTHS_HZ, Modem
from firmware_bridge.chips.sx126x import Sx126x, frequency_word, sync_word_registers
from firmware_bridge.emulation.sx126x import EmulatedSx126x
from tests.firmware_bridge.chips.virtual import SX126X, TINYSSB, Air, Station


def emulated(station: Station) -> EmulatedSx126x:
    """The chip under *station*."""
    assert isinstance(station.chip, EmulatedSx126x)
    return station.chip


def driver(station: Station) -> Sx126x:
    """Its driver."""
    assert isinstance(station.driver, Sx126x)
    return station.driver


@pytest.mark.parametrize(
    ("frequency_hz", "expected"),
    [(868_300_000, "3644cccc"), (915_000_000, "39300000"), (433_300_000, "1b14cccc")],
)
def test_frequencies(frequency_hz: int, expected: str) -> None:
    assert frequency_word(frequency_hz).hex() == expected


def test_codes_are_those_of_the_data_sheet() -> None:
    # Tables 13-48 and 13-35.
    assert dict(zip(BANDWIDTHS_HZ, sx126x.BANDWIDTH_CODES, strict=True)) == {
        7_800: 0x00, 10_400: 0x08, 15_600: 0x01, 20_800: 0x09, 31_250: 0x02, 41_700: 0x0A,
        62_500: 0x03, 125_000: 0x04, 250_000: 0x05, 500_000: 0x06,
    }  # fmt: skip
    assert dict(enumerate(sx126x.TCXO_MV)) == {
        0: 1_600, 1: 1_700, 2: 1_800, 3: 2_200, 4: 2_400, 5: 2_700, 6: 3_000, 7: 3_300,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("sync_word", "expected"), [(0x58, "5484"), (0x12, "1424"), (0x34, "3444"), (0x2B, "24b4")]
)
def test_sync_words_are_those_of_sx127x(sync_word: int, expected: str) -> None:
    assert sync_word_registers(sync_word).hex() == expected


@pytest.mark.parametrize(
    ("modem", "register", "bits", "value"),
    [
        (TINYSSB, sx126x.REG_TX_MODULATION, 0x04, 0x04),
        (Modem(frequency_hz=868_300_000, bandwidth_hz=500_000), sx126x.REG_TX_MODULATION, 0x04, 0x00),
        (TINYSSB, sx126x.REG_TX_CLAMP, 0x1E, 0x1E),
        (TINYSSB, sx126x.REG_IQ_POLARITY, 0x04, 0x04),
        (Modem(frequency_hz=868_300_000, inverted_iq=True), sx126x.REG_IQ_POLARITY, 0x04, 0x00),
        (TINYSSB, sx126x.REG_OCP, 0xFF, 0x38),
        (TINYSSB, sx126x.REG_RX_GAIN, 0xFF, 0x96),
        (TINYSSB, sx126x.REG_SYNC_WORD, 0xFF, 0x54),
        (TINYSSB, sx126x.REG_SYNC_WORD + 1, 0xFF, 0x84),
    ],
)
def test_limitations_and_registers(air: Air, modem: Modem, register: int, bits: int, value: int) -> None:
    ana = air.station(SX126X, "ana", modem)
    assert emulated(ana).registers[register] & bits == value


def test_other_bits_of_a_trimmed_register_stay(air: Air) -> None:
    ana = air.station(SX126X, "ana")
    assert emulated(ana).registers[sx126x.REG_TX_CLAMP] == 0xC8 | 0x1E
    assert emulated(ana).registers[sx126x.REG_IQ_POLARITY] == 0x0D


@pytest.mark.parametrize(
    ("frequency_hz", "expected"),
    [
        (433_300_000, "6b6f"),
        (868_300_000, "d7db"),
        (904_600_000, "e1e9"),
        (490_000_000, "7581"),
        (780_000_000, "c1c5"),
    ],
)
def test_the_image_is_calibrated_for_the_band(air: Air, frequency_hz: int, expected: str) -> None:
    ana = air.station(SX126X, "ana", Modem(frequency_hz=frequency_hz))
    assert emulated(ana).image_calibrated == bytes.fromhex(expected)


def test_a_band_without_a_table_is_left_alone(air: Air) -> None:
    assert emulated(air.station(SX126X, "ana", Modem(frequency_hz=160_000_000))).image_calibrated is None


def test_the_amplifier_is_set_up_for_its_full_power(air: Air) -> None:
    ana = air.station(SX126X, "ana", TINYSSB, 22)
    assert emulated(ana).pa_config == bytes([4, 7, 0, 1])
    assert ana.chip.power_dbm() == 22
    ben = air.station(SX126X, "ben", TINYSSB, -9)
    assert ben.chip.power_dbm() == -9


def test_a_sx1261_has_an_amplifier_of_its_own(air: Air) -> None:
    ana = air.station(SX126X, "ana", None)
    emulated(ana).low_power = True
    chip = Sx126x(ana.wiring, "sx1261", tcxo_mv=1_800)
    chip.begin()
    chip.configure(TINYSSB, 14)
    assert emulated(ana).pa_config == bytes([4, 0, 1, 1])
    assert emulated(ana).registers[sx126x.REG_OCP] == 0x18
    assert emulated(ana).registers[sx126x.REG_TX_CLAMP] == 0xC8, "the limitation is the SX1262's"
    assert ana.chip.power_dbm() == 14
    with pytest.raises(ModemError, match="power_dbm"):
        chip.configure(TINYSSB, 15)


def test_a_tcxo_that_is_not_powered_is_told(air: Air) -> None:
    ana = air.station(SX126X, "ana", None)
    with pytest.raises(OscillatorError) as caught:
        Sx126x(ana.wiring, "sx1262").begin()
    assert caught.value.errors == 0x0020


def test_a_wrong_voltage_is_no_setting(air: Air) -> None:
    with pytest.raises(ModemError, match="tcxo_mv = 1900"):
        Sx126x(air.station(SX126X, "ana", None).wiring, tcxo_mv=1_900)


def test_a_chip_that_stays_busy_is_told(air: Air) -> None:
    ana = air.station(SX126X, "ana")
    ana.chip.hung = True
    with pytest.raises(ChipBusyError) as caught:
        ana.driver.take_events()
    assert caught.value.waited_us == sx126x.BUSY_MAX_US


def test_a_chip_that_a_reset_leaves_as_another_is_told(air: Air, monkeypatch: pytest.MonkeyPatch) -> None:
    ana = air.station(SX126X, "ana", None)
    transfer = ana.chip.transfer

    def without_registers(data: bytes) -> bytes:
        answer = transfer(data)
        return bytes(len(answer)) if data[0] == sx126x.CMD_READ_REGISTER else answer

    monkeypatch.setattr(ana.chip, "transfer", without_registers)
    with pytest.raises(WrongChipError, match="LoRa sync word MSB is 0x00, expected 0x14"):
        ana.driver.begin()


def test_it_says_what_it_is(air: Air) -> None:
    ana = air.station(SX126X, "ana")
    assert driver(ana).status() >> 4 & 7 == 5
    assert driver(ana).device_errors() == 0


def test_a_preamble_alone_counts_once(air: Air) -> None:
    ana, ben = air.station(SX126X, "ana"), air.station(SX126X, "ben", Modem(frequency_hz=868_300_000))
    ana.driver.start_send(bytes(20))
    air.timeline.advance(1_000_000)
    # Another sync word: the preamble was seen, and nothing followed.
    assert ben.driver.receiving()
    assert not ben.driver.receiving()
    assert ben.received() is None


def test_a_header_that_is_damaged_ends_what_began(air: Air) -> None:
    ana, cleo, ben = (air.station(SX126X, name) for name in ("ana", "cleo", "ben"))
    ana.driver.start_send(bytes(100))
    air.timeline.advance(14_000)
    cleo.driver.start_send(bytes(100))
    air.timeline.advance(1_000_000)
    assert ben.received() is None
    assert not ben.driver.receiving()


def test_without_a_reset_line_a_sleeping_chip_wakes(air: Air) -> None:
    ana = air.station(SX126X, "ana")
    ana.driver.sleep()
    assert ana.wiring.busy()
    chip = driver(ana)
    chip.configure(TINYSSB, 14)
    chip.start_receive()
    assert chip.differences() == []
