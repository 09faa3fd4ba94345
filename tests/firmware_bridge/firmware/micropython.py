"""The firmware on MicroPython itself: its WebAssembly build under Node.js, with an emulated board on this side."""

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

from firmware_bridge.firmware.port import Console
from firmware_bridge.flashing import module_of, write_firmware
from tests import needs
from tests.emulated.microcontroller import EmulatedController

HERE = Path(__file__).parent
BOARD_FILE = """
from {module} import BOARD
"""


def lay_out(folder: Path, controller: str) -> None:
    """Put into *folder* what goes onto a board, and what stands for its machine."""
    write_firmware(controller, folder)
    (folder / "board.py").write_text(BOARD_FILE.format(module=module_of(controller)))
    shutil.copy(HERE / "on_micropython.py", folder)


class OnMicroPython:
    """Implements Firmware."""

    def __init__(
        self,
        folder: Path,
        board: str,
        controller: EmulatedController,
        host: Console,
        clock_us: Callable[[], int],
        by_watchdog: bool,
    ) -> None:
        lay_out(folder, board)
        self._controller = controller
        self._host = host
        self._clock_us = clock_us
        self._by_watchdog = by_watchdog
        self._pins = controller.machine.Pin
        self._spi = controller.machine.SPI(0)
        node, micropython = shutil.which("node"), needs.micropython()
        assert node is not None
        assert micropython is not None
        self._process = subprocess.Popen(
            [node, str(HERE / "micropython.mjs"), str(micropython), str(folder), "on_micropython"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self.before_bytes, self.after_bytes = map(int, self._serve_until("began"))
        """Use of MicroPython's heap with all modules loaded, and with all objects made."""

    def turn(self) -> bool:
        """See Firmware."""
        self._answer("turn")
        return self._serve_until("ended") == ["1"]

    def _serve_until(self, word: str) -> list[str]:
        """Answer what is asked, until *word*, whose arguments are returned and which waits for an answer."""
        assert self._process.stdout is not None
        while line := self._process.stdout.readline().decode():
            name, *arguments = line.split()
            if name == word:
                return arguments
            self._answer(self._do(name, arguments))
        assert self._process.stderr is not None
        raise AssertionError(self._process.stderr.read().decode()[-2_000:])

    def _answer(self, line: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line.encode() + b"\n")
        self._process.stdin.flush()

    def _do(self, name: str, arguments: list[str]) -> str:
        """Do what MicroPython requests of the world."""
        match name, arguments:
            case "pin", [number]:
                return str(self._pins(int(number))())
            case "pin", [number, value]:
                self._pins(int(number))(int(value))
            case "spi", [data]:
                answer = bytearray(len(data) // 2)
                self._spi.write_readinto(bytes.fromhex(data), answer)
                return answer.hex()
            case "sleep", [us]:
                self._controller.sleep_us(int(us))
            case "clock", []:
                return str(self._clock_us())
            case "feed", []:
                self._controller.machine.feed()
            case _:
                return self._do_console(name, arguments)
        return ""

    def _do_console(self, name: str, arguments: list[str]) -> str:
        match name, arguments:
            case "read", [most]:
                return self._host.read(int(most)).hex()
            case "writable", []:
                return str(int(self._host.writable()))
            case "write", [data]:
                self._host.write(bytes.fromhex(data))
            case "random", []:
                return "0"
            case "cause", []:
                return str(int(self._by_watchdog))
            case _:
                raise AssertionError((name, arguments))
        return ""

    def close(self) -> None:
        """See Firmware."""
        process = self._process
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdin.close()
        process.wait(timeout=30)
        process.stdout.close()
        process.stderr.close()
