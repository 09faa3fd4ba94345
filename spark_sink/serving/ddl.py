"""Tables and views as SQL statements for SQLite and PostgreSQL, made of serving/tables.py."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from spark_sink.serving import totals
from spark_sink.serving.tables import TABLES, Column, ColumnType, Table

ARROW_TYPES: Final = {kind: pa.type_for_alias(kind.value) for kind in ColumnType}
"""Types of columns in Arrow."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """Differences between the two databases."""

    types: Mapping[ColumnType, str]
    strict: bool
    """Tables need the option to check types, and may be stored in the order of their key."""


SQLITE: Final = Dialect(
    {ColumnType.INT: "INTEGER", ColumnType.REAL: "REAL", ColumnType.TEXT: "TEXT", ColumnType.BYTES: "BLOB"},
    strict=True,
)
POSTGRES: Final = Dialect(
    {
        ColumnType.INT: "bigint",
        ColumnType.REAL: "double precision",
        ColumnType.TEXT: 'text COLLATE "C"',  # by bytes, as SQLite compares
        ColumnType.BYTES: "bytea",
    },
    strict=False,
)
_DEFAULTS: Final = {
    ColumnType.INT: "0",
    ColumnType.REAL: "0.0",
    ColumnType.TEXT: "''",
    ColumnType.BYTES: "''",
}


def quoted(names: Sequence[str]) -> str:
    """Quote names of columns, since some are words of SQL."""
    return ", ".join(f'"{name}"' for name in names)


def additions(existing: Mapping[str, Collection[str]], dialect: Dialect) -> list[str]:
    """Return the statements that add the tables and columns that a database lacks; *existing* has its columns by
    table."""
    statements = []
    for table in TABLES.values():
        columns = existing.get(table.name)
        if columns is None:
            statements.append(_create(table, dialect))
        else:
            missing = (column for column in table.columns if column.name not in columns)
            statements += [_add(table, column, dialect) for column in missing]
        statements += [
            f"CREATE INDEX IF NOT EXISTS {table.name}_by_{'_'.join(index)} ON {table.name} ({quoted(index)})"
            for index in table.indexes
        ]
        if table.rare:
            columns_, condition = table.rare
            statements.append(
                f"CREATE INDEX IF NOT EXISTS {table.name}_rare ON {table.name} ({columns_}) WHERE {condition}"
            )
    statements += [
        totals.fill(table)
        for table, source in totals.SOURCES.items()
        if source in existing and table not in existing
    ]
    return statements


def staging(table: str, rows: pa.Table, dialect: Dialect) -> str:
    """Return the statement that makes the temporary table ``new_<table>`` for rows with these columns."""
    types = {arrow: dialect.types[kind] for kind, arrow in ARROW_TYPES.items()}
    columns = ", ".join(f'"{field.name}" {types[field.type]}' for field in rows.schema)
    return f"CREATE TEMP TABLE new_{table} ({columns}){' STRICT' if dialect.strict else ''}"


def _create(table: Table, dialect: Dialect) -> str:
    parts = [_column(column, dialect) for column in table.columns]
    if table.key:
        parts.append(f"PRIMARY KEY ({quoted(table.key)})")
    return f"CREATE TABLE {table.name} ({', '.join(parts)}){_options(table) if dialect.strict else ''}"


def _options(table: Table) -> str:
    """Store rows in the order of the key, unless SQLite is better without: one number as key, or rows too large for
    a tree."""
    types = {column.name: column.type for column in table.columns}
    numbered = len(table.key) == 1 and types[table.key[0]] is ColumnType.INT
    return " STRICT" if numbered or table.large or not table.key else " STRICT, WITHOUT ROWID"


def _column(column: Column, dialect: Dialect) -> str:
    return f'"{column.name}" {dialect.types[column.type]}{"" if column.optional else " NOT NULL"}'


def _add(table: Table, column: Column, dialect: Dialect) -> str:
    default = "" if column.optional else f" DEFAULT {_DEFAULTS[column.type]}"
    return f"ALTER TABLE {table.name} ADD COLUMN {_column(column, dialect)}{default}"


VIEWS: Final = {
    "behind": """
        SELECT n.node_no, m.feed_no, coalesce(f.seq, 0) AS seq, m.newest, m.newest - coalesce(f.seq, 0) AS behind
        FROM (SELECT DISTINCT node_no FROM boots) n
        CROSS JOIN feed_totals m
        LEFT JOIN frontiers f ON f.node_no = n.node_no AND f.feed_no = m.feed_no
    """,
    "node_names": """
        SELECT n.node_no, n.node, s.name, s.feed_no, s.version, l.boot,
               CASE WHEN l.started_us IS NOT NULL AND l.stopped_us IS NULL THEN 1 ELSE 0 END AS running, l.last_us
        FROM (
            SELECT node_no, max(boot) AS newest, max(CASE WHEN started_us IS NOT NULL THEN boot END) AS started
            FROM boots GROUP BY node_no
        ) m
        JOIN nodes n ON n.node_no = m.node_no
        JOIN boots l ON l.node_no = m.node_no AND l.boot = m.newest
        LEFT JOIN boots s ON s.node_no = m.node_no AND s.boot = m.started
    """,
}
"""Query of each view, by its name."""
