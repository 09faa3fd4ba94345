import errno
import os
import shutil
import sqlite3
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path

import pytest

from tests.pzp.database.contract import DatabaseContract
from tests.pzp.database.contract_taking_away import TakingAwayContract
from tests.pzp.database.frozen import FOLDER, fill, fill_v4
from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, Author, filled, keep, need, public, state
from tinyssb_node.errors import StoreDamagedError, StoreFailedError, StoreFullError, StoreTooNewError
from tinyssb_node.pzp.database import limits, sqlite
from tinyssb_node.pzp.database.database import PzpAddOutcome, PzpDatabase
from tinyssb_node.pzp.database.errors import PzpBusyError
from tinyssb_node.pzp.database.sqlite import PZP_FILE, PZP_VERSION, SqlitePzpRows
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.goals import ALL
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.store import recovery


@pytest.fixture
def path(tmp_path):
    return tmp_path / PZP_FILE


@pytest.fixture
def database(path):
    with closing(PzpDatabase(SqlitePzpRows.open(path))) as database:
        yield database


def opened(path) -> PzpDatabase:
    return PzpDatabase(SqlitePzpRows.open(path))


def everything(path) -> bytes:
    """All bytes on the disk."""
    return b"".join(one.read_bytes() for one in sorted(path.parent.iterdir()))


class TestSqlite(DatabaseContract, TakingAwayContract):
    @pytest.fixture
    def database(self, database):
        return database

    def test_all_of_it_survives_closing(self, database: PzpDatabase, path) -> None:
        author = Author()
        author.says(30)
        filled(database, author)
        keep(database, author.feed, "newest-4")
        database.delete(next(iter(author.tangle.tips)))
        database.collect(0)
        before = state(database)
        database.close()
        with closing(opened(path)) as again:
            assert state(again) == before
        with closing(PzpDatabase(SqlitePzpRows.open_readonly(path))) as again:
            assert state(again) == before
            with pytest.raises(StoreFailedError, match="readonly"):
                again.set_goal(author.feed, ALL)

    def test_what_was_erased_is_nowhere_on_the_disk(self, database: PzpDatabase, path) -> None:
        author = filled(database, Author())
        secret = "the cat is under the roof" * 300
        ids = [database.write(ALICE, {"text": secret}, "post", author.group, wall_us=1) for _ in range(9)]
        assert b"under the roof" in everything(path)
        with database.batch():
            for id_ in ids[:-1]:
                database.erase(id_)
            database.delete(ids[-1])
        assert b"under the roof" not in everything(path)

    def test_room_is_given_back(self, database: PzpDatabase, path) -> None:
        author = filled(database, Author())
        with database.batch():
            for number in range(50):
                said: Json = {"text": "x" * 20_000, "n": number}
                database.write(ALICE, said, "post", author.group, wall_us=1)
        keep(database, author.feed, "newest-1")
        database.collect(0)
        assert path.stat().st_size < 300_000

    def test_two_processes_see_each_other(self, database: PzpDatabase, path) -> None:
        with closing(opened(path)) as other:
            author = filled(database, Author())
            first = other.write(ALICE, {"n": 1}, "post", author.group, wall_us=1)
            second = database.write(ALICE, {"n": 2}, "post", author.group, wall_us=1)
            assert first in database.tangle(author.feed).prev(second)
            assert other.tangle(author.feed).tips == {second}
            other.delete(second)
            assert dict(database.ghosts(author.feed)) == {second: 2}

    def test_one_writes_at_a_time(self, path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(limits, "BUSY_S", 0)
        with closing(opened(path)) as one, closing(opened(path)) as other:
            with one.batch(), pytest.raises(PzpBusyError, match="Nothing was changed"):
                other.set_goal("x", ALL)
            other.set_goal("x", ALL)

    def test_a_batch_in_which_a_write_failed_is_not_kept(self, database: PzpDatabase, path) -> None:
        author = filled(database, Author())
        author.say({})
        before = state(database)

        def careless() -> None:
            with database.batch():
                database.set_goal(author.feed, ALL)
                rows = database.rows
                assert isinstance(rows, SqlitePzpRows)
                with pytest.raises(StoreFailedError):
                    rows.put(before["records"][0], {})
                database.set_goal(author.group, ALL)

        with pytest.raises(StoreFailedError, match="nothing of this batch was kept"):
            careless()
        with pytest.raises(StoreFailedError, match="Open it anew"):
            database.set_goal(author.feed, ALL)
        assert state(database) == before
        with closing(opened(path)) as again:
            assert again.add(author.written[-1], wall_us=1).outcome is PzpAddOutcome.NEW


def test_on_a_full_disk_it_can_be_read_and_goes_on_once_there_is_room(database: PzpDatabase) -> None:
    author = filled(database, Author())
    before = state(database)
    rows = database.rows
    assert isinstance(rows, SqlitePzpRows)
    rows.connection.execute("PRAGMA max_page_count = 20")

    def publish_much() -> None:
        for _ in range(50):
            database.write(ALICE, {"text": "x" * 4_000}, "chat", author.group, wall_us=1)

    with pytest.raises(StoreFullError, match="can be read"):
        publish_much()
    assert database.record(author.feed) == before["records"][1]
    rows.connection.execute("PRAGMA max_page_count = 100000")
    database.write(ALICE, {"text": "x" * 4_000}, "chat", author.group, wall_us=1)


@pytest.mark.parametrize(
    ("statements", "error"),
    [
        ([f"PRAGMA user_version = {PZP_VERSION + 1}"], StoreTooNewError),
        (["PRAGMA application_id = 5"], StoreDamagedError),
    ],
)
def test_a_file_of_another_is_left_as_it_is(path, statements, error) -> None:
    opened(path).close()
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        for statement in statements:
            connection.execute(statement)
    before = path.read_bytes()
    for opening in (SqlitePzpRows.open, SqlitePzpRows.open_readonly):
        with pytest.raises(error):
            opening(path)
    assert path.read_bytes() == before


def test_what_is_no_database_is_left_as_it_is(path) -> None:
    path.write_bytes(b"something else" * 400)
    with pytest.raises(StoreDamagedError):
        SqlitePzpRows.open(path)
    assert path.read_bytes() == b"something else" * 400
    path.unlink()
    with pytest.raises(StoreFailedError):
        SqlitePzpRows.open_readonly(path)
    assert not path.exists()
    path.touch()
    with pytest.raises(StoreDamagedError, match="empty"):
        SqlitePzpRows.open_readonly(path)


def test_damage_within_is_said(path) -> None:
    with closing(opened(path)) as database:
        author = Author()
        author.say({})
        filled(database, author)
    with closing(sqlite3.connect(path, isolation_level=None)) as connection:
        connection.execute("UPDATE places SET prev = '{'")
        connection.execute("DELETE FROM totals")
        connection.execute("UPDATE messages SET text = x'ff' WHERE kind = 'post'")
    with closing(opened(path)) as database:
        with pytest.raises(StoreFailedError, match="is damaged: the text must be UTF-8"):
            database.tangle(author.feed)
        with pytest.raises(StoreDamagedError, match="a place in"):
            database.rows.places(author.feed)
        with pytest.raises(StoreDamagedError, match="how much"):
            database.totals()


def test_a_log_that_was_left_is_put_on_the_disk_before_anything(
    path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with closing(opened(path)) as database:
        author = filled(database, Author())
        for one in path.parent.iterdir():
            if one.suffix != ".lock" and not one.name.endswith("-shm"):
                shutil.copy(one, path.parent / f"copy-{one.name}")
    left = path.with_name(f"copy-{path.name}")
    written: list[Path] = []
    monkeypatch.setattr(sqlite, "write_anew", written.append)
    with closing(opened(left)) as database, closing(opened(left)):
        assert len(database.tangle(author.feed)) == 1
    assert written == [left.with_name(left.name + "-wal"), left]  # by the first of the two


@pytest.mark.parametrize("refused", ["open", "write_anew", "sync_folder"])
def test_what_the_disk_refuses_at_opening_is_said(
    path, monkeypatch: pytest.MonkeyPatch, refused: str
) -> None:
    def fail(*_args: object, **_more: object) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    if refused == "open":
        monkeypatch.setattr(os, "open", fail)
    else:
        monkeypatch.setattr(recovery if refused == "sync_folder" else sqlite, refused, fail)
    with pytest.raises(StoreFailedError, match="Input/output"):
        SqlitePzpRows.open(path)


KILLED = """
import os, sys
from pathlib import Path
from tests.pzp.database.frozen import FOLDER, fill, fill_v4
from tests.pzp.database.messages import ALICE
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.sqlite import SqlitePzpRows
from tinyssb_node.pzp.messages.versions import V2

database = PzpDatabase(SqlitePzpRows.open(Path(sys.argv[1])))
with database.batch():
    group = database.create_identity(ALICE, "x", wall_us=1, version=V2)
    for number in range(20):
        database.write(ALICE, {"n": number}, "post", group, wall_us=1)
print(group, flush=True)
with database.batch():
    database.write(ALICE, {"n": 20}, "post", group, wall_us=1)
    os.kill(os.getpid(), 9)
"""


def test_a_process_that_is_killed_loses_what_was_not_committed_only(path) -> None:
    run = subprocess.run(
        [sys.executable, "-c", KILLED, str(path)], capture_output=True, text=True, check=False
    )
    assert run.returncode == -9, run.stderr
    group = run.stdout.strip()
    with closing(opened(path)) as database:
        assert database.totals().messages == 22
        assert len(database.records(kind="post")) == 21
        database.write(ALICE, {"n": 20}, "post", group, wall_us=1)


@pytest.mark.parametrize("version", [1, 2])
def test_the_frozen_file_holds_what_was_put_into_it(path, version: int) -> None:
    expected = PzpDatabase(MemoryPzpRows())
    fill(expected)
    if version == 2:
        fill_v4(expected)
    shutil.copy(FOLDER / f"pzp_v{version}.sqlite", path)
    with closing(PzpDatabase(SqlitePzpRows.open_readonly(path))) as database:
        frozen = state(database)
    assert frozen == state(expected)
    with closing(opened(path)) as database:
        assert state(database) == frozen
        groups = [one for one in database.tangles() if database.tangle(one.root).facts.identity]
        assert len(groups) == version
        assert {need(database.record(one.id)).said.name for one in database.records()} == {
            "HERE", "ABSENT", "ERASED",
        }  # fmt: skip
        assert set(map(str, frozen["goals"].values())) == {"all", "newest-5"}
        assert sum(len(ghosts) for ghosts in frozen["ghosts"].values()) == 1
        for group in groups:
            assert database.tangle(group.root).keys == {public(ALICE), public(BOB)}
            database.write(BOB, {"new": True}, "post", group.root, wall_us=1)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (PZP_VERSION,)
    assert {one.name for one in FOLDER.iterdir()} == {
        f"pzp_v{version}.sqlite" for version in range(1, PZP_VERSION + 1)
    }


def test_errors_of_peers_do_not_undo_the_batch(database: PzpDatabase) -> None:
    author = Author()
    author.says(2)
    with database.batch():
        values: list[Json] = [author.written[0], {"metadata": {"v": 2}}, *author.written[1:]]
        for one in values:
            try:
                database.add(one, wall_us=1)
            except MessageError:
                continue
    assert database.totals().messages == 4


def test_several_may_make_the_file_at_once(tmp_path) -> None:
    def make(path: Path) -> None:
        SqlitePzpRows.open(path).close()

    # Without a lock it went wrong about once in ten.
    with ThreadPoolExecutor(4) as pool:
        for number in range(60):
            for making in [pool.submit(make, tmp_path / f"{number}.sqlite") for _ in range(4)]:
                making.result()
