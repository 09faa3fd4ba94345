"""A group's messages in order: the same on all nodes that hold them, whenever and however often they were asked."""

from dataclasses import replace
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.daemon.groupfakes import say
from tests.groups.world import GROUP, Member, World, person, start
from tinyssb_node.content.limits import CLAIM_TOLERANCE_US as HOUR_US
from tinyssb_node.content.time_order import Position
from tinyssb_node.daemon.group_timeline import Timeline, listed_early
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import AddMember, GroupContent, OpenedGroupMessage, leave, post, text_of
from tinyssb_node.groups.plan import add, exclude
from tinyssb_node.groups.text_chains import CHAIN, TEXT
from tinyssb_node.groups.writer import draft_content
from tinyssb_node.ids import MessageId

NOW_S = 1_760_000_000
YEAR_S = 365 * 86_400


def says(member: Member, text: str, minute: int, *, years: int = 0) -> OpenedGroupMessage:
    """Write a text to the preferred epoch, by a clock that a test sets."""
    preferred = member.prefers
    assert preferred is not None
    said_s = NOW_S + 60 * minute + years * YEAR_S
    message = draft_content(member.here, *post(text, said_s=said_s))
    return member.publish(message, member.here.view[preferred].key)


def history() -> World:
    """Two who exclude each other's friends at the same time, a newcomer, somebody who comes back, and words. One of
    them has a clock that is years ahead, another states no time."""
    world = start("abcd", "x")
    says(world["b"], "hello", 0)
    world.meet(*"abcd")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")]))
    world["b"].do(exclude(world["b"].here, person("b"), [person("d")]))
    says(world["a"], "here", 9)
    says(world["b"], "there", 5, years=30)
    world.settle()
    for name in "ab":  # both add the same person, unaware of each other
        says(world[name], f"x comes, says {name}", 12)
        world[name].do(add(world[name].here, person(name), [person("x")]))
    world.settle()
    world["a"].do(add(world["a"].here, person("a"), [person("c")]))
    says(world["a"], "again", 20)
    say(world["b"], "and again")
    world.meet(*"abcdx")
    says(world["c"], "thank you", 22)
    world.meet(*"abcdx")
    preferred = world["x"].prefers
    assert preferred is not None
    world["x"].publish(draft_content(world["x"].here, *leave()), world["x"].here.view[preferred].key)
    return world


WORLD = history()
SAID = list(WORLD.all.values())


def shown(timeline: Timeline, page: list[Position] | None = None) -> list[tuple[object, ...]]:
    """The listed messages with all that depends on others."""
    lines: list[tuple[object, ...]] = []
    for time, id_ in timeline.listed().page() if page is None else page:
        said = timeline.group.said(MessageId(id_))
        lines.append(
            (time, said, list(timeline.joined(said)), timeline.previous(said), timeline.counts(said))
        )
    return lines


def everything(said: list[OpenedGroupMessage]) -> Timeline:
    """The timeline of a group that has all of these at once."""
    group = Group(GROUP, SAID[0].id)
    for each in said:
        group.add(each)
    timeline = Timeline(group)
    timeline.refresh()
    return timeline


@settings(deadline=None)
@given(st.permutations(range(len(SAID))), st.sets(st.integers(0, len(SAID))))
def test_the_listing_is_the_same_in_whichever_order_messages_came(order: list[int], asked: set[int]) -> None:
    group = Group(GROUP, SAID[0].id)
    kept = Timeline(group)
    for count, number in enumerate(order):
        group.add(SAID[number])
        if count in asked:
            kept.refresh()
    kept.refresh()
    anew = everything(SAID)
    assert kept.posts == anew.posts
    assert shown(kept) == shown(anew)
    assert kept.waiting() == []


@pytest.mark.parametrize("name", "ab")
def test_who_added_a_person_first_is_told_also_if_their_addition_waited(name: str) -> None:
    (late,) = (
        one
        for one in SAID
        if isinstance(one.message, GroupContent) and text_of(one.message) == f"x comes, says {name}"
    )
    group = Group(GROUP, SAID[0].id)
    kept = Timeline(group)
    for each in SAID:
        if each is not late:
            group.add(each)
    kept.refresh()
    group.add(late)
    kept.refresh()
    assert shown(kept) == shown(everything(SAID))


@settings(deadline=None)
@given(st.randoms(use_true_random=False))
def test_an_order_never_goes_against_an_authors_feed_or_a_tie(chance: Random) -> None:
    world = start("abc")
    names = "abc"
    for number in range(12):
        member = world[chance.choice(names)]
        says(member, str(number), chance.randint(0, 90), years=chance.choice([0, 0, 0, 0, -40, 60]))
        if chance.random() < 0.4:
            world.meet(*chance.sample(names, 2))
    world.meet(*names)
    timelines = [Timeline(world[name].here) for name in names]
    for timeline in timelines:
        timeline.refresh()
    assert shown(timelines[0]) == shown(timelines[1]) == shown(timelines[2])
    places = {id_: at for at, (_, id_) in enumerate(timelines[0].listed().page())}
    for id_, at in places.items():
        said = world.all[MessageId(id_)]
        assert all(places.get(one, -1) < at for one in said.message.group_tangle.previous)
        own = [one.id for one in world.all.values() if (one.author, one.key) == (said.author, said.key)]
        assert all(places.get(one, -1) < at for one in own if world.all[one].seq < said.seq)


def test_two_sides_that_did_not_hear_each_other_are_listed_by_time() -> None:
    world = start("abc")
    says(world["a"], "Bridge is out", 0)
    world.meet(*"ab")
    says(world["b"], "Since when?", 5)
    world.meet(*"ab")
    says(world["a"], "Since noon", 9)
    says(world["c"], "Anybody on the north side?", 3)
    says(world["c"], "The path is dry here", 7)
    world.meet(*"abc")
    for name in "abc":
        timeline = Timeline(world[name].here)
        timeline.refresh()
        assert texts(timeline) == [
            "Bridge is out",
            "Anybody on the north side?",
            "Since when?",
            "The path is dry here",
            "Since noon",
        ]


def texts(timeline: Timeline, page: list[Position] | None = None) -> list[str]:
    found = (timeline.group.said(MessageId(one[1])).message for one in page or timeline.listed().page())
    return [text_of(message) or "" for message in found if isinstance(message, GroupContent)]


def test_what_came_late_is_known_by_its_arrival_though_it_comes_before_others() -> None:
    world = start("ab")
    timeline = Timeline(world["a"].here)
    says(world["b"], "early", 1)
    says(world["a"], "seen", 5)
    timeline.refresh()
    (_, last), listed = timeline.listed().page()[-1], timeline.listed()
    mark = listed.arrivals[-1][0]
    seen = listed.seen(mark)
    assert seen is not None
    assert seen[1] == last
    world.meet(*"ab")
    timeline.refresh()
    listed = timeline.listed()
    assert texts(timeline) == ["early", "seen"]
    (late,) = listed.arrived(mark)
    assert late < seen
    assert listed.arrived(listed.arrivals[-1][0]) == []
    assert listed.arrived(None, 1) == [late]
    assert len(listed.arrived(0)) == len(listed.page())


def test_what_waited_counts_as_arrived_when_its_predecessor_came() -> None:
    world = start("abc")
    before = set(world.all)
    says(world["b"], "first", 1)
    says(world["b"], "second", 2)
    first, second = (one for id_, one in world.all.items() if id_ not in before)
    world["a"].receive([second])
    says(world["a"], "meanwhile", 3)
    timeline = Timeline(world["a"].here)
    timeline.refresh()
    listed = timeline.listed()
    mark = listed.arrivals[-1][0]
    assert [said.id for said in timeline.waiting()] == [second.id]
    assert timeline.missing(timeline.waiting()[0]) == [first.id]
    world["a"].receive([first])
    timeline.refresh()
    listed = timeline.listed()
    assert [id_ for _, id_ in listed.arrived(mark)] == [first.id, second.id]
    # They came at once: a page is not cut between them.
    assert len(listed.arrived(mark, 1)) == 2
    assert timeline.waiting() == []


def test_a_stranger_who_waits_for_others_is_not_shown() -> None:
    world = start("ab", "x")
    world["x"].keys |= world["a"].keys
    world["x"].receive(world.all.values())
    said = says(world["b"], "lost", 1)
    world["x"].receive([said])
    forged = draft_content(world["x"].here, *post("I am not here", said_s=NOW_S))
    message = world["x"].publish(forged, next(iter(world["a"].keys)))
    world["a"].receive([message])
    timeline = Timeline(world["a"].here)
    timeline.refresh()
    assert world["a"].here.tangle.waiting == (message.id,)
    assert timeline.waiting() == []


def test_who_comes_and_goes_is_told_once() -> None:
    timeline = everything(SAID)
    said = [timeline.group.said(MessageId(id_)) for _, id_ in timeline.listed().page()]
    joined = [timeline.joined(one) for one in said if timeline.joined(one)]
    assert [set(people) for people in joined] == [
        {person(name) for name in "bcd"},
        {person("x")},
        {person("c")},
    ]
    assert timeline.posts == 8
    listed = {one.id for one in said}
    assert all(set(timeline.previous(one)) <= listed for one in said)
    assert not any(isinstance(one.message, AddMember) and not timeline.joined(one) for one in said)


def test_a_page_has_an_end_and_a_beginning() -> None:
    listed = everything(SAID).listed()
    whole = listed.page()
    assert whole == sorted(whole)
    assert listed.page(limit=2) == whole[-2:]
    assert listed.page(after=whole[2]) == whole[3:]
    assert listed.page(after=whole[2], limit=1) == whole[3:4]
    assert listed.page(before=whole[2]) == whole[:2]
    assert listed.page(before=whole[2], limit=1) == whole[1:2]
    assert listed.page(after=(0, b""), limit=2) == whole[:2]
    assert listed.page(after=whole[-1]) == listed.page(before=whole[0]) == []
    assert listed.seen(-1) is None


@pytest.mark.parametrize("seed", range(3))
def test_posts_of_a_group_whose_history_is_missing_have_one_order(seed: int) -> None:
    world = start("ab")
    posts = [
        says(world[name], str(minute), minute) for name, minute in (("a", 3), ("a", 7), ("b", 1), ("b", 5))
    ]
    Random(seed).shuffle(posts)
    arrived = [replace(each, arrival=number) for number, each in enumerate(posts, 1)]
    listed = listed_early(arrived)
    assert [text_of_id(world, id_) for _, id_ in listed.page()] == ["1", "3", "5", "7"]
    assert [id_ for _, id_ in listed.arrived(2)] == [each.id for each in posts[2:]]


def text_of_id(world: World, id_: bytes) -> str | None:
    message = world.all[MessageId(id_)].message
    assert isinstance(message, GroupContent)
    return text_of(message)


def test_a_text_has_its_time_once_its_key_has_come() -> None:
    world = start("ab")
    covered = world["b"].publish(
        draft_content(world["b"].here, TEXT, b"sealed"), world["b"].here.view[world["b"].here.root].key
    )
    world.meet(*"ab")
    inside = draft_content(world["b"].here, *post("inside", said_s=NOW_S))
    assert isinstance(inside, GroupContent)
    keys: dict[MessageId, GroupContent] = {}
    timeline = Timeline(world["a"].here, opened=lambda said: keys.get(said.id, said.message))
    timeline.refresh()
    arrivals = timeline.listed().arrivals
    assert timeline.time(covered) < NOW_S
    keys[covered.id] = inside
    says(world["a"], "later", 9)
    timeline.refresh()
    assert timeline.time(covered) < NOW_S
    key = timeline.group.said(covered.id).key
    world["a"].publish(draft_content(world["a"].here, CHAIN, b"keys"), key)
    timeline.refresh()
    assert timeline.time(covered) == (NOW_S - NOW_S % 60) * 1_000_000
    assert timeline.listed().arrivals[: len(arrivals)] == arrivals
    anew = Timeline(world["a"].here, opened=timeline.opened)
    anew.refresh()
    assert shown(timeline) == shown(anew)


def test_an_hour_of_doubt_is_the_same_for_groups() -> None:
    world = start("abc")
    ahead = says(world["a"], "ahead", 0, years=30)
    world.meet(*"abc")
    for name in "bc":
        says(world[name], name, 10)
        world.meet(*"abc")
    timeline = Timeline(world["c"].here)
    timeline.refresh()
    assert timeline.time(ahead) < (NOW_S + 11 * 60) * 1_000_000 + HOUR_US
