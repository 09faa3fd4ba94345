"""Cost of looking at what is held, whatever a peer asks of it."""

from collections.abc import Mapping

import pytest

from tests.pzp.sync.replicas import Replica
from tinyssb_node.pzp.messages.tangle import PzpTangle, RootFacts
from tinyssb_node.pzp.sync import holdings, limits
from tinyssb_node.pzp.sync.holdings import TangleHoldings, differs_from, digests
from tinyssb_node.pzp.sync.packets import (
    EMPTY,
    DepthRange,
    EndReason,
    ExchangeId,
    PzpDigest,
    PzpEnd,
    PzpHave,
    parse_packet,
    serialize_packet,
)
from tinyssb_node.pzp.sync.sync import PzpSync

SALT = bytes(8)
ROOT = "1" * 16


class Counted(PzpTangle):
    """A tangle that counts the depths that are looked at."""

    __slots__ = ("looks",)

    def __init__(self, root: str) -> None:
        super().__init__(root)
        self.looks = 0

    def at_depth(self, depth: int) -> list[str]:
        self.looks += 1
        return super().at_depth(depth)


class Chain(Replica):
    """A replica of one chain, whose messages nobody reads."""

    def __init__(self, length: int, bare: int = 0) -> None:
        super().__init__()
        self.chain = Counted(ROOT)
        self.chain.add_root(RootFacts())
        for depth in range(1, length):
            self.chain.add(f"m{depth}", depth, [f"m{depth - 1}" if depth > 1 else ROOT])
        self.tangles[ROOT] = self.chain
        self.without = {f"m{depth}": True for depth in range(1, bare)}

    def bare(self, root: str) -> Mapping[str, bool]:
        return self.without if root == ROOT else {}


class Unwalked(dict[int, list[str]]):
    """Nobody goes through it from end to end."""

    def __iter__(self) -> object:  # type: ignore[override] # it never returns
        raise AssertionError("all depths are gone through for some of them")


def same(chain: Chain, *highs: int) -> list[PzpDigest]:
    """Digests that end at *highs*, all as they are here."""
    held, found, start = TangleHoldings(chain, ROOT), [], 0
    for high in highs:
        found.append(PzpDigest(high, holdings.digest_of(chain, held, DepthRange(start, high), SALT)))
        start = high + 1
    return found


def test_who_looks_at_some_depths_does_not_go_through_all() -> None:
    chain = Chain(100)
    chain.chain.by_depth = Unwalked(chain.chain.by_depth)
    assert chain.chain.slice(5, 6) == ["m5", "m6"]
    held = TangleHoldings(chain, ROOT)
    highs = [*range(49), limits.DEPTH_MAX]
    theirs, chain.chain.looks = same(chain, *highs), 0
    assert differs_from(chain, held, 0, theirs, SALT) is None
    assert chain.chain.looks == 2 * 100, (
        "once to see that they are no more than a window, once for the digest"
    )


def test_the_ends_of_what_is_held_are_looked_for_from_both_ends() -> None:
    chain = Chain(1_000, bare=4)
    chain.without[ROOT] = True
    assert TangleHoldings(chain, ROOT).whole() == DepthRange(4, 999)
    assert chain.chain.looks <= 6
    chain.without.update((f"m{depth}", True) for depth in range(1_000))
    assert TangleHoldings(chain, ROOT).whole() == TangleHoldings(chain, "nothing").whole() == EMPTY


def test_of_a_digest_that_is_longer_than_a_window_only_a_window_is_looked_at(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(limits, "WINDOW_IDS_MAX", 10)
    monkeypatch.setattr(limits, "WINDOWS_MAX", 4)
    chain = Chain(100)
    held = TangleHoldings(chain, ROOT)
    theirs, chain.chain.looks = same(chain, 9, limits.DEPTH_MAX), 0
    assert differs_from(chain, held, 0, theirs, SALT) == 10
    assert chain.chain.looks <= 32
    assert len(digests(chain, held, 0, SALT)) == 4
    assert differs_from(chain, held, 0, digests(chain, held, 0, SALT), SALT) is None, "the last may be longer"


def test_a_depth_with_more_than_a_window_is_compared_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WINDOW_IDS_MAX", 3)
    chain = Chain(5)
    for number in range(9):
        chain.chain.add(f"x{number}", 2, ["m1"])
    held = TangleHoldings(chain, ROOT)
    theirs = digests(chain, held, 0, SALT)
    assert [one.high for one in theirs] == [1, 2, limits.DEPTH_MAX]
    assert differs_from(chain, held, 0, theirs, SALT) is None
    chain.chain.add("y", 2, ["m1"])
    assert differs_from(chain, held, 0, theirs, SALT) == 2


@pytest.mark.parametrize("equal", [True, False])
def test_each_further_window_that_was_compared_counts_as_an_exchange(*, equal: bool) -> None:
    chain = Chain(100)
    side = PzpSync(chain, bytes)
    theirs = same(chain, *range(99), limits.DEPTH_MAX)
    if not equal:
        theirs[-1] = PzpDigest(limits.DEPTH_MAX, bytes(16))
    answers = []
    for _ in range(limits.BEGUN_A_MINUTE_MAX // 100 + 2):
        side.receive(serialize_packet(PzpHave(ExchangeId(ROOT, SALT), 0, EMPTY, theirs)), 0)
        data = side.next_packet(0)
        assert data is not None
        answers.append(parse_packet(data))
    assert answers[-1] == PzpEnd(ExchangeId(ROOT, SALT), EndReason.BUSY)
    assert answers[-4] != PzpEnd(ExchangeId(ROOT, SALT), EndReason.BUSY)


def test_as_many_tangles_that_are_the_same_are_compared_as_exchanges_may_begin() -> None:
    chain = Chain(100)
    side, theirs = PzpSync(chain, bytes), same(chain, limits.DEPTH_MAX)
    answers = []
    for _ in range(limits.BEGUN_A_MINUTE_MAX + 1):
        side.receive(serialize_packet(PzpHave(ExchangeId(ROOT, SALT), 0, EMPTY, theirs)), 0)
        answers.append(parse_packet(side.next_packet(0) or b""))
    done, busy = (PzpEnd(ExchangeId(ROOT, SALT), why) for why in (EndReason.DONE, EndReason.BUSY))
    assert answers == [done] * limits.BEGUN_A_MINUTE_MAX + [busy]
