"""Clocks of nodes as the refresh estimated them, and conversion to mesh time (docs/reference/analytics.md)."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from typing import Any, cast

from spark_sink.limits import CLOCK_JUMP_US
from spark_sink.page import limits
from spark_sink.serving.database import Reader, rows_of
from spark_sink.serving.facts import whole


@dataclass(frozen=True, slots=True)
class Clock:
    """A boot's wall clock until it jumps. Columns of the table ``clocks``, in its order."""

    boot: int
    era: int
    from_mono_us: int
    base_us: int
    mesh: int
    """Clocks with the same number are related; a clock related to no other has its node's number, which no group
    has."""
    at_us: int
    offset_us: int
    drift_ppm: float
    offset_error_us: float
    drift_error_ppm: float
    covariance_us_ppm: float
    matches: int

    def mesh_us(self, own_us: int) -> int:
        """Convert a time of this clock to mesh time."""
        drift = self.drift_ppm / 1e6
        return own_us - self.offset_us - round(drift / (1 + drift) * (own_us - self.at_us))

    def own_us(self, mesh_us: int) -> int:
        """Convert mesh time to a time of this clock."""
        return (
            mesh_us + self.offset_us + round(self.drift_ppm / 1e6 * (mesh_us + self.offset_us - self.at_us))
        )

    def error_us(self, own_us: int) -> float:
        """Return standard error of ``mesh_us``."""
        apart_s = (own_us - self.at_us) / limits.SECOND_US
        variance = (
            self.offset_error_us**2
            + 2 * apart_s * self.covariance_us_ppm
            + (apart_s * self.drift_error_ppm) ** 2
        )
        return sqrt(max(0.0, variance))


def load_clocks(db: Reader) -> dict[int, list[Clock]]:
    """Return the clocks by node, oldest first. Raises DatabaseFailedError."""
    clocks: dict[int, list[Clock]] = {}
    for node_no, *columns in rows_of(whole(db, "clocks", "ORDER BY node_no, boot, era")):
        clocks.setdefault(cast("int", node_no), []).append(Clock(*cast("list[Any]", columns)))
    return clocks


def clock_of_boot(clocks: Sequence[Clock], boot: int) -> Clock | None:
    """Return the clock that a boot has now, or had at its end; None if it is not known."""
    return next((clock for clock in reversed(clocks) if clock.boot == boot), None)


def clock_of_record(clocks: Sequence[Clock], boot: int, mono_us: int, t_us: int) -> Clock | None:
    """Return the clock that a record's ``t_us`` was read off; None if it is not known.

    A record that was written again after a crash (its ``mono_us`` is 0, while its boot's clock showed another time) is
    by the last clock of the boots before, if that had begun: as spark_sink/derive/mesh_time.py has it.
    """
    of_boot = [clock for clock in clocks if clock.boot == boot]
    begun = [clock for clock in of_boot if clock.from_mono_us <= mono_us]
    clock = begun[-1] if begun else of_boot[0] if of_boot else None
    again = mono_us == 0 and (clock is None or abs(t_us - clock.base_us) > CLOCK_JUMP_US)
    if not again:
        return clock
    before = [known for known in clocks if known.boot < boot]
    if not before or t_us < before[-1].base_us + before[-1].from_mono_us - limits.HOUR_US:
        return None
    return before[-1]
