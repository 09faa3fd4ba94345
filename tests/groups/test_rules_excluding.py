"""Rules R1 to R9 of docs/reference/groups.md: exclusion (exclusion document, 4.1)."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.groups.world import GROUP, World, key_of, message_id, person, said, start
from tinyssb_node.content.tangle import FIRST
from tinyssb_node.groups.messages import (
    ExcludedMember,
    ExcludeMember,
    FeedRole,
    GroupInit,
    OpenedGroupMessage,
)
from tinyssb_node.groups.plan import (
    AddStep,
    BeginEpochStep,
    ExcludeStep,
    GroupRefusalError,
    RefusalReason,
    TaskPurpose,
    add,
    exclude,
    tasks,
)
from tinyssb_node.groups.writer import draft_exclude, draft_init

VECTORS: Any = json.loads(
    (Path(__file__).parent.parent / "vectors/groups/epochs/exclusion_plan.json").read_text("utf-8")
)


def group_of(names: list[str], by: str) -> World:
    """A group of people with these names, made by one of them."""
    world = World()
    for name in names:
        world.member(name)
    world[by].create()
    others = [person(name) for name in names if name != by]
    for at in range(0, len(others), 15):
        world[by].do([AddStep(world[by].prefers, tuple(others[at : at + 15]))])
    world.meet(*names)
    return world


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_steps_are_those_of_the_vectors(case: Any) -> None:
    world = group_of(case["group_members"], case["by"])
    member = world[case["by"]]
    base = member.prefers
    steps = exclude(member.here, member.id, [person(name) for name in case["excludes"]])
    assert len(steps) == len(case["expected_messages"])
    for step, expected in zip(steps, case["expected_messages"], strict=True):
        match step:
            case ExcludeStep(epoch, people):
                assert expected["type"] == "group/exclude-member"
                assert (epoch, set(people)) == (base, {person(name) for name in expected["excludes"]})
            case BeginEpochStep(previous):
                assert expected["type"] == "group/init"
                assert previous == (base,)
            case AddStep(epoch, people):
                assert expected["type"] == "group/add-member"
                assert epoch is None
                assert len(people) == len(expected["recps"]) - 1 == expected["slots"] - 1
    added = [one for step in steps if isinstance(step, AddStep) for one in step.people]
    wanted = [name for each in VECTORS["cases"] if each is case for name in case["group_members"]]
    assert sorted(added) == sorted(person(name) for name in wanted if name not in case["excludes"])


REFUSALS = {
    "refuse-self": RefusalReason.SELF,
    "refuse-nonmember": RefusalReason.STRANGER,
    "refuse-empty": RefusalReason.NOBODY,
    "refuse-excluded-author": RefusalReason.EXCLUDED,
    "refuse-not-most-preferred": RefusalReason.OTHER_EPOCH,
}


@pytest.mark.parametrize("case", VECTORS["refusals"], ids=lambda case: str(case["id"]))
def test_refusals_are_those_of_the_vectors(case: Any) -> None:
    world = start("abcd")
    zero = world["a"].prefers
    if case["id"] == "refuse-excluded-author":
        world["a"].do(exclude(world["a"].here, world["a"].id, [person("c")]))
    if case["id"] == "refuse-not-most-preferred":
        world["a"].do(exclude(world["a"].here, world["a"].id, [person("d")]))
    world.meet(*"abcd")
    member = world[case["by"]]
    with pytest.raises(GroupRefusalError) as caught:
        exclude(member.here, member.id, [person(name) for name in case["excludes"]], epoch=zero)
    assert caught.value.refusal is REFUSALS[case["id"]]
    assert str(caught.value).startswith("nothing was written: ")


def test_r01_nobody_excludes_himself() -> None:
    world = start("abc")
    with pytest.raises(GroupRefusalError, match="yourself"):
        exclude(world["a"].here, person("a"), [person("a"), person("b")])
    root = world["a"].here.root
    forged = draft_exclude(world["b"].here, root, [person("b"), person("c")])
    line = world["b"].publish(forged, world["b"].here.view[root].key)
    assert world["b"].here.view[root].excluded == frozenset()
    flaws = {each.said.id: each.flaw for each in world["b"].here.audit()}
    found = flaws[line.id]
    assert found is not None
    assert found.rule == "R1"


def test_r02_an_epoch_succeeds_one_that_its_author_is_in_and_was_not_excluded_from() -> None:
    world = start("abc", "z")
    a = world["a"]
    a.do(exclude(a.here, a.id, [person("c")]))
    world.meet(*"abc")
    assert a.prefers is not None
    for number, (author, previous) in enumerate([("z", a.prefers), ("c", a.here.root), ("c", a.prefers)]):
        forged = draft_init(a.here, person(author), key_of(f"forged {number}"), [previous])
        a.here.add(said(message_id(f"forged {number}"), person(author), forged))
    assert len(a.here.view.epochs) == 2
    assert [line.flaw.rule for line in a.here.audit() if line.flaw is not None] == ["R2", "R2", "R2"]


def test_r03_all_but_the_excluded_are_added_and_several_are_excluded_at_once() -> None:
    world = start("abcde")
    world["a"].do(exclude(world["a"].here, person("a"), [person("b"), person("c")]))
    world.meet(*"abcde")
    for name in "ade":
        preferred = world[name].prefers
        assert preferred is not None
        assert world[name].here.view[preferred].members == {person("a"), person("d"), person("e")}


def test_r04_a_key_that_was_used_before_begins_no_epoch() -> None:
    world = start("abc")
    group = world["a"].here
    old = group.view[group.root].key
    world["a"].publish(draft_init(group, person("a"), old, [group.root]))
    assert len(group.view.epochs) == 1
    assert [line.flaw.rule for line in group.audit() if line.flaw is not None] == ["R4"]


@pytest.mark.parametrize("key", [None, key_of("another")])
def test_r05_an_epoch_begins_on_a_feed_of_its_own(key: Any) -> None:
    world = start("abc")
    group = world["a"].here
    message = draft_init(group, person("a"), key_of("new"), [group.root])
    role = FeedRole.ADDITIONS if key is None else FeedRole.EPOCH
    group.add(OpenedGroupMessage(message_id("elsewhere"), person("a"), role, key, message))
    assert len(group.view.epochs) == 1
    assert [line.flaw.rule for line in group.audit() if line.flaw is not None] == ["R33"]


def test_r06_the_first_message_of_an_epoch_is_its_init() -> None:
    world = start("abc")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")])[:2])
    *_, last = world.all.values()
    assert isinstance(last.message, GroupInit)
    assert last.message.members_tangle == FIRST
    assert last.message.author == person("a")


def test_r07_an_exclusion_names_people_in_one_of_two_forms_and_goes_to_the_old_epoch() -> None:
    world = start("abcd")
    group = world["a"].here
    short = draft_exclude(group, group.root, [person("c"), person("d")])
    assert all(each.feed is None for each in short.excludes)
    assert short.group == GROUP
    feeds = {person("c"): (person("c in it"), 7), person("d"): (person("d in it"), 0)}
    full = draft_exclude(group, group.root, [person("c"), person("d")], feeds=feeds)
    assert all(each.feed is not None for each in full.excludes)
    assert full.excludes[0] == ExcludedMember(person("c"), person("c in it"), 7)
    lacking = draft_exclude(group, group.root, [person("b"), person("c")], feeds=feeds)
    assert all(each.feed is None for each in lacking.excludes)
    elsewhere = said(message_id("elsewhere"), person("a"), short, key_of("another epoch"))
    group.add(elsewhere)
    assert group.view.exclusions == {}


def test_r07_who_is_not_in_the_epoch_is_not_excluded_from_it() -> None:
    world = start("abc", "z")
    group = world["a"].here
    message = draft_exclude(group, group.root, [person("z")])
    world["a"].publish(message, group.view[group.root].key)
    assert group.view.exclusions == {}
    assert [line.flaw.rule for line in group.audit() if line.flaw is not None] == ["R7"]


def test_r08_the_excluder_adds_himself_too() -> None:
    world = start("abc")
    *_, last = exclude(world["a"].here, person("a"), [person("c")])
    assert isinstance(last, AddStep)
    assert person("a") in last.people


def test_r08a_more_than_fifteen_are_added_by_several_messages() -> None:
    names = [f"p{number}" for number in range(33)]
    world = group_of(names, "p0")
    steps = exclude(world["p0"].here, person("p0"), [person("p1")])
    assert [len(step.people) for step in steps if isinstance(step, AddStep)] == [15, 15, 2]


@pytest.mark.parametrize("written", range(1, 4))
def test_r09_exclude_init_add_and_what_is_cut_short_is_finished(written: int) -> None:
    world = start("abcd")
    a = world["a"]
    steps = exclude(a.here, a.id, [person("d")])
    assert [type(step) for step in steps] == [ExcludeStep, BeginEpochStep, AddStep]
    a.do(steps[:written])
    todo = tasks(a.here, a.id)
    assert [task.purpose for task in todo[:1]] == ([TaskPurpose.FINISH] if written < 3 else [])
    a.act(0)
    world.meet(*"abcd")
    assert len({world[name].prefers for name in "abc"}) == 1
    assert [type(each.message) for each in world.all.values()].count(ExcludeMember) == 1
    assert world["d"].here.view.preference(person("d")).excluded
    assert all(tasks(world[name].here, person(name)) == () for name in "abcd")


def test_who_is_excluded_can_be_taken_on_again_by_somebody_who_knows() -> None:
    world = start("abc")
    a = world["a"]
    a.do(exclude(a.here, a.id, [person("b")]))
    world.meet(*"abc")
    with pytest.raises(GroupRefusalError, match="already"):
        add(a.here, a.id, [person("c")])
    a.do(add(a.here, a.id, [person("b")]))
    a.do(exclude(a.here, a.id, [person("c")]))
    world.settle()
    assert world["b"].prefers == a.prefers
    assert a.prefers is not None
    assert a.here.view[a.prefers].members == {person("a"), person("b")}
    assert not a.here.view.preference(a.id).excluded
    assert a.here.resolved.barred == {person("c")}


def test_an_excluded_members_additions_and_exclusions_count_for_nothing() -> None:
    world = start("abc", "z")
    a, c = world["a"], world["c"]
    zero = a.here.root
    a.do(exclude(a.here, a.id, [person("c")]))
    world.meet(*"abc")
    key = c.here.view[zero].key
    c.publish(draft_exclude(c.here, zero, [person("a")]), key)
    c.do([AddStep(zero, (person("z"),))])
    world.settle()
    assert person("z") not in a.here.view[zero].members
    assert len(a.here.view.exclusions) == 1
    assert [line.flaw.rule for line in a.here.audit() if line.flaw is not None] == ["R1", "R1"]


def test_whom_an_excluded_member_added_unseen_is_not_handed_new_keys_by_itself() -> None:
    world = start("abc", "z")
    a, c = world["a"], world["c"]
    c.do([AddStep(a.here.root, (person("z"),))])
    a.do(exclude(a.here, a.id, [person("c")]))
    world.settle()
    assert a.prefers is not None
    assert a.here.resolved.doubtful == {a.prefers: {person("z")}}
    assert person("z") not in a.here.view[a.prefers].members
    a.do(add(a.here, a.id, [person("z")]))
    world.settle()
    assert world["z"].prefers == a.prefers
