"""`blocklist`, and `block` down to the daemon: published, followed, overruled."""

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import PATIENCE_S, RunningDaemon, daemon, make_home, tinyssb
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.content import chat
from tinyssb_node.content.blocklist import BlockStep, serialize_block_step
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import blocked_short

BEN, EVE, VIC = key_of("ben"), key_of("eve"), key_of("vic")
NAMES = {BEN: "Ben", EVE: "Eve", VIC: "Vic"}


def said(running: RunningDaemon, *arguments: str) -> str:
    ended = tinyssb(running.home, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def rows(running: RunningDaemon, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(running, *arguments, "--json").splitlines()]


def refused(running: RunningDaemon, code: ExitCode, *arguments: str) -> str:
    ended = tinyssb(running.home, *arguments)
    assert ended.returncode == code
    return ended.stderr.decode()


def wait_until(met: Callable[[], bool]) -> None:
    """Ask the daemon again and again."""
    end_s = time.monotonic() + PATIENCE_S
    while not met():
        assert time.monotonic() < end_s


def contents(key: SigningKey) -> list[bytes]:
    text = chat.serialize(chat.ChatPost(tips=(), text=f"said by {NAMES[key]}", said_s=1))
    return [chat.serialize(chat.Alias(name=NAMES[key])), text]


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningDaemon]:
    make_home(tmp_path / "node")
    with daemon(tmp_path / "node") as running:
        with running.client() as node:
            listing = serialize_block_step(BlockStep((blocked_short(EVE.feed_id), b"?" * 12)))
            for key in NAMES:
                said_by = [*contents(key), *([listing] if key is BEN else [])]
                node.import_packets(key.feed_id.hex(), packets_of(written(key, said_by)))
        yield running


def blocked_feeds(running: RunningDaemon) -> set[str]:
    with running.client() as node:
        return {row.feed for row in node.feeds() if row.blocked}


def test_a_block_is_at_the_daemon_soon_and_what_comes_is_not_taken(running: RunningDaemon) -> None:
    said(running, "block", "Vic")
    wait_until(lambda: blocked_feeds(running) == {VIC.feed_id.hex()})
    (entry,) = written(VIC, [*contents(VIC), b"more"])[2:]
    with running.client() as node:
        refusal = node.import_packets(VIC.feed_id.hex(), [entry.packet]).refused
        assert refusal is not None
    assert "said by Vic" not in said(running, "chat")
    assert "Unblocked Vic" in said(running, "unblock", "Vic")
    wait_until(lambda: not blocked_feeds(running))
    assert "said by Vic" in said(running, "chat")


def test_an_id_that_nobody_has_can_be_blocked_and_oneself_cannot(running: RunningDaemon) -> None:
    stranger = "ab" * 32
    assert rows(running, "block", stranger) == [{"feed": stranger, "blocked": True}]
    with running.client() as node:
        own = node.status().feed
    assert "This is your own feed" in refused(running, ExitCode.USAGE, "block", "me")
    assert "This is your own feed" in refused(running, ExitCode.USAGE, "block", own)
    assert "This node knows no person" in refused(running, ExitCode.MISSING, "block", "nobody such")


def test_a_list_that_is_followed_blocks_and_shows_whose_it_is(running: RunningDaemon) -> None:
    assert said(running, "blocklist") == "No one is blocked.\n"
    assert said(running, "blocklist", "show", "Ben").splitlines() == [
        f"The list of Ben {BEN.feed_id.hex()[:8]} names 1 person, and 1 unknown to this node.",
        f"  Eve {EVE.feed_id.hex()[:8]}",
    ]
    assert "Following the list of Ben" in said(running, "blocklist", "follow", "Ben")
    wait_until(lambda: blocked_feeds(running) == {EVE.feed_id.hex()})
    assert "said by Eve" not in said(running, "chat")
    assert "blocked by Ben" in said(running, "contacts")
    assert rows(running, "blocklist") == [
        {"kind": "blocked", "feed": EVE.feed_id.hex(), "by": [BEN.feed_id.hex()]},
        {"kind": "list", "feed": BEN.feed_id.hex(), "people": [EVE.feed_id.hex()], "unknown": 1},
    ]
    said(running, "unblock", "Eve")
    wait_until(lambda: not blocked_feeds(running))
    assert "said by Eve" in said(running, "chat")
    assert "No longer following" in said(running, "blocklist", "unfollow", "Ben")
    assert rows(running, "blocklist") == []
    assert "your own blocks always apply" in refused(running, ExitCode.USAGE, "blocklist", "follow", "me")


def test_ones_blocks_are_published_and_taken_back(running: RunningDaemon) -> None:
    assert "You do not block Vic" in refused(running, ExitCode.DATA, "blocklist", "publish", "Vic")
    assert said(running, "blocklist", "publish") == "Already published. Nothing changed.\n"
    for name in ("Eve", "Vic"):
        said(running, "block", name)
    assert rows(running, "blocklist", "publish", "--dry-run") == [{"added": 2, "removed": 0, "packets": 1}]
    assert "1 blocked, 0 no longer" in said(running, "blocklist", "publish", "Eve")
    assert "Eve" in (shown := said(running, "blocklist", "show", "me"))
    assert "Vic" not in shown
    said(running, "unblock", "Eve")
    assert "1 blocked, 1 no longer" in said(running, "blocklist", "publish")
    assert said(running, "blocklist", "publish") == "Already published. Nothing changed.\n"
    (row,) = rows(running, "blocklist", "show", "me")
    assert (row["people"], row["followed"]) == ([VIC.feed_id.hex()], False)


def test_blocks_count_from_the_start_of_the_daemon(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_home(home)
    assert tinyssb(home, "block", EVE.feed_id.hex()).returncode == 0
    with daemon(home) as running, running.client() as node:
        packets = [entry.packet for entry in written(EVE, [b"x"])]
        assert node.import_packets(EVE.feed_id.hex(), packets).entries == 0
