"""The bound against brute force and against chance played out."""

import random
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.sim import limits
from tinyssb_node.sim.bound import (
    RelaySet,
    expected_sends,
    relays,
    sends_at_least,
    sends_by_relays,
    sends_in_busiest_reach,
)

LINE = [(1,), (0, 2), (1, 3), (2, 4), (3,)]
DOMAIN = [tuple(other for other in range(10) if other != node) for node in range(10)]


def connected(nodes, neighbours):
    reached, waiting = set(), [min(nodes)]
    while waiting:
        node = waiting.pop()
        if node not in reached:
            reached.add(node)
            waiting += [other for other in neighbours[node] if other in nodes]
    return reached == set(nodes)


def smallest(neighbours):
    """The size of the minimum connected dominating set, by trying every set."""
    everybody = range(len(neighbours))
    for size in range(1, len(neighbours) + 1):
        for chosen in combinations(everybody, size):
            covered = {*chosen, *(other for node in chosen for other in neighbours[node])}
            if len(covered) == len(neighbours) and connected(set(chosen), neighbours):
                return size
    raise AssertionError("a connected mesh is a connected dominating set itself")


@st.composite
def meshes(draw):
    """A connected mesh: a tree, and some more links."""
    count = draw(st.integers(2, 9))
    links = {(draw(st.integers(0, node - 1)), node) for node in range(1, count)}
    links |= set(draw(st.lists(st.sampled_from([*combinations(range(count), 2)]), max_size=10)))
    return [
        tuple(other for other in range(count) if (min(node, other), max(node, other)) in links)
        for node in range(count)
    ]


@given(meshes())
@settings(max_examples=150, deadline=None)
def test_the_smallest_set_is_found(neighbours):
    (found,) = relays(neighbours)
    assert found.least == smallest(neighbours)
    assert found.chosen is not None
    assert len(found.chosen) == found.least
    assert connected(set(found.chosen), neighbours)
    covered = {*found.chosen, *(other for node in found.chosen for other in neighbours[node])}
    assert len(covered) == len(neighbours)


def test_lines_and_domains():
    assert relays(LINE) == [RelaySet(3, (1, 2, 3))]
    assert relays(DOMAIN)[0].least == 1
    assert sends_at_least(LINE, 0.0) == 3
    assert sends_at_least(DOMAIN, 0.0) == 1


def test_parts_that_do_not_hear_each_other_are_reckoned_by_themselves():
    assert sends_at_least([*LINE, (6,), (5,), ()], 0.0) == 3 + 1


def test_a_search_that_is_given_up_tells_what_it_proved(monkeypatch):
    monkeypatch.setattr(limits, "BOUND_STEPS", 3)
    found = relays(LINE)[0]
    assert found.chosen is None
    assert 1 <= found.least <= 3
    assert sends_at_least(LINE, 0.5) == pytest.approx(found.least * 2)


@pytest.mark.parametrize(("receivers", "loss"), [(1, 0.0), (9, 0.0), (1, 0.5), (9, 0.2), (3, 0.9)])
def test_expected_sends_is_what_chance_gives(receivers, loss):
    chance = random.Random(1)

    def sends():
        count, missing = 0, receivers
        while missing:
            count += 1
            missing = sum(chance.random() < loss for _ in range(missing))
        return count

    rounds = 20_000
    assert expected_sends(receivers, loss) == pytest.approx(
        sum(sends() for _ in range(rounds)) / rounds, rel=0.03
    )


def test_relays_are_reckoned_with_those_who_hear_no_other():
    # n1 alone serves n0, n2 between two relays serves nobody else, n3 serves n4.
    assert sends_at_least(LINE, 0.5) == pytest.approx(3 * 2)
    star = [(1, 2, 3), (0,), (0,), (0,)]
    assert sends_at_least(star, 0.5) == expected_sends(3, 0.5)


def test_relays_that_know_nothing_of_each_other_serve_all_that_hear_them() -> None:
    # Of a line of five the inner three relay; each is heard by two.
    assert sends_by_relays(LINE, 0.1) == pytest.approx(3 * expected_sends(2, 0.1))
    assert sends_by_relays(DOMAIN, 0.2) == pytest.approx(sends_at_least(DOMAIN, 0.2))


@given(meshes())
@settings(max_examples=50, deadline=None)
def test_without_loss_they_pay_no_more_and_with_loss_no_less(neighbours):
    assert sends_by_relays(neighbours, 0.0) == sends_at_least(neighbours, 0.0)
    assert sends_by_relays(neighbours, 0.2) >= sends_at_least(neighbours, 0.2) - 1e-9


def test_the_busiest_node_of_a_line_hears_three_relays_that_take_turns() -> None:
    assert sends_in_busiest_reach(LINE, 0.0) == 3
    assert sends_in_busiest_reach([(1,), (0, 2), (1, 3), (2, 4), (3, 5), (4, 6), (5,)], 0.0) == 3
    assert sends_in_busiest_reach([*LINE, (6,), (5,), ()], 0.5) == pytest.approx(3 * 2)
    assert sends_in_busiest_reach([()], 0.5) == 0
    assert sends_in_busiest_reach(DOMAIN, 0.2) == pytest.approx(sends_at_least(DOMAIN, 0.2))


def test_a_search_given_up_counts_one_send(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "BOUND_STEPS", 3)
    assert sends_in_busiest_reach(LINE, 0.5) == pytest.approx(2)


@given(meshes())
@settings(max_examples=50, deadline=None)
def test_no_neighbourhood_hears_more_than_is_sent(neighbours: list[tuple[int, ...]]) -> None:
    assert 1 <= sends_in_busiest_reach(neighbours, 0.2) <= sends_at_least(neighbours, 0.2) + 1e-9
