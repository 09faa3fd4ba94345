"""The epochs of a group, and which one a member prefers (exclusion document, 3 and 4.2 to 4.8).

All of it is a function of the epochs, their members, and the exclusions from them, which `membership` computes from
messages. Where the document is silent or contradicts itself, decision 0033 applies.
"""

from collections.abc import Callable, Collection, Iterable, Mapping
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
    """Id of its first message, which names it."""
    key: EpochKey = field(repr=False)
    creator: FeedId
    previous: tuple[MessageId, ...]
    """Epochs that it succeeds directly: all tips its creator knew (R38). None: epoch zero."""
    members: People
    """Declared members: the people added (3)."""
    excluded: People = NOBODY
    """Members who were excluded from it, and whom nobody has added again."""
    exclusions: frozenset[MessageId] = frozenset()
    """Exclusions that lead up to it: its creator knew of them (4.9, decision 0033)."""
    without: People = NOBODY
    """People excluded up to this epoch, and not added again (4.9)."""
    correct: People = NOBODY
    """People who should be in it: all who were added to any epoch, without these (4.9)."""
    due: People = NOBODY
    """Those of them whom its creator knew of, and must send the key to (R8)."""

    @property
    def missing(self) -> People:
        """People who should be in it and were not added."""
        return self.correct - self.members

    @property
    def rank(self) -> tuple[bytes, bytes]:
        """Sort key of the tie-break: the smallest wins, as unsigned bytes of the key (4.3). The same key twice is
        misuse."""
        return (bytes(self.key), bytes(self.init))


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A message that excludes people, and that counts."""

    id: MessageId
    by: FeedId
    epoch: MessageId
    """The epoch it excludes from."""
    until: Mapping[FeedId, int | None]
    """The people excluded, and the number of each one's last entry in that epoch that the excluder had; None: not
    given."""

    @property
    def people(self) -> People:
        """The people excluded."""
        return frozenset(self.until)


class EpochRelation(StrEnum):
    """The overlap of the members of two forked epochs."""

    SAME = "same"
    SUBSET = "subset"
    OVERLAP = "overlap"
    DISJOINT = "disjoint"


class PreferenceRule(StrEnum):
    """The section of the document that led to a preference."""

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
    """People who are in both, and were in their nearest common predecessors."""
    winner: MessageId
    """Winner of the tie-break (4.3)."""


@dataclass(frozen=True, slots=True)
class ForkResolution:
    """The epoch that would join overlapping forks (4.6)."""

    base: MessageId
    """The tie-break's winner, which it succeeds."""
    others: frozenset[MessageId]
    """The forks that it joins to it."""
    exclude: People
    """Members of the base who were excluded in the others. If empty, adding the missing people makes the forks the
    same."""
    members: People
    """Its future members."""
    previous: tuple[MessageId, ...]
    """Predecessors of its init in the epoch tangle."""


@dataclass(frozen=True, slots=True)
class EpochPreference:
    """The epoch that a member prefers, and why."""

    epoch: MessageId | None
    """None: they are in no epoch that we know."""
    tips: tuple[MessageId, ...] = ()
    """Epochs that they are in, and that no other one of theirs succeeds, sorted."""
    rules: tuple[PreferenceRule, ...] = ()
    """The rules applied, in the document's order."""
    resolution: ForkResolution | None = None
    """The epoch that a witness has to begin if nobody else does it first (4.6)."""
    interim: bool = False
    """True while overlapping forks wait to be joined: the preference may change."""
    excluded: bool = False
    """True if they were excluded from the epoch that they prefer. They can write nothing new."""


def _hold_none(_tips: tuple[MessageId, ...]) -> frozenset[MessageId]:
    return frozenset()


class EpochGraph:
    """All known epochs of a group. An immutable value."""

    def __init__(self, epochs: Iterable[Epoch], exclusions: Iterable[Exclusion] = ()) -> None:
        """Take *epochs*, each behind those that it succeeds. Raises ValueError if one is not."""
        self._hold: Callable[[tuple[MessageId, ...]], frozenset[MessageId]] = _hold_none
        """Returns which of several tips are held: nobody prefers them until a person decides (decision 0071)."""
        self.epochs: dict[MessageId, Epoch] = {}
        self.exclusions = {exclusion.id: exclusion for exclusion in exclusions}
        self._before: dict[MessageId, frozenset[MessageId]] = {}
        self._preferences: dict[FeedId, EpochPreference] = {}
        """Cache of preferences: every message asks for one."""
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
        """Return the epoch that *init* begins. Raises KeyError."""
        return self.epochs[init]

    # --- the graph (3)

    def predecessors(self, init: MessageId) -> frozenset[MessageId]:
        """Return all epochs that precede this one, directly or not."""
        return self._before[init]

    def chain(self, init: MessageId) -> frozenset[MessageId]:
        """Return the epoch and all that precede it."""
        return self._before[init] | {init}

    def tips_among(self, inits: Collection[MessageId]) -> tuple[MessageId, ...]:
        """Return those of *inits* that no other of them succeeds, sorted."""
        passed = frozenset[MessageId]().union(*(self._before[init] for init in inits))
        return tuple(sorted(set(inits) - passed))

    def nearest(self, one: MessageId, other: MessageId) -> frozenset[MessageId]:
        """Return the common predecessors of two epochs that no other common one succeeds; either epoch may be one
        itself.

        There are several if an epoch that joins forks (R38) is among them; then the people who are in all of them
        count.
        """
        return frozenset(self.tips_among(self.chain(one) & self.chain(other)))

    def witnesses(self, one: MessageId, other: MessageId) -> People:
        """Return the members of both and of their nearest common predecessor (3, forkWitness)."""
        common = self.epochs[one].members & self.epochs[other].members
        return common.intersection(*(self.epochs[near].members for near in self.nearest(one, other)))

    def relation(self, one: MessageId, other: MessageId) -> EpochRelation:
        """Return how their members overlap (4.4 to 4.7)."""
        left, right = self.epochs[one].members, self.epochs[other].members
        if left == right:
            return EpochRelation.SAME
        if left < right or right < left:
            return EpochRelation.SUBSET
        return EpochRelation.OVERLAP if left & right else EpochRelation.DISJOINT

    def winner(self, inits: Collection[MessageId]) -> MessageId:
        """Return the tie-break's winner: the smallest key as unsigned bytes (4.3). Raises ValueError if there are
        none."""
        return min(inits, key=lambda init: self.epochs[init].rank)

    def forks(self) -> list[EpochFork]:
        """Return all pairs of forked epochs (3)."""
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
        """Return the epochs that *person* is a declared member of, and has the keys of. Predecessors come first."""
        return tuple(init for init, epoch in self.epochs.items() if person in epoch.members)

    def tips(self, person: FeedId) -> tuple[MessageId, ...]:
        """Return those epochs of *person* that no other of them succeeds (R10, R23), sorted."""
        return self.tips_among(self.of(person))

    def open_tips(self, person: FeedId) -> tuple[MessageId, ...]:
        """Return those tips that are not held and from which nobody excluded *person*; if there are none, all that are
        not held (decisions 0033 and 0071)."""
        tips = self.unheld_tips(person)
        return tuple(tip for tip in tips if person not in self.epochs[tip].excluded) or tips

    def unheld_tips(self, person: FeedId) -> tuple[MessageId, ...]:
        """Return the tips of *person* as if no epoch that is held had arrived.

        The epochs that a held tip succeeds are tips again. Exceptions: they are in conflict with a tip that is not
        held; all tips that are not held exclude *person*; or *person* began the held tip, and would begin others behind
        the same epochs without end.
        """
        left = set(self.of(person))
        tips = self.tips_among(left)
        held = self._hold(tips) if len(tips) > 1 else frozenset()
        kept = [tip for tip in tips if tip not in held]
        if all(person in self.epochs[tip].excluded for tip in kept):
            return tuple(kept)
        while held:
            for tip in held:
                left -= self.chain(tip) if self.epochs[tip].creator == person else {tip}
            exposed = [tip for tip in self.tips_among(left.union(kept)) if tip not in kept]
            held = frozenset(tip for tip in exposed if self._hold((*kept, tip)))
            kept += [tip for tip in exposed if tip not in held]
        return tuple(sorted(kept))

    def acted_on(self, person: FeedId) -> tuple[MessageId, ...]:
        """Return the epochs of *person* without those that are held. Predecessors come first."""
        kept = frozenset[MessageId]().union(*(self.chain(tip) for tip in self.unheld_tips(person)))
        return tuple(init for init in self.of(person) if init in kept)

    def hold_with(self, hold: Callable[[tuple[MessageId, ...]], frozenset[MessageId]]) -> None:
        """Set the function that returns which of several tips are held."""
        self._hold = hold

    def forget(self) -> None:
        """Forget the computed preferences: what is held has changed."""
        self._preferences.clear()

    def preference(self, person: FeedId) -> EpochPreference:
        """Return the epoch that *person* prefers if they know what we know (4.8).

        Forks of the same and of smaller membership are settled first, since that needs no new epoch; the result is then
        independent of the order. The remaining forks overlap, and are settled by 4.6.
        """
        preference = self._preferences.get(person)
        if preference is None:
            preference = self._preferences[person] = self._preference(person)
        return preference

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
        """Return the result of 4.4 and 4.5: epochs whose members include no other's; of several with the same members
        the winner."""
        best: dict[People, MessageId] = {}
        for tip in tips:
            members = self.epochs[tip].members
            best[members] = self.winner((tip, best.get(members, tip)))
        return [tip for members, tip in best.items() if not any(other < members for other in best)]

    def _resolution(
        self, base: MessageId, others: Collection[MessageId], tips: tuple[MessageId, ...]
    ) -> ForkResolution:
        """Return the epoch that the text of 4.6 asks for. Its formula would drop people who were added to one of the
        forks only.

        Forks that 4.4 and 4.5 settled are joined too (R38), so people who were excluded in them are left out as well.
        """
        barred = self.barred(base, tips)
        members = self.epochs[base].members
        return ForkResolution(base, frozenset(others), members & barred, members - barred, tips)

    def barred(self, init: MessageId, tips: Iterable[MessageId]) -> People:
        """Return the people who were excluded on the way to others of *tips*, and whom nobody on the way to *init*
        added again knowing of it."""
        return NOBODY.union(*(self._excluded_in(other, init) for other in tips if other != init))

    def _excluded_in(self, init: MessageId, base: MessageId) -> People:
        """Return the people who were excluded on the way to *init*, and whom nobody on the way to *base* added again
        knowing of it."""
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
