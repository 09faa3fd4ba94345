"""The screen on a real node: what is written is kept, a daemon may go and come, and what happened is told."""

import contextlib
import sys
import threading
import time
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from tests.daemon.processes import daemon, make_home, tinyssb
from tests.tui.screen import PATIENCE_S, shown
from tinyssb_node.catalog.rows import PUBLIC, MessageKind
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.control.client import DaemonUnreachableError
from tinyssb_node.errors import ExitCode, LocalError, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.group_changes import GroupAction, GroupChange
from tinyssb_node.tui import limits
from tinyssb_node.tui.logtail import LogTail
from tinyssb_node.tui.screen_state import ScreenRequest
from tinyssb_node.tui.source import NodeScreenSource

BEN = FeedId(bytes(range(32)))
CYD = SigningKey(bytes(32)).feed_id
"""A feed with a key that can be written to."""


async def test_a_day_of_a_node(tmp_path: Path) -> None:
    home = tmp_path / "n"
    make_home(home, name="ana")
    source = NodeScreenSource(str(home), None)
    with contextlib.ExitStack() as first_daemon:
        first_daemon.enter_context(daemon(home))
        async with shown(source, "w", *"one", "enter") as screen:
            await screen.press(*"two", "enter", "escape")
            assert "me: one" in screen.text()
            assert "me: two" in screen.text()
            assert "ana" in screen.lines()[0]
            await screen.press("r", *"three", "enter", "escape")
            assert screen.app.sight is not None
            first, second, third = screen.app.sight.messages
            assert (second.previous, third.previous) == ((first.id,), (second.id,))

            first_daemon.close()
            await screen.look()
            assert "The node's daemon is not running." in screen.lines()[0]
            await screen.press("w", *"four", "enter")
            assert "Start it with `tinyssb run`" in screen.text()
            with daemon(home):
                await screen.press("enter", "escape")
                assert "me: four" in screen.text()
                assert "not running" not in screen.lines()[0]
                await screen.press("5")


def test_what_a_source_tells_and_does(tmp_path: Path) -> None:
    home = tmp_path / "n"
    make_home(home, name="ana")
    source = NodeScreenSource(str(home), None)
    asked = ScreenRequest()
    assert source.look(asked).away is not None
    with daemon(home):
        source.follow(BEN, wanted=True)
        sight = source.look(asked)
        assert sight.away is None
        assert {row.feed: row.wanted for row in sight.feeds}[BEN.hex()]
        source.say(PUBLIC, "hello")
        first = source.look(asked)
        (message,) = first.messages
        assert message.text == "hello"
        assert first.holders[message.id]
        source.say(PUBLIC, "you", reply_to=message.id)
        assert [row.text for row in source.look(asked).messages] == ["hello", "you"]
        source.say(PUBLIC, "a")
        source.say(PUBLIC, "b")
        *_, a, b = source.look(asked).messages
        assert b.previous == (a.id,)
        private = source.tell([], "for me")
        assert private != PUBLIC
        assert [row.text for row in source.look(ScreenRequest(conversation=private)).messages] == ["for me"]
        source.block(BEN, blocked=True)
        sight = source.look(asked)
        assert {one.feed: one.blocked for one in sight.people}[BEN]
        source.block(BEN, blocked=False)
        source.look(asked)
        source.follow(BEN, wanted=False)
        # Nothing of it had come: it is forgotten.
        assert BEN.hex() not in {row.feed for row in source.look(asked).feeds}
    assert source.look(asked).messages
    with pytest.raises(DaemonUnreachableError):
        source.say(PUBLIC, "nobody there")
    source.end_looking()
    source.end_writing()


def test_a_home_that_is_none_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    with pytest.raises(ProblemError, match="There is no node in") as caught:
        NodeScreenSource(str(tmp_path), None)
    assert caught.value.exit_code is ExitCode.MISSING
    make_home(tmp_path / "n")
    with pytest.raises(ProblemError, match="nowhere") as caught:
        NodeScreenSource(str(tmp_path / "n"), "nowhere")
    assert caught.value.code == "unknown_network"
    ended = tinyssb(tmp_path / "n", "tui")
    assert ended.returncode == ExitCode.USAGE
    assert b"Standard input or output is not a terminal." in ended.stderr


def test_without_the_library_it_is_said_how_to_get_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "tinyssb_node.tui.app")
    monkeypatch.setitem(sys.modules, "textual.app", None)
    ended = tinyssb(tmp_path, "tui")
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"pip install 'textual" in ended.stderr


def until(condition: Callable[[], bool]) -> None:
    """Wait for what another thread does."""
    deadline_s = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline_s
        time.sleep(0.001)


def start(tail: LogTail) -> threading.Thread:
    """Start *tail*, and return the thread that reads for it."""
    others = set(threading.enumerate())
    tail.start()
    (reader,) = (thread for thread in threading.enumerate() if thread not in others)
    return reader


def test_the_event_log_is_followed_and_its_absence_told(tmp_path: Path) -> None:
    folder = tmp_path / "events"
    segment = folder / "00000001-000000000000.jsonl"

    def find() -> Path:
        if not folder.is_dir():
            raise ProblemError("This node has not run yet.")
        return folder

    tail = LogTail(find, wait_s=0.001)

    def begin() -> None:
        folder.mkdir()
        segment.write_bytes(b"a\nb\nto")

    def go_on() -> None:
        segment.write_bytes(b"a\nb\ntorn\n")

    def seen() -> tuple[str | None, list[bytes]]:
        return tail.fault, [line for _, line in tail.lines()]

    reader = start(tail)
    until(lambda: seen() == ("This node has not run yet.", []))
    begin()
    until(lambda: seen() == (None, [b"a", b"b"]))
    go_on()
    until(lambda: len(tail.lines()) > 2)
    assert seen() == (None, [b"a", b"b", b"torn"])
    tail.close()
    reader.join(PATIENCE_S)
    assert not reader.is_alive()


def test_a_log_of_any_length_takes_bounded_memory(tmp_path: Path) -> None:
    (tmp_path / "00000001-000000000000.jsonl").write_bytes(b"x\n" * 3 * limits.EVENTS_MAX)
    tail = LogTail(lambda: tmp_path, wait_s=0.001)
    reader = start(tail)
    until(lambda: len(tail.lines()) == limits.EVENTS_MAX)
    tail.close()
    reader.join(PATIENCE_S)
    assert len(tail.lines()) == limits.EVENTS_MAX


def test_a_group_is_changed_after_a_preview(tmp_path: Path) -> None:
    home = tmp_path / "n"
    make_home(home, name="ana")
    source = NodeScreenSource(str(home), None)
    with daemon(home):
        assert source.change_group(GroupChange(action=GroupAction.CREATE, name="Hut")).startswith(
            "Created the group Hut "
        )
        (room,) = source.look(ScreenRequest()).groups
        adding = GroupChange(action=GroupAction.ADD, group=room.name, people=(CYD,))
        assert any("no radio face is up" in line for line in source.group_preview(adding))
        assert CYD not in source.look(ScreenRequest()).groups[0].members
        source.change_group(adding)
        excluding = GroupChange(action=GroupAction.EXCLUDE, group=room.name, people=(CYD,))
        assert any("This cannot be undone." in line for line in source.group_preview(excluding))
        source.change_group(excluding)
        page = source.group_page(room.name)
        assert f"Who cannot read what is written now:\n  {CYD.hex()[:8]}: from the beginning until" in page
        assert source.change_group(GroupChange(action=GroupAction.LEAVE, group=room.name)).startswith("Left")
        assert source.look(ScreenRequest(conversation=room.name)).groups[0].note == "you left this group"
        assert "again" in source.change_group(GroupChange(action=GroupAction.RETURN, group=room.name))
    source.end_looking()
    source.end_writing()


def test_a_file_of_a_group_is_sent_and_saved(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path / "n"
    make_home(home, name="ana")
    (tmp_path / "map.webp").write_bytes(bytes(256))
    source = NodeScreenSource(str(home), None)
    with daemon(home):
        source.change_group(GroupChange(action=GroupAction.CREATE, name="Hut"))
        (room,) = source.look(ScreenRequest()).groups
        draft, told = source.file_to_send(room.name, str(tmp_path / "map.webp"))
        assert told[0] == "map.webp: 256 bytes of image/webp"
        assert any("5 packets" in line for line in told)
        assert source.send_file(draft).startswith("Sent map.webp: 256 bytes of image/webp in 5 packets")
        (*_, row) = source.look(ScreenRequest(conversation=room.name)).messages
        assert row.kind is MessageKind.FILE
        folder = tmp_path / "here"
        folder.mkdir()
        monkeypatch.chdir(folder)
        assert source.save_file(room.name, row.id) == f"Saved {folder / 'map.webp'}, 256 bytes."
        assert (folder / "map.webp").read_bytes() == bytes(256)
        with pytest.raises(LocalError, match="exists already"):
            source.save_file(room.name, row.id)
        with pytest.raises(LocalError, match="cannot be read"):
            source.file_to_send(room.name, str(tmp_path / "none"))
    source.end_looking()
    source.end_writing()


def test_files_for_everybody_and_for_one_person_are_sent_and_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home = tmp_path / "n"
    make_home(home, name="ana")
    (tmp_path / "map.webp").write_bytes(bytes(256))
    source = NodeScreenSource(str(home), None)
    with daemon(home):
        cyd = SigningKey(sha256(b"cyd").digest()).feed_id
        source.follow(cyd, wanted=True)
        private = source.tell([cyd], "a map follows")
        monkeypatch.chdir(tmp_path / "n")
        for conversation, readers in ((PUBLIC, "everybody"), (private, "only ")):
            draft, told = source.file_to_send(conversation, str(tmp_path / "map.webp"))
            assert told[0] == "map.webp: 256 bytes of image/webp"
            assert told[1].strip().startswith(readers)
            assert source.send_file(draft).startswith("Sent map.webp: 256 bytes of image/webp in ")
            (*_, row) = source.look(ScreenRequest(conversation=conversation)).messages
            assert (row.kind, row.private) == (MessageKind.FILE, conversation != PUBLIC)
            folder = tmp_path / conversation
            folder.mkdir()
            monkeypatch.chdir(folder)
            assert source.save_file(conversation, row.id) == f"Saved {folder / 'map.webp'}, 256 bytes."
            assert (folder / "map.webp").read_bytes() == bytes(256)
    source.end_looking()
    source.end_writing()
