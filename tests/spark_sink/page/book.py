"""Serving databases written row by row, for tests of what reads them."""

import hashlib
import math
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from spark_sink.serving import totals
from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.ddl import ARROW_TYPES
from spark_sink.serving.tables import TABLES

Value = int | float | str | bytes | None
Key = Mapping[str, Any]


def feed_of(name: str) -> str:
    """The feed id that a node or a phone of this name has: 64 digits."""
    return hashlib.sha256(name.encode()).hexdigest()


def node_of(name: str) -> str:
    """Its node id: the first 16 digits of the feed's."""
    return feed_of(name)[:16]


def bucket_of(delay_us: int) -> int:
    """The bucket of a delay (docs/reference/analytics.md)."""
    return -1 if delay_us < 0 else math.floor(16 * math.log2(1 + delay_us / 1_000))


class Book:
    """Rows of all tables, by key; what is not said of a column is null, or 0, or empty."""

    def __init__(self) -> None:
        self.rows: dict[str, dict[tuple[Any, ...], dict[str, Any]]] = defaultdict(dict)
        self._numbers: dict[str, int] = {}

    def put(self, table: str, **columns: Any) -> None:
        """A row, in place of an earlier one with its key."""
        known = {column.name: column for column in TABLES[table].columns}
        assert set(columns) <= set(known), set(columns) - set(known)
        row: dict[str, Any] = {}
        for name, column in known.items():
            nothing = {"int64": 0, "double": 0.0, "string": "", "binary": b""}[column.type.value]
            row[name] = columns.get(name, None if column.optional else nothing)
        self.rows[table][tuple(row[name] for name in TABLES[table].key)] = row

    def add(self, table: str, key: Key, **counts: float) -> None:
        """Numbers added to those of the row with this key."""
        place = tuple(key[name] for name in TABLES[table].key)
        before = self.rows[table].get(place)
        if before is None:
            self.put(table, **key, **counts)
            return
        for name, value in counts.items():
            found = before[name]
            assert isinstance(found, int | float)
            before[name] = found + value

    def node(self, name: str) -> int:
        """The number of the node of this name."""
        return self._number("nodes", "node", node_of(name))

    def started_node(self, name: str, seen_us: int) -> int:
        """The number of a node of this name that started long ago, and whose only record is of then."""
        number = self.node(name)
        self.put("boots", node_no=number, boot=1, name=name, started_us=1, first_us=seen_us, last_us=seen_us)
        return number

    def feed(self, name: str) -> int:
        """The number of the feed of this name."""
        return self._number("feeds", "feed", feed_of(name))

    def _number(self, table: str, column: str, value: str) -> int:
        if value not in self._numbers:
            self._numbers[value] = len(self.rows[table])
            self.put(table, **{f"{column}_no": self._numbers[value], column: value})
        return self._numbers[value]

    def write(self, path: Path | str) -> None:
        """Write all rows as one transaction, in place of what the database has of these tables."""
        with open_for_writing(str(path)) as db, db.transaction():
            for name, rows in self.rows.items():
                db.execute(f"DELETE FROM {name}" + (" WHERE name <> 'changes'" if name == "meta" else ""))
                columns = TABLES[name].columns
                schema = pa.schema([(column.name, ARROW_TYPES[column.type]) for column in columns])
                db.insert(name, pa.Table.from_pylist(list(rows.values()), schema=schema))
            for table in totals.SOURCES:
                db.execute(f"DELETE FROM {table}")
                db.execute(totals.fill(table))
