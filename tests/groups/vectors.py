"""Test vectors of envelopes: what programs for classic feeds made, and what docs/formats/envelope.md adds."""

import json
from pathlib import Path
from typing import Any

from tinyssb_node.groups.envelope import SlotKey, SlotScheme

FOLDER = Path(__file__).parents[1] / "vectors/groups/envelope"


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of the file *name*."""
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["cases"]
    return found


def slot_keys(recipients: list[dict[str, str]]) -> list[SlotKey]:
    """Recipients, or keys to try, of a case."""
    return [SlotKey(bytes.fromhex(one["key"]), SlotScheme(one["scheme_utf8"])) for one in recipients]
