"""Lines to columns: the fast way and the slow way agree, and what is no record says why."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spark_sink import limits, schema
from spark_sink.line_parser import Block, BlockPart, Projection, ReadPosition, parse_block
from tests.spark_sink.logs import T0_US, line, node_name

NODE = node_name(0)
ALL = Projection([field.name for field in schema.COLUMNS])


def place() -> ReadPosition:
    return ReadPosition(NODE, 1, -1)


def record(offset: int = 0, kind: str = "stop", **fields: Any) -> dict[str, Any]:
    header = {"v": 1, "node": NODE, "boot": 1, "offset": offset, "t_us": T0_US, "mono_us": 0, "kind": kind}
    return {**header, **fields}


def heard(offset: int = 0, **fields: Any) -> dict[str, Any]:
    packet = {"face": "ether", "packet": "entry", "length": 120, "hash": "0" * 16, "verdict": "new"}
    return record(offset, "rx", **{**packet, **fields})


def parse(block: bytes, shape: Projection = ALL) -> list[dict[str, Any]]:
    rows = [
        row
        for batch in parse_block(Block(block, (BlockPart(0, "log.jsonl", 100, place()),)), shape)
        for row in batch.to_pylist()
    ]
    return [{name: value for name, value in row.items() if value is not None} for row in rows]


def bad(text: bytes) -> str:
    (row,) = parse(text)
    assert set(row) == {"bad_path", "bad_byte", "bad_reason", "bad_text"}, row
    return str(row["bad_reason"])


def test_a_good_line_is_a_row_without_the_fields_nobody_knows() -> None:
    assert parse(line(record(reason="signal", colour="blue"))) == [record(reason="signal")]


def test_all_fields_come_through() -> None:
    values: dict[schema.FieldType, Any] = {
        schema.FieldType.INT: 1,
        schema.FieldType.FLOAT: -1.25,
        schema.FieldType.BOOL: True,
        schema.FieldType.INTS: [1, 2],
        schema.FieldType.TRIPLES: [[1, 2, 3], []],
    }
    full = {
        field.name: values.get(field.type, "0a" * (field.digits // 2) if field.digits else "éé")
        for field in schema.FIELDS
    }
    full.update(v=1, node=NODE, boot=1, offset=0, kind="other")
    assert parse(line(full)) == [full]


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (b"nonsense\n", "not JSON"),
        (b"\n", "not JSON"),
        (b"null\n", "not a JSON object"),
        (b"[1]\n", "not a JSON object"),
        (b'{"v":1}{"v":1}\n', "not JSON"),
        (b'{"v":1,"v":1}\n', "a field occurs twice"),
        (b'{"v":NaN}\n', "not JSON"),
        (b'{"x":"\xff"}\n', "not JSON"),
        (b'{"x":' + b"[" * 2000 + b"]" * 2000 + b"}\n", "nested deeper than 64 levels"),
        (line(record(x="y" * 4096)), "longer than 4096 bytes"),
        (line(record())[:-1], "torn: no line feed at its end"),
        (line(record(v=2)), "version 2 is newer than 1"),
        (line({**record(), "v": 0}), "v is out of bounds"),
        (line({**record(), "t_us": None}), "no t_us"),
        (line({**record(), "t_us": "5"}), "t_us has the wrong type"),
        (line({**record(), "t_us": 1.0}), "t_us has the wrong type"),
        (line({**record(), "t_us": True}), "t_us has the wrong type"),
        (line({**record(), "t_us": 2**63}), "t_us has the wrong type"),
        (line({**record(), "t_us": -1}), "t_us is out of bounds"),
        (line({**record(), "kind": 7}), "kind has the wrong type"),
        (b'{"v":1,"node":"%s","boot":1,"offset":0,"t_us":0,"mono_us":0,"kind":"\\ud800"}\n' % NODE.encode(),
         "kind has the wrong type"),
        (line(record(node=node_name(1))), "belongs to another node or boot"),
        (line(record(boot=2)), "belongs to another node or boot"),
        (line(record(seqs=[1, "2"])), "seqs has the wrong type"),
        (line(record(chunks_wanted=[[1], 2])), "chunks_wanted has the wrong type"),
        (line(heard(airtime_us=2**40)), "airtime_us is out of bounds"),
        (line(heard(snr_db="loud")), "snr_db has the wrong type"),
        (line(heard(snr_db=1e9)), "snr_db is out of bounds"),
        (line(heard(snr_db=10**400)), "snr_db is out of bounds"),
        (line(heard(hash="00")), "hash has the wrong length"),
        *(
            (line({**record(), field.name: (wrong * field.digits)[: field.digits]}),
             f"{field.name} is not all hexadecimal digits in lower case")
            for field in schema.FIELDS if field.digits and field.name != "node"
            for wrong in ("z", "A", "0z", "0_", "0 0")
        ),
        (line(heard(feed="+" + "0" * 63)), "feed is not all hexadecimal digits in lower case"),
        (line(heard(feed="0" * 62 + "é")), "feed is not all hexadecimal digits in lower case"),
        (line(heard(face=None)), "no face"),
        (line(record(clean=1)), "clean has the wrong type"),
    ],
)  # fmt: skip
def test_what_is_no_record_says_why(text: bytes, reason: str) -> None:
    assert bad(text) == reason


def test_a_bad_line_between_many_good_ones_costs_only_itself() -> None:
    good = [line(heard(offset)) for offset in range(1000)]
    rows = parse(b"".join([*good[:700], b"null\n", *good[700:]]))
    assert [row["offset"] for row in rows if "offset" in row] == list(range(1000))
    (found,) = [row for row in rows if "bad_reason" in row]
    assert found == {
        "bad_path": "log.jsonl",
        "bad_byte": 100 + sum(map(len, good[:700])),
        "bad_reason": "not a JSON object",
        "bad_text": "null",
    }


@pytest.mark.parametrize("count", [3, 300])
def test_a_record_that_comes_again_is_not_counted_again(count: int) -> None:
    rows = parse(b"".join(line(heard(offset)) for offset in [*range(count), 0, count]))
    assert [row.get("offset") for row in rows] == [*range(count), None, count]
    assert rows[count]["bad_reason"] == "counted before: its offset does not grow"


@pytest.mark.parametrize("count", [3, 300])
def test_a_record_of_a_later_part_is_not_counted(count: int) -> None:
    text = b"".join(line(heard(offset)) for offset in range(count + 1))
    pieces = (BlockPart(0, "log.jsonl", 0, ReadPosition(NODE, 1, -1, next_offset=count)),)
    rows = [row for batch in parse_block(Block(text, pieces), ALL) for row in batch.to_pylist()]
    assert [row["offset"] for row in rows] == [*range(count), None]
    assert "another segment" in rows[count]["bad_reason"]


def pieces_of(places: list[tuple[str, int, list[int]]]) -> Block:
    """A block of several files' lines, each file of a node and a boot."""
    data, pieces = b"", []
    for number, (node, boot, offsets) in enumerate(places):
        pieces.append(
            BlockPart(len(data), f"{number}.jsonl", 7 * number, ReadPosition(node, boot, -1, listed_max=100))
        )
        data += b"".join(line({**heard(offset), "node": node, "boot": boot}) for offset in offsets)
    return Block(data, tuple(pieces))


def test_lines_of_many_nodes_are_one_block() -> None:
    many = [*range(limits.SLOW_LINES)]
    block = pieces_of([(node_name(1), 1, [5, 6]), (node_name(2), 1, [0]), (node_name(1), 2, many)])
    (batch,) = parse_block(block, ALL)  # read by hand, it would be several
    assert batch.column("offset").to_pylist() == [5, 6, 0, *many]
    assert [piece.place.last_offset for piece in block.pieces] == [6, 0, many[-1]]


@pytest.mark.parametrize("wrong", ["node", "boot", "offset"])
@pytest.mark.parametrize("size", [1, 80])
def test_a_line_of_another_piece_is_refused(wrong: str, size: int) -> None:
    block = pieces_of([(node_name(1), 1, [*range(size)]), (node_name(2), 1, [*range(size)])])
    other = {"node": node_name(2), "boot": 2, "offset": size - 1}
    last = {**heard(size - 1), "node": node_name(1), wrong: other[wrong]}
    if wrong == "offset":
        block.pieces[0].place.last_offset = size - 1
        last["offset"] = size - 1
    data = block.data.replace(line({**heard(size - 1), "node": node_name(1)}), line(last))
    rows = [row for batch in parse_block(Block(data, block.pieces), ALL) for row in batch.to_pylist()]
    good = [(row["node"], row["offset"]) for row in rows if row["node"]]
    kept = 0 if wrong == "offset" else size - 1
    assert good == [*((node_name(1), n) for n in range(kept)), *((node_name(2), n) for n in range(size))]
    (*_, bad_row) = [row for row in rows if row["bad_path"]]
    assert (bad_row["bad_path"], bad_row["bad_byte"]) == ("0.jsonl", len(data[: data.index(line(last))]))


def test_a_field_nobody_wants_is_not_looked_at() -> None:
    shape = Projection(["kind", "bad_reason"])
    assert parse(line(heard(snr_db="loud")), shape) == [{"kind": "rx"}]
    assert parse(line(heard(offset=-1)), shape) == [{"bad_reason": "offset is out of bounds"}]


def test_bad_text_is_kept_short() -> None:
    (row,) = parse(b"x" * 3000 + b"\n")
    assert row["bad_text"] == "x" * limits.BAD_TEXT_MAX


@pytest.mark.parametrize(
    ("unknown", "good"),
    [
        *(
            (token, False)
            for token in ("NaN", "Infinity", "-Infinity", "Inf", "-Inf", "[1, NaN]", '{"a":NaN}')
        ),
        *((token, True) for token in ('"NaN"', '": Infirmary"', '"-Inf"', "1e999", "9" * 3_000)),
        ("[" * 63 + "]" * 63, True),
        ("[" * 64 + "]" * 64, False),
        ('{"a":' * 64 + "1" + "}" * 64, False),
        ('"' + "]" * 99 + '",' + '"deep":' + "[" * 64 + "]" * 64, False),
        ('"' + "[" * 99 + '"', True),
        ('"' + '\\"[' * 99 + '"', True),
        ("[" + ",".join(["[1,2]"] * 99) + "]", True),
        ('1,"unknown":2', True),
        ('{"a":1,"a":2}', True),
    ],
)
@pytest.mark.parametrize("before", [b"", b" "])
def test_both_ways_judge_fields_that_nobody_knows_alike(unknown: str, good: bool, before: bytes) -> None:
    """A leading space is JSON, but nothing that the fast way reads."""
    (row,) = parse(before + line(heard())[:-2] + f',"unknown":{unknown}}}\n'.encode())
    assert ("bad_reason" not in row) == good, row


def test_what_a_colleague_writes_does_not_make_reading_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spark_sink.line_parser.parse_slow", None)
    text = b"".join(
        line(heard(offset, face="InfirmaryNaN", chunks_wanted=[[1, 2, 3]] * 30)) for offset in range(99)
    )
    assert len(parse(text)) == 99


VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**70), 2**70),
    st.integers(0, 300),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=6),
    st.sampled_from(["0" * 16, "0" * 15 + "g", "g" + "0" * 15, "0" * 14 + "é", "0" * 7 + "AB" + "0" * 7]),
    st.lists(st.one_of(st.none(), st.integers(0, 9), st.lists(st.integers(0, 9), max_size=2)), max_size=3),
)
FIELD_NAMES = st.sampled_from([field.name for field in schema.FIELDS] + ["unknown"])


ODD = [
    "NaN", "Infinity", "-Infinity", "Inf", "-Inf", "[NaN]", '{"a":-Infinity}', "1e999", "-0", "01", "1.", '"\\ud800"',
    "[null]", '{"a":1,"a":2}', "[" * 1_500 + "]" * 1_500, '{"a":' * 70 + "1" + "}" * 70, "[" * 60 + "]" * 60,
    "9" * 400, '"NaN"',
]  # fmt: skip


@st.composite
def lines(draw: st.DrawFn) -> bytes:
    found = heard(draw(st.integers(0, 40)))
    found.update(draw(st.dictionaries(FIELD_NAMES, VALUES, max_size=2)))
    text = bytearray(json.dumps(found, separators=(",", ":")).encode())
    if draw(st.integers(0, 3)) == 0:
        at = draw(st.integers(0, len(text) - 1))
        text[at : at + 1] = draw(
            st.sampled_from([b"", b"{", b"}", b'"', b",", b"0", b" ", b"\\", b"\x00", b"\x80"])
        )
    if draw(st.booleans()):
        # Values that readers of JSON judge differently, in a field that nobody knows or that occurs twice.
        name, value = draw(FIELD_NAMES), draw(st.sampled_from(ODD))
        text[1:1] = f'"{name}":{value},'.encode()
    return bytes(text) + b"\n"


@settings(max_examples=80, deadline=None)
@given(st.lists(lines(), min_size=1, max_size=8))
def test_the_fast_way_and_the_slow_way_agree(texts: list[bytes]) -> None:
    block = b"".join(texts)
    # A leading space is JSON, but nothing that the fast way takes.
    spaced = Block(b"".join(b" " + text for text in texts), (BlockPart(0, "log.jsonl", 0, place()),))
    by_hand = [row for batch in parse_block(spaced, ALL) for row in batch.to_pylist()]
    assert [_content(row) for row in parse(block)] == [_content(row) for row in by_hand]


def _content(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in row.items()
        if value is not None and name not in {"bad_byte", "bad_text"}
    }
