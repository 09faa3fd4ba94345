"""Exclusions by people who had been excluded long before: nothing happens until a person decides."""

import pytest

from tests.groups.mesh import HOUR_US, MINUTE_US, begun
from tests.groups.pretender import Pretender, in_model, on_node
from tests.groups.world import Member, World, start
from tinyssb_node.groups import limits
from tinyssb_node.groups.late_forks import LateReason
from tinyssb_node.groups.plan import AddStep, GroupRefusalError, add, exclude, join

DAY_US = 24 * HOUR_US
MONTH_US = 30 * DAY_US


def long_ago(names: str = "abcde", us: int = MONTH_US) -> tuple[World, Pretender]:
    """A group from which a excluded c some time ago, and c, who pretends not to know."""
    world = start(names)
    a, c = world["a"], world["c"]
    a.do(exclude(a.here, a.id, [c.id]))
    world.settle(0)
    world.now_us += us
    return world, in_model(c)


def members(world: World, *names: str) -> list[str]:
    """Return the members of the epoch that each of these prefers."""
    views = [(world[name].here.view, world[name].prefers) for name in names]
    return [
        "".join(
            sorted(
                one.name for one in world.members.values() if preferred and one.id in view[preferred].members
            )
        )
        for view, preferred in views
    ]


def reasons(member: Member) -> list[tuple[LateReason, ...]]:
    return [one.reasons for one in member.here.late_forks]


# --- an ex-member


@pytest.mark.parametrize("steps", [["a", "b", "d", "e"], ["ab", "d", "e"], ["abd"], ["b"], ["abde"]])
@pytest.mark.parametrize("inside", [True, False])
def test_nothing_that_an_ex_member_writes_takes_anybody_out(steps: list[str], *, inside: bool) -> None:
    world, pretender = long_ago()
    for names in steps:
        people = {world[name].id for name in names} & pretender.members
        pretender.exclude(people, inside=inside)
        before = set(world.all)
        world.settle(world.now_us)
        assert {world.all[id_].author for id_ in world.all.keys() - before} <= {pretender.me}
        assert members(world, *"abde") == ["abde"] * 4


def test_an_ex_member_cannot_empty_the_group_of_real_nodes() -> None:
    mesh, root = begun("abcd")
    mesh.exclude("a", root, "c")
    mesh.settle()
    mesh.settle(8 * DAY_US)
    pretender = on_node(mesh, "c", root)
    for name in "ab":
        pretender.exclude([mesh.id(name)])
        mesh.settle(2 * HOUR_US)
        assert {mesh.members(one, root) for one in "abd"} == {"abd"}
        assert [mesh[one].due(root, mesh.world.now_us) for one in "abd"] == [[]] * 3
    assert LateReason.DAYS in mesh.group("d", root).late_forks[0].reasons
    mesh.say("b", root, "still here")
    mesh.settle(MINUTE_US)
    assert [mesh.texts(one, root) for one in "abcd"] == [["still here"], ["still here"], [], ["still here"]]


def test_what_is_written_meanwhile_does_not_follow_the_fork() -> None:
    """People whom the fork excludes cannot read it, so they would wait for it for ever."""
    world, pretender = long_ago()
    pretender.exclude([world["a"].id])
    world.settle(world.now_us)
    world["b"].say("for a too")
    b = world["b"]
    b.do(exclude(b.here, b.id, [world["e"].id]))
    world.settle(world.now_us)
    assert not world["a"].here.tangle.waiting
    assert members(world, *"abd") == ["abd"] * 3


def test_an_ex_member_cannot_go_on_in_an_old_fork_by_others_that_was_settled() -> None:
    """Older messages of others in the same fork do not make the exclusions by an ex-member as old."""
    world = start("abcdef")
    c, a = world["c"], world["a"]
    c.do(exclude(c.here, c.id, [world["f"].id]))
    world.meet(*"cbde")
    world.now_us += HOUR_US
    a.do(exclude(a.here, a.id, [world[name].id for name in "cef"]))
    world.settle(world.now_us)
    assert members(world, *"abd") == ["abd"] * 3  # fewer members: nothing has to be joined (4.5)
    world.now_us += MONTH_US
    b = world["b"]
    before = b.here.view.open_tips(b.id)
    in_model(world["e"]).exclude([a.id])
    world.settle(world.now_us)
    assert members(world, *"abd") == ["abd"] * 3
    assert reasons(b) == [(LateReason.DAYS,)]
    assert b.here.view.open_tips(b.id) == before  # the old fork counts as if the new epoch had not arrived


def test_excluded_people_who_take_each_other_on_again_take_nobody_out() -> None:
    """Then one of them follows their own exclusion, as somebody who is a member again."""
    world = start("abcdef")
    a, b, c, f = (world[name] for name in "abcf")
    a.do(exclude(a.here, a.id, [c.id]))
    b.do(exclude(b.here, b.id, [f.id]))
    world.meet(*"bcf")
    c.do(add(c.here, c.id, [f.id]))
    world.meet(*"cf")
    world.settle(0, gone="cf")
    assert members(world, *"abde") == ["abde"] * 4
    world.meet(*"abdef")
    world.now_us += MONTH_US
    f.do(exclude(f.here, f.id, [a.id, b.id]))
    world.settle(world.now_us)
    assert members(world, *"abde") == ["abde"] * 4


def test_people_whom_a_held_fork_excludes_are_added_where_they_are_lacking() -> None:
    world, pretender = long_ago("abcdef")
    pretender.exclude([world["d"].id])
    world.settle(world.now_us)
    a = world["a"]
    steps = exclude(a.here, a.id, [world["f"].id])
    a.do(
        [*steps[:2], AddStep(None, (a.id, world["b"].id, world["e"].id))]
    )  # a forgets d, and does not come back
    world.meet(*"abdef")
    world.settle(world.now_us, gone="a")
    assert members(world, *"bde") == ["abde"] * 3


# --- each bound


def test_the_first_exclusions_by_somebody_who_was_just_excluded_are_joined_once() -> None:
    world, pretender = long_ago(us=DAY_US)
    pretender.exclude([world["a"].id])
    world.settle(world.now_us)
    assert members(world, *"bde") == ["bde"] * 3
    pretender.exclude([world["b"].id])
    world.settle(world.now_us)
    assert members(world, *"bde") == ["bde"] * 3
    assert reasons(world["d"]) == [(LateReason.AGAIN,)]


def test_each_of_several_who_were_just_excluded_takes_somebody_out() -> None:
    world = start("abcdefgh")
    a, c, f = (world[name] for name in "acf")
    a.do(exclude(a.here, a.id, [c.id, f.id]))
    world.settle(0)
    world.now_us += DAY_US
    for member, other in [(c, "b"), (f, "d")]:
        in_model(member).exclude([world[other].id])
        world.settle(world.now_us)
    assert members(world, *"aegh") == ["aegh"] * 4


def test_the_bound_in_days() -> None:
    for us, waits in [(limits.LATE_US - 1, False), (limits.LATE_US, True)]:
        world, pretender = long_ago(us=us)
        pretender.exclude([world["a"].id])
        world.meet(*"abcde")
        assert reasons(world["d"]) == ([(LateReason.DAYS,)] if waits else [])


def test_the_bound_in_messages_for_a_node_that_got_everything_at_once() -> None:
    for count, waits in [(limits.LATE_DEPTH - 2, False), (limits.LATE_DEPTH, True)]:
        world, pretender = long_ago(us=DAY_US)
        for number in range(count):
            world["be"[number % 2]].say("hello")
        world.meet(*"abe")
        pretender.exclude([world["a"].id])
        world.meet(*"abcde")
        assert reasons(world["d"]) == ([(LateReason.DEPTH,)] if waits else [])


def test_messages_by_the_excluders_make_no_exclusion_old() -> None:
    world, pretender = long_ago(us=DAY_US)
    for _ in range(limits.LATE_DEPTH):
        world["a"].say("hello")
    pretender.exclude([world["a"].id])
    world.settle(world.now_us)
    assert members(world, *"bde") == ["bde"] * 3


def test_more_than_half_of_the_members_are_taken_out_by_nobody_who_is_out() -> None:
    world, pretender = long_ago(us=DAY_US)
    pretender.exclude([world[name].id for name in "abe"])
    world.settle(world.now_us)
    assert members(world, *"abde") == ["abde"] * 4
    assert reasons(world["d"]) == [(LateReason.SHARE,)]


# --- a person decides


def test_a_person_accepts_and_all_follow() -> None:
    world, pretender = long_ago()
    pretender.exclude([world["a"].id])
    world.settle(world.now_us)
    d = world["d"]
    (late,) = d.here.late_forks
    assert set(late.by) == {world["c"].id}
    assert set(late.out) == {world["a"].id}
    d.accept(late.tip)
    world.settle(world.now_us)
    assert members(world, *"bde") == ["bde"] * 3
    assert world["a"].here.view.preference(world["a"].id).excluded
    assert not world["b"].here.late_forks
    with pytest.raises(GroupRefusalError):
        join(d.here, d.id, late.tip)


def test_an_ex_member_whose_fork_was_accepted_cannot_go_on_in_it() -> None:
    """The epoch that joins the fork follows the exclusions written with it, so its author cannot claim that they had
    not."""
    world, pretender = long_ago("abcdef")
    pretender.exclude([world["a"].id])
    world.settle(world.now_us)
    d = world["d"]
    before = set(world.all)
    d.accept(d.here.late_forks[0].tip)
    said = {id_ for id_ in world.all.keys() - before if id_ in d.here.view.exclusions}
    assert said
    assert said <= d.here.view[d.prefers or d.here.root].exclusions
    world.settle(world.now_us)
    pretender.exclude([world["b"].id])
    world.settle(world.now_us)
    assert members(world, *"bdef") == ["bdef"] * 4


def test_a_rejected_fork_stays_rejected_after_a_restart_and_can_be_accepted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "LATE_US", HOUR_US)
    mesh, root = begun("abcd")
    mesh.exclude("a", root, "c")
    mesh.settle(2 * HOUR_US)
    pretender = on_node(mesh, "c", root)
    fork = pretender.exclude([mesh.id("a")])
    mesh.settle(MINUTE_US)
    assert (mesh["b"].open_reviews(), mesh["d"].open_reviews()) == (1, 1)
    mesh.do("d", lambda groups, _, now: groups.reject(root, fork, now))
    mesh.crash("d")
    mesh.settle(MINUTE_US)
    assert [one.rejected for one in mesh["d"].reviews(root)] == [True]
    assert (mesh["b"].open_reviews(), mesh["d"].open_reviews()) == (1, 0)
    mesh.do("d", lambda groups, pen, now: groups.accept(pen, root, fork, now))
    mesh.settle(MINUTE_US)
    assert mesh.members("b", root) == mesh.members("d", root) == "bd"
    for name in "ac":
        assert mesh.group(name, root).view.preference(mesh.id(name)).excluded
    assert not mesh["b"].reviews(root)


def two_camps() -> World:
    """Founders a and c who excluded each other, each with those that heard it from them."""
    world = start("abcde")
    for by, out in [("a", "c"), ("c", "a")]:
        one = world[by]
        one.do(exclude(one.here, one.id, [world[out].id]))
    world.meet(*"ab")
    world.meet(*"cde")
    return world


def test_two_camps_that_excluded_each_others_founders_long_ago_stay_until_somebody_accepts() -> None:
    world = two_camps()
    world.now_us += MONTH_US
    world.settle(world.now_us)
    assert members(world, *"bde") == ["abde", "bcde", "bcde"]
    before = len(world.all)
    world.settle(world.now_us + MONTH_US)
    assert len(world.all) == before
    b = world["b"]
    (late,) = b.here.late_forks
    b.accept(late.tip)
    world.settle(world.now_us)
    assert members(world, *"bde") == ["bde"] * 3
    assert all(world[name].here.view.preference(world[name].id).excluded for name in "ac")


def test_two_who_exclude_each_other_at_the_same_time_are_both_out_without_anybody_deciding() -> None:
    world = two_camps()
    world.now_us += limits.LATE_US - 1
    world.settle(world.now_us)
    assert members(world, *"bde") == ["bde"] * 3
