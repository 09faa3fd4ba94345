"""The resolution of changes as decision 0033 words it: each message compared with each exclusion and each addition."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

from tinyssb_node.groups.change_resolution import ChangeResolver, ExclusionReversal, ResolvedChanges
from tinyssb_node.groups.epochs import NOBODY, Exclusion, People
from tinyssb_node.groups.messages import AddMember, MessageFlaw, OpenedGroupMessage
from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True)
class Addition:
    """One that counts."""

    id: MessageId
    by: FeedId
    epoch: MessageId
    people: People


class PlainResolver(ChangeResolver):
    """Takes its time."""

    additions: list[Addition]
    weighed: list[Exclusion]
    """Exclusions that count so far."""

    def resolve(self) -> ResolvedChanges:
        self.additions, self.weighed = [], []
        return super().resolve()

    def _weigh(self, init: OpenedGroupMessage) -> People:
        order = [id_ for id_ in self._members_tangle(init.id) if id_ != init.id and self._fits(id_)]
        order.sort(key=self._histories.rank)
        inside = {init.author}
        grows = True
        while grows:
            grows = False
            left = []
            for id_ in order:
                said = self._said[id_]
                if said.author not in inside:
                    left.append(id_)
                elif self._was_excluded(said.author, id_, init.id):
                    self._flaws[id_] = MessageFlaw(
                        "R1", "was written by a person who was excluded from the epoch before"
                    )
                elif isinstance(said.message, AddMember):
                    inside |= self._take(said, said.message, init.id)
                    self.additions.append(Addition(id_, said.author, init.id, frozenset(said.message.people)))
                    grows = True
                else:
                    self.weighed += self._exclude(said, init.id)
            order = left
        for id_ in order:
            self._flaws[id_] = MessageFlaw("R32", "was written by a person who is not in the epoch")
        self._pass_over_strangers([one for one in self.weighed if one.epoch == init.id], init.id, inside)
        self.weighed = list(self._exclusions.values())
        return NOBODY.union(*(one.people for one in self.additions if one.epoch == init.id))

    def _reversal(self) -> ExclusionReversal:
        return PlainUndoing(self)

    def _was_excluded(self, author: FeedId, id_: MessageId, epoch: MessageId) -> bool:
        return any(
            one.epoch == epoch
            and author in one.until
            and self.follows(id_, one.id)
            and not any(
                addition.epoch == epoch and self.follows(id_, addition.id)
                for addition in self.again(one, author)
            )
            for one in self.weighed
        )

    def again(self, one: Exclusion, person: FeedId) -> list[Addition]:
        """Return the additions that add *person* again in spite of an exclusion."""
        return [
            addition
            for addition in self.additions
            if person in addition.people
            and self.follows(addition.id, one.id)
            and one.epoch in self._chains[addition.epoch]
            and (addition.epoch == one.epoch or self.follows(addition.epoch, one.id))
            and addition.by not in one.until
        ]

    def follows(self, id_: MessageId, other: MessageId) -> bool:
        return bool(self._histories.known(id_) & self.bit(other))

    def bit(self, id_: MessageId) -> int:
        return self._histories.bit(id_)


class PlainUndoing(ExclusionReversal):
    """Which additions undo which exclusions, one by one."""

    def __init__(self, resolver: PlainResolver) -> None:
        self.resolver = resolver
        self.pairs = [
            (one, person, addition)
            for one in resolver.weighed
            for person in one.until
            for addition in resolver.again(one, person)
        ]
        self.all, self.within = {}, defaultdict(dict)
        for one, person, addition in self.pairs:
            for found in (self.all, self.within[addition.epoch]):
                found[person] = found.get(person, 0) | resolver.bit(one.id)

    def left_out(self, known: int) -> People:
        led = [one for one in self.resolver.weighed if known & self.resolver.bit(one.id)]
        out = NOBODY.union(*(one.people for one in led))
        while True:
            still = NOBODY.union(*(one.people - self._again(one, known, out) for one in led))
            if still == out:
                return out
            out = still

    def _again(self, exclusion: Exclusion, known: int, out: Iterable[FeedId]) -> People:
        return frozenset(
            person
            for one, person, addition in self.pairs
            if one == exclusion and (addition.by not in out or known & self.resolver.bit(addition.id))
        )
