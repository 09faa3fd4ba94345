"""The README's first promise, kept by the real thing: daemons, channel, sink and page."""

import json
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.spark
@pytest.mark.slow
def test_the_demonstration_ends_by_itself_and_everything_agrees(tmp_path: Path) -> None:
    tool = str(Path(sys.executable).with_name("tinyssb"))
    command = [
        tool,
        "demo",
        "--seconds",
        "60",
        "--engine",
        "spark",
        "--folder",
        str(tmp_path / "demo"),
        "--json",
    ]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr
    summary = json.loads(ran.stdout)
    total = sum(summary["published"].values())
    assert total >= 5 + 3
    assert summary["holds"] == summary["tables"] == dict.fromkeys(summary["published"], total)
    assert "7 copies of messages are missing" in ran.stderr
