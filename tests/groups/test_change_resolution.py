"""The resolution is a function of the stored messages and of what their authors knew, in any order of arrival."""

import time
from collections.abc import Sequence
from dataclasses import replace
from random import Random
from typing import Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.groups.plain import PlainResolver
from tests.groups.world import GROUP, followed, key_of, message_id, person, said, start
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups import membership
from tinyssb_node.groups.change_resolution import CausalHistories, ChangeResolver
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    GroupMessage,
    OpenedGroupMessage,
)
from tinyssb_node.groups.plan import add, exclude
from tinyssb_node.groups.writer import draft_add, draft_content
from tinyssb_node.ids import EpochKey, FeedId, MessageId

ROOT = message_id("root")
HISTORIES: Final = 400
"""Of few people who write what they like."""
JUDGING_MAX_S: Final = 1
"""For 1,200 messages, each held against each: minutes; as it is, 10 ms on a notebook."""


def graph(chance: Random, size: int) -> dict[MessageId, GroupMessage]:
    """Messages that follow earlier ones by chance; some change the group, and some follow what nobody has."""
    ids = [message_id(number) for number in range(size)]
    messages: dict[MessageId, GroupMessage] = {}
    for number, id_ in enumerate(ids):
        known = [*ids[:number], message_id("lost")]
        place = TangleData(ROOT, tuple(chance.sample(known, min(len(known), chance.randint(1, 3)))))
        if chance.random() < 0.4:
            epochs = TangleData(ROOT, tuple(chance.sample(known, 1)))
            messages[id_] = GroupInit(key_of(number), place, epochs, FIRST, GROUP, person("a"))
        else:
            messages[id_] = GroupContent("post", b"hello", GROUP, place)
    return messages


@given(st.integers(1, 25), st.randoms(use_true_random=False))
def test_histories_are_what_going_back_step_by_step_finds(size: int, chance: Random) -> None:
    messages = graph(chance, size)
    order = list(messages)
    chance.shuffle(order)
    histories = CausalHistories()
    here: dict[MessageId, GroupMessage] = {}
    seen: dict[MessageId, set[MessageId]] = {}
    for id_ in order:
        told = histories.add(id_, messages[id_])
        here[id_] = messages[id_]
        changing = [one for one in here if isinstance(here[one], GroupInit)]
        before = {one: followed(here, one) & set(changing) for one in changing}
        assert told == (before != seen)  # a view that was worked out is good until then
        seen = before
        for one in here:
            expected = followed(here, one)
            assert set(histories.followed_by(one, changing)) == expected & set(changing)
        ranked = sorted(changing, key=histories.rank)
        assert all(other not in before[one] for at, one in enumerate(ranked) for other in ranked[at:])


def test_a_post_that_comes_late_shows_who_knew_what() -> None:
    world = start("abc")
    a, b, c = (world[name] for name in "abc")
    a.do(exclude(a.here, a.id, [c.id])[:1])
    world.meet("a", "b")
    b.say("so it is")
    *_, post = b.held.values()
    zero = c.here.root
    c.publish(replace(draft_add(c.here, zero, [person("z")]), group_tangle=TangleData(zero, (post.id,))))
    group = Group(GROUP, zero)
    for each in world.all.values():
        if each.id != post.id:
            group.add(each)
    assert person("z") in group.view[zero].members  # as far as we can tell, they had not heard
    group.add(post)
    assert person("z") not in group.view[zero].members
    assert [line.flaw.rule for line in group.audit() if line.flaw is not None] == ["R1"]


def test_a_message_that_breaks_a_rule_still_shows_what_its_followers_knew() -> None:
    world = start("abc")
    a, c = world["a"], world["c"]
    zero = a.here.root
    a.do(exclude(a.here, a.id, [c.id])[:1])
    of_another = replace(draft_content(a.here, "post", b"?"), group=type(GROUP)(bytes(32)))
    broken = said(message_id("broken"), a.id, of_another, a.here.view[zero].key)
    upon = replace(draft_add(c.here, zero, [person("z")]), group_tangle=TangleData(zero, (broken.id,)))
    c.publish(upon)
    a.receive(c.held.values())
    assert person("z") in a.here.view[zero].members
    a.here.add(broken)
    assert person("z") not in a.here.view[zero].members


def test_who_made_the_group_is_checked_whenever_its_beginning_comes() -> None:
    world = start("ab", "z")
    a = world["a"]
    a.do(exclude(a.here, a.id, [person("b")]))
    first, *later = world.all.values()
    assert a.prefers is not None
    wrong = replace(draft_add(a.here, a.prefers, [person("z")]), creator=person("b"))
    messages = [first, *later, said(message_id("wrong"), a.id, wrong)]
    for order in (messages, messages[::-1]):
        group = Group(GROUP, first.id)
        for each in order:
            group.add(each)
        assert group.view == a.here.view
        assert [line.flaw.rule for line in group.audit() if line.flaw is not None] == ["R32"]


def test_who_added_somebody_is_told_over_all_epochs() -> None:
    world = start("abc", "z")
    a, b = world["a"], world["b"]
    a.do(add(a.here, a.id, [person("z")]))
    b.do(add(b.here, b.id, [person("z")]))
    world.meet(*"abcz")
    assert a.here.adders(person("z")) == {a.id, b.id}
    assert a.here.adders(person("nobody")) == frozenset()


# --- the result


def first() -> OpenedGroupMessage:
    """The beginning of a group by *a*."""
    return said(ROOT, person("a"), GroupInit(key_of(0), FIRST, FIRST, FIRST))


def adding(
    by: FeedId, people: Sequence[FeedId], key: EpochKey, group: TangleData, members: TangleData
) -> AddMember:
    return AddMember(key, GROUP, ROOT, person("a"), tuple(people), group, members)


def excluding(people: Sequence[FeedId], group: TangleData, members: TangleData) -> ExcludeMember:
    return ExcludeMember(GROUP, tuple(map(ExcludedMember, people)), group, members)


def mischief(chance: Random, size: int) -> list[OpenedGroupMessage]:
    """A group in which few people write what they like, and follow whatever they like."""
    people = [person(name) for name in "abcde"[: chance.randint(2, 5)]]
    written = [first()]
    epochs = [(ROOT, key_of(0))]
    for number in range(1, size):
        id_, author = message_id(number), chance.choice([*people, people[0]])
        near = [each.id for each in written[-chance.choice([1, 3, size]) :]]
        place = TangleData(ROOT, tuple(chance.sample(near, min(len(near), chance.randint(1, 3)))))
        epoch, key = chance.choice(epochs)
        members = TangleData(epoch, (chance.choice([epoch, chance.choice(written).id]),))
        some = chance.sample(people, chance.randint(1, 2))
        message: GroupMessage
        match chance.choices(["init", "add", "exclude", "say"], [1, 5, 5, 1])[0]:
            case "init":
                key = key_of(number)
                behind = chance.sample([init for init, _ in epochs], min(len(epochs), chance.randint(1, 2)))
                message = GroupInit(key, place, TangleData(ROOT, tuple(behind)), FIRST, GROUP, author)
                epochs.append((id_, key))
            case "add":
                message = adding(author, some, key, place, members)
            case "exclude":
                message = excluding(some, place, members)
            case _:
                message = GroupContent("post", b"hello", GROUP, place)
        written.append(said(id_, author, message, key))
    return written


def outcome(messages: Sequence[OpenedGroupMessage], resolver: type[ChangeResolver]) -> tuple[object, ...]:
    """Return the result of the messages, as *resolver* finds it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(membership, "ChangeResolver", resolver)
        group = Group(GROUP, ROOT)
        for each in messages:
            group.add(each)
        view = group.view
        return (
            view,
            group.audit(),
            group.resolved.pending,
            group.resolved.standing,
            group.resolved.barred,
            group.resolved.doubtful,
        )


def test_what_counts_is_what_going_through_all_of_it_finds() -> None:
    for seed in range(HISTORIES):
        chance = Random(seed)
        messages = mischief(chance, chance.randint(5, 60))
        if seed % 2:
            chance.shuffle(messages)
        assert outcome(messages, ChangeResolver) == outcome(messages, PlainResolver), f"seed {seed}"


@pytest.mark.parametrize("order", ["add, exclude", "exclude, add"])
def test_a_stranger_who_adds_and_excludes_without_end_costs_milliseconds(order: str) -> None:
    a, x, key = person("a"), person("x"), key_of(0)
    messages = [first()]

    def write(author: FeedId, what: str) -> None:
        behind = TangleData(ROOT, (messages[-1].id,))
        message = (
            adding(author, [x], key, behind, behind) if what == "add" else excluding([x], behind, behind)
        )
        messages.append(said(message_id(len(messages)), author, message, key))

    for what in order.split(", "):
        for _ in range(400):
            write(a, what)
    write(a, "add")
    for _ in range(400):
        write(x, "add")
    group = Group(GROUP, ROOT)
    for each in messages:
        group.add(each)
    begun_s = time.process_time()
    assert x in group.view[ROOT].correct
    assert time.process_time() - begun_s < JUDGING_MAX_S
    assert not [line for line in group.audit() if line.flaw is not None]
