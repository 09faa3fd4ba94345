"""Packed sights: digits, names, and what is cut to fit."""

import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.derive.sights import Unpacked, unpack_all
from spark_sink.partials.sights import first_digits, sights
from tests.spark_sink.logs import Record, feed_name, node_name
from tests.spark_sink.partials.blocks import gathered
from tests.spark_sink.partials.oracle import HOUR_US


def heard(offset: int, **fields: object) -> Record:
    packet = {"face": "ether", "packet": "entry", "length": 120, "hash": "0" * 16, "verdict": "new"}
    header = {"node": node_name(0), "boot": 1, "offset": offset, "t_us": 5, "mono_us": offset, "kind": "rx"}
    return {**header, **packet, **fields}


def packed(*records: Record) -> list[Unpacked]:
    return [unpack_all([rows]) for rows in sights(gathered(*records)).column("rows").to_pylist()]


@given(st.lists(st.binary(min_size=8, max_size=32).map(bytes.hex), max_size=5))
def test_digits_are_read_as_signed_numbers(names: list[str]) -> None:
    expected = [int.from_bytes(bytes.fromhex(name[:16]), "big", signed=True) for name in names]
    assert first_digits(pa.array(names, pa.string())).tolist() == expected


@given(
    st.lists(
        st.sampled_from(["f" * 16, "F" * 64, "", "1", "0" * 15, "g" * 16, "é" * 8, "١" * 16, None]),
        max_size=5,
    )
)
def test_what_is_no_digits_is_0(names: list[str | None]) -> None:
    expected = [-1 if name in {"f" * 16, "F" * 64} else 0 for name in names]
    assert first_digits(pa.array(names, pa.string())).tolist() == expected
    assert first_digits(pa.array(["zero", *names], pa.string()).slice(1)).tolist() == expected


def test_a_vector() -> None:
    record = heard(
        7,
        hash="00000000000000ff",
        feed=feed_name(1),
        seq=3,
        chunk=2,
        rssi_dbm=-90,
        snr_db=4.5,
        airtime_us=9,
        mono_us=8,
    )
    table = sights(gathered(record)).to_pylist()
    (row,) = table
    assert {name: value for name, value in row.items() if name != "rows"} == {
        "node": node_name(0), "boot": 1, "hour_us": 0, "n": 1, "low_us": 5, "high_us": 5,
    }  # fmt: skip
    one = unpack_all([row["rows"]])
    assert one.faces == ("ether",)
    values = {name: column.tolist() for name, column in one.columns.items()}
    assert values == {
        "kind": [0], "face": [0], "packet": [0], "verdict": [0], "offset": [7], "t_us": [5], "mono_us": [8],
        "hash": [255], "length": [120], "airtime_us": [9], "rssi_dbm": [-90], "snr_db": [4.5],
        "feed": [int.from_bytes(bytes.fromhex(feed_name(1)[:16]), "big", signed=True)], "seq": [3], "chunk": [2],
    }  # fmt: skip


def test_rows_of_an_hour_are_by_offset_however_they_came() -> None:
    late, early, other = heard(9), heard(2), heard(3, t_us=HOUR_US)
    assert [one.columns["offset"].tolist() for one in packed(late, other, early)] == [[2, 9], [3]]


def test_names_that_do_not_fit_are_cut_or_left_out() -> None:
    (one,) = packed(*(heard(number, face=f"{number:03}" + "é" * 200) for number in range(300)))
    assert one.faces == tuple(f"{number:03}" + "é" * 126 for number in range(255))
    assert one.columns["face"].tolist() == [*range(255), *[-1] * 45]


def test_each_hour_names_only_its_faces() -> None:
    here, there = packed(heard(0, face="a"), heard(1, face="b", t_us=HOUR_US), heard(2, face="c"))
    assert (here.faces, here.columns["face"].tolist()) == (("a", "c"), [0, 1])
    assert (there.faces, there.columns["face"].tolist()) == (("b",), [0])


def test_chunks_that_make_nothing_whole_are_left_out() -> None:
    chunk = {"kind": "chunk", "feed": feed_name(0), "seq": 1, "origin": "peer"}
    (one,) = packed(heard(0, **chunk, complete=False), heard(1, **chunk, complete=True), heard(2, **chunk))
    assert one.columns["offset"].tolist() == [1]
