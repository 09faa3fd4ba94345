"""Bytes that other programs made, read from ``tests/vectors/tinyssb``."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent.parent / "vectors" / "tinyssb"


def load(name: str) -> Any:
    """A JSON file of the folder."""
    return json.loads((FOLDER / name).read_text())


def load_lines(name: str) -> Sequence[Mapping[str, Any]]:
    """A file with one JSON object a line."""
    return [json.loads(line) for line in (FOLDER / name).read_text().splitlines()]
