"""Entries of type 0 end in zeros: microcontrollers fill them up."""

import pytest

from tinyssb_node.codec import bipf
from tinyssb_node.content.blocklist import BlockStep, parse_block_step, serialize_block_step
from tinyssb_node.content.files import File, parse_file, serialize_file
from tinyssb_node.content.note import Note, parse_note, serialize_compact
from tinyssb_node.content.padded import decode
from tinyssb_node.content.tangle import FIRST
from tinyssb_node.limits import CONTENT_SIZE


def padded(content: bytes) -> bytes:
    return content.ljust(CONTENT_SIZE, b"\0")


@pytest.mark.parametrize("value", [["temp", 21.5], {"temp": 21.5, "hum": 40}, ["text", "21 C"], [0], {0: 0}])
def test_lists_and_dicts_are_read_before_zeros(value: bipf.Value) -> None:
    content = bipf.encode(value)
    assert decode(content) == decode(padded(content)) == value
    assert decode(padded(content)[:-1]) is None
    assert decode(padded(content)[:-1] + b"\1") is None


@pytest.mark.parametrize(
    "text", ["hello", "Bridge is out", "4", "ok", "<0", "21.5", "-3 C", "mue", "eat", "lunch"]
)
def test_plain_text_before_zeros_is_no_value(text: str) -> None:
    assert decode(padded(text.encode())) is None


def test_all_kinds_of_messages_are_read_before_zeros() -> None:
    file = File("a", "b", b"c", 1_762_495_200)
    note = Note({"chess": FIRST}, "e4")
    step = BlockStep(added=(bytes(12),), removed=())
    assert parse_file(padded(serialize_file(file))) == file
    assert parse_note(padded(serialize_compact(note))) == note
    assert parse_block_step(padded(serialize_block_step(step))) == step
