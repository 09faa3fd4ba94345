"""Messages that entries carry, taken into the database in any order, by anybody, more than once."""

import random
import sqlite3
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import permutations
from pathlib import Path

import pytest

from tests.catalog.mesh import Author as Writer
from tests.catalog.mesh import Home
from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, Author, changed, state, without
from tests.store.gaps import cut_and_given_again
from tinyssb_node.catalog.catalog import STORE_FILE
from tinyssb_node.codec import bipf
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.entry_import import CARRIED_FILE, EntryImporter, EntryImportResult
from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.airform import serialize_air
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.versions import V2


class Mesh:
    """A store to which people write PZP messages, a database, and what was carried."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.home = Home(folder, Writer("ana"))
        self.writers = {"ana": self.home.owner}
        self.database = PzpDatabase(MemoryPzpRows())

    def close(self) -> None:
        self.home.close()

    def carry(self, *messages: dict[str, Json], by: str = "ana") -> None:
        writer = self.writers.setdefault(by, Writer(by))
        for one in messages:
            content = serialize_air(one)
            assert isinstance(content, bytes)
            self.home.keep([writer.write(content)])

    def catch_up(self) -> EntryImportResult:
        with closing(EntryImporter.open(self.folder)) as carried:
            return carried.catch_up(self.database, wall_us=7)

    def place_of(self, id_: str) -> tuple[bytes, int] | None:
        with closing(EntryImporter.open(self.folder)) as carried:
            return carried.place_of(id_)


@pytest.fixture
def mesh(tmp_path: Path) -> Iterator[Mesh]:
    with closing(Mesh(tmp_path / "home")) as mesh:
        yield mesh


def told() -> Author:
    """Somebody's identity with two keys, a feed, and what both devices said."""
    author = Author()
    author.say({"text": "one"})
    author.add_key(BOB)
    author.say({"text": "two"}, key=BOB)
    author.say({"text": "three"})
    return author


def whole(*authors: Author) -> dict[str, object]:
    """A database to which all was added in the order in which it was written."""
    database = PzpDatabase(MemoryPzpRows())
    for author in authors:
        for one in author.written:
            database.add(one, wall_us=7)
    return logical(database)


def logical(database: PzpDatabase) -> dict[str, object]:
    """All that does not depend on the order of arrival."""
    found = state(database)
    return {name: found[name] for name in ("totals", "order", "tips", "keys", "next")}


def test_what_entries_carry_is_taken_once(mesh: Mesh) -> None:
    author = told()
    mesh.home.keep([mesh.home.owner.write(b"something else")])
    mesh.carry(*author.written)
    assert mesh.catch_up() == EntryImportResult(done=mesh.home.store.last_arrival(), new=len(author.written))
    assert logical(mesh.database) == whole(author)
    assert mesh.catch_up() == EntryImportResult()
    ids = [message.message_id(V2.fields, one) for one in author.written]
    assert [mesh.place_of(id_) for id_ in ids] == [(mesh.home.owner.feed, seq) for seq in range(2, 8)]
    assert mesh.place_of("nobody") is None
    mesh.carry(*author.written[:2], by="bob")
    assert mesh.catch_up().new == 0


def test_a_store_that_was_repaired_is_read_to_its_end(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CARRIED_BATCH", 2)
    author, home = told(), mesh.home
    home.keep([home.owner.write(b"something else")])
    mesh.carry(*author.written)
    home.store = cut_and_given_again(home.store, home.folder / STORE_FILE, home.owner.feed, 1)
    assert mesh.catch_up().new == len(author.written)
    assert logical(mesh.database) == whole(author)
    assert mesh.catch_up() == EntryImportResult()


@pytest.mark.parametrize("order", list(permutations(range(6)))[:: 720 // 8])
def test_the_order_does_not_matter(mesh: Mesh, order: tuple[int, ...]) -> None:
    author, chance = told(), random.Random(str(order))
    for number in order:
        mesh.carry(author.written[number], by=chance.choice(["ana", "bob", "cyd"]))
        if chance.random() < 0.5:
            caught = mesh.catch_up()
            assert caught.refused == 0
    mesh.catch_up()
    assert logical(mesh.database) == whole(author)
    assert mesh.catch_up().waiting == 0


def test_what_waits_is_woken_by_what_comes_another_way(mesh: Mesh) -> None:
    author = told()
    mesh.carry(*author.written[2:])
    assert mesh.catch_up().waiting == 4
    mesh.database.add(author.written[0], wall_us=1)
    assert mesh.catch_up() == EntryImportResult(
        new=1, waiting=3
    )  # the key was added; the feed's root is lacking still
    mesh.database.add(author.written[1], wall_us=1)
    caught = mesh.catch_up()
    assert (caught.new, caught.waiting) == (3, 0)
    assert logical(mesh.database) == whole(author)


def test_what_waits_for_a_key_is_woken_when_its_message_comes_whole(mesh: Mesh) -> None:
    author = Author()
    author.add_key(BOB)
    author.say({"text": "from the other device"}, key=BOB)
    first, root, added, said = author.written
    mesh.database.add(first, wall_us=1)
    mesh.database.add(root, wall_us=1)
    mesh.database.add(without(added), wall_us=1)  # a copy that anybody may pass on
    mesh.carry(said)
    assert mesh.catch_up().waiting == 1
    mesh.carry(added)
    caught = mesh.catch_up()
    assert (caught.new, caught.waiting) == (2, 0)
    assert logical(mesh.database) == whole(author)


def test_what_is_wrong_is_refused_and_waits_for_nothing(mesh: Mesh) -> None:
    author = told()
    forged = changed(author.written[2])
    forged["sig"] = author.written[-1]["sig"]
    mesh.carry(*author.written[:2], forged)
    caught = mesh.catch_up()
    assert (caught.new, caught.refused, caught.waiting) == (2, 1, 0)
    other = mesh.home.owner.write(bipf.encode(["PZP", 7]))
    mesh.home.keep([other])
    assert mesh.catch_up().refused == 1


def test_a_forged_copy_of_what_is_known_does_not_count_as_carried(mesh: Mesh) -> None:
    author = told()
    for one in author.written:
        mesh.database.add(one, wall_us=1)
    forged = changed(author.written[2])
    forged["sig"] = author.written[-1]["sig"]
    mesh.carry(forged)
    mesh.catch_up()
    id_ = message.message_id(V2.fields, author.written[2])
    assert mesh.place_of(id_) is None
    mesh.carry(author.written[2])
    mesh.catch_up()
    assert mesh.place_of(id_) == (mesh.home.owner.feed, 2)


def test_another_store_and_a_damaged_file_are_read_from_the_beginning(mesh: Mesh, tmp_path: Path) -> None:
    author, other = told(), Author(ALICE, "other nonce")
    mesh.carry(*author.written)
    mesh.catch_up()
    (mesh.folder / CARRIED_FILE).write_bytes(b"not a database" * 100)
    assert mesh.catch_up().done == mesh.home.store.last_arrival()
    moved = Mesh(tmp_path / "elsewhere")
    moved.carry(*other.written)
    (moved.folder / CARRIED_FILE).write_bytes((mesh.folder / CARRIED_FILE).read_bytes())
    assert moved.catch_up().new == 2
    assert moved.place_of(message.message_id(V2.fields, author.written[0])) is None
    moved.close()


def test_a_file_of_another_version_is_made_anew(mesh: Mesh) -> None:
    mesh.carry(*told().written)
    mesh.catch_up()
    with closing(sqlite3.connect(mesh.folder / CARRIED_FILE)) as connection:
        connection.execute("PRAGMA user_version = 99")
    assert mesh.catch_up().done == mesh.home.store.last_arrival()


def test_only_so_many_wait(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CARRIED_WAITING_MAX", 2)
    author = told()
    mesh.carry(*author.written[2:])
    caught = mesh.catch_up()
    assert (caught.waiting, caught.refused) == (2, 2)


def test_a_crash_before_the_end_costs_nothing(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    author = told()
    mesh.carry(*author.written)

    def crash(database: PzpDatabase) -> str:
        if database.totals().messages:
            raise KeyboardInterrupt
        return ""

    with monkeypatch.context() as patch:
        patch.setattr("tinyssb_node.pzp.database.entry_import._stand", crash)
        with pytest.raises(KeyboardInterrupt):
            mesh.catch_up()
    assert mesh.database.totals().messages
    mesh.catch_up()
    assert logical(mesh.database) == whole(author)
    assert mesh.place_of(message.message_id(V2.fields, author.written[0])) is not None


def test_batches_are_small(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CARRIED_BATCH", 3)
    author = told()
    mesh.carry(*reversed(author.written))
    seen: list[tuple[int, int]] = []
    with closing(EntryImporter.open(mesh.folder)) as carried:
        carried.catch_up(mesh.database, wall_us=7, progress=lambda *at: seen.append(at))
    last = mesh.home.store.last_arrival()
    assert len(seen) >= last // 3
    assert seen[-1] == (last, last)
    assert logical(mesh.database) == whole(author)


def test_several_may_look_at_once(mesh: Mesh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "CARRIED_BATCH", 3)
    author = told()
    author.says(20)
    mesh.carry(*author.written[5:], *author.written[:5])

    def look() -> int:
        with (
            closing(PzpDatabase(SqlitePzpRows.open(mesh.folder / PZP_FILE))) as database,
            closing(EntryImporter.open(mesh.folder)) as carried,
        ):
            return carried.catch_up(database, wall_us=7).new

    with ThreadPoolExecutor(3) as pool:
        found = [each.result() for each in [pool.submit(look) for _ in range(3)]]
    assert sum(found) == len(author.written)
    with closing(PzpDatabase(SqlitePzpRows.open(mesh.folder / PZP_FILE))) as database:
        assert logical(database) == whole(author)
