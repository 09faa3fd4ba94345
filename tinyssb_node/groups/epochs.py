"""The epochs of a group, and which one a member prefers (exclusion document, 3 and 4.2 to 4.8).

All of it is a function of which epochs there are, who is in them, and who was excluded from them: `membership` finds
that out from messages. Where the document is silent or at odds with itself, decision 0033 says what is done.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from itertools import combinations
from typing import Final

from tinyssb_node.ids import EpochKey, FeedId, MessageId

People = frozenset[FeedId]
NOBODY: Final[People] = frozenset()


@dataclass(frozen=True, slots=True)
class Epoch:
    """One epoch, as far as we know it."""

    init: MessageId
    """Id of its first message, which is what names it."""
    key: EpochKey = field(repr=False)
    creator: FeedId
    previous: tuple[MessageId, ...]
    """Epochs that it succeeds directly: all tips its creator knew (R38). None: epoch zero."""
    members: People
    """Declared members: who was added (3)."""
    excluded: People = NOBODY
    """Those of them whom somebody excluded from it, and nobody took on again since."""
    exclusions: frozenset[MessageId] = frozenset()
    """Exclusions that lead up to it: its creator knew of them (4.9, decision 0033)."""
    without: People = NOBODY
    """Who was excluded up to this epoch, and not taken on again (4.9)."""
    correct: People = NOBODY
    """Who should be in it: all whom anybody added to any epoch, without these (4.9)."""
    due: People = NOBODY
    """Those of them whom its creator knew of: he owes them the key (R8)."""

    @property
    def missing(self) -> People:
        """Who should be in it and was not added."""
        return self.correct - self.members

    @property
    def rank(self) -> tuple[bytes, bytes]:
        """The smallest wins a tie: unsigned bytes of the key (4.3); the same key twice is somebody's mischief."""
        return (bytes(self.key), bytes(self.init))


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A message that excludes people, and that counts."""

    id: MessageId
    by: FeedId
    epoch: MessageId
    """From which epoch."""
    until: Mapping[FeedId, int | None]
    """Who is excluded, and the number of his last entry in that epoch that the excluder had; None: not said."""

    @property
    def people(self) -> People:
        """Who is excluded."""
        return frozenset(self.until)


class EpochRelation(StrEnum):
    """How the members of two forked epochs overlap."""

    SAME = "same"
    SUBSET = "subset"
    OVERLAP = "overlap"
    DISJOINT = "disjoint"


class PreferenceRule(StrEnum):
    """Which section of the document led to a preference."""

    EPOCH_ZERO = "epoch-zero"
    SUCCESSOR = "4.2"
    SAME = "4.4"
    SUBSET = "4.5"
    OVERLAP = "4.6"


@dataclass(frozen=True, slots=True)
class EpochFork:
    """Two epochs of which neither precedes the other, and that nothing succeeds."""

    epochs: tuple[MessageId, MessageId]
    """In the order of their ids."""
    relation: EpochRelation
    nearest: frozenset[MessageId]
    """Nearest common predecessors: one, or several where an epoch joins forks."""
    witnesses: People
    """Who is in both, and was in what they come from."""
    winner: MessageId
    """Of the tie-break (4.3)."""


@dataclass(frozen=True, slots=True)
class ForkResolution:
    """The epoch that would join forks which overlap (4.6)."""

    base: MessageId
    """The tie-break's winner, which it succeeds."""
    others: frozenset[MessageId]
    """The forks that it joins to it."""
    exclude: People
    """Members of the base who were excluded in the others. Nobody: adding whom they lack makes the forks the same."""
    members: People
    """Who will be in it."""
    previous: tuple[MessageId, ...]
    """What its init follows in the epoch tangle."""


@dataclass(frozen=True, slots=True)
class EpochPreference:
    """Which epoch a member prefers, and why."""

    epoch: MessageId | None
    """None: he is in no epoch that we know."""
    tips: tuple[MessageId, ...] = ()
    """Epochs that he is in, and that no other one which he is in succeeds, sorted."""
    rules: tuple[PreferenceRule, ...] = ()
    """What was applied, in the document's order."""
    resolution: ForkResolution | None = None
    """What a witness has to do if nobody else does it first (4.6)."""
    interim: bool = False
    """True while forks that overlap wait to be joined: the preference may change."""
    excluded: bool = False
    """True if somebody excluded him from the epoch that he prefers. He can say nothing new."""


class EpochGraph:
    """All epochs of a group that somebody knows. A value: it never changes."""

    def __init__(self, epochs: Iterable[Epoch], exclusions: Iterable[Exclusion] = ()) -> None:
        """Take *epochs*, each behind those that it succeeds. Raises ValueError if one is not."""
        self.epochs: dict[MessageId, Epoch] = {}
        self.exclusions = {exclusion.id: exclusion for exclusion in exclusions}
        self._before: dict[MessageId, frozenset[MessageId]] = {}
        self._preferences: dict[FeedId, EpochPreference] = {}
        """Those that were asked for: every message makes somebody ask."""
        for epoch in epochs:
            if not all(previous in self.epochs for previous in epoch.previous):
                raise ValueError("an epoch stands behind those that it succeeds")
            self.epochs[epoch.init] = epoch
            before = frozenset(epoch.previous).union(*(self._before[one] for one in epoch.previous))
            self._before[epoch.init] = before

    def __eq__(self, other: object) -> bool:
        return isinstance(other, EpochGraph) and (self.epochs, self.exclusions) == (
            other.epochs,
            other.exclusions,
        )

    __hash__ = None  # type: ignore[assignment] # how Python says: not hashable

    def __getitem__(self, init: MessageId) -> Epoch:
        """The epoch that *init* begins. Raises KeyError."""
        return self.epochs[init]

    # --- the graph (3)

    def predecessors(self, init: MessageId) -> frozenset[MessageId]:
        """All epochs that precede this one, directly or not."""
        return self._before[init]

    def chain(self, init: MessageId) -> frozenset[MessageId]:
        """The epoch and all that precede it."""
        return self._before[init] | {init}

    def tips_among(self, inits: Collection[MessageId]) -> tuple[MessageId, ...]:
        """Those of *inits* that no other of them succeeds, sorted."""
        passed = frozenset[MessageId]().union(*(self._before[init] for init in inits))
        return tuple(sorted(set(inits) - passed))

    def nearest(self, one: MessageId, other: MessageId) -> frozenset[MessageId]:
        """Common predecessors of two epochs that no other common one succeeds; either epoch may be one itself.

        There are several if an epoch that joins forks (R38) is among them; what counts then is who is in all of them.
        """
        return frozenset(self.tips_among(self.chain(one) & self.chain(other)))

    def witnesses(self, one: MessageId, other: MessageId) -> People:
        """forkWitness: members of both and of their nearest common predecessor (3)."""
        common = self.epochs[one].members & self.epochs[other].members
        return common.intersection(*(self.epochs[near].members for near in self.nearest(one, other)))

    def relation(self, one: MessageId, other: MessageId) -> EpochRelation:
        """How their members overlap (4.4 to 4.7)."""
        left, right = self.epochs[one].members, self.epochs[other].members
        if left == right:
            return EpochRelation.SAME
        if left < right or right < left:
            return EpochRelation.SUBSET
        return EpochRelation.OVERLAP if left & right else EpochRelation.DISJOINT

    def winner(self, inits: Collection[MessageId]) -> MessageId:
        """The tie-break's winner: the smallest key as unsigned bytes (4.3). Raises ValueError if there are none."""
        return min(inits, key=lambda init: self.epochs[init].rank)

    def forks(self) -> list[EpochFork]:
        """All pairs of forked epochs (3)."""
        return [
            EpochFork(
                (one, other),
                self.relation(one, other),
                self.nearest(one, other),
                self.witnesses(one, other),
                self.winner((one, other)),
            )
            for one, other in combinations(self.tips_among(self.epochs), 2)
        ]

    # --- preferring (4.2 to 4.8)

    def of(self, person: FeedId) -> tuple[MessageId, ...]:
        """Epochs that *person* is a declared member of: he has their keys. Those that precede come first."""
        return tuple(init for init, epoch in self.epochs.items() if person in epoch.members)

    def tips(self, person: FeedId) -> tuple[MessageId, ...]:
        """Of the epochs that *person* is in, those that no other of them succeeds (R10, R23), sorted."""
        return self.tips_among(self.of(person))

    def open_tips(self, person: FeedId) -> tuple[MessageId, ...]:
        """Those tips from which nobody excluded him; all, if there are no such (decision 0033)."""
        tips = self.tips(person)
        return tuple(tip for tip in tips if person not in self.epochs[tip].excluded) or tips

    def preference(self, person: FeedId) -> EpochPreference:
        """What *person* prefers if he knows what we know (4.8).

        Forks of the same and of smaller membership are settled first, since that needs no new epoch; the outcome is
        then the same in whatever order one takes them. What is left overlaps, and is for 4.6.
        """
        found = self._preferences.get(person)
        if found is None:
            found = self._preferences[person] = self._preference(person)
        return found

    def _preference(self, person: FeedId) -> EpochPreference:
        tips = self.tips(person)
        if not tips:
            return EpochPreference(None)
        rules = set()
        left = list(self.open_tips(person))
        if len(left) == 1:
            rules.add(
                PreferenceRule.SUCCESSOR if self.epochs[left[0]].previous else PreferenceRule.EPOCH_ZERO
            )
        for one, other in combinations(left, 2):
            if self.relation(one, other) is EpochRelation.SAME:
                rules.add(PreferenceRule.SAME)
            elif self.relation(one, other) is EpochRelation.SUBSET and person in self.witnesses(one, other):
                rules.add(PreferenceRule.SUBSET)
        left = self._smallest(left)
        chosen = self.winner(left)
        witnessed = [other for other in left if other != chosen and person in self.witnesses(chosen, other)]
        if witnessed:
            rules.add(PreferenceRule.OVERLAP)
        return EpochPreference(
            epoch=chosen,
            tips=tips,
            rules=tuple(sorted(rules, key=list(PreferenceRule).index)),
            resolution=self._resolution(chosen, witnessed, self.open_tips(person)) if witnessed else None,
            interim=len(left) > 1,
            excluded=person in self.epochs[chosen].excluded,
        )

    def _smallest(self, tips: Iterable[MessageId]) -> list[MessageId]:
        """What 4.4 and 4.5 leave: epochs whose members hold no other's; of several with the same ones the winner."""
        best: dict[People, MessageId] = {}
        for tip in tips:
            members = self.epochs[tip].members
            best[members] = self.winner((tip, best.get(members, tip)))
        return [tip for members, tip in best.items() if not any(other < members for other in best)]

    def _resolution(
        self, base: MessageId, others: Collection[MessageId], tips: tuple[MessageId, ...]
    ) -> ForkResolution:
        """What the text of 4.6 asks for. Its formula would drop who was added to one of the forks only.

        Forks that 4.4 and 4.5 settled are joined too (R38), so those who were excluded in them are left out as well.
        """
        barred = NOBODY.union(*(self._excluded_in(other, base) for other in tips if other != base))
        members = self.epochs[base].members
        return ForkResolution(base, frozenset(others), members & barred, members - barred, tips)

    def _excluded_in(self, init: MessageId, base: MessageId) -> People:
        """Who was excluded on the way to *init*, and whom nobody on the way to *base* took on knowing of it."""
        epoch, other = self.epochs[init], self.epochs[base]
        return epoch.without.intersection(
            NOBODY.union(
                *(
                    self.exclusions[id_].people & other.without
                    if id_ in other.exclusions
                    else self.exclusions[id_].people
                    for id_ in epoch.exclusions
                )
            )
        )
