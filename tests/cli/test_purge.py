"""`tinyssb purge`: a stranger's feed is deleted, and what is left is told."""

import time
from collections.abc import Callable
from pathlib import Path

from websockets.sync.client import connect

from tests.daemon.processes import PATIENCE_S, daemon, make_home, tinyssb
from tests.daemon.test_process import free_port
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, serialize_feeds
from tinyssb_node.errors import ExitCode

EVE = key_of("eve")
LONG = b"long " * 60
"""Content with a side chain of three packets."""


def until(home: Path, command: str, found: Callable[[str], bool]) -> str:
    """Repeat a command until its output is as it should be; return it."""
    end_s = time.monotonic() + PATIENCE_S
    while not found(told := tinyssb(home, *command.split()).stdout.decode()):
        assert time.monotonic() < end_s, told
    return told


def test_a_strangers_feed_is_deleted_and_comes_back_once_it_is_followed(tmp_path: Path) -> None:
    home, port, feed = tmp_path / "a", free_port(), EVE.feed_id.hex()
    make_home(home, f"ws:listen:127.0.0.1:{port}")
    packets = packets_of(written(EVE, [b"one", LONG]))
    with daemon(home):
        until(home, "status", lambda told: "  open" in told)
        with connect(f"ws://127.0.0.1:{port}") as peer:
            for packet in (serialize_feeds(Network().goset_dmx, Feeds((EVE.feed_id,))), *packets):
                peer.send(packet)
            until(home, "feeds", lambda told: "1.3 kB" in told)
            assert "others 1.3 kB of" in until(home, "status", lambda told: "biggest others" in told)
            told = tinyssb(home, "purge", feed[:8]).stdout.decode()
            assert f"Deleted {feed}: 5 entries and chunks, 1.3 kB of disk." in told
            assert f"tinyssb follow {feed}" in told
            until(home, "feeds", lambda told: "deleted to make room" in told and "0 B" in told)
            assert tinyssb(home, "purge", feed[:8]).stdout.decode() == f"Nothing is stored of {feed}.\n"
            assert tinyssb(home, "follow", feed).returncode == 0
            for packet in packets:
                peer.send(packet)
            until(home, "feeds", lambda told: "1.3 kB" in told)


def test_what_is_followed_and_ones_own_feed_are_kept(tmp_path: Path) -> None:
    own = make_home(tmp_path / "a")
    with daemon(tmp_path / "a"):
        tinyssb(tmp_path / "a", "follow", EVE.feed_id.hex())
        kept = tinyssb(tmp_path / "a", "purge", EVE.feed_id.hex())
        assert kept.returncode == ExitCode.DATA
        assert f"tinyssb unfollow {EVE.feed_id.hex()}" in kept.stderr.decode()
        assert "your own" in tinyssb(tmp_path / "a", "purge", own.hex()).stderr.decode()
        tinyssb(tmp_path / "a", "unfollow", EVE.feed_id.hex())
        # Nothing of it had come: it is forgotten.
        assert tinyssb(tmp_path / "a", "purge", EVE.feed_id.hex()).returncode != 0
