"""Rows of single packets and arrivals, packed for the serving database (docs/formats/serving.md, "Packed rows")."""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Numbers
from spark_sink.errors import DamagedDataError

VERSION: Final = 1
"""First byte of packed rows."""
PACKETS: Final = (
    "entry", "chunk", "claim", "novelty", "zap", "sketch", "ask", "feeds", "want", "chnk", "ping", "pong",
    "more", "diff", "named_want", "named_chnk", "coded", "coded_chunk", "newest", "anchor",
)  # fmt: skip
"""Kinds of packets in the order of their codes."""
ENTRY_PACKETS: Final = (PACKETS.index("entry"), PACKETS.index("coded"))
"""Codes of packets that carry an entry; a sum of several carries none in particular, and has no sequence number."""
NO_FACE: Final = 255
NO_RSSI: Final = -32_768
NO_CHUNK: Final = 2**32 - 1
"""Values for "unknown" or "none" in a column."""

_TYPES: Final = {
    "kind": "<u1",
    "face": "<u1",
    "packet": "<u1",
    "verdict": "<u1",
    "offset": "<i8",
    "t_us": "<i8",
    "mono_us": "<i8",
    "hash": "<i8",
    "length": "<u2",
    "airtime_us": "<u4",
    "rssi_dbm": "<i2",
    "snr_db": "<f4",
    "feed": "<i8",
    "seq": "<u4",
    "chunk": "<u4",
}
DTYPES: Final = {name: np.dtype(code) for name, code in _TYPES.items()}
"""Packed columns in their order, and what they hold."""
_ROW_SIZE: Final = sum(dtype.itemsize for dtype in DTYPES.values())
_WIDE: Final = {
    name: np.dtype(np.float64 if dtype.kind == "f" else np.int64) for name, dtype in DTYPES.items()
}
_HEAD: Final = struct.Struct("<BI")
_COUNTS: Final = struct.Struct("<IB")


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The rows of many blobs, one after the other."""

    columns: dict[str, Numbers]
    """Columns by name, of 64 bits. ``face`` is an index into `faces`, −1 for none; other values are as they were
    packed."""
    faces: tuple[str, ...]
    lengths: Numbers
    """Number of rows of each blob, to repeat a blob's values by."""


def pack(columns: Mapping[str, Numbers], faces: Sequence[str]) -> bytes:
    """Pack columns of the same length, a value a row, by the names in `DTYPES` (docs/formats/serving.md).

    ``face`` is an index into *faces*, names of up to 255 bytes, up to 255 of them; `NO_FACE` for none. A number that
    its column cannot hold becomes the nearest that it can.
    """
    names = [name.encode() for name in faces]
    parts = [_COUNTS.pack(len(columns["kind"]), len(names))]
    for name in names:
        parts += bytes((len(name),)), name
    parts += [_exact(columns[name], dtype).tobytes() for name, dtype in DTYPES.items()]
    plain = b"".join(parts)
    return _HEAD.pack(VERSION, len(plain)) + bytes(pa.compress(plain, codec="zstd", asbytes=True))


def _exact(column: Numbers, dtype: np.dtype[Any]) -> Numbers:
    if column.dtype == dtype:
        return column
    if dtype.kind != "f":
        ends = np.iinfo(dtype)
        column = np.clip(column, ends.min, ends.max)
    return column.astype(dtype)


def unpack_all(blobs: Sequence[bytes], names: Sequence[str] = tuple(DTYPES)) -> Unpacked:
    """Unpack the columns called *names* of many blobs at once. Raises DamagedDataError."""
    pieces: dict[str, list[Numbers]] = {name: [] for name in names}
    numbers: dict[str, int] = {}
    lengths = np.zeros(len(blobs), np.int64)
    for index, blob in enumerate(blobs):
        plain, lengths[index], faces, place = _open(blob)
        number = int(lengths[index])
        for name, dtype in DTYPES.items():
            if name in pieces:
                column = np.frombuffer(plain, dtype, number, place)
                pieces[name].append(_renamed(column, faces, numbers) if name == "face" else column)
            place += number * dtype.itemsize
    columns = {name: _joined(pieces[name], _WIDE[name]) for name in names}
    return Unpacked(columns, tuple(numbers), lengths)


def _renamed(face: Numbers, faces: Sequence[str], numbers: dict[str, int]) -> Numbers:
    """Change numbers of *faces* into *numbers*, which get new names added."""
    new = np.full(256, -1, np.int64)
    new[: len(faces)] = [numbers.setdefault(name, len(numbers)) for name in faces]
    return new[face]


def _joined(pieces: Sequence[Numbers], dtype: np.dtype[Any]) -> Numbers:
    return np.concatenate(pieces, dtype=dtype) if pieces else np.empty(0, dtype)


def _damaged(reason: str) -> DamagedDataError:
    return DamagedDataError(
        f"Packed rows in the table sights are damaged or from another program: {reason}. Nothing was changed. "
        "The logs have it all: name a new database with --db, and everything is counted again."
    )


def _open(blob: bytes) -> tuple[bytes, int, tuple[str, ...], int]:
    """Decompress a blob; return its bytes, number of rows, names of faces, and the byte at which columns begin."""
    try:
        version, size = _HEAD.unpack_from(blob)
        if version != VERSION:
            raise _damaged(f"they have version {version}")
        plain = bytes(pa.decompress(memoryview(blob)[_HEAD.size :], size, codec="zstd", asbytes=True))
        number, names = _COUNTS.unpack_from(plain)
        place = _COUNTS.size
        faces = []
        for _ in range(names):
            end = place + 1 + plain[place]
            faces.append(plain[place + 1 : end].decode())
            place = end
    except (struct.error, OSError, MemoryError, IndexError, ValueError) as error:
        raise _damaged(str(error)) from error
    if len(plain) != place + number * _ROW_SIZE:
        raise _damaged(f"{len(plain)} bytes cannot be {number} rows")
    return plain, number, tuple(faces), place
