"""Nodes and feeds by numbers: long names are in the database once (docs/formats/serving.md)."""

from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.serving.database import Database
from spark_sink.serving.ddl import ARROW_TYPES
from spark_sink.serving.tables import TABLES, Column

_NAMED: Final = {
    "node_no": ("node", "nodes"),
    "feed_no": ("feed", "feeds"),
    "publisher": ("publisher", "nodes"),
}
"""By column of a table: the column of names it is made from, and the table with their numbers."""
_GIVEN: Final = frozenset({"place", "batch", "part"})
"""Columns that the merge gives."""


class NameNumbers:
    """Numbers of names, as the database has them; new names get new numbers. For the one job that writes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._known: dict[str, dict[str, int]] = {"nodes": {}, "feeds": {}}

    def forget(self) -> None:
        """Forget cached numbers after a failed transaction; they are read from the database again."""
        for known in self._known.values():
            known.clear()

    def numbered(self, table: str, rows: pa.Table) -> pa.Table:
        """Return the columns of *table*, from rows that have names in ``node``, ``feed`` and ``publisher``.

        Columns that may be null may be missing. Within a transaction. Raises DatabaseFailedError.
        """
        columns = {
            column.name: self._column(column, rows)
            for column in TABLES[table].columns
            if column.name not in _GIVEN
        }
        return pa.table(columns)

    def numbers(self, table: str, names: Sequence[str]) -> list[int]:
        """Return the numbers of these names in *table*, which is ``nodes`` or ``feeds``. Raises DatabaseFailedError."""
        known = self._known[table]
        missing = list(dict.fromkeys(name for name in names if name not in known))
        if missing:
            if len(known) + len(missing) > limits.NAMES_KNOWN_MAX:
                known.clear()
                missing = list(dict.fromkeys(names))
            self._learn(table, missing)
        return [known[name] for name in names]

    def _column(self, column: Column, rows: pa.Table) -> pa.ChunkedArray:
        source, dictionary = _NAMED.get(column.name, (column.name, None))
        type_ = ARROW_TYPES[column.type]
        if source not in rows.column_names and column.optional:
            return pa.chunked_array([pa.nulls(rows.num_rows, type_)])
        found = rows.column(source)
        if dictionary is None:
            return found.cast(type_)
        encoded = found.combine_chunks()
        if not pa.types.is_dictionary(encoded.type):
            encoded = encoded.dictionary_encode()
        if isinstance(encoded, pa.ChunkedArray):  # no rows, no chunk
            return pa.chunked_array([], type_)
        numbers = pa.array(self.numbers(dictionary, encoded.dictionary.to_pylist()), type_)
        return pa.chunked_array([pc.take(numbers, encoded.indices)])

    def _learn(self, table: str, missing: Sequence[str]) -> None:
        """Look names up, and number those that are new, in their order."""
        known = self._known[table]
        name, number = table[:-1], f"{table[:-1]}_no"
        self._database.stage(table, pa.table({name: pa.array(missing, pa.string())}))
        for found, found_no in self._database.rows(
            f"SELECT t.{name}, t.{number} FROM new_{table} n JOIN {table} t ON t.{name} = n.{name}"  # noqa: S608 the names are ours
        ):
            assert isinstance(found, str)
            assert isinstance(found_no, int)
            known[found] = found_no
        self._database.execute(f"DROP TABLE new_{table}")
        ((last,),) = self._database.rows(f"SELECT max({number}) FROM {table}")  # noqa: S608 the names are ours
        new = [found for found in missing if found not in known]
        first = last + 1 if isinstance(last, int) else 1
        numbers = range(first, first + len(new))
        self._database.insert(
            table, pa.table({number: pa.array(numbers, pa.int64()), name: pa.array(new, pa.string())})
        )
        known.update(zip(new, numbers, strict=True))
