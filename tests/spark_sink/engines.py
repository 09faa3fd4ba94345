"""Both engines, as tests run them: everything that is there into a database, and what takes all logs together."""

from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from spark_sink import local_stream
from spark_sink.job import Job
from spark_sink.serving.connect import open_for_writing
from spark_sink.settings import LOCAL_ENGINE, SPARK_ENGINE, Settings

ReadAll: TypeAlias = Callable[[Settings], None]
"""Reads everything into the database of the settings."""


def read_all(request: pytest.FixtureRequest, engine: str) -> ReadAll:
    """Return the function for *engine*; Spark's uses the session of all tests."""
    if engine == LOCAL_ENGINE:
        return read_locally
    assert engine == SPARK_ENGINE
    spark = request.getfixturevalue("spark")
    return lambda settings: read_with_spark(spark, settings)


def read_locally(settings: Settings) -> None:
    """Read with processes of this machine."""
    with open_for_writing(settings.database) as database, local_stream.started(settings, ignored) as engine:
        work = Job(settings, database, engine.executors)
        assert not engine.read(work, database, once=True).watch()
        work.refresh.run_to_end()


def read_with_spark(spark: Any, settings: Settings) -> None:
    """Read with a session of Spark that is there already; a stream of bronze that fails is not started again."""
    from spark_sink.spark_stream import BronzeStream, SparkEngine  # needs pyspark, which may be missing

    with open_for_writing(settings.database) as database:
        engine = SparkEngine(spark, settings, ignored)
        work = Job(settings, database, engine.executors)
        if settings.is_bronze:
            BronzeStream(spark, settings, work, database).start(once=True).awaitTermination()
        else:
            assert not engine.read(work, database, once=True).watch()
        work.refresh.run_to_end()


def ignored(_text: str) -> None:
    """Say it to nobody."""
