"""Sets of many nodes come together, at a cost: the reference policy of ``rounds``, on a channel that loses packets."""

import statistics
from collections.abc import Callable

import pytest

from tests.nodes import feed_of
from tests.replication.rounds import GOSET_DMX, Channel, Peer, Pub
from tinyssb_node import limits
from tinyssb_node.codec.packets import (
    ASK_KIND,
    CLAIM_KIND,
    FEEDS_KIND,
    SKETCH_KIND,
    Novelty,
    serialize_novelty,
)
from tinyssb_node.ids import FeedId

ALL = [feed_of(number) for number in range(2 * limits.SET_MAX)]
SEEDS = range(11)
ROUNDS_MAX = 40
Sets = Callable[[int], list[FeedId]]
"""The set that the node with this number begins with."""


def late(count: int, differences: int) -> Sets:
    """The first one lacks some."""
    return lambda number: ALL[differences if number == 0 else 0 : count]


def split(count: int, differences: int) -> Sets:
    """Two halves each lack half of the differences."""
    half = differences // 2
    return lambda number: ALL[half:count] if number % 2 else ALL[: count - half]


def newcomer(count: int, own: int) -> Sets:
    """The first one holds only *own* ids, which nobody else has."""
    return lambda number: ALL[count - own : count] if number == 0 else ALL[: count - own]


def costs(sets: Sets, peers: int, loss: float) -> tuple[float, float]:
    """Bytes and rounds until all hold the same, medians."""
    bytes_, rounds = [], []
    for seed in SEEDS:
        channel = Channel(seed, loss)
        for number in range(peers):
            Peer(channel, sets(number))
        rounds.append(channel.run(ROUNDS_MAX, channel.agree))
        assert channel.agree(), f"not in {ROUNDS_MAX} rounds with seed {seed}"
        assert {len(node.ids) for node in channel.nodes} == {len({*sets(0), *sets(1)})}
        bytes_.append(channel.bytes)
    return statistics.median(bytes_), statistics.median(rounds)


@pytest.mark.parametrize(
    ("sets", "peers", "loss", "bytes_max", "rounds_max"),
    [
        pytest.param(late(100, 10), 10, 0.0, 600, 1, id="late"),
        pytest.param(late(100, 10), 10, 0.2, 900, 2, id="late, loss"),
        pytest.param(split(100, 10), 10, 0.0, 600, 1, id="split"),
        pytest.param(split(100, 10), 10, 0.2, 1_400, 2, id="split, loss"),
        pytest.param(late(100, 10), 2, 0.2, 900, 3, id="two, loss"),
        pytest.param(late(100, 1), 10, 0.0, 300, 1, id="one lacks one"),
        pytest.param(split(255, 20), 10, 0.0, 1_200, 1, id="full sets differ"),
        pytest.param(newcomer(255, 0), 10, 0.0, 1.25 * 32 * 255, 2, id="newcomer to a full set"),
        pytest.param(newcomer(255, 0), 10, 0.2, 1.75 * 32 * 255, 4, id="newcomer to a full set, loss"),
        pytest.param(newcomer(100, 1), 10, 0.0, 1.5 * 32 * 99, 2, id="newcomer with an id of its own"),
    ],
)
def test_sets_come_together_for_few_bytes(
    sets: Sets, peers: int, loss: float, bytes_max: float, rounds_max: float
) -> None:
    bytes_, rounds = costs(sets, peers, loss)
    assert bytes_ <= bytes_max
    assert rounds <= rounds_max


@pytest.mark.parametrize("loss", [0.0, 0.2, 0.5])
def test_two_meshes_that_have_nothing_in_common_meet(loss: float) -> None:
    channel = Channel(1, loss)
    for number in range(6):
        Peer(channel, ALL[:40] if number % 2 else ALL[40:140])
    channel.run(ROUNDS_MAX, channel.agree)
    assert channel.agree()
    assert len(channel.nodes[0].ids) == 140


def test_everybody_lacks_something_else() -> None:
    channel = Channel(3)
    for number in range(10):
        Peer(channel, [feed for index, feed in enumerate(ALL[:100]) if index % 10 != number])
    channel.run(ROUNDS_MAX, channel.agree)
    assert channel.agree()
    assert channel.bytes <= 2 * 32 * 100


def test_nodes_that_agree_say_one_thing_a_round() -> None:
    channel = Channel(0)
    for _ in range(10):
        Peer(channel, ALL[:100], capacity=0)
    channel.run(10)
    assert channel.bytes == 10 * limits.SKETCH_MIN_SIZE
    assert set(channel.sent) == {SKETCH_KIND}


def test_adverts_that_only_ask_whether_all_agree_do() -> None:
    channel = Channel(0)
    for number in range(10):
        Peer(channel, late(100, 10)(number), capacity=0)
    channel.run(ROUNDS_MAX, channel.agree)
    assert channel.agree()
    assert channel.bytes <= 1_000


def test_full_sets_that_differ_stay_as_they_are_and_do_not_quarrel() -> None:
    channel = Channel(0)
    for number in range(4):
        Peer(channel, ALL[:255] if number % 2 else ALL[10:265])
    channel.run(5)
    assert set(channel.sent) == {SKETCH_KIND}
    assert channel.sent[SKETCH_KIND] <= 5 * 4


# --- deployed peers


def test_nobody_begins_with_a_claim() -> None:
    channel = Channel(0, 0.2)
    for number in range(10):
        Peer(channel, split(100, 10)(number))
    channel.run(10)
    assert set(channel.sent) == {SKETCH_KIND, ASK_KIND, FEEDS_KIND}


@pytest.mark.parametrize("loss", [0.0, 0.2])
@pytest.mark.parametrize("pubs", [1, 5])
def test_a_mesh_with_deployed_peers_comes_together(pubs: int, loss: float) -> None:
    channel = Channel(2, loss)
    for number in range(pubs):
        Pub(channel, ALL[number : number + 15])
    for number in range(5):
        Peer(channel, ALL[10 : 30 + number])
    channel.run(10 * ROUNDS_MAX, channel.agree)
    assert channel.agree()
    assert len(channel.nodes[0].ids) == 34


def test_a_deployed_peer_that_knows_but_itself_learns_the_set() -> None:
    channel = Channel(4)
    Pub(channel, ALL[:1])
    for _ in range(5):
        Peer(channel, ALL[1:20])
    channel.run(10 * ROUNDS_MAX, channel.agree)
    assert channel.agree()
    assert channel.sent[CLAIM_KIND]


def test_a_novelty_is_answered_once_by_a_claim_of_the_whole_set() -> None:
    channel = Channel(5)
    for _ in range(5):
        Peer(channel, ALL[:20])
    channel.run(1.5)
    channel.send(None, serialize_novelty(GOSET_DMX, Novelty(ALL[0])))
    channel.run(0.4)
    assert channel.sent[CLAIM_KIND] == 1
