"""Tangles agree with the vectors and with the letter of the specification, whatever comes in whatever order."""

import json
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.content.graphs import Graph, braid, by_place, graphs, id_of, literal_order, literal_tips
from tinyssb_node import limits
from tinyssb_node.content.note import read_note
from tinyssb_node.content.tangle import (
    FIRST,
    AddOutcome,
    Candidates,
    Tangle,
    TangleData,
    canonical_order,
)
from tinyssb_node.ids import FeedId, MessageId

FOLDER = Path(__file__).parent.parent / "vectors" / "groups" / "tangle"
A, B, C, D = (id_of(name) for name in "ABCD")


def cases(name: str) -> list[Any]:
    """Cases of a file of vectors."""
    found: list[Any] = json.loads((FOLDER / f"{name}.json").read_text("utf-8"))["cases"]
    return found


EXTENDING = {
    "members": {("group/add-member", "additions"), ("group/exclude-member", "epoch")},
    "epoch": {("group/init", "epoch")},
}
"""Messages that may extend a group's tangle, and on which feeds (exclusion document, 4.10); to others all may."""


def group_recipe(tangle: str, ids: dict[str, str]) -> Candidates[Any]:
    """The recipe of one of a group's tangles; *ids* are those of the names in a case."""

    def id_named(name: str) -> bytes:
        return bytes.fromhex(ids[name]) if name in ids else id_of(name)

    def place(message: Any) -> TangleData | None:
        data = message["tangle_data"]
        root, previous = data["root"], data["previous"]
        said: Any = {
            "root": None if root is None else id_named(root),
            "previous": None if previous is None else [id_named(name) for name in previous],
        }
        note = read_note({"tangles": {tangle: said}})
        assert note is not None
        found = note.places.get(tangle)
        allowed = EXTENDING.get(tangle)
        if found is None or found.first or allowed is None:
            return found
        return found if (message["type"], message.get("feed", "additions")) in allowed else None

    return Candidates(place)


def tangle_of(case: Any, name: str) -> tuple[Tangle[Any], dict[str, MessageId], dict[MessageId, str]]:
    """An empty tangle for the messages of a case, their ids by name and names by id."""
    texts = {message["name"]: message["id"] for message in case["messages"]}
    root = MessageId.from_hex(texts[case["root"]]) if case["root"] in texts else id_of(case["root"])
    ids = {name: MessageId.from_hex(text) for name, text in texts.items()}
    return Tangle(root, group_recipe(name, texts)), ids, {id_: name for name, id_ in ids.items()}


@pytest.mark.parametrize("case", cases("tips"), ids=lambda case: str(case["id"]))
@pytest.mark.parametrize("seed", range(3))
def test_tips_connections_and_order_are_those_of_the_vectors(case: Any, seed: int) -> None:
    tangle, ids, names = tangle_of(case, case["tangle"])
    messages = list(case["messages"])
    if seed:
        Random(seed).shuffle(messages)
    for message in messages:
        tangle.add(ids[message["name"]], message)
    expected = case["expected"]
    assert tangle.valid == expected["tangle_valid"]
    if not expected["tangle_valid"]:
        assert len(tangle) == 0
        return
    assert sorted(names[id_] for id_ in tangle.tips) == sorted(expected["tips"])
    assert sorted(names[id_] for id_ in tangle) == sorted(expected["connected"])
    assert sorted(names.keys() - set(tangle), key=str) == sorted(
        (ids[name] for name in expected["disconnected"]), key=str
    )
    assert [names[id_] for id_ in tangle.order()] == expected["canonical_order"]


@pytest.mark.parametrize("case", cases("arrival"), ids=lambda case: str(case["id"]))
def test_tips_after_each_arrival_are_those_of_the_vectors(case: Any) -> None:
    tangle, ids, names = tangle_of(case, "members")
    messages = {message["name"]: message for message in case["messages"]}
    for step in case["steps"]:
        name = step["arrives"]
        tangle.add(ids[name], messages[name])
        if step["expected_tips"] is None:
            assert not tangle.valid
        else:
            assert sorted(names[id_] for id_ in tangle.tips) == sorted(step["expected_tips"])
            assert [id_.hex() for id_ in tangle.tips] == step["would_publish_previous"]


def test_one_list_of_messages_makes_all_tangles_of_the_worked_example() -> None:
    (case,) = cases("example-4.10.4")
    texts = {message["name"]: id_of(message["name"]).hex() for message in case["messages"]}
    expected = case["expected"]

    named = {MessageId.from_hex(text): name for name, text in texts.items()}

    def put_together(name: str, root: str) -> tuple[list[str], list[str]]:
        tangle: Tangle[Any] = Tangle(MessageId.from_hex(texts[root]), group_recipe(name, texts))
        for message in case["messages"]:
            if name in message["tangles"]:
                feed = "epoch" if message["feed"].startswith("epoch") else message["feed"]
                said = {"type": message["type"], "feed": feed, "tangle_data": message["tangles"][name]}
                tangle.add(MessageId.from_hex(texts[message["name"]]), said)
        return [named[id_] for id_ in tangle.tips], [named[id_] for id_ in tangle.order()]

    assert put_together("epoch", "0_init")[0] == expected["epoch_tips"]
    for root, tips in expected["members_tips"].items():
        assert put_together("members", root)[0] == tips
    assert put_together("group", "0_init") == (expected["group_tips"], expected["group_order"])


@given(graphs(), st.randoms(use_true_random=False))
def test_any_messages_in_any_order_make_what_the_letter_of_the_specification_says(
    graph: Graph, chance: Random
) -> None:
    root = next(iter(graph))
    tips, nodes = literal_tips(root, graph)
    messages = list(graph.items())
    chance.shuffle(messages)
    tangle = by_place(root)
    placed: list[MessageId] = []
    for id_, place in messages:
        placed += tangle.add(id_, place).placed
        assert tangle.add(id_, place).outcome in {AddOutcome.DUPLICATE, AddOutcome.REFUSED}
    assert set(tangle.tips) == tips
    assert set(tangle) == nodes == set(placed)
    assert list(tangle) == placed
    assert all(set(tangle.previous(id_)) <= set(placed[:at]) for at, id_ in enumerate(placed))
    assert tangle.order() == literal_order(nodes, graph)
    others = {id_ for id_, place in graph.items() if place.root not in {None, root}}
    assert set(tangle.waiting) == graph.keys() - nodes - others
    lacking = {one for id_ in tangle.waiting for one in graph[id_].previous} - nodes - set(tangle.waiting)
    assert set(tangle.missing) == lacking


def test_long_chains_and_wide_ones_are_placed_from_their_end_too() -> None:
    count = 20_000
    ids = [id_of(number) for number in range(count)]
    chain = {ids[0]: FIRST} | {ids[at]: TangleData(None, (ids[at - 1],)) for at in range(1, count)}
    star = {ids[0]: FIRST} | {ids[at]: TangleData(ids[0], (ids[0],)) for at in range(1, count)}
    for graph, tips in ((chain, 1), (star, count - 1)):
        tangle = by_place(ids[0])
        for id_ in reversed(graph):
            last = tangle.add(id_, graph[id_])
        assert len(last.placed) == len(tangle) == len(tangle.order()) == count
        assert len(tangle.tips) == tips
        assert len(tangle.history(tangle.tips)) == count


def test_a_message_that_follows_itself_or_begins_a_second_tangle_is_refused() -> None:
    tangle = by_place(A)
    assert tangle.add(B, TangleData(A, (A, B))).outcome is AddOutcome.REFUSED
    assert tangle.add(B, FIRST).outcome is AddOutcome.REFUSED
    assert tangle.add(B, TangleData(D, (A,))).outcome is AddOutcome.REFUSED
    assert tangle.add(A, TangleData(None, (B,))).outcome is AddOutcome.REFUSED
    assert not tangle.valid
    assert tangle.add(A, FIRST).placed == (A,)
    assert tangle.add(B, TangleData(None, (A,))).outcome is AddOutcome.PLACED


def test_several_first_messages_are_in_order_too() -> None:
    first, second, third = sorted((A, B, C))
    assert canonical_order({third: (), second: (), first: ()}) == [first, second, third]
    assert canonical_order({first: (third,), second: (), third: ()}) == [second, third, first]


def test_forged_ids_that_follow_each_other_wait_for_ever() -> None:
    tangle = by_place(A)
    tangle.add(A, FIRST)
    assert tangle.add(B, TangleData(A, (C,))).outcome is AddOutcome.WAITS
    assert tangle.add(C, TangleData(A, (B,))).outcome is AddOutcome.WAITS
    assert (tangle.tips, tangle.missing, set(tangle.waiting)) == ((A,), (), {B, C})
    assert canonical_order({A: (), B: (C,), C: (B,), D: (D,)}) == [A]


def test_who_waits_longest_makes_room_and_may_come_again() -> None:
    tangle = by_place(A, waiting_max=2)
    tangle.add(A, FIRST)
    for id_ in (C, D, id_of("E")):
        assert (
            tangle.add(id_, TangleData(A, (B, id_of("lost")) if id_ == D else (B,))).outcome
            is AddOutcome.WAITS
        )
    assert (tangle.forgotten, tangle.waiting) == (1, (D, id_of("E")))
    assert tangle.add(B, TangleData(A, (A,))).placed == (B, id_of("E"))
    assert tangle.add(C, TangleData(A, (B,))).outcome is AddOutcome.PLACED
    for name in "FGH":
        tangle.add(id_of(name), TangleData(A, (id_of("gone"),)))
    assert tangle.missing == (id_of("gone"),)
    for name in "IJ":
        tangle.add(id_of(name), TangleData(A, (id_of("away"),)))
    assert tangle.missing == (id_of("away"),)


@given(st.lists(st.sampled_from("ABCDEFGH"), max_size=40), st.integers(1, 3))
def test_what_is_awaited_is_bounded_by_what_waits(names: list[str], most: int) -> None:
    tangle = by_place(id_of("root"), waiting_max=most)
    for name in names:
        tangle.add(id_of(name), TangleData(None, (id_of(name + "-1"), id_of("shared"))))
        assert len(tangle.waiting) <= most
        assert len(tangle.missing) <= most + 1


def test_a_message_may_follow_a_crowd() -> None:
    crowd = [id_of(number) for number in range(limits.TANGLE_PREVIOUS_MAX)]
    tangle = by_place(A)
    for one in crowd:
        tangle.add(one, TangleData(A, (A,)))
    tangle.add(B, TangleData(A, tuple(crowd)))
    assert tangle.add(A, FIRST).placed == (A, *crowd, B)
    assert tangle.tips == (B,)


def test_a_place_names_each_predecessor_once_and_no_root_without_any() -> None:
    with pytest.raises(ValueError, match="follows something"):
        TangleData(A, ())
    with pytest.raises(ValueError, match="once"):
        TangleData(A, (B, B))


class Link(NamedTuple):
    """An entry as a link of its feed's chain."""

    feed: FeedId
    seq: int
    previous: MessageId | None
    """Id of the entry before it; None for the first."""


class OneFeed:
    """Rules under which a feed is the tangle of one author: one root, one tip, no branches (SIP, "Classic feed")."""

    def __init__(self, feed: FeedId) -> None:
        self._feed = feed

    def place(self, message: Link) -> TangleData | None:
        if message.feed != self._feed or (message.seq == 1) != (message.previous is None):
            return None
        return FIRST if message.previous is None else TangleData(None, (message.previous,))

    def extends(self, message: Link, previous: Sequence[Link]) -> bool:
        return all(link.seq == message.seq - 1 for link in previous)


def test_a_feed_is_a_tangle_of_one_author() -> None:
    feed, other = FeedId(bytes(32)), FeedId(b"\1" * 32)
    tangle: Tangle[Link] = Tangle(A, OneFeed(feed))
    assert tangle.add(C, Link(feed, 3, B)).outcome is AddOutcome.WAITS
    assert tangle.add(A, Link(feed, 1, None)).placed == (A,)
    assert tangle.add(D, Link(other, 2, A)).outcome is AddOutcome.REFUSED
    assert tangle.add(D, Link(feed, 1, A)).outcome is AddOutcome.REFUSED
    assert tangle.add(D, Link(feed, 3, A)).outcome is AddOutcome.REFUSED  # not the number behind 1
    assert tangle.add(B, Link(feed, 2, A)).placed == (B, C)
    assert (tangle.tips, tangle.order()) == ((C,), [A, B, C])
    assert tangle.message(C).seq == 3


def test_what_may_not_follow_is_out_and_so_is_what_hangs_on_it() -> None:
    feed = FeedId(bytes(32))
    tangle: Tangle[Link] = Tangle(A, OneFeed(feed))
    tangle.add(D, Link(feed, 4, C))
    tangle.add(C, Link(feed, 3, B))
    tangle.add(B, Link(feed, 5, A))
    assert tangle.add(A, Link(feed, 1, None)).placed == (A,)
    assert list(tangle) == [A]


def test_candidates_are_whom_the_recipe_takes() -> None:
    recipe = Candidates[str]({"A": FIRST, "B": TangleData(A, (A,))}.get)
    tangle: Tangle[str] = Tangle(A, recipe)
    assert [tangle.add(id_of(name), name).outcome for name in "ABC"] == [
        AddOutcome.PLACED,
        AddOutcome.PLACED,
        AddOutcome.REFUSED,
    ]


def test_a_braid_has_one_order_in_whatever_order_it_comes() -> None:
    graph = braid(2_000, Random(1))
    orders = []
    for seed in range(3):
        messages = list(graph.items())
        Random(seed).shuffle(messages)
        tangle = by_place(next(iter(graph)))
        for id_, place in messages:
            tangle.add(id_, place)
        orders.append((tangle.order(), tangle.tips))
    assert orders[0] == orders[1] == orders[2]
    assert len(orders[0][0]) == len(graph)
