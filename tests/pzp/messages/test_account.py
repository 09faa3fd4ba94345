import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.test_tangle import depth_of, graphs
from tinyssb_node.pzp.messages import account
from tinyssb_node.pzp.messages.account import has_ever_power, keys_after, keys_besides
from tinyssb_node.pzp.messages.tangle import KeyChange, PzpTangle, RootFacts

FULL = frozenset({"add", "del"})


def adds(author: str, key: str, powers: frozenset[str] = FULL) -> KeyChange:
    return KeyChange(author, key, powers=powers)


def removes(author: str, key: str) -> KeyChange:
    return KeyChange(author, key, removes=True)


def identity(*messages: tuple[str, list[str], KeyChange]) -> PzpTangle:
    """An identity founded by ``a`` in message 0; others are id, predecessors and change."""
    tangle = PzpTangle("0")
    tangle.add_root(RootFacts(identity=True), adds("a", "a"))
    for id_, prev, change in messages:
        tangle.add(id_, max((tangle.depth(one) or 0) + 1 for one in prev), prev, change)
    return tangle


def keys(tangle: PzpTangle, *after: str) -> str:
    return "".join(sorted(keys_after(tangle, after or tangle.tips)))


def test_keys_come_and_go_in_turn() -> None:
    tangle = identity(
        ("1", ["0"], adds("a", "b")),
        ("2", ["1"], removes("a", "b")),
        ("3", ["2"], adds("a", "b", frozenset())),
    )
    assert [keys(tangle, str(number)) for number in range(4)] == ["a", "ab", "a", "ab"]
    assert keys_after(tangle, ["3"])["b"] == frozenset()
    assert keys(tangle, "unknown") == ""


def test_a_removal_wins_over_adding_the_key_again_at_the_same_time() -> None:
    tangle = identity(
        ("1", ["0"], adds("a", "b")),
        ("2", ["1"], removes("a", "b")),
        ("3", ["1"], adds("a", "b")),
        ("4", ["2", "3"], adds("a", "c")),
    )
    assert (keys(tangle, "3"), keys(tangle, "2"), keys(tangle)) == ("ab", "a", "ac")


def test_a_removed_key_leaves_no_other_behind() -> None:
    tangle = identity(
        ("1", ["0"], adds("a", "b")),
        ("2", ["1"], adds("b", "early")),
        ("3", ["2"], removes("a", "b")),
        ("4", ["1"], adds("b", "x")),
        ("5", ["4"], adds("x", "y")),
    )
    assert keys_after(tangle, ["5"]).keys() == {"a", "b", "x", "y"}
    assert keys_after(tangle, tangle.tips).keys() == {"a", "early"}


def test_two_that_remove_each_other_are_both_removed() -> None:
    tangle = identity(
        ("1", ["0"], adds("a", "b")),
        ("2", ["1"], adds("a", "c")),
        ("3", ["2"], removes("a", "b")),
        ("4", ["2"], removes("b", "a")),
    )
    assert (keys(tangle, "3"), keys(tangle, "4"), keys(tangle)) == ("ac", "bc", "c")


def test_keys_that_sign_nothing_are_none() -> None:
    tangle = identity(("1", ["0"], KeyChange("a", "box", signs=False)))
    assert keys(tangle) == "a"


def test_after_too_many_messages_nobody_is_a_member(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(account, "BEFORE_MAX", 4)
    tangle = identity(*((str(n), [str(n - 1)], adds("a", f"k{n}")) for n in range(1, 6)))
    assert keys_after(tangle, ["2"]).keys() == {"a", "k1", "k2"}
    assert not keys_after(tangle, ["3"])


def test_answers_are_remembered_and_forgotten() -> None:
    tangle = identity(("1", ["0"], adds("a", "b")))
    assert keys_after(tangle, ["1"]) is keys_after(tangle, ["1"])
    for number in range(200):
        keys_after(tangle, ["1" if number % 2 else "0"])
    assert len(tangle.keys_after) == 2
    tangle.add("2", 2, ["1"], removes("a", "b"))
    assert keys(tangle) == "a"
    tangle.remove("2")
    assert keys(tangle) == "ab"


@st.composite
def identities(draw: st.DrawFn) -> dict[int, tuple[list[int], KeyChange]]:
    """Messages with predecessors, by authors who are members by these; 0 is the root."""
    graph = draw(graphs())
    made: dict[int, tuple[list[int], KeyChange]] = {0: ([], adds("a", "a"))}
    for number, prev in sorted(graph.items()):
        if number:
            known = sorted(keys_after(entered(made, list(made)), map(str, prev)))
            if not known:
                continue
            who, what = draw(st.sampled_from(known)), draw(st.sampled_from("abcd"))
            change = removes(who, what) if draw(st.booleans()) else adds(who, what)
            made[number] = ([one for one in prev if one in made] or [0], change)
    return made


def entered(made: dict[int, tuple[list[int], KeyChange]], order: list[int]) -> PzpTangle:
    tangle = PzpTangle("0")
    graph = {number: prev for number, (prev, _) in made.items()}
    for number in order:
        prev, change = made[number]
        if number:
            tangle.add(str(number), depth_of(graph, number), [str(one) for one in prev], change)
        else:
            tangle.add_root(RootFacts(identity=True), change)
    return tangle


@given(identities(), st.randoms(use_true_random=False))
def test_the_keys_do_not_depend_on_the_order_of_arrival(
    made: dict[int, tuple[list[int], KeyChange]], chance: random.Random
) -> None:
    order = list(made)
    first = entered(made, order)
    chance.shuffle(order)
    other = entered(made, order)
    for number in made:
        assert keys_after(first, [str(number)]) == keys_after(other, [str(number)])
    assert keys_after(first, first.tips) == keys_after(other, other.tips)


@given(identities())
def test_what_comes_later_changes_nothing_of_what_was_before(
    made: dict[int, tuple[list[int], KeyChange]],
) -> None:
    whole = entered(made, list(made))
    for number in made:
        before = sorted(int(one) for one in whole.ancestors([str(number)]))
        assert keys_after(entered(made, before), [str(number)]) == keys_after(whole, [str(number)])


@given(identities())
def test_a_key_stays_only_if_all_its_removals_were_known_when_it_was_added(
    made: dict[int, tuple[list[int], KeyChange]],
) -> None:
    """The rule in other words, without the adds that are void: those who stand are among these."""
    tangle = entered(made, list(made))
    changes = {str(number): change for number, (_, change) in made.items()}
    for key in keys_after(tangle, tangle.tips):
        gone = {one for one, change in changes.items() if change.removes and change.key == key}
        added = [one for one, change in changes.items() if not change.removes and change.key == key]
        assert any(gone <= tangle.ancestors([one]) for one in added)


def test_the_package_counts_what_does_not_follow_the_tips() -> None:
    tangle = identity(
        ("1", ["0"], adds("a", "b")),
        ("2", ["1"], removes("a", "b")),
        ("3", ["1"], adds("a", "c", frozenset())),
        ("4", ["2"], adds("a", "d")),
    )
    assert keys_besides(tangle, ["1"]) == {"a", "b"}
    assert keys_besides(tangle, ["3"]) == {"a", "c", "d"}, "beside the tips, so it counts"
    assert keys_besides(tangle, ["2"]) == {"a", "c"}
    assert keys_besides(tangle, ["unknown"]) == {"a", "c", "d"}
    assert has_ever_power(tangle, "b", "add"), "though it was removed"
    assert not has_ever_power(tangle, "c", "add")
