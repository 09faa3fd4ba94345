import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pzp.messages.vectors import FOLDER
from tests.pzp.sync.replicas import ALL, NONE, Replica, Wire, World, clone, newest, world
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.goals import Goal, GoalKind, parse_goal
from tinyssb_node.pzp.messages.tangle import PzpTangle, RootFacts
from tinyssb_node.pzp.messages.versions import V2
from tinyssb_node.pzp.sync import limits
from tinyssb_node.pzp.sync.holdings import TangleHoldings
from tinyssb_node.pzp.sync.packets import DepthRange
from tinyssb_node.pzp.sync.sync import PzpSyncViolation, SyncCompleted

SEEDS = range(6)


def some(one: World, chance: random.Random) -> list[message.Message]:
    """The beginning of a feed, without what somebody did not hear of, nor what cannot be checked without that."""
    posts = one.posts[: chance.randrange(1, len(one.posts) + 1)]
    return [post for post in posts if chance.random() < 0.9]


def replica(one: World, chance: random.Random, goal: Goal) -> Replica:
    made = Replica({one.group: ALL, one.feed: goal})
    if chance.random() < 0.2:
        return made
    one.fill(made, some(one, chance))
    if goal.keep is GoalKind.NEWEST:
        made.prune(one.feed)
    if chance.random() < 0.3 and len(made.tangle(one.feed)) > 2:
        made.erase(chance.choice(sorted(made.whole(one.feed) - {one.feed})))
    return made


def expected(before: Replica, other: Replica, feed: str) -> set[str]:
    """Return the messages of *feed* that *before* has to hold after a sync with *other*."""
    goal = before.goal(feed)
    held = {one: before.tangle(feed).depth(one) or 0 for one in before.whole(feed)}
    theirs = {one: other.tangle(feed).depth(one) or 0 for one in other.whole(feed)}
    both = held | theirs
    if goal.keep is GoalKind.NEWEST:
        least = max(both.values(), default=0) - goal.count
        theirs = {one: depth for one, depth in theirs.items() if depth > least}
    unwanted = before.ghosts(feed).keys() | before.erased
    return (held.keys() | theirs.keys()) - unwanted


def check_pair(one: Replica, other: Replica, feed: str) -> None:
    for held in (one, other):
        tangle = held.tangle(feed)
        assert not held.refusals
        assert all(tangle.certificate(id_) for id_ in tangle.slice(0, limits.DEPTH_MAX))


goals = st.sampled_from([ALL, newest(1), newest(3), newest(7)])


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(SEEDS), st.integers(), goals, goals)
def test_both_hold_the_union_as_far_as_they_want(
    seed: int, chance_seed: int, goal: Goal, other_goal: Goal
) -> None:
    here, chance = world(seed), random.Random(chance_seed)
    one, other = replica(here, chance, goal), replica(here, chance, other_goal)
    wanted, other_wanted = expected(one, other, here.feed), expected(other, one, here.feed)
    wire = Wire(one, other, chance_seed)
    wire.sides[0].start(here.feed)
    (event,) = wire.run()
    assert isinstance(event, SyncCompleted)
    assert event.complete
    assert wire.packets <= 2 + 4 * limits.ROUNDS_MAX + 1
    assert one.whole(here.feed) >= wanted
    assert other.whole(here.feed) >= other_wanted
    check_pair(one, other, here.feed)
    assert all(side.idle or side.next_wake_us() is not None for side in wire.sides)
    ended = one.whole(here.feed), other.whole(here.feed)
    wire.sides[1].start(here.feed)
    wire.run()
    assert (one.whole(here.feed), other.whole(here.feed)) == ended


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(SEEDS), st.integers(), goals)
def test_lost_packets_and_restarts_cost_time_only(seed: int, chance_seed: int, goal: Goal) -> None:
    here, chance = world(seed), random.Random(chance_seed)
    one, other = replica(here, chance, goal), replica(here, chance, ALL)
    wanted, other_wanted = expected(one, other, here.feed), expected(other, one, here.feed)
    wire = Wire(one, other, chance_seed, lose=0.15)
    for _ in range(400):
        wire.sides[0].start(here.feed)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(limits, "BATCH_SIZE", 2_000)
            events = wire.run(most=chance.randrange(1, 40))
        if chance.random() < 0.3:
            wire.restart()
        elif any(isinstance(event, SyncCompleted) for event in events):
            break
        else:
            wire.stall()
    else:
        pytest.fail("never done")
    assert one.whole(here.feed) >= wanted
    assert other.whole(here.feed) >= other_wanted
    check_pair(one, other, here.feed)


@pytest.mark.parametrize(
    "run", json.loads((FOLDER / "v2-sync.json").read_text("utf-8"))["runs"], ids=lambda run: run["name"]
)
def test_what_the_original_ends_with(run) -> None:
    vectors = json.loads((FOLDER / "v2-sync.json").read_text("utf-8"))
    feed = vectors["rootHash"]
    posts = [vectors["feedRoot"], *(record["msg"] for record in vectors["msgs"])]
    here = World(vectors["group"], feed, "", [vectors["groupRoot"]], posts, [])
    sides = [
        here.fill(Replica({feed: parse_goal(run[f"goal{name}"])}), posts[: run[f"have{name}"] + 1])
        for name in "AB"
    ]
    wire = Wire(sides[0], sides[1])
    wire.sides[0].start(feed)
    assert isinstance(wire.run()[0], SyncCompleted)
    for side, name in zip(sides, "AB", strict=True):
        side.prune(feed)
        ended = {record["hash"] for record in run[f"after{name}"] if not record["erased"]}
        if ended:  # where the original forgot the root, it ends with nothing
            assert side.whole(feed) == ended
        else:
            assert side.whole(feed) == {message.message_id(V2.fields, one) for one in posts}


def test_a_thread_comes_with_the_identities_of_those_in_it() -> None:
    here = world(1)
    one, other = here.fill(Replica(), replies=True), Replica()
    wire = Wire(one, other)
    wire.sides[1].start(here.thread)
    wire.run()
    assert other.whole(here.thread) == one.whole(here.thread)
    assert len(other.tangle(here.group)) == 3
    assert not other.refusals
    assert len(other.tangle(here.feed)) == 0


def test_an_identity_is_a_tangle_too() -> None:
    here = world(1)
    wire = Wire(here.fill(Replica()), Replica())
    wire.sides[0].start(here.group)
    wire.run()
    assert wire.other.tangle(here.group).keys == wire.one.tangle(here.group).keys


def test_a_new_key_comes_even_if_nobody_wrote_with_it() -> None:
    here = world(1)
    one, other = here.fill(Replica(), here.posts[:1]), Replica()
    for founding in here.identity[:2]:
        other.add(here.group, founding)
    other.add(here.feed, here.posts[0])
    wire = Wire(one, other)
    wire.sides[0].start(here.feed)
    wire.run()
    assert len(other.tangle(here.group)) == 3


def test_the_newest_come_with_short_ways_to_the_root() -> None:
    here = world(7, 300, 0.0)
    one, other = here.fill(Replica()), Replica({here.feed: newest(3)}, default=NONE)
    wire = Wire(one, other)
    wire.sides[1].start(here.feed)
    wire.run()
    tangle = other.tangle(here.feed)
    assert other.whole(here.feed) == {here.feed, *here.ids()[-3:]}
    assert len(tangle) <= 3 + 20
    assert tangle.certificate(here.ids()[-1]) is not None


def test_what_was_erased_or_deleted_does_not_come_back_and_what_another_erased_can() -> None:
    here = world(2)
    one, other = here.fill(Replica()), here.fill(Replica({here.feed: newest(4)}))
    third = Replica()
    other.prune(here.feed)
    mine = here.ids()[-1]
    one.erase(mine)
    kept = other.whole(here.feed)
    for pair in (Wire(one, other), Wire(other, third)):
        pair.sides[0].start(here.feed)
        pair.run()
    assert mine not in one.whole(here.feed)
    assert other.whole(here.feed) == kept
    assert third.whole(here.feed) == kept
    assert third.bare(here.feed)
    rest = Wire(third, one)
    rest.sides[0].start(here.feed)
    rest.run()
    assert third.whole(here.feed) == set(here.ids())
    assert mine not in one.whole(here.feed)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_branch_of_a_fork_has_its_way_to_the_root(seed: int) -> None:
    here = world(seed, 30, 0.8)
    one = here.fill(Replica())
    for count in range(1, 9):
        other = Replica({here.feed: newest(count)}, default=NONE)
        wanted = expected(other, one, here.feed)
        wire = Wire(other, one)
        wire.sides[0].start(here.feed)
        wire.run()
        assert other.whole(here.feed) >= wanted
        check_pair(one, other, here.feed)


def test_what_was_deleted_is_not_even_offered() -> None:
    here = world(4)
    one, other = here.fill(Replica()), here.fill(Replica())
    tip, tangle = here.ids()[-1], other.tangle(here.feed)
    other.deleted[here.feed] = {tip: tangle.depth(tip) or 0}
    tangle.remove(tip)
    del other.messages[tip]
    wire = Wire(one, other)
    wire.sides[0].start(here.feed)
    assert wire.run() == [SyncCompleted(here.feed, True, 0, 0, 0)]
    assert tip not in other.messages


def test_both_may_begin_at_once() -> None:
    here = world(3)
    wire = Wire(here.fill(Replica(), here.posts[:12]), here.fill(Replica(), here.posts[:20]))
    for side in wire.sides:
        side.start(here.feed)
    wire.run()
    assert wire.one.whole(here.feed) == wire.other.whole(here.feed) == set(here.ids()[:20])


def test_many_tangles_take_turns_and_too_many_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EXCHANGES_MAX", 2)
    monkeypatch.setattr(limits, "WAITING_MAX", 6)
    worlds = [world(seed) for seed in SEEDS]
    one, other = Replica(), Replica()
    for here in worlds:
        here.fill(one)
    wire = Wire(one, other)
    assert all(wire.sides[0].start(here.feed) for here in worlds)
    assert wire.sides[0].start(worlds[0].feed)
    assert not wire.sides[0].start("another")
    events = wire.run()
    assert {event.root for event in events if isinstance(event, SyncCompleted)} == {
        here.feed for here in worlds
    }
    assert all(other.whole(here.feed) == one.whole(here.feed) for here in worlds)


def test_windows_follow_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_IDS_MAX", 7)
    monkeypatch.setattr(limits, "BATCH_SIZE", 1_000)
    here = world(4)
    for posts in ([], here.posts[:10], here.posts[:20]):
        wire = Wire(here.fill(Replica()), here.fill(Replica(), posts))
        wire.sides[0].start(here.feed)
        (event,) = wire.run()
        assert isinstance(event, SyncCompleted)
        assert event.complete
        assert wire.other.whole(here.feed) == set(here.ids())
        assert not wire.other.refusals
        assert wire.other.batches > 10


def test_windows_in_which_nothing_differs_are_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_IDS_MAX", 20)
    here = world(7, 300, 0.0)
    ids = here.ids()
    for missing, windows in (({300}, 1), ({100}, 1), (set(), 0), ({50, 250}, 2)):
        posts = [post for place, post in enumerate(here.posts) if place not in missing]
        wire = Wire(here.fill(Replica()), here.fill(Replica(), posts))
        wire.sides[0].start(here.feed)
        (event,) = wire.run()
        assert isinstance(event, SyncCompleted)
        assert event.complete
        assert len(missing) <= event.given <= len(missing) + 20 * windows
        assert wire.other.whole(here.feed) == set(ids)
        assert wire.packets <= 3 + 13 * windows


def test_a_sync_ends_after_so_many_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_IDS_MAX", 5)
    monkeypatch.setattr(limits, "WINDOWS_MAX", 2)
    here = world(4)
    wire = Wire(here.fill(Replica()), Replica())
    wire.sides[0].start(here.feed)
    (event,) = wire.run()
    assert isinstance(event, SyncCompleted)
    assert not event.complete
    assert 0 < len(wire.other.whole(here.feed)) < 20


def test_one_depth_with_too_many_messages_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_IDS_MAX", 4)

    class AllWhole(Replica):
        def bare(self, root: str) -> dict[str, bool]:  # noqa: ARG002 - a port's signature
            return {}

    held = AllWhole()
    tangle = held.tangles["root"] = PzpTangle("root")
    tangle.add_root(RootFacts())
    for number in range(9):
        tangle.add(f"m{number}", 1, ["root"])
    assert TangleHoldings(held, "root").window(DepthRange(0, 5)).depths == DepthRange(0, 0)
    assert TangleHoldings(held, "root").window(DepthRange(1, 5)).depths == DepthRange(1, 1)
    assert len(TangleHoldings(held, "root").window(DepthRange(1, 5)).ids) == 4


def test_a_replica_that_changes_meanwhile_does_no_harm() -> None:
    here = world(5)
    one, other = here.fill(Replica()), Replica()
    wire = Wire(one, other)
    wire.sides[0].start(here.feed)
    wire.run(most=6)
    before = clone(one)
    one.goals[here.feed] = newest(5)
    one.prune(here.feed)
    wire.run()
    again = Wire(before, other)
    again.sides[0].start(here.feed)
    again.run()
    assert other.whole(here.feed) == set(here.ids())


def test_where_nobody_wants_anything_nothing_happens() -> None:
    here = world(1)
    wire = Wire(here.fill(Replica(default=NONE)), Replica(default=NONE))
    wire.sides[0].start(here.feed)
    assert wire.run() == [SyncCompleted(here.feed, True, 0, 0, 0)]
    assert wire.packets == 3
    assert not wire.other.messages


@pytest.mark.parametrize(("name", "most"), [("GIVEN_SIZE_MAX", 6_000), ("GIVEN_MAX", 8), ("WAYS_MAX", 10)])
def test_what_is_too_much_for_a_round_comes_in_another(
    monkeypatch: pytest.MonkeyPatch, name: str, most: int
) -> None:
    monkeypatch.setattr(limits, name, most)
    here = world(2)
    one, other = here.fill(Replica()), Replica()
    for _ in range(10):
        wire = Wire(one, other)
        wire.sides[0].start(here.feed)
        wire.run()
    assert other.whole(here.feed) == one.whole(here.feed)
    assert not any(isinstance(event, PzpSyncViolation) for event in wire.said)
