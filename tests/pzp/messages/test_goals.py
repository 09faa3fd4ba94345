import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.test_tangle import built, chain, graphs
from tinyssb_node.pzp.messages.goals import (
    ALL,
    NONE,
    Goal,
    GoalKind,
    GoalNeeds,
    needs,
    parse_goal,
    unsuperseded,
)
from tinyssb_node.pzp.messages.tangle import PzpTangle


@pytest.mark.parametrize(
    ("text", "goal"),
    [("all", ALL), ("none", NONE), ("set", Goal(GoalKind.SET)), ("newest-100", Goal(GoalKind.NEWEST, 100))],
)
def test_goals_are_written_as_they_are_read(text: str, goal: Goal) -> None:
    assert parse_goal(text) == goal
    assert str(goal) == text


def test_a_dictionary_is_kept_as_a_set() -> None:
    assert parse_goal("dict") == parse_goal("set")


@pytest.mark.parametrize(
    "text", ["", "newest", "newest-", "newest-0", "newest-01", "newest-99999999999", "All", "no"]
)
def test_what_is_no_goal_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is no goal; there are: all, newest-100"):
        parse_goal(text)


def test_of_nothing_nothing_is_needed() -> None:
    assert needs(PzpTangle("0"), ALL, dict) == GoalNeeds(frozenset(), frozenset())
    assert needs(chain(3), NONE, dict) == GoalNeeds(frozenset(), frozenset())


def test_of_a_chain_the_way_to_the_root_is_kept() -> None:
    found = needs(chain(40), Goal(GoalKind.NEWEST, 2), dict)
    assert found == GoalNeeds(frozenset({"40", "39"}), frozenset({"12", "3", "0"}))
    assert needs(chain(2), ALL, dict) == GoalNeeds(frozenset({"0", "1", "2"}), frozenset())


@given(graphs(), st.integers(1, 6))
def test_everything_kept_is_certified_and_what_comes_next_is_too(
    graph: dict[int, list[int]], count: int
) -> None:
    tangle = built(graph, random.Random(1))
    found = needs(tangle, Goal(GoalKind.NEWEST, count), dict)
    assert found.whole == set(tangle.topological()[-count:])
    assert not found.whole & found.trail
    kept = found.whole | found.trail
    for one in kept:
        assert set(tangle.path_to_root(one)) <= kept
    assert tangle.tips <= kept


def test_what_was_superseded_in_all_it_speaks_of_does_not_count() -> None:
    said = {
        "a": {"update": {"name": "x", "age": 1}, "supersedes": []},
        "b": {"update": {"name": "y"}, "supersedes": ["a", "b", "lost", 5]},
        "c": {"update": {"age": 2}, "supersedes": ["b"]},
        "d": {"add": ["bob"], "del": [], "supersedes": "no list"},
        "e": {"add": [], "del": ["bob", 7]},
        "f": {"text": "neither"},
        "g": None,
        "h": "text",
    }
    assert unsuperseded(said) == {"a", "b", "c", "d", "e"}  # type: ignore[arg-type] # JSON
    said["i"] = {"update": {"age": 3}, "supersedes": ["a"]}
    assert unsuperseded(said) == {"b", "c", "d", "e", "i"}  # type: ignore[arg-type] # JSON
