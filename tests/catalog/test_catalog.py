"""The catalog's file: made anew whenever it cannot be trusted, read where it cannot be written; and its questions."""

import os
import shutil
import sqlite3
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog.mesh import Author, Home, id_of, post, seed_of
from tinyssb_node.catalog import limits, schema
from tinyssb_node.catalog.catalog import Catalog
from tinyssb_node.catalog.contacts import set_blocked, set_petname
from tinyssb_node.catalog.errors import CatalogFailedError, CatalogReadOnlyError, ContactsError
from tinyssb_node.catalog.questions import Questions
from tinyssb_node.catalog.rows import PUBLIC, Kind
from tinyssb_node.content import chat
from tinyssb_node.content.board import Operation, create_step, fold
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.references import message_text
from tinyssb_node.errors import StoreFailedError
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.secrets import Identity, create_identity

ANA, BOB, EVE = Author("ana"), Author("bob"), Author("eve")
SOUP = ANA.say(post("soup at the hut, café included"))
ANSWER = BOB.say(post("I come \N{STEAMING BOWL}", id_of(SOUP)))
SECRET = BOB.whisper(post("under the stone", recipients=[ANA.feed, BOB.feed]), [ANA.feed, BOB.feed])
NAME = BOB.say(chat.Alias(name="bob"))
EVIL = EVE.say(post("soup is poison", id_of(ANSWER)))


@pytest.fixture
def home(tmp_path):
    home = Home(tmp_path / "home", Author("ana"))
    home.keep([SOUP, ANSWER, SECRET, NAME, EVIL], commit=False)
    yield home
    home.close()


@pytest.fixture
def path(home):
    return home.folder / schema.CATALOG_FILE


@pytest.fixture
def catalog(home):
    with home.catalog() as catalog:
        catalog.catch_up()
        yield catalog


def texts(catalog: Questions, conversation: str = PUBLIC) -> list[str]:
    return [row.text for row in catalog.messages(conversation)]


PUBLIC_TEXTS = ["soup at the hut, café included", "I come \N{STEAMING BOWL}", "soup is poison"]


# --- the file


def test_it_answers_the_questions(catalog):
    questions: Questions = catalog
    assert texts(questions) == PUBLIC_TEXTS


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
    raw = bytearray(path.read_bytes())
    raw[4_096:] = b"\xaa" * len(raw[4_096:])
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
        assert (row.kind, row.private, row.conversation) == (Kind.OPAQUE, False, None)
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


def test_on_a_full_disk_what_is_there_is_read_and_its_age_is_said(home, catalog):
    (pages,) = catalog._connection.execute("PRAGMA page_count").fetchone()
    catalog._connection.execute(f"PRAGMA max_page_count = {pages}")
    talk = [ANA_MORE, *(EVE_TALK.say(post("x" * 900)) for _ in range(40))]
    home.keep(talk, commit=False)
    caught = catalog.catch_up()
    assert "full" in (caught.stopped or "")
    assert caught.behind == sum(1 + len(entry.chunks) for entry in talk) == catalog.behind()
    assert texts(catalog) == PUBLIC_TEXTS
    catalog._connection.execute("PRAGMA max_page_count = 100000")
    assert catalog.catch_up().stopped is None
    assert catalog.behind() == 0


EVE_TALK = Author("talkative")


def test_while_another_process_has_it_for_too_long_what_is_there_is_read(home, path, catalog, monkeypatch):
    catalog._connection.execute("PRAGMA busy_timeout = 1")
    other = sqlite3.connect(path, isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    home.keep([ANA_MORE])
    caught = catalog.catch_up()
    assert ("locked" in (caught.stopped or ""), caught.behind > 0, texts(catalog)) == (
        True,
        True,
        PUBLIC_TEXTS,
    )
    other.close()
    assert catalog.catch_up().stopped is None


def _may_not_write(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let SQLite open files as for somebody who may not write there; permissions do not bind root."""
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
        assert "readonly" in (caught.stopped or "")
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


# --- questions


def test_pages_follow_each_other(home, catalog):
    home.keep(EVE_PAGES.say(post(f"{number}")) for number in range(10))
    catalog.catch_up()
    every = catalog.messages(PUBLIC, limit=100)
    assert catalog.messages(PUBLIC, limit=4) == every[-4:]
    assert catalog.messages(PUBLIC, before=every[-4].placed, limit=4) == every[-8:-4]
    assert catalog.messages(PUBLIC, after=every[3].placed, limit=2) == every[4:6]
    assert catalog.messages("nothing such", limit=4) == []
    assert catalog.messages("\ud800", limit=4) == []


EVE_PAGES = Author("pages")


def test_blocked_people_are_left_out_and_come_back(home, catalog):
    set_petname(home.folder, EVE.feed, "Mallory")
    set_blocked(home.folder, EVE.feed, blocked=True)
    assert texts(catalog) == PUBLIC_TEXTS[:2]
    assert catalog.search("poison") == []
    (public,) = (row for row in catalog.conversations() if row.name == PUBLIC)
    assert (public.messages, public.last and public.last.text) == (2, PUBLIC_TEXTS[1])
    assert catalog.message(id_of(EVIL)) in catalog.thread(chat.PUBLIC_ROOT)
    person = catalog.person(EVE.feed)
    assert person is not None
    assert (person.alias, person.said, person.blocked) == ("Mallory", None, True)
    set_blocked(home.folder, EVE.feed, blocked=False)
    assert texts(catalog) == PUBLIC_TEXTS


def test_a_broken_file_of_contacts_is_said_and_hides_nobody_by_chance(home, catalog):
    (home.folder / "contacts.json").write_text("{")
    with pytest.raises(ContactsError):
        catalog.messages(PUBLIC)


def test_people_are_those_of_the_set_and_those_with_a_name(home, catalog):
    lurker, friend = FeedId(b"l" * 32), FeedId(b"f" * 32)
    home.store.put_feed(
        FeedRecord(feed=lurker, dialect=None, seq=0, tip=None, own=False, wanted=True, forked_at=None)
    )
    home.keep([])
    set_petname(home.folder, friend, "Friend")
    people = {person.feed: person for person in catalog.people()}
    assert list(people) == sorted({ANA.feed, BOB.feed, EVE.feed, lurker, friend})
    assert (people[ANA.feed].own, people[ANA.feed].entries, people[BOB.feed].entries) == (True, 1, 3)
    assert (people[lurker].entries, people[lurker].last_us, people[friend].alias) == (0, None, "Friend")
    assert (people[BOB.feed].last_us, people[BOB.feed].alias) == (home.wall_us - 1_000_000, "bob")
    assert catalog.person(FeedId(b"x" * 32)) is None


def test_messages_are_found_by_the_beginning_of_an_id_or_by_feed_and_number(catalog):
    id_, feed = id_of(ANSWER).hex(), BOB.feed.hex()
    for wanted in (id_, id_[:7], id_[:8].upper(), f" {id_[:9]}", f"{feed[:9]}.1", f"{feed}.1"):
        assert [row.id for row in catalog.find(wanted)] == [id_of(ANSWER)], wanted
    for wanted in (
        "",
        "xyz",
        id_ + "0",
        f"{feed[:9]}.9",
        f"{feed[:9]}.",
        ".",
        f"{feed[:9]}.x",
        "1.99999999999",
    ):
        assert catalog.find(wanted) == [], wanted
    assert len(catalog.find(".1", limit=2)) == 2


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("soup", 2),
        ("SOUP cafe", 1),
        ("pois", 1),
        ("\N{STEAMING BOWL}", 1),
        ("come \N{STEAMING BOWL}", 1),
        ("soup \N{STEAMING BOWL}", 0),
        ("stone", 1),
        ("soup OR stone", 0),
        ("", 0),
        (" \n ", 0),
        ('"', 0),
        ("soup NOT", 0),
        ("nothing", 0),
        ("\ud800soup", 2),
    ],
)
def test_search_finds_words_and_what_begins_so(catalog, words, found):
    assert len(catalog.search(words)) == found


@settings(max_examples=100, deadline=None)
@given(words=st.text() | st.text('"*:^-+(){}\0 .aNOTANDORNEAR', max_size=40))
def test_any_text_may_be_searched_for(shared, words):
    shared.search(words)
    shared.find(words)


@pytest.fixture(scope="module")
def shared(tmp_path_factory):
    home = Home(tmp_path_factory.mktemp("shared") / "home", Author("ana"))
    home.keep([SOUP, ANSWER])
    with home.catalog() as catalog:
        catalog.catch_up()
        yield catalog
    home.close()


def test_a_board_is_listed_with_its_cards(home, catalog):
    dan = Author("dan")
    board = dan.say(create_step("Hut"))
    column = dan.say(
        chat.BoardStep(
            board=id_of(board), previous=(id_of(board),), operation=Operation.COLUMN_CREATE, args=("do",)
        )
    )
    item = dan.say(
        chat.BoardStep(
            board=id_of(board),
            previous=(id_of(column),),
            operation=Operation.ITEM_CREATE,
            args=(message_text(id_of(column)), "wood"),
        )
    )
    home.keep([item.__class__(item.packet, item.chunks, item.extended) for item in (board, column, item)])
    catalog.catch_up()
    (row,) = catalog.boards()
    assert (row.id, row.name, row.items, row.operations) == (id_of(board), "Hut", 1, 3)
    operations = catalog.operations(row.id)
    assert [one.id for one in operations] == [id_of(board), id_of(column), id_of(item)]
    assert operations[1].text == '["column/create", "do"]'
    assert fold(row.id, catalog.steps(row.id)).columns[0].items[0].name == "wood"


def test_the_whole_content_is_given_opened_if_it_was_for_us(home, catalog):
    long = Author("long").say(post("long " * 9_000))
    home.keep([long], chunks=5)
    catalog.catch_up()
    assert catalog.content(id_of(long)) is None
    home.keep_chunks(long, 5, len(long.chunks))
    home.keep([])
    catalog.catch_up()
    row = catalog.message(id_of(long))
    assert row is not None
    assert (row.cut, len(row.text)) == (True, limits.CATALOG_TEXT_MAX)
    whole, secret = (chat.parse(catalog.content(id_of(one)) or b"") for one in (long, SECRET))
    assert isinstance(whole, chat.Post)
    assert isinstance(secret, chat.Post)
    assert (whole.text, secret.text) == ("long " * 9_000, "under the stone")
    assert catalog.content(MessageId(bytes(20))) is None


def test_a_file_is_shown_to_all_and_followed_by_nobody(home, catalog):
    author = Author("files")
    file = author.write(serialize_file(File("map.webp", "image/webp", bytes(300))))
    home.keep([file])
    catalog.catch_up()
    (row,) = catalog.messages(PUBLIC, limit=1)
    assert (row.id, row.kind) == (id_of(file), Kind.FILE)
    assert row.text == '{"name": "map.webp", "type": "image/webp", "size": 300}'
    assert row.id not in catalog.tips(PUBLIC)
    assert catalog.search("map.webp") == [row]


def test_damage_that_a_question_meets_is_repaired_before_it_is_answered(catalog):
    catalog._connection.execute("DROP TABLE circles")
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
    tables = [table.replace("fts5", "fts9") for table in schema._TABLES]
    monkeypatch.setattr(schema, "_TABLES", tables)
    with pytest.raises(CatalogFailedError, match=r"no such module: fts9.*All messages are kept in the store"):
        home.catalog()
