"""`network`: what is shown, what is refused, and leaving a set with and without the daemon."""

import json
import signal
import time
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.daemon.processes import PATIENCE_S, daemon, make_home, tinyssb
from tests.daemon.test_process import free_port
from tests.nodes import feed_of, key_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.packets import Feeds, serialize_feeds
from tinyssb_node.errors import ExitCode

EVE = key_of("eve")
KEY = "5d0c6e7af21b9034"
JUNK_IDS = [feed_of(number) for number in range(4)]
JUNK = [feed.hex() for feed in JUNK_IDS]


def said(home: Path, *arguments: str) -> str:
    ended = tinyssb(home, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def refused(home: Path, code: ExitCode, *arguments: str) -> str:
    ended = tinyssb(home, *arguments)
    assert ended.returncode == code
    return ended.stderr.decode()


def row(home: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(said(home, "network", "--json"))
    return found


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def home(tmp_path: Path, port: int) -> Path:
    make_home(tmp_path / "node", f"ws:listen:127.0.0.1:{port}")
    return tmp_path / "node"


def name_junk(home: Path, port: int, *, feeds: int) -> None:
    """Name the ids as a peer does: those that the user follows are pending. The set has so many *feeds* then."""
    end_s = time.monotonic() + PATIENCE_S
    while "  open" not in said(home, "status"):
        assert time.monotonic() < end_s
    with connect(f"ws://127.0.0.1:{port}") as peer:
        for feed in JUNK_IDS:
            peer.send(serialize_feeds(Network().goset_dmx, Feeds((feed,))))
        while (found := row(home)["feeds"]) != feeds:
            assert time.monotonic() < end_s, found


def test_what_cannot_be_done_is_said_and_changes_nothing(home: Path) -> None:
    with (home / "config.toml").open("a") as config:
        config.write(f'\n[networks.village]\nkey = "{KEY}"\n')
    (home / "networks" / "village").mkdir(parents=True)
    assert "is not a key" in refused(home, ExitCode.USAGE, "network", "rekey", "00", "--yes")
    assert "is not a key" in refused(home, ExitCode.USAGE, "network", "rekey", "hello", "--yes")
    assert "The network village has this key" in refused(
        home, ExitCode.USAGE, "network", "rekey", KEY, "--yes"
    )
    assert "already" in refused(home, ExitCode.USAGE, "network", "rekey", "--back", "--yes")
    assert "There is no terminal" in refused(home, ExitCode.USAGE, "network", "rekey")
    assert "no network called" in refused(
        home, ExitCode.MISSING, "network", "rekey", "--network", "town", "--yes"
    )
    assert [json.loads(line)["set_key"] for line in said(home, "network", "--json").splitlines()] == [
        None,
        None,
    ]


def test_the_daemon_leaves_the_set_at_once_and_the_feed_goes_on(home: Path, port: int) -> None:
    with daemon(home) as running:
        with running.client() as node:
            node.publish(b"one")
            node.import_packets(EVE.feed_id.hex(), [written(EVE, [b"x"])[0].packet])
        name_junk(home, port, feeds=6)
        assert (row(home)["feeds"], row(home)["silent"]) == (6, 4)
        planned = json.loads(said(home, "network", "rekey", "--dry-run", "--json", "--keep", JUNK[0]))
        assert {each["feed"] for each in planned["left"]} == set(JUNK[1:])
        assert row(home)["set_key"] is None, "nothing was changed"
        done = json.loads(said(home, "network", "rekey", "--yes", "--json", "--keep", JUNK[0]))
        assert (done["daemon_running"], done["left"]) == (True, planned["left"])
        assert row(home) == {
            "name": "default",
            "feeds": 3,
            "silent": 1,
            "beyond": 0,
            "free": 252,
            "set_key": done["set_key"],
        }
        with running.client() as node:
            assert node.goset().count == 3
            assert node.publish(b"two").seq == 2
            assert [entry.content for entry in node.log("me")] == [b"one".hex(), b"two".hex()]
        running.stop(signal.SIGKILL)
    assert row(home)["set_key"] == done["set_key"]
    with daemon(home) as running, running.client() as node:
        assert node.goset().count == 3
        assert node.publish(b"three").seq == 3
    lines = [
        line for path in sorted((home / "events").glob("*/*.jsonl")) for line in path.read_text().splitlines()
    ]
    left = [record for record in map(json.loads, lines) if record["kind"] == "set" and record.get("left")]
    assert {record["feed"] for record in left} == set(JUNK[1:])


def test_without_the_daemon_it_is_done_in_the_store_and_back_again(home: Path, port: int) -> None:
    with daemon(home) as running, running.client() as node:
        node.publish(b"one")
        name_junk(home, port, feeds=5)
        node.close()
        running.stop()
    told = said(home, "network", "rekey", "--yes", "--no-qr")
    key = row(home)["set_key"]
    assert f"tinyssb network rekey {key}\n" in told
    assert row(home)["feeds"] == 1
    assert "has a fresh set, with 1 feed and" in told
    told = said(home, "network", "rekey", "--back", "--yes")
    assert "The network default is back in its own set, with 1 feed and all their entries." in told
    assert "Tell" not in told
    assert (row(home)["feeds"], row(home)["set_key"]) == (1, None)
    assert "Tell" not in said(home, "network", "rekey", KEY, "--yes")
    assert row(home)["set_key"] == KEY


def test_the_daemon_does_not_leave_what_it_may_not(home: Path) -> None:
    feed = make_home(home.parent / "other")
    with daemon(home.parent / "other") as running, running.client() as node:
        for left in ([feed.hex()], [JUNK[0]]):
            with pytest.raises(Exception, match="not in the set, or ours"):
                node.rekey(b"a key of ours", left)


def test_a_set_that_phones_do_not_survive_is_emptied_to_its_places(home: Path, port: int) -> None:
    """As docs/howto/trouble.md says: ``set.places``, a restart, and two commands."""
    keys = [key_of(f"author {number}") for number in range(30)]
    entries = [written(key, [b"hello"])[0].packet for key in keys]

    def name_all(enough: str, count: int) -> None:
        end_s = time.monotonic() + PATIENCE_S
        while "  open" not in said(home, "status"):
            assert time.monotonic() < end_s
        with connect(f"ws://127.0.0.1:{port}") as peer:
            while row(home)[enough] < count:
                assert time.monotonic() < end_s, row(home)
                for key, entry in zip(keys, entries, strict=True):
                    peer.send(serialize_feeds(Network().goset_dmx, Feeds((key.feed_id,))))
                    peer.send(entry)

    with daemon(home):
        name_all("feeds", 31)
    with (home / "config.toml").open("a") as config:
        config.write("\n[set]\nplaces = 10\n")
    with daemon(home):
        assert row(home)["feeds"] == 31, "it does not shrink by itself"
        said(home, "network", "rekey", "--only-known", "--yes", "--no-qr")
        said(home, "network", "rekey", "--back", "--only-known", "--yes")
        name_all("beyond", 21)
        assert (row(home)["feeds"], row(home)["set_key"]) == (10, None)
