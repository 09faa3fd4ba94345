"""Which feeds a gateway tells others of and gives, and which it seeks and takes."""

from collections.abc import Collection, Iterable, Mapping, Sequence

from tinyssb_node.ids import FeedId
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import FeedSelection
from tinyssb_node.islands.gateway.stored import FeedHolding
from tinyssb_node.islands.locator.values import ResourceParameters


def offered_feeds(feeds: Iterable[FeedHolding], which: FeedSelection) -> Sequence[FeedHolding]:
    """Those of *feeds* that others may have: our own first, then those of the set, as many as are offered at all."""
    allowed = [
        one
        for one in feeds
        if which is not FeedSelection.NONE
        and (one.ours or (which is FeedSelection.SET and one.wanted))
        and one.seq
    ]
    return sorted(allowed, key=lambda one: (not one.ours, not one.in_set, one.feed))[: limits.OFFERS_MAX]


def wanted_feeds(
    feeds: Iterable[FeedHolding], which: FeedSelection, carried: Collection[FeedId] = ()
) -> Mapping[FeedId, tuple[int, int]]:
    """Those of *feeds* that are to be had, each with entries held and the share of side chains whole, in 255ths.

    A forked feed is frozen, and one that has left the set is whole. Those *carried* are in none.
    """
    return {
        one.feed: (one.seq, one.whole)
        for one in feeds
        if which is not FeedSelection.NONE
        and (
            one.feed in carried or (one.in_set and (one.ours or (which is FeedSelection.SET and one.wanted)))
        )
        and not one.forked
    }


def adverts(
    feeds: Sequence[FeedHolding], offer: FeedSelection, wanted: Iterable[FeedId]
) -> Mapping[FeedId, ResourceParameters]:
    """What is told of *feeds*: how much is here of what others may have.

    Of what is *wanted* and not here that nothing is, if feeds of others may be told of at all: so that whoever learns
    of somebody who has it tells us (the old flags of the text), and we need not ask again and again.
    """
    told = {one.feed: ResourceParameters(one.seq, one.whole) for one in offered_feeds(feeds, offer)}
    if offer is FeedSelection.SET:
        for feed in wanted:
            if feed not in told and len(told) < limits.OFFERS_MAX:
                told[feed] = ResourceParameters(0, 0)
    return told
