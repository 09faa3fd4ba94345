"""The sender: its retries, its memory, and the whole process beside a daemon."""

import json
from pathlib import Path
from typing import Any

import structlog

from tests.alerts.receiver import receiving
from tests.daemon.processes import daemon, make_home, tinyssb
from tests.daemon.test_process import free_port
from tinyssb_node.alerts import limits
from tinyssb_node.alerts.saved import parse_saved, saved_path
from tinyssb_node.alerts.sender import AlertSender
from tinyssb_node.alerts.webhook import WebhookError
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.checkup import problems
from tinyssb_node.store.home import Home

MINUTE_US = 60_000_000


class World:
    """A clock, a node and a webhook that fails on demand."""

    def __init__(self, root: Path) -> None:
        self.home = Home(root)
        self.mono_us = 0
        self.found: list[CheckResult] = []
        self.posted: list[dict[str, Any]] = []
        self.tries = 0
        self.fails = False
        self.sender = self.restarted()

    def restarted(self) -> AlertSender:
        self.sender = AlertSender(
            self.home,
            structlog.get_logger(),
            name="hut",
            feed="ab" * 32,
            find=lambda: self.found,
            post=self.post,
            mono_us=lambda: self.mono_us,
            wall_us=lambda: 1_000 + self.mono_us,
        )
        return self.sender

    def post(self, body: bytes) -> None:
        self.tries += 1
        if self.fails:
            raise WebhookError("The webhook cannot be reached.", "Check it.")
        self.posted.append(json.loads(body))

    def pass_minutes(self, minutes: int) -> None:
        for _ in range(3 * minutes):
            self.mono_us += MINUTE_US // 3
            self.sender.look()


def problem(about: str) -> CheckResult:
    return CheckResult("daemon", ok=False, found="not open", advice="Open it.", about=about)


def test_a_failed_post_is_tried_again_at_a_slowing_pace_and_nothing_that_lasts_is_lost(
    tmp_path: Path,
) -> None:
    world = World(tmp_path)
    world.fails, world.found = True, [problem("a"), problem("b")]
    world.pass_minutes(600)
    assert world.posted == []
    assert 600 / 5 <= world.tries <= 600 / 2.5 + 12
    world.found = [problem("b")]
    world.pass_minutes(1)
    world.fails = False
    world.pass_minutes(6)
    assert [(one["about"], one["state"]) for one in world.posted] == [("b", "begun")]
    world.found = []
    world.pass_minutes(6)
    assert [(one["about"], one["state"]) for one in world.posted[1:]] == [("b", "over")]
    assert world.posted[1]["since_us"] == world.posted[0]["since_us"]


def test_a_restart_repeats_nothing_unless_its_file_is_unusable(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.found = [problem("a")]
    world.pass_minutes(2)
    assert len(world.posted) == 1
    file = saved_path(world.home)
    assert file.stat().st_mode & 0o777 == 0o600
    assert [one.problem for one in parse_saved(file.read_bytes())] == [problem("a")]
    world.restarted()
    world.pass_minutes(2)
    assert len(world.posted) == 1
    for damaged in (b"", b"{", b'{"v":2,"announced":[]}', b'{"v":1}', b"\xff" * 99):
        file.write_bytes(damaged)
        world.restarted()
        world.pass_minutes(2)
        assert world.posted.pop()["state"] == "begun"


def test_the_file_has_a_bound(tmp_path: Path) -> None:
    world = World(tmp_path)
    world.found = [problem(str(number)) for number in range(limits.ALERTS_MAX + 9)]
    world.pass_minutes(2)
    assert len(world.posted) == limits.ALERTS_MAX
    assert saved_path(world.home).stat().st_size < limits.SAVED_MAX


def test_what_is_wrong_with_a_real_node_arrives_at_a_real_receiver(tmp_path: Path) -> None:
    root, spec = tmp_path / "a", "ws:listen:192.0.2.1:1"
    with receiving() as receiver:
        make_home(root, f"ws:listen:127.0.0.1:{free_port()}", spec)
        with (root / "config.toml").open("a") as config:
            config.write(f'\n[alerts]\nenabled = true\nwebhook = "{receiver.address}/hook"\n')
        with daemon(root):
            tried = tinyssb(root, "alerts", "test")
            assert tried.returncode == 0, tried.stderr.decode()
            assert receiver.next()["state"] == "test"
            world = World(root)
            with DaemonClient(root / "control.sock") as node:
                assert [(one.name, one.problem) for one in node.status().companions] == [
                    ("alert sender", None)
                ]
                while not node.status().endpoints[1].problem:  # it has not tried to open it yet
                    continue
            world.found = problems(world.home)
            world.pass_minutes(2)
            listed = tinyssb(root, "alerts", "--json")
        shown = tinyssb(root, "alerts").stdout.decode()
    assert [(one["state"], one["about"]) for one in world.posted] == [("begun", f"face {spec}")]
    assert listed.returncode == ExitCode.ATTENTION
    (row,) = map(json.loads, listed.stdout.splitlines())
    assert (row["about"], row["announced"]) == (f"face {spec}", True)
    assert "tinyssb run" in shown


def test_without_a_webhook_there_is_one_thing_to_do(tmp_path: Path) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    for action in ("test", "run"):
        ended = tinyssb(tmp_path / "a", "alerts", action)
        assert ended.returncode == ExitCode.CONFIG
        assert b"docs/howto/alerts.md" in ended.stderr
