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


@pytest.mark.parametrize(
    "more",
    [
        {"face": "InfirmaryNaN", "chunks_wanted": [[1, 2, 3]] * 30, "seqs": []},
        {"name": "Zoë", "snr_db": -0.25, "rssi_dbm": -100, "clean": False},
        {"unknown": "text", "unknown_too": [[1, 2.5], ["a", None]], "and": None},
    ],
)
@pytest.mark.parametrize("separators", [(",", ":"), (", ", ": ")])
def test_what_a_colleague_writes_does_not_make_reading_slow(
    monkeypatch: pytest.MonkeyPatch, more: dict[str, Any], separators: tuple[str, str]
) -> None:
    monkeypatch.setattr("spark_sink.line_parser.parse_slow", None)
    records = [heard(offset, **more) for offset in range(99)]
    text = "".join(json.dumps(record, ensure_ascii=False, separators=separators) + "\n" for record in records)
    known = {field.name for field in schema.FIELDS}
    assert parse(text.encode()) == [{n: record[n] for n in record if n in known} for record in records]


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


def both_ways(texts: list[bytes]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Rows of lines that are read at once where they can be, and of the same lines read one by one."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "SLOW_LINES", 1)
        at_once = parse(b"".join(texts))
    by_hand: list[dict[str, Any]] = []
    position = place()
    for text in texts:
        piece = BlockPart(0, "log.jsonl", 0, position)
        by_hand += [row for batch in parse_block(Block(text, (piece,)), ALL) for row in batch.to_pylist()]
    return [_content(row) for row in at_once], [_content(row) for row in by_hand]


@settings(max_examples=80, deadline=None)
@given(st.lists(lines(), min_size=2, max_size=8))
def test_the_fast_way_and_the_slow_way_agree(texts: list[bytes]) -> None:
    at_once, by_hand = both_ways(texts)
    assert at_once == by_hand


VALUES_AS_TEXT = [
    *ODD, "null", "true", "True", "0", "-0", "-0.0", "+1", "1.0", "0.10", ".5", "1e2", "1E2", "1e-05", "7 ", "7\t",
    "0x10", "1_000", "9007199254740992", "9999999999999999", "12345678901234567", "1234567890123456",
    "0.1234567890123456789", '"12"', '"1234567890123456"', '"true"', '""', '"a\\"b"', '"a\\\\b"', '"\\u0041"',
    '"a\x7fb"',
    '"a\tb"', '"é"', "'a'", "a", "[]", "[ ]", "[1]", "[1,]", "[,1]", "[1,2.0]", '["1"]', "[true]", "[[]]", "[[1],[]]",
    "[[1],2]", "[[[1]]]", "{}", '{"seq":1}', "[1, 2]", "[1 ,2]", '1,"other":2', '1,"v":1', '1,"kind":"tx"',
    f'"0","hash":"{"0" * 16}"', "1//", "1/**/", "",
]  # fmt: skip
ONE_OF_EACH_FORM = list({(field.type, field.digits): field.name for field in schema.FIELDS}.values())


@pytest.mark.parametrize("name", ["v", "seq", "face", "unknown", "fe\\u0065d", *ONE_OF_EACH_FORM])
def test_the_two_ways_agree_on_each_value_of_each_form(name: str) -> None:
    others = {key: value for key, value in heard(1).items() if key != name}
    start = json.dumps(others, separators=(",", ":"))[:-1]
    for value in VALUES_AS_TEXT:
        odd = f'{start},"{name}":{value}}}\n'.encode()
        at_once, by_hand = both_ways([line(heard(0)), odd])
        assert at_once == by_hand, odd


@pytest.mark.parametrize(
    "bytes_",
    [b"\xff", b"\xed\xa0\x80", b"\xc0\x80", b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b"\x00", b"\r", b"\x1f"],
)
def test_the_two_ways_agree_on_bytes_that_are_no_text(bytes_: bytes) -> None:
    for at in range(0, len(line(heard(1))), 13):
        odd = line(heard(1))
        at_once, by_hand = both_ways([line(heard(0)), odd[:at] + bytes_ + odd[at:]])
        assert at_once == by_hand


def _content(row: dict[str, Any]) -> dict[str, Any]:
    return {
        name: value
        for name, value in row.items()
        if value is not None and name not in {"bad_byte", "bad_text"}
    }
