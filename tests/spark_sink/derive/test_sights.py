"""Packed rows: read as they were frozen, given back as they came, and refused where damaged."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.derive import sights
from spark_sink.derive.sights import (
    DTYPES,
    NO_CHUNK,
    NO_FACE,
    NO_RSSI,
    pack,
    unpack_all,
)
from spark_sink.errors import DamagedDataError

VECTOR = Path(__file__).parents[2] / "vectors" / "serving" / "sights_v1.hex"

ROWS = (
    {
        "offset": 7,
        "t_us": 1_700_000_000_000_001,
        "mono_us": 5,
        "hash": -2,
        "length": 120,
        "airtime_us": 370_000,
    }
    | {
        "kind": 0,
        "face": 1,
        "packet": 0,
        "verdict": 0,
        "rssi_dbm": -117,
        "snr_db": -7.5,
        "feed": 2**62,
        "seq": 3,
    }
    | {"chunk": NO_CHUNK},
    {"offset": 8, "t_us": 1_700_000_000_000_002, "mono_us": 0, "hash": 0, "length": 0, "airtime_us": 0}
    | {"kind": 2, "face": NO_FACE, "packet": 255, "verdict": 6, "rssi_dbm": NO_RSSI, "snr_db": float("nan")}
    | {"feed": -(2**63), "seq": 2**32 - 1, "chunk": 0},
)


Plain = tuple[dict[str, np.ndarray], tuple[str, ...]]
"""Arguments of `pack`."""


def plain(rows: tuple[dict[str, float], ...], faces: tuple[str, ...]) -> Plain:
    columns = {name: np.array([row[name] for row in rows], dtype) for name, dtype in DTYPES.items()}
    return columns, faces


def assert_holds(blob: bytes, wanted: Plain) -> None:
    found, (columns, faces) = unpack_all([blob]), wanted
    assert found.faces == faces
    assert list(found.columns) == list(DTYPES)
    for name, column in columns.items():
        expected = np.where(column < len(faces), column.astype(int), -1) if name == "face" else column
        np.testing.assert_array_equal(found.columns[name], expected, err_msg=name)


def values(dtype: np.dtype) -> st.SearchStrategy[float]:
    if dtype.kind == "f":
        return st.floats(width=32)
    return st.integers(int(np.iinfo(dtype).min), int(np.iinfo(dtype).max))


ROW = st.fixed_dictionaries({name: values(dtype) for name, dtype in DTYPES.items()})
FACES = st.lists(st.text(max_size=60), max_size=255, unique=True).map(tuple)


def test_frozen_rows_are_read() -> None:
    blob = bytes.fromhex(VECTOR.read_text())
    assert_holds(blob, plain(ROWS, ("ip", "lora0 ü")))


def test_rows_are_packed_as_frozen() -> None:
    """But for compression, which may do better one day."""
    blob, frozen = pack(*plain(ROWS, ("ip", "lora0 ü"))), bytes.fromhex(VECTOR.read_text())
    size = int.from_bytes(frozen[1:5], "little")
    assert blob[:5] == frozen[:5]
    assert pa.decompress(blob[5:], size, "zstd") == pa.decompress(frozen[5:], size, "zstd")


@given(st.lists(ROW, max_size=20).map(tuple), FACES)
def test_what_is_packed_comes_back(rows: tuple[dict[str, float], ...], faces: tuple[str, ...]) -> None:
    assert_holds(pack(*plain(rows, faces)), plain(rows, faces))


def test_numbers_too_large_become_the_largest() -> None:
    columns, faces = plain(ROWS[:1], ("ip", "lora"))
    large = {"length": np.array([2**40]), "rssi_dbm": np.array([-(2**40)]), "seq": np.array([-1])}
    back = unpack_all([pack({**columns, **large}, faces)]).columns
    assert [int(back[name][0]) for name in large] == [2**16 - 1, -(2**15), 0]


@given(st.lists(st.tuples(st.lists(ROW, max_size=4), FACES), max_size=5))
def test_many_are_unpacked_as_each(blobs: list[tuple[list[dict[str, float]], tuple[str, ...]]]) -> None:
    rows = [plain(tuple({**row, "face": index % (len(faces) + 1)} for index, row in enumerate(some)), faces)
            for some, faces in blobs]  # fmt: skip
    found = unpack_all([pack(*some) for some in rows])
    assert list(found.lengths) == [len(columns["seq"]) for columns, _ in rows]
    names = [name for columns, faces in rows for name in [(*faces, None)[index] for index in columns["face"]]]
    assert [found.faces[index] if index >= 0 else None for index in found.columns["face"]] == names
    for name in set(DTYPES) - {"face"}:
        wanted = [value for columns, _ in rows for value in columns[name]]
        np.testing.assert_array_equal(found.columns[name], wanted, err_msg=name)


def test_some_columns_of_many() -> None:
    found = unpack_all([pack(*plain(ROWS, ("ip", "lora")))] * 2, ["seq"])
    assert list(found.columns) == ["seq"]
    assert list(found.columns["seq"]) == [3, 2**32 - 1] * 2


@pytest.mark.parametrize(
    "damage",
    [
        lambda blob: blob[:0],
        lambda blob: b"\x02" + blob[1:],
        lambda blob: blob[:-1],
        lambda blob: blob[:1] + b"\xff\xff\xff\xff" + blob[5:],
        lambda blob: blob[:5] + b"nonsense",
        lambda blob: replaced(blob, 0, b"\x03"),
        lambda blob: replaced(blob, 4, b"\xff"),
        lambda blob: replaced(blob, 6, b"\xff"),
    ],
)
def test_damage_is_refused(damage) -> None:
    with pytest.raises(DamagedDataError, match="sights are damaged"):
        unpack_all([damage(pack(*plain(ROWS, ("ip", "lora"))))])


def replaced(blob: bytes, place: int, new: bytes) -> bytes:
    content = bytearray(pa.decompress(blob[5:], int.from_bytes(blob[1:5], "little"), "zstd", asbytes=True))
    content[place : place + len(new)] = new
    squeezed: bytes = pa.compress(bytes(content), codec="zstd", asbytes=True)
    return bytes([sights.VERSION]) + blob[1:5] + squeezed
