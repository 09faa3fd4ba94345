"""Files of the published package; one that it made is in the vectors."""

import io

from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.vectors import FOLDER, load
from tinyssb_node.pzp.database.pzpdb_log import (
    BLOCK_SIZE,
    fits,
    is_log,
    parse_records,
    serialize_records,
)
from tinyssb_node.pzp.messages.jsontext import read

LOG = FOLDER / "v4-db.log"


def test_the_file_of_the_package_is_read() -> None:
    vectors = load("v4-db")
    with LOG.open("rb") as file:
        assert is_log(file)
        records = [read(record) if record else None for record in parse_records(file)]
    held = {record["id"]: record["msg"] for record in vectors["records"]}
    held[vectors["steps"][1]["id"]] = vectors["afterErase"]
    deleted = [record["id"] for record in vectors["records"]].index(vectors["deleted"])
    assert records.pop(deleted) is None
    del held[vectors["deleted"]]
    assert {record["id"]: record["msg"] for record in records if isinstance(record, dict)} == held


@given(st.lists(st.binary(min_size=1, max_size=30_000) | st.binary(min_size=1, max_size=9), max_size=12))
def test_what_was_written_is_read(records: list[bytes]) -> None:
    data = b"".join(serialize_records(records))
    assert len(data) % BLOCK_SIZE == 0
    assert is_log(io.BytesIO(data)) == bool(records)
    assert [*parse_records(io.BytesIO(data))] == records


def test_the_largest_record_fills_a_block() -> None:
    largest = b"x" * (BLOCK_SIZE - 8)
    assert fits(len(largest))
    assert not fits(len(largest) + 1)
    assert not fits(0)
    blocks = [*serialize_records([b"y", largest, b"z"])]
    assert [len(block) for block in blocks] == [BLOCK_SIZE] * 3
    assert [*parse_records(io.BytesIO(b"".join(blocks)))] == [b"y", largest, b"z"]


@given(st.binary(max_size=200), st.integers(0, 3))
def test_any_bytes_are_read_to_their_end(data: bytes, blocks: int) -> None:
    whole = data + bytes(blocks * BLOCK_SIZE)
    for record in parse_records(io.BytesIO(whole)):
        assert record is None or len(record) < BLOCK_SIZE


def test_a_damaged_record_costs_its_block() -> None:
    blocks = [*serialize_records([b"one", b"x" * 60_000, b"y" * 60_000])]
    assert len(blocks) == 2
    spoilt = bytearray(blocks[0])
    spoilt[7:9] = b"\xff\xff"
    assert [*parse_records(io.BytesIO(spoilt + blocks[1]))] == [b"one", None, b"y" * 60_000]


def test_other_files_are_none() -> None:
    for data in (b"", b"{}\n", b"{" * BLOCK_SIZE, bytes(BLOCK_SIZE - 1)):
        file = io.BytesIO(data)
        assert not is_log(file)
        assert file.read() == data
