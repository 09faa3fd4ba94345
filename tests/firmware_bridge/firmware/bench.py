"""The firmware on emulated boards, in time that passes when a test says so, and a host that speaks to it."""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Protocol

from firmware_bridge.emulation.ether import Ether
from firmware_bridge.firmware import kiss
from firmware_bridge.firmware.boards import heltec_v3, pico_rfm95
from firmware_bridge.firmware.port import Console
from firmware_bridge.firmware.program import Program
from firmware_bridge.firmware.wiring import Board
from firmware_bridge.serial.framing import KissFrameReader, serialize_frame
from firmware_bridge.serial.kiss import (
    Data,
    HardwareCommand,
    KissMessage,
    Setting,
    parse_message,
    serialize_message,
)
from firmware_bridge.serial.session import Noise
from tests.emulated.kiss_wire import Phy, RadioSettings, serialize_phy, serialize_radio
from tests.emulated.microcontroller import EmulatedController
from tests.emulated.timeline import VirtualTimeline

SX127X, SX126X = pico_rfm95.BOARD, heltec_v3.BOARD
TURN_US = 1_000
"""The firmware's loop turns a thousand times a second."""
EU868A = RadioSettings(frequency_hz=868_300_000, bandwidth_hz=125_000, spreading_factor=7, coding_rate=5)
TINYSSB = Phy(sync_word=0x58, crc=False, preamble_symbols=8, low_data_rate=False)
PACKET = bytes(range(0x80, 0xFC))
AIRTIME_US = 205_056
"""Of PACKET at EU868A."""


class HostEnd:
    """A console whose other end a test holds."""

    def __init__(self) -> None:
        self.to_board = bytearray()
        self.to_host = bytearray()
        self.reads = True
        """True if the host reads."""

    def read(self, most: int) -> bytes:
        data = bytes(self.to_board[:most])
        del self.to_board[:most]
        return data

    def writable(self) -> bool:
        return self.reads

    def write(self, data: bytes) -> None:
        assert self.reads
        self.to_host += data


class Firmware(Protocol):
    """Something that runs it."""

    def turn(self) -> bool: ...

    def close(self) -> None: ...


class Local:
    """The firmware in this very Python."""

    def __init__(
        self, controller: EmulatedController, host: Console, clock_us: Callable[[], int], by_watchdog: bool
    ) -> None:
        self.draws: Iterator[int] = repeat(0)
        """Numbers for the radio's decisions by chance."""
        self.program = Program(
            board=controller.map,
            machine=controller.machine,
            console=host,
            watchdog=controller.machine,
            clock_us=clock_us,
            sleep_us=controller.sleep_us,
            random_byte=lambda: next(self.draws),
            started_by_watchdog=by_watchdog,
        )

    def turn(self) -> bool:
        return self.program.turn()

    def close(self) -> None:
        """Nothing runs by itself."""


class Station:
    """A board with the firmware, and its host."""

    def __init__(
        self,
        air: "Air",
        board: Board,
        name: str,
        by_watchdog: bool,
        make: Callable[[EmulatedController, HostEnd, Callable[[], int], bool], Firmware] = Local,
        stuck_at: int | None = None,
    ) -> None:
        self._air = air
        self._reader = KissFrameReader()
        self.host = HostEnd()
        self.controller = EmulatedController(board, air.ether, name, air.timeline.advance)
        self.controller.board.stuck_at = stuck_at
        self.chip = self.controller.board.chip
        self.firmware = make(self.controller, self.host, air.timeline.now_us, by_watchdog)
        self.running = True

    @property
    def local(self) -> Local:
        assert isinstance(self.firmware, Local)
        return self.firmware

    @property
    def program(self) -> Program:
        return self.local.program

    def turn(self) -> None:
        self.running = self.running and self.firmware.turn()

    def write(self, message: KissMessage) -> None:
        """Let the host say something."""
        self.host.to_board += serialize_frame(serialize_message(message))

    def heard(self) -> list[KissMessage]:
        """Return the messages that the host heard since the last call."""
        data = bytes(self.host.to_host)
        self.host.to_host.clear()
        messages = []
        for frame in self._reader.feed(data):
            assert not isinstance(frame, Noise), frame
            message = parse_message(frame)
            assert not isinstance(message, Noise), message
            messages.append(message)
        return messages

    def ask(self, sub: int, data: bytes = b"") -> list[KissMessage]:
        """Say a sub-command, and tell all that came back."""
        self.write(HardwareCommand(sub, data))
        self._air.run(20_000)
        return self.heard()

    def set_up(
        self, radio: RadioSettings = EU868A, phy: Phy = TINYSSB, *, cad: int = 0, duty_permille: int = 0
    ) -> None:
        """Do what the daemon's host does."""
        assert self.ask(kiss.SET_PHY, serialize_phy(phy))[-1] == HardwareCommand(kiss.PHY, serialize_phy(phy))
        duty = self.ask(kiss.SET_DUTY, duty_permille.to_bytes(2, "little"))[-1]
        assert isinstance(duty, HardwareCommand)
        assert duty.sub == kiss.DUTY
        assert self.ask(kiss.SET_CAD, bytes([cad])) == [HardwareCommand(kiss.CAD, bytes([cad]))]
        assert self.ask(kiss.SET_RADIO, serialize_radio(radio)) == [HardwareCommand(kiss.OK)]
        assert self.ask(kiss.SET_POWER, b"\x0e") == [HardwareCommand(kiss.OK)]
        for command, value in (
            (kiss.TX_DELAY, 0),
            (kiss.PERSISTENCE, 255),
            (kiss.SLOT_TIME, 1),
            (kiss.FULL_DUPLEX, 1),
        ):
            self.write(Setting(command, value))
        self._air.run(5_000)

    def send(self, packet: bytes) -> int:
        """Send *packet*, and return its TxDone."""
        self.write(Data(packet))
        for _ in range(20_000):
            self._air.run(TURN_US)
            for message in self.heard():
                if isinstance(message, HardwareCommand) and message.sub == kiss.TX_DONE:
                    return message.data[0]
        raise AssertionError("no TxDone within 20 s")

    def close(self) -> None:
        self.firmware.close()
        self.controller.close()


class Air:
    """An ether, and the boards on it."""

    def __init__(self) -> None:
        self.timeline = VirtualTimeline()
        self.ether = Ether(self.timeline)
        self.stations: list[Station] = []

    def station(
        self,
        board: Board = SX127X,
        name: str = "ana",
        *,
        by_watchdog: bool = False,
        make: Callable[[EmulatedController, HostEnd, Callable[[], int], bool], Firmware] = Local,
        stuck_at: int | None = None,
    ) -> Station:
        """A new one, just switched on."""
        station = Station(self, board, name, by_watchdog, make, stuck_at)
        self.stations.append(station)
        return station

    def run(self, us: int) -> None:
        """Let so much time pass."""
        end_us = self.timeline.now_us() + us
        while self.timeline.now_us() < end_us:
            for station in self.stations:
                station.turn()
            self.timeline.advance(TURN_US)

    def close(self) -> None:
        for station in self.stations:
            station.close()
