"""Estimate of an exclusion's cost on the air, shown before it is done."""

import argparse
import contextlib
import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.tui.node import AIR, ANA, BEN, LORA, ME, UDP
from tinyssb_node.cli.commands import group
from tinyssb_node.control.group_rows import GroupCostRow, GroupReviewRow, GroupWrittenRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.people import DisplayNames

COST = GroupCostRow(
    group="5a" * 20,
    messages=4,
    packets=16,
    content_bytes=1_209,
    steps=["exclude", "announce", "begin", "add 15"],
)


class FakeClient:
    def __init__(self, *reviews: GroupReviewRow) -> None:
        self.reviews = list(reviews)
        self.decided: list[tuple[str, str, bool]] = []
        self.renamed: list[tuple[str, str]] = []
        self.cost = COST

    def faces(self) -> list[Any]:
        return [LORA, UDP]

    def airtime(self) -> list[Any]:
        return [replace(AIR, content_left_us=1_000_000)]

    def group_show(self, group: str) -> list[Any]:  # noqa: ARG002 - a port's signature
        return []

    def group_review(self, group: str) -> list[GroupReviewRow]:
        assert group == "Hut"
        return self.reviews

    def group_accept_cost(self, group: str, fork: str) -> GroupCostRow:  # noqa: ARG002 - a port's signature
        return self.cost

    def group_rename_cost(self, group: str, name: str) -> GroupCostRow:  # noqa: ARG002 - a port's signature
        return self.cost

    def group_rename(self, group: str, name: str) -> GroupWrittenRow:
        self.renamed.append((group, name))
        return GroupWrittenRow(group="5a" * 20, entries=[], packets=22)

    def group_decide(self, group: str, fork: str, *, accept: bool) -> GroupWrittenRow:
        self.decided.append((group, fork, accept))
        return GroupWrittenRow(group="5a" * 20, entries=[], packets=16 if accept else 0)


class FakeTalk:
    client = FakeClient()

    def names(self) -> DisplayNames:
        return DisplayNames(())


TALK: Any = FakeTalk()


def test_the_cost_is_told_for_each_radio_with_the_wait(capsys: pytest.CaptureFixture[str]) -> None:
    group.print_cost(argparse.Namespace(json=False), TALK, COST)
    assert capsys.readouterr().out.splitlines() == [
        "4 messages (exclude, announce, begin, add 15), 1,209 bytes in 16 packets",
        (
            "lora:spi0.0: 16 packets, 3.3 s of airtime, 9 % of this hour's budget; 1.0 s may be sent now, "
            "the last packet within 1 h 0 min"
        ),
        "This is for sending it once; packets that a peer misses are sent again.",
    ]
    group.print_cost(argparse.Namespace(json=True), TALK, COST)
    told = json.loads(capsys.readouterr().out)
    assert told["steps"] == COST.steps
    (cost,) = told["costs"]
    assert (cost["packets"], cost["faces"], cost["wait_us"]) == (16, ["lora:spi0.0"], 3_600_000_000)


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("yes\n", True), ("\n", False), ("n\n", False)])
def test_a_person_is_asked_and_told_what_excluding_does_not_do(
    typed: str, agreed: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("tinyssb_node.screens.screen.is_interactive", lambda: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: typed)
    assert group.confirm_exclusion(TALK, COST, [ANA], DisplayNames(())) == agreed
    told = capsys.readouterr().err
    assert told.startswith(f"Excluding {ANA.hex()[:8]} from the group 5a5a5a5a:\n  4 messages")
    assert "They keep all earlier messages and the keys of these" in told
    assert told.endswith("[y/N] ")


def test_where_nobody_can_be_asked_nothing_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinyssb_node.screens.screen.is_interactive", lambda: False)
    with pytest.raises(ProblemError, match="Nothing was written") as refused:
        group.confirm_exclusion(TALK, COST, [ANA], DisplayNames(()))
    assert refused.value.exit_code == ExitCode.USAGE


REVIEW = GroupReviewRow(
    fork="33" * 20, by=[BEN.hex()], excluded_by=[ME.hex()], excludes=[ANA.hex()], out=[ANA.hex()],
    reasons=["days", "depth", "share"], late_us=30 * 86_400_000_000, messages=128, rejected=False,
)  # fmt: skip


@pytest.fixture
def client(monkeypatch: pytest.MonkeyPatch) -> FakeClient:
    """The daemon of `group review`, with one fork that waits."""
    talk = FakeTalk()
    talk.client = FakeClient(REVIEW)
    monkeypatch.setattr(group, "open_node", lambda _: contextlib.nullcontext(talk))
    return talk.client


def reviewing(**arguments: object) -> argparse.Namespace:
    usual = {"group": "Hut", "accept": None, "reject": None, "dry_run": False, "json": False, "yes": False}
    return argparse.Namespace(**(usual | arguments))


def test_what_waits_for_a_decision_is_listed_with_its_reasons_and_commands(
    client: FakeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert group.review(reviewing()) == 0
    told = capsys.readouterr().out
    assert "fork 33333333 (waits for your decision)" in told
    assert "It arrived here 30 d 0 h after their exclusion." in told
    assert "Others wrote 128 or more messages after their exclusion." in told
    assert "It would take out more than half of the members." in told
    assert "tinyssb group review Hut --accept 33333333" in told
    assert "tinyssb group review Hut --reject 33333333" in told
    assert group.review(reviewing(json=True)) == 0
    assert json.loads(capsys.readouterr().out)["fork"] == REVIEW.fork
    client.reviews[0] = replace(REVIEW, rejected=True)
    group.review(reviewing())
    told = capsys.readouterr().out
    assert "(rejected)" in told
    assert "--reject" not in told
    client.reviews.clear()
    group.review(reviewing())
    assert "Nothing waits" in capsys.readouterr().out


def test_a_fork_is_accepted_after_its_cost_was_shown_or_rejected(
    client: FakeClient, capsys: pytest.CaptureFixture[str]
) -> None:
    assert group.review(reviewing(accept="33", dry_run=True)) == 0
    assert "16 packets, 3.3 s of airtime" in capsys.readouterr().out
    assert client.decided == []
    group.review(reviewing(accept="33"))
    assert "Accepted the fork: 0 messages in 16 packets." in capsys.readouterr().out
    group.review(reviewing(reject="33"))
    assert "Rejected the fork. Nothing was written" in capsys.readouterr().out
    assert client.decided == [("Hut", "33", True), ("Hut", "33", False)]


@pytest.mark.parametrize(("typed", "agreed"), [("y\n", True), ("n\n", False)])
def test_changes_of_more_than_20_packets_ask_first_whichever_they_are(
    typed: str,
    client: FakeClient,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    *,
    agreed: bool,
) -> None:
    """A new name takes three packets, and many more where an exclusion has to be completed before it."""
    client.cost = replace(COST, packets=22)
    monkeypatch.setattr("tinyssb_node.screens.screen.is_interactive", lambda: True)
    monkeypatch.setattr("sys.stdin.readline", lambda: typed)
    code = 0 if agreed else ExitCode.ATTENTION
    naming = argparse.Namespace(group="Hut", name="Shed", dry_run=False, json=False, yes=False)
    for change, arguments in ((group.name_group, naming), (group.review, reviewing(accept="33"))):
        assert change(arguments) == code
        told = capsys.readouterr().err
        assert "22 packets, 4.5 s of airtime" in told
        assert "It takes more than 20 packets. Go on?" in told
    assert client.renamed == [("Hut", "Shed")] * agreed
    assert client.decided == [("Hut", "33", True)] * agreed
    monkeypatch.setattr("sys.stdin.readline", lambda: pytest.fail("nobody is asked"))
    naming.yes = True
    assert (group.name_group(naming), group.review(reviewing(accept="33", yes=True))) == (0, 0)
