"""One board's pins, as its chip's driver moves them."""

from dataclasses import dataclass, field

import pytest

from firmware_bridge.boards import load_board
from firmware_bridge.chips.errors import ChipBusyError, ModemError
from firmware_bridge.chips.modem import PATH_OFF, PATH_RECEIVE, PATH_SEND, RESET_LOW_US, RESET_WAIT_US
from firmware_bridge.drivers.errors import RadioError, UnfitError
from firmware_bridge.drivers.wiring import HardwareChipPort, explain, idle_levels, make_chip

BOARD = load_board("meshadv-pi")


@dataclass
class Recorder:
    """A bus and lines that write down what is done to them."""

    done: list[object] = field(default_factory=list)
    fails: bool = False
    fd: int = -1

    def transfer(self, data: bytes) -> bytes:
        self.done.append(data)
        if self.fails:
            raise OSError(5, "Input/output error")
        return data

    def set(self, line: int, high: bool) -> None:
        self.done.append((line, high))
        if self.fails and line != 21:
            raise OSError(5, "Input/output error")

    def get(self, line: int) -> bool:
        self.done.append(line)
        if self.fails:
            raise OSError(5, "Input/output error")
        return True

    def take_edges(self) -> int:
        return 0

    def close(self) -> None:
        self.done.append("closed")


def wired(board: str = "meshadv-pi", *, fails: bool = False) -> tuple[HardwareChipPort, Recorder]:
    recorder = Recorder(fails=fails)
    return HardwareChipPort(
        load_board(board), recorder, lambda s: recorder.done.append(round(s * 1e6))
    ), recorder


def test_a_chip_select_of_ours_is_low_for_the_whole_transfer() -> None:
    wiring, recorder = wired()
    assert wiring.transfer(b"\x01\x02") == b"\x01\x02"
    assert recorder.done == [(21, False), b"\x01\x02", (21, True)]


def test_it_is_let_go_even_if_the_transfer_fails() -> None:
    wiring, recorder = wired(fails=True)
    with pytest.raises(RadioError, match=r"/dev/spidev0\.0 fails: Input/output error"):
        wiring.transfer(b"\x01")
    assert recorder.done[-1] == (21, True)


def test_the_controllers_own_is_left_to_it() -> None:
    wiring, recorder = wired("meshadv-mini")
    wiring.transfer(b"\x01")
    assert recorder.done == [b"\x01"]


def test_a_reset_is_as_long_as_chips_ask_for() -> None:
    wiring, recorder = wired()
    assert wiring.reset()
    assert recorder.done == [(18, False), RESET_LOW_US, (18, True), RESET_WAIT_US]
    assert not wired("uputronics-lora-ce0")[0].reset()


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (PATH_OFF, [(13, False), (12, False)]),
        (PATH_RECEIVE, [(13, False), (12, True)]),
        (PATH_SEND, [(12, False), (13, True)]),
    ],
)
def test_the_antenna_switch_never_has_both_lines_high(path: int, expected: list[tuple[int, bool]]) -> None:
    wiring, recorder = wired()
    wiring.switch(path)
    assert recorder.done == expected


def test_lines_that_fail_are_told_as_such() -> None:
    wiring, _ = wired(fails=True)
    for use in (wiring.busy, wiring.interrupted, wiring.reset):
        with pytest.raises(RadioError, match=r"/dev/spidev0\.0 fails"):
            use()


def test_without_a_busy_line_nobody_is_busy() -> None:
    assert not wired("dragino-lora-gps-hat")[0].busy()


def test_outputs_begin_so_that_nothing_happens() -> None:
    assert idle_levels(BOARD) == {21: True, 18: True, 13: False, 12: False}
    assert idle_levels(load_board("rak6421-rak13300-slot1")) == {16: True, 12: True, 13: True}


def test_a_board_behind_a_serial_port_has_no_driver_here() -> None:
    profile = load_board("waveshare-lora-uart-hat")
    with pytest.raises(UnfitError, match="is on a serial port"):
        make_chip(profile, HardwareChipPort(profile, Recorder()))


def test_other_faults_of_a_chip_are_explained() -> None:
    assert (
        explain(BOARD, ChipBusyError("SX126x", 20_000)).found
        == "The radio hangs (BUSY has been high for 20 ms)"
    )
    told = explain(BOARD, ModemError("SX126x", "frequency_hz", 1))
    assert isinstance(told, UnfitError)
    assert "cannot be set to frequency_hz = 1" in str(told)
