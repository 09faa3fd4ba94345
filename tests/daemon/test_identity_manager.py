"""A daemon with several identities: each is kept, doubted and written by itself."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.daemon.fakes import KEY
from tests.daemon.processes import daemon, make_home, tinyssb
from tinyssb_node.control.client import DaemonClient, DaemonError
from tinyssb_node.daemon.identities import new_identity
from tinyssb_node.daemon.identity_manager import open_identities
from tinyssb_node.daemon.tip_mark import read_mark, write_mark
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect
from tinyssb_node.store.home import Home
from tinyssb_node.store.unlock import open_identity
from tinyssb_node.store.words import serialize_words

NAMES = ("club", "sensor")


@pytest.fixture(scope="module")
def original(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with two further identities, in two networks: each of the three wrote one entry, then came a clean end."""
    home = Home(tmp_path_factory.mktemp("original") / "node")
    make_home(home.root)
    home.config.write_text(home.config.read_text() + '[networks.village]\nkey = "0a1b"\n')
    for name in NAMES:
        new_identity(home, name, Dialect.SPEC)
    with daemon(home.root) as running:
        with running.client() as node:
            for writer in (None, *NAMES):
                assert node.publish(b"one", writer).seq == 1
        assert running.stop()[0] == 0
    return home.root


@pytest.fixture
def written(original: Path, tmp_path: Path) -> Home:
    """The same in a folder of its own, as if it had always been there."""
    written = Home(tmp_path / "node")
    shutil.copytree(original, written.root)
    for place in places(written):
        mark = read_mark(place.mark)
        assert mark is not None
        write_mark(place.mark, mark, place.mark.stat().st_ctime_ns // 1_000)
    return written


def places(home: Home) -> list[Home]:
    """Where the keys and marks of all three are."""
    return [home, *(home.of_identity(name) for name in NAMES)]


def doubts(node: DaemonClient) -> dict[str, str | None]:
    """Why each does not write, the node's own first."""
    status = node.status()
    waits = {"main": status.waiting, **{row.name: row.waiting for row in status.identities}}
    return {name: waiting.doubt if waiting else None for name, waiting in waits.items()}


def writable(node: DaemonClient) -> dict[str, bool]:
    """Return for each identity, by name, if it may write, as `feeds` shows it."""
    rows = [(row.identity, row.writable) for row in node.feeds()]
    return {name: may for name, may in rows if name is not None and may is not None}


def test_what_each_wrote_is_in_its_own_mark(original: Path) -> None:
    feeds = set()
    for place in places(Home(original)):
        mark = read_mark(place.mark)
        assert mark is not None
        assert mark.in_place
        feeds.add(mark.feed)
        assert mark.tip_in(DEFAULT_NETWORK).seq == 1
        assert mark.tip_in(DEFAULT_NETWORK).doubt is None
    assert len(feeds) == 3


def test_after_a_power_cut_all_go_on(written: Home) -> None:
    with daemon(written.root) as running:
        with running.client() as node:
            for name in NAMES:
                assert node.publish(b"two", name).seq == 2
        running.process.kill()
    with daemon(written.root) as running, running.client() as node:
        assert set(doubts(node).values()) == {None}
        for name in NAMES:
            assert node.publish(b"three", name).seq == 3


def test_each_waits_for_itself(written: Home, tmp_path: Path) -> None:
    """The files of one were put back from a backup."""
    club = written.of_identity("club").root
    # The first ones stay, or the file system could give their inodes to the copies.
    club.rename(tmp_path / "backup")
    shutil.copytree(tmp_path / "backup", club)
    with daemon(written.root) as running:
        with running.client() as node:
            assert doubts(node) == {"main": None, "club": "copied", "sensor": None}
            assert writable(node) == {"main": True, "club": False, "sensor": True}
            assert node.publish(b"two").seq == node.publish(b"two", "sensor").seq == 2
            with pytest.raises(DaemonError, match="`tinyssb identity sure club`") as refused:
                node.publish(b"no", "club")
            assert refused.value.code == "uncertain"
            told = tinyssb(written.root, "status").stdout.decode()
            assert "writing: not yet: the node's files were copied" in told
            assert b"own: club, cannot be written for now" in tinyssb(written.root, "feeds").stdout
            doctor = tinyssb(written.root, "doctor").stdout
            assert b"the feed of 'club' cannot be written yet" in doctor
            assert node.sure("club").changed
            assert not node.sure("club").changed
            assert node.publish(b"two", "club").seq == 2
            assert all(writable(node).values())
        with DaemonClient(written.control_socket, network="village") as node:
            with pytest.raises(DaemonError, match="were copied"):
                node.publish(b"in the other network it is not known", "club")
            assert node.publish(b"one", "sensor").seq == 1
        _, logged = running.stop()
    assert "identity=club network=default" in logged
    assert "identity=sensor" not in logged.replace("opening a further identity     identity=sensor", "")


def test_a_moved_card_makes_all_of_them_wait(written: Home) -> None:
    for place in places(written):
        there = place.mark.read_text().replace('"machine":"', '"machine":"f')
        with place.mark.open("r+") as file:
            file.write(there)
    with daemon(written.root) as running, running.client() as node:
        assert set(doubts(node).values()) == {"moved"}
        node.sure()
        assert doubts(node) == {"main": None, "club": "moved", "sensor": "moved"}


def test_a_restored_one_waits_and_remembers_what_it_wrote(written: Home) -> None:
    place = written.of_identity("club")
    words = " ".join(serialize_words(open_identity(place.identity, {}).seed)).encode()
    place.identity.unlink()
    assert tinyssb(written.root, "identity", "restore", "club", stdin=words).returncode == 0
    mark = read_mark(place.mark)
    assert mark is not None
    assert mark.tip_in(DEFAULT_NETWORK).seq == 1
    with daemon(written.root) as running, running.client() as node:
        assert doubts(node) == {"main": None, "club": "restored", "sensor": None}


def spoil(place: Home) -> None:
    place.identity.write_text("{")


def expose(place: Home) -> None:
    place.identity.chmod(0o644)


def copy_another(place: Home) -> None:
    place.identity.unlink()
    shutil.copy2(place.root.parent.parent / "identity", place.identity)


def test_what_somebody_else_made_there_stops_nothing(written: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    """Root made an identity in the home of a service. Root is stopped by no mode, so it is played."""

    def refuse(path: Path) -> Iterator[Path]:
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "iterdir", refuse)
    lines: list[structlog.typing.EventDict] = []

    def keep(_logger: object, _method: str, line: structlog.typing.EventDict) -> str:
        lines.append(line)
        raise structlog.DropEvent

    opened = open_identities(written, KEY.feed_id, {}, None, structlog.wrap_logger(None, processors=[keep]))
    assert (opened.writers, opened.problems) == ([], {})
    assert [line["event"] for line in lines] == ["no further identity is used"]


@pytest.mark.parametrize(
    ("happens", "told"),
    [(spoil, "does not hold a usable identity"), (expose, "mode 0644"), (copy_another, "the key of 'main'")],
)
def test_one_that_cannot_be_opened_is_left_out_and_told(written: Home, happens: Any, told: str) -> None:
    happens(written.of_identity("club"))
    with daemon(written.root) as running:
        with running.client() as node:
            row = node.status().identities[0]
            assert (row.name, row.feed) == ("club", None)
            assert told in (row.problem or "")
            with pytest.raises(DaemonError, match=told):
                node.publish(b"no", "club")
            assert node.publish(b"two", "sensor").seq == node.publish(b"two").seq == 2
        assert told.encode() in tinyssb(written.root, "status").stdout
        _, logged = running.stop()
    assert "a further identity is not used" in logged


def test_rekey_and_verify_take_them_for_ours(written: Home) -> None:
    with daemon(written.root) as running, running.client() as node:
        feeds = {name: row.feed for row in node.feeds() if (name := row.identity)}
        with pytest.raises(DaemonError) as refused:
            node.rekey(b"fresh", [feeds["club"]])
        assert refused.value.code == "bad_request"
        assert node.rekey(b"fresh", []).kept == 3
        assert {*node.goset().feeds} == {*feeds.values()}
        for name in (None, *NAMES):
            assert node.publish(b"two", name).seq == 2
        assert tinyssb(written.root, "verify").returncode == ExitCode.OK


@pytest.fixture
def plain(tmp_path: Path) -> Iterator[DaemonClient]:
    """A daemon as most are."""
    make_home(tmp_path / "plain")
    with daemon(tmp_path / "plain") as running, running.client() as node:
        yield node


def test_a_node_without_others_has_no_such_thing(plain: DaemonClient) -> None:
    assert plain.status().identities == []
    assert writable(plain) == {"main": True}
    assert plain.publish(b"one", "main").seq == 1
    for ask in (lambda: plain.publish(b"no", "club"), lambda: plain.sure("club")):
        with pytest.raises(DaemonError) as refused:
            ask()
        assert refused.value.code == "unknown_identity"


def test_nor_does_it_load_what_they_need() -> None:
    said = subprocess.run(
        [sys.executable, "-c", "import sys, tinyssb_node.daemon.process; print(*sys.modules)"],
        capture_output=True,
        check=True,
    ).stdout.decode()
    assert "tinyssb_node.daemon.handler" in said.split()
    for module in (
        "tinyssb_node.node.further_identities",
        "tinyssb_node.daemon.identity_manager",
        "tinyssb_node.daemon.identities",
    ):
        assert module not in said.split()
