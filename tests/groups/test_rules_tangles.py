"""Rules R32 to R38 of docs/reference/groups.md: three tangles and their tips (exclusion document, 4.10)."""

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.groups.world import GROUP, key_of, message_id, person, said, start
from tinyssb_node.content.tangle import FIRST, AddOutcome, TangleData
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    FeedRole,
    GroupContent,
    GroupInit,
    OpenedGroupMessage,
)
from tinyssb_node.groups.plan import exclude
from tinyssb_node.groups.writer import (
    draft_add,
    draft_content,
    draft_exclude,
    draft_first,
    draft_init,
)
from tinyssb_node.ids import MessageId

VECTORS = Path(__file__).parent.parent / "vectors" / "groups"
EXAMPLE: Any = json.loads((VECTORS / "tangle/example-4.10.4.json").read_text("utf-8"))["cases"][0]
ATTRIBUTION: Any = json.loads((VECTORS / "epochs/exclude_attribution.json").read_text("utf-8"))["cases"]
ROOT = message_id("root")


def rules(group: Group) -> list[str]:
    """Which rules messages of *group* break."""
    return [line.flaw.rule for line in group.audit() if line.flaw is not None]


def played(case: Any) -> list[OpenedGroupMessage]:
    """The messages of the document's example."""

    def place(data: Any) -> TangleData:
        if data["root"] is None:
            return FIRST
        return TangleData(message_id(data["root"]), tuple(message_id(name) for name in data["previous"]))

    messages = []
    for each in case["messages"]:
        tangles = {name: place(data) for name, data in each["tangles"].items()}
        epoch = each["name"][0] if each["feed"] == "additions" else each["feed"][-1]
        key, z = key_of(epoch), person("Z")
        message: Any
        if each["type"] == "group/init":
            owner = (None, None) if tangles["group"].first else (GROUP, z)
            message = GroupInit(key, tangles["group"], tangles["epoch"], tangles["members"], *owner)
        elif each["type"] == "group/add-member":
            added = tuple(person(name) for name in each["adds"])
            message = AddMember(
                key, GROUP, message_id("0_init"), z, added, tangles["group"], tangles["members"]
            )
        else:
            gone = tuple(ExcludedMember(person(name)) for name in each["excludes"])
            message = ExcludeMember(GROUP, gone, tangles["group"], tangles["members"])
        messages.append(said(message_id(each["name"]), z, message, key))
    return messages


@pytest.mark.parametrize("seed", range(10))
def test_the_example_of_the_document_comes_out_as_it_says(seed: int) -> None:
    messages = played(EXAMPLE)
    Random(seed).shuffle(messages)
    group = Group(GROUP, message_id("0_init"))
    for each in messages:
        group.add(each)
    expected = EXAMPLE["expected"]

    def ids(names: Any) -> tuple[MessageId, ...]:
        return tuple(message_id(name) for name in names)

    assert group.tangle.tips == ids(expected["group_tips"])
    assert tuple(line.said.id for line in group.audit()) == ids(expected["group_order"])
    assert group.epoch_tangle.tips == ids(expected["epoch_tips"])
    for name, tips in expected["members_tips"].items():
        assert group.members_tangle(message_id(name)).tips == ids(tips)
    for name, people in expected["members"].items():
        epoch = group.view[message_id(name)]
        assert epoch.members == {person(one) for one in people["added"]}
        assert epoch.excluded == {person(one) for one in people["to_exclude"]}


@pytest.mark.parametrize("case", ATTRIBUTION, ids=lambda case: str(case["id"]))
def test_exclusions_lead_up_to_those_epochs_whose_creators_knew_of_them(case: Any) -> None:
    root, last = message_id("initX"), message_id("add")
    group = Group(GROUP, root)
    for each in case["messages"]:
        name = each["name"]
        follows = each["group_previous"]
        place = FIRST if follows is None else TangleData(root, tuple(message_id(one) for one in follows))
        author = person(each.get("by", "a"))
        message: Any
        if name == "initX":
            message = draft_first(key_of("X"))
        elif each["type"] == "group/init":
            message = GroupInit(key_of(name), place, TangleData(root, (root,)), FIRST, GROUP, author)
        elif each["type"] == "group/add-member":
            people = tuple(person(one) for one in each["adds"])
            message = AddMember(key_of("X"), GROUP, root, author, people, place, TangleData(root, (root,)))
        else:
            gone = tuple(ExcludedMember(person(one)) for one in each["excludes"])
            message = ExcludeMember(GROUP, gone, place, TangleData(root, (last,)))
        group.add(said(message_id(name), author, message, key_of("X")))
    assert rules(group) == []
    for name, people in case["expected_excluded_leading_up_to"].items():
        assert group.view[message_id(name)].without == {person(one) for one in people}
    pending = case.get("pending_exclusions", {})
    assert {person(one) for people in pending.values() for one in people} == {
        one for exclusion in group.resolved.pending for one in exclusion.people
    }


def test_r32_only_additions_and_exclusions_on_their_feeds_extend_the_members_tangle() -> None:
    world = start("abc", "z")
    group = world["a"].here
    key = group.view[group.root].key
    addition = draft_add(group, group.root, [person("z")])
    wrong = [
        OpenedGroupMessage(message_id(1), person("a"), FeedRole.EPOCH, key, addition),
        said(message_id(2), person("a"), replace(addition, secret=key_of("another"))),
        said(message_id(3), person("a"), replace(addition, creator=person("b"))),
        said(message_id(4), person("a"), replace(addition, root=message_id("elsewhere"))),
        said(message_id(5), person("z"), addition),
        said(message_id(6), person("a"), draft_exclude(group, group.root, [person("b")]), key_of("another")),
        OpenedGroupMessage(
            message_id(7),
            person("a"),
            FeedRole.ADDITIONS,
            None,
            draft_exclude(group, group.root, [person("b")]),
        ),
    ]
    before = group.view
    for each in wrong:
        group.add(each)
    assert group.view == before
    assert rules(group) == ["R32"] * len(wrong)


def test_r33_an_epoch_follows_epochs_that_count() -> None:
    world = start("abc")
    group = world["a"].here
    forged = draft_init(group, person("z"), key_of("forged"), [group.root])
    group.add(said(message_id("forged"), person("z"), forged))
    upon = draft_init(group, person("a"), key_of("upon it"), [message_id("forged")])
    group.add(said(message_id("upon it"), person("a"), upon))
    stolen = draft_init(group, person("b"), key_of("stolen"), [group.root])
    group.add(said(message_id("stolen"), person("a"), stolen))
    assert list(group.view.epochs) == [group.root]
    assert sorted(rules(group)) == ["R2", "R33", "R33"]


def test_r33_one_member_makes_a_bounded_number_of_epochs() -> None:
    world = start("ab")
    group = world["a"].here
    for number in range(group_limits.EPOCHS_BY_ONE_MAX + 3):
        init = GroupInit(
            key_of(f"epoch {number}"),
            TangleData(group.root, (group.root,)),
            TangleData(group.root, (group.root,)),
            FIRST,
            GROUP,
            person("a"),
        )
        group.add(said(message_id(f"epoch {number}"), person("a"), init))
    assert len(group.view.epochs) == group_limits.EPOCHS_BY_ONE_MAX
    assert set(rules(group)) == {"R33"}


def test_r34_all_messages_are_in_the_group_tangle_and_a_second_root_is_in_none() -> None:
    world = start("abc")
    a = world["a"]
    a.say("hello")
    a.do(exclude(a.here, a.id, [person("c")]))
    assert set(a.here.tangle) == set(world.all)
    second = said(message_id("second root"), person("b"), draft_first(key_of("second")))
    other = draft_content(a.here, "post", b"?")
    assert a.here.add(second) is AddOutcome.REFUSED
    assert (
        a.here.add(said(message_id("other"), person("a"), replace(other, group=type(GROUP)(bytes(32)))))
        is AddOutcome.REFUSED
    )
    lost = replace(other, group_tangle=TangleData(message_id("another root"), (a.here.root,)))
    assert a.here.add(said(message_id("lost"), person("a"), lost)) is AddOutcome.REFUSED
    assert rules(a.here) == ["R34"] * 3
    assert set(a.here.tangle) == set(world.all)


def test_r34_a_group_whose_first_message_is_none_has_no_epochs() -> None:
    group = Group(GROUP, ROOT)
    later = GroupInit(
        key_of(0),
        TangleData(ROOT, (message_id("before"),)),
        TangleData(ROOT, (message_id("before"),)),
        FIRST,
        GROUP,
        person("a"),
    )
    assert group.add(said(ROOT, person("a"), later)) is AddOutcome.REFUSED
    assert group.view.epochs == {}
    assert rules(group) == ["R34"]


def test_r35_r36_what_follows_something_missing_waits_and_changes_nothing() -> None:
    world = start("abc", "z")
    a, b = world["a"], world["b"]
    b.publish(draft_add(b.here, b.here.root, [person("z")]))
    b.publish(draft_exclude(b.here, b.here.root, [person("c")]), b.here.view[b.here.root].key)
    *_, addition, exclusion = b.held.values()
    before = a.here.view
    assert a.here.add(exclusion) is AddOutcome.WAITS
    assert a.here.view == before
    assert [line.waits for line in a.here.audit()][-1]
    assert a.here.add(exclusion) is AddOutcome.DUPLICATE
    a.here.add(addition)
    assert a.here.view == b.here.view
    assert a.here.members_tangle(a.here.root).tips == (exclusion.id,)


def test_r37_what_is_written_follows_the_tips_a_post_four_of_them() -> None:
    world = start("abcdefgh")
    for name in "abcdefgh":
        world[name].say(f"I am {name}")
    world.meet(*"abcdefgh")
    group = world["a"].here
    assert len(group.tangle.tips) == 8
    post = draft_content(group, "post", b"all?")
    assert len(post.group_tangle.previous) == group_limits.TIPS_POST_MAX
    assert set(post.group_tangle.previous) <= set(group.tangle.tips)
    assert draft_exclude(group, group.root, [person("b")]).group_tangle.previous == group.tangle.tips
    world["a"].publish(post, group.view[group.root].key)
    assert len(group.tangle.tips) == 5


def test_r38_an_epoch_follows_all_tips_so_that_it_closes_forks() -> None:
    world = start("abcd")
    for by, out in (("a", "c"), ("b", "d")):
        world[by].do(exclude(world[by].here, person(by), [person(out)]))
    world.settle()
    group = world["a"].here
    preferred = world["a"].prefers
    assert preferred is not None
    assert group.epoch_tangle.tips == (preferred,)
    left, right = group.view[preferred].previous
    assert group.view.nearest(left, right) == {group.root}
    assert group.view.nearest(preferred, left) == {left}


def test_nearest_may_be_several() -> None:
    world = start("abcde")
    for by, out in (("a", "c"), ("b", "d")):
        world[by].do(exclude(world[by].here, person(by), [person(out)]))
    world.meet(*"abcde")
    a, view = world["a"], world["a"].here.view
    forks = view.tips(person("a"))
    made = []
    for number in range(2):
        init = draft_init(a.here, a.id, key_of(f"joined {number}"), forks)
        each = said(message_id(f"joined {number}"), a.id, init)
        made.append(each)
    for each in made:
        a.here.add(each)
    assert a.here.view.nearest(made[0].id, made[1].id) == set(forks)


def test_a_message_that_does_not_count_shows_in_the_audit() -> None:
    world = start("ab", "z")
    group = world["a"].here
    stranger = GroupContent("post", b"hello", GROUP, TangleData(group.root, group.tangle.tips))
    group.add(said(message_id("stranger"), person("z"), stranger, group.view[group.root].key))
    *lines, last = group.audit()
    assert all(line.flaw is None for line in lines)
    assert last.said.author == person("z")
    assert last.flaw is not None
    assert last.flaw.what == "was written by a person who is not in the epoch"
