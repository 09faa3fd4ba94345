"""The columns of the ``tinyssb`` source: every field of the event log, and where a line was bad, what was wrong.

One flat row a record; a field that the record's kind does not have is null (docs/formats/events.md). The last four
columns are set for bad lines only, and then they are the only ones that are.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum
from typing import Final


class FieldType(Enum):
    """Type of a field; the value is its name in a Spark schema."""

    INT = "BIGINT"
    FLOAT = "DOUBLE"
    TEXT = "STRING"
    BOOL = "BOOLEAN"
    INTS = "ARRAY<BIGINT>"
    TRIPLES = "ARRAY<ARRAY<BIGINT>>"


@dataclass(frozen=True, slots=True)
class Field:
    """A field of the event log, and what is believed of it.

    Numbers outside ``low``..``high`` cannot be true and would, summed up, overflow the counters of everybody else.
    """

    name: str
    type: FieldType
    low: int = 0
    high: int = 0
    digits: int | None = None
    """Number of hexadecimal digits, in lower case, if the text is that."""


def _count(name: str, high: int = 2**32) -> Field:
    return Field(name, FieldType.INT, 0, high)


def _text(name: str) -> Field:
    return Field(name, FieldType.TEXT)


def _hex(name: str, digits: int) -> Field:
    return Field(name, FieldType.TEXT, digits=digits)


TIME_MAX_US: Final = 2**53
"""The year 2255; integers beyond it lose digits in other people's JSON readers."""
HEADER: Final = ("v", "node", "boot", "offset", "t_us", "mono_us", "kind")
"""Fields that every record has."""
IDENTITY: Final = ("v", "node", "boot", "offset", "t_us", "kind")
"""Fields that decide whether a line is a record that belongs here, and was not counted before."""

FIELDS: Final = (
    _count("v"),
    _hex("node", 16),
    _count("boot", 10**8 - 1),
    _count("offset", 10**12 - 1),
    Field("t_us", FieldType.INT, 0, TIME_MAX_US),
    Field("mono_us", FieldType.INT, 0, TIME_MAX_US),
    _text("kind"),
    _text("name"),
    _hex("feed", 64),
    _text("dialect"),
    _text("version"),
    Field("clean", FieldType.BOOL),
    _text("reason"),
    Field("step_us", FieldType.INT, -TIME_MAX_US, TIME_MAX_US),
    _text("face"),
    _text("spec"),
    _count("seq"),
    _hex("id", 40),
    _count("type", 255),
    _count("size"),
    _count("chunks"),
    _text("origin"),
    Field("arrival", FieldType.INT, 0, TIME_MAX_US),
    _count("chunk"),
    Field("complete", FieldType.BOOL),
    _text("packet"),
    _count("length", 65_535),
    _hex("hash", 16),
    _text("verdict"),
    Field("rssi_dbm", FieldType.INT, -1_000, 1_000),
    Field("snr_db", FieldType.FLOAT, -1_000, 1_000),
    _count("airtime_us"),
    _text("direction"),
    _hex("state", 64),
    _count("offset_index"),
    Field("seqs", FieldType.INTS),
    Field("chunks_wanted", FieldType.TRIPLES),
    _hex("low", 64),
    _hex("high", 64),
    _hex("xor", 64),
    _count("count"),
    _hex("held", 40),
    _hex("other", 40),
    _text("rule"),
    _hex("network", 14),
    _text("network_name"),
    Field("latitude", FieldType.FLOAT, -90, 90),
    Field("longitude", FieldType.FLOAT, -180, 180),
    _text("region"),
    _text("sub_band"),
    _count("limit_ppm", 1_000_000),
    Field("window_us", FieldType.INT, 0, TIME_MAX_US),
    _text("record"),
    _count("total"),
)

BAD_FIELDS: Final = (
    _text("bad_path"),
    _count("bad_byte"),
    _text("bad_reason"),
    _text("bad_text"),
)
"""Position of a bad line (path, bytes from the file's start), the reason, and its beginning."""

REQUIRED: Final = {
    "start": ("name", "feed"),
    "entry": ("feed", "seq", "id", "size", "chunks", "origin"),
    "rx": ("face", "packet", "length", "hash", "verdict"),
    "tx": ("face", "packet", "length", "hash"),
    "rx_more": ("face", "packet", "verdict", "count", "size"),
    "tx_more": ("face", "packet", "count", "size"),
    "left_out": ("record", "count", "total"),
    "set": ("feed", "count", "state"),
    "fork": ("feed", "seq", "held", "other"),
    "spared": ("face", "count"),
}
"""By kind, the fields without which a record cannot be counted. Of other kinds, only the number is counted."""

COLUMNS: Final = FIELDS + BAD_FIELDS
"""All columns of the source, in order."""


def ddl(names: Iterable[str]) -> str:
    """Write the columns *names* as a schema for Spark. Raises KeyError for a name that is no column."""
    types = {field.name: field.type.value for field in COLUMNS}
    return ", ".join(f"{name} {types[name]}" for name in names)
