"""What messages of a group count for: who was in which epoch when he wrote, and what he knew (4.9, decision 0033)."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.content.tangle import Tangle, canonical_order
from tinyssb_node.groups.epochs import NOBODY, Epoch, Exclusion, People, View
from tinyssb_node.groups.messages import AddMember, ExcludeMember, Flaw, GroupMessage, Init, Said
from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True)
class Judged:
    """What all messages together come to."""

    view: View
    flaws: Mapping[MessageId, Flaw]
    pending: tuple[Exclusion, ...]
    standing: Mapping[MessageId, People]
    """By exclusion: whom of those it names nobody took on again."""
    doubtful: Mapping[MessageId, People]
    adders: Mapping[FeedId, People]


@dataclass(frozen=True, slots=True)
class _Addition:
    """A message that adds people, and that counts."""

    id: MessageId
    by: FeedId
    epoch: MessageId
    people: People


class Judge:
    """Weighs all messages: causality from the group tangle, as far as it is here, decides what counts for what."""

    def __init__(
        self,
        said: Mapping[MessageId, Said],
        epoch_tangle: Tangle[Said],
        members_tangle: Callable[[MessageId], Tangle[Said]],
    ) -> None:
        self._said = said
        self._epoch_tangle = epoch_tangle
        self._members_tangle = members_tangle
        self._flaws: dict[MessageId, Flaw] = {}
        self._before = _histories(said)
        self._additions: list[_Addition] = []
        self._additions_of: dict[FeedId, list[_Addition]] = {}
        self._exclusions: dict[MessageId, Exclusion] = {}
        self._epochs: dict[MessageId, Epoch] = {}
        """Valid ones, so far without what depends on all of them."""
        self._chains: dict[MessageId, frozenset[MessageId]] = {}

    def judged(self) -> Judged:
        """The outcome."""
        order = self._epoch_tangle.order()
        by_whom: dict[FeedId, int] = {}
        for init in order:
            said = self._said[init]
            by_whom[said.author] = by_whom.get(said.author, 0) + 1
            flaw = self._flaw_of_epoch(said, by_whom[said.author])
            if flaw is None:
                self._open(said)
            else:
                self._flaws[init] = flaw
        doubtful: dict[MessageId, People] = {}
        epochs = []
        for epoch in self._epochs.values():
            finished, doubted = self._finish(epoch)
            epochs.append(finished)
            if doubted:
                doubtful[epoch.init] = doubted
        standing = {
            id_: exclusion.people - self._taken_on(exclusion, self._epochs.keys())
            for id_, exclusion in self._exclusions.items()
        }
        led_to = frozenset[MessageId]().union(*(epoch.exclusions for epoch in epochs))
        pending = [
            self._exclusions[id_] for id_, people in sorted(standing.items()) if people and id_ not in led_to
        ]
        return Judged(
            View(epochs, self._exclusions.values()),
            self._flaws,
            tuple(pending),
            standing,
            doubtful,
            {
                person: frozenset(addition.by for addition in additions)
                for person, additions in self._additions_of.items()
            },
        )

    # --- epochs

    def _flaw_of_epoch(self, said: Said, count: int) -> Flaw | None:
        """Why an init begins no epoch that counts."""
        message = said.message
        assert isinstance(message, Init)
        previous = self._epoch_tangle.previous(said.id)
        if count > limits.GROUP_EPOCHS_BY_ONE_MAX:
            return Flaw("R33", f"is more than the {limits.GROUP_EPOCHS_BY_ONE_MAX}th epoch of one member")
        for one in previous:
            epoch = self._epochs.get(one)
            if epoch is None:
                return Flaw("R33", "follows an epoch that does not count")
            if said.author not in epoch.members | {epoch.creator}:
                return Flaw("R2", "begins an epoch by somebody who is not in the one before")
            if self._was_excluded(said.author, said.id, one):
                return Flaw("R2", "begins an epoch by somebody who was excluded from the one before")
        chain = frozenset[MessageId]().union(*(self._chains[one] for one in previous))
        if any(self._epochs[one].key == message.secret for one in chain):
            return Flaw("R4", "begins an epoch with a key that was used before")
        return None

    def _open(self, said: Said) -> None:
        """Find out who was added to a valid epoch, and who was excluded from it."""
        message = said.message
        assert isinstance(message, Init)
        previous = self._epoch_tangle.previous(said.id)
        self._chains[said.id] = frozenset([said.id]).union(*(self._chains[one] for one in previous))
        members = self._weigh(said)
        self._epochs[said.id] = Epoch(said.id, message.secret, said.author, previous, members)

    def _weigh(self, init: Said) -> People:
        """Let what is in an epoch's members tangle count, or not. Returns who was added."""
        tangle = self._members_tangle(init.id)
        placed = {id_: self._said[id_] for id_ in tangle if id_ != init.id}
        order = [id_ for id_ in self._before if id_ in placed]  # causal, by the group tangle
        members = NOBODY
        grows = True
        while grows:
            grows = False
            left = []
            for id_ in order:
                said = placed[id_]
                if said.author not in members | {init.author}:
                    left.append(id_)
                elif self._was_excluded(said.author, id_, init.id):
                    self._flaws[id_] = Flaw("R1", "is by somebody who was excluded from the epoch before")
                elif isinstance(said.message, AddMember):
                    members |= self._take(said, said.message, init.id)
                    grows = True
                else:
                    self._exclude(said, init.id)
            order = left
        for id_ in order:
            self._flaws[id_] = Flaw("R32", "is by somebody who is not in the epoch")
        self._pass_over_strangers(init.id, members | {init.author})
        return members

    def _take(self, said: Said, message: AddMember, epoch: MessageId) -> People:
        addition = _Addition(said.id, said.author, epoch, frozenset(message.people))
        self._additions.append(addition)
        for person in addition.people:
            self._additions_of.setdefault(person, []).append(addition)
        return addition.people

    def _exclude(self, said: Said, epoch: MessageId) -> None:
        message = said.message
        assert isinstance(message, ExcludeMember)
        if said.author in message.people:
            self._flaws[said.id] = Flaw("R1", "excludes its own author")
            return
        until = {each.member: each.seq for each in message.excludes}
        self._exclusions[said.id] = Exclusion(said.id, said.author, epoch, until)

    def _pass_over_strangers(self, epoch: MessageId, people: People) -> None:
        """Only who is in an epoch is excluded from it."""
        for one in [one for one in self._exclusions.values() if one.epoch == epoch]:
            until = {person: seq for person, seq in one.until.items() if person in people}
            if until:
                self._exclusions[one.id] = Exclusion(one.id, one.by, epoch, until)
            else:
                del self._exclusions[one.id]
                self._flaws[one.id] = Flaw("R7", "excludes nobody who is in the epoch")

    def _finish(self, epoch: Epoch) -> tuple[Epoch, People]:
        """What depends on all epochs: who should be in this one (4.9). And whom nobody vouches for."""
        before = self._before[epoch.init]
        chain = self._chains[epoch.init]
        led = {id_: one for id_, one in self._exclusions.items() if id_ in before}
        without = NOBODY.union(*(one.people - self._taken_on(one, chain) for one in led.values()))
        known = NOBODY.union(*(one.people for one in self._additions if one.id in before))
        added = NOBODY.union(*(one.people for one in self._additions))
        vouched = epoch.members | known | self._vouched(known | {epoch.creator}, without)
        here = [one for one in self._exclusions.values() if one.epoch == epoch.init]
        finished = Epoch(
            init=epoch.init,
            key=epoch.key,
            creator=epoch.creator,
            previous=epoch.previous,
            members=epoch.members,
            excluded=NOBODY.union(*(one.people - self._taken_on(one, {epoch.init}) for one in here)),
            exclusions=frozenset(led),
            without=without,
            correct=vouched - without,
            due=known & vouched - without,
        )
        return finished, added - vouched - without

    def _vouched(self, trusted: People, without: People) -> People:
        """Whom *trusted* people added anywhere, and whom these added, and so on; never by somebody in *without*."""
        found = NOBODY
        grows = True
        while grows:
            able = (trusted | found) - without
            more = NOBODY.union(*(one.people for one in self._additions if one.by in able))
            grows = not more <= found
            found |= more
        return found

    def _taken_on(self, exclusion: Exclusion, epochs: Iterable[MessageId]) -> People:
        """Whom somebody added to one of *epochs* in spite of *exclusion*."""
        within = frozenset(epochs)
        return frozenset(
            person
            for person in exclusion.people
            if any(
                addition.epoch in within and self._takes_on(addition, exclusion)
                for addition in self._additions_of.get(person, ())
            )
        )

    def _takes_on(self, addition: _Addition, exclusion: Exclusion) -> bool:
        """Whether *addition* undoes *exclusion* for those in both.

        Its author knew of it, and so did who made the epoch: otherwise he may only be handing on a key that was owed.
        Whom an exclusion names undoes it for nobody.
        """
        return (
            exclusion.id in self._before[addition.id]
            and exclusion.epoch in self._chains[addition.epoch]
            and (addition.epoch == exclusion.epoch or exclusion.id in self._before[addition.epoch])
            and addition.by not in exclusion.people
        )

    def _was_excluded(self, author: FeedId, id_: MessageId, epoch: MessageId) -> bool:
        """Whether the author of *id_* knew, when he wrote it, that he had been excluded from *epoch*."""
        before = self._before[id_]
        return any(
            author in one.people - self._known_again(one, author, before)
            for one in self._exclusions.values()
            if one.epoch == epoch and one.id in before
        )

    def _known_again(self, exclusion: Exclusion, person: FeedId, before: "_History") -> People:
        """*person*, if somebody had taken him on again in *before*."""
        again = any(
            addition.epoch == exclusion.epoch
            and addition.id in before
            and self._takes_on(addition, exclusion)
            for addition in self._additions_of.get(person, ())
        )
        return frozenset([person]) if again else NOBODY


class _History:
    """What a message that changes a group follows, of those that do: one bit for each."""

    __slots__ = ("_bits", "_mask")

    def __init__(self, mask: int, bits: Mapping[MessageId, int]) -> None:
        self._mask = mask
        self._bits = bits

    def __contains__(self, id_: object) -> bool:
        return isinstance(id_, MessageId) and bool(self._mask >> self._bits[id_] & 1)


def _histories(said: Mapping[MessageId, Said]) -> dict[MessageId, _History]:
    """By message that changes the group: those that it follows, as far as they are here, in canonical order.

    That somebody names an id shows that he knew the message, in whichever tangle he names it and whatever it is worth.
    What follows something that we cannot read counts all the same: who reads less would otherwise hold fewer people
    for members.
    """
    previous = {id_: [one for one in named(each.message) if one in said] for id_, each in said.items()}
    bits: dict[MessageId, int] = {}
    masks: dict[MessageId, int] = {}
    for id_ in canonical_order(previous):
        mask = 0
        for one in previous[id_]:
            mask |= masks[one]
            if one in bits:
                mask |= 1 << bits[one]
        masks[id_] = mask
        if isinstance(said[id_].message, Init | AddMember | ExcludeMember):
            bits[id_] = len(bits)
    for id_ in sorted(said.keys() - masks.keys()):  # nothing of a true hash follows itself
        masks[id_], bits[id_] = 0, len(bits)
    return {id_: _History(masks[id_], bits) for id_ in bits}


def named(message: GroupMessage) -> set[MessageId]:
    """All that *message* says it follows."""
    named = set(message.group_tangle.previous)
    if isinstance(message, Init):
        named.update(message.epoch_tangle.previous)
    elif isinstance(message, AddMember | ExcludeMember):
        named.update(message.members_tangle.previous)
    return named
