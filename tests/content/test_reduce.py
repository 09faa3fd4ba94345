"""The reduction of a tangle, compared with its definition, in any order of messages."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.content.graphs import Graph, ancestors, graphs, id_of
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.reduce import Reduced, Strategy, reduce, views
from tinyssb_node.content.strategies import (
    ListStrategy,
    MapStrategy,
    OverwriteStrategy,
    RecordStrategy,
    SetStrategy,
)
from tinyssb_node.content.tangle import FIRST, Candidates, Tangle, TangleData
from tinyssb_node.ids import MessageId

A, B, C, D, E = (id_of(name) for name in "ABCDE")
Message = tuple[TangleData, Value]


def tangle_of(*messages: tuple[MessageId, Sequence[MessageId], Any]) -> Tangle[Message]:
    """A tangle; the first message is its root."""
    tangle: Tangle[Message] = Tangle(messages[0][0], Candidates(lambda message: message[0]))
    for id_, previous, change in messages:
        tangle.add(id_, (TangleData(None, tuple(previous)) if previous else FIRST, change))
    return tangle


def added_up(
    strategy: Strategy[object], *messages: tuple[MessageId, Sequence[MessageId], Any]
) -> Reduced[object]:
    """Return the reduction of these messages."""
    return reduce(tangle_of(*messages), strategy, lambda message: message[1])


FORK = ((A, (), "one"), (B, (A,), "two"), (C, (A,), "three"))


def test_who_writes_later_overwrites() -> None:
    found = added_up(OverwriteStrategy(), (A, (), "one"), (B, (A,), "two"), (C, (B,), None))
    assert (found.value, found.conflicts, found.refused) == ("two", (), 0)


def test_who_writes_at_the_same_time_conflicts_until_somebody_settles_it() -> None:
    found = added_up(OverwriteStrategy(), *FORK)
    (conflict,) = found.conflicts
    assert {write.id: write.part for write in conflict.writes} == {B: "two", C: "three"}
    assert found.value == conflict.writes[-1].part
    unsettled = added_up(OverwriteStrategy(), *FORK, (D, (B, C), None))
    assert unsettled == found
    settled = added_up(OverwriteStrategy(), *FORK, (D, (B, C), None), (E, (D,), "four"))
    assert (settled.value, settled.conflicts) == ("four", ())
    assert added_up(OverwriteStrategy(), *FORK, (D, (B, C), "four")).conflicts == ()


def test_a_tip_alone_has_what_its_author_saw() -> None:
    found = views(tangle_of(*FORK), OverwriteStrategy(), lambda message: message[1])
    assert {tip: view.value for tip, view in found.items()} == {B: "two", C: "three"}
    assert all(view.conflicts == () for view in found.values())


def test_the_same_said_twice_is_no_conflict_and_what_only_looks_the_same_is() -> None:
    assert added_up(OverwriteStrategy(), (A, (), 0), (B, (A,), 1), (C, (A,), 1)).conflicts == ()
    assert len(added_up(OverwriteStrategy(), (A, (), 0), (B, (A,), 1), (C, (A,), True)).conflicts) == 1


def test_who_adds_what_another_removes_at_the_same_time_wins() -> None:
    add: Value = {"add": ["x", b"y", 3, "z"]}
    remove: Value = {"remove": ["x", "z"]}
    again: Value = {"add": ["x"], "remove": ["z"]}
    found = added_up(SetStrategy(), (A, (), add), (B, (A,), remove), (C, (A,), again))
    assert (found.value, found.conflicts) == ((3, b"y", "x"), ())
    assert added_up(SetStrategy(), (A, (), add), (B, (A,), remove)).value == (3, b"y")
    assert added_up(SetStrategy(), (A, (), add), (C, (A,), again), (B, (C,), remove)).value == (3, b"y")


def test_fields_conflict_one_by_one() -> None:
    strategy = RecordStrategy(
        {
            "title": OverwriteStrategy(lambda value: isinstance(value, str)),
            "tags": SetStrategy(),
            "rest": MapStrategy(OverwriteStrategy()),
        }
    )
    found = added_up(
        strategy,
        (A, (), {"title": "a", "tags": {"add": ["t"]}, "rest": {"k": 1, "l": 2}, "unknown": 1}),
        (B, (A,), {"title": "b", "rest": {"k": 2, "l": None}}),
        (C, (A,), {"tags": {"add": ["u"]}, "rest": {"k": 3}}),
    )
    assert isinstance(found.value, dict)
    assert found.value["title"] == "b"
    assert found.value["tags"] == ("t", "u")
    assert found.value["rest"] in ({"k": 2}, {"k": 3})
    assert [conflict.key for conflict in found.conflicts] == [("rest", "k")]
    assert added_up(strategy, (A, (), {})).value == {"title": None, "tags": (), "rest": {}}


def test_a_list_keeps_in_a_row_what_somebody_wrote_in_a_row() -> None:
    ids = {name: id_of(name) for name in ("root", "a1", "a2", "b1", "b2", "z")}
    root = ids["root"]

    def insert(anchor: str | None, value: str) -> Value:
        return {"insert": [ids[anchor] if anchor else None, value]}

    found = added_up(
        ListStrategy(),
        (root, (), insert(None, "end")),
        (ids["a1"], (root,), insert(None, "a1")),
        (ids["a2"], (ids["a1"],), insert("a1", "a2")),
        (ids["b1"], (root,), insert(None, "b1")),
        (ids["b2"], (ids["b1"],), insert("b1", "b2")),
        (ids["z"], (ids["a2"], ids["b2"]), {"remove": [ids["a1"]], "insert": [ids["root"], "z"]}),
    )
    assert isinstance(found.value, tuple)
    values = [value for _, value in found.value]
    assert values in (["a2", "b1", "b2", "end", "z"], ["b1", "b2", "a2", "end", "z"])
    assert found.conflicts == ()
    lost = added_up(
        ListStrategy(), (root, (), {"insert": [id_of("lost"), 1]}), (A, (root,), {"insert": [None, 2]})
    )
    assert lost.value == ((A, 2),)


@pytest.mark.parametrize(
    ("strategy", "change"),
    [
        (OverwriteStrategy(lambda value: isinstance(value, str)), 1),
        (SetStrategy(), ["x"]),
        (SetStrategy(), {"add": "x"}),
        (SetStrategy(), {"add": [True]}),
        (SetStrategy(), {"add": [1.0]}),
        (SetStrategy(), {"add": ["x"], "remove": ["x"]}),
        (SetStrategy(), {"other": []}),
        (ListStrategy(), 1),
        (ListStrategy(), {"other": 1}),
        (ListStrategy(), {"insert": "x"}),
        (ListStrategy(), {"insert": [None]}),
        (ListStrategy(), {"insert": ["short", 1]}),
        (ListStrategy(), {"remove": 1}),
        (ListStrategy(), {"remove": [None]}),
        (ListStrategy(), {"remove": [b"short"]}),
        (RecordStrategy({"n": SetStrategy()}), {"n": 1}),
        (RecordStrategy({"n": SetStrategy()}), 1),
        (MapStrategy(SetStrategy()), {"k": 1}),
        (MapStrategy(OverwriteStrategy()), {1: 1}),
        (MapStrategy(OverwriteStrategy()), [1]),
        (
            MapStrategy(OverwriteStrategy()),
            {f"k{number}": 1 for number in range(content_limits.REDUCE_PARTS_MAX + 1)},
        ),
    ],
)
def test_what_is_no_change_is_passed_over_and_counted(strategy: Strategy[object], change: Value) -> None:
    found = added_up(strategy, (A, (), None), (B, (A,), change))
    assert found == Reduced(added_up(strategy, (A, (), None)).value, (), 0, 1)


def test_registers_beyond_the_bound_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(content_limits, "REDUCE_REGISTERS_MAX", 2)
    twice = {"a": 1, "b": 1, "c": 1}
    found = added_up(
        MapStrategy(OverwriteStrategy()), (A, (), {"once": 1} | twice), (B, (A,), dict.fromkeys(twice, 2))
    )
    assert (found.value, found.left_out) == ({"once": 1, "a": 2, "b": 2}, 2)


CHANGES: st.SearchStrategy[Any] = (
    st.none()
    | st.dictionaries(
        st.sampled_from(["f", "g"]),
        st.sampled_from([1, 2, None]),
        max_size=2,
    ).map(lambda fields: {"fields": fields})
    | st.sampled_from([{"add": ["x"]}, {"remove": ["x"]}, {"add": ["y"], "remove": ["x"]}]).map(
        lambda tags: {"tags": tags}
    )
)
STRATEGY = RecordStrategy({"fields": MapStrategy(OverwriteStrategy()), "tags": SetStrategy()})


def by_definition(graph: Graph, changes: dict[MessageId, Any], order: list[MessageId]) -> dict[str, object]:
    """The value, from each register's writes that no descendant wrote over."""
    previous = {id_: graph[id_].previous for id_ in order}
    above = {id_: ancestors(id_, previous) for id_ in order}
    writes: dict[tuple[str, str], list[tuple[MessageId, Value]]] = {}
    for id_ in order:
        change = changes[id_]
        if isinstance(change, dict) and isinstance(fields := change.get("fields"), dict):
            for name, value in fields.items():
                writes.setdefault(("fields", str(name)), []).append((id_, value))
        if isinstance(change, dict) and isinstance(tags := change.get("tags"), dict):
            for sign in ("add", "remove"):
                for element in tags.get(sign, []):
                    writes.setdefault(("tags", str(element)), []).append((id_, sign == "add"))
    current = {
        key: [value for id_, value in list_ if not any(id_ in above[other] for other, _ in list_)]
        for key, list_ in writes.items()
    }
    return {
        "fields": {
            name: values[-1]
            for (kind, name), values in sorted(current.items())
            if kind == "fields" and values[-1] is not None
        },
        "tags": tuple(
            sorted(name for (kind, name), values in current.items() if kind == "tags" and any(values))
        ),
        "conflicts": {key for key, values in current.items() if key[0] == "fields" and len(set(values)) > 1},
    }


@given(graphs(), st.data(), st.randoms(use_true_random=False))
def test_the_value_is_that_of_the_definition_whatever_came_first(
    graph: Graph, data: st.DataObject, chance: Random
) -> None:
    changes = {id_: data.draw(CHANGES) for id_ in graph}
    root = next(iter(graph))
    results = []
    for _ in range(2):
        ids = list(graph)
        chance.shuffle(ids)
        tangle: Tangle[Message] = Tangle(root, Candidates(lambda message: message[0]))
        for id_ in ids:
            tangle.add(id_, (graph[id_], changes[id_]))
        results.append(reduce(tangle, STRATEGY, lambda message: message[1]))
    assert results[0] == results[1]
    expected = by_definition(graph, changes, tangle.order())
    assert results[0].value == {"fields": expected["fields"], "tags": expected["tags"]}
    assert {conflict.key for conflict in results[0].conflicts} == expected["conflicts"]
    for tip in tangle.tips:
        seen = reduce(tangle, STRATEGY, lambda message: message[1], at=[tip])
        history = [id_ for id_ in tangle.order() if id_ in tangle.history([tip])]
        assert seen.value == {key: by_definition(graph, changes, history)[key] for key in ("fields", "tags")}


def test_a_long_chain_adds_up() -> None:
    count = 10_000
    ids = [id_of(number) for number in range(count)]
    behind = [(), *((id_,) for id_ in ids)]

    def chain(changes: Callable[[int], Any]) -> Any:
        strategy = RecordStrategy({"fields": MapStrategy(OverwriteStrategy()), "list": ListStrategy()})
        return added_up(strategy, *((ids[at], behind[at], changes(at)) for at in range(count))).value

    assert chain(lambda at: {"fields": {f"k{at % 50}": at}})["fields"]["k49"] == count - 1
    listed = chain(lambda at: {"list": {"insert": [ids[at - 1] if at else None, at]}})["list"]
    assert [value for _, value in listed] == list(range(count))
