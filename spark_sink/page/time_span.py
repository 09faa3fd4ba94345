"""Ranges of time as views look them up: days that are summed up, and the hours around them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from spark_sink.page import limits
from spark_sink.page.scope import Scope, fetch
from spark_sink.serving.database import marks, pieces
from spark_sink.serving.day_sums import DAY_US

_DAYS: Final = {"links": "link_days", "uses": "use_days", "transmitted": "air_days", "delays": "delay_days"}
"""By table, that of its sums over days."""
_WITHIN: Final = {
    "transmitted": f"slot_us >= {{0}} AND slot_us < {{1}} AND hour_us > {{0}} - {limits.HOUR_US} AND hour_us < {{1}}"
}
"""By table, the condition that a row is within a range of time, if not by its hour alone."""


@dataclass(frozen=True, slots=True)
class TimeSpan:
    """A range of time, as views look it up."""

    days: list[int]
    """Beginnings of days that are summed up."""
    rest: list[tuple[int, int]]
    """The time between them."""

    def rows(
        self,
        table: str,
        columns: str,
        condition: str,
        parameters: Sequence[int | str],
        *,
        by_key: str = "true",
    ) -> tuple[str, list[int | str]]:
        """Return a subquery for rows of sums over days, and of the *table* that they are over for the rest; and its
        parameters. *by_key* is a condition that is true anyway, by which rows of the *table* are found."""
        asked: list[int | str] = []
        parts = []
        for some in pieces(self.days):
            parts.append(
                f"SELECT {columns} FROM {_DAYS[table]} WHERE day_us IN ({marks(len(some))}) AND {condition}"  # noqa: S608 - names of ours
            )
            asked += [*some, *parameters]
        for from_us, to_us in self.rest:
            within = _WITHIN.get(table, "hour_us >= {0} AND hour_us < {1}").format(from_us, to_us)
            parts.append(f"SELECT {columns} FROM {table} WHERE {within} AND {by_key} AND {condition}")  # noqa: S608 - names of ours
            asked += parameters
        return f"({' UNION ALL '.join(parts)}) AS t", asked


def time_span(scope: Scope, from_us: int, to_us: int) -> TimeSpan:
    """Divide a range of mesh time into days that are summed up, and the time around them."""
    rows = fetch(
        scope.db,
        "SELECT day_us FROM days WHERE summed = 1 AND day_us >= ? AND day_us <= ? ORDER BY day_us",
        (from_us, to_us - DAY_US),
    )
    days = [day_us for (day_us,) in rows]
    ends = [from_us, *(day_us + DAY_US for day_us in days)]
    rest = [(low, high) for low, high in zip(ends, [*days, to_us], strict=True) if low < high]
    if len(rest) > limits.PIECES_MAX:  # logs of long ago came late, and days are about to be summed up again
        return TimeSpan([], [(from_us, to_us)])
    return TimeSpan(days, rest)
