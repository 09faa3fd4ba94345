"""Estimate of an exclusion's cost on the air, shown before it is done."""

import argparse
import json
from typing import Any

import pytest
from msgspec.structs import replace

from tests.tui.node import AIR, ANA, LORA, UDP
from tinyssb_node.cli.commands import group
from tinyssb_node.control.group_rows import GroupCostRow
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
    def faces(self) -> list[Any]:
        return [LORA, UDP]

    def airtime(self) -> list[Any]:
        return [replace(AIR, content_left_us=1_000_000)]


class FakeTalk:
    client = FakeClient()


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
