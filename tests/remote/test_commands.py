"""`remote` with real daemons, over a real socket between them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.processes import RunningDaemon, daemon, make_home, tinyssb
from tests.daemon.test_process import free_port
from tests.remote.crew import NOW_S, Administrator
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import FeedId
from tinyssb_node.remote.gate import AdminState, RemoteRecord
from tinyssb_node.remote.record_file import change_record
from tinyssb_node.remote.sent import ClockUnsetError, command_content
from tinyssb_node.store.home import Home

ANA = Administrator("ana")


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningDaemon]:
    make_home(tmp_path / "node")
    with daemon(tmp_path / "node") as running:
        yield running


def said(home: Path, *arguments: str, code: int = 0) -> str:
    ended = tinyssb(home, *arguments)
    assert ended.returncode == code, ended.stderr.decode()
    return (ended.stdout or ended.stderr).decode()


def rows(home: Path, *arguments: str, code: int = 0) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(home, *arguments, "--json", code=code).splitlines()]


def test_a_command_goes_to_a_node_over_the_mesh_and_its_answer_comes_back(tmp_path: Path) -> None:
    hill, desk, port = tmp_path / "hill", tmp_path / "desk", free_port()
    node = make_home(hill, f"ws:listen:127.0.0.1:{port}?name=mast")
    admin = make_home(desk, f"ws:connect:127.0.0.1:{port}")
    with (hill / "config.toml").open("a") as config:
        config.write("\n[remote]\nenabled = true\n")
    with daemon(hill), daemon(desk):
        said(hill, "publish", "hello")
        said(desk, "publish", "hello")
        said(hill, "remote", "allow", admin.hex())
        (answer,) = rows(desk, "remote", "send", find(desk, node), "status", "--wait", "60")
        assert (answer["outcome"], answer["words"], answer["body"][5]) == ("done", ["status"], [["mast", 1]])
        said(desk, "remote", "send", node.hex(), "log", "debug", "--wait", "60")
        (refused,) = rows(
            desk,
            "remote",
            "send",
            node.hex(),
            "face",
            "restart",
            "lora",
            "--wait",
            "60",
            code=ExitCode.ATTENTION,
        )
        assert refused["outcome"] == "refused"
        shown = said(desk, "remote", "answers")
        assert "mast (open)" in shown
        assert "The level before was info." in shown
        assert "This node has no face called 'lora'. Nothing was restarted." in shown
        done = rows(hill, "remote", "log")
        assert [(one["feed"], one["words"][0], one["outcome"]) for one in done] == [
            (admin.hex(), "status", "done"),
            (admin.hex(), "log", "done"),
            (admin.hex(), "face", "refused"),
        ]
        assert "face restart lora" in said(hill, "remote", "log")
        # Nobody else can read what it was, and texts are shown as before.
        assert "status" not in said(desk, "chat")
        said(hill, "remote", "revoke", admin.hex()[:6])
        waiting = said(desk, "remote", "send", node.hex(), "status", "--wait", "0", code=ExitCode.BUSY)
        assert "No answer yet." in waiting
        (row,) = rows(hill, "remote")
        assert (row["feed"], row["state"]) == (admin.hex(), "revoked")


def find(desk: Path, node: FeedId) -> str:
    """Wait until the administrator's node knows *node*; return digits that name it."""
    with DaemonClient.at_home(str(desk)) as client:
        client.follow(node.hex())
        for _ in client.log(node.hex(), first=1, follow=True):
            return node.hex()[:8]
    raise AssertionError("the daemon ended")


def test_who_may_is_shown_and_only_whole_ids_are_allowed(running: RunningDaemon) -> None:
    home = running.home
    assert "Nobody may give this node commands." in said(home, "remote")
    assert "Names can be imitated" in said(home, "remote", "allow", "ana", code=ExitCode.USAGE)
    assert "Names can be imitated" in said(home, "remote", "allow", "00" * 32, code=ExitCode.USAGE)
    own = said(home, "id").split()[0]
    assert "this node's own feed" in said(home, "remote", "allow", own, code=ExitCode.USAGE)
    with running.client() as client:
        client.import_packets(ANA.feed.hex(), Administrator("ana").say(b"hello"))
    told = said(home, "remote", "allow", ANA.feed.hex().upper())
    assert f"Allowed: {ANA.feed.hex()} may give this node commands, from its entry 2 on." in told
    assert "No commands are obeyed yet." in told
    listed = said(home, "remote")
    assert ANA.feed.hex()[:8] in listed
    assert "allowed" in listed
    with running.client() as client:
        assert any(row.feed == ANA.feed.hex() and row.followed for row in client.feeds())
    assert "No feed" in said(home, "remote", "revoke", "zz", code=ExitCode.MISSING)
    said(home, "remote", "revoke", ANA.feed.hex())
    assert [row["state"] for row in rows(home, "remote")] == ["revoked"]
    assert "given no commands" in said(home, "remote", "log")


def test_a_forked_feed_is_not_allowed(running: RunningDaemon) -> None:
    one, other = Administrator("ana"), Administrator("ana")
    with running.client() as client:
        client.import_packets(ANA.feed.hex(), one.say(b"one"))
        client.import_packets(ANA.feed.hex(), other.say(b"other"))
    told = said(running.home, "remote", "allow", ANA.feed.hex(), code=ExitCode.USAGE)
    assert "its key is in two hands" in told


def test_what_makes_no_sense_is_refused_before_anything_is_published(running: RunningDaemon) -> None:
    home = running.home
    said(home, "publish", "hello")
    assert "your own node" in said(home, "remote", "send", "me", "status", code=ExitCode.USAGE)
    for words in (["reboot"], ["status", "now"], ["log", "loud"], ["face", "restart"]):
        told = said(home, "remote", "send", "me", *words, code=ExitCode.USAGE)
        assert "There is no remote command" in told
    assert said(home, "remote", "send", "nobody", "status", code=ExitCode.MISSING)
    for time in ("1", "0m", "366d", "soon"):
        assert tinyssb(home, "remote", "send", "me", "status", "--for", time).returncode == ExitCode.USAGE
    assert "You gave no commands." in said(home, "remote", "answers")
    assert len(rows(home, "log", "me")) == 1


def test_a_command_that_expires_needs_a_clock() -> None:
    for valid_minutes in (60, 1):
        with pytest.raises(ClockUnsetError):
            command_content(["status"], valid_minutes, ANA.feed, Administrator("eve").seal, wall_s=7)
    assert command_content(["status"], 0, ANA.feed, Administrator("eve").seal, wall_s=7)


def test_doctor_tells_of_strangers_of_forks_and_of_a_damaged_file(running: RunningDaemon) -> None:
    home = running.home
    assert "remote" not in said_anyhow(home, "doctor")
    with (home / "config.toml").open("a") as config:
        config.write("\n[remote]\nenabled = true\n")
    assert "nobody is allowed to give commands" in said_anyhow(home, "doctor")

    def change(record: RemoteRecord) -> RemoteRecord:
        return record.allow(ANA.feed, 1, NOW_S).end(ANA.feed, AdminState.FORKED)

    change_record(Home(home), change)
    assert f"the feed {ANA.feed.hex()[:8]} of an administrator is forked" in said_anyhow(home, "doctor")
    (home / "remote.json").write_bytes(b"{")
    assert "No remote commands are executed" in said_anyhow(home, "doctor")


def said_anyhow(home: Path, *arguments: str) -> str:
    return tinyssb(home, *arguments).stdout.decode()
