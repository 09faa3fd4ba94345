"""`forks`: what is shown of them, and proofs that leave the node, against a real daemon."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import RunningDaemon, daemon, make_home, tinyssb
from tests.nodes import key_of, written
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content import chat
from tinyssb_node.daemon.setup import read_node_identity
from tinyssb_node.errors import ExitCode
from tinyssb_node.feeds.fork import fork_ids, verify_proof
from tinyssb_node.feeds.forkfile import parse_fork_file
from tinyssb_node.store.home import Home

EVE, VIC = key_of("eve"), key_of("vic")
FROZEN = Path(__file__).parent.parent / "vectors" / "forks"


def said(home: Path, *arguments: str, stdin: bytes = b"") -> str:
    ended = tinyssb(home, *arguments, stdin=stdin)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def refused(home: Path, code: ExitCode, *arguments: str, stdin: bytes = b"") -> str:
    ended = tinyssb(home, *arguments, stdin=stdin)
    assert (ended.returncode, ended.stdout) == (code, b"")
    return ended.stderr.decode()


def take(running: RunningDaemon, key: SigningKey, *texts: bytes) -> None:
    """Offer feeds that say one of *texts* each, as another program would."""
    with running.client() as client:
        for text in texts:
            client.import_packets(key.feed_id.hex(), [written(key, [text])[0].packet])


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDaemon]:
    """A node that holds a forked feed, and another one."""
    home = tmp_path_factory.mktemp("node")
    make_home(home, name="ana")
    with daemon(home) as running:
        take(running, EVE, *(chat.serialize(chat.Alias(name=name)) for name in ("Eve", "Adam")))
        take(running, VIC, b"one")
        yield running


def rows(running: RunningDaemon) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(running.home, "forks", "--json").splitlines()]


def test_forks_are_listed_with_what_they_mean(running: RunningDaemon) -> None:
    (row,) = rows(running)
    assert (row["feed"], row["seq"], row["entries"], row["own"]) == (EVE.feed_id.hex(), 1, 1, False)
    assert row["found_us"] > 1_700_000_000_000_000
    fork = parse_fork_file(row["proof"].encode())
    assert verify_proof(Network(), fork.proof)
    assert (row["held"], row["other"]) == tuple(id_.hex() for id_ in fork_ids(Network(), fork.proof))
    text = said(running.home, "forks")
    assert f"Eve {EVE.feed_id.hex()[:8]}" in text
    assert "signed two different entries with one sequence number" in text
    assert "No new entries of the feed are accepted" in text
    assert "yours" not in text


def test_feeds_status_and_show_say_so(running: RunningDaemon) -> None:
    listed = said(running.home, "feeds")
    (line,) = [line for line in listed.splitlines() if line.startswith(EVE.feed_id.hex()[:8])]
    assert "forked at entry 1, frozen" in line
    assert "`tinyssb forks`" in listed
    assert "1 (see `tinyssb forks`)" in said(running.home, "status")


def test_a_proof_is_exported_and_checked_without_a_node(running: RunningDaemon, tmp_path: Path) -> None:
    file = tmp_path / "eve.txt"
    told = said(running.home, "forks", "export", "Eve", str(file))
    assert str(file) in told
    assert (
        file.read_text()
        == rows(running)[0]["proof"]
        == said(running.home, "forks", "export", EVE.feed_id.hex()[:6], "-")
    )
    nowhere = tmp_path / "no node"
    text = said(nowhere, "forks", "verify", str(file))
    assert "This proves a fork" in text
    assert EVE.feed_id.hex() in text
    assert all(row in text for row in (rows(running)[0]["held"], rows(running)[0]["other"]))
    shown = json.loads(said(nowhere, "forks", "verify", "-", "--json", stdin=file.read_bytes()))
    assert (shown["proves"], shown["feed"], shown["seq"], shown["network"]) == (
        True,
        EVE.feed_id.hex(),
        1,
        None,
    )
    assert "exists already" in refused(running.home, ExitCode.CREATE, "forks", "export", "Eve", str(file))


def test_what_is_no_proof_is_refused(tmp_path: Path) -> None:
    good = (FROZEN / "file_v1_spec_3.txt").read_bytes()
    assert "not a valid proof of a fork" in refused(
        tmp_path, ExitCode.DATA, "forks", "verify", "-", stdin=b"\xff" * 3000
    )
    forged = good.replace(b"entry 3", b"entry 4")
    assert "does NOT prove" in refused(tmp_path, ExitCode.DATA, "forks", "verify", "-", stdin=forged)
    assert "cannot be read" in refused(tmp_path, ExitCode.MISSING, "forks", "verify", str(tmp_path / "none"))


def test_a_proof_of_a_network_with_a_key_needs_the_key(tmp_path: Path) -> None:
    file = str(FROZEN / "file_v1_with_key.txt")
    assert "whose key is not here" in refused(
        tmp_path / "none", ExitCode.UNAVAILABLE, "forks", "verify", file
    )
    make_home(tmp_path / "node")
    assert "whose key is not here" in refused(
        tmp_path / "node", ExitCode.UNAVAILABLE, "forks", "verify", file
    )
    with (tmp_path / "node" / "config.toml").open("a") as config:
        config.write('\n[networks.valley]\nkey = "' + b"valley".hex() + '"\n')
    assert "This proves a fork" in said(tmp_path / "node", "forks", "verify", file)


def test_feeds_that_are_not_forked_have_no_proof(running: RunningDaemon, tmp_path: Path) -> None:
    told = refused(
        running.home, ExitCode.MISSING, "forks", "export", VIC.feed_id.hex(), str(tmp_path / "vic")
    )
    assert "No forked feed has this name or id" in told
    assert not (tmp_path / "vic").exists()


def test_whose_own_feed_is_forked_is_told_what_to_do(tmp_path: Path) -> None:
    make_home(tmp_path / "node")
    seed = read_node_identity(Home(tmp_path / "node")).secret
    assert isinstance(seed, bytes)
    with daemon(tmp_path / "node") as running:
        assert said(running.home, "forks") == "No forked feeds are known.\n"
        assert tinyssb(running.home, "publish", "here").returncode == 0
        take(running, SigningKey(seed), b"elsewhere")
        told = refused(running.home, ExitCode.DATA, "publish", "here again")
        assert "another copy of this identity is in use" in told
        assert "`tinyssb forks` shows both entries" in told
        listed = said(running.home, "forks")
        assert "One of them is yours" in listed
        assert said(running.home, "forks", "export", "me", "-").startswith("tinyssb fork proof 1\n")
        assert "no, and never again: your feed is forked at entry 1" in said(running.home, "status")
        assert json.loads(said(running.home, "status", "--json"))["frozen_at"] == 1
        assert b"own feed is forked at entry 1" in tinyssb(running.home, "doctor").stdout
