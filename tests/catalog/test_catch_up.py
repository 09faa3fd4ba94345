"""Updates of the catalog: whatever way they take, it equals the result of brute force on the store."""

import sqlite3
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.catalog.mesh import Author, Home, id_of, post, seed_of
from tests.catalog.oracle import Append, Oracle, conversations
from tests.store.gaps import cut_and_given_again
from tinyssb_node.catalog import limits
from tinyssb_node.catalog.catalog import STORE_FILE, Catalog
from tinyssb_node.catalog.rows import PUBLIC, MessageKind, MessageRow
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.content.note import Note, serialize_compact
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.content.time_order import DatedMessage, order_key, order_times
from tinyssb_node.ids import MessageId

MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""A folder in memory, where a sync costs no time: disks that sync are tested elsewhere."""
TABLES = ("state", "people", "messages", "further_ties", "waits", "orders", "circles", "speakers")


@contextmanager
def home_of(name: str) -> Iterator[Home]:
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        home = Home(Path(folder) / "home", Author(name))
        yield home
        home.close()


def keep(home: Home, appends: Sequence[Append]) -> None:
    for entry, chunk in appends:
        if chunk is None:
            home.keep([entry], chunks=0, commit=False)
        else:
            home.keep_chunks(entry, chunk, chunk + 1)
    home.keep([])


def dump(home: Home) -> dict[str, list[tuple[object, ...]]]:
    connection = sqlite3.connect(home.folder / "content.sqlite")
    tables = {
        table: connection.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in TABLES
    }
    tables["words"] = connection.execute(
        "SELECT rowid FROM words WHERE words MATCH 'long' ORDER BY 1"
    ).fetchall()
    connection.close()
    return tables


def check(catalog: Catalog, oracle: Oracle) -> None:
    """Every message is where the oracle has it."""
    places = {place: number for number, place in enumerate(oracle.places, 1)}
    for arrived, id_ in enumerate(oracle.order):
        row = catalog.message(id_)
        assert row is not None
        meaning = oracle.meanings.get(id_)
        first = (id_, (meaning and meaning.space) or "")
        assert (row.placed, row.tangle) == (places.get(first), oracle.places.get(first))
        if meaning is None:
            assert (row.kind, row.cut) == (MessageKind.OPAQUE, True), arrived
            assert row.chunks_held < row.chunks
        else:
            assert (row.kind, row.text) == (meaning.kind, meaning.text)
            previous = tuple(map(oracle.meant, meaning.previous)) if row.placed else meaning.previous
            assert row.previous == previous
            assert row.said_us == oracle.said_us(id_)
            assert row.missing == (() if row.placed else oracle.missing(id_))
            assert row.chunks_held == row.chunks
            check_notes(catalog, oracle, id_)
    aliases = {person.feed: person.said for person in catalog.people() if person.said is not None}
    assert aliases == oracle.aliases()
    for conversation in catalog.conversations():
        rows = catalog.messages(conversation.name, limit=100)
        assert len(rows) == conversation.messages
        assert [row.id for row in rows] == in_order(rows)
        assert {row.id for row in catalog.arrived(conversation.name, 0, limit=100)} == {
            row.id for row in rows
        }
        followed = {one for row in rows for one in row.previous}
        assert set(catalog.tips(conversation.name)) == {row.id for row in rows} - followed
        assert conversation.last == max(rows, key=lambda row: row.placed or 0, default=None)


def check_notes(catalog: Catalog, oracle: Oracle, id_: MessageId) -> None:
    """The tangles of a note have the messages that the oracle has there."""
    meaning = oracle.meanings[id_]
    ties = {meaning.space: meaning.previous} | {tie.space: tie.previous for tie in meaning.further}
    spaces = [space for space in ties if space is not None and space.startswith("note:")]
    names = [space.removeprefix("note:") for space in spaces if (id_, space) in oracle.places]
    assert catalog.tangle_names(id_) == names
    for name in names:
        space = f"note:{name}"
        root = oracle.places[id_, space]
        rows = list(catalog.note_thread(id_, name))
        held = {one for (one, where), found in oracle.places.items() if (where, found) == (space, root)}
        assert {row.id for row in rows} == held
        assert [row.id for row in rows] == in_order(rows)
        here = next(row for row in rows if row.id == id_)
        assert (here.tangle, here.previous) == (root, ties[space])


def in_order(rows: Sequence[MessageRow]) -> list[MessageId]:
    """The order of all placed messages of a tangle, computed from nothing but them."""
    authors = {feed: number for number, feed in enumerate(sorted({row.feed for row in rows}))}
    messages = [DatedMessage(row.id, authors[row.feed], row.seq, row.said_us, row.previous) for row in rows]
    times = order_times(messages)
    assert [row.order for row in rows] == [order_key(times[row.id], row.id) for row in rows]
    return sorted((row.id for row in rows), key=lambda id_: (times[id_], id_))


@settings(max_examples=80, deadline=None)
@given(conversations(), st.data())
def test_it_is_what_brute_force_makes_of_the_store(appends, data):
    cuts = sorted(data.draw(st.lists(st.integers(0, len(appends)), max_size=3)))
    oracle = Oracle(SealKey(seed_of("ana")))
    with pytest.MonkeyPatch.context() as patch, home_of("ana") as home:
        patch.setattr(limits, "CATALOG_BATCH", data.draw(st.integers(1, 9)))
        keep(home, [])
        with home.catalog() as one, home.catalog() as other:
            for start, stop in zip([0, *cuts], [*cuts, len(appends)], strict=True):
                keep(home, appends[start:stop])
                data.draw(st.sampled_from([one, other])).catch_up()
            assert [one.catch_up().done, other.catch_up().done] == [0, 0]
            for append in appends:
                oracle.take(append)
            check(other, oracle)
        grown = dump(home)
        (home.folder / "content.sqlite").unlink()
        with home.catalog() as catalog:
            assert catalog.catch_up().done == len(appends)
            check(catalog, oracle)
        assert dump(home) == grown


def test_two_at_once_take_turns(monkeypatch):
    """Each transaction goes on from where anybody's last one ended."""
    monkeypatch.setattr(limits, "CATALOG_BATCH", 2)
    ana = Author("ana")
    with home_of("ana") as home:
        home.keep(ana.say(post(f"number {number}")) for number in range(9))
        with home.catalog() as one, home.catalog() as other:
            turns: list[int] = []

            def meanwhile(done: int, total: int) -> None:
                turns.append(done)
                if len(turns) == 2:
                    assert other.catch_up().done == 5

            assert one.catch_up(meanwhile).done == 4
            assert turns == [2, 4]
            assert [row.text for row in one.messages(PUBLIC)] == [f"number {number}" for number in range(9)]


def test_progress_counts_up_to_all(monkeypatch):
    monkeypatch.setattr(limits, "CATALOG_BATCH", 4)
    ana = Author("ana")
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep(ana.say(post("x")) for _ in range(10))
        told: list[tuple[int, int]] = []
        catalog.catch_up(lambda done, total: told.append((done, total)))
        assert told == [(4, 10), (8, 10), (10, 10)]


def test_a_chain_that_waited_for_its_beginning_is_placed_at_once():
    """Longer than Python would recurse."""
    ana, bob = Author("ana"), Author("bob")
    first = ana.say(post("first"))
    chain = [bob.say(post("next", id_of(first)))]
    for _ in range(1_500):
        chain.append(bob.say(post("next", id_of(chain[-1]))))
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep(chain, commit=False)
        catalog.catch_up()
        assert [row.missing for row in catalog.waiting(PUBLIC, 1)] == [(id_of(chain[-2]),)]
        assert catalog.conversations()[0].messages == 0
        home.keep([first])
        assert catalog.catch_up().done == 1 + len(first.chunks)
        assert catalog.waiting(PUBLIC) == []
        assert [row.id for row in catalog.messages(PUBLIC, limit=2)] == [id_of(one) for one in chain[-2:]]


def test_a_side_chain_that_comes_late_gives_the_message_its_meaning():
    bob = Author("bob")
    entry = bob.say(post("so much to say " * 30))
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep([entry], chunks=0)
        for held in range(len(entry.chunks)):
            catalog.catch_up()
            row = catalog.message(id_of(entry))
            assert row is not None
            assert (row.kind, row.conversation, row.chunks_held) == (MessageKind.OPAQUE, None, held)
            assert catalog.search("much") == []
            home.keep_chunks(entry, held, held + 1)
            home.keep([])
        catalog.catch_up()
        assert catalog.messages(PUBLIC) == [catalog.message(id_of(entry))] == catalog.search("much")


def test_what_arrives_is_told_packet_by_packet():
    bob, eve = Author("bob"), Author("eve")
    text = bob.say(post("so much to say " * 30))
    file = eve.write(serialize_file(File("map.webp", "image/webp", bytes(900))))
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep([text, file], chunks=0)
        catalog.catch_up()
        found = [(row.is_file, row.name, row.chunks_held, row.chunks) for row in catalog.arriving()]
        assert found == [
            (True, "map.webp", 0, len(file.chunks)),
            (False, None, 0, len(text.chunks)),
        ]
        home.keep_chunks(file, 0, 2)
        home.keep_chunks(text, 0, len(text.chunks))
        home.keep([])
        catalog.catch_up()
        (row,) = catalog.arriving()
        assert (row.id, row.name, row.size, row.chunks_held) == (id_of(file), "map.webp", 900, 2)
        home.keep_chunks(file, 2, len(file.chunks))
        home.keep([])
        catalog.catch_up()
        assert catalog.arriving() == []


def test_a_note_behind_two_roots_is_in_neither_tangle():
    ana, bob = Author("ana"), Author("bob")
    one, other = (ana.write(serialize_compact(Note({"chess": FIRST}, name))) for name in ("one", "other"))
    both = bob.write(serialize_compact(Note({"chess": TangleData(None, (id_of(one), id_of(other)))}, "both")))
    reply = bob.write(serialize_compact(Note({"chess": TangleData(None, (id_of(both),))}, "reply")))
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep([both, reply, one, other])
        catalog.catch_up()
        rows = [catalog.message(id_of(note)) for note in (one, other, both, reply)]
        assert [row and (row.placed, row.tangle, row.missing) for row in rows] == [
            (1, id_of(one), ()),
            (2, id_of(other), ()),
            (None, None, ()),
            (None, None, (id_of(both),)),
        ]


def test_a_note_in_two_tangles_is_placed_in_both_whatever_came_first():
    ana, bob = Author("ana"), Author("bob")
    chess, log = (ana.write(serialize_compact(Note({name: FIRST}, name))) for name in ("chess", "log"))
    ties = {"chess": TangleData(None, (id_of(chess),)), "log": TangleData(None, (id_of(log),))}
    both = bob.write(serialize_compact(Note(ties, "both")))
    reply = bob.write(serialize_compact(Note({"log": TangleData(None, (id_of(both),))}, "reply")))
    for order in ([chess, log, both, reply], [both, reply, chess, log], [both, chess, reply, log]):
        with home_of("ana") as home, home.catalog() as catalog:
            home.keep(order)
            catalog.catch_up()
            assert catalog.tangle_names(id_of(both)) == ["chess", "log"]
            found = {name: catalog.note_thread(id_of(both), name) for name in ("chess", "log")}
            assert [row.id for row in found["chess"]] == [id_of(chess), id_of(both)]
            assert [row.id for row in found["log"]] == [id_of(log), id_of(both), id_of(reply)]
            both_there = found["log"][1]
            assert (both_there.tangle, both_there.previous) == (id_of(log), (id_of(log),))
            assert found["log"].index(both_there) == 1


def test_the_first_message_of_two_tangles_begins_both():
    ana, bob = Author("ana"), Author("bob")
    first = ana.write(serialize_compact(Note({"chess": FIRST, "log": FIRST}, "both")))
    move, line = (
        bob.write(serialize_compact(Note({name: TangleData(None, (id_of(first),))}, name)))
        for name in ("chess", "log")
    )
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep([first, move, line])
        catalog.catch_up()
        assert [row.text for row in catalog.note_thread(id_of(move), "chess")] == ["both", "chess"]
        assert [row.text for row in catalog.note_thread(id_of(first), "log")] == ["both", "log"]
        assert list(catalog.note_thread(id_of(move), "log")) == []
        assert catalog.tangle_names(id_of(move)) == ["chess"]


def test_what_waited_is_placed_by_place_and_then_by_arrival():
    ana, bob = Author("ana"), Author("bob")
    root = ana.say(post("root"))
    left, right = (bob.say(post(side, id_of(root))) for side in ("left", "right"))
    below = [bob.say(post(f"below {number}", id_of(one))) for number, one in enumerate((right, left, right))]
    with home_of("ana") as home, home.catalog() as catalog:
        home.keep([left, right, *below, root])
        catalog.catch_up()
        placed = [row.text for row in catalog.arrived(PUBLIC, 0)]
        assert placed == ["root", "left", "right", "below 1", "below 0", "below 2"]


@pytest.mark.parametrize("last", ["bob", "ana"])
def test_a_store_that_was_repaired_is_read_anew(monkeypatch, last):
    monkeypatch.setattr(limits, "CATALOG_BATCH", 2)
    ana, bob = Author("ana"), Author("bob")
    said = [[ana.say(post("hello"))], [bob.say(post(str(number))) for number in range(7)]]
    with home_of("ana") as home:
        for entries in said if last == "bob" else reversed(said):
            home.keep(entries)
        with home.catalog() as catalog:
            assert catalog.catch_up().done == 8
        home.store = cut_and_given_again(home.store, home.folder / STORE_FILE, bob.feed, 1)
        with home.catalog() as catalog:
            # Where the last append is still the same, only what was cut is read.
            assert catalog.catch_up().done == (8 if last == "bob" else 6)
            assert sorted(row.text for row in catalog.messages(PUBLIC)) == [*"0123456", "hello"]
            assert catalog.catch_up().done == catalog.behind() == 0


@pytest.mark.parametrize("again", [0, 2, 3])
def test_what_was_cut_from_the_store_is_in_the_catalog_no_more(again: int) -> None:
    bob = Author("bob")
    entries = [bob.say(post(f"bob {number}")) for number in range(3)]
    with home_of("ana") as home:
        home.keep(entries)
        home.keep([home.owner.say(post("first"))])
        with home.catalog() as catalog:
            catalog.catch_up()
        home.store.cut_feed(bob.feed, 0)
        home.keep(entries[:again])
        home.keep([home.owner.say(post("second"))])
        with home.catalog() as catalog:
            catalog.catch_up()
            texts = sorted(row.text for row in catalog.messages(PUBLIC))
            assert texts == [*(f"bob {number}" for number in range(again)), "first", "second"]


def test_what_was_purged_is_in_the_catalog_no_more_though_nothing_came_since() -> None:
    bob = Author("bob")
    with home_of("ana") as home:
        home.keep([home.owner.say(post("ana")), bob.say(post("bob"))])
        with home.catalog() as catalog:
            catalog.catch_up()
            home.cut(bob.feed, 0)
            assert catalog.catch_up().rebuilt is None
            assert [row.text for row in catalog.messages(PUBLIC)] == ["ana"]


def still_fits(home: Home, append: Append) -> bool:
    """True for the next entry of its feed, and for the next packet of a side chain that is stored so far."""
    tip = append.entry.extended.tip
    if append.chunk is None:
        return tip.seq == home.seq_of(tip.feed) + 1
    return tip.seq <= home.seq_of(tip.feed) and append.chunk == len(
        home.store.chunks(tip.feed, tip.seq, 0, 99)
    )


def shown(home: Home) -> dict[str, list[tuple[object, ...]]]:
    """Return the content of the catalog, without the numbers that it gives to people and places."""
    connection = sqlite3.connect(home.folder / "content.sqlite")
    queries = {
        "messages": (
            "SELECT id, people.feed, seq, committed_us, kind, space, root, previous, lacking, placed IS NULL, "
            "order_us, followed, text, cut, held FROM messages JOIN people ON people.number = messages.feed ORDER BY id"
        ),
        "people": "SELECT feed, entries, last_us, said, said_seq FROM people WHERE entries ORDER BY feed",
        "further_ties": (
            "SELECT number, message, id, seq, said_us, space, root, previous, lacking, placed IS NULL, order_us, "
            "followed FROM further_ties ORDER BY number"
        ),
        "waits": "SELECT * FROM waits ORDER BY 1, 2",
        "circles": "SELECT * FROM circles ORDER BY 1",
        "speakers": (
            "SELECT root, people.feed, messages FROM speakers JOIN people ON people.number = speakers.feed "
            "ORDER BY 1, 2"
        ),
        "words": "SELECT rowid FROM words WHERE words MATCH 'long OR ana OR bob OR eve' ORDER BY 1",
    }
    tables = {name: connection.execute(query).fetchall() for name, query in queries.items()}
    connection.close()
    return tables


@settings(max_examples=150, deadline=None)
@given(conversations(), st.data())
def test_what_was_cut_leaves_nothing_behind(appends, data):
    """The catalog says the same as one that is made of the store as it is now."""
    others = [Author("bob").feed, Author("eve").feed]
    with pytest.MonkeyPatch.context() as patch, home_of("ana") as home:
        patch.setattr(limits, "CATALOG_BATCH", data.draw(st.integers(1, 9)))
        keep(home, [])
        for stop in [*data.draw(st.lists(st.integers(1, len(appends)), max_size=4)), len(appends)]:
            # Some of it again, if it was cut meanwhile; entries behind a gap are not stored.
            for append in appends[:stop]:
                if still_fits(home, append):
                    keep(home, [append])
            if data.draw(st.booleans()):
                with home.catalog() as catalog:
                    catalog.catch_up()
            feed = data.draw(st.sampled_from(others))
            if seq := home.seq_of(feed):
                home.cut(feed, data.draw(st.integers(0, seq)))
        with home.catalog() as catalog:
            catalog.catch_up()
        grown = shown(home)
        (home.folder / "content.sqlite").unlink()
        with home.catalog() as catalog:
            catalog.catch_up()
        assert shown(home) == grown
