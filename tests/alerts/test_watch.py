"""Which problems are announced, and when."""

from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.alerts import limits
from tinyssb_node.alerts.watch import AlertWatch, Announcement
from tinyssb_node.screens.check_result import CheckResult

SECOND_US = 1_000_000
WALL_US = 1_762_495_200_000_000


def problem(about: str, found: str = "not open") -> CheckResult:
    return CheckResult("daemon", ok=False, found=found, advice="Open it.", about=about)


def looked(watch: AlertWatch, seconds: int, *about: str) -> list[tuple[str, bool]]:
    """Look and announce; return what was announced, and whether it is over."""
    mono_us = seconds * SECOND_US
    watch.look(map(problem, about), WALL_US + mono_us, mono_us)
    said = []
    while (due := watch.due(mono_us)) is not None:
        watch.confirm(due)
        said.append((due.problem.about, due.is_over))
    return said


def test_a_problem_is_announced_once_it_has_lasted_and_again_when_it_is_over() -> None:
    watch = AlertWatch()
    assert looked(watch, 0, "a", "b") == []
    assert looked(watch, 40, "a", "b") == []
    assert looked(watch, 60, "a") == [("a", False)]
    assert looked(watch, 100, "a", "b") == []
    assert looked(watch, 399) == []
    assert looked(watch, 400) == [("a", True)]
    assert looked(watch, 401) == []


def test_one_that_comes_and_goes_is_one_alert() -> None:
    watch = AlertWatch()
    said = [
        one for at in range(0, 3_600, 20) for one in looked(watch, at, *(["a"] if at % 240 < 120 else []))
    ]
    assert said == [("a", False)]


def test_numbers_may_change_while_it_lasts_and_the_latest_are_announced() -> None:
    watch = AlertWatch()
    for number in range(4):
        watch.look([problem("a", f"{number} packets")], WALL_US, number * 20 * SECOND_US)
    due = watch.due(60 * SECOND_US)
    assert due is not None
    assert (due.problem.found, due.since_us) == ("3 packets", WALL_US)


def test_what_cannot_be_announced_stays_due_and_what_is_over_by_then_is_never_announced() -> None:
    watch = AlertWatch()
    for at in (0, 60, 120):
        watch.look([problem("a")], WALL_US, at * SECOND_US)
    assert watch.due(120 * SECOND_US) is not None
    watch.look([], WALL_US, 140 * SECOND_US)
    assert watch.due(140 * SECOND_US) is None


def test_after_a_restart_nothing_is_announced_twice_and_what_ended_meanwhile_is_over() -> None:
    before = [Announcement(problem(name), is_over=False, since_us=WALL_US) for name in "ab"]
    watch = AlertWatch()
    watch.restore(before, 0)
    assert watch.announced() == before
    assert looked(watch, 0, "a") == []
    assert looked(watch, 120, "a") == []
    assert looked(watch, 300, "a") == [("b", True)]


@given(st.lists(st.sets(st.integers(0, 80)), max_size=60))
def test_problems_are_bounded_and_begin_and_end_in_turn(looks: list[set[int]]) -> None:
    watch = AlertWatch()
    open_: set[str] = set()
    for number, found in enumerate(looks):
        for about, is_over in looked(watch, 30 * number, *map(str, found)):
            assert (about in open_) == is_over
            open_ ^= {about}
        assert len(open_) <= limits.ALERTS_MAX
        assert {one.name.about for one in watch.announced()} == open_
