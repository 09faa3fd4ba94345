"""A group's timeline: kept from question to question it says the same as made anew."""

from hypothesis import given
from hypothesis import strategies as st

from tests.daemon.groupfakes import say
from tests.groups.world import GROUP, World, person, start
from tinyssb_node.daemon.groupviews import Timeline, broken_row, step_row
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import FeedRole, leave
from tinyssb_node.groups.plan import AddStep, BeginEpochStep, ExcludeStep, Step, add, exclude
from tinyssb_node.groups.reader_events import FeedAssignment, GroupEntryFault, InvalidGroupEntry
from tinyssb_node.groups.writer import draft_content
from tinyssb_node.ids import MessageId


def history() -> World:
    """Two who exclude each other's friends at the same time, a newcomer, somebody who comes back, and words."""
    world = start("abcd", "x")
    say(world["b"], "hello")
    world.meet(*"abcd")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")]))
    world["b"].do(exclude(world["b"].here, person("b"), [person("d")]))
    say(world["a"], "here")
    say(world["b"], "there")
    world.settle()
    world["b"].do(add(world["b"].here, person("b"), [person("x")]))
    world.settle()
    world["a"].do(add(world["a"].here, person("a"), [person("c")]))
    say(world["a"], "again")
    world.meet(*"abcdx")
    preferred = world["x"].prefers
    assert preferred is not None
    world["x"].publish(draft_content(world["x"].here, *leave()), world["x"].here.view[preferred].key)
    return world


WORLD = history()
SAID = list(WORLD.all.values())


@given(st.permutations(range(len(SAID))), st.sets(st.integers(0, len(SAID))))
def test_a_timeline_says_the_same_however_often_it_was_asked(order: list[int], asked: set[int]) -> None:
    group = Group(GROUP, SAID[0].id)
    kept = Timeline(group)
    for count, number in enumerate(order):
        group.add(SAID[number])
        if count in asked:
            kept.refresh()
    kept.refresh()
    anew = Timeline(group)
    anew.refresh()
    page = kept.page(first=1, behind=1_000, limit=None, forward=True)
    assert (kept.posts, page) == (anew.posts, anew.page(first=1, behind=1_000, limit=None, forward=True))
    for _, said in page:
        assert kept.joined(said) == anew.joined(said)
        assert kept.previous(said) == anew.previous(said)


def test_who_comes_and_goes_is_told_once() -> None:
    group = Group(GROUP, SAID[0].id)
    for said in SAID:
        group.add(said)
    timeline = Timeline(group)
    timeline.refresh()
    page = timeline.page(first=1, behind=1_000, limit=None, forward=True)
    joined = [timeline.joined(said) for _, said in page if timeline.joined(said)]
    assert [set(people) for people in joined] == [
        {person(name) for name in "bcd"},
        {person("x")},
        {person("c")},
    ]
    assert timeline.posts == 4
    shown = {said.id for _, said in page}
    assert all(set(timeline.previous(said)) <= shown for _, said in page)
    assert page[-1][1].message.group == GROUP


def test_a_page_has_an_end_and_a_beginning() -> None:
    timeline = Timeline(WORLD["a"].here)
    timeline.refresh()
    everything = timeline.page(first=1, behind=1_000, limit=None, forward=True)
    assert timeline.page(first=1, behind=1_000, limit=None, forward=False) == everything
    assert timeline.page(first=1, behind=1_000, limit=2, forward=True) == everything[:2]
    assert timeline.page(first=1, behind=1_000, limit=2, forward=False) == everything[-2:]
    assert timeline.page(first=everything[2][0], behind=1_000, limit=1, forward=True) == everything[2:3]
    assert timeline.page(first=1, behind=everything[2][0], limit=1, forward=False) == everything[1:2]


def test_what_opened_and_is_no_message_is_a_line_of_the_audit() -> None:
    broken = InvalidGroupEntry(
        MessageId(bytes(20)), person("feed"), 3, person("b"), GroupEntryFault.BODY, "was changed"
    )
    row = broken_row(broken, person("a"), FeedAssignment(person("b"), FeedRole.ADDITIONS), 5)
    assert (row.kind, row.rule, row.flaw, row.role, row.own) == (
        "broken",
        "body",
        "was changed",
        "additions",
        False,
    )
    assert broken_row(broken, person("b"), None, None).own


def test_steps_are_told() -> None:
    id_ = MessageId(b"\x01" * 20)
    steps: list[Step] = [
        ExcludeStep(id_, (person("b"),)),
        BeginEpochStep((id_,)),
        AddStep(None, (person("a"),)),
        AddStep(id_, (person("a"),)),
    ]
    assert [(row.step, row.epoch, len(row.people)) for row in map(step_row, steps)] == [
        ("exclude", id_.hex(), 1),
        ("begin", None, 0),
        ("add", None, 1),
        ("add", id_.hex(), 1),
    ]
