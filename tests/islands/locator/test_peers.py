"""The sets of peers and the historic list, beside slow and plain ones, and their chances by counting."""

import math
import random
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.islands.locator.villages import PORT, TCP, address, peer, place
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import Peer
from tinyssb_node.islands.locator.packets import RoutingHint
from tinyssb_node.islands.locator.peers import (
    ConfirmedPeers,
    HistoricPeers,
    UnconfirmedPeers,
    pick_weighed,
    quasi_period_us,
    weighed,
)
from tinyssb_node.islands.locator.values import Label, NodeParameters, label_of_address, position

MINE = label_of_address(address(0))
BY_POSITION: dict[int, list[int]] = {}
for _number in range(1, 4_000):
    _at = position(MINE, label_of_address(address(_number)))
    assert _at is not None
    BY_POSITION.setdefault(_at, []).append(_number)
NOTHING = NodeParameters()
ones = st.integers(1, 60)


def near(got: int, of: int, probability: float) -> bool:
    """True if so many of *of* are within five deviations of what is expected."""
    return abs(got - of * probability) <= 5 * math.sqrt(of * probability * (1 - probability)) + 1


# --- historic


def history(additions: int, seed: int = 1, probability: float = 0.05, threshold: int = 32) -> HistoricPeers:
    historic = HistoricPeers([], probability=probability, threshold=threshold, chance=random.Random(seed))
    for number in range(additions):
        historic.add(peer(number))
    return historic


def test_the_historic_list_is_as_long_as_the_text_says() -> None:
    c = math.log(1 / 0.95)
    for additions in (10, 32, 100, 1_000, 5_000):
        expected: float = additions
        if additions > 32:
            expected = math.log(c * additions - c * 32 + math.exp(c * 32)) / c
        lengths = [len(history(additions, seed)) for seed in range(10)]
        assert abs(sum(lengths) / 10 - expected) < 0.08 * expected + 0.1


def test_ages_in_the_historic_list_are_of_all_magnitudes() -> None:
    magnitudes: Counter[int] = Counter()
    for seed in range(20):
        numbers = {peer(number): number for number in range(4_096)}
        for one in history(4_096, seed).peers:
            magnitudes[int(math.log2(4_096 - numbers[one]))] += 1
    # Ages from 2^6 to 2^11: as many in each magnitude, within what chance does.
    counts = [magnitudes[power] for power in range(6, 11)]
    assert max(counts) < 1.4 * min(counts)


def test_a_peer_that_is_remembered_keeps_its_age_and_gets_its_new_port() -> None:
    historic = history(3)
    moved = Peer(address(0), b"\x01\x02")
    historic.add(moved)
    assert historic.peers == (peer(2), peer(1), moved)


def test_the_historic_list_never_shrinks_and_has_a_bound() -> None:
    historic = HistoricPeers([], probability=0.0, threshold=4, chance=random.Random(1))
    for number in range(2 * limits.HISTORIC_MAX):
        before = len(historic)
        historic.add(peer(number))
        assert before <= len(historic) <= limits.HISTORIC_MAX
    assert historic.peers[0] == peer(2 * limits.HISTORIC_MAX - 1)
    kept = HistoricPeers(historic.peers * 3, probability=0.5, threshold=4, chance=random.Random(1))
    assert kept.peers == historic.peers
    assert HistoricPeers([], probability=0.5, threshold=4, chance=random.Random(1)).pick() is None


# --- unconfirmed


@settings(deadline=None)
@given(st.lists(st.tuples(ones, st.booleans()), max_size=80), st.integers(1, 5), st.integers(0, 99))
def test_unconfirmed_peers_are_where_they_belong(
    steps: list[tuple[int, bool]], limit: int, seed: int
) -> None:
    sets = UnconfirmedPeers(MINE, limit, random.Random(seed))
    plain: dict[bytes, Peer] = {}
    for number, moved in steps:
        added = Peer(address(number), b"\x09\x09" if moved else PORT)
        sets.add(added)
        plain[added.node] = added
        here = [one for at in range(160) for one in sets.peers(at)]
        assert len(sets) == len(here) == len({one.node for one in here})
        for at in range(160):
            assert len(sets.peers(at)) <= limit
            assert all(position(MINE, label_of_address(one.node)) == at for one in sets.peers(at))
        assert all(plain[one.node] == one for one in here)
        if max(Counter(position(MINE, label_of_address(node)) for node in plain).values()) <= limit:
            assert len(sets) == len(plain)
    taken = [sets.take() for _ in range(len(sets))]
    assert len({*taken}) == len(taken)
    assert None not in taken
    assert len(sets) == 0
    assert sets.take() is None


def test_nobody_is_unconfirmed_under_our_own_label() -> None:
    sets = UnconfirmedPeers(MINE, 4, random.Random(1))
    sets.add(peer(0))
    assert len(sets) == 0


@pytest.mark.parametrize(
    ("filled", "depth", "levels"),
    [((), 0, 0), ((0,), 1, 1), ((0, 1, 2), 3, 3), ((0, 2), 1, 1), ((1, 3), 0, 1), ((0, 1, 4), 2, 2)],
)
def test_sets_beyond_the_first_empty_one_are_part_of_the_one_before(
    filled: tuple[int, ...], depth: int, levels: int
) -> None:
    chances = Counter[int]()
    historic = 0
    for seed in range(600):
        sets = UnconfirmedPeers(MINE, 8, random.Random(seed))
        for at in filled:
            for number in BY_POSITION[at][:2]:
                sets.add(peer(number))
        assert (sets.depth(), sets.levels()) == (depth, levels)
        historic += sets.wants_historic()
        taken = sets.take()
        if taken is not None:
            chances[min(position(MINE, label_of_address(taken.node)) or 0, levels - 1)] += 1
    assert near(historic, 600, 0.5**levels)
    assert all(near(chances[at], 600, 1 / levels) for at in range(levels))


# --- confirmed


def confirmed(*positions: int, each: int = 1, seed: int = 1, limit: int = 16) -> ConfirmedPeers:
    sets = ConfirmedPeers(MINE, limit, random.Random(seed))
    for at in positions:
        for number in BY_POSITION[at][:each]:
            sets.add(place(number), 1_000 * number, NOTHING, number)
    return sets


@settings(deadline=None)
@given(
    st.lists(st.tuples(ones, st.integers(0, 1_000)), max_size=60), st.integers(1, 5), st.integers(0, 1_000)
)
def test_confirmed_peers_beside_a_plain_table(
    steps: list[tuple[int, int]], limit: int, before_us: int
) -> None:
    sets = ConfirmedPeers(MINE, limit, random.Random(7))
    plain: dict[Peer, int] = {}
    for number, now_us in steps:
        sets.add(place(number), 5, NOTHING, now_us)
        plain[peer(number)] = now_us
        here = sets.all()
        assert {one.peer for one in here} <= {*plain}
        assert all(
            plain[one.peer] == one.added_us and one.label == label_of_address(one.place.node) for one in here
        )
        assert max(Counter(position(MINE, one.label) for one in here).values()) <= limit
        assert len(sets) == len(here)
    kept = {one.peer for one in sets.all() if one.added_us >= before_us}
    sets.expire(before_us)
    assert {one.peer for one in sets.all()} == kept
    for one in kept:
        assert one in sets
        assert Peer(one.node, b"\x01\x01") not in sets
        sets.remove(Peer(one.node, b"\x01\x01"))
        assert one in sets
        sets.remove(one)
        assert one not in sets
    assert (len(sets), sets.all(), sets.choose()) == (0, [], None)


def test_our_own_label_is_not_confirmed() -> None:
    sets = confirmed()
    sets.add(place(0), 1, NOTHING, 1)
    assert len(sets) == 0
    assert sets.peers(None) == []


def test_a_peer_with_another_port_replaces_the_one_before() -> None:
    sets = confirmed(0)
    (old,) = sets.all()
    sets.add(type(old.place)(old.place.node, b"\x01\x01", TCP), 9, NOTHING, 77)
    (new,) = sets.all()
    assert (new.peer.message, new.rtt_us, new.added_us) == (b"\x01\x01", 9, 77)


@pytest.mark.parametrize(
    ("filled", "start", "expected"),
    [
        ((0, 1, 2, 3), 0, {0: 1 / 2, 1: 1 / 4, 2: 1 / 8, 3: 1 / 8}),
        ((0, 3), 0, {0: 7 / 8, 3: 1 / 8}),  # From an empty set it goes up.
        ((2, 3), 0, {2: 7 / 8, 3: 1 / 8}),  # And from the top down.
        ((0, 1, 2, 3), 2, {2: 1 / 2, 3: 1 / 2}),
        ((4,), 0, {4: 1}),
    ],
)
def test_a_set_is_chosen_by_flipping_coins(
    filled: tuple[int, ...], start: int, expected: dict[int, float]
) -> None:
    sets = confirmed(*filled)
    found = Counter(sets.choose_set(start) for _ in range(4_000))
    assert {*found} == {*expected}
    for at, probability in expected.items():
        assert near(found[at], 4_000, probability)


def test_peers_for_a_pong_are_from_sets_around_its_receiver() -> None:
    sets = confirmed(0, 1, 2, 3, 4)
    towards = label_of_address(address(BY_POSITION[3][0]))
    found: Counter[int | None] = Counter()
    for _ in range(4_000):
        chosen = sets.choose_near(towards)
        assert chosen is not None
        found[position(MINE, chosen.label)] += 1
    # Up from 3: to 3 1/2, 2 1/4, 1 1/8, 0 1/8; from each down by as many heads.
    starts = {3: 1 / 2, 2: 1 / 4, 1: 1 / 8, 0: 1 / 8}
    for at in range(5):
        probability = sum(
            share * (0.5 ** (at - start) if at == 4 else 0.5 ** (at - start + 1))
            for start, share in starts.items()
            if start <= at
        )
        assert near(found[at], 4_000, probability)


def test_within_a_set_all_are_chosen_alike() -> None:
    sets = confirmed(2, each=8)
    found = Counter(one.peer for _ in range(4_000) if (one := sets.choose()) is not None)
    assert len(found) == 8
    assert all(near(count, 4_000, 1 / 8) for count in found.values())


def test_hints_choose_otherwise() -> None:
    sets = confirmed(0, 1, 2, each=3)
    chance = random.Random(5)
    towards = Label(bytes((MINE[0] ^ 0x80,)) + MINE[1:])
    closer = sets.peers(0)
    quick = min(closer, key=lambda one: one.rtt_us)
    deep = max(closer, key=lambda one: position(one.label, towards) or 0)
    shares = {
        hint: Counter(
            chosen.peer
            for _ in range(3_000)
            if (chosen := weighed(chance, closer, towards, hint)) is not None
        )
        for hint in RoutingHint
    }
    assert all(near(count, 3_000, 1 / 3) for count in shares[RoutingHint.UNIFORM].values())
    assert len(shares[RoutingHint.BEST]) == 1
    assert len(shares[RoutingHint.HOPS]) == len(shares[RoutingHint.TIME]) == 3
    assert shares[RoutingHint.HOPS].most_common(1)[0][0] == deep.peer
    near_ones = weighed(chance, closer, None, RoutingHint.BEST)
    assert near_ones == quick
    assert sets.choose_relay(RoutingHint.BEST) == min(sets.all(), key=lambda one: one.rtt_us)
    assert weighed(chance, [], towards, RoutingHint.TIME) is None
    same = weighed(chance, closer[:1], closer[0].label, RoutingHint.HOPS)
    assert same == closer[0]


# --- chance


def test_quasi_periods_are_between_half_and_half_more() -> None:
    chance = random.Random(3)
    drawn = [quasi_period_us(chance, 1_000) for _ in range(4_000)]
    assert min(drawn) >= 500
    assert max(drawn) < 1_500
    assert abs(sum(drawn) / 4_000 - 1_000) < 25
    assert near(sum(one < 750 for one in drawn), 4_000, 1 / 4)


class Last:
    """Chance that is always as large as it can be."""

    def random(self) -> float:
        return 1 - 2**-53


def test_weights_that_do_not_add_up_choose_the_last() -> None:
    assert pick_weighed(Last(), "abc", [0.1, 0.1, 0.1]) == "c"
