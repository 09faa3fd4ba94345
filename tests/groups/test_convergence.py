"""All people who are not excluded end in one epoch, and nobody else is in it, whatever happened in any order."""

from random import Random

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.groups import search
from tests.groups.world import GROUP, start
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import OpenedGroupMessage
from tinyssb_node.groups.plan import add, exclude


@pytest.mark.parametrize("seed", range(1, 61))
def test_who_remains_agrees_after_healing(seed: int) -> None:
    played, what = search.broken(seed)
    assert what is None
    assert played.happened["remaining"] <= len(played.world.members)


def written(seed: int, steps: int | None = None) -> list[OpenedGroupMessage]:
    """All that is written in a history, before it is healed."""
    played = search.begin(seed)
    search.unfold(played, steps)
    return list(played.world.all.values())


def test_a_history_is_the_same_whenever_it_is_played_and_may_be_cut_short() -> None:
    whole, part = written(3), written(3, steps=5)
    assert whole == written(3)
    assert part == whole[: len(part)] != whole


def test_whom_the_group_owes() -> None:
    world = start("abcd", "z")
    a, b = world["a"], world["b"]
    names = {member.id: name for name, member in world.members.items()}

    def owed() -> str:
        return "".join(sorted(names[person] for person in search.entitled(world.omniscient())))

    a.do(exclude(a.here, a.id, [person for person, name in names.items() if name in "cd"]))
    assert owed() == "ab"
    world.meet(*"abcd")
    b.do(add(b.here, b.id, [world["c"].id]))
    assert owed() == "abc"


def test_a_broken_rule_is_found_told_and_played_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert search.main(["--seeds", "3"]) == 0
    assert "3 seeds played" in capsys.readouterr().out
    monkeypatch.setattr(search, "heal", lambda _: None)  # they never meet
    assert search.main(["--seeds", "3", "--failures", "1"]) == 1
    told = capsys.readouterr().out
    assert "again: make search-groups ARGS=" in told
    again = told.split('ARGS="')[1].split('"')[0]
    assert search.main(again.split()) == 1
    assert "begins E0" in capsys.readouterr().out


@given(st.integers(0, 10_000), st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_the_view_depends_on_what_is_held_only(seed: int, chance: Random) -> None:
    messages = written(seed, steps=12)
    expected = Group(GROUP, messages[0].id)
    for message in messages:
        expected.add(message)
    some = chance.sample(messages, chance.randint(1, len(messages)))
    views = []
    for _ in range(2):
        chance.shuffle(some)
        group = Group(GROUP, messages[0].id)
        for at, message in enumerate(some):
            group.add(message)
            if at % 5 == 0:
                assert group.view is not None  # looking in between changes nothing
        views.append(
            (
                group.view,
                group.resolved.pending,
                group.resolved.barred,
                group.resolved.doubtful,
                group.audit(),
            )
        )
    assert views[0] == views[1]
    for message in messages:
        group.add(message)
    assert group.view == expected.view
    assert group.audit() == expected.audit()
