"""Columnar reader of blocks of log lines that have the form in which nodes write.

DuckDB's JSON reader is fast, and lenient: it takes ``"12"`` for 12, and of a field that occurs twice the first. So a
regular expression describes lines that all readers of JSON understand alike, RE2 matches a whole block against it, and
values are counted. What does not match is left to others.
"""

import json
from functools import cache
from typing import Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import ArrayLike

from spark_sink import limits
from spark_sink.arrays import Ints
from spark_sink.schema import FIELDS, Field, FieldType

_LETTER: Final = r"[^\x00-\x1f\x22\\]"
_TEXT: Final = f'"{_LETTER}*"'
_WHOLE: Final = "(?:0|-?[1-9][0-9]{0,15})"
_NUMBER: Final = rf"(?:{_WHOLE}|-?(?:0|[1-9][0-9]{{0,15}})\.[0-9]{{1,17}})"
_BOOL: Final = "(?:true|false)"


def _list(item: str) -> str:
    return rf"\[(?:{item}(?:, ?{item})*)?\]"


_FORMS: Final = {
    FieldType.INT: _WHOLE,
    FieldType.FLOAT: _NUMBER,
    FieldType.BOOL: _BOOL,
    FieldType.TEXT: _TEXT,
    FieldType.INTS: _list(_WHOLE),
    FieldType.TRIPLES: _list(_list(_WHOLE)),
}
_DUCKDB_TYPES: Final = {
    FieldType.INT: "BIGINT",
    FieldType.FLOAT: "DOUBLE",
    FieldType.BOOL: "BOOLEAN",
    FieldType.TEXT: "VARCHAR",
    FieldType.INTS: ["BIGINT"],
    FieldType.TRIPLES: [["BIGINT"]],
}


def _form(field: Field) -> str:
    if field.name == "v":
        return str(limits.EVENTS_VERSION)
    return _FORMS[field.type] if field.digits is None else f'"[0-9a-f]{{{field.digits}}}"'


def _known_pair() -> str:
    """Return the pattern of a field that we know, with a value of its type."""
    names: dict[str, list[str]] = {}
    for field in FIELDS:
        names.setdefault(_form(field), []).append(field.name)
    return "(?:" + "|".join(f'"(?:{"|".join(of_form)})": ?{form}' for form, of_form in names.items()) + ")"


def _lines(pair: str) -> str:
    return rf"\A(?:\{{{pair}(?:, ?{pair})*\}}\n)+\z"


_KNOWN_PAIR: Final = _known_pair()
_KNOWN_LINES: Final = _lines(_KNOWN_PAIR)
_SCALAR: Final = f"(?:{_NUMBER}|{_TEXT}|{_BOOL}|null)"
_VALUE: Final = f"(?:{_SCALAR}|{_list(f'(?:{_SCALAR}|{_list(_SCALAR)})')})"
_SIMPLE_LINES: Final = _lines(f"{_TEXT}: ?{_VALUE}")
"""Fields that nobody knows among the others; also values of a wrong type."""
_KNOWN_FIELDS: Final = (f'"(?:{"|".join(field.name for field in FIELDS)})":', f"{_KNOWN_PAIR}[,}}]")
"""Fields that we know with any value, and with one of their type."""
_TEXTS: Final = [field.name for field in FIELDS if field.type is FieldType.TEXT]
_TYPES: Final = json.dumps({field.name: _DUCKDB_TYPES[field.type] for field in FIELDS})
_QUOTE: Final = ord('"')


@cache
def _database() -> duckdb.DuckDBPyConnection:
    """Open this process's own one, with one thread: tasks share the cores already."""
    return duckdb.connect(config={"threads": 1})


def read_lines(data: bytes, feeds: Ints) -> pa.Table | None:
    """Return `schema.FIELDS` of the lines of *data*; None if any has another form, or one of these fields twice.

    *feeds*: the places of the line feeds, the last one at the end. Types are right, and texts that are hexadecimal
    digits; numbers have 16 digits at most.
    """
    try:
        data.decode()
    except UnicodeDecodeError:
        return None
    block = _texts(data, [0, len(data)])
    is_known = pc.match_substring_regex(block, _KNOWN_LINES)[0].as_py()
    if not is_known and not pc.match_substring_regex(block, _SIMPLE_LINES)[0].as_py():
        return None
    table = _parse(_texts(data, np.append(0, feeds + 1)))
    values = _count(table, table.column_names)
    if is_known:  # a text has two quotes more than another value
        quotes = np.count_nonzero(np.frombuffer(data, np.uint8) == _QUOTE)
        is_whole = quotes == 2 * (values + _count(table, _TEXTS))
    else:
        found = {pc.count_substring_regex(block, pattern)[0].as_py() for pattern in _KNOWN_FIELDS}
        is_whole = found == {values}  # each is there once, and of its type
    return table if is_whole else None


def _parse(lines: pa.Array) -> pa.Table:
    """Return the first value of each field."""
    database = _database().cursor()
    database.register("lines", pa.table({"line": lines}))
    rows = database.sql(f"SELECT from_json(line, '{_TYPES}') AS row FROM lines").to_arrow_table()  # noqa: S608 - ours
    return pa.Table.from_struct_array(rows.column("row"))


def _count(table: pa.Table, names: list[str]) -> int:
    """Count the values of these columns."""
    return sum(len(table) - table.column(name).null_count for name in names)


def _texts(data: bytes, offsets: ArrayLike) -> pa.Array:
    """Return the texts between *offsets* of *data*, without copying them."""
    places = np.asarray(offsets, np.int32)
    return pa.StringArray.from_buffers(len(places) - 1, pa.py_buffer(places), pa.py_buffer(data))
