"""Every test of the serving database that wants one gets both: SQLite, and PostgreSQL where it is installed."""

import itertools
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_sink.serving.connect import open_for_writing
from spark_sink.serving.database import Database
from tests.spark_sink.serving.server import PostgresServer, running_server

_SCHEMAS = itertools.count()


@pytest.fixture(scope="session")
def server() -> Iterator[PostgresServer]:
    """PostgreSQL; only for tests with the marker."""
    with running_server() as running:
        yield running


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=pytest.mark.postgres)])
def name(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a database that is not there yet."""
    if request.param == "sqlite":
        return str(tmp_path / "serving.sqlite")
    server: PostgresServer = request.getfixturevalue("server")
    return server.url(f"test_{next(_SCHEMAS)}")


@pytest.fixture
def database(name: str) -> Iterator[Database]:
    """A new database."""
    with open_for_writing(name) as opened:
        yield opened
