"""Refusals, recorded at a limited rate: a flood must not fill the event log."""

from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.codec.events import AnswersSpared, Refused
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.transmit_queue import Counters

_SPARED = "spared"


@dataclass(frozen=True, slots=True)
class RefusalTotal:
    """All refusals by one rule, on all faces, as far as they were recorded."""

    rule: str
    """As in ``events.Refused``."""
    count: int
    """Their number since the start."""
    last_us: int
    """When the latest record was written: at most a minute after the refusal."""


class RefusalLog:
    """Refusals by rule and face; yields at most one record per rule, face and ``limits.REFUSED_EVERY_US``."""

    def __init__(self) -> None:
        self._counts: dict[tuple[str, FaceName | None], int] = {}
        self._told_us: dict[tuple[str, FaceName | None], int] = {}
        self._noted: dict[FaceName, tuple[int, int, int]] = {}
        self._totals: dict[str, RefusalTotal] = {}
        self._quiet_us: int | None = None
        """Until when nothing more may be told, if no rule is broken that was not broken before."""

    def note(self, face: FaceName, counters: Counters) -> None:
        """Count what a face's counters count of refusals since the last call."""
        totals = counters.refused, counters.held_back, counters.spared
        noted = self._noted.get(face, (0, 0, 0))
        if totals != noted:
            self._noted[face] = totals
            for rule, total, before in zip(("queue", "budget", _SPARED), totals, noted, strict=True):
                if total > before:
                    self.refuse(rule, face, total - before)

    def refuse(self, rule: str, face: FaceName | None, count: int = 1) -> None:
        """Count *count* refusals by *rule*."""
        key = (rule, face)
        counts = self._counts
        if key in counts:
            counts[key] += count
        else:
            counts[key] = count
            self._quiet_us = None

    def may_tell(self, now_us: int) -> bool:
        """Return False if ``due`` has nothing: there may be millions to count before it has."""
        return bool(self._counts) and (self._quiet_us is None or now_us >= self._quiet_us)

    def due(self, now_us: int) -> list[Refused | AnswersSpared]:
        """Return the records that may be written now."""
        due: list[Refused | AnswersSpared] = []
        for key in sorted(self._counts, key=str):
            told_us = self._told_us.get(key)
            if told_us is None or now_us - told_us >= limits.REFUSED_EVERY_US:
                rule, count = key[0], self._counts.pop(key)
                before = self._totals.get(rule)
                self._totals[rule] = RefusalTotal(rule, count + (before.count if before else 0), now_us)
                due.append(_record(*key, count))
                self._told_us[key] = now_us
        self._quiet_us = min((self._told_us[key] for key in self._counts), default=now_us)
        self._quiet_us += limits.REFUSED_EVERY_US
        return due

    def totals(self) -> list[RefusalTotal]:
        """Return what was refused since the start, the latest first; replies that were spared are no refusals."""
        totals = (total for total in self._totals.values() if total.rule != _SPARED)
        return sorted(totals, key=lambda total: (-total.last_us, total.rule))

    def forget(self, face: FaceName) -> None:
        """Drop the counts of a face that is gone, lest a face that flaps under ever new names fill the tables."""
        self._noted.pop(face, None)
        for table in (self._counts, self._told_us):
            for key in [key for key in table if key[1] == face]:
                del table[key]


def _record(rule: str, face: FaceName | None, count: int) -> Refused | AnswersSpared:
    if rule == _SPARED:
        assert face is not None
        return AnswersSpared(face=face, count=count)
    return Refused(rule=rule, face=face, count=count)
