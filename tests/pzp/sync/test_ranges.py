import json

from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.vectors import FOLDER
from tinyssb_node.pzp.messages.goals import ALL, NONE, Goal, GoalKind, parse_goal
from tinyssb_node.pzp.sync.packets import EMPTY, DepthRange, wanted

ranges = st.builds(DepthRange, st.integers(0, 40), st.integers(0, 40))


def test_the_originals_ranges_of_all_and_at_least_the_newest_of_others() -> None:
    vectors = json.loads((FOLDER / "v2-sync.json").read_text("utf-8"))["wantRanges"]
    assert len(vectors) > 100
    for one in vectors:
        goal = parse_goal(one["goal"] or "none")
        theirs = DepthRange(*one["remote"])
        found = wanted(goal, DepthRange(*one["local"]), theirs)
        original = set(range(one["want"][0], one["want"][1] + 1))
        ours = set(range(found.low, found.high + 1))
        if goal.keep is not GoalKind.NEWEST:
            assert ours == original
        else:
            # The original asks for what it will not keep, and never for the other half of a fork at its own depth.
            top = max(one["local"][1], theirs.high)
            assert {depth for depth in original if depth > top - goal.count} <= ours


@given(ranges, ranges, st.integers(1, 50))
def test_the_newest_of_both(have: DepthRange, theirs: DepthRange, count: int) -> None:
    found = wanted(Goal(GoalKind.NEWEST, count), have, theirs)
    held = [*range(have.low, have.high + 1), *range(theirs.low, theirs.high + 1)]
    newest = range(max(held, default=0) - count + 1, max(held, default=0) + 1)
    assert {depth for depth in range(50) if depth in found} == {
        depth for depth in newest if depth in theirs and depth >= 0
    }


def test_nothing_is_wanted_of_nothing_and_for_nothing() -> None:
    assert wanted(NONE, EMPTY, DepthRange(0, 9)) == wanted(ALL, DepthRange(0, 9), EMPTY) == EMPTY
    assert wanted(Goal(GoalKind.SET), EMPTY, DepthRange(0, 9)) == DepthRange(0, 9)


@given(ranges, ranges)
def test_a_cut_has_what_both_have(one: DepthRange, other: DepthRange) -> None:
    both = {depth for depth in range(41) if depth in one and depth in other}
    assert {depth for depth in range(41) if depth in one.cut(other)} == both
    assert bool(one.cut(other)) == bool(both)
