"""Words of the page for numbers, as its own module makes them; run by Node.js where that is installed."""

import json
import shutil
import subprocess
from pathlib import Path

import pytest

from tests import needs

STATIC = Path(__file__).parents[3] / "spark_sink/page/static"


def words(expression: str, folder: Path) -> object:
    """Return the value of an expression that uses the names of format.js by ``f``."""
    node = shutil.which("node")
    if node is None:
        pytest.skip(needs.reason("Node.js", "nodejs"))
    (folder / "package.json").write_text('{"type": "module"}')
    for module in STATIC.glob("*.js"):
        shutil.copy(module, folder)
    (folder / "ask.js").write_text(
        f'import * as f from "./format.js"; console.log(JSON.stringify({expression}));'
    )
    done = subprocess.run(
        [node, "ask.js"], cwd=folder, capture_output=True, check=True, text=True, timeout=60
    )
    found: object = json.loads(done.stdout)
    return found


def test_a_record_far_ahead_is_not_just_now(tmp_path: Path) -> None:
    ages = [5_000_000, 0, -60_000_000, -60_000_001, -2 * 3_600_000_000, -26_645 * 24 * 3_600_000_000]
    assert words(f"{ages}.map(f.recordAge)", tmp_path) == [
        "5 s ago",
        "just now",
        "just now",
        "1 min ahead",
        "2 h ahead",
        "26,645 d ahead",
    ]
    assert words(f"{ages}.map(f.isAhead)", tmp_path) == [False, False, False, True, True, True]
