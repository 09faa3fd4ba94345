"""A gateway that fetches 1,000 feeds beside an island of ten nodes, and a day apart: in the simulator."""

from tests.bench.figure import Figure
from tests.islands.feedsync.test_cost import DAY_ENTRIES, cost_of
from tests.islands.sim.busy_shelf import ISLAND, Outcome, play

FEEDS = 1_000
FOLLOWED = 15
BESIDES = 45
"""Feeds that the gateway takes into its set besides, to compare."""
HOURS = 6.0
SYNC_MOST = 1.1
"""Bytes over the internet for each byte of entries and chunks."""
AIR_MOST = 1.05
"""Airtime of the island, against the same without other feeds."""


def run() -> list[Figure]:
    """All figures; a minute and a half."""
    alone, beside = play(FOLLOWED, FOLLOWED, HOURS), play(FEEDS, FOLLOWED, HOURS)
    in_set = play(FOLLOWED + BESIDES, FOLLOWED, HOURS, in_set=BESIDES)
    ratio, bytes_ = beside.airtime_us / alone.airtime_us, cost_of(40, DAY_ENTRIES)
    return [
        Figure("entries and chunks that the gateway fetched in 6 hours, of 1,000 feeds", beside.brought, ""),
        Figure("feeds on its shelf then", beside.shelved, ""),
        Figure("airtime of the island, with the 15 feeds that it follows alone", _seconds(alone), "s"),
        Figure("with all 1,000 beside them", _seconds(beside), "s"),
        Figure("ratio", ratio, "×", f"at most {AIR_MOST}", ratio <= AIR_MOST),
        Figure(
            "fullest hour of any node", beside.peak_permille, "‰", "at most 10", beside.peak_permille <= 10
        ),
        Figure("of what is followed, on all nodes after 6 hours", _share(beside), "%"),
        Figure("and an hour later", 100.0 * beside.complete, "%", "all", beside.complete),
        Figure("median time from the gateway to a node", beside.delay_s, "s"),
        Figure("to compare: 45 more feeds in the gateway's set; airtime", _seconds(in_set), "s"),
        Figure("of what is followed, on all nodes after 6 hours", _share(in_set), "%"),
        Figure("fullest hour of any node", in_set.peak_permille, "‰"),
        Figure(
            "between two gateways a day apart, bytes for each byte of entries and chunks (40 feeds)",
            bytes_,
            "×",
            f"at most {SYNC_MOST}",
            bytes_ <= SYNC_MOST,
        ),
    ]


def _seconds(outcome: Outcome) -> float:
    return outcome.airtime_us / 1e6


def _share(outcome: Outcome) -> float:
    return 100.0 * outcome.arrived / (outcome.wanted * len(ISLAND))
