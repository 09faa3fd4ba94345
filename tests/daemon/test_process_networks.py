"""Two daemons with two networks in common, over UDP; and what the command line makes of networks."""

import json
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.processes import RunningDaemon, daemon, make_home, tinyssb
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.client import DaemonClient, DaemonError
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.checkup import examine
from tinyssb_node.store.home import Home

KEY = "5d0c6e7af21b9034"


def free_udp_port() -> int:
    with socket.socket(type=socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        port: int = sock.getsockname()[1]
        return port


def make_villager(root: Path, *faces: str, key: str = KEY) -> str:
    feed = make_home(root, *faces)
    with (root / "config.toml").open("a") as config:
        config.write(f'\n[networks.village]\nkey = "{key}"\n')
    return feed.hex()


def village_of(running: RunningDaemon) -> DaemonClient:
    return DaemonClient(running.home / "control.sock", network="village", timeout_s=20)


@pytest.fixture(scope="module")
def villager(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningDaemon]:
    """One daemon for the tests that only add to it."""
    home = tmp_path_factory.mktemp("village")
    make_villager(home)
    with daemon(home) as running:
        yield running


def said(running: RunningDaemon, *arguments: str) -> str:
    ended = tinyssb(running.home, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def kinds(events: Path, kind: str) -> list[dict[str, object]]:
    lines = [line for path in sorted(events.glob("*/*.jsonl")) for line in path.read_text().splitlines()]
    return [record for record in map(json.loads, lines) if record["kind"] == kind]


def test_two_daemons_exchange_two_networks_over_one_face(tmp_path: Path) -> None:
    spec = f"udp:239.5.5.8:{free_udp_port()}?interface=lo&ttl=0"
    feeds = {name: make_villager(tmp_path / name, spec) for name in ("ana", "ben")}
    with daemon(tmp_path / "ana") as ana, daemon(tmp_path / "ben") as ben:
        with ana.client() as world, village_of(ana) as village:
            world.publish(b"to the world")
            village.publish(b"to the village")
            village.publish(b"once more")
        with ben.client() as world, village_of(ben) as village:
            for client, contents in (
                (world, [b"to the world"]),
                (village, [b"to the village", b"once more"]),
            ):
                client.follow(feeds["ana"])
                rows = iter(client.log(feeds["ana"], follow=True))
                assert [next(rows).content for _ in contents] == [content.hex() for content in contents]
        with ben.client() as world, village_of(ben) as village:
            assert [row.seq for row in world.feeds() if row.feed == feeds["ana"]] == [1]
            assert [row.seq for row in village.feeds() if row.feed == feeds["ana"]] == [2]
            networks = {row.name: row.entries for row in world.status().networks}
            assert networks == {"default": 1, "village": 2}
        assert ana.stop()[0] == 0
        assert ben.stop()[0] == 0
    for home in (tmp_path / "ana", tmp_path / "ben"):
        assert len(kinds(home / "events", "entry")) == 1
        entries = kinds(home / "networks/village/events", "entry")
        assert len(entries) == 2
        assert {entry["network"] for entry in entries} == {Network(bytes.fromhex(KEY)).goset_dmx.hex()}
        assert all("network" not in entry for entry in kinds(home / "events", "entry"))
        (start,) = kinds(home / "networks/village/events", "start")
        assert start["network_name"] == "village"
        for arguments in (["verify"], ["verify", "--network", "village"]):
            assert tinyssb(home, *arguments).returncode == 0


def test_commands_speak_of_the_network_they_are_told(villager: RunningDaemon) -> None:
    row = json.loads(said(villager, "publish", "--json", "--network", "village", "hello"))
    assert row["seq"] == 1
    feed = "ab" * 32
    assert "Now following" in said(villager, "follow", "--network", "village", feed)
    assert feed[:12] in said(villager, "feeds", "--network", "village")
    assert feed[:12] not in said(villager, "feeds")
    assert feed not in said(villager, "goset", "--network", "village"), "pending: it takes nobody's place"
    assert "Now following" not in said(villager, "unfollow", "--network", "village", feed)
    assert "hello" in said(villager, "log", "me", "--network", "village")
    assert said(villager, "log", "me") == ""
    assert "good" in said(villager, "show", "me", "1", "--network", "village")
    assert "network village:" in said(villager, "status")
    assert "1 feed with 1 entry" in said(villager, "status"), "the pending one is forgotten"
    assert "entry" in said(villager, "events", "--network", "village", "--kind", "entry", "--limit", "999")
    assert said(villager, "events", "--kind", "entry", "--limit", "999") == ""
    assert "1 entries" in said(villager, "verify", "--network", "village")
    assert "0 entries" in said(villager, "verify")


def test_an_export_of_one_network_is_refused_by_another(villager: RunningDaemon, tmp_path: Path) -> None:
    make_villager(tmp_path / "other")
    with daemon(tmp_path / "other") as other:
        said(other, "publish", "--network", "village", "signed for the village")
        file = str(tmp_path / "village.tssb")
        said(other, "export", file, "--network", "village")
    refused = tinyssb(villager.home, "import", file)
    assert refused.returncode == ExitCode.DATA
    assert "another key" in refused.stderr.decode()
    assert "Imported 1 entries" in said(villager, "import", file, "--network", "village")


def test_a_network_that_is_not_there_is_told_in_words(villager: RunningDaemon) -> None:
    for arguments in (["feeds"], ["publish", "x"], ["events"], ["verify"]):
        ended = tinyssb(villager.home, *arguments, "--network", "town")
        assert ended.returncode == ExitCode.MISSING
        assert "no network called 'town'" in ended.stderr.decode()
        assert "default, village" in ended.stderr.decode()
    wrong = DaemonClient(villager.home / "control.sock", network=7, timeout_s=20)  # type: ignore[arg-type]  # to be refused
    with wrong as node, pytest.raises(DaemonError) as caught:
        node.goset()
    assert caught.value.code == "bad_request"


def test_another_key_for_a_network_that_has_run_is_refused(tmp_path: Path) -> None:
    make_villager(tmp_path / "a")
    with daemon(tmp_path / "a") as running, village_of(running) as village:
        village.publish(b"kept")
        assert running.stop()[0] == 0
    config = tmp_path / "a" / "config.toml"
    config.write_text(config.read_text().replace(KEY, "00"))
    refused = tinyssb(tmp_path / "a", "run")
    assert refused.returncode == ExitCode.CONFIG
    assert "another key" in refused.stderr.decode()
    config.write_text(config.read_text().replace('"00"', f'"{KEY}"'))
    with daemon(tmp_path / "a") as running, village_of(running) as village:
        assert [row.content for row in village.log("me")] == [b"kept".hex()]


def test_a_folder_that_cannot_be_made_is_told(tmp_path: Path) -> None:
    make_villager(tmp_path / "a")
    (tmp_path / "a" / "networks").write_text("in the way")
    refused = tinyssb(tmp_path / "a", "run")
    assert refused.returncode == ExitCode.PERMISSION
    assert "It is the folder for the network village." in refused.stderr.decode()


def test_the_checkup_looks_at_every_network(villager: RunningDaemon, tmp_path: Path) -> None:
    make_villager(tmp_path / "b")
    (store,) = [finding for finding in examine(Home(tmp_path / "b")) if finding.check == "store"]
    assert store.ok
    assert "network village: no store yet" in store.found
    (store,) = [finding for finding in examine(Home(villager.home)) if finding.check == "store"]
    assert "network village: " in store.found
