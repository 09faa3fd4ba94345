"""CHNK: as many side chains as fit, each in its turn, read back as meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec import vectors
from tests.nodes import feed_of
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, chnk_dmx
from tinyssb_node.codec.packets import Chnk, parse_chnk, serialize_chnk
from tinyssb_node.feeds.sidechain import SideChain
from tinyssb_node.replication.chnk import Coding, build_chnk, read_chnk
from tinyssb_node.replication.goset import Goset

FEEDS = sorted(feed_of(number) for number in range(limits.SET_MAX))
GOSET = Goset(FEEDS)
DMX = chnk_dmx(Network(), bytes(32))

chains = st.builds(
    lambda index, seq, held: SideChain(FEEDS[index], seq, 10_486, held, b"h" * 20, 1_048_548),
    st.integers(0, limits.SET_MAX - 1),
    st.one_of(st.integers(1, 300), st.integers(1, limits.SEQ_MAX)),
    st.integers(0, 10_485),
)


@given(st.lists(chains, min_size=1, max_size=60), st.integers(0, 200))
def test_any_side_chains_fit_and_each_gets_its_turn(open_: list[SideChain], start: int) -> None:
    asked: list[tuple[int, int, int]] = []
    following = start
    for _ in range(len(open_)):
        built = build_chnk(GOSET, open_, following)
        assert built is not None
        chnk, following = built
        assert parse_chnk(serialize_chnk(DMX, chnk)) == chnk
        asked += chnk.wanted
        if len(asked) >= len(open_):
            break
    turned = [open_[(start + number) % len(open_)] for number in range(len(open_))]
    expected = [(GOSET.index(chain.feed), chain.seq, chain.held) for chain in turned]
    assert asked[: len(open_)] == expected


def test_as_many_as_fit_are_asked_at_once() -> None:
    open_ = [SideChain(FEEDS[number], 1, 2, 0, b"h" * 20, 200) for number in range(100)]
    built = build_chnk(GOSET, open_, 0)
    assert built is not None
    assert len(built[0].wanted) == (limits.VECTOR_SIZE - 2) // 7
    assert build_chnk(GOSET, open_[:3], 7) == (Chnk(wanted=((1, 1, 0), (2, 1, 0), (0, 1, 0))), 1)


def test_nothing_open_asks_for_nothing() -> None:
    assert build_chnk(GOSET, [], 0) is None


def test_an_index_beyond_the_set_is_left_out() -> None:
    goset = Goset(FEEDS[:2])
    chnk = Chnk(wanted=((0, 1, 0), (2, 1, 0), (1, 9, 3), (limits.SEQ_MAX, 1, 0)))
    assert read_chnk(goset, chnk) == [(FEEDS[0], 1, 0), (FEEDS[1], 9, 3)]


@pytest.mark.parametrize("number", range(3))
def test_vectors_of_other_programs_are_read(number: int) -> None:
    vector = vectors.load("want_chnk.json")["chnk"][number]
    chnk = parse_chnk(bytes.fromhex(vector["packet"]))
    assert read_chnk(GOSET, chnk) == [(FEEDS[index], seq, chunk) for index, seq, chunk in vector["vector"]]


@given(
    st.lists(chains, min_size=1, max_size=60, unique_by=lambda chain: (chain.feed, chain.seq)),
    st.integers(0, 200),
)
def test_of_each_chunk_block_one_side_chain_is_asked_for(open_: list[SideChain], start: int) -> None:
    def block_of(chain: SideChain) -> int | None:
        return chain.seq // 4 or None

    coding = Coding(block_of, lambda chain: chain.seq % 20)
    built = build_chnk(GOSET, open_, start, coding)
    assert built is not None
    chnk, following = built
    assert chnk.lacking is not None
    assert len(chnk.lacking) == len(chnk.wanted)
    packet = serialize_chnk(DMX, chnk) if chnk.wanted else b""
    assert len(packet) <= limits.PACKET_SIZE
    passed = (following - start) % len(open_) or len(open_)
    firsts: dict[int | None, tuple[SideChain, int]] = {}
    for number in range(passed):
        chain = open_[(start + number) % len(open_)]
        if block_of(chain) is not None:
            firsts.setdefault(block_of(chain), (chain, chain.seq % 20 if chain.seq % 20 < 16 else 0))
    expected = [((GOSET.index(chain.feed), chain.seq, chain.held), rows) for chain, rows in firsts.values()]
    assert list(zip(chnk.wanted, chnk.lacking, strict=True)) == expected
