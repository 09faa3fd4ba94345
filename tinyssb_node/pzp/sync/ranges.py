"""Ranges of depth, and what of the other side's a goal asks for."""

from dataclasses import dataclass
from typing import Final

from tinyssb_node.pzp.messages.goals import Goal, GoalKind


@dataclass(frozen=True, slots=True)
class DepthRange:
    """Depths from *low* to *high*, both included."""

    low: int
    high: int

    def __bool__(self) -> bool:
        """False for a range without any depth."""
        return self.low <= self.high

    def __contains__(self, depth: int) -> bool:
        return self.low <= depth <= self.high

    def cut(self, other: "DepthRange") -> "DepthRange":
        """The depths that are in both."""
        return DepthRange(max(self.low, other.low), min(self.high, other.high)) or EMPTY


EMPTY: Final = DepthRange(1, 0)
"""No depth."""


def wanted(goal: Goal, have: DepthRange, theirs: DepthRange) -> DepthRange:
    """Of which depths one who has the range *have* and *goal* wants messages from one who has *theirs*.

    What lies in it and is held already is told by filters. The newest are those of both together: so many depths, which
    in a feed that forked are more messages. Of a set or dictionary all are looked at, as any may count still.
    """
    if goal.keep is GoalKind.NONE or not theirs:
        return EMPTY
    if goal.keep is not GoalKind.NEWEST:
        return theirs
    top = max(have.high, theirs.high) if have else theirs.high
    return theirs.cut(DepthRange(top - goal.count + 1, top))
