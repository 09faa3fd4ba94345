"""Emulated chips as data sheets say they are: what a careless driver would meet."""

import pytest

from firmware_bridge.boards import load_board
from firmware_bridge.chips import sx126x, sx127x
from firmware_bridge.chips.modem import Modem
from firmware_bridge.emulation.board import ISOLATION_DB, EmulatedBoard
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, Signal
from firmware_bridge.emulation.sx126x import EmulatedSx126x
from firmware_bridge.emulation.sx127x import EmulatedSx127x
from tests.emulated.timeline import VirtualTimeline

MODEM = Modem(frequency_hz=868_300_000)


@pytest.fixture
def ether() -> Ether:
    return Ether(VirtualTimeline())


def advance(ether: Ether, us: int) -> None:
    assert isinstance(ether.timeline, VirtualTimeline)
    ether.timeline.advance(us)


class Chip127:
    """A SX1276 by hand."""

    def __init__(self, ether: Ether) -> None:
        self.chip = EmulatedSx127x(ether, "by hand")

    def read(self, register: int) -> int:
        return self.chip.transfer(bytes([register, 0]))[1]

    def write(self, register: int, *values: int) -> None:
        self.chip.transfer(bytes([register | 0x80, *values]))

    def lora(self) -> None:
        self.write(sx127x.REG_OP_MODE, 0x00)
        self.write(sx127x.REG_OP_MODE, 0x80)
        self.write(sx127x.REG_OP_MODE, 0x81)


def test_after_a_reset_a_sx1276_holds_its_table(ether: Ether) -> None:
    chip = Chip127(ether)
    assert {register: chip.read(register) for register in sx127x.RESET_VALUES} == sx127x.RESET_VALUES


def test_lora_mode_is_entered_in_sleep_only(ether: Ether) -> None:
    chip = Chip127(ether)
    chip.write(sx127x.REG_OP_MODE, 0x81)
    assert chip.read(sx127x.REG_OP_MODE) == 0x01
    chip.lora()
    assert chip.read(sx127x.REG_OP_MODE) == 0x81
    assert chip.chip.violations == ["LongRangeMode was changed outside sleep"]


def test_the_fifo_goes_round_and_is_lost_in_sleep(ether: Ether) -> None:
    chip = Chip127(ether)
    chip.lora()
    chip.write(sx127x.REG_FIFO_ADDR_PTR, 254)
    chip.write(sx127x.REG_FIFO, 1, 2, 3)
    assert chip.read(sx127x.REG_FIFO_ADDR_PTR) == 1
    chip.write(sx127x.REG_FIFO_ADDR_PTR, 254)
    assert chip.chip.transfer(bytes(4))[1:] == b"\x01\x02\x03"
    chip.write(sx127x.REG_OP_MODE, 0x80)
    assert chip.chip.transfer(bytes(2)) == b"\x00\x00"
    chip.write(sx127x.REG_FIFO, 9)
    assert len(chip.chip.violations) == 2
    chip.lora()
    chip.write(sx127x.REG_FIFO_ADDR_PTR, 254)
    assert chip.chip.transfer(bytes(4))[1:] == b"\x00\x00\x00"


def test_settings_are_not_changed_while_receiving(ether: Ether) -> None:
    chip = Chip127(ether)
    chip.lora()
    chip.write(sx127x.REG_OP_MODE, 0x85)
    chip.write(sx127x.REG_SYNC_WORD, 0x34)
    chip.write(sx127x.REG_VERSION, 0)
    assert chip.chip.violations == ["register 0x39 was written in mode 5", "RegVersion was written"]


def test_a_masked_flag_is_not_raised(ether: Ether) -> None:
    chip = Chip127(ether)
    chip.lora()
    chip.write(sx127x.REG_IRQ_MASK, sx127x.IRQ_TX_DONE)
    chip.write(sx127x.REG_OP_MODE, 0x83)
    advance(ether, 1_000_000)
    assert chip.read(sx127x.REG_OP_MODE) == 0x81
    assert chip.read(sx127x.REG_IRQ_FLAGS) == 0


def test_a_chip_that_is_held_in_reset_or_just_starts_says_nothing(ether: Ether) -> None:
    chip = Chip127(ether)
    chip.chip.reset_line(False)
    assert chip.read(sx127x.REG_VERSION) == 0
    chip.chip.reset_line(True)
    assert chip.read(sx127x.REG_VERSION) == 0
    advance(ether, 5_000)
    assert chip.read(sx127x.REG_VERSION) == 0x12


class Chip126:
    """A SX1262 by hand."""

    def __init__(self, ether: Ether) -> None:
        self.ether = ether
        self.chip = EmulatedSx126x(ether, "by hand")

    def give(self, *data: int) -> bytes:
        answer = self.chip.transfer(bytes(data))
        advance(self.ether, 4_000)
        return answer


def test_a_command_while_busy_is_lost(ether: Ether) -> None:
    chip = Chip126(ether).chip
    chip.transfer(bytes([sx126x.CMD_SET_PACKET_TYPE, 1]))
    assert chip.busy()
    chip.transfer(bytes([sx126x.CMD_SET_STANDBY, 0]))
    assert chip.violations == ["command 0x80 while busy"]


def test_calibration_takes_its_time(ether: Ether) -> None:
    chip = Chip126(ether).chip
    chip.transfer(bytes([sx126x.CMD_CALIBRATE, 0x7F]))
    advance(ether, 3_400)
    assert chip.busy()
    advance(ether, 200)
    assert not chip.busy()


def test_nothing_is_sent_without_a_packet_type(ether: Ether) -> None:
    chip = Chip126(ether)
    chip.give(sx126x.CMD_SET_TX, 0, 0, 0)
    assert chip.give(sx126x.CMD_GET_STATUS, 0)[1] == 0x2A, "standby, and the command failed"
    assert list(ether.sent) == []
    assert chip.chip.violations == ["sent or received without a packet type"]


def test_a_command_that_does_not_exist(ether: Ether) -> None:
    chip = Chip126(ether)
    assert len(chip.give(0xEE, 1, 2)) == 3
    assert chip.chip.violations == ["unknown command 0xEE"]


def test_only_flags_that_were_asked_for_are_raised(ether: Ether) -> None:
    chip = Chip126(ether)
    chip.give(sx126x.CMD_SET_PACKET_TYPE, 1)
    chip.give(sx126x.CMD_SET_DIO_IRQ, 0, 0, 0, 1, 0, 0, 0, 0)
    chip.give(sx126x.CMD_SET_TX, 0, 0, 0)
    advance(ether, 5_000_000)
    assert chip.give(sx126x.CMD_GET_IRQ, 0, 0, 0)[2:] == b"\x00\x00"


def test_selecting_a_sleeping_chip_wakes_it(ether: Ether) -> None:
    chip = Chip126(ether)
    chip.give(sx126x.CMD_SET_SLEEP, 4)
    assert chip.chip.busy()
    chip.give(sx126x.CMD_GET_STATUS, 0)
    assert not chip.chip.busy()


@pytest.mark.parametrize("board", ["meshadv-pi", "nebrahat-1w", "rak6421-rak13300-slot1"])
def test_an_antenna_switch_that_is_not_turned_isolates(ether: Ether, board: str) -> None:
    emulated = EmulatedBoard(load_board(board), ether, board)
    pins = emulated.profile.pins
    for line in (pins.rx_enable, *pins.enable):
        if line is not None:
            emulated.set(line, True)
    assert emulated.chip.antenna.gain_db() == 0.0
    for line in (pins.rx_enable, *pins.enable):
        if line is not None:
            emulated.set(line, False)
    assert emulated.chip.antenna.gain_db() == ISOLATION_DB


def test_a_chip_that_is_not_selected_does_not_listen(ether: Ether) -> None:
    board = EmulatedBoard(load_board("dragino-lora-gps-hat"), ether, "a")
    assert board.transfer(b"\x42\x00") == b"\xff\xff"
    board.set(25, False)
    assert board.transfer(b"\x42\x00") == b"\x00\x12"


def test_an_input_cannot_be_driven(ether: Ether) -> None:
    with pytest.raises(PermissionError):
        EmulatedBoard(load_board("dragino-lora-gps-hat"), ether, "a").set(4, True)


def test_what_was_sent_is_forgotten_after_a_minute(ether: Ether) -> None:
    antenna = EmulatedAntenna("a", EmulatedSx127x(ether, "a"))
    for _ in range(100):
        now_us = ether.timeline.now_us()
        ether.transmit(antenna, Signal(modem=MODEM, payload=b"x", power_dbm=0, start_us=now_us))
        advance(ether, 1_000_000)
    assert 60 <= len(ether.sent) <= 63


def test_who_has_left_hears_nothing(ether: Ether) -> None:
    chip = EmulatedSx127x(ether, "a")
    ether.listen(chip.antenna, MODEM)
    ether.leave(chip.antenna)
    sender = EmulatedAntenna("b", chip)
    ether.transmit(sender, Signal(modem=MODEM, payload=b"x", power_dbm=0, start_us=0))
    advance(ether, 1_000_000)
    assert chip.antenna.locked is None
