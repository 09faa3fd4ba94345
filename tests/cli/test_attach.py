"""`tinyssb attach` and `tinyssb fetch`, against a real daemon and the packets of a friend far away."""

import io
import json
import sys
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import Ended, RunningDaemon, daemon, make_home, tinyssb
from tinyssb_node.cli.commands import attach as command
from tinyssb_node.codec import bipf
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.files import File, serialize_file
from tinyssb_node.errors import ExitCode
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect
from tinyssb_node.screens import limits
from tinyssb_node.screens.estimate import AirtimeCost

DATA = bytes(range(256)) * 8


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDaemon]:
    """One daemon for all tests; no radio."""
    home = tmp_path_factory.mktemp("node")
    make_home(home, "ws:listen:127.0.0.1:0", name="ana")
    with daemon(home) as running:
        yield running


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in, with one file."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "map.webp").write_bytes(DATA)
    return tmp_path


def row_of(ended: Ended) -> dict[str, Any]:
    """The one JSON object that a command printed."""
    assert ended.returncode == 0, ended.stderr.decode()
    row: dict[str, Any] = json.loads(ended.stdout)
    return row


def names(folder: Path) -> list[str]:
    return sorted(entry.name for entry in folder.iterdir())


class Friend:
    """Somebody whose packets come by and by."""

    def __init__(self, number: int, contents: Sequence[bytes]) -> None:
        key = SigningKey(bytes(30) + bytes([2, number]))
        tip = Tip(key.feed_id, Dialect.SPEC, 0, None)
        self.feed = key.feed_id.hex()
        self.packets: list[bytes] = []
        for content in contents:
            composed = compose(Network(), key, tip, content)
            self.packets += [composed.packet, *composed.chunks]
            tip = composed.extended.tip

    def send(self, running: RunningDaemon, first: int, last: int | None = None) -> None:
        """Packets from number *first* on come to the node."""
        with running.client() as client:
            row = client.import_packets(self.feed, self.packets[first:last])
        assert row.refused is None


def test_a_file_comes_back_as_it_was(running: RunningDaemon, here: Path) -> None:
    row = row_of(tinyssb(running.home, "attach", "map.webp", "--yes", "--json"))
    assert (row["name"], row["type"], row["size"], row["packets"]) == (
        "map.webp",
        "image/webp",
        len(DATA),
        22,
    )
    assert row["costs"] == []
    for what, output in (
        (row["id"][:12], "one"),
        (f"me.{row['seq']}", "two"),
        (f"{row['feed'][:9]}.{row['seq']}", "3"),
    ):
        fetched = row_of(tinyssb(running.home, "fetch", what, "-o", output, "--json"))
        assert fetched == {key: row[key] for key in ("feed", "seq", "id", "name", "type", "size")} | {
            "path": output
        }
        assert Path(output).read_bytes() == DATA
    (here / "folder").mkdir()
    ended = tinyssb(running.home, "fetch", row["id"], "-o", "folder")
    assert ended.stdout.decode() == f"Saved folder/map.webp, {len(DATA):,} bytes.\n"
    assert tinyssb(running.home, "fetch", row["id"], "-o", "-").stdout == DATA


def test_a_private_file_is_for_those_it_was_made_for_alone(
    running: RunningDaemon, here: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    other = tmp_path_factory.mktemp("cyd")
    make_home(other, name="cyd")
    cyd = row_of(tinyssb(other, "identity", "--json"))["feed"]
    tinyssb(running.home, "follow", cyd)
    cost = row_of(tinyssb(running.home, "attach", "map.webp", "--with", cyd, "--dry-run", "--json"))
    assert (cost["packets"], cost["with"]) == (24, [cyd])
    row = row_of(
        tinyssb(running.home, "attach", "map.webp", "--name", "hut.webp", "--with", cyd, "--yes", "--json")
    )
    shown = tinyssb(running.home, "chat", "--with", cyd).stdout.decode()
    assert "(file hut.webp, 2,048 bytes" in shown
    assert "hut.webp" not in tinyssb(running.home, "chat").stdout.decode()
    assert tinyssb(running.home, "fetch", row["id"][:12], "-o", "-").stdout == DATA
    # The entry alone shows neither its name nor its bytes.
    entry = tinyssb(running.home, "show", "me", str(row["seq"]), "--json").stdout
    assert b"hut.webp" not in entry
    assert b"hut.webp".hex().encode() not in entry


def test_nothing_is_overwritten(running: RunningDaemon, here: Path) -> None:
    row = row_of(tinyssb(running.home, "attach", "map.webp", "-y", "--json", "--name", "notes.txt"))
    (here / "notes.txt").write_text("mine")
    ended = tinyssb(running.home, "fetch", row["id"])
    assert ended.returncode == ExitCode.CREATE
    assert b"exists already" in ended.stderr
    assert (here / "notes.txt").read_text() == "mine"


def test_what_it_costs_is_said_before_and_without_an_answer_nothing_is_published(
    running: RunningDaemon, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def entries() -> int:
        return int(row_of(tinyssb(running.home, "status", "--json"))["entries"])

    before = entries()
    ended = tinyssb(running.home, "attach", "map.webp", "--dry-run")
    assert ended.stdout.decode().splitlines() == [
        "map.webp: 2,048 bytes of image/webp",
        "22 packets; no radio face is up, so this costs no airtime",
    ]
    assert row_of(tinyssb(running.home, "attach", "map.webp", "--dry-run", "--json"))["packets"] == 22
    ended = tinyssb(running.home, "attach", "map.webp")
    assert (ended.returncode, ended.stdout) == (ExitCode.USAGE, b"")
    assert b"22 packets; no radio face" in ended.stderr
    assert b"--yes" in ended.stderr
    monkeypatch.setattr("tinyssb_node.screens.screen.is_interactive", lambda: True)
    for answer in (b"n\n", b"", b"yesterday\n"):
        ended = tinyssb(running.home, "attach", "map.webp", stdin=answer)
        assert ended.returncode == ExitCode.ATTENTION
        assert ended.stderr.endswith(b"Nothing was published.\n")
    assert entries() == before
    ended = tinyssb(running.home, "attach", "map.webp", stdin=b"Y\n")
    assert ended.returncode == 0
    assert b"Others save it with: tinyssb fetch " in ended.stdout
    assert entries() == before + 1


def test_the_question_tells_of_every_radio_face(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO("y\n"))
    monkeypatch.setattr("tinyssb_node.screens.screen.is_interactive", lambda: True)
    cost = AirtimeCost(
        faces=("radio",),
        packets=91,
        air_us=18_660_096,
        band="b",
        limit_us=36_000_000,
        window_us=3_600_000_000,
        left_us=36_000_000,
    )
    assert command.confirm_cost(File("a\x1b.txt", "", b""), 91, [cost])
    told = capsys.readouterr().err
    assert "  radio: 91 packets, 18.7 s of airtime, 52 % of this hour's budget\n" in told
    assert "packets that a peer misses are sent again" in told
    assert "\x1b" not in told


@pytest.mark.parametrize(
    ("arguments", "code", "why"),
    [
        (["missing"], ExitCode.MISSING, "missing cannot be read"),
        (["."], ExitCode.DATA, "is not a file"),
        (["big"], ExitCode.DATA, "has 70,000 bytes, and one entry carries 65,5"),
        (["map.webp", "--name", "n" * 65], ExitCode.DATA, "Choose another one with --name"),
        (["map.webp", "--type", "t" * 41], ExitCode.DATA, "Choose another one with --type"),
    ],
)
def test_what_cannot_be_attached_is_refused(
    running: RunningDaemon, here: Path, arguments: list[str], code: ExitCode, why: str
) -> None:
    (here / "big").write_bytes(bytes(70_000))
    ended = tinyssb(running.home, "attach", "--yes", *arguments)
    assert ended.returncode == code
    assert why in ended.stderr.decode()


def test_a_friends_file_is_waited_for_and_its_name_is_not_trusted(
    running: RunningDaemon, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    friend = Friend(1, [serialize_file(File("../.\x1b[2Jmap.webp", "image/webp", DATA))])
    friend.send(running, 0, 5)
    what = f"{friend.feed[:10]}.1"
    ended = tinyssb(running.home, "fetch", what, "--timeout", "0")
    assert ended.returncode == ExitCode.BUSY
    assert b"4 of 21 packets have arrived. Nothing was saved." in ended.stderr
    monkeypatch.setattr(limits, "FETCH_LOOK_S", 0.01)
    seen = threading.Event()
    monkeypatch.setattr(
        command, "_screen", lambda _: (lambda line: seen.set() if "4 of" in line else None, seen.set)
    )

    def go_on() -> None:
        seen.wait(10)
        friend.send(running, 5)

    sending = threading.Thread(target=go_on)
    sending.start()
    ended = tinyssb(running.home, "fetch", what, "--timeout", "10")
    sending.join()
    assert ended.returncode == 0, ended.stderr
    assert names(here) == ["__2Jmap.webp", "map.webp"]
    assert (here / "__2Jmap.webp").read_bytes() == DATA
    assert b"\x1b" not in ended.stdout + ended.stderr


def test_the_bar_stays_in_its_line_and_says_what_comes(
    running: RunningDaemon, here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    friend = Friend(2, [serialize_file(File("\x1b[2Jmap.webp", "", DATA))])
    friend.send(running, 0, 3)
    monkeypatch.setattr(command, "_on_a_terminal", lambda: True)
    ended = tinyssb(running.home, "fetch", f"{friend.feed}.1", "--timeout", "0")
    lines = ended.stderr.decode().splitlines()
    assert (
        lines[0]
        == "\\x1b[2Jmap.webp, 2,048 bytes. Press Ctrl-C to stop waiting; the node continues to request the rest."
    )
    assert lines[2] == "[#...................] 2 of 21 packets, waiting for the first"
    friend.send(running, 3)
    assert tinyssb(running.home, "unfollow", friend.feed).returncode == 0


def test_what_is_no_file_is_not_waited_for(running: RunningDaemon, here: Path) -> None:
    friend = Friend(3, [b"x" * 500, bipf.encode(["FIL", "a", "b", b"c"])[:-1] + b"", b"hello"])
    friend.send(running, 0, 1)
    ended = tinyssb(running.home, "fetch", f"{friend.feed}.1")
    assert ended.returncode == ExitCode.DATA
    assert b"carries no file" in ended.stderr
    friend.send(running, 1)
    ended = tinyssb(running.home, "fetch", f"{friend.feed}.2")
    assert ended.returncode == ExitCode.DATA
    assert b"looks like a file but is malformed" in ended.stderr
    for what, code in (
        (f"{friend.feed}.9", ExitCode.MISSING),
        ("ffffffffff.1", ExitCode.MISSING),
        ("00ff00ff00ff", ExitCode.MISSING),
    ):
        assert tinyssb(running.home, "fetch", what).returncode == code
    assert tinyssb(running.home, "fetch", "me.1", "--timeout", "soon").returncode == ExitCode.USAGE
    assert names(here) == ["map.webp"]


def test_who_is_not_followed_is_not_waited_for(running: RunningDaemon, here: Path) -> None:
    friend = Friend(4, [serialize_file(File("a", "", DATA))])
    friend.send(running, 0, 3)
    assert tinyssb(running.home, "unfollow", friend.feed).returncode == 0
    ended = tinyssb(running.home, "fetch", f"{friend.feed}.1")
    assert ended.returncode == ExitCode.BUSY
    assert b"is not followed" in ended.stderr


def test_a_whole_file_needs_no_daemon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    home = tmp_path / "node"
    make_home(home, name="ana")
    friend = Friend(5, [serialize_file(File("a", "", DATA)), serialize_file(File("b", "", DATA[::-1]))])
    with daemon(home) as running:
        friend.send(running, 0, -1)
    assert tinyssb(home, "fetch", f"{friend.feed}.1").returncode == 0
    assert Path("a").read_bytes() == DATA
    assert tinyssb(home, "fetch", f"{friend.feed}.2").returncode == ExitCode.UNAVAILABLE
