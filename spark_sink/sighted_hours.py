"""Hours of logs that have sights, and the mesh time that depends on each: kept up as hours come."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink import facts_loader
from spark_sink.arrays import Ints, run_starts, runs
from spark_sink.derive.mesh_time import Corrections
from spark_sink.facts_loader import AffectedHours
from spark_sink.serving.database import Reader

KEY: Final = ("node_no", "boot", "hour_us")
"""Columns that name an hour of a log."""
_SAMPLE: Final = 500
"""Hours that are looked at to know how many sights an hour has: within a tenth for hours like those of radios."""


class SightedHours:
    """All hours of logs of which there are sights."""

    def __init__(self, reader: Reader) -> None:
        """Read which there are. Raises DatabaseFailedError."""
        self._reader = reader
        self.reload()

    def __len__(self) -> int:
        return len(self.keys)

    def reload(self) -> None:
        """Read again which there are, after some were deleted. Raises DatabaseFailedError."""
        self.keys = facts_loader.keys_of(self._reader)
        """A row each, with the columns `KEY`, in no order."""
        order = np.lexsort(self.keys.T[::-1])
        node_no, boot, hour_us = self.keys[order].T
        begins, counts = runs(run_starts(node_no, boot))
        self._hours = {
            (int(node_no[begin]), int(boot[begin])): hour_us[begin : begin + count]
            for begin, count in zip(begins.tolist(), counts.tolist(), strict=True)
        }
        self._clocks: Corrections | None = None
        self._reach: AffectedHours | None = None

    def add(self, marked: pa.Table) -> None:
        """Add hours, some of which may be known."""
        none = np.empty(0, np.int64)
        new: dict[tuple[int, int], list[int]] = {}
        for node_no, boot, hour_us in zip(*(marked[name].to_pylist() for name in KEY), strict=True):
            known = self._hours.get((node_no, boot), none)
            place = known.searchsorted(hour_us)
            if place == len(known) or known[place] != hour_us:
                new.setdefault((node_no, boot), []).append(hour_us)
        for key, hours in new.items():
            self._hours[key] = np.union1d(self._hours.get(key, none), hours)
        if new:
            rows = {(*key, hour_us) for key, hours in new.items() for hour_us in hours}
            self._append(np.array(sorted(rows), np.int64))

    def _append(self, new: Ints) -> None:
        self.keys = np.concatenate([self.keys, new])
        if self._clocks is not None and self._reach is not None:
            more = facts_loader.affected_hours(self._clocks, *new.T)
            both = (self._reach, more)
            self._reach = AffectedHours(
                *(np.concatenate([getattr(one, name) for one in both]) for name in AffectedHours.__slots__)
            )

    def reach(self, clocks: Corrections) -> AffectedHours:
        """Return the mesh time that depends on each hour; its column `asked` means nothing."""
        if self._reach is None or self._clocks is not clocks:
            self._clocks, self._reach = clocks, facts_loader.affected_hours(clocks, *self.keys.T)
        return self._reach

    def sights_an_hour(self) -> float:
        """Return about how many sights an hour has. The caller holds the lock. Raises DatabaseFailedError."""
        some = self.keys[:: max(1, len(self) // _SAMPLE)]
        if not len(some):
            return 0.0
        values = ", ".join(["(?, ?, ?)"] * len(some))
        ((sights,),) = self._reader.rows(
            f"WITH w ({', '.join(KEY)}) AS (VALUES {values}) SELECT coalesce(sum(s.n), 0) FROM w CROSS JOIN sights s "  # noqa: S608 - names of ours
            "WHERE s.node_no = w.node_no AND s.boot = w.boot AND s.hour_us = w.hour_us",
            some.ravel().tolist(),
        )
        assert isinstance(sights, int)
        return sights / len(some)


def hours_table(keys: Ints) -> pa.Table:
    """Return hours of logs as a table with the columns `KEY`."""
    return pa.table({name: pa.array(column) for name, column in zip(KEY, keys.T, strict=True)})
