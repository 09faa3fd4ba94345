"""A chip's driver and the emulated chip under it, in time that passes when a test says so."""

from firmware_bridge.boards import load_board
from firmware_bridge.chips.modem import EVENT_RECEIVED, EVENT_SENT, Frame, Modem
from firmware_bridge.chips.port import LoraChip
from firmware_bridge.drivers.wiring import HardwareChipPort, make_chip
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.sx126x import EmulatedSx126x
from firmware_bridge.emulation.sx127x import EmulatedSx127x
from tests.emulated.timeline import VirtualTimeline

SX127X = "dragino-lora-gps-hat"
SX126X = "meshadv-pi"
TINYSSB = Modem(frequency_hz=868_300_000, sync_word=0x58)
"""Plan EU868.a."""
SECOND_US = 1_000_000


class Station:
    """One board on a virtual ether."""

    def __init__(self, ether: Ether, board: str, name: str) -> None:
        assert isinstance(ether.timeline, VirtualTimeline)
        self.timeline = ether.timeline
        self.board = EmulatedBoard(load_board(board), ether, name)
        self.hardware = self.board.open()
        self.wiring = HardwareChipPort(
            self.board.profile, self.hardware, lambda s: self.timeline.advance(round(s * 1e6))
        )
        self.driver: LoraChip = make_chip(self.board.profile, self.wiring)

    @property
    def chip(self) -> EmulatedSx127x | EmulatedSx126x:
        return self.board.chip

    def start(self, modem: Modem = TINYSSB, power_dbm: int = 14) -> None:
        """Listening."""
        self.driver.begin()
        self.driver.configure(modem, power_dbm)
        self.driver.start_receive()

    def send(self, frame: bytes) -> None:
        """Send *frame* to its end, and listen again."""
        self.driver.start_send(frame)
        self.timeline.advance(10 * SECOND_US)
        assert self.driver.take_events() == EVENT_SENT
        self.driver.start_receive()

    def received(self) -> Frame | None:
        """Return the frame that came in last; None if none did."""
        events = self.driver.take_events()
        return self.driver.read_frame(events) if events & EVENT_RECEIVED else None


class Air:
    """An ether and who is on it."""

    def __init__(self) -> None:
        self.timeline = VirtualTimeline()
        self.ether = Ether(self.timeline)
        self.stations: list[Station] = []

    def station(self, board: str, name: str, modem: Modem | None = TINYSSB, power_dbm: int = 14) -> Station:
        """A new one, listening unless *modem* is None."""
        station = Station(self.ether, board, name)
        self.stations.append(station)
        if modem is not None:
            station.start(modem, power_dbm)
            # A receiver needs a moment before it hears.
            self.timeline.advance(1_000)
        return station

    def close(self) -> None:
        """Let go of every board. No driver of ours ever does what a chip does not bear."""
        for station in self.stations:
            station.hardware.close()
