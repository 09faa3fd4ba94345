"""Entries on a stick, from node to node."""

import errno
import json
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from itertools import chain
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import daemon, make_home, tinyssb
from tests.nodes import feed_of, key_of, written
from tinyssb_node.cli import carry_folder, packet_import
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.daemon.exports import ExportedEntry, FeedHeader, Piece, write_export
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import Dialect, Seq
from tinyssb_node.limits import SET_MAX
from tinyssb_node.screens.limits import CARRY_TOLD_MAX
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.sqlite import SqliteStore

LONG = "a text that goes on and on, in a side chain of its own. " * 8


def said(home: Path, *arguments: str, stdin: bytes = b"") -> str:
    ended = tinyssb(home, *arguments, stdin=stdin)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def carried(home: Path, *arguments: str) -> dict[str, Any]:
    row = json.loads(said(home, "carry", *arguments, "--json"))
    assert isinstance(row, dict)
    return row


@pytest.fixture
def stick(tmp_path: Path) -> Path:
    (tmp_path / "stick").mkdir()
    return tmp_path / "stick"


def test_a_stick_goes_to_and_fro_between_two_nodes(tmp_path: Path, stick: Path) -> None:
    ana, ben = tmp_path / "ana", tmp_path / "ben"
    make_home(ana, name="ana")
    make_home(ben, name="ben")
    with daemon(ana), daemon(ben):
        said(ana, "publish", LONG)
        said(ben, "publish", "from ben")
        first = carried(ana, str(stick))
        assert first["taken"] == {
            "feeds": 0,
            "entries": 0,
            "chunks": 0,
            "refused": [],
            "passed": {},
            "early": [],
        }
        assert first["left"]["entries"] == 1

        second = carried(ben, str(stick))
        assert (second["taken"]["entries"], second["taken"]["chunks"]) == (1, 5)
        assert second["left"]["entries"] == 1, "what came from the stick exists already"

        third = carried(ana, str(stick))
        assert (third["taken"]["entries"], third["left"]) == (1, None)
        assert "Imported nothing" in said(ben, "carry", str(stick))
        assert "Wrote nothing" in said(ben, "carry", str(stick))

        said(ana, "publish", "a second one")
        fourth = carried(ana, str(stick))
        assert (fourth["left"]["feeds"], fourth["left"]["entries"]) == (1, 1)
        assert carried(ben, str(stick))["taken"]["entries"] == 1
        for home in (ana, ben):
            assert "Checked 2 feeds, 3 entries, 5 chunks: no problems." in said(home, "verify")
    files = sorted(path.name for path in (stick / "tinyssb" / "open").iterdir())
    assert [name[12:] for name in files].count("-0001.tssb") == 2
    assert len(files) == 3


def test_what_is_damaged_is_left_and_told_and_the_rest_taken(tmp_path: Path, stick: Path) -> None:
    ana, ben = tmp_path / "ana", tmp_path / "ben"
    make_home(ana, name="ana")
    make_home(ben, name="ben")
    folder = stick / "tinyssb" / "open"
    with daemon(ana), daemon(ben):
        said(ana, "publish", "one")
        carried(ana, str(stick))
        whole = next(folder.iterdir())
        damaged = folder / "0123456789ab-0007.tssb"
        damaged.write_bytes(whole.read_bytes()[:-40])
        ended = tinyssb(ben, "carry", str(stick), "--json")
        assert ended.returncode == ExitCode.DATA
        row = json.loads(ended.stdout)
        assert row["taken"]["entries"] == 1
        assert list(row["damaged"]) == [damaged.name]
        assert damaged.exists()


def put(folder: Path, name: str, pieces: Iterable[Piece]) -> Path:
    """A file on the stick, whoever wrote it."""
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / name).open("wb") as file:
        write_export(iter(pieces), file)
    return folder / name


def header(key: SigningKey, first: int) -> FeedHeader:
    return FeedHeader(key.feed_id, Dialect.SPEC, Seq(first))


def test_a_made_up_file_does_not_pass_for_what_it_names(tmp_path: Path, stick: Path) -> None:
    ana = tmp_path / "ana"
    feed = make_home(ana, name="ana")
    with daemon(ana):
        said(ana, "publish", "one")
    forged: list[Piece] = [FeedHeader(feed, Dialect.SPEC, Seq(1)), *[ExportedEntry(bytes(120))] * 3]
    put(stick / "tinyssb" / "open", "0.tssb", forged)
    left = carried(ana, "--leave", str(stick))["left"]
    assert (left["feeds"], left["entries"]) == (1, 1)
    assert carried(ana, "--leave", str(stick))["left"] is None
    said(ana, "export", str(tmp_path / "rest"), "--since", str(stick / "tinyssb" / "open" / "0.tssb"))
    assert (tmp_path / "rest").stat().st_size == 16 + 38 + 121 + 33, "an entry"


def test_names_of_files_tell_no_order(tmp_path: Path, stick: Path) -> None:
    key = key_of("ana")
    entries = [entry.packet for entry in written(key, [b"one", b"two", b"three", b"four", b"five"])]
    folder = stick / "tinyssb" / "open"
    for seq, packet in enumerate(entries, 1):
        if seq != 4:
            put(folder, f"{9 - seq}.tssb", [header(key, seq), ExportedEntry(packet)])
    make_home(tmp_path / "ana")
    with daemon(tmp_path / "ana"):
        taken = carried(tmp_path / "ana", str(stick))["taken"]
        assert (taken["entries"], taken["refused"], taken["early"]) == (3, [], [key.feed_id.hex()])
        assert "The folder has later entries of 1 feed" in said(tmp_path / "ana", "carry", str(stick))
        put(folder, "9.tssb", [header(key, 4), ExportedEntry(entries[3])])
        taken = carried(tmp_path / "ana", str(stick))["taken"]
        assert (taken["entries"], taken["early"]) == (2, [])


def test_what_is_wrong_in_one_file_is_taken_from_the_next(tmp_path: Path, stick: Path) -> None:
    key = key_of("ana")
    one, two, three = (ExportedEntry(entry.packet) for entry in written(key, [b"1", b"2", b"3"]))
    wrong, folder = ExportedEntry(bytes(120)), stick / "tinyssb" / "open"
    put(folder, "0.tssb", [header(key, 1), wrong, two])
    put(folder, "1.tssb", [header(key, 1), one, wrong])
    put(folder, "2.tssb", [header(key, 1), one, two, three])
    make_home(tmp_path / "ana")
    with daemon(tmp_path / "ana"):
        ended = tinyssb(tmp_path / "ana", "carry", str(stick), "--json")
        assert ended.returncode == ExitCode.DATA
        taken = json.loads(ended.stdout)["taken"]
        assert taken["entries"] == 3
        assert [(row["file"], row["feed"]) for row in taken["refused"]] == [
            ("0.tssb", key.feed_id.hex()),
            ("1.tssb", key.feed_id.hex()),
        ]
        assert carried(tmp_path / "ana", str(stick))["taken"]["refused"] == []


def fill_set(home: Path, free: int) -> None:
    """Let the set of the node in *home*, which does not run, have *free* places."""
    with closing(SqliteStore.open(home / "store.sqlite")) as store:
        for number in range(SET_MAX - len(store.feeds()) - free):
            store.put_feed(
                FeedRecord(
                    feed=feed_of(number),
                    dialect=None,
                    seq=0,
                    tip=None,
                    own=False,
                    wanted=True,
                    forked_at=None,
                )
            )
        store.commit(0)


def test_a_full_set_keeps_nothing_from_being_taken_or_left(tmp_path: Path, stick: Path) -> None:
    ana, ben, eve, folder = key_of("ana"), key_of("ben"), key_of("eve"), stick / "tinyssb" / "open"
    make_home(tmp_path / "cid")
    with daemon(tmp_path / "cid"):
        said(tmp_path / "cid", "publish", "mine")
    fill_set(tmp_path / "cid", free=1)
    pieces = [
        (header(key, 1), ExportedEntry(entry.packet))
        for key, text in ((ana, b"a"), (ben, b"b"), (eve, b"c"))
        for entry in written(key, [text])
    ]
    for number, each in enumerate(pieces):
        put(folder, f"{number}.tssb", each)
    put(folder, "all.tssb", chain.from_iterable([*pieces[1:], pieces[0]]))
    with daemon(tmp_path / "cid"):
        for takes in (3, 0):
            ended = tinyssb(tmp_path / "cid", "carry", str(stick), "--json")
            assert ended.returncode == 0
            row = json.loads(ended.stdout)
            assert row["taken"]["entries"] == takes
            assert row["taken"]["refused"] == []
            assert (row["left"] is not None) == bool(takes)
        ended = tinyssb(tmp_path / "cid", "import", str(folder / "all.tssb"))
    assert ended.returncode == 0


def test_what_our_user_does_not_want_is_passed_over(tmp_path: Path, stick: Path) -> None:
    ana, ben, eve, vic = (key_of(name) for name in ("ana", "ben", "eve", "vic"))
    folder, cid = stick / "tinyssb" / "open", tmp_path / "cid"
    make_home(cid)

    def carry(count: int) -> dict[str, Any]:
        """The first *count* entries of each feed are on the stick, and come by."""
        pieces: list[list[Piece]] = [
            [header(key, 1), *(ExportedEntry(entry.packet) for entry in written(key, [b"1", b"2"])[:count])]
            for key in (ana, ben, eve, *([vic] if count > 1 else []))
        ]
        put(folder, f"{count}.tssb", chain.from_iterable(pieces))
        taken = carried(cid, str(stick), "--take")["taken"]
        assert isinstance(taken, dict)
        return taken

    with daemon(cid):
        assert carry(1)["entries"] == 3
        said(cid, "unfollow", ben.feed_id.hex())
        for key in (eve, vic):
            said(cid, "block", key.feed_id.hex())
        taken = carry(2)
        assert (taken["entries"], taken["feeds"], taken["refused"]) == (1, 1, [])
        words = {ben: "unfollowed", eve: "blocked", vic: "blocked"}
        assert taken["passed"] == {key.feed_id.hex(): word for key, word in words.items()}
        assert f"Feed {vic.feed_id.hex()} was skipped: it is blocked here." in said(cid, "carry", str(stick))
        rows = {
            row["feed"]: row["wanted"] for row in map(json.loads, said(cid, "feeds", "--json").splitlines())
        }
        assert rows[ben.feed_id.hex()] is False
        assert vic.feed_id.hex() not in rows
        imported = json.loads(said(cid, "import", str(folder / "2.tssb"), "--json"))
        assert (imported["entries"], set(imported["passed"])) == (1, {eve.feed_id.hex(), vic.feed_id.hex()})
        assert f"Feed {vic.feed_id.hex()} was skipped" in said(cid, "import", str(folder / "2.tssb"))


@pytest.fixture
def two(tmp_path: Path, stick: Path) -> Iterator[Path]:
    """The home of a node that runs and has written something, as has one that was at the stick before."""
    make_home(tmp_path / "ben", name="ben")
    (entry,) = written(key_of("ana"), [b"one"])
    put(stick / "tinyssb" / "open", "1.tssb", [header(key_of("ana"), 1), ExportedEntry(entry.packet)])
    with daemon(tmp_path / "ben"):
        said(tmp_path / "ben", "publish", "two")
        yield tmp_path / "ben"


def fails(*_: object, **__: object) -> None:
    raise OSError(errno.EIO, "Input/output error")


@pytest.mark.parametrize("where", ["sync_folder", "_free_path", "write_new_file"])
def test_a_stick_that_fails_while_something_is_left(
    two: Path, stick: Path, monkeypatch: pytest.MonkeyPatch, where: str
) -> None:
    read_only = ProblemError("It is read-only.", exit_code=ExitCode.STORAGE)
    monkeypatch.setattr(carry_folder, where, fails if where == "sync_folder" else raising(read_only))
    ended = tinyssb(two, "carry", str(stick))
    assert ended.returncode == ExitCode.STORAGE
    assert ended.stdout.decode() == "Imported 1 entries and 0 chunks of 1 feed.\n"
    told = "the disk did not confirm it: Input/output error" if where == "sync_folder" else "read-only"
    assert told in ended.stderr.decode()


def raising(error: Exception) -> Callable[..., None]:
    def fails(*_: object, **__: object) -> None:
        raise error

    return fails


def test_a_folder_that_cannot_be_written_to(two: Path, stick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    damaged = stick / "tinyssb" / "open" / "0.tssb"
    damaged.write_bytes(b"?")
    # Our tests may run as somebody who may write everywhere.
    monkeypatch.setattr(Path, "mkdir", fails)
    ended = tinyssb(two, "carry", str(stick), "--json")
    assert ended.returncode == ExitCode.STORAGE
    row = json.loads(ended.stdout)
    assert (row["taken"]["entries"], list(row["damaged"]), row["left"]) == (1, ["0.tssb"], None)
    assert b"cannot be written" in ended.stderr


@pytest.mark.parametrize(
    ("readings", "code", "entries"),
    [(1, ExitCode.DATA, 0), (2, ExitCode.MISSING, 1)],
    ids=["while it is taken", "while it is counted"],
)
def test_a_stick_that_is_pulled_out(
    two: Path, stick: Path, monkeypatch: pytest.MonkeyPatch, readings: int, code: ExitCode, entries: int
) -> None:
    real, done = carry_folder.pieces_in, 0

    def pieces_in(path: Path) -> Iterator[Piece]:
        nonlocal done
        done += 1
        if done > readings:
            fails()
        yield from real(path)

    monkeypatch.setattr(carry_folder, "pieces_in", pieces_in)
    ended = tinyssb(two, "carry", str(stick), "--json")
    row = json.loads(ended.stdout)
    assert (ended.returncode, row["taken"]["entries"]) == (code, entries)
    assert (b"Plug the stick in again" in ended.stderr) == (code is ExitCode.MISSING)
    assert (row["left"] is None) == (code is ExitCode.MISSING)
    assert list(row["damaged"].values()) == (["Input/output error"] if code is ExitCode.DATA else [])


def test_nothing_is_left_on_another_disk_than_was_looked_at(
    two: Path, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    devices = iter([1, 2])
    monkeypatch.setattr(carry_folder, "_device_of", lambda _place: next(devices))
    ended = tinyssb(two, "carry", str(stick))
    assert ended.returncode == ExitCode.MISSING
    assert b"no disk or another disk is mounted there" in ended.stderr
    assert b"Imported 1 entries" in ended.stdout
    assert len(list((stick / "tinyssb" / "open").iterdir())) == 1


def test_names_of_files_are_shown_as_text_and_of_many_the_first(two: Path, stick: Path) -> None:
    for number in range(CARRY_TOLD_MAX + 2):
        (stick / "tinyssb" / "open" / f"0\x1b[2J{number}.tssb").write_bytes(b"?")
    ended = tinyssb(two, "carry", str(stick))
    assert ended.returncode == ExitCode.DATA
    assert b"\x1b" not in ended.stdout
    assert b"and 2 more" in ended.stdout
    ended = tinyssb(two, "carry", str(stick))
    assert b"Imported nothing.\n" in ended.stdout, "for all that is known"


def test_an_import_that_breaks_off_says_what_it_took(
    two: Path, stick: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file,) = (stick / "tinyssb" / "open").iterdir()
    monkeypatch.setattr(packet_import, "_offer_packets", fails)
    ended = tinyssb(two, "import", str(file))
    assert ended.returncode == ExitCode.MISSING
    assert b"Imported and kept so far: 0 entries" in ended.stderr


def test_only_files_are_read_and_none_that_other_systems_put_there(tmp_path: Path, stick: Path) -> None:
    make_home(tmp_path / "ana", name="ana")
    with daemon(tmp_path / "ana") as running:
        said(running.home, "publish", "one")
    folder = stick / "tinyssb" / "open"
    folder.mkdir(parents=True)
    (folder / "._0123456789ab-0001.tssb").write_bytes(b"Mac OS X")
    os.mkfifo(folder / "pipe.tssb")
    (folder / "folder.tssb").mkdir()
    leftover = folder / f".tinyssb-{'0a' * 8}.part"
    leftover.write_bytes(b"?")
    os.utime(leftover, (0, 0))
    row = carried(tmp_path / "ana", "--leave", str(stick))
    assert (row["files"], row["damaged"]) == (0, {})
    assert not leftover.exists()


@pytest.mark.parametrize(
    ("there", "name"), [((), "0001"), (("0001", "0007"), "0008"), (("0001", "999999"), "0002")]
)
def test_a_file_is_named_behind_ours_whatever_somebody_called_his(
    tmp_path: Path, stick: Path, there: tuple[str, ...], name: str
) -> None:
    feed = make_home(tmp_path / "ana", name="ana")
    with daemon(tmp_path / "ana") as running:
        said(running.home, "publish", "one")
    folder = stick / "tinyssb" / "open"
    folder.mkdir(parents=True)
    for number in there:
        os.mkfifo(folder / f"{feed.hex()[:12]}-{number}.tssb")
    left = carried(tmp_path / "ana", "--leave", str(stick))["left"]
    assert Path(left["file"]).name == f"{feed.hex()[:12]}-{name}.tssb"


def test_either_way_alone(tmp_path: Path, stick: Path) -> None:
    make_home(tmp_path / "ana", name="ana")
    with daemon(tmp_path / "ana") as running:
        said(running.home, "publish", "one")
        taken = carried(running.home, str(stick), "--take")
        assert (taken["left"], list(stick.iterdir())) == (None, [])
    left = carried(tmp_path / "ana", str(stick), "--leave")
    assert (left["taken"], left["left"]["entries"]) == (None, 1), "without the daemon"


def test_a_stick_that_is_not_in_is_not_made(tmp_path: Path) -> None:
    make_home(tmp_path / "ana")
    ended = tinyssb(tmp_path / "ana", "carry", str(tmp_path / "media"))
    assert ended.returncode == ExitCode.MISSING
    assert b"Plug in and mount the stick" in ended.stderr
    assert not (tmp_path / "media").exists()


def test_a_stick_that_fails_at_once(tmp_path: Path, stick: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_home(tmp_path / "ana")
    monkeypatch.setattr(Path, "is_dir", fails)
    ended = tinyssb(tmp_path / "ana", "carry", str(stick))
    assert ended.returncode == ExitCode.MISSING
    assert b"stick cannot be read: Input/output error" in ended.stderr


def test_another_networks_entries_are_not_looked_at(tmp_path: Path, stick: Path) -> None:
    make_home(tmp_path / "ana", name="ana")
    make_home(tmp_path / "ben", name="ben")
    config = tmp_path / "ben" / "config.toml"
    config.write_text(config.read_text() + 'network_key = "6f74686572"\n')
    with daemon(tmp_path / "ana"), daemon(tmp_path / "ben"):
        said(tmp_path / "ana", "publish", "one")
        carried(tmp_path / "ana", str(stick))
        assert carried(tmp_path / "ben", str(stick))["files"] == 0


def test_export_since(tmp_path: Path) -> None:
    ana = tmp_path / "ana"
    make_home(ana, name="ana")
    with daemon(ana):
        said(ana, "publish", "one")
        said(ana, "export", str(tmp_path / "all"))
        said(ana, "publish", LONG)
        said(ana, "export", str(tmp_path / "rest"), "--since", str(tmp_path / "all"))
        said(ana, "export", str(tmp_path / "hour"), "--since", "1h")
        said(ana, "export", str(tmp_path / "none"), "--since", "2099-01-01")
    sizes = [(tmp_path / name).stat().st_size for name in ("all", "rest", "hour", "none")]
    begin, feed, packet, end = 16, 38, 121, 33
    assert sizes == [
        begin + feed + packet + end,
        begin + feed + 6 * packet + end,
        begin + feed + 7 * packet + end,
        begin + end,
    ]
    assert tinyssb(ana, "export", str(tmp_path / "x"), "--since", "whenever").returncode == ExitCode.USAGE


def test_what_an_export_lacks_of_another_is_all_that_a_node_needs(tmp_path: Path) -> None:
    ana, ben = tmp_path / "ana", tmp_path / "ben"
    make_home(ana, name="ana")
    make_home(ben, name="ben")
    with daemon(ana), daemon(ben):
        said(ana, "publish", "one")
        said(ana, "export", str(tmp_path / "all"))
        said(ben, "import", str(tmp_path / "all"))
        said(ana, "publish", "two")
        said(ana, "export", str(tmp_path / "rest"), "--since", str(tmp_path / "all"))
        assert json.loads(said(ben, "import", str(tmp_path / "rest"), "--json"))["entries"] == 1


@pytest.mark.parametrize("link", ["tinyssb", "tinyssb/open"])
@pytest.mark.parametrize("way", ["--take", "--leave"])
def test_a_link_on_the_stick_leads_nowhere(tmp_path: Path, stick: Path, link: str, way: str) -> None:
    """A stick that a stranger prepared must not read or write elsewhere on this machine."""
    ana, elsewhere = tmp_path / "ana", tmp_path / "elsewhere"
    make_home(ana, name="ana")
    with daemon(ana):
        said(ana, "publish", "one")
    (elsewhere / "open").mkdir(parents=True)
    leftover = elsewhere / "open" / f".tinyssb-{'0' * 16}.part"
    leftover.touch()
    os.utime(leftover, (0, 0))
    (stick / link).parent.mkdir(exist_ok=True)
    (stick / link).symlink_to(elsewhere if link == "tinyssb" else elsewhere / "open")
    ended = tinyssb(ana, "carry", str(stick), way)
    assert ended.returncode == ExitCode.DATA
    assert f"{stick / link} is a link" in ended.stderr.decode()
    assert list((elsewhere / "open").iterdir()) == [leftover]


def test_files_that_are_links_count_as_absent(tmp_path: Path, stick: Path) -> None:
    ana = tmp_path / "ana"
    make_home(ana, name="ana")
    with daemon(ana):
        said(ana, "publish", "one")
        first = Path(carried(ana, str(stick))["left"]["file"])
        moved = first.rename(tmp_path / "export.tssb")
        first.symlink_to(moved)
        again = carried(ana, str(stick))
    assert (again["files"], again["left"]["entries"]) == (0, 1)
