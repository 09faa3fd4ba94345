import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.checked import deletable_and_erasable, enter, precedes
from tests.pzp.messages.vectors import VERSION, load, tangle_of
from tinyssb_node.pzp.messages.account import keys_after
from tinyssb_node.pzp.messages.tangle import KeyChange, PzpTangle, RootFacts, in_locale_order, lipmaa_depth


def test_order_within_a_depth() -> None:
    vectors = load("sort-orders")
    assert in_locale_order(vectors["input"]) == vectors["locale"]
    assert sorted(vectors["input"]) == vectors["codeUnit"]


@pytest.mark.parametrize(
    "name", ["v1-feed-linear", "v1-feed-forks", "v2-feed-linear", "v2-feed-forks", "v2-feed-wide"]
)
def test_order_tips_and_paths_of_the_original(name: str) -> None:
    vectors = load(name)
    messages = vectors["msgs"]
    tangle = tangle_of(VERSION[name[:2]], messages[0]["hash"], messages)
    assert tangle.topological() == vectors["topoSort"]
    assert len(tangle) == len(messages)
    assert sorted(tangle.tips) == sorted(vectors.get("tips", tangle.tips))
    assert tangle.max_depth == vectors.get("maxDepth", tangle.max_depth)
    if "shortestPathToRoot" in vectors:
        last = messages[-1]["hash"]
        assert tangle.path_to_root(last) == vectors["shortestPathToRoot"]
        assert tangle.certificate(last) == [last, *vectors["shortestPathToRoot"]]


def test_what_may_be_erased_and_what_precedes_what() -> None:
    vectors = load("v2-feed-forks")
    tangle = tangle_of(VERSION["v2"], vectors["rootHash"], vectors["msgs"])
    for record in vectors["getDeletablesAndErasables"]:
        expected = record["deletables"], record["erasables"]
        assert deletable_and_erasable(tangle, record["msgHash"]) == expected
    for first, second, expected in vectors["precedes"]:
        assert precedes(tangle, first, second) == expected


def test_places_of_forks_are_the_originals() -> None:
    vectors = load("v2-feed-forks")
    by_id = {record["hash"]: record["msg"] for record in vectors["msgs"]}
    tangle = tangle_of(VERSION["v2"], vectors["rootHash"], vectors["msgs"][:1])
    for step in vectors["steps"]:
        if len(step["added"]) == 1 and "stale" not in step["tag"]:
            place = by_id[step["added"][0]]["metadata"]["tangles"][vectors["rootHash"]]
            assert (place["depth"], place["prev"]) == (step["depth"], step["prev"])
        for added in step["added"]:
            enter(VERSION["v2"].fields, by_id[added], tangle)
        assert sorted(tangle.tips) == sorted(step["tipsAfter"])


@pytest.mark.parametrize("seed", range(8))
def test_order_of_arrival_changes_nothing(seed: int) -> None:
    vectors = load("v2-feed-forks")
    messages = list(vectors["msgs"])
    random.Random(seed).shuffle(messages)
    tangle = tangle_of(VERSION["v2"], vectors["rootHash"], messages * 2)
    assert tangle.tips == set(vectors["tips"])
    assert tangle.topological() == vectors["topoSort"]
    assert len(tangle) == vectors["size"]


def test_a_message_in_two_tangles() -> None:
    vectors = load("v2-multi-tangle")
    for root, first in ((vectors["threadRoot"], "threadRootMsg"), (vectors["feedRoot"], "feedRootMsg")):
        tangle = tangle_of(VERSION["v2"], root, [vectors[first], *vectors["msgs"]])
        assert len(tangle) == 3
        assert tangle.topological()[0] == root


def chain(length: int) -> PzpTangle:
    """A feed of one author, *length* messages after the root, named by their depths."""
    tangle = PzpTangle("0")
    tangle.add_root(RootFacts())
    for depth in range(1, length + 1):
        tangle.add(str(depth), depth, sorted({str(depth - 1), str(lipmaa_depth(depth))}))
    return tangle


def test_a_certificate_is_short() -> None:
    tangle = chain(100_000)
    for depth in (100_000, 99_999, 88_573, 66_666, 54_321):
        path = tangle.certificate(str(depth))
        assert path is not None
        assert path[0] == str(depth)
        assert path[-1] == "0"
        assert all(after in tangle.prev(before) for before, after in pairwise(path))
        assert len(path) <= 60
    assert precedes(tangle, "0", "100000")
    assert tangle.slice(5, 7) == ["5", "6", "7"]


def test_no_certificate_where_links_are_missing() -> None:
    tangle = PzpTangle("0")
    tangle.add("9", 9, ["8", "7"])
    assert tangle.certificate("9") is None
    assert tangle.path_to_root("9") == []
    assert tangle.depth("8") is None
    assert "9" in tangle
    tangle.add_root(RootFacts())
    assert tangle.certificate("9") is None
    assert tangle.tips == {"9"}


def test_the_next_place_has_tips_and_lipmaa_links() -> None:
    for length in range(60):
        depth, prev = chain(length).place_of_next()
        assert depth == length + 1
        assert set(prev) == {str(length), str(lipmaa_depth(depth))}


@st.composite
def graphs(draw: st.DrawFn) -> dict[int, list[int]]:
    """Draw the predecessors of each message; 0 is the root, and every other follows some before it."""
    size = draw(st.integers(1, 14))
    before = {
        number: st.sets(st.integers(0, number - 1), min_size=1, max_size=4) for number in range(1, size)
    }
    return {0: [], **{number: sorted(draw(choice)) for number, choice in before.items()}}


def built(graph: dict[int, list[int]], chance: random.Random) -> PzpTangle:
    """A tangle of it, whose messages come in any order."""
    arrivals = list(graph)
    chance.shuffle(arrivals)
    tangle = PzpTangle("0")
    for number in arrivals:
        if number == 0:
            tangle.add_root(RootFacts(), KeyChange("key 0", "key 0"))
        else:
            depth = depth_of(graph, number)
            tangle.add(
                str(number), depth, [str(one) for one in graph[number]], KeyChange("key 0", f"key {number}")
            )
    return tangle


def depth_of(graph: dict[int, list[int]], number: int) -> int:
    return max((depth_of(graph, one) + 1 for one in graph[number]), default=0)


@given(graphs(), st.randoms(use_true_random=False))
def test_any_graph_in_any_order(graph: dict[int, list[int]], chance: random.Random) -> None:
    depths: dict[int, int] = {}
    behind: dict[int, set[int]] = {}
    for number, prev in graph.items():
        depths[number] = max((depths[one] + 1 for one in prev), default=0)
        behind[number] = set(prev).union(*(behind[one] for one in prev))
    tangle = built(graph, chance)
    followed = {one for prev in graph.values() for one in prev}
    assert tangle.tips == {str(one) for one in graph.keys() - followed}
    assert tangle.max_depth == max(depths.values())
    order = tangle.topological()
    assert tangle.slice(0, tangle.max_depth) == order
    for number, earlier in behind.items():
        assert tangle.ancestors([str(number)]) == {str(one) for one in earlier | {number}}
        for other in graph:
            known = other in earlier | {number}
            assert (f"key {other}" in keys_after(tangle, [str(number)])) == known
        assert all(order.index(str(one)) < order.index(str(number)) for one in earlier)
        for other in graph:
            assert precedes(tangle, str(other), str(number)) == (other in earlier)
        path = tangle.certificate(str(number))
        assert path is not None
        assert all(after in tangle.prev(one) for one, after in pairwise(path))
        deletable, erasable = deletable_and_erasable(tangle, str(number))
        assert sorted([*deletable, *erasable]) == sorted(order[: order.index(str(number))])


@given(graphs(), st.randoms(use_true_random=False), st.sets(st.integers(1, 13)))
def test_what_is_taken_away_was_never_there(
    graph: dict[int, list[int]], chance: random.Random, gone: set[int]
) -> None:
    tangle = built(graph, chance)
    for number in sorted(gone & graph.keys(), key=lambda _: chance.random()):
        tangle.remove(str(number))
    left, fresh = graph.keys() - gone, PzpTangle("0")
    fresh.add_root(RootFacts(), KeyChange("key 0", "key 0"))
    for number in left - {0}:
        prev = [str(one) for one in graph[number]]
        fresh.add(str(number), depth_of(graph, number), prev, KeyChange("key 0", f"key {number}"))
    for one in (tangle, fresh):
        followed = {other for number in left for other in graph[number]} | ({0} if len(left) > 1 else set())
        assert one.tips == {str(number) for number in left - followed}
        assert one.keys == {f"key {number}" for number in left}
    assert tangle.topological() == fresh.topological()
    assert (tangle.max_depth, tangle.ends) == (fresh.max_depth, fresh.ends)
    order = tangle.topological()
    for low in range(-1, 15):
        for high in range(low - 1, 15):
            found = [one for one in order if low <= (tangle.depth(one) or 0) <= high]
            assert tangle.slice(low, high) == found
            assert sorted(tangle.walk(low, high, back=True)) == sorted(found)
    back = [tangle.depth(one) or 0 for one in tangle.walk(0, 14, back=True)]
    assert back == sorted(back, reverse=True)
    assert tangle.place_of_next() == fresh.place_of_next()
    for number in left:
        assert tangle.path_to_root(str(number)) == fresh.path_to_root(str(number))
        leads = any(tangle.path_to_root(str(other))[:1] == [str(number)] for other in left)
        assert tangle.leads_others(str(number)) == leads
        assert tangle.trail([str(number)]) == set(fresh.path_to_root(str(number)))


@given(graphs(), st.randoms(use_true_random=False), st.sets(st.integers(1, 13)))
def test_an_end_follows_everything_or_stands_beside_it(
    graph: dict[int, list[int]], chance: random.Random, gone: set[int]
) -> None:
    whole, tangle = built(graph, chance), built(graph, chance)
    for number in gone & graph.keys():
        tangle.remove(str(number))
    assert tangle.ends
    for end in tangle.ends:
        assert not any(precedes(whole, end, other) for other in tangle.topological())
