"""Test vectors of envelopes: what programs for classic feeds made, and what docs/formats/envelope.md adds."""

import json
from pathlib import Path
from typing import Any

from tinyssb_node.groups.bfe import EnvelopeContext
from tinyssb_node.groups.envelope import SlotKey, SlotScheme

FOLDER = Path(__file__).parents[1] / "vectors/groups/envelope"


def cases(name: str) -> list[dict[str, Any]]:
    """The cases of the file *name*."""
    found: list[dict[str, Any]] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["cases"]
    return found


NOTHING = "0602"
"""BFE of no value: programs for classic feeds write it as the predecessor of a first message."""
FIRST_CODES = {"0000": "0100", "0001": "0101", "0003": "0104", "0004": "0105"}
"""Codes of feeds, and those of their messages."""


def context_of_case(case: dict[str, Any]) -> EnvelopeContext:
    """Return the context of a case; before a first message are 32 zeros with the code of the feed's messages."""
    feed, previous = case["feed_id"], case["prev_msg_id"]
    if previous == NOTHING:
        previous = FIRST_CODES[feed[:4]] + "00" * 32
    return EnvelopeContext(bytes.fromhex(feed), bytes.fromhex(previous))


def is_ours(recipient: dict[str, str]) -> bool:
    """Return whether a recipient is of a kind that we write to: not those by the feeds and post boxes of classic
    feeds."""
    return recipient["scheme_utf8"] in set(SlotScheme)


def slot_keys(recipients: list[dict[str, str]]) -> list[SlotKey]:
    """Recipients, or keys to try, of a case."""
    return [SlotKey(bytes.fromhex(one["key"]), SlotScheme(one["scheme_utf8"])) for one in recipients]
