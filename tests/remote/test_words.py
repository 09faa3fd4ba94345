"""Answers in words: also those that a newer or a hostile node gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.remote.test_messages import VALUES
from tinyssb_node.codec.bipf import Value
from tinyssb_node.errors import ProblemError
from tinyssb_node.remote.messages import (
    FaceFacts,
    NodeFacts,
    NodeProblem,
    RemoteAnswer,
    RemoteOutcome,
    status_body,
)
from tinyssb_node.remote.words import answer_lines, check_words, outcome_word

COMMANDS = [
    ("status",),
    ("face", "restart", "lora"),
    ("log", "debug"),
    ("radio", "set", "lora", "power=5"),
    ("radio", "confirm", "lora"),
]


def answer(outcome: int, *body: Value) -> RemoteAnswer:
    return RemoteAnswer(seq=7, said_s=1_762_495_200, outcome=outcome, body=body)


def test_a_status_is_shown_with_all_that_it_states() -> None:
    facts = NodeFacts(
        version="0.1.0",
        uptime_minutes=1_500,
        free_mib=20_480,
        entries=912,
        problems=NodeProblem.READ_ONLY | NodeProblem.COMPANION,
        faces=(
            FaceFacts(name="lora", is_open=True, duty_percent=3),
            FaceFacts(name="ws:8080", is_open=False),
        ),
        more=2,
    )
    first, *lines = answer_lines(["status"], answer(RemoteOutcome.DONE, *status_body(facts)))
    assert first.startswith("status: done (the node's clock: 2025-11-07T")
    assert lines == [
        "version    0.1.0",
        "running    1 d 1 h",
        "disk free  20,480 MiB",
        "entries    912",
        "faces      lora (open, 3 % of its airtime used), ws:8080 (not open, or nobody there), 2 more",
        "problems   it does not write, such as on a full disk; a process beside the daemon fails",
    ]


@pytest.mark.parametrize("words", COMMANDS)
def test_each_command_of_this_version_is_taken(words: tuple[str, ...]) -> None:
    check_words(words)


@pytest.mark.parametrize(
    "words",
    [(), ("status", "now"), ("log", "loud"), ("radio", "set", "lora"), ("radio", "set", "lora", "power")],
)
def test_others_are_not(words: tuple[str, ...]) -> None:
    with pytest.raises(ProblemError, match="There is no remote command"):
        check_words(words)


@given(st.sampled_from(COMMANDS), st.integers(0, 9), st.lists(VALUES, max_size=8))
def test_no_answer_writes_on_the_terminal_what_it_must_not(
    words: tuple[str, ...], outcome: int, body: list[Value]
) -> None:
    lines = answer_lines(words, answer(outcome, *body, "\x1b[2J\n"))
    assert not any("\x1b" in line or "\n" in line for line in lines)
    assert outcome_word(outcome)


def test_a_reason_is_shown_safely() -> None:
    lines = answer_lines(["log", "debug"], answer(RemoteOutcome.REFUSED, "\x1b[2Jno\nway"))
    assert len(lines) == 2
    assert "\x1b" not in lines[1]
