"""One look per tick, shared: what is noticed, what is sent, and how many may listen."""

import asyncio
import json
import sqlite3
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from spark_sink import limits as sink_limits
from spark_sink import tables
from spark_sink.dashboard import limits
from spark_sink.dashboard.watch import Reader, TooManyPagesError, Watcher
from tests.spark_sink.serving_data import T0_US, Mesh


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "mesh.sqlite"


@pytest.fixture
async def watcher(path: Path) -> AsyncIterator[Watcher]:
    made = Watcher(path, tick_s=0.01, heartbeat_s=0.05)
    looking = asyncio.create_task(made.run())
    yield made
    await made.close()
    await looking


def grow(path: Path, seq: int) -> None:
    with Mesh(path) as mesh:
        mesh.node("ana")
        mesh.publish("ana", seq, T0_US)


def test_an_unchanged_database_is_not_asked_again(path: Path) -> None:
    grow(path, 1)
    reader = Reader(path)
    first = reader.look()
    assert reader.look() is first
    grow(path, 2)
    second = reader.look()
    assert (first.totals.entries, second.totals.entries) == (1, 2)
    reader.close()


def test_a_missing_database_is_named_until_it_appears(path: Path) -> None:
    reader = Reader(path)
    first = reader.look()
    assert first.state == "missing"
    assert str(path) in first.message
    assert reader.look() is first
    grow(path, 1)
    assert reader.look().state == "ready"
    reader.close()


def test_a_replaced_file_is_opened_anew(path: Path, tmp_path: Path) -> None:
    grow(path, 1)
    reader = Reader(path)
    assert reader.look().totals.entries == 1
    other = tmp_path / "other.sqlite"
    grow(other, 1)
    grow(other, 2)
    other.replace(path)
    assert reader.look().totals.entries == 2
    path.unlink()
    assert reader.look().state == "missing"
    reader.close()


def test_a_foreign_file_is_left_alone_and_said_so(path: Path) -> None:
    path.write_bytes(b"not a database at all, but long enough to be looked at" * 20)
    reader = Reader(path)
    found = reader.look()
    assert (found.state, str(path) in found.message) == ("unreadable", True)
    assert reader.look() is found


def test_a_newer_database_is_refused_by_name(path: Path) -> None:
    tables.open_for_writing(path).close()
    db = sqlite3.connect(path)
    db.execute(f"PRAGMA user_version = {sink_limits.SERVING_VERSION + 1}")
    db.close()
    found = Reader(path).look()
    assert found.state == "unreadable"
    assert "Update tinyssb-sink" in found.message


def test_an_older_database_is_told_how_to_make_a_new_one(path: Path) -> None:
    grow(path, 1)
    db = sqlite3.connect(path)
    db.executescript("DROP VIEW behind; DROP VIEW links; DROP TABLE frontier;")
    db.close()
    found = Reader(path).look()
    assert found.state == "unreadable"
    assert "older tinyssb-sink" in found.message
    assert "backfill" in found.message


def test_a_directory_is_no_database(tmp_path: Path) -> None:
    found = Reader(tmp_path).look()
    assert found.state == "unreadable"
    assert str(tmp_path) in found.message


async def test_a_listener_gets_the_newest_at_once_and_each_change(path: Path, watcher: Watcher) -> None:
    grow(path, 1)
    pages = watcher.listen()
    first = await anext(pages)
    assert first is not None
    assert json.loads(first)["totals"]["entries"] == 1
    grow(path, 2)
    payload = None
    while payload is None:
        payload = await anext(pages)
    assert json.loads(payload)["totals"]["entries"] == 2
    await pages.aclose()


async def test_without_news_there_are_signs_of_life(path: Path, watcher: Watcher) -> None:
    grow(path, 1)
    pages = watcher.listen()
    await anext(pages)
    assert await anext(pages) is None
    await pages.aclose()


async def test_a_slow_listener_skips_to_the_newest(path: Path, watcher: Watcher) -> None:
    grow(path, 1)
    slow, quick = watcher.listen(), watcher.listen()
    await anext(slow)
    await anext(quick)
    for seq in (2, 3):
        grow(path, seq)
        while await anext(quick) is None:
            continue
    newest = await anext(slow)
    assert newest is not None
    assert json.loads(newest)["totals"]["entries"] == 3
    await slow.aclose()
    await quick.aclose()


async def test_listeners_are_bounded_and_their_places_come_free(path: Path, watcher: Watcher) -> None:
    grow(path, 1)
    pages = [watcher.listen() for _ in range(limits.CLIENTS_MAX)]
    for page in pages:
        await anext(page)
    with pytest.raises(TooManyPagesError):
        await anext(watcher.listen())
    await pages.pop().aclose()
    again = watcher.listen()
    assert await anext(again)
    for page in [*pages, again]:
        await page.aclose()
    assert watcher.listeners == 0


async def test_closing_ends_the_listening(path: Path, watcher: Watcher) -> None:
    grow(path, 1)
    pages = watcher.listen()
    await anext(pages)
    watcher.stop()
    assert [payload async for payload in pages if payload] == []
