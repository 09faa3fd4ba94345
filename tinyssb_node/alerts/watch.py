"""Announcements of problems: which begin and which are over, held against those that come and go. It reads no clock."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

from tinyssb_node.alerts import limits
from tinyssb_node.screens.check_result import CheckResult


class AlertName(NamedTuple):
    """The name of a problem, the same for as long as it lasts."""

    check: str
    about: str


@dataclass(frozen=True, slots=True)
class Announcement:
    """A problem to announce."""

    problem: CheckResult
    is_over: bool
    """True if it is over, False if it began."""
    since_us: int
    """When it was first found, by the wall clock."""

    @property
    def name(self) -> AlertName:
        """The problem's name."""
        return AlertName(self.problem.check, self.problem.about)


@dataclass(slots=True)
class _Problem:
    latest: CheckResult
    since_us: int
    """When it was first found, by the wall clock."""
    first_us: int
    """The same, by the clock that never jumps."""
    last_us: int
    """When it was found last, by that clock."""
    announced: bool = False


@dataclass(slots=True)
class AlertWatch:
    """Problems of a node, and which of them were announced."""

    _problems: dict[AlertName, _Problem] = field(default_factory=dict)

    def restore(self, announced: Iterable[Announcement], mono_us: int) -> None:
        """Take over what was announced before a restart; what is not found again is over after a while."""
        for one in announced:
            self._problems[one.name] = _Problem(one.problem, one.since_us, mono_us, mono_us, announced=True)

    def announced(self) -> list[Announcement]:
        """Return the problems that were announced and are not over."""
        return [
            Announcement(one.latest, is_over=False, since_us=one.since_us)
            for one in self._problems.values()
            if one.announced
        ]

    def look(self, found: Iterable[CheckResult], wall_us: int, mono_us: int) -> None:
        """Note the problems that are found now."""
        for problem in found:
            name = AlertName(problem.check, problem.about)
            known = self._problems.get(name)
            if known is not None:
                known.latest, known.last_us = problem, mono_us
            elif len(self._problems) < limits.ALERTS_MAX:
                self._problems[name] = _Problem(problem, wall_us, mono_us, mono_us)
        for name, one in [*self._problems.items()]:
            if not one.announced and one.last_us != mono_us:
                del self._problems[name]

    def due(self, mono_us: int) -> Announcement | None:
        """Return what to announce next; None for nothing."""
        for one in self._problems.values():
            if one.announced and mono_us - one.last_us >= limits.CLEAR_US:
                return Announcement(one.latest, is_over=True, since_us=one.since_us)
            if not one.announced and mono_us - one.first_us >= limits.HOLD_US:
                return Announcement(one.latest, is_over=False, since_us=one.since_us)
        return None

    def confirm(self, announcement: Announcement) -> None:
        """Note that it was announced."""
        if announcement.is_over:
            del self._problems[announcement.name]
        else:
            self._problems[announcement.name].announced = True
