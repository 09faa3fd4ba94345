"""Metadata of the database: the table ``meta``."""

from pathlib import Path
from typing import Final

from spark_sink import limits
from spark_sink.errors import SinkError
from spark_sink.serving.database import Database, Reader
from tinyssb_node import version

FIRST_ROWS: Final = (("version", str(limits.STORE_VERSION)), ("changes", "0"))
"""Rows of a new database."""


def check_version(database: Path | str, version: int) -> None:
    """Refuse a database whose tables have another version. Raises SinkError."""
    if version < limits.STORE_VERSION:
        raise SinkError(
            f"{database} was made by an older tinyssb-sink (version {version} of the serving database); it was left as "
            "it is. Everything in it is made again from the nodes' logs: name a new database with --db."
        )
    if version > limits.STORE_VERSION:
        raise SinkError(
            f"{database} has version {version} of the serving database, this program knows up to "
            f"{limits.STORE_VERSION}; it was left as it is. Update tinyssb-sink, or name another file with --db."
        )


def filling(database: Path | str) -> str:
    """Return the message for a database that another job writes."""
    return f"Another tinyssb-sink is filling {database}; nothing was done. Stop it first."


PROGRAM: Final = version()
"""Version of this program; the row ``program`` says which one wrote last."""
DERIVED: Final = "derived"
"""Row with the version of the definitions of derived tables; missing before there are any."""
CLOCKS_DUE: Final = "clocks_due_us"
"""Row with the time, by the job's clock, before which clocks need not be estimated again."""
SIGHTS_SINCE: Final = "sights_since_us"
"""Row with the first hour of mesh time whose single packets are kept; missing while all are."""
SIGHTS_UNTIL: Final = "sights_until_us"
"""Row with the hour before which no packets were deleted either; missing if that is unknown."""


def write(database: Database, name: str, value: int | str) -> None:
    """Put a value into a row. Within a transaction. Raises DatabaseFailedError."""
    database.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, str(value)),
    )


def read(reader: Reader, name: str) -> str | None:
    """Return the text in a row; None if it is missing. Raises DatabaseFailedError."""
    rows = reader.rows("SELECT value FROM meta WHERE name = ?", (name,))
    return str(rows[0][0]) if rows else None


def read_number(reader: Reader, name: str) -> int | None:
    """Return the number in a row; None if it is missing. Raises DatabaseFailedError."""
    text = read(reader, name)
    return None if text is None else int(text)
