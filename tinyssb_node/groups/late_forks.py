"""Forks by people who had been excluded long before: evidence for a person to decide on (decision 0071).

An excluded person can go on in an old epoch, exclude others there, and claim that they had not heard of their own
exclusion. Members who really excluded each other look the same. So such a fork is joined by itself within bounds, and
beyond them it is held: nobody prefers it, and no node writes because of it, until a person accepts it.

Members share no clock. A node uses when messages arrived at it, and how much the others wrote since the exclusion. So
two nodes may decide differently; what brings them together is the epoch that joins the forks, once anybody begins it.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Protocol

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import EpochGraph, People
from tinyssb_node.groups.messages import OpenedGroupMessage
from tinyssb_node.ids import MessageId


class LateReason(StrEnum):
    """The bound that a fork exceeds."""

    DAYS = "days"
    """It arrived many days after the exclusion."""
    DEPTH = "depth"
    """The others wrote many messages after the exclusion."""
    AGAIN = "again"
    """Earlier messages of the same person, written without knowing of the exclusion, were joined before."""
    SHARE = "share"
    """It takes out more than half of the members."""
    OUTSIDE = "outside"
    """Its author is not in it, and the members would change to it without a message of theirs."""


@dataclass(frozen=True, slots=True)
class LateFork:
    """A fork that is held, and the evidence."""

    tip: MessageId
    """The fork's last epoch."""
    base: MessageId
    """The epoch that the node stays in."""
    by: People
    """The people who wrote in the fork after they had been excluded."""
    against: tuple[MessageId, ...]
    """Their exclusions, in the order of ids."""
    written: tuple[MessageId, ...]
    """Their exclusions and epochs in the fork, in the order of ids."""
    out: People
    """Members of *base* who would be out if the fork was joined."""
    reasons: tuple[LateReason, ...]
    late_us: int | None
    """How long after the exclusion the fork arrived at this node; None: not known."""
    depth: int
    """How many messages of others follow the exclusion, counted up to the bound."""


class Histories(Protocol):
    """The knowledge of each message's author."""

    def known(self, id_: MessageId) -> int:
        """Return the bits of all messages that change the group and precede *id_*."""
        ...

    def bit(self, id_: MessageId) -> int:
        """Return the bit of a message that changes the group."""
        ...


CameUs = Callable[[OpenedGroupMessage], int | None]
"""When a message arrived at this node, on any clock; None: not known."""


_NEVER_US: Final = 2**63
"""Later than all that arrived."""


@dataclass(frozen=True, slots=True)
class _Claim:
    """Messages that the excluded people of one tip wrote in another, and their exclusions."""

    by: People
    ignored: frozenset[tuple[MessageId, MessageId]]
    """Exclusions, each with a message by a person named in it."""

    @property
    def against(self) -> frozenset[MessageId]:
        """The exclusions."""
        return frozenset(exclusion for exclusion, _ in self.ignored)

    @property
    def written(self) -> frozenset[MessageId]:
        """The messages."""
        return frozenset(id_ for _, id_ in self.ignored)


class LateForks:
    """The judge of the forks that a member is in."""

    def __init__(
        self, said: Mapping[MessageId, OpenedGroupMessage], histories: Histories, came_us: CameUs
    ) -> None:
        self._said = said
        self._histories = histories
        self._came_us = came_us
        self._unsure = False

    def take_unsure(self) -> bool:
        """Return whether an arrival was not known since the last call: results may change without a message."""
        unsure, self._unsure = self._unsure, False
        return unsure

    def of(self, view: EpochGraph, tips: Collection[MessageId]) -> tuple[LateFork, ...]:
        """Return the forks among *tips* that are held. At least one tip is not."""
        held: dict[MessageId, LateFork] = {}
        ordered = sorted(tips, key=lambda tip: self._first([tip]))
        for tip in ordered:
            found = (self._late(view, base, tip) for base in ordered if base != tip and base not in held)
            if (late := next((one for one in found if one is not None), None)) is not None:
                held[tip] = late
        return tuple(held.values())

    def _late(self, view: EpochGraph, base: MessageId, tip: MessageId) -> LateFork | None:
        claim = self._claim(view, base, tip)
        if not claim.by or not self._stays(view, base, tip, claim):
            return None
        inside = view[base].members
        out = view.barred(base, (tip,)) & inside
        depth = self._depth(view, base, tip, claim)
        late_us = self._late_us(claim)
        found = {
            LateReason.DAYS: late_us is not None and late_us >= group_limits.LATE_US,
            LateReason.DEPTH: depth >= group_limits.LATE_DEPTH,
            LateReason.AGAIN: self._again(view, base, claim),
            LateReason.SHARE: group_limits.LATE_SHARE * len(out) > len(inside),
            LateReason.OUTSIDE: view[tip].members <= inside and not claim.by <= view[tip].without,
        }
        reasons = tuple(reason for reason, holds in found.items() if holds)
        if not reasons:
            return None
        against, written = tuple(sorted(claim.against)), tuple(sorted(claim.written))
        return LateFork(tip, base, claim.by, against, written, out, reasons, late_us, depth)

    def _claim(self, view: EpochGraph, base: MessageId, tip: MessageId) -> _Claim:
        """Return what people who were excluded on the way to *base* wrote on the way to *tip*.

        Most of it does not follow their exclusion. What does follow it counts all the same: somebody added them again
        whom nobody in *base* trusts, such as another excluded person.
        """
        out = view[base].without
        own = [init for init in view.chain(tip) - view.chain(base) if view[init].creator in out]
        own += [id_ for id_ in view[tip].exclusions - view[base].exclusions if view.exclusions[id_].by in out]
        ignored = frozenset(
            (one, id_)
            for id_ in own
            for one in view[base].exclusions
            if self._said[id_].author in view.exclusions[one].people
        )
        return _Claim(frozenset(self._said[id_].author for _, id_ in ignored), ignored)

    def _stays(self, view: EpochGraph, base: MessageId, tip: MessageId, claim: _Claim) -> bool:
        """Return whether *base* is where the node was first.

        If people of both forks excluded those of the other, it is the fork with the exclusion that arrived a week
        earlier than any of the other fork's, of those that were ignored for a week; or else the one that others wrote
        in, for a node that got all of it at once; or else the one that arrived earlier.
        """
        other = self._claim(view, tip, base)
        if not other.by:
            return True
        mine, theirs = self._overdue_us(claim), self._overdue_us(other)
        if abs(mine - theirs) >= group_limits.LATE_US:
            return mine < theirs
        deep = self._depth(view, base, tip, claim) >= group_limits.LATE_DEPTH
        if deep != (self._depth(view, tip, base, other) >= group_limits.LATE_DEPTH):
            return deep
        return self._first(other.written) < self._first(claim.written)

    def _overdue_us(self, claim: _Claim) -> int:
        """Return when the first of the exclusions arrived that a person named in it ignored for a week.

        What others wrote in the same fork counts for nothing here: a conflict that was settled long before makes the
        exclusions by a person who goes on there no older.
        """
        pairs = self._arrivals(claim)
        return min(
            (heard for heard, came in pairs if came - heard >= group_limits.LATE_US), default=_NEVER_US
        )

    def _arrivals(self, claim: _Claim) -> list[tuple[int, int]]:
        """Return when each exclusion arrived, and a message that ignores it; not of those of which it is not known."""
        pairs = [(self._came(exclusion), self._came(id_)) for exclusion, id_ in claim.ignored]
        return [(heard, came) for heard, came in pairs if heard is not None and came is not None]

    def _depth(self, view: EpochGraph, base: MessageId, tip: MessageId, claim: _Claim) -> int:
        """Return how many messages follow the exclusions, by people in *base* whom the other fork knows too; not by
        those who wrote the exclusions, so that nobody makes their own look old."""
        authors = view[base].members & (view[tip].members | view[tip].without)
        authors -= {view.exclusions[one].by for one in claim.against}
        bits = sum(self._histories.bit(one) for one in claim.against)
        count = 0
        for id_, said in self._said.items():
            if said.author in authors and self._histories.known(id_) & bits:
                count += 1
                if count >= group_limits.LATE_DEPTH:
                    break
        return count

    def _late_us(self, claim: _Claim) -> int | None:
        """Return how long after an exclusion the last message arrived that ignores it; None: not known."""
        pairs = self._arrivals(claim)
        return max(came - heard for heard, came in pairs) if len(pairs) == len(claim.ignored) else None

    def _again(self, view: EpochGraph, base: MessageId, claim: _Claim) -> bool:
        """Return whether *base* follows something that the same people wrote without knowing of the exclusion."""
        joined = [init for init in view.chain(base) if view[init].creator in claim.by]
        joined += [id_ for id_ in view[base].exclusions if view.exclusions[id_].by in claim.by]
        return any(
            not self._follows(one, other) and not self._follows(other, one)
            for one in joined
            for other in claim.against
            if self._said[one].author in view.exclusions[other].people
        )

    def _follows(self, id_: MessageId, other: MessageId) -> bool:
        return bool(self._histories.known(id_) & self._histories.bit(other))

    def _first(self, ids: Collection[MessageId]) -> tuple[int, MessageId]:
        came = {one: self._came(one) for one in ids}
        return min((_NEVER_US if us is None else us, one) for one, us in came.items())

    def _came(self, id_: MessageId) -> int | None:
        came_us = self._came_us(self._said[id_])
        self._unsure |= came_us is None
        return came_us


def unclocked(_said: OpenedGroupMessage) -> int | None:
    """Return no time, for a reader that keeps none."""
    return None
