"""Checks of a daemon at its start, and the state that it keeps for the next one."""

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.daemon.processes import daemon, make_home, tinyssb
from tinyssb_node.control.client import DaemonError
from tinyssb_node.daemon.tip_mark import read_mark, write_mark
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.store.home import Home
from tinyssb_node.store.unlock import open_identity
from tinyssb_node.store.words import serialize_words


@dataclass
class Written:
    """A home whose node has written, and a copy of it from before that."""

    home: Home
    before: Path


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    """Entry 1, a backup, entry 2, and a clean end."""
    root = tmp_path_factory.mktemp("written")
    make_home(root / "node")
    for content in (b"one", b"two"):
        with daemon(root / "node") as running:
            with running.client() as node:
                node.publish(content)
            assert running.stop()[0] == 0
        if content == b"one":
            shutil.copytree(root / "node", root / "before")
    return Written(Home(root / "node"), root / "before")


@pytest.fixture
def home(written: Written, tmp_path: Path) -> Home:
    """The same node in a folder of its own, as if it had always been there."""
    shutil.copytree(written.home.root, tmp_path / "node")
    moved = Home(tmp_path / "node")
    mark = read_mark(written.home.mark)
    assert mark is not None
    write_mark(moved.mark, mark, moved.mark.stat().st_ctime_ns // 1_000)
    return moved


def words_of(home: Home) -> bytes:
    """The node's key as it stands in a backup."""
    return " ".join(serialize_words(open_identity(home.identity, {}).seed)).encode()


def doubt_of(home: Home) -> str | None:
    """Why the daemon in *home* does not write."""
    with daemon(home.root) as running, running.client() as node:
        row = node.status().waiting
        return None if row is None else row.doubt


def test_the_mark_is_left_with_the_last_entry(written: Written) -> None:
    mark = read_mark(written.home.mark)
    assert mark is not None
    assert mark.in_place
    assert (mark.tip_in(DEFAULT_NETWORK).seq, mark.tip_in(DEFAULT_NETWORK).doubt) == (2, None)


def test_an_ordinary_start_is_certain_at_once(home: Home) -> None:
    with daemon(home.root) as running:
        with running.client() as node:
            assert node.publish(b"three").seq == 3
        _, logged = running.stop()
    assert "not written" not in logged


def test_so_is_one_after_a_power_cut(home: Home) -> None:
    with daemon(home.root) as running:
        with running.client() as node:
            node.publish(b"three")
        running.process.kill()
    mark = read_mark(home.mark)
    assert mark is not None
    assert mark.tip_in(DEFAULT_NETWORK).seq == 2, "it is behind"
    with daemon(home.root) as running, running.client() as node:
        assert node.publish(b"four").seq == 4


def lose_the_store(home: Home, _: Written) -> None:
    for path in home.root.glob("store.sqlite*"):
        path.unlink()


def put_back_the_store(home: Home, written: Written) -> None:
    lose_the_store(home, written)
    shutil.copy2(written.before / "store.sqlite", home.store)


def put_back_everything(home: Home, written: Written) -> None:
    shutil.rmtree(home.root)
    shutil.copytree(written.before, home.root)


def lose_the_mark(home: Home, _: Written) -> None:
    home.mark.unlink()


def spoil_the_mark(home: Home, _: Written) -> None:
    home.mark.write_text("{")


def move_the_card(home: Home, _: Written) -> None:
    mark = home.mark.read_text()
    there = mark.replace('"machine":"', '"machine":"f')
    assert len(there) == len(mark) + 1
    with home.mark.open("r+") as file:
        file.write(there)


@pytest.mark.parametrize(
    ("happens", "doubt"),
    [
        (lose_the_store, "behind"),
        (put_back_the_store, "behind"),
        (put_back_everything, "copied"),
        (lose_the_mark, "unmarked"),
        (spoil_the_mark, "unmarked"),
        (move_the_card, "moved"),
    ],
)
def test_what_happened_to_the_files_is_noticed(
    home: Home, written: Written, happens: Callable[[Home, Written], None], doubt: str
) -> None:
    happens(home, written)
    assert doubt_of(home) == doubt
    mark = read_mark(home.mark)
    assert mark is not None
    assert mark.in_place
    assert mark.tip_in(DEFAULT_NETWORK).doubt == doubt, "another start does not make it certain"


def test_a_restored_node_writes_nothing_until_its_user_is_sure(written: Written, tmp_path: Path) -> None:
    words = words_of(written.home)
    make_home(tmp_path / "new")
    (tmp_path / "new" / "identity").unlink()
    restored = tinyssb(tmp_path / "new", "identity", "restore", stdin=words)
    assert restored.returncode == 0, restored.stderr
    with daemon(tmp_path / "new") as running:
        with running.client() as node, pytest.raises(DaemonError) as refused:
            node.publish(b"no")
        assert refused.value.code == "uncertain"
        ended = tinyssb(tmp_path / "new", "publish", "no")
        assert ended.returncode == ExitCode.BUSY
        assert b"the key was restored from a backup" in ended.stderr
        assert b"waiting for a link" in tinyssb(tmp_path / "new", "status").stdout
        assert b"own feed cannot be written yet" in tinyssb(tmp_path / "new", "doctor").stdout
        assert b"can write its feed now" in tinyssb(tmp_path / "new", "identity", "sure").stdout
        assert b"already" in tinyssb(tmp_path / "new", "identity", "sure").stdout
        with running.client() as node:
            assert node.publish(b"yes").seq == 1
        _, logged = running.stop()
    assert "not written while its tip is uncertain" in logged
    assert "writing is allowed" in logged
    assert doubt_of(Home(tmp_path / "new")) is None


def test_a_restored_key_beside_its_store_remembers_what_was_written(home: Home) -> None:
    words = words_of(home)
    home.identity.unlink()
    assert tinyssb(home.root, "identity", "restore", stdin=words).returncode == 0
    mark = read_mark(home.mark)
    assert mark is not None
    assert (mark.tip_in(DEFAULT_NETWORK).seq, mark.tip_in(DEFAULT_NETWORK).doubt) == (2, "restored")
    assert doubt_of(home) == "restored"
