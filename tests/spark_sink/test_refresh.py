"""Passes of the refresh: nothing twice, nothing for nothing, and how long single packets are kept."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from spark_sink import limits
from spark_sink.refresh import Refresh
from spark_sink.serving.opening import open_for_writing
from tests.spark_sink import contents
from tests.spark_sink.test_any_order import Stream, logs


@pytest.fixture
def stream(tmp_path: Path) -> Iterator[Stream]:
    """All logs merged, nothing derived yet."""
    with open_for_writing(str(tmp_path / "db.sqlite")) as database:
        stream = Stream(database)
        stream.files.data.update(logs())
        while stream.batch(None, 10**9):
            pass
        yield stream


def count(stream: Stream, table: str) -> int:
    ((found,),) = stream.database.rows(f"SELECT count(*) FROM {table}")
    assert isinstance(found, int)
    return found


def test_a_pass_does_what_is_to_be_done_and_then_nothing(stream: Stream) -> None:
    assert count(stream, "dirty") > 0
    assert stream.refresh.pass_()
    assert (count(stream, "dirty"), count(stream, "touched")) == (0, 0)
    before = stream.database.changes()
    assert not stream.refresh.pass_()
    assert stream.database.changes() == before


def test_another_refresh_goes_on_where_one_was_stopped(
    stream: Stream, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "SIGHTS_AT_A_TIME", 100)
    monkeypatch.setattr(limits, "SIGHTS_IN_MEMORY", 0)
    with pytest.raises(KeyboardInterrupt):
        stream.refresh.settle(_stop)
    assert count(stream, "dirty") > 0
    stream.refresh = Refresh(stream.database, threading.Lock())
    stopped = stream.finish()
    monkeypatch.undo()  # what is looked at in one go must not matter
    with open_for_writing(str(tmp_path / "whole.sqlite")) as database:
        whole = Stream(database)
        whole.files.data.update(logs())
        assert whole.finish() == stopped


def _stop(done: int, todo: int) -> None:
    if done * 2 >= todo:
        raise KeyboardInterrupt


def test_old_packets_go_and_what_was_made_of_them_stays(stream: Stream) -> None:
    stream.refresh.settle()
    before, kept = contents.derived(stream.database), count(stream, "sights")
    short = Refresh(stream.database, threading.Lock(), keep_days=0)
    short.settle()
    assert 0 < count(stream, "sights") < kept
    assert contents.derived(stream.database) == before


def test_other_definitions_make_all_hours_anew(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    stream.refresh.settle()
    wanted = contents.derived(stream.database)
    with stream.database.transaction():
        for table in ("links", "uses", "delays"):
            stream.database.execute(f"DELETE FROM {table}")
    assert not Refresh(stream.database, threading.Lock()).pass_(), "made by the same definitions"
    monkeypatch.setattr(limits, "DERIVED_VERSION", limits.DERIVED_VERSION + 1)
    Refresh(stream.database, threading.Lock()).settle()
    assert contents.derived(stream.database) == wanted
    assert count(stream, "dirty") == 0
