"""Single packets and arrivals, packed by node, boot and hour: what derived tables are made from."""

import binascii
import itertools
from typing import Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.arrays import Bools, Ints
from spark_sink.derive.facts import ENTRY, HOUR_US, RX, TX, WHOLE
from spark_sink.derive.sights import DTYPES, NO_CHUNK, NO_FACE, NO_RSSI, PACKETS, pack
from spark_sink.partials.combine import merge
from spark_sink.partials.groupby import group
from spark_sink.partials.records import RecordColumns

_Columns: TypeAlias = dict[str, np.ndarray[Any, np.dtype[Any]]]

_KINDS: Final = {"rx": RX, "tx": TX, "entry": ENTRY, "chunk": WHOLE}
_VERDICTS: Final = {"new": 0, "duplicate": 1, "invalid": 2, "not_ours": 3}
_SENT: Final = 4
_ORIGINS: Final = {"own": 5, "peer": 6, "import": 7}
_OTHER: Final = 255
_NAMES_MAX: Final = 255
"""Names of faces in one blob, and bytes in each name."""
_DIGITS: Final = 16


def sights(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `sights`."""
    found = records.of("rx", "tx", "entry", "chunk")
    found = found.where(~found.says("kind", "chunk") | (found.numbers("complete") == 1))
    hours_us = found.numbers("t_us") - found.numbers("t_us") % HOUR_US
    hours = group([found.column("node"), found.column("boot"), pa.array(hours_us)], len(found))
    columns = _columns(found)
    order = _order(hours.of, columns["offset"])
    of = hours.of[order]
    begins = np.flatnonzero(np.diff(of, prepend=-1))
    columns = {name: column[order] for name, column in columns.items()}
    columns["face"], faces = _faces(found, order, of)
    bounds = itertools.pairwise([*begins.tolist(), len(found)])
    blobs = [
        pack({name: column[low:high] for name, column in columns.items()}, names)
        for names, (low, high) in zip(faces, bounds, strict=True)
    ]
    first = pa.array(order[begins])
    times_us = columns["t_us"]
    table = {
        "node": found.column("node").take(first),
        "boot": found.column("boot").take(first),
        "hour_us": pa.array(hours_us[order[begins]]),
        "n": pa.array(np.diff(begins, append=len(found))),
        "low_us": pa.array(np.minimum.reduceat(times_us, begins) if len(begins) else begins),
        "high_us": pa.array(np.maximum.reduceat(times_us, begins) if len(begins) else begins),
        "rows": pa.array(blobs, pa.binary()),
    }
    return merge("sights", pa.table(table))


def _order(of: Ints, offsets: Ints) -> Ints:
    """Sort rows by group, and by offset within it; they mostly are in that order already."""
    steps = np.diff(of)
    if ((steps > 0) | ((steps == 0) & (np.diff(offsets) > 0))).all():
        return np.arange(len(of))
    return np.lexsort((offsets, of))


def _columns(found: RecordColumns) -> _Columns:
    """Make the packed columns except `face`, each with its type; too great a number becomes the greatest possible."""
    received, sent = found.says("kind", "rx"), found.says("kind", "tx")
    packets = received | sent
    verdicts = np.where(received, _coded(found, "verdict", _VERDICTS), _SENT)
    hashes = np.zeros(len(found), np.int64)
    hashes[packets] = first_digits(found.column("hash").filter(pa.array(packets)))
    feeds, names = found.codes("feed")
    wide = {
        "kind": _coded(found, "kind", _KINDS),
        "packet": _coded(found, "packet", {name: code for code, name in enumerate(PACKETS)}),
        "verdict": np.where(packets, verdicts, _coded(found, "origin", _ORIGINS)),
        "offset": found.numbers("offset"),
        "t_us": found.numbers("t_us"),
        "mono_us": found.numbers("mono_us"),
        "hash": hashes,
        "length": found.numbers("length"),
        "airtime_us": found.numbers("airtime_us"),
        "rssi_dbm": found.numbers("rssi_dbm", NO_RSSI),
        "feed": np.append(first_digits(names), 0)[feeds],
        "seq": found.numbers("seq"),
        "chunk": found.numbers("chunk", NO_CHUNK),
    }
    exact: _Columns = {
        name: np.minimum(column, np.iinfo(DTYPES[name]).max).astype(DTYPES[name])
        for name, column in wide.items()
    }
    snr_db = found.column("snr_db")
    exact["snr_db"] = np.asarray(snr_db.fill_null(np.nan)).astype(DTYPES["snr_db"])
    return exact


def _coded(found: RecordColumns, name: str, known: dict[str, int]) -> Ints:
    numbers, names = found.codes(name)
    return np.array([known.get(text, _OTHER) for text in names.to_pylist()] + [_OTHER])[numbers]


def first_digits(names: pa.Array) -> Ints:
    """Convert the first 16 hexadecimal digits of each text to a signed number; 0 for other texts."""
    digits = pc.binary_slice(names.cast(pa.binary()), 0, _DIGITS)
    try:
        data = binascii.unhexlify(_bytes_of(digits))
    except binascii.Error:
        data = b""
    if len(data) * 2 != len(digits) * _DIGITS or digits.null_count:
        right = pc.match_substring_regex(digits, "^[0-9a-fA-F]{16}$").fill_null(False)
        data = binascii.unhexlify(_bytes_of(pc.if_else(right, digits, b"0" * _DIGITS)))
    return np.frombuffer(data, ">i8").astype(np.int64)


def _bytes_of(texts: pa.Array) -> bytes:
    _, offsets, data = texts.buffers()
    if data is None:
        return b""
    bounds = np.frombuffer(offsets, np.int32)[texts.offset : texts.offset + len(texts) + 1]
    return memoryview(data)[bounds[0] : bounds[-1]].tobytes()


def _faces(found: RecordColumns, order: Ints, of: Ints) -> tuple[Ints, list[list[str]]]:
    """Return for each row the place of its face among those of its group, and these for each group.

    *of* has the groups of the rows in *order*, and never falls.
    """
    faces, names = found.codes("face")
    faces = faces[order]
    named: Bools = faces >= 0
    groups = group([pa.array(of[named]), pa.array(faces[named])], int(named.sum()))
    pairs = groups.some()
    groups_of_pairs, faces_of_pairs = of[named][pairs], faces[named][pairs]
    begins = np.searchsorted(groups_of_pairs, np.arange(int(of[-1]) + 2)) if len(of) else np.zeros(1, int)
    places = np.full(len(faces), NO_FACE, np.int64)
    places[named] = np.minimum(groups.of - begins[of[named]], NO_FACE)
    spelled = [_cut(name) for name in names.to_pylist()]
    lists = [
        [spelled[face] for face in faces_of_pairs[low:high][:_NAMES_MAX]]
        for low, high in itertools.pairwise(begins.tolist())
    ]
    return places.astype(DTYPES["face"]), lists


def _cut(name: str) -> str:
    """Shorten a name so that it can be packed."""
    return name.encode()[:_NAMES_MAX].decode(errors="ignore")
