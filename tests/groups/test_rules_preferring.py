"""Rules R10 to R31 of docs/reference/groups.md: preferring, repairing, replicating (4.2 to 4.9)."""

from dataclasses import replace

import pytest

from tests.groups.world import World, key_of, message_id, person, start
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import Epoch, EpochGraph, EpochRelation, Exclusion, PreferenceRule
from tinyssb_node.groups.plan import (
    AddStep,
    BeginEpochStep,
    ExcludeStep,
    TaskPurpose,
    add,
    exclude,
    plan,
    tasks,
)
from tinyssb_node.groups.replication import EpochFeed, replication, writing_epoch
from tinyssb_node.groups.writer import draft_add, draft_content, draft_exclude
from tinyssb_node.ids import FeedId, MessageId


def people(names: str) -> frozenset[FeedId]:
    """People of these names."""
    return frozenset(person(name) for name in names)


def forked(one: str, other: str, names: str = "abcd") -> World:
    """Let two members exclude one person each concurrently: *one* is "ac" for a excludes c."""
    world = start(names)
    for by, *out in (list(one), list(other)):
        world[by].do(exclude(world[by].here, person(by), [person(name) for name in out]))
    return world


def prefers(world: World, name: str) -> MessageId:
    """Return the epoch that a person prefers."""
    found = world[name].prefers
    assert found is not None
    return found


def inside(world: World, name: str) -> frozenset[FeedId]:
    """Return the members of the epoch that a person prefers."""
    return world[name].here.view[prefers(world, name)].members


def test_r10_a_successor_is_preferred_once_one_is_added_to_it() -> None:
    world = start("abc")
    a, b = world["a"], world["b"]
    zero = prefers(world, "b")
    a.do(exclude(a.here, a.id, [person("c")]))
    *held, addition = a.held.values()
    b.receive(held)
    assert b.prefers == zero
    b.receive([addition])
    assert b.prefers == a.prefers != zero
    assert b.here.view.preference(b.id).rules == (PreferenceRule.SUCCESSOR,)


def test_r11_ties_go_to_the_smallest_key_as_unsigned_bytes() -> None:
    low, high = (message_id(name) for name in ("low", "high"))
    keys = {low: bytes([0x7F]) + bytes(31), high: bytes([0x80]) + bytes(31)}
    view = EpochGraph(
        Epoch(init, type(key_of(0))(key), person("a"), (), people("a")) for init, key in keys.items()
    )
    assert view.winner([high, low]) == low
    same = sorted([low, high])
    twice = EpochGraph(Epoch(init, key_of(0), person("a"), (), people("a")) for init in same)
    assert twice.winner(same) == same[0]


def test_r12_of_forks_with_the_same_members_the_winner_is_preferred() -> None:
    world = forked("ad", "bd")
    world.meet(*"abcd")
    view = world["a"].here.view
    (fork,) = view.forks()
    assert fork.relation is EpochRelation.SAME
    assert {prefers(world, name) for name in "abc"} == {fork.winner}
    assert view.preference(person("c")).rules == (PreferenceRule.SAME,)


def test_r13_any_number_of_forks_may_have_the_same_members() -> None:
    world = forked("ae", "be", "abcde")
    world["c"].do(exclude(world["c"].here, person("c"), [person("e")]))
    world.meet(*"abcde")
    view = world["d"].here.view
    assert len(view.forks()) == 3
    assert {prefers(world, name) for name in "abcd"} == {view.winner(view.tips(person("d")))}


def test_r14_the_smaller_of_two_forks_is_preferred_whatever_the_keys() -> None:
    world = forked("acd", "bd")
    world.meet(*"abcd")
    assert inside(world, "a") == inside(world, "b") == people("ab")
    assert inside(world, "c") == people("abc")


def test_r15_a_witness_joins_forks_that_overlap() -> None:
    world = forked("ac", "bd")
    world.settle()
    assert prefers(world, "a") == prefers(world, "b")
    assert inside(world, "a") == people("ab")
    assert len(world["a"].here.view[prefers(world, "a")].previous) == 2


def test_r16_he_waits_for_a_random_time_first_and_the_same_after_a_restart() -> None:
    world = forked("ac", "bd")
    world.meet(*"abcd")
    least, most = group_limits.RESOLVE_WAIT_US
    wakes = set()
    for number in range(20):
        seed = bytes([number])
        first = plan(world["a"].here, person("a"), since_us={}, now_us=0, seed=seed)
        assert first.steps == ()
        assert first.wake_us is not None
        assert least <= first.wake_us <= most
        wakes.add(first.wake_us)
        later = plan(
            world["a"].here, person("a"), since_us=first.since_us, now_us=first.wake_us - 1, seed=seed
        )
        assert (later.steps, later.wake_us) == ((), first.wake_us)
        due = plan(world["a"].here, person("a"), since_us=later.since_us, now_us=first.wake_us, seed=seed)
        # Those excluded in either fork are excluded in the other one, too, where they can read it.
        assert [type(step) for step in due.steps] == [ExcludeStep, ExcludeStep, BeginEpochStep, AddStep]
    assert len(wakes) == 20


def test_r17_r18_he_stands_down_if_another_was_faster() -> None:
    world = forked("ac", "bd")
    world.meet(*"abcd")
    a, b = world["a"], world["b"]
    waiting = plan(b.here, b.id, since_us={}, now_us=0, seed=b"b")
    assert waiting.wake_us is not None
    a.act(0)
    a.act(group_limits.RESOLVE_WAIT_US[1])
    world.meet(*"abcd")
    after = plan(b.here, b.id, since_us=waiting.since_us, now_us=waiting.wake_us, seed=b"b")
    assert (after.steps, after.since_us, after.wake_us) == ((), {}, None)
    assert b.prefers == a.prefers


def test_r19_two_who_join_forks_at_the_same_time_agree_by_the_tie_break() -> None:
    world = forked("ac", "bd")
    world.meet(*"abcd")
    for name in "ab":
        world[name].act(0)
        world[name].act(group_limits.RESOLVE_WAIT_US[1])
    world.meet(*"abcd")
    assert len(world.omniscient().view.epochs) == 5
    assert prefers(world, "a") == prefers(world, "b")
    assert inside(world, "a") == people("ab")


def test_r20_nobody_acts_on_forks_without_witnesses() -> None:
    world = forked("acd", "cab")
    world.settle()
    assert len(world.omniscient().view.epochs) == 3
    assert inside(world, "a") == inside(world, "b") == people("ab")
    assert inside(world, "c") == inside(world, "d") == people("cd")


def test_r21_additions_make_witnesses_and_the_rules_apply_to_them() -> None:
    world = forked("acd", "cab")
    world.settle()
    d = world["d"]
    d.do([AddStep(d.prefers, (person("a"), person("b")))])
    world.settle()
    assert inside(world, "a") == inside(world, "b") == people("ab")
    assert world["a"].here.view.preference(person("a")).rules == (PreferenceRule.SUBSET,)
    assert inside(world, "d") == people("abcd")


def test_r22_what_needs_no_new_epoch_comes_first() -> None:
    world = start("abcde")
    for by, out in (("c", "de"), ("d", "ce"), ("a", "cde")):
        world[by].do(exclude(world[by].here, person(by), people(out)))
    world.settle()
    assert len(world.omniscient().view.epochs) == 4
    assert prefers(world, "a") == prefers(world, "b")
    assert inside(world, "b") == people("ab")


def test_r23_everybody_prefers_among_the_epochs_that_he_is_in() -> None:
    world = start("abc")
    zero = prefers(world, "c")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")]))
    world.meet(*"abc")
    assert world["c"].prefers == zero
    assert world["c"].here.view.preference(person("c")).excluded
    assert world["c"].here.view.preference(person("z")).epoch is None
    group = world["c"].here
    stranger = draft_content(group, "post", b"let me in")
    world.member("z").group = group
    world["z"].publish(stranger, group.view[zero].key)
    assert [line.flaw.rule for line in group.audit() if line.flaw is not None] == ["R23"]


def test_r24_one_writes_in_the_preferred_epoch_and_nowhere_if_excluded() -> None:
    world = start("abc")
    world["a"].do(exclude(world["a"].here, person("a"), [person("c")]))
    world.meet(*"abc")
    assert writing_epoch(world["b"].here.view, person("b")) == world["a"].prefers
    assert writing_epoch(world["c"].here.view, person("c")) is None


def test_r25_r26_r27_who_is_excluded_is_no_longer_fetched_but_served() -> None:
    world = start("abc")
    zero = prefers(world, "a")
    a = world["a"]
    feeds = {person("c"): (person("c in zero"), 5)}
    a.publish(draft_exclude(a.here, zero, [person("c")], feeds=feeds), a.here.view[zero].key)
    assert replication(a.here, a.id).cease == {}  # all of the preferred epoch is fetched
    a.act(0)
    found = replication(a.here, a.id)
    assert found.cease == {EpochFeed(zero, person("c")): 5}
    assert EpochFeed(zero, person("b")) in found.fetch
    assert {EpochFeed(prefers(world, "a"), person(name)) for name in "ab"} <= found.fetch
    served = {EpochFeed(zero, person(name)) for name in "abc"}
    served |= {EpochFeed(prefers(world, "a"), person(name)) for name in "ab"}
    assert served == found.fetch | found.cease.keys()


def test_r28_what_others_follow_may_be_fetched_by_itself() -> None:
    world = start("abc")
    b = world["b"]
    b.say("one")
    b.say("two")
    *held, one, two = b.held.values()
    world["a"].receive([*held, two])
    assert set(world["a"].here.tangle.missing) == {one.id}
    world["a"].receive([one])
    assert not world["a"].here.tangle.missing


def test_r25_r28_all_is_fetched_while_something_is_missing_that_somebody_knew_who_changed_the_group() -> None:
    world = start("abcd")
    zero = prefers(world, "a")
    c = world["c"]
    c.do(exclude(c.here, c.id, [person("d")]))
    exclusion, *rest = list(c.held.values())[-3:]
    a = world["a"]
    a.do(exclude(a.here, a.id, [person("c")]))
    assert replication(a.here, a.id).cease == {EpochFeed(zero, person("c")): None}
    a.receive(rest)
    assert replication(a.here, a.id).cease == {}
    a.receive([exclusion])
    assert replication(a.here, a.id).cease.keys() == {
        EpochFeed(zero, person("c")),
        *({EpochFeed(zero, person("d"))} if prefers(world, "a") != zero else ()),
    }


@pytest.mark.parametrize("linked", [True, False])
def test_r29_a_newcomer_gets_the_keys_of_all_epochs(*, linked: bool) -> None:
    """Epochs that were begun by earlier versions have no link to the key of the epoch before."""
    world = start("abcd", "ef")
    for out in "cd":
        steps = exclude(world["a"].here, person("a"), [person(out)])
        unlinked = [replace(step, old_keys=()) if isinstance(step, AddStep) else step for step in steps]
        world["a"].do(steps if linked else unlinked)
    world.meet(*"abcd")
    b = world["b"]
    steps = add(b.here, b.id, [person("e")])
    *before, last = b.here.view.epochs
    assert steps == (AddStep(last, (person("e"),), () if linked else tuple(before)),)
    b.do(steps)
    world.meet(*"abcde")
    e = world["e"]
    assert list(e.here.view.epochs) == [*before, last]
    assert e.prefers == b.prefers
    assert all(tasks(member.here, member.id) == () for member in map(world.member, "abe"))
    (step,) = add(e.here, e.id, [person("f")])
    assert isinstance(step, AddStep)
    assert step.old_keys == (), "everybody with the key of the epoch opens the addition of e"


@pytest.mark.parametrize("out", ["d", "cd"])
def test_r29_what_an_addition_lacks_is_added_by_others(out: str) -> None:
    world = start("abcd")
    world.member("e")
    for by in "ab":
        for one in out:
            world[by].do(exclude(world[by].here, person(by), [person(one)]))
    world["b"].do(add(world["b"].here, person("b"), [person("e")]))
    world.meet(*"abcde")
    assert {task.purpose for task in tasks(world["a"].here, person("a"))} == {TaskPurpose.REPAIR}
    wake = world["a"].act(0)
    assert wake is not None
    assert group_limits.REPAIR_WAIT_US[0] <= wake
    world["a"].act(group_limits.REPAIR_WAIT_US[1])
    world.meet(*"abcde")
    assert world["e"].prefers == world["a"].prefers


def test_r30_people_are_added_before_a_new_epoch_is_made() -> None:
    world = forked("ac", "bd", "abcd")
    world.member("e")
    world["b"].do(add(world["b"].here, person("b"), [person("e")]))
    world.meet(*"abcde")
    a = world["a"]
    first, *_ = exclude(a.here, a.id, [person("b")])
    assert isinstance(first, AddStep)
    assert first.people == (person("e"),)
    resolve = [task for task in tasks(a.here, a.id) if task.purpose is TaskPurpose.RESOLVE]
    assert all(isinstance(step, AddStep) for task in resolve for step in task.steps)


def test_r30_nobody_is_soon_added_to_an_epoch_while_something_is_missing_that_its_maker_knew() -> None:
    world = start("ab", "cd")
    b = world["b"]
    b.do(add(b.here, b.id, [person("c"), person("d")]))
    world.meet(*"abcd")
    a = world["a"]
    a.do(exclude(a.here, a.id, [person("d")]))
    *_held, exclusion, init, addition = a.held.values()
    for name in "bc":
        member = world[name]
        member.receive([init, addition])
        assert person("d") in member.here.view[init.id].missing
        found = plan(member.here, member.id, since_us={}, now_us=0, seed=b"")
        assert found.steps == ()
        assert [task.purpose for task in found.tasks] == [TaskPurpose.GUESS]
        assert found.wake_us is not None
        assert found.wake_us >= group_limits.GUESS_WAIT_US[0]
        member.receive([exclusion])
        assert person("d") not in member.here.view[init.id].missing
        assert tasks(member.here, member.id) == ()


def test_r31_who_was_added_anywhere_belongs_in_unless_excluded_on_the_way() -> None:
    world = forked("ac", "bd", "abcd")
    world.member("e")
    world["b"].do(add(world["b"].here, person("b"), [person("e")]))
    world.meet(*"abcde")
    view = world["a"].here.view
    (left,) = [epoch for epoch in view.epochs.values() if epoch.creator == person("a") and epoch.previous]
    assert left.correct == people("abde")
    assert left.missing == people("e")
    assert left.without == people("c")


def test_another_member_completes_what_a_vanished_one_began() -> None:
    world = start("abcd")
    a, b = world["a"], world["b"]
    a.do(exclude(a.here, a.id, [person("d")])[:1])
    world.meet(*"bcd", "a")
    (task,) = tasks(b.here, b.id)
    assert task.purpose is TaskPurpose.COMPLETE
    assert [type(step) for step in task.steps] == [BeginEpochStep, AddStep]
    wake = b.act(0)
    assert wake is not None
    assert group_limits.COMPLETE_WAIT_US[0] <= wake <= group_limits.COMPLETE_WAIT_US[1]
    b.act(wake)
    world.meet(*"abcd")
    assert prefers(world, "a") == prefers(world, "b") == prefers(world, "c")
    assert inside(world, "c") == people("abc")
    assert tasks(world["d"].here, person("d")) == ()


def test_a_new_epoch_leaves_out_who_was_excluded_in_forks_that_lost_too() -> None:
    keys = sorted((key_of(number) for number in range(4)), key=bytes)
    zero, pair, three, base = (message_id(name) for name in ("zero", "pair", "three", "base"))
    out = [Exclusion(message_id(f"{one} out"), person("d"), zero, {person(one): None}) for one in "abc"]
    of_a, of_b, of_c = (frozenset([one.id]) for one in out)
    view = EpochGraph(
        [
            Epoch(zero, keys[3], person("d"), (), people("abcd")),
            Epoch(pair, keys[1], person("d"), (zero,), people("cd"), exclusions=of_b, without=people("b")),
            Epoch(three, keys[2], person("d"), (zero,), people("bcd"), exclusions=of_a, without=people("a")),
            Epoch(
                base,
                keys[0],
                person("d"),
                (zero,),
                people("ad"),
                exclusions=of_b | of_c,
                without=people("bc"),
            ),
        ],
        out,
    )
    found = view.preference(person("d"))
    assert found.rules == (PreferenceRule.SUBSET, PreferenceRule.OVERLAP)
    assert found.resolution is not None
    assert (found.resolution.base, found.resolution.others) == (base, frozenset([pair]))
    assert found.resolution.exclude == people("a")


def test_who_excludes_somebody_joins_forks_along_with_it() -> None:
    world = forked("ac", "bd", "abcde")
    world.meet(*"abcde")
    world["a"].do(exclude(world["a"].here, person("a"), [person("e")]))
    assert inside(world, "a") == people("ab")
    world.settle()
    assert prefers(world, "b") == prefers(world, "a")


def test_whom_others_excluded_elsewhere_leaves_it_to_them() -> None:
    world = forked("ae", "ce", "abcdeh")
    d = world["d"]
    d.receive(world["c"].held.values())
    d.do(exclude(d.here, d.id, [person("b")])[:1])
    world.member("z")
    world["a"].do(add(world["a"].here, person("a"), [person("z")])[:1])
    world.meet(*"abcdeh")
    b = world["b"].here.view.preference(person("b"))
    assert (len(b.tips), b.excluded) == (2, False)
    assert tasks(world["b"].here, person("b")) == ()
    assert TaskPurpose.REPAIR in {task.purpose for task in tasks(world["c"].here, person("c"))}


def test_whom_an_exclusion_names_undoes_it_for_nobody() -> None:
    world = forked("acd", "cab", "abcde")
    world.meet(*"abcde")
    a = world["a"]
    a.do(exclude(a.here, a.id, [person("e")]))
    assert inside(world, "a") == people("ab")
    assert people("ab") in a.here.resolved.standing.values()


def test_r31_who_was_taken_on_again_belongs_in_a_fork_made_by_somebody_who_had_not_heard_of_it() -> None:
    world = start("abcd")
    a, b, c = (world[name] for name in "abc")
    a.do(exclude(a.here, a.id, [c.id])[:1])
    world.meet("a", "b")
    b.do([BeginEpochStep((b.here.root,)), AddStep(None, (a.id, b.id, person("d")))])  # completes it
    a.act(0)
    a.do(add(a.here, a.id, [c.id]))
    world.settle()
    assert prefers(world, "a") == prefers(world, "b") == prefers(world, "c")
    assert c.id in inside(world, "a")


@pytest.mark.parametrize("knew", [False, True])
def test_r31_who_was_excluded_takes_on_nobody_unseen(knew: bool) -> None:
    world = start("abcd")
    a, c, d = (world[name] for name in "acd")
    a.do(exclude(a.here, a.id, [c.id]))
    world.meet(*"abcd")
    back = draft_add(d.here, d.here.root, [c.id])
    if knew:
        d.publish(back)
        world.meet(*"abcd")
    a.do(exclude(a.here, a.id, [d.id]))
    if not knew:
        d.publish(back)  # as if they had not heard of their own exclusion
    world.settle()
    assert inside(world, "a") == people("abc" if knew else "ab")


def test_r31_who_was_brought_in_unseen_is_not_handed_keys_of_epochs_in_between() -> None:
    world = start("abcd", "z")
    a, d = world["a"], world["d"]
    for out in "cd":
        a.do(exclude(a.here, a.id, [person(out)]))
        world.meet(*"ab")
    d.do([AddStep(d.here.root, (person("z"),))])
    _, between, last = a.here.view.epochs
    world.settle()
    assert person("z") not in a.here.view[between].members  # that would vouch for them in the last
    assert prefers(world, "a") == last
    assert inside(world, "a") == people("ab")
    assert person("z") in a.here.resolved.doubtful[last]


def test_r15_who_is_excluded_in_a_fork_leaves_it_to_others_to_join_it() -> None:
    world = start("abcdgjh")
    d, j = world["d"], world["j"]
    d.do(exclude(d.here, d.id, [person("g"), j.id])[:1])
    j.do(exclude(j.here, j.id, [person("h")]))
    world.meet("d", "j")
    j.do(exclude(j.here, j.id, [person("c")]))  # after their own exclusion and g's
    world["a"].do(exclude(world["a"].here, person("a"), [d.id]))
    world.meet(*"abcdgjh")
    for name, member in world.members.items():
        for task in tasks(member.here, member.id):
            named = [step.people for step in task.steps if isinstance(step, ExcludeStep)]
            assert all(member.id not in people for people in named), f"{name} would exclude himself, for ever"
    world.settle()
