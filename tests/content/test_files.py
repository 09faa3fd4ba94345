"""Files as bytes: whole, in part, and what is nearly one."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.test_bipf import VALUES
from tinyssb_node import limits
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.files import (
    File,
    FileHead,
    FileNameError,
    FileTooLongError,
    parse_file,
    parse_head,
    read_file,
    serialize_file,
)
from tinyssb_node.content.limits import CLAIM_MIN_US
from tinyssb_node.feeds.layout import chunks_for
from tinyssb_node.ids import FeedId

VECTORS = json.loads((Path(__file__).parent.parent / "vectors/content/files_v1.json").read_text("utf-8"))[
    "cases"
]
NAMES = st.text(max_size=16)
MINUTES = st.integers(CLAIM_MIN_US // 60_000_000 + 1, 2**31).map(lambda minute: 60 * minute)
FILES = st.builds(File, NAMES, st.text(max_size=10), st.binary(max_size=300), st.none() | MINUTES)


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: str(case["id"]))
def test_bytes_mean_what_the_vectors_say(case: Any) -> None:
    content = bytes.fromhex(case["bytes"])
    if case["name"] is None:
        assert parse_file(content) is None
        return
    readers = tuple(map(FeedId.from_hex, case.get("readers", [])))
    file = File(case["name"], case["type"], bytes.fromhex(case["data"]), case.get("said_s"), readers)
    assert parse_file(content) == file
    if case["written"]:
        assert serialize_file(file) == content
        assert parse_head(content) == FileHead(file.name, file.type, len(file.data))


def test_the_page_takes_the_bytes_of_a_vector_apart() -> None:
    page = (Path(__file__).parents[2] / "docs/formats/files.md").read_text("utf-8")
    shown = [
        "".join(re.split(r" {2,}", line.strip())[0].replace(" ", "") for line in block.splitlines())
        for block in page.split("```")[1::2]
    ]
    assert VECTORS[0]["bytes"] in shown


@given(FILES)
def test_a_file_is_read_as_it_was_written(file: File) -> None:
    assert parse_file(serialize_file(file)) == file


@given(FILES, st.data())
def test_a_beginning_says_what_it_can_and_nothing_wrong(file: File, data: st.DataObject) -> None:
    content = serialize_file(file)
    held = content[: data.draw(st.integers(0, len(content)))]
    head = parse_head(held)
    start = content.index(b"FIL") + 3
    if len(held) < start:
        assert head is None
        return
    assert head is not None
    assert head.name in {None, file.name}
    assert head.type in {None, file.type}
    assert head.size in {None, len(file.data)}
    if len(held) >= len(content) - len(file.data):
        assert head == FileHead(file.name, file.type, len(file.data))


def test_the_entry_and_its_first_chunk_tell_everything_of_the_longest_name() -> None:
    name, type_ = "n" * content_limits.FILE_NAME_MAX, "t" * content_limits.FILE_TYPE_MAX
    most = limits.CONTENT_PUBLISH_MAX - 118
    content = serialize_file(File(name, type_, bytes(most)))
    assert len(content) == limits.CONTENT_PUBLISH_MAX
    held = limits.HEAD_SIZE - 3 + limits.CHUNK_CONTENT_SIZE
    assert chunks_for(len(content) - (limits.HEAD_SIZE - 3)) == 656
    assert parse_head(content[:held]) == FileHead(name, type_, most)


@given(st.binary(max_size=60) | VALUES)
def test_any_bytes_are_a_file_or_none(value: Any) -> None:
    content = value if isinstance(value, bytes) else bipf.encode(value)
    file, head = parse_file(content), parse_head(content)
    assert (file is None) or (head is not None and head.name == file.name)


@pytest.mark.parametrize(
    "value",
    [
        ["FIL"],
        ["FIL", "a", "b"],
        ["FIX", "a", "b", b""],
        ["FIL", b"a", "b", b""],
        ["FIL", "a", None, b""],
        ["FIL", "a", "b", "c"],
        ["FIL", "n" * 65, "b", b""],
        ["FIL", "a", "ü" * 21, b""],
        {"FIL": "a"},
        "FIL",
        None,
    ],
)
def test_a_list_of_another_shape_is_no_file(value: Value) -> None:
    assert read_file(value) is None


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\x80",
        b"\x08F",
        bipf.encode(["FIX", "a", "b", b""]),
        bipf.encode(["FIL", b"a", "b", b""]),
        bipf.encode(["FIL", "a", 1, b""]),
        bipf.encode(["FIL", "a", "b", "c"]),
        bipf.encode(["FIL", "n" * 65, "b", b""]),
        bipf.encode(["FIL", "a", "b", b""]).replace(b"a", b"\xff"),
    ],
)
def test_what_begins_otherwise_has_no_head(content: bytes) -> None:
    assert parse_head(content) is None


@pytest.mark.parametrize("said_s", [None, 1_577_836_860])
def test_a_private_file_names_its_readers(said_s: int | None) -> None:
    readers = (FeedId(bytes(range(32))), FeedId(bytes(32)))
    file = File("a", "b", b"c", said_s, readers)
    assert parse_file(serialize_file(file)) == file
    for odd in (b"x" * 31, bytes(32 * 8), "text", 7):
        found = read_file(["FIL", "a", "b", b"c", 1, odd])
        assert found is not None
        assert found.readers == ()
    most = 65_506 - 100
    with pytest.raises(FileTooLongError, match="carries 65,406"):
        serialize_file(File("map.webp", "image/webp", bytes(most + 1)), extra=100)


def test_what_does_not_fit_is_not_written() -> None:
    with pytest.raises(FileNameError, match="file's name, which is text of at most 64"):
        serialize_file(File("ü" * 33, "", b""))
    with pytest.raises(FileNameError, match="--type"):
        serialize_file(File("a", "t" * 41, b""))
    with pytest.raises(FileNameError):
        serialize_file(File("\ud800", "", b""))
    most = 65_506
    assert len(serialize_file(File("map.webp", "image/webp", bytes(most)))) == limits.CONTENT_PUBLISH_MAX
    with pytest.raises(FileTooLongError, match=r"has 65,507 bytes, and one entry carries 65,506 of it"):
        serialize_file(File("map.webp", "image/webp", bytes(most + 1)))
