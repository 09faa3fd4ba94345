"""The catalog's file: made anew whenever it cannot be trusted, read where it cannot be written."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.mesh import (
    ANA,
    ANSWER,
    BOB,
    PUBLIC_TEXTS,
    SAID_S,
    SECRET,
    SOUP,
    Author,
    Home,
    id_of,
    post,
    seed_of,
    texts,
)
from tinyssb_node.catalog import catch_up, schema
from tinyssb_node.catalog.catalog import Catalog
from tinyssb_node.catalog.errors import CatalogBusyError, CatalogFailedError, CatalogReadOnlyError
from tinyssb_node.catalog.rows import PUBLIC, MessageKind
from tinyssb_node.content import chat
from tinyssb_node.content.short_text import ShortText
from tinyssb_node.errors import StoreFailedError
from tinyssb_node.ids import Dialect
from tinyssb_node.store.secrets import Identity, create_identity


def test_nobody_else_may_read_it(path, catalog):
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_nothing_new_is_found_without_loading_the_store(home, catalog):
    code = (
        "import sys; from pathlib import Path; from tinyssb_node.catalog.catalog import Catalog\n"
        "home = Path(sys.argv[1])\n"
        "with Catalog.open(home, home) as catalog: catalog.catch_up(); print(len(catalog.messages('public')))\n"
        "print(sorted({'nacl', 'msgspec', 'asyncio', 'tinyssb_node.store.sqlite'} & set(sys.modules)))"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, home.folder], capture_output=True, text=True, check=True
    )
    assert run.stdout.split("\n")[:2] == ["3", "[]"]


def _scribble(path: Path) -> None:
    path.write_bytes(b"no database at all" * 1_000)


def _corrupt(path: Path) -> None:
    """Make the first page of each table and index unreadable. The schema, which is read at first, is not."""
    connection = sqlite3.connect(path)
    (size,) = connection.execute("PRAGMA page_size").fetchone()
    roots = [root for (root,) in connection.execute("SELECT rootpage FROM sqlite_schema WHERE rootpage > 0")]
    connection.close()
    raw = bytearray(path.read_bytes())
    for root in roots:
        raw[(root - 1) * size : root * size] = b"\xaa" * size
    path.write_bytes(raw)


def _truncate(path: Path) -> None:
    os.truncate(path, 4_096)


def _sql(statement: str) -> Callable[[Path], None]:
    def run(path: Path) -> None:
        connection = sqlite3.connect(path)
        connection.executescript(statement)
        connection.close()

    return run


@pytest.mark.parametrize(
    ("harm", "reason"),
    [
        (_scribble, "damaged"),
        (_corrupt, "damaged"),
        (_truncate, "damaged"),
        (_sql("PRAGMA application_id = 7"), "another program's database"),
        (_sql("DROP TABLE messages"), "damaged"),
        (_sql("DELETE FROM state"), "damaged"),
        (_sql("PRAGMA user_version = 99"), "another version"),
        (_sql("PRAGMA user_version = 99; DROP TABLE waits; CREATE TABLE odd (x)"), "another version"),
        (_sql("UPDATE state SET packet = x'00'"), "another store"),
        (_sql("UPDATE state SET arrival = 1000"), "another store"),
        (
            _sql(
                "UPDATE state SET reader = x'00'; UPDATE state SET arrival = arrival - 1, "
                "packet = (SELECT x'')"
            ),
            "another store",
        ),
    ],
)
def test_what_cannot_be_trusted_is_made_anew_and_said(home, path, catalog, harm, reason):
    catalog.close()
    harm(path)
    with home.catalog() as again:
        before = again.catch_up().rebuilt
        assert texts(again) == PUBLIC_TEXTS
        rebuilt = before or again.catch_up().rebuilt
        assert rebuilt is not None
        assert reason in rebuilt
    with home.catalog() as again:
        assert again.catch_up().rebuilt is None
        assert [person.alias for person in again.people() if person.feed == BOB.feed] == ["bob"]


def test_a_store_that_was_put_back_is_noticed(home, tmp_path, catalog):
    catalog.close()
    home.close()
    shutil.copytree(home.folder, tmp_path / "backup")
    other = Home(tmp_path / "other", Author("ana"))
    other.keep([ANSWER])
    other.close()
    shutil.copy(tmp_path / "other" / "store.sqlite", home.folder / "store.sqlite")
    with home.catalog() as again:
        assert "another store" in (again.catch_up().rebuilt or "")
        assert [row.text for row in again.waiting(PUBLIC)] == [PUBLIC_TEXTS[1]]


def test_without_the_key_sealed_messages_stay_closed_until_it_is_there(home):
    (home.folder / "identity").rename(home.folder / "away")
    with home.catalog() as catalog:
        assert catalog.catch_up().rebuilt is None
        row = catalog.message(id_of(SECRET))
        assert row is not None
        assert (row.kind, row.private, row.conversation) == (MessageKind.OPAQUE, False, None)
    (home.folder / "away").rename(home.folder / "identity")
    home.keep([ANA_MORE])
    with home.catalog() as catalog:
        assert "another key, or without one" in (catalog.catch_up().rebuilt or "")
        (circle, public) = sorted(catalog.conversations(), key=lambda row: row.name)
        assert (circle.members, texts(catalog, circle.name)) == (
            tuple(sorted((ANA.feed, BOB.feed))),
            ["under the stone"],
        )
        assert public.messages == 4


ANA_MORE = ANA.say(post("more", id_of(SOUP)))


def test_a_key_that_cannot_be_used_any_more_stops_it(home, catalog):
    (home.folder / "identity").unlink()
    home.keep([ANA_MORE])
    caught = catalog.catch_up()
    assert (caught.done, caught.behind, texts(catalog)) == (0, 1 + len(ANA_MORE.chunks), PUBLIC_TEXTS)
    assert "key" in (caught.stopped or "")


def test_another_identity_makes_it_anew(home, catalog):
    (home.folder / "identity").unlink()
    create_identity(home.folder / "identity", Identity(seed=seed_of("eve"), dialect=Dialect.SPEC))
    home.keep([ANA_MORE])
    assert "another key" in (catalog.catch_up().rebuilt or "")
    assert [row.name for row in catalog.conversations()] == [PUBLIC]


def test_on_a_full_disk_what_is_there_is_read_and_its_age_is_said(home, connections, catalog):
    (connection,) = connections
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages}")
    talk = [ANA_MORE, *(EVE_TALK.say(post("x" * 900)) for _ in range(40))]
    home.keep(talk, commit=False)
    caught = catalog.catch_up()
    assert caught.stopped == "there is no room on the disk"
    assert caught.behind == sum(1 + len(entry.chunks) for entry in talk) == catalog.behind()
    assert texts(catalog) == PUBLIC_TEXTS
    connection.execute("PRAGMA max_page_count = 100000")
    assert catalog.catch_up().stopped is None
    assert catalog.behind() == 0


EVE_TALK = Author("talkative")


def test_while_another_process_has_it_for_too_long_what_is_there_is_read(home, path, connections, catalog):
    connections[0].execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    home.keep([ANA_MORE])
    caught = catalog.catch_up()
    assert ("another process" in (caught.stopped or ""), caught.behind > 0, texts(catalog)) == (
        True,
        True,
        PUBLIC_TEXTS,
    )
    other.close()
    assert catalog.catch_up().stopped is None


def test_another_process_that_gets_on_with_it_is_waited_for(home, catalog, monkeypatch):
    home.keep([ANA_MORE])
    whole = catch_up.catch_up
    asked = []

    def busy(connection: sqlite3.Connection, path: Path, *arguments: Any) -> int:
        asked.append(catalog.behind())
        if len(asked) == 1:
            with monkeypatch.context() as other_process, home.catalog() as other:
                other_process.setattr(catch_up, "catch_up", whole)
                other.catch_up()
            home.keep([ANA.say(post("and more"))])
        if len(asked) <= 2:
            raise CatalogBusyError(path, "another process is writing it")
        return whole(connection, path, *arguments)

    monkeypatch.setattr(catch_up, "catch_up", busy)
    assert catalog.catch_up().stopped == "another process is writing it"
    assert len(asked) == 2
    assert catalog.catch_up().stopped is None


def _may_not_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite open files as for a user who may not write there; permissions do not bind root."""
    whole = schema.connect

    def connect(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
        if not readonly and not path.exists():
            raise CatalogReadOnlyError(path, "Read-only file system")
        return whole(path, readonly=True)

    def remove(path: Path) -> None:
        raise CatalogReadOnlyError(path, "Read-only file system")

    monkeypatch.setattr(schema, "connect", connect)
    monkeypatch.setattr(schema, "remove_damaged", remove)


def test_where_nothing_can_be_written_it_is_read(home, catalog, monkeypatch):
    catalog.close()
    home.keep([ANA_MORE])
    _may_not_write(monkeypatch)
    with home.catalog() as reader:
        caught = reader.catch_up()
        assert caught.behind > 0
        assert caught.stopped == "it may not be written"
        assert texts(reader) == PUBLIC_TEXTS


@pytest.mark.parametrize("harm", [Path.unlink, _sql("PRAGMA user_version = 99")])
def test_where_none_is_and_none_can_be_made_it_is_kept_in_memory(home, path, catalog, monkeypatch, harm):
    catalog.close()
    harm(path)
    before = path.exists() and path.read_bytes()
    _may_not_write(monkeypatch)
    with home.catalog() as reader:
        caught = reader.catch_up()
        assert (caught.stopped, caught.behind, texts(reader)) == (None, 0, PUBLIC_TEXTS)
        assert "cannot be kept" in (caught.rebuilt or "")
    assert (path.exists() and path.read_bytes()) == before


def test_without_a_store_there_is_no_catalog(tmp_path):
    with pytest.raises(StoreFailedError):
        Catalog.open(tmp_path, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_the_version_of_the_data_changes_when_somebody_else_reads_something_in(home, catalog):
    with home.catalog() as other:
        before = other.data_version()
        assert other.data_version() == before
        home.keep([ANA_MORE])
        catalog.catch_up()
        assert other.data_version() != before


def test_processes_catch_up_beside_each_other(home, path):
    home.keep((EVE_MANY.say(post(f"number {number}")) for number in range(300)), commit=False)
    code = (
        "import sys; from pathlib import Path; from tinyssb_node.catalog import limits\n"
        "limits.CATALOG_BATCH = 7\n"
        "from tinyssb_node.catalog.catalog import Catalog\n"
        "home = Path(sys.argv[1])\n"
        "with Catalog.open(home, home) as catalog: print(catalog.catch_up().done)"
    )
    command = [sys.executable, "-c", code, str(home.folder)]
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    done = [int(run.communicate(timeout=120)[0]) for run in runs]
    assert sum(done) == home.store.last_arrival()
    with home.catalog() as catalog:
        assert catalog.catch_up().done == 0
        assert [row.text for row in catalog.messages(PUBLIC, limit=300)][-1] == "number 299"


EVE_MANY = Author("many")


def test_a_process_that_dies_in_the_middle_costs_its_last_transaction(home, path):
    code = (
        "import os, sys; from pathlib import Path; from tinyssb_node.catalog import limits, tangle_placement\n"
        "limits.CATALOG_BATCH = 2\n"
        "from tinyssb_node.catalog.catalog import Catalog\n"
        "whole = tangle_placement.TanglePlacer.finish\n"
        "tangle_placement.TanglePlacer.finish = lambda placer: os._exit(9) if placer.placed > 1 else whole(placer)\n"
        "home = Path(sys.argv[1])\n"
        "Catalog.open(home, home).catch_up()"
    )
    assert subprocess.run([sys.executable, "-c", code, home.folder], check=False).returncode == 9
    with home.catalog() as catalog:
        assert catalog.behind() == home.store.last_arrival() - 2
        assert catalog.catch_up().rebuilt is None
        assert texts(catalog) == PUBLIC_TEXTS


def test_damage_that_a_question_meets_is_repaired_before_it_is_answered(connections, catalog):
    connections[0].execute("DROP TABLE circles")
    assert texts(catalog) == PUBLIC_TEXTS
    assert "damaged" in (catalog.catch_up().rebuilt or "")


@pytest.mark.parametrize("harm", [_sql("DROP TABLE circles"), _corrupt])
def test_damage_where_nothing_can_be_written_is_gone_around(path, catalog, monkeypatch, harm):
    catalog.close()
    harm(path)
    before = path.read_bytes()
    _may_not_write(monkeypatch)
    with Catalog.open(path.parent, path.parent) as reader:
        assert texts(reader) == PUBLIC_TEXTS
        assert "cannot be kept" in (reader.catch_up().rebuilt or "")
    assert path.read_bytes() == before


def test_without_a_text_index_there_is_no_catalog(home, monkeypatch):
    """A Python whose SQLite was made without FTS5."""
    tables = [table.replace("fts5", "fts9") for table in schema.TABLES]
    monkeypatch.setattr(schema, "TABLES", tables)
    with pytest.raises(CatalogFailedError, match=r"no such module: fts9.*All messages are kept in the store"):
        home.catalog()


def test_private_texts_of_both_forms_are_one_conversation(tmp_path):
    ana, bob = Author("ana"), Author("bob")
    home, readers = Home(tmp_path / "two", ana), [ana.feed, bob.feed]
    first = bob.whisper(post("in the form of the app", recipients=readers), readers)
    answer = ana.murmur(ShortText(text="short", ties=(id_of(first),), said_s=SAID_S), bob.feed)
    note = ana.murmur(ShortText(text="for me", said_s=SAID_S), ana.feed)
    home.keep([first, answer, note])
    with home.catalog() as catalog:
        catalog.catch_up()
        name = chat.conversation_root(readers).hex()[:16]
        assert [row.text for row in catalog.messages(name)] == ["in the form of the app", "short"]
        assert catalog.messages(name)[1].previous == (id_of(first),)
        (row,) = catalog.messages(chat.conversation_root([ana.feed]).hex()[:16])
        assert (row.text, row.private) == ("for me", True)
        for entry, text in ((answer, "short"), (note, "for me")):
            content = catalog.content(id_of(entry))
            assert content is not None
            assert content.endswith(text.encode())
        assert catalog.dialect(ana.feed) is Dialect.SPEC
        assert catalog.dialect(Author("cyd").feed) is None
