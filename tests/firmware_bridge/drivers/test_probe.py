"""A look at a board that is not as it should be."""

import pytest

from firmware_bridge.boards import load_board
from firmware_bridge.chips.modem import Modem
from firmware_bridge.drivers.probe import Finding, probe
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, Signal
from firmware_bridge.emulation.sx126x import EmulatedSx126x
from firmware_bridge.emulation.sx127x import EmulatedSx127x
from tests.emulated.timeline import VirtualTimeline
from tests.firmware_bridge.drivers.bench import SX126X, SX127X

BOARDS = [SX127X, SX126X]


class Looked:
    """An emulated board and what was found of it."""

    def __init__(self, board: str = SX127X) -> None:
        self.timeline = VirtualTimeline()
        self.ether = Ether(self.timeline)
        self.board = EmulatedBoard(load_board(board), self.ether, "probed")

    def look(self) -> dict[str, Finding]:
        findings = probe(
            self.board.profile, lambda _: self.board.open(), lambda s: self.timeline.advance(round(s * 1e6))
        )
        return {finding.check: finding for finding in findings}


@pytest.mark.parametrize("board", BOARDS)
def test_a_board_that_is_well(board: str) -> None:
    looked = Looked(board)
    found = looked.look()
    assert [finding for finding in found.values() if not finding.ok] == []
    assert list(found) == ["devices", "chip", "reset", "settings", "interrupt", "receiver"]
    assert looked.board.chip.violations == []
    assert list(looked.ether.sent) == [], "nothing is sent"


@pytest.mark.parametrize("board", BOARDS)
@pytest.mark.parametrize("value", [0x00, 0xFF])
def test_no_board_at_all(board: str, value: int) -> None:
    looked = Looked(board)
    looked.board.stuck_at = value
    bad = looked.look()["chip"]
    assert not bad.ok
    assert bad.advice
    words = f"every bit reads {value & 1}" if (board, value) != (SX126X, 0xFF) else "BUSY has been high"
    assert words in bad.found


def test_an_older_chip() -> None:
    looked = Looked()
    looked.board.chip = EmulatedSx127x(looked.ether, "older", version=0x22)
    bad = looked.look()["chip"]
    assert (
        bad.found == "The chip that answers is no SX1276: its RegVersion is 0x22, not 0x12. That is a SX1272"
    )
    assert bad.advice == "Name the board that is there; 'dragino-lora-gps-hat' has a SX1276."


def test_a_board_of_the_other_family() -> None:
    looked = Looked(SX127X)
    looked.board.chip = EmulatedSx126x(looked.ether, "other")
    assert not looked.look()["chip"].ok
    looked = Looked(SX126X)
    looked.board.chip = EmulatedSx127x(looked.ether, "other")
    assert not looked.look()["chip"].ok


def test_a_tcxo_that_the_profile_does_not_know_of() -> None:
    looked = Looked("waveshare-sx1262-lorawan-hat")
    looked.board.chip = EmulatedSx126x(looked.ether, "with TCXO", tcxo_mv=1_800)
    bad = looked.look()["chip"]
    assert "its clock does not start (device errors 0x0020): it may have a TCXO" in bad.found


def test_a_reset_line_that_leads_nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked()
    looked.look()
    monkeypatch.setattr(looked.board.chip, "reset_line", lambda _high: None)
    bad = looked.look()["reset"]
    assert "RegPaConfig (0x09) is 0x" in bad.found
    assert {wrong.name for wrong in bad.registers} >= {"RegPaConfig", "RegFrfLsb"}
    assert "Check the reset line" in bad.advice


def test_a_bus_that_loses_bits(monkeypatch: pytest.MonkeyPatch) -> None:
    looked = Looked()
    whole = looked.board.chip.transfer
    # 0xB9 writes the sync word.
    monkeypatch.setattr(
        looked.board.chip,
        "transfer",
        lambda data: whole(bytes([data[0], data[1] & 0xFD]) if data[0] == 0xB9 else data),
    )
    bad = looked.look()["settings"]
    assert bad.found == "RegSyncWord (0x39) is 0x10, not 0x12"
    assert "lower bus.speed_hz" in bad.advice


@pytest.mark.parametrize("board", BOARDS)
def test_an_interrupt_line_that_leads_nowhere(board: str) -> None:
    looked = Looked(board)
    looked.board.chip.on_line = lambda _line, _high: None
    bad = looked.look()["interrupt"]
    assert "did not rise: the chip had finished listening" in bad.found


def test_an_interrupt_line_that_is_always_high() -> None:
    looked = Looked()
    looked.board.chip.on_line("dio0", True)
    assert "is high although" in looked.look()["interrupt"].found


def test_a_channel_that_is_not_quiet() -> None:
    looked = Looked("loraham-pi-868")
    loud = EmulatedAntenna("loud", looked.board.chip)
    looked.ether.losses_db["loud", "probed"] = 10.0
    modem = Modem(frequency_hz=866_500_000, spreading_factor=12)
    looked.ether.transmit(loud, Signal(modem=modem, payload=bytes(255), power_dbm=14, start_us=0))
    bad = looked.look()["receiver"]
    assert bad.found == "4 dBm at 866.5 MHz"
    assert "something close by may be sending" in bad.advice
