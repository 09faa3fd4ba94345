"""Imports by our user: a feed is followed once a packet proves to be its own."""

from collections.abc import AsyncIterator, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.daemon.controlled import Connect, code_of, serving
from tests.daemon.fakes import Bench
from tests.nodes import feed_of, key_of, packets_of, written
from tinyssb_node import limits
from tinyssb_node.content.contacts import set_blocked
from tinyssb_node.daemon.packet_import import BLOCKED, UNPROVEN
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, FeedId, Origin

ANA, BEN = key_of("ana"), key_of("ben")
FEED = packets_of(written(ANA, [b"one", bytes(300), b"three"]))
"""Three entries, the second with three chunks."""


class Offering:
    """Somebody who imports, and sees what became of it."""

    def __init__(self, bench: Bench, connect: Connect) -> None:
        self.bench = bench
        self._connect = connect

    async def offer(self, feed: FeedId, packets: Sequence[bytes]) -> dict[str, Any]:
        async with self._connect() as line:
            (reply,) = await line.ask("import", feed=feed.hex(), packets=[packet.hex() for packet in packets])
        return reply

    async def refused(self, feed: FeedId, packets: Sequence[bytes]) -> tuple[int, str] | None:
        """Which packet was refused, and why."""
        row = (await self.offer(feed, packets))["result"]["refused"]
        return None if row is None else (row["packet"], row["reason"])

    @property
    def state(self) -> tuple[Any, bytes, int]:
        """All that an import may change."""
        node = self.bench.runtime.networks.node(DEFAULT_NETWORK)
        return node.feeds(), node.set_state, self.bench.store.last_arrival()

    def follows(self, feed: FeedId) -> bool:
        return any(record.feed == feed and record.wanted for record in self.bench.store.feeds())


@pytest.fixture
async def offering(tmp_path: Path) -> AsyncIterator[Offering]:
    (tmp_path / "home").mkdir()
    async with serving(tmp_path, home=tmp_path / "home") as (bench, connect):
        yield Offering(bench, connect)


async def test_ids_that_anybody_can_make_up_get_no_place_in_the_set(offering: Offering) -> None:
    before = offering.state
    for number in range(3):
        assert await offering.refused(feed_of(number), [bytes(limits.PACKET_SIZE)]) == (0, UNPROVEN)
    assert await offering.refused(BEN.feed_id, FEED) == (0, UNPROVEN), "signed by another one"
    forged = FEED[0][:-1] + bytes([FEED[0][-1] ^ 1])
    assert await offering.refused(ANA.feed_id, [forged, *FEED[1:]]) == (0, UNPROVEN)
    assert await offering.refused(ANA.feed_id, FEED[1:]) == (0, UNPROVEN), "not from entry 1 on"
    assert await offering.refused(feed_of(4), []) is None
    assert offering.state == before


@pytest.mark.parametrize("dialect", list(Dialect))
async def test_a_feed_that_proves_itself_is_followed(offering: Offering, dialect: Dialect) -> None:
    packets = packets_of(written(ANA, [b"one", b"two"], dialect))
    assert await offering.refused(ANA.feed_id, [*packets, bytes(120)]) == (
        2,
        "nothing the node holds leads to it",
    )
    assert offering.follows(ANA.feed_id)
    assert [entry.origin for entry in offering.bench.store.entries(ANA.feed_id, 1, 9)] == [Origin.IMPORT] * 2


async def test_one_that_was_unfollowed_is_followed_again_for_what_is_its_own(offering: Offering) -> None:
    await offering.offer(ANA.feed_id, FEED[:3])
    node = offering.bench.runtime.networks.node(DEFAULT_NETWORK)
    for strange in (bytes(120), FEED[4]):
        node.unfollow(ANA.feed_id, 0)
        assert await offering.refused(ANA.feed_id, [strange]) == (0, UNPROVEN)
        assert not offering.follows(ANA.feed_id)
    for known in (FEED[0], FEED[2], FEED[3], FEED[5]):
        node.unfollow(ANA.feed_id, 0)
        assert await offering.refused(ANA.feed_id, [known]) is None
        assert offering.follows(ANA.feed_id)


async def test_a_full_set_is_told_before_anything_is_changed(
    offering: Offering, monkeypatch: pytest.MonkeyPatch
) -> None:
    node = offering.bench.runtime.networks.node(DEFAULT_NETWORK)
    monkeypatch.setattr(limits, "KNOWN_FEEDS_MAX", limits.SET_MAX)
    for number in range(limits.SET_MAX - len(node.feeds())):
        node.follow(feed_of(number), 0)
    before = offering.state
    assert code_of(await offering.offer(ANA.feed_id, FEED)) == "set_full"
    assert offering.state == before


async def test_blocked_feeds_are_not_taken_in_known_or_not(offering: Offering, tmp_path: Path) -> None:
    home, before = tmp_path / "home", offering.state
    set_blocked(home, ANA.feed_id, blocked=True)
    assert await offering.refused(ANA.feed_id, FEED) == (0, BLOCKED)
    assert offering.state == before
    set_blocked(home, ANA.feed_id, blocked=False)
    assert await offering.refused(ANA.feed_id, FEED[:1]) is None
    set_blocked(home, ANA.feed_id, blocked=True)
    assert await offering.refused(ANA.feed_id, FEED) == (0, BLOCKED)
    assert offering.bench.store.entry(ANA.feed_id, 2) is None
