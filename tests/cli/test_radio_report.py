"""The report of a radio: what it says, and what it must not say."""

import re
from pathlib import Path

import pytest

from firmware_bridge.drivers.probe import Finding
from tests.daemon.processes import tinyssb
from tinyssb_node import version
from tinyssb_node.cli import radio_report
from tinyssb_node.cli.radio_report import TimedFinding, machine_model, report_lines, timed
from tinyssb_node.errors import ExitCode


def found(text: str, *, ok: bool = True) -> TimedFinding:
    return TimedFinding(Finding(check="port", ok=ok, found=text), 1.5)


def test_a_board_reports_its_checks_and_versions(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "report", "--board", "meshadv-mini", "--emulated")
    assert ended.returncode == 0
    text = ended.stdout.decode()
    assert "| radio | meshadv-mini (EMULATED: not a report of hardware) |" in text
    assert f"| program | tinyssb {version()}, Python " in text
    assert re.search(r"^\| reset \| ok \| [0-9.]+ \| after a reset its registers hold", text, re.MULTILINE)
    assert b"It has no name, key, address or position" in ended.stderr


def test_wrong_registers_are_in_it_by_name(tmp_path: Path) -> None:
    lines = report_lines("x", [], [found("RegOpMode (0x01) is 0x00, not 0x09", ok=False)])
    assert "| port | BAD | 1.5 | RegOpMode (0x01) is 0x00, not 0x09 |" in lines


def test_names_of_files_and_devices_are_left_out() -> None:
    port = "/dev/serial/by-id/usb-Raspberry_Pi_Pico_E661410403-if00"
    seen = f"{port} is ours; it is a Meshtastic device, node !a1b2c3d4, at AA:BB:CC:00:11:22 | x"
    (line,) = [line for line in report_lines("a device", [port], [found(seen)]) if line.startswith("| port")]
    assert "E661410403" not in line
    assert "a1b2c3d4" not in line
    assert "AA:BB" not in line
    assert line.count("(left out)") == 3
    assert line.endswith("\\| x |")


def test_a_profile_of_ones_own_is_named_without_its_folder(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "report", "--board", str(tmp_path / "mine.toml"), "--emulated")
    assert ended.returncode == ExitCode.MISSING, "there is no such file"


def test_a_port_that_is_not_there_is_a_report_too(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path, "radio", "report", "--port", "/dev/nowhere")
    assert ended.returncode == ExitCode.ATTENTION
    assert b"| port | BAD |" in ended.stdout
    assert b"/dev/nowhere" not in ended.stdout


def test_bluetooth_is_reported_without_an_adapters_address(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DBUS_SYSTEM_BUS_ADDRESS", f"unix:path={tmp_path}/none")
    ended = tinyssb(tmp_path, "radio", "report", "--bluetooth")
    assert ended.returncode == ExitCode.ATTENTION
    assert b"| radio | Bluetooth |" in ended.stdout
    assert b"| service | BAD |" in ended.stdout


def test_each_check_is_timed_by_itself() -> None:
    findings = [found("a").finding, found("b").finding]
    assert [one.finding for one in timed(findings)] == findings


def test_the_machine_names_itself(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = tmp_path / "model"
    model.write_bytes(b"Raspberry Pi 4 Model B Rev 1.4\0")
    monkeypatch.setattr(radio_report, "MODEL", model)
    assert machine_model() == "Raspberry Pi 4 Model B Rev 1.4"
    model.unlink()
    assert machine_model()
