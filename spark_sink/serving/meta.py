"""Metadata of the database: the table ``meta``."""

from importlib.metadata import version
from pathlib import Path
from typing import Final

from spark_sink import limits
from spark_sink.errors import SinkError
from spark_sink.serving.database import Database, Reader

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


_PROGRAM: Final = version("tinyssb-node")
"""Version of this program."""


def write_program(database: Database) -> None:
    """Say which version of the program wrote last. Within a transaction. Raises DatabaseFailedError."""
    database.execute(
        "INSERT INTO meta (name, value) VALUES ('program', ?) "
        "ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (_PROGRAM,),
    )


DERIVED: Final = "derived"
"""Row with the version of the definitions of derived tables."""


def read_derived(reader: Reader) -> int | None:
    """Return the version of derived tables; None before there are any. Raises DatabaseFailedError."""
    return _number(reader, DERIVED)


def write_derived(database: Database) -> None:
    """Say that they are made by ours. Within a transaction. Raises DatabaseFailedError."""
    write_number(database, DERIVED, limits.DERIVED_VERSION)


SIGHTS_SINCE: Final = "sights_since_us"
"""Row with the first hour of mesh time whose single packets are kept; missing while all are."""
SIGHTS_UNTIL: Final = "sights_until_us"
"""Row with the hour before which no packets were deleted either; missing if that is unknown."""


def read_sights_since(reader: Reader) -> int | None:
    """Return the first hour whose single packets are kept, in mesh time; None: all. Raises DatabaseFailedError."""
    return _number(reader, SIGHTS_SINCE)


def read_sights_until(reader: Reader) -> int | None:
    """Return the hour before which they are kept, too; None: before none. Raises DatabaseFailedError."""
    return _number(reader, SIGHTS_UNTIL)


def write_number(database: Database, name: str, number: int) -> None:
    """Put a number into a row. Within a transaction. Raises DatabaseFailedError."""
    database.execute(
        "INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
        (name, str(number)),
    )


def _number(reader: Reader, name: str) -> int | None:
    rows = reader.rows("SELECT CAST(value AS bigint) FROM meta WHERE name = ?", (name,))
    if not rows:
        return None
    ((number,),) = rows
    assert isinstance(number, int)
    return number
