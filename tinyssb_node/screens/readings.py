"""Series of numbers in data of sensors, for charts. Pure.

A list such as `["temp", "roof", 21.5]`, or a dict, is readings: its texts name what is measured, its numbers are the
values. Their time is that of arrival, as such entries state none.
"""

import json
import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from tinyssb_node.catalog.rows import DataRow
from tinyssb_node.ids import FeedId
from tinyssb_node.screens import limits

_OTHER_MAX: Final = 8
"""Numbers that are read of one entry."""


@dataclass(frozen=True, slots=True)
class ReadingSeries:
    """The numbers of one kind that one author published, in order of arrival."""

    feed: FeedId
    label: str
    """The words beside the number, unescaped; empty: there are none."""
    points: tuple[tuple[int, float], ...]
    """Times in microseconds since 1970, and values; at most `limits.SERIES_POINTS_MAX`."""


def series_of(entries: Iterable[DataRow]) -> list[ReadingSeries]:
    """Return the series in *entries*, given in order of arrival, the one with the latest value first: at most
    `limits.SERIES_MAX`, and of each author at most `limits.SERIES_EACH_MAX`."""
    found: dict[tuple[FeedId, str], list[tuple[int, float]]] = {}
    for entry in entries:
        for label, value in _numbers(entry.text):
            found.setdefault((entry.feed, label), []).append((entry.committed_us, value))
    series = [
        ReadingSeries(feed, label, tuple(points[-limits.SERIES_POINTS_MAX :]))
        for (feed, label), points in found.items()
    ]
    series.sort(key=lambda one: (-one.points[-1][0], one.feed, one.label))
    counts: dict[FeedId, int] = {}
    shown = []
    for one in series:
        counts[one.feed] = counts.get(one.feed, 0) + 1
        if counts[one.feed] <= limits.SERIES_EACH_MAX:
            shown.append(one)
    return shown[: limits.SERIES_MAX]


def _numbers(text: str) -> Iterator[tuple[str, float]]:
    """Yield the numbers in a JSON text, with their labels."""
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return
    if isinstance(value, dict):
        named: Mapping[str, object] = value
    elif isinstance(value, list):
        words = " ".join(item for item in value if isinstance(item, str))
        numbers = [item for item in value if _is_number(item)]
        several = len(numbers) > 1
        named = {f"{words} {at}".strip() if several else words: item for at, item in enumerate(numbers, 1)}
    else:
        return
    numbered = [(label, item) for label, item in named.items() if _is_number(item)]
    for label, item in numbered[:_OTHER_MAX]:
        assert isinstance(item, int | float)
        yield label, float(item)


def _is_number(value: object) -> bool:
    """Return whether *value* is a number that a chart can show."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    return abs(value) < 1e15 and math.isfinite(value)
