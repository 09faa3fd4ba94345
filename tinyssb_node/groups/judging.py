"""What messages of a group count for: who was in which epoch when he wrote, and what he knew (4.9, decision 0033)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace

from tinyssb_node.content.tangle import Tangle
from tinyssb_node.groups import limits as group_limits
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
    barred: People
    """All of them."""
    doubtful: Mapping[MessageId, People]
    added_by: Mapping[FeedId, People]
    """Whom somebody added to any epoch."""


class Histories:
    """What each message follows of those that change the group, as far as they are here: one bit for each of these.

    That somebody names an id shows that he knew the message, in whichever tangle he names it and whatever it is worth.
    What follows something that we cannot read counts all the same: who reads less would otherwise hold fewer people
    for members. A message that comes late is made known to all that follow it, once for each.
    """

    def __init__(self) -> None:
        self._masks: dict[MessageId, int] = {}
        self._bits: dict[MessageId, int] = {}
        """Of messages that change the group."""
        self._followers: dict[MessageId, list[MessageId]] = {}
        """Of messages that are here, and of those that are not."""

    def add(self, id_: MessageId, message: GroupMessage) -> bool:
        """Take a message, once. True if it makes any difference to what messages that change the group follow."""
        mask = 0
        for one in _named(message):
            self._followers.setdefault(one, []).append(id_)
            mask |= self._masks.get(one, 0) | self._bits.get(one, 0)
        self._masks[id_] = mask
        changes = isinstance(message, Init | AddMember | ExcludeMember)
        if changes:
            self._bits[id_] = 1 << len(self._bits)
        return self._tell(id_) or changes

    def _tell(self, id_: MessageId) -> bool:
        """Let all that follow *id_* follow what it follows."""
        told = False
        ahead = [id_]
        while ahead:
            id_ = ahead.pop()
            known = self._masks[id_] | self._bits.get(id_, 0)
            for follower in self._followers.get(id_, ()):
                if known & ~self._masks[follower]:
                    self._masks[follower] |= known
                    told |= follower in self._bits
                    ahead.append(follower)
        return told

    def follows(self, id_: MessageId, other: MessageId) -> bool:
        """Whether *id_* follows *other*, which changes the group. Raises KeyError for what is not here."""
        return bool(self._masks[id_] & self._bits[other])

    def followed_by(self, id_: MessageId, others: Iterable[MessageId]) -> list[MessageId]:
        """Those of *others*, all of which change the group, that *id_* follows. Raises KeyError."""
        mask, bits = self._masks[id_], self._bits
        return [other for other in others if mask & bits[other]]

    def lacked(self, missing: Iterable[MessageId]) -> bool:
        """Whether a message that changes the group follows one of those *missing*: its author knew what we do not."""
        seen = set(missing)
        ahead = list(seen)
        while ahead:
            for follower in self._followers.get(ahead.pop(), ()):
                if follower in self._bits:
                    return True
                if follower not in seen:
                    seen.add(follower)
                    ahead.append(follower)
        return False

    def rank(self, id_: MessageId) -> tuple[int, MessageId]:
        """Sorts messages, each behind all that it follows, in an order that depends on what is here only."""
        return (self._masks[id_].bit_count(), id_)


def _named(message: GroupMessage) -> set[MessageId]:
    """All that *message* says it follows."""
    named = set(message.group_tangle.previous)
    if isinstance(message, Init):
        named.update(message.epoch_tangle.previous)
    elif isinstance(message, AddMember | ExcludeMember):
        named.update(message.members_tangle.previous)
    return named


@dataclass(frozen=True, slots=True)
class _Addition:
    """A message that adds people, and that counts."""

    id: MessageId
    by: FeedId
    epoch: MessageId
    people: People


class Judge:
    """Weighs all messages that change the group: what their authors knew decides what counts for what."""

    def __init__(
        self,
        said: Mapping[MessageId, Said],
        histories: Histories,
        epoch_tangle: Tangle[Said],
        members_tangle: Callable[[MessageId], Tangle[Said]],
    ) -> None:
        self._said = said
        self._histories = histories
        self._follows = histories.follows
        self._epoch_tangle = epoch_tangle
        self._members_tangle = members_tangle
        self._flaws: dict[MessageId, Flaw] = {}
        self._additions: dict[MessageId, People] = {}
        self._additions_of: dict[FeedId, list[_Addition]] = defaultdict(list)
        self._added_by: dict[FeedId, People] = {}
        self._exclusions: dict[MessageId, Exclusion] = {}
        self._exclusions_from: dict[MessageId, dict[MessageId, Exclusion]] = {}
        """By epoch."""
        self._undone: dict[MessageId, list[tuple[_Addition, FeedId]]] = {}
        """By exclusion: who was added in spite of it, and how."""
        self._epochs: dict[MessageId, Epoch] = {}
        """Valid ones, so far without what depends on all of them."""
        self._chains: dict[MessageId, frozenset[MessageId]] = {}

    def judged(self) -> Judged:
        """The outcome."""
        by_whom: dict[FeedId, int] = defaultdict(int)
        for init in self._epoch_tangle.order():
            said = self._said[init]
            by_whom[said.author] += 1
            flaw = self._flaw_of_epoch(said, by_whom[said.author])
            if flaw is None:
                self._open(said)
            else:
                self._flaws[init] = flaw
        epochs, doubtful = self._finished()
        standing = {
            id_: one.people.difference(person for _, person in self._undone[id_])
            for id_, one in self._exclusions.items()
        }
        led_to = frozenset[MessageId]().union(*(epoch.exclusions for epoch in epochs))
        pending = [id_ for id_, people in sorted(standing.items()) if people and id_ not in led_to]
        return Judged(
            View(epochs, self._exclusions.values()),
            self._flaws,
            tuple(self._exclusions[id_] for id_ in pending),
            standing,
            NOBODY.union(*standing.values()),
            doubtful,
            self._added_by,
        )

    # --- epochs

    def _flaw_of_epoch(self, said: Said, count: int) -> Flaw | None:
        """Why an init begins no epoch that counts."""
        message = said.message
        assert isinstance(message, Init)
        previous = self._epoch_tangle.previous(said.id)
        if count > group_limits.EPOCHS_BY_ONE_MAX:
            return Flaw("R33", f"is more than the {group_limits.EPOCHS_BY_ONE_MAX}th epoch of one member")
        for one in previous:
            epoch = self._epochs.get(one)
            if epoch is None:
                return Flaw("R33", "follows an epoch that does not count")
            if said.author not in epoch.members and said.author != epoch.creator:
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
        self._exclusions_from[said.id] = {}
        members = self._weigh(said)
        self._epochs[said.id] = Epoch(said.id, message.secret, said.author, previous, members)

    def _weigh(self, init: Said) -> People:
        """Let what is in an epoch's members tangle count, or not. Returns who was added."""
        order = [id_ for id_ in self._members_tangle(init.id) if id_ != init.id and self._fits(id_)]
        order.sort(key=self._histories.rank)
        exclusions = self._exclusions_from[init.id]
        inside = {init.author}
        members: set[FeedId] = set()
        grows = True
        while grows:
            grows = False
            left = []
            for id_ in order:
                said = self._said[id_]
                if said.author not in inside:
                    left.append(id_)
                elif exclusions and self._was_excluded(said.author, id_, init.id):
                    self._flaws[id_] = Flaw("R1", "is by somebody who was excluded from the epoch before")
                elif isinstance(said.message, AddMember):
                    added = self._take(said, said.message, init.id)
                    members |= added
                    inside |= added
                    grows = True
                else:
                    self._exclude(said, init.id)
            order = left
        for id_ in order:
            self._flaws[id_] = Flaw("R32", "is by somebody who is not in the epoch")
        self._pass_over_strangers(init.id, inside)
        return frozenset(members)

    def _fits(self, id_: MessageId) -> bool:
        """Whether an addition names who made the group; whatever else is in the tangle does not name him."""
        message = self._said[id_].message
        if (
            not isinstance(message, AddMember)
            or message.creator == self._said[self._epoch_tangle.root].author
        ):
            return True
        self._flaws[id_] = Flaw("R32", "names another creator of the group")
        return False

    def _take(self, said: Said, message: AddMember, epoch: MessageId) -> People:
        addition = _Addition(said.id, said.author, epoch, frozenset(message.people))
        self._additions[said.id] = addition.people
        self._added_by[said.author] = self._added_by.get(said.author, NOBODY) | addition.people
        for person in addition.people:
            self._additions_of[person].append(addition)
        return addition.people

    def _exclude(self, said: Said, epoch: MessageId) -> None:
        message = said.message
        assert isinstance(message, ExcludeMember)
        if said.author in message.people:
            self._flaws[said.id] = Flaw("R1", "excludes its own author")
            return
        until = {each.member: each.seq for each in message.excludes}
        self._exclusions_from[epoch][said.id] = Exclusion(said.id, said.author, epoch, until)

    def _pass_over_strangers(self, epoch: MessageId, people: AbstractSet[FeedId]) -> None:
        """Only who is in an epoch is excluded from it."""
        for id_, one in list(self._exclusions_from[epoch].items()):
            until = {person: seq for person, seq in one.until.items() if person in people}
            if until:
                self._exclusions_from[epoch][id_] = self._exclusions[id_] = replace(one, until=until)
            else:
                del self._exclusions_from[epoch][id_]
                self._flaws[id_] = Flaw("R7", "excludes nobody who is in the epoch")

    # --- what depends on all epochs (4.9)

    def _finished(self) -> tuple[list[Epoch], dict[MessageId, People]]:
        """All epochs with who should be in them. And by epoch whom nobody vouches for."""
        for one in self._exclusions.values():
            self._undone[one.id] = self._undoing(one)
        added = NOBODY.union(*self._added_by.values())
        finished, doubtful = [], {}
        for epoch in self._epochs.values():
            init = epoch.init
            led = self._histories.followed_by(init, self._exclusions)
            without = self._left_out(init, [self._exclusions[one] for one in led])
            before = self._histories.followed_by(init, self._additions)
            known = NOBODY.union(*[self._additions[one] for one in before])
            vouched = epoch.members | known | self._vouched(known | {epoch.creator}, without)
            finished.append(
                replace(
                    epoch,
                    excluded=self._excluded_from(init),
                    exclusions=frozenset(led),
                    without=without,
                    correct=vouched - without,
                    due=known - without,
                )
            )
            if doubted := added - vouched - without:
                doubtful[init] = doubted
        return finished, doubtful

    def _vouched(self, trusted: People, without: People) -> People:
        """Whom *trusted* people added anywhere, and whom these added, and so on; never by somebody in *without*."""
        found = NOBODY
        ahead = trusted - without
        while ahead:
            more = NOBODY.union(*[self._added_by.get(person, NOBODY) for person in ahead])
            ahead = more - found - trusted - without
            found |= more
        return found

    def _undoing(self, exclusion: Exclusion) -> list[tuple[_Addition, FeedId]]:
        """Who was added in spite of *exclusion*, and how."""
        return [
            (addition, person)
            for person in exclusion.until
            for addition in self._additions_of.get(person, ())
            if self._takes_on(addition, exclusion)
        ]

    def _excluded_from(self, init: MessageId) -> People:
        """Who was excluded from an epoch, and not added to it again."""
        return NOBODY.union(
            *[
                one.people.difference(each for addition, each in self._undone[id_] if addition.epoch == init)
                for id_, one in self._exclusions_from[init].items()
            ]
        )

    def _left_out(self, init: MessageId, led: Sequence[Exclusion]) -> People:
        """Whom exclusions that lead up to an epoch name, and nobody took on again, in whichever epoch.

        Who is left out himself takes on nobody, unless the epoch's creator knew: he may say that he had not heard.
        """
        left_out = NOBODY.union(*[one.people for one in led])
        undone = any(self._undone[one.id] for one in led)
        while undone:
            still = NOBODY.union(*[one.people - self._again(one, init, left_out) for one in led])
            undone = still != left_out
            left_out = still
        return left_out

    def _again(self, exclusion: Exclusion, init: MessageId, left_out: People) -> People:
        """Whom somebody took on again who is not in *left_out*, or to the knowledge of who made the epoch."""
        return frozenset(
            person
            for addition, person in self._undone[exclusion.id]
            if addition.by not in left_out or self._follows(init, addition.id)
        )

    def _takes_on(self, addition: _Addition, exclusion: Exclusion) -> bool:
        """Whether *addition* undoes *exclusion* for those in both.

        Its author knew of it, and so did who made the epoch: otherwise he may only be handing on a key that was owed.
        Whom an exclusion names undoes it for nobody.
        """
        return (
            self._follows(addition.id, exclusion.id)
            and exclusion.epoch in self._chains[addition.epoch]
            and (addition.epoch == exclusion.epoch or self._follows(addition.epoch, exclusion.id))
            and addition.by not in exclusion.until
        )

    # --- what somebody knew

    def _was_excluded(self, author: FeedId, id_: MessageId, epoch: MessageId) -> bool:
        """Whether the author of *id_* knew, when he wrote it, that he had been excluded from *epoch*."""
        return any(
            author in one.until and self._follows(id_, one.id) and not self._known_again(one, author, id_)
            for one in self._exclusions_from[epoch].values()
        )

    def _known_again(self, exclusion: Exclusion, person: FeedId, id_: MessageId) -> bool:
        """Whether somebody had taken *person* on again, to the author's knowledge, when he wrote *id_*."""
        return any(
            addition.epoch == exclusion.epoch
            and self._follows(id_, addition.id)
            and self._takes_on(addition, exclusion)
            for addition in self._additions_of.get(person, ())
        )
