"""Lists of blocks as bytes, and what the steps of one make of it."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.test_bipf import VALUES
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import chat, limits
from tinyssb_node.content.blocklist import (
    BlockStep,
    block_step,
    fold_blocks,
    may_be_block_step,
    parse_block_step,
    serialize_block_step,
)
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import blocked_short
from tinyssb_node.limits import BLOCKED_SIZE, CONTENT_SIZE

FOLDER = Path(__file__).parents[2]
VECTORS = json.loads((FOLDER / "tests/vectors/content/blocklist_v1.json").read_text("utf-8"))["cases"]
SHORTS = st.integers(0, 9).map(lambda number: bytes((number,)) * 12)
TUPLES = st.lists(SHORTS, max_size=9).map(tuple)
STEPS = st.builds(BlockStep, TUPLES, TUPLES).filter(lambda step: bool(step.added or step.removed))


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: str(case["id"]))
def test_bytes_mean_what_the_vectors_say(case: Any) -> None:
    content = bytes.fromhex(case["bytes"])
    if case["added"] is None:
        assert parse_block_step(content) is None
        return
    added, removed = (tuple(map(bytes.fromhex, case[part])) for part in ("added", "removed"))
    assert parse_block_step(content) == BlockStep(added, removed)
    if case["written"]:
        assert serialize_block_step(BlockStep(added, removed)) == content


def test_the_page_takes_the_bytes_of_a_vector_apart() -> None:
    page = (FOLDER / "docs/formats/blocklist.md").read_text("utf-8")
    shown = [
        "".join(re.split(r" {2,}", line.strip())[0].replace(" ", "") for line in block.splitlines())
        for block in page.split("```")[1::2]
    ]
    assert VECTORS[0]["bytes"] in shown


@given(STEPS)
def test_a_step_is_read_as_it_was_written(step: BlockStep) -> None:
    content = serialize_block_step(step)
    assert parse_block_step(content) == step
    assert may_be_block_step(content[:7])
    assert isinstance(chat.parse(content), chat.Opaque), "it is nothing else"


def _about(rest: Value) -> bytes:
    items: list[Value] = ["BLK", bytes(12), rest]
    return bipf.encode(items)


@given(st.binary(max_size=60) | st.builds(_about, VALUES))
def test_nothing_raises_and_what_is_read_is_bytes_of_ids(content: bytes) -> None:
    step = parse_block_step(content)
    if step is not None:
        assert step.added or step.removed
        assert all(len(short) == BLOCKED_SIZE for short in (*step.added, *step.removed))


@given(VALUES)
def test_no_other_value_is_one(value: Value) -> None:
    if not (isinstance(value, list) and value[:1] == ["BLK"]):
        assert parse_block_step(bipf.encode(value)) is None


@given(st.lists(STEPS, max_size=8))
def test_what_was_said_last_counts(steps: list[BlockStep]) -> None:
    last: dict[bytes, bool] = {}
    for step in steps:
        last.update(dict.fromkeys(step.removed, False))
        last.update(dict.fromkeys(step.added, True))
    assert fold_blocks(steps) == {short for short, listed in last.items() if listed}


@given(st.frozensets(SHORTS), st.frozensets(SHORTS))
def test_a_step_makes_one_list_of_another(listed: frozenset[bytes], wanted: frozenset[bytes]) -> None:
    step = block_step(listed, wanted)
    assert (step is None) == (listed == wanted)
    begun = [BlockStep(tuple(listed))] if listed else []
    assert fold_blocks([*begun, *([step] if step else [])]) == wanted


def test_a_list_is_bounded() -> None:
    many = tuple(number.to_bytes(12, "big") for number in range(limits.BLOCKLIST_MAX + 1))
    assert len(fold_blocks([BlockStep(many)])) == limits.BLOCKLIST_MAX
    assert many[-1] in fold_blocks([BlockStep(many), BlockStep(many[-1:], many[:1])]), "what goes makes room"
    with pytest.raises(LocalError, match="1,024"):
        block_step((), many)


def test_three_feeds_fit_in_an_entry() -> None:
    shorts = tuple(blocked_short(bytes((number,)) * 32) for number in range(3))
    assert len(serialize_block_step(BlockStep(shorts))) < CONTENT_SIZE
