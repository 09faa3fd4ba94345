"""A feed that is followed newest first, as a user sees it, in a store that has some of its newest entries."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.catalog.mesh import id_of, post
from tests.daemon.processes import daemon, make_home, tinyssb
from tests.nodes import key_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content import chat
from tinyssb_node.errors import ExitCode
from tinyssb_node.feeds.author import ComposedEntry, compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.port import NewestEntry
from tinyssb_node.store.sqlite import SqliteStore

BEN = key_of("ben")
LENGTH, HELD = 12, 3


def written() -> list[ComposedEntry]:
    """Ben's feed: messages that each follow the one before."""
    tip, feed = Tip(BEN.feed_id, Dialect.SPEC, 0, None), list[ComposedEntry]()
    for number in range(1, LENGTH + 1):
        message = post(f"message {number} of Ben", *(id_of(entry) for entry in feed[-1:]))
        feed.append(compose(Network(), BEN, tip, chat.serialize(message)))
        tip = feed[-1].extended.tip
    return feed


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A node that has entries 1 to 3 of Ben, and 11 and 12."""
    home, feed = tmp_path / "node", written()
    make_home(home)
    with daemon(home) as running, running.client() as client:
        packets = [packet for entry in feed[:HELD] for packet in (entry.packet, *entry.chunks)]
        client.import_packets(BEN.feed_id.hex(), packets)
        assert tinyssb(home, "follow", BEN.feed_id.hex(), "--newest", "2").returncode == 0
        running.stop()
    store = SqliteStore.open(home / "store.sqlite")
    for entry in feed[-2:]:
        row = NewestEntry(
            feed=BEN.feed_id,
            seq=entry.extended.tip.seq,
            prev=entry.extended.prev,
            id=id_of(entry),
            packet=entry.packet,
            chunks=entry.chunks,
        )
        store.put_newest_entry(row)
    store.commit(1_760_000_000_000_000)
    store.close()
    return home


def said(home: Path, *arguments: str) -> str:
    ended = tinyssb(home, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def test_the_newest_are_read_with_a_note_of_how_many_are_missing(home: Path) -> None:
    lines = said(home, "chat").splitlines()
    gap = f"       ... up to 7 messages of {BEN.feed_id.hex()[:8]} missing ..."
    shown = [gap if line == gap else line.partition("message ")[2].partition(" ")[0] for line in lines[1:]]
    assert shown == ["1", "2", "3", gap, "11", "12"]
    rows = [json.loads(line) for line in said(home, "chat", "--json").splitlines()]
    assert [(row["seq"], row["placed"] is None, row["older_missing"]) for row in rows] == [
        (1, False, 0),
        (2, False, 0),
        (3, False, 0),
        (11, True, 7),
        (12, True, 7),
    ]
    assert said(home, "verify") == "Checked 2 feeds, 5 entries, 4 chunks: no problems.\n"
    with daemon(home):
        assert "newest 2 first, 2 newer with older missing" in said(home, "feeds")
        log = said(home, "log", BEN.feed_id.hex()).splitlines()
        assert [line.split()[0] for line in log] == ["1", "2", "3", "(7", "11", "12"]
        assert log[3] == "        (7 older entries missing)"
        assert "message 12 of Ben" in log[5]
        assert said(home, "follow", BEN.feed_id.hex(), "--newest", "0").startswith("Already following")
        assert "newest 2 first" not in said(home, "feeds")


def test_a_blocked_author_is_not_shown(home: Path) -> None:
    with daemon(home):
        said(home, "block", BEN.feed_id.hex())
        assert "of Ben" not in said(home, "chat")


@pytest.mark.parametrize("count", ["33", "-1", "ten", "٣"])
def test_a_number_that_is_none_is_refused(home: Path, count: str) -> None:
    ended = tinyssb(home, "follow", BEN.feed_id.hex(), f"--newest={count}")
    assert ended.returncode == ExitCode.USAGE
    assert b"from 0 to 32" in ended.stderr


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"prev": bytes(20)}, "it does not prove its place"),
        ({"chunks": (bytes(120),)}, "its side chain does not match"),
        ({"seq": HELD + 1}, "it is stored apart, though its history is not missing"),
    ],
)
def test_damage_is_found_and_repaired(home: Path, change: dict[str, Any], problem: str) -> None:
    store = SqliteStore.open(home / "store.sqlite")
    last = store.newest_entries()[-1]
    store.put_newest_entry(replace(last, **change))
    store.commit(1)
    store.close()
    found = tinyssb(home, "verify")
    assert found.returncode == ExitCode.DATA
    assert problem in found.stdout.decode()
    with daemon(home):
        assert said(home, "feeds")
    tinyssb(home, "verify", "--repair")
    assert said(home, "verify").endswith("no problems.\n")
    store = SqliteStore.open_readonly(home / "store.sqlite")
    assert not store.newest_entries()
    assert {record.feed: record.seq for record in store.feeds()}[FeedId(BEN.feed_id)] == HELD
    store.close()
