"""A database by its name: the path of an SQLite file, or the URL of a PostgreSQL database."""

import fcntl
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import ModuleType

from spark_sink.errors import BusyError, DatabaseFailedError, UnavailableError, how_to_install
from spark_sink.serving import sqlite
from spark_sink.serving.address import is_address, parse_address
from spark_sink.serving.database import Database, Reader
from spark_sink.serving.meta import filling


@contextmanager
def open_for_writing(name: str) -> Iterator[Database]:
    """Open the database for the one job that may write it, make it if there is none, and close it at the end.

    Raises BusyError, SinkError for another file or version, DatabaseFailedError; for
    PostgreSQL also OptionError, UnavailableError.
    """
    with ExitStack() as stack:
        if is_address(name):
            database: Database = _postgres().open_for_writing(parse_address(name))
        else:
            stack.enter_context(_locked(Path(name)))
            database = sqlite.open_for_writing(Path(name))
        stack.callback(database.close)
        yield database


def open_for_reading(name: str) -> Reader:
    """Open the database beside a job that may be writing it.

    Raises NoDatabaseError, SinkError for another file or version, DatabaseFailedError; for
    PostgreSQL also OptionError, UnavailableError.
    """
    if is_address(name):
        reader: Reader = _postgres().open_for_reading(parse_address(name))
        return reader
    return sqlite.open_for_reading(Path(name))


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    """Hold FILE.lock. Raises BusyError, DatabaseFailedError."""
    try:
        lock = path.with_name(path.name + ".lock").open("a")
    except OSError as error:
        raise DatabaseFailedError(path, error.strerror or str(error)) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise BusyError(filling(path)) from error
        yield


def _postgres() -> ModuleType:
    """Load the driver, only when it is needed. Raises UnavailableError."""
    try:
        from spark_sink.serving import postgres  # noqa: PLC0415 its driver is an extra
    except ImportError as error:
        raise UnavailableError(
            f"A PostgreSQL database needs psycopg. Install it with: {how_to_install('postgres')}"
        ) from error
    return postgres
