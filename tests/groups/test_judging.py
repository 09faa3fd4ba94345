"""What counts is a function of the messages held: who knew what, in whatever order it came."""

from dataclasses import replace
from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tests.groups.world import GROUP, followed, key_of, message_id, person, said, start
from tinyssb_node.content.tangle import FIRST, Place
from tinyssb_node.groups.drafting import draft_add, draft_content
from tinyssb_node.groups.judging import Histories
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import Content, GroupMessage, Init
from tinyssb_node.groups.planning import add, exclude
from tinyssb_node.ids import MessageId

ROOT = message_id("root")


def graph(chance: Random, size: int) -> dict[MessageId, GroupMessage]:
    """Messages that follow earlier ones by chance; some change the group, and some follow what nobody has."""
    ids = [message_id(number) for number in range(size)]
    messages: dict[MessageId, GroupMessage] = {}
    for number, id_ in enumerate(ids):
        known = [*ids[:number], message_id("lost")]
        place = Place(ROOT, tuple(chance.sample(known, min(len(known), chance.randint(1, 3)))))
        if chance.random() < 0.4:
            epochs = Place(ROOT, tuple(chance.sample(known, 1)))
            messages[id_] = Init(key_of(number), place, epochs, FIRST, GROUP, person("a"))
        else:
            messages[id_] = Content("post", b"hello", GROUP, place)
    return messages


@given(st.integers(1, 25), st.randoms(use_true_random=False))
def test_histories_are_what_going_back_step_by_step_finds(size: int, chance: Random) -> None:
    messages = graph(chance, size)
    order = list(messages)
    chance.shuffle(order)
    histories = Histories()
    here: dict[MessageId, GroupMessage] = {}
    seen: dict[MessageId, set[MessageId]] = {}
    for id_ in order:
        told = histories.add(id_, messages[id_])
        here[id_] = messages[id_]
        changing = [one for one in here if isinstance(here[one], Init)]
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
    c.publish(replace(draft_add(c.here, zero, [person("z")]), group_tangle=Place(zero, (post.id,))))
    group = Group(GROUP, zero)
    for each in world.all.values():
        if each.id != post.id:
            group.add(each)
    assert person("z") in group.view[zero].members  # as far as we can see, he had not heard
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
    upon = replace(draft_add(c.here, zero, [person("z")]), group_tangle=Place(zero, (broken.id,)))
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
