"""What alerts are made of: tables of the serving database, and how to ask for them."""

from dataclasses import dataclass
from typing import Final

import pyarrow as pa


@dataclass(frozen=True, slots=True)
class AlertInputs:
    """Rows in any order, with the columns named in `QUERIES`."""

    now_us: int
    """Newest mesh time known."""
    ups: pa.Table
    """Hours of mesh time in which each node was up."""
    changes: pa.Table
    clocks: pa.Table
    boots: pa.Table
    faces: pa.Table
    """Those under a law."""
    airtime: pa.Table
    counts: pa.Table
    """`face_down`, and `refused`."""
    incidents: pa.Table
    """`clock`, `fork`, and unclean `start`."""
    invalid: pa.Table
    """Packets heard that were invalid."""
    links: pa.Table
    steps: pa.Table
    gaps: pa.Table
    """Those that have an end."""


_COLUMNS: Final = {
    "ups": "node_no:int hour_us:int",
    "changes": "t_us:int kind:text subject:text detail:text",
    "clocks": "node_no:int boot:int from_mono_us:int base_us:int at_us:int offset_us:int drift_ppm:real "
    "era:int mesh:int",
    "boots": "node_no:int boot:int feed_no:int stopped_us:int first_us:int first_mono_us:int last_us:int "
    "last_mono_us:int",
    "faces": "node_no:int face:text limit_ppm:int window_us:int",
    "airtime": "node_no:int slot_us:int face:text packets:int airtime_us:int",
    "counts": "node_no:int hour_us:int kind:text detail:text records:int total:int",
    "incidents": "node_no:int boot:int t_us:int mono_us:int kind:text feed_no:int n:int",
    "invalid": "node_no:int hour_us:int packets:int",
    "links": "hour_us:int sender:int receiver:int heard:int sent:int",
    "steps": "node_no:int feed_no:int hour_us:int seq:int",
    "gaps": "node_no:int boot:int first_offset:int next_offset:int",
}
_TYPES: Final = {"int": pa.int64(), "real": pa.float64(), "text": pa.string()}
SCHEMAS: Final = {
    name: pa.schema([(column, _TYPES[kind]) for column, kind in (word.split(":") for word in words.split())])
    for name, words in _COLUMNS.items()
}
"""Columns of each field of `AlertInputs`."""

_FROM: Final = {
    "ups": "groups GROUP BY node_no, hour_us",
    "invalid": "traffic WHERE verdict = 'invalid'",
    "counts": "counts WHERE kind IN ('face_down', 'refused')",
    "incidents": "incidents WHERE kind IN ('clock', 'fork') OR (kind = 'start' AND detail = 'unclean')",
    "faces": "faces WHERE limit_ppm > 0 AND window_us > 0",
    "gaps": "gaps WHERE next_offset IS NOT NULL",
}
QUERIES: Final = {
    name: f"SELECT {', '.join(schema.names)} FROM {_FROM.get(name, name)}"  # noqa: S608
    for name, schema in SCHEMAS.items()
}
"""SQL by name of the field, for SQLite and PostgreSQL; the columns are those of the schema."""
