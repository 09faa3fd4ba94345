"""What the database says of itself: the table ``meta``."""

from typing import Final

from spark_sink import limits
from spark_sink.errors import DatabaseFailedError
from spark_sink.serving.port import Reader

FIRST_ROWS: Final = (("version", str(limits.STORE_VERSION)), ("changes", "0"))
"""What is there from the beginning."""

RAISE_CHANGES: Final = (
    "UPDATE meta SET value = CAST(CAST(value AS bigint) + 1 AS text) WHERE name = 'changes'"
)
"""The first statement of every transaction."""


def read_changes(reader: Reader) -> int:
    """How often the database was written to. Raises DatabaseFailedError."""
    rows = reader.rows("SELECT CAST(value AS bigint) FROM meta WHERE name = 'changes'")
    if not rows or not isinstance(rows[0][0], int):
        raise DatabaseFailedError("the database", "its table meta has no row `changes`")
    return rows[0][0]
