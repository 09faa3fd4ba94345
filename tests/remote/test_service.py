"""The service beside a real daemon: commands, answers, attackers, and losses of power."""

from collections.abc import Iterator
from pathlib import Path

import pytest
import structlog

from tests.daemon.processes import PATIENCE_S, daemon, make_home
from tests.remote.crew import NOW_S, Administrator, Crew, level
from tinyssb_node.control.client import DaemonClient, DaemonError
from tinyssb_node.control.rows import LogLevelRow, PublishedRow
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.limits import TRIAL_DELAY_S
from tinyssb_node.remote import limits
from tinyssb_node.remote.gate import AdminState
from tinyssb_node.remote.messages import RemoteOutcome, read_status_body
from tinyssb_node.remote.record_file import change_record

DONE, EXPIRED, CLOCK, UNKNOWN, REFUSED, INTERRUPTED = RemoteOutcome


@pytest.fixture
def crew(tmp_path: Path) -> Iterator[Crew]:
    make_home(tmp_path / "node", "ws:listen:127.0.0.1:0?name=hut")
    with daemon(tmp_path / "node") as running:
        yield Crew(running)


class PowerCutError(BaseException):
    """The process ends here."""


class CutAtExecution(DaemonClient):
    """A connection that reaches the daemon, and the power fails before the answer comes back."""

    def log_level(self, level: str) -> LogLevelRow:
        super().log_level(level)
        raise PowerCutError


class CutAtAnswer(DaemonClient):
    """The same for publishing."""

    published = True

    def publish(self, content: bytes, identity: str | None = None, *, force: bool = False) -> PublishedRow:
        if self.published:
            super().publish(content, identity, force=force)
        raise PowerCutError


class CutBeforeAnswer(CutAtAnswer):
    """The power fails just before."""

    published = False


class FullClient(DaemonClient):
    """One to a daemon whose disk is full."""

    is_full = True

    def publish(self, content: bytes, identity: str | None = None, *, force: bool = False) -> PublishedRow:
        if self.is_full:
            raise DaemonError("read_only", "The disk is full.", "")
        return super().publish(content, identity, force=force)


def test_commands_of_an_administrator_are_executed_and_answered(crew: Crew) -> None:
    crew.give("status")
    crew.give("log", "debug")
    crew.give("face", "restart", "hut")
    assert crew.look() == 3
    status, log, face = crew.answers()
    assert [answer.seq for answer in (status, log, face)] == [2, 3, 4]
    assert {answer.said_s for answer in (status, log, face)} == {NOW_S // 60 * 60}
    facts = read_status_body(status.body)
    assert facts is not None
    assert [(one.name, one.is_open) for one in facts.faces] == [("hut", True)]
    assert facts.entries >= 3
    assert facts.problems == 0
    assert (log.outcome, log.body, face.outcome) == (DONE, ("info",), DONE)
    assert level(crew) == "debug"
    assert [(one.seq, one.words[0], one.outcome) for one in crew.record.done] == [
        (2, "status", DONE),
        (3, "log", DONE),
        (4, "face", DONE),
    ]
    assert crew.record.pending is None
    # And nothing is answered, or even looked for, again.
    assert crew.look() == 0
    assert crew.restarted() is not None
    assert crew.look() == 0
    assert len(crew.answers()) == 3


def test_what_the_node_cannot_do_is_answered_with_the_reason(crew: Crew) -> None:
    crew.give("face", "restart", "lora")
    crew.give("log", "loud")
    crew.give("reboot")
    assert crew.look() == 3
    face, log, reboot = crew.answers()
    assert (face.outcome, log.outcome, reboot.outcome, reboot.body) == (REFUSED, REFUSED, UNKNOWN, ())
    assert str(face.body[0]).startswith("This node has no face called 'lora'.")
    assert "debug, info, warning or error" in str(log.body[0])


def test_nothing_is_executed_for_those_who_are_not_allowed_and_that_is_counted(crew: Crew) -> None:
    eve = Administrator("eve")
    crew.bring(eve, eve.order(crew.node, "log", "debug"))
    assert crew.look() == 0  # was there when the process started: not even counted
    crew.bring(eve, eve.order(crew.node, "log", "debug"))
    crew.bring(eve, eve.say(b"just a text"))
    crew.bring(eve, eve.order(Administrator("ben").feed, "log", "debug"))  # for another node
    assert crew.look() == 0
    assert (level(crew), crew.answers(eve), crew.record.ignored) == ("info", [], 1)
    assert crew.record.ignored_s == NOW_S
    # What she wrote is not executed later either.
    with crew.running.client() as client:
        seq = next(row.seq for row in client.feeds() if row.feed == eve.feed.hex())
    change_record(crew.home, lambda record: record.allow(eve.feed, seq, NOW_S))
    assert crew.look() == 0
    crew.bring(eve, eve.order(crew.node, "log", "error"))
    assert crew.look() == 1
    assert [answer.seq for answer in crew.answers(eve)] == [5]


def test_one_who_is_revoked_is_a_stranger_at_once(crew: Crew) -> None:
    crew.give("log", "debug")
    change_record(crew.home, lambda record: record.end(crew.ana.feed, AdminState.REVOKED))
    assert crew.look() == 0
    crew.give("log", "debug")
    assert crew.look() == 0
    assert (level(crew), crew.answers(), crew.record.ignored) == ("info", [], 1)


def test_a_copy_of_a_command_in_another_feed_means_nothing(crew: Crew) -> None:
    eve = Administrator("eve")
    crew.give("log", "debug")
    with crew.running.client() as client:
        (copied,) = [row.content for row in client.log(crew.ana.feed.hex(), first=2)]
    assert copied is not None
    change_record(crew.home, lambda record: record.allow(eve.feed, 0, NOW_S))
    crew.bring(eve, eve.say(bytes.fromhex(copied)))
    assert crew.look() == 1
    assert crew.answers(eve) == []


def test_a_forked_administrator_is_suspended_and_commands_of_either_branch_are_not_executed(
    crew: Crew,
) -> None:
    thief = Administrator("ana")
    thief.say(b"hello")
    crew.give("log", "debug")
    with crew.running.client() as client:
        # The other entry 2 proves that the key is in two hands.
        other = thief.order(crew.node, "log", "error")
        assert client.import_packets(thief.feed.hex(), other).refused is not None
        assert [row.forked_at for row in client.feeds() if row.feed == thief.feed.hex()] == [2]
    assert crew.look() == 0
    assert (level(crew), crew.answers()) == ("info", [])
    admin = crew.record.find(crew.ana.feed)
    assert admin is not None
    assert admin.state is AdminState.FORKED


def test_a_flood_costs_a_few_answers(crew: Crew) -> None:
    for _ in range(4 * limits.TOKENS_MAX):
        crew.give("log", "debug")
    assert crew.look() == limits.TOKENS_MAX
    assert crew.outcomes() == [DONE] * limits.TOKENS_MAX
    admin = crew.record.find(crew.ana.feed)
    assert admin is not None
    assert admin.dropped == 3 * limits.TOKENS_MAX
    crew.now_s += limits.TOKEN_S
    crew.give("status")
    assert crew.look() == 1


def test_a_command_that_a_relay_held_back_is_not_executed(crew: Crew) -> None:
    crew.give("log", "debug", said_s=NOW_S - 7_200)
    crew.give("log", "debug", said_s=NOW_S + 7_200)
    crew.give("log", "debug", said_s=None)
    assert crew.look() == 3
    assert (crew.outcomes(), level(crew)) == ([EXPIRED, CLOCK, CLOCK], "info")
    crew.give("log", "debug", said_s=NOW_S - 7_200, valid_minutes=0)
    assert crew.look() == 1
    assert level(crew) == "debug"


def test_a_command_waits_for_its_packets_and_a_long_entry_keeps_none_waiting(crew: Crew) -> None:
    crew.bring(crew.ana, crew.ana.say(bytes(5_000))[:3])  # a picture, most of which is missing
    command = crew.ana.order(crew.node, "status")
    crew.bring(crew.ana, command[:1])
    assert crew.look() == 0
    later = crew.ana.order(crew.node, "log", "debug")
    crew.bring(crew.ana, later)
    assert crew.look() == 0
    with crew.running.client() as client:
        client.import_packets(crew.ana.feed.hex(), [*command, *later])
    assert crew.look() == 2
    assert [answer.seq for answer in crew.answers()] == [3, 4]


def connect(kind: type[DaemonClient], crew: Crew) -> DaemonClient:
    return kind(crew.running.home / "control.sock", timeout_s=PATIENCE_S)


def test_a_power_cut_during_a_command_executes_it_once_at_most_and_is_told(crew: Crew) -> None:
    crew.give("log", "debug")
    with connect(CutAtExecution, crew) as client, pytest.raises(PowerCutError):
        crew.service.look(client)
    assert level(crew) == "debug"
    with crew.running.client() as control:
        control.log_level("warning")
    crew.restarted()
    crew.look()
    assert (level(crew), crew.outcomes()) == ("warning", [INTERRUPTED])
    crew.give("log", "error")
    assert crew.look() == 1
    assert crew.outcomes() == [INTERRUPTED, DONE]


@pytest.mark.parametrize(("kind", "answers"), [(CutBeforeAnswer, 1), (CutAtAnswer, 2)])
def test_a_power_cut_before_the_answer_is_out_repeats_the_answer_and_not_the_command(
    crew: Crew, kind: type[DaemonClient], answers: int
) -> None:
    crew.give("log", "debug")
    with connect(kind, crew) as client, pytest.raises(PowerCutError):
        crew.service.look(client)
    with crew.running.client() as control:
        control.log_level("warning")
    crew.restarted()
    crew.look()
    assert level(crew) == "warning"
    found = crew.answers()
    assert [(answer.seq, answer.outcome) for answer in found] == [(2, DONE)] * answers
    assert found[0] == found[-1]


def test_an_answer_that_cannot_be_published_waits(crew: Crew) -> None:
    crew.give("log", "debug")
    with connect(FullClient, crew) as client:
        assert crew.service.look(client) == 1
        assert crew.service.look(client) == 0
    assert crew.outcomes() == []
    crew.look()
    assert crew.outcomes() == [DONE]


def test_a_damaged_record_stops_the_commands(crew: Crew) -> None:
    (crew.running.home / "remote.json").write_bytes(b"{")
    crew.give("log", "debug")
    with pytest.raises(LocalError) as refused:
        crew.look()
    assert refused.value.exit_code is ExitCode.DATA
    assert level(crew) == "info"


def test_everybody_is_told_of_too_many_at_once_in_the_log(crew: Crew) -> None:
    for _ in range(limits.TOKENS_MAX + 1):
        crew.give("status")
    with structlog.testing.capture_logs() as lines:
        crew.restarted()
        crew.look()
    assert [line["event"] for line in lines].count("dropped a remote command: too many at once") == 1


def test_radios_are_set_only_where_config_toml_says_so_and_within_the_law(tmp_path: Path) -> None:
    spec = "lora:meshadv-mini?region=EU868&frequency=869.525&power=14&emulated=on&name=mast"
    make_home(tmp_path / "node", spec)
    with daemon(tmp_path / "node") as running:
        crew = Crew(running)
        crew.give("radio", "set", "mast", "power=5")
        crew.give("radio", "confirm", "mast")
        crew.look()
        assert {answer.body for answer in crew.answers()} == {
            ("Settings of radios cannot be changed remotely here: remote.radio in config.toml.",)
        }
        crew.restarted(radio=True)
        crew.give("radio", "set", "mast", "power=30")
        crew.give("radio", "set", "mast", "region=US915", "power=30")
        crew.give("radio", "confirm", "mast")
        crew.give("radio", "set", "mast", "power=5")
        crew.look()
        beyond, region, early, tried = crew.answers()[2:]
        assert (beyond.outcome, region.outcome, early.outcome) == (REFUSED, REFUSED, REFUSED)
        assert "not legal in EU868" in str(beyond.body[0])
        assert "'region' cannot be changed" in str(region.body[0])
        assert "no settings are on trial" in str(early.body[0])
        assert (tried.outcome, tried.body) == (DONE, (TRIAL_DELAY_S, limits.TRIAL_MINUTES))
        with running.client() as client:
            # It is still as it was, so that the answer leaves.
            assert [row.spec for row in client.status().endpoints] == [spec]
