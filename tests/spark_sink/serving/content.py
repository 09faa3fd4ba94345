"""Contents of a database, with names in the place of numbers."""

from spark_sink.serving.database import Database, Reader, Row
from spark_sink.serving.ddl import quoted
from spark_sink.serving.tables import TABLES

_NODES = ("node_no", "publisher")


def rows_of(reader: Reader, table: str, columns: tuple[str, ...] = ()) -> list[Row]:
    """The rows of *table* with these columns (or all), numbers read as names, in an order of their own."""
    nodes = {row[0]: row[1] for row in reader.rows("SELECT node_no, node FROM nodes")}
    feeds = {row[0]: row[1] for row in reader.rows("SELECT feed_no, feed FROM feeds")}
    wanted = columns or tuple(column.name for column in TABLES[table].columns)
    named = [nodes if column in _NODES else feeds if column == "feed_no" else None for column in wanted]
    found = reader.rows(f"SELECT {quoted(wanted)} FROM {table}")
    rows = [
        tuple(
            value if names is None or value is None else names[value]
            for names, value in zip(named, row, strict=True)
        )
        for row in found
    ]
    return sorted(rows, key=repr)


def empty(database: Database) -> None:
    """Make it as new."""
    with database.transaction():
        for table in TABLES:
            if table != "meta":
                database.execute(f"DELETE FROM {table}")
