"""Columns of Arrow as the values that databases take, and back."""

from collections.abc import Iterable, Iterator, Sequence

import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.serving.database import Row
from spark_sink.serving.ddl import ARROW_TYPES
from spark_sink.serving.tables import TABLES


def rows_of(table: pa.Table) -> Iterator[Row]:
    """The rows of *table*, as tuples."""
    return zip(*(column.to_pylist() for column in table.columns), strict=True)


def table_of(name: str, columns: Sequence[str], rows: Sequence[Row]) -> pa.Table:
    """Rows that a query found, with these columns of the table called *name*."""
    types = {column.name: ARROW_TYPES[column.type] for column in TABLES[name].columns}
    schema = pa.schema([(column, types[column]) for column in columns])
    if not rows:
        return schema.empty_table()
    arrays = [
        pa.array(values, field.type) for values, field in zip(zip(*rows, strict=True), schema, strict=True)
    ]
    return pa.Table.from_arrays(arrays, schema=schema)


def table_of_some(parts: Iterable[Sequence[Row]], schema: pa.Schema) -> pa.Table:
    """Rows that come some at a time, as one table with these columns."""
    return pa.Table.from_batches(
        [
            pa.RecordBatch.from_arrays(
                [
                    pa.array(column, field.type)
                    for column, field in zip(zip(*rows, strict=True), schema, strict=True)
                ],
                schema=schema,
            )
            for rows in parts
            if rows
        ],
        schema=schema,
    )


def without_nan(table: pa.Table) -> pa.Table:
    """*table* with null in the place of what is not a number: SQLite knows no other."""
    for index, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            column = table.column(index)
            known = pc.if_else(pc.is_nan(column), pa.scalar(None, field.type), column)
            table = table.set_column(index, field, known)
    return table
