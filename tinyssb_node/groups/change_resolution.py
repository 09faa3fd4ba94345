"""The resolution of changes to a group: which messages count, given who was in which epoch and what each author knew
(4.9, decision 0033)."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from heapq import heappop, heappush

from tinyssb_node.content.tangle import Tangle
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import NOBODY, Epoch, EpochGraph, Exclusion, People
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludeMember,
    GroupInit,
    GroupMessage,
    MessageFlaw,
    OpenedGroupMessage,
)
from tinyssb_node.ids import FeedId, MessageId


@dataclass(frozen=True, slots=True)
class ResolvedChanges:
    """The result of all messages together."""

    view: EpochGraph
    flaws: Mapping[MessageId, MessageFlaw]
    pending: tuple[Exclusion, ...]
    """Exclusions that no epoch followed, of people whom nobody has added again; sorted by id."""
    standing: Mapping[MessageId, People]
    """By exclusion: the people it names whom nobody has added again."""
    barred: People
    """All people in `standing`: excluded from any epoch, and added again by nobody who knew of it."""
    doubtful: Mapping[MessageId, People]
    """By epoch: people added only by members who are excluded up to it, if its creator did not know that; see R31."""
    added_by: Mapping[FeedId, People]
    """By person: those whom they added to any epoch."""


class CausalHistories:
    """For each message, the messages before it that change the group, as far as they are here: one bit for each of
    these.

    A message that names an id shows that its author knew that message, whichever tangle it is named in and whether or
    not it counts. Messages behind one that we cannot read count all the same; otherwise people who can read less would
    compute fewer members. A late message is added to the history of all that follow it, once for each.
    """

    def __init__(self) -> None:
        self._masks: dict[MessageId, int] = {}
        self._bits: dict[MessageId, int] = {}
        """Bits of messages that change the group."""
        self._followers: dict[MessageId, list[MessageId]] = {}
        """Followers of messages, stored and missing ones."""

    def add(self, id_: MessageId, message: GroupMessage) -> bool:
        """Add a message, once. Returns whether the histories of messages that change the group have changed."""
        mask = 0
        for one in _named(message):
            self._followers.setdefault(one, []).append(id_)
            mask |= self._masks.get(one, 0) | self._bits.get(one, 0)
        self._masks[id_] = mask
        changes = isinstance(message, GroupInit | AddMember | ExcludeMember)
        if changes:
            self._bits[id_] = 1 << len(self._bits)
        return self._propagate(id_) or changes

    def _propagate(self, id_: MessageId) -> bool:
        """Add the history of *id_* to all messages that follow it."""
        changed = False
        ahead = [id_]
        while ahead:
            id_ = ahead.pop()
            known = self._masks[id_] | self._bits.get(id_, 0)
            for follower in self._followers.get(id_, ()):
                if known & ~self._masks[follower]:
                    self._masks[follower] |= known
                    changed |= follower in self._bits
                    ahead.append(follower)
        return changed

    def known(self, id_: MessageId) -> int:
        """Return the bits of all messages that change the group and precede *id_*. Raises KeyError for a missing
        message."""
        return self._masks[id_]

    def bit(self, id_: MessageId) -> int:
        """Return the bit of a message that changes the group. Raises KeyError for a missing message, or one that
        changes nothing."""
        return self._bits[id_]

    def followed_by(self, id_: MessageId, others: Iterable[MessageId]) -> list[MessageId]:
        """Return those of *others*, all of which change the group, that *id_* follows. Raises KeyError."""
        mask, bits = self._masks[id_], self._bits
        return [other for other in others if mask & bits[other]]

    def lacked(self, missing: Iterable[MessageId]) -> bool:
        """Return whether a message that changes the group follows one of *missing*: its author knew more than we do."""
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
        """Return a sort key that puts each message behind all that it follows, and depends on the stored messages
        only."""
        return (self._masks[id_].bit_count(), id_)


def _named(message: GroupMessage) -> set[MessageId]:
    """Return all messages that *message* names as predecessors."""
    named = set(message.group_tangle.previous)
    if isinstance(message, GroupInit):
        named.update(message.epoch_tangle.previous)
    elif isinstance(message, AddMember | ExcludeMember):
        named.update(message.members_tangle.previous)
    return named


@dataclass(frozen=True, slots=True)
class _Addition:
    """A message that adds people, and that counts."""

    by: FeedId
    epoch: MessageId
    people: People
    bit: int
    known: int
    """Bits of the messages that its author knew."""


class ExclusionReversal:
    """The exclusions that additions undo, once all of both are known: one bit for each exclusion.

    An addition undoes an exclusion of a person in both if its author knew of it, and so did the creator of the epoch
    that it adds to. Otherwise the author may only be handing on a key that was owed. An addition by a person whom the
    exclusion names undoes it for nobody.
    """

    def __init__(
        self, additions: Iterable[_Addition], naming: Mapping[FeedId, int], reaching: Mapping[MessageId, int]
    ) -> None:
        """Take *naming*, the exclusions of each person, and *reaching*, by epoch the exclusions that an addition may
        undo."""
        self._naming = naming
        self._each: list[tuple[_Addition, FeedId, int]] = []
        """Additions, a person added by each, and the exclusions that it undoes for this person."""
        self._by: dict[FeedId, dict[FeedId, int]] = defaultdict(dict)
        """The same by author and person."""
        self.all: dict[FeedId, int] = {}
        """By person: the exclusions undone for them."""
        self.within: dict[MessageId, dict[FeedId, int]] = defaultdict(dict)
        """The same by additions to one epoch."""
        for one in additions:
            may = one.known & reaching[one.epoch] & ~naming.get(one.by, 0)
            for person in one.people if may else ():
                undone = may & naming.get(person, 0)
                if undone:
                    self._each.append((one, person, undone))
                    for masks in (self._by[one.by], self.all, self.within[one.epoch]):
                        masks[person] = masks.get(person, 0) | undone

    def left_out(self, known: int) -> People:
        """Return the people whom exclusions up to an epoch name, and whom nobody added again, in any epoch.

        People who are left out themselves add nobody again, unless the epoch's creator knew of the addition: they may
        claim that they had not heard of their exclusion. *known* has the bits that the creator knew.
        """
        stand = {person: mask & known for person, mask in self._naming.items() if mask & known}
        named = stand.keys()
        for one, person, undone in self._each:
            if person in stand and (one.bit & known or one.by not in named):
                stand[person] &= ~undone
        ahead = [person for person, mask in stand.items() if not mask]
        for person in ahead:
            for other, undone in self._by.get(person, {}).items():
                if stand.get(other):
                    stand[other] &= ~undone
                    if not stand[other]:
                        ahead.append(other)
        return frozenset(person for person, mask in stand.items() if mask)


class ChangeResolver:
    """The resolver of all messages that change the group: what their authors knew decides which count.

    Strangers can add us to groups of theirs, and write there as much as they like. So no message is compared with every
    other one: what an author knew, and what exclusions and additions are about, are bits (decision 0033).
    """

    def __init__(
        self,
        said: Mapping[MessageId, OpenedGroupMessage],
        histories: CausalHistories,
        epoch_tangle: Tangle[OpenedGroupMessage],
        members_tangle: Callable[[MessageId], Tangle[OpenedGroupMessage]],
    ) -> None:
        self._said = said
        self._histories = histories
        self._epoch_tangle = epoch_tangle
        self._members_tangle = members_tangle
        self._flaws: dict[MessageId, MessageFlaw] = {}
        self._additions: dict[MessageId, _Addition] = {}
        self._at: dict[int, _Addition] = {}
        """Additions by the number of their bit."""
        self._taking: dict[MessageId, dict[FeedId, int]] = {}
        """By epoch and person: additions of the person to it by others."""
        self._added_by: dict[FeedId, set[FeedId]] = defaultdict(set)
        self._exclusions: dict[MessageId, Exclusion] = {}
        self._naming: dict[MessageId, dict[FeedId, int]] = {}
        """By epoch and person: exclusions of the person from it."""
        self._epochs: dict[MessageId, Epoch] = {}
        """Valid epochs, without the fields that depend on all of them."""
        self._chains: dict[MessageId, frozenset[MessageId]] = {}

    def resolve(self) -> ResolvedChanges:
        """Return the result."""
        by_whom: dict[FeedId, int] = defaultdict(int)
        for init in self._epoch_tangle.order():
            said = self._said[init]
            by_whom[said.author] += 1
            flaw = self._flaw_of_epoch(said, by_whom[said.author])
            if flaw is None:
                self._open(said)
            else:
                self._flaws[init] = flaw
        reversal = self._reversal()
        epochs, doubtful = self._finished(reversal)
        standing = {
            id_: frozenset(
                person for person in one.until if not reversal.all.get(person, 0) & self._histories.bit(id_)
            )
            for id_, one in self._exclusions.items()
        }
        led_to = frozenset[MessageId]().union(*(epoch.exclusions for epoch in epochs))
        pending = [id_ for id_, people in sorted(standing.items()) if people and id_ not in led_to]
        return ResolvedChanges(
            EpochGraph(epochs, self._exclusions.values()),
            self._flaws,
            tuple(self._exclusions[id_] for id_ in pending),
            standing,
            NOBODY.union(*standing.values()),
            doubtful,
            {by: frozenset(people) for by, people in self._added_by.items()},
        )

    # --- epochs

    def _flaw_of_epoch(self, said: OpenedGroupMessage, count: int) -> MessageFlaw | None:
        """Return why an init begins no epoch that counts."""
        message = said.message
        assert isinstance(message, GroupInit)
        previous = self._epoch_tangle.previous(said.id)
        if count > group_limits.EPOCHS_BY_ONE_MAX:
            return MessageFlaw(
                "R33", f"is more than the {group_limits.EPOCHS_BY_ONE_MAX}th epoch of one member"
            )
        for one in previous:
            epoch = self._epochs.get(one)
            if epoch is None:
                return MessageFlaw("R33", "follows an epoch that does not count")
            if said.author not in epoch.members and said.author != epoch.creator:
                return MessageFlaw("R2", "begins an epoch, but its author is not in the one before")
            if self._was_excluded(said.author, said.id, one):
                return MessageFlaw("R2", "begins an epoch, but its author was excluded from the one before")
        chain = frozenset[MessageId]().union(*(self._chains[one] for one in previous))
        if any(self._epochs[one].key == message.secret for one in chain):
            return MessageFlaw("R4", "begins an epoch with a key that was used before")
        return None

    def _open(self, said: OpenedGroupMessage) -> None:
        """Resolve who was added to a valid epoch, and who was excluded from it."""
        message = said.message
        assert isinstance(message, GroupInit)
        previous = self._epoch_tangle.previous(said.id)
        self._chains[said.id] = frozenset([said.id]).union(*(self._chains[one] for one in previous))
        self._taking[said.id], self._naming[said.id] = {}, {}
        members = self._weigh(said)
        self._epochs[said.id] = Epoch(said.id, message.secret, said.author, previous, members)

    def _weigh(self, init: OpenedGroupMessage) -> People:
        """Resolve which messages in an epoch's members tangle count. Returns the people added.

        Messages of people who are in the epoch are taken in the order of rank. Earlier messages of a person added later
        are looked at in the next round.
        """
        order = [id_ for id_ in self._members_tangle(init.id) if id_ != init.id and self._fits(id_)]
        order.sort(key=self._histories.rank)
        outside: dict[FeedId, list[int]] = defaultdict(list)
        for place, id_ in enumerate(order):
            outside[self._said[id_].author].append(place)
        exclusions: list[Exclusion] = []
        inside = {init.author}
        members: set[FeedId] = set()
        round_, next_round = outside.pop(init.author, []), list[int]()
        while round_:
            place = heappop(round_)
            said = self._said[order[place]]
            if self._was_excluded(said.author, said.id, init.id):
                self._flaws[said.id] = MessageFlaw(
                    "R1", "was written by a person who was excluded from the epoch before"
                )
            elif isinstance(said.message, AddMember):
                added = self._take(said, said.message, init.id)
                members |= added
                for person in added - inside:
                    for other in outside.pop(person, ()):
                        heappush(round_ if other > place else next_round, other)
                inside |= added
            else:
                exclusions += self._exclude(said, init.id)
            if not round_:
                round_, next_round = next_round, []
        for place in (place for places in outside.values() for place in places):
            self._flaws[order[place]] = MessageFlaw("R32", "was written by a person who is not in the epoch")
        self._pass_over_strangers(exclusions, init.id, inside)
        return frozenset(members)

    def _fits(self, id_: MessageId) -> bool:
        """Return whether an addition names the creator of the group; other messages in the tangle do not name them."""
        message = self._said[id_].message
        if (
            not isinstance(message, AddMember)
            or message.creator == self._said[self._epoch_tangle.root].author
        ):
            return True
        self._flaws[id_] = MessageFlaw("R32", "names another creator of the group")
        return False

    def _take(self, said: OpenedGroupMessage, message: AddMember, epoch: MessageId) -> People:
        bit, known = self._histories.bit(said.id), self._histories.known(said.id)
        addition = _Addition(said.author, epoch, frozenset(message.people), bit, known)
        self._additions[said.id] = self._at[bit.bit_length()] = addition
        self._added_by[said.author] |= addition.people
        taking = self._taking[epoch]
        for person in addition.people - {said.author}:
            taking[person] = taking.get(person, 0) | bit
        return addition.people

    def _exclude(self, said: OpenedGroupMessage, epoch: MessageId) -> tuple[Exclusion, ...]:
        message = said.message
        assert isinstance(message, ExcludeMember)
        if said.author in message.people:
            self._flaws[said.id] = MessageFlaw("R1", "excludes its own author")
            return ()
        until = {each.member: each.seq for each in message.excludes}
        naming = self._naming[epoch]
        for person in until:
            naming[person] = naming.get(person, 0) | self._histories.bit(said.id)
        return (Exclusion(said.id, said.author, epoch, until),)

    def _pass_over_strangers(
        self, exclusions: Iterable[Exclusion], epoch: MessageId, people: AbstractSet[FeedId]
    ) -> None:
        """Drop from exclusions the people who are not in the epoch."""
        for one in exclusions:
            until = {person: seq for person, seq in one.until.items() if person in people}
            if until:
                self._exclusions[one.id] = replace(one, until=until)
            else:
                self._flaws[one.id] = MessageFlaw("R7", "excludes only people who are not in the epoch")
        naming = self._naming[epoch]
        self._naming[epoch] = {person: mask for person, mask in naming.items() if person in people}

    # --- fields that depend on all epochs (4.9)

    def _reversal(self) -> ExclusionReversal:
        """Return which exclusions are undone. An addition may undo those from its epoch, and of those from earlier
        epochs the ones that its epoch's creator knew."""
        naming: dict[FeedId, int] = {}
        excluding: dict[MessageId, int] = {}
        for epoch, people in self._naming.items():
            excluding[epoch] = 0
            for person, mask in people.items():
                naming[person] = naming.get(person, 0) | mask
                excluding[epoch] |= mask
        reaching = {}
        for epoch, chain in self._chains.items():
            before = 0
            for one in chain:
                before |= excluding[one]
            reaching[epoch] = excluding[epoch] | before & self._histories.known(epoch)
        return ExclusionReversal(self._additions.values(), naming, reaching)

    def _finished(self, reversal: ExclusionReversal) -> tuple[list[Epoch], dict[MessageId, People]]:
        """Return all epochs with the people who should be in them, and by epoch the people for whom nobody vouches."""
        added = NOBODY.union(*self._added_by.values())
        finished, doubtful = [], {}
        for epoch in self._epochs.values():
            init = epoch.init
            led = self._histories.followed_by(init, self._exclusions)
            without = reversal.left_out(self._histories.known(init))
            before = self._histories.followed_by(init, self._additions)
            known = NOBODY.union(*[self._additions[one].people for one in before])
            vouched = epoch.members | known | self._vouched(known | {epoch.creator}, without)
            undone = reversal.within[init]
            finished.append(
                replace(
                    epoch,
                    excluded=frozenset(
                        person for person, mask in self._naming[init].items() if mask & ~undone.get(person, 0)
                    ),
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
        """Return the people whom *trusted* people added anywhere, and those whom these added, and so on, without
        *without*."""
        vouched = NOBODY
        ahead = trusted - without
        while ahead:
            more = NOBODY.union(*[self._added_by.get(person, NOBODY) for person in ahead])
            ahead = more - vouched - trusted - without
            vouched |= more
        return vouched

    # --- knowledge of authors

    def _was_excluded(self, author: FeedId, id_: MessageId, epoch: MessageId) -> bool:
        """Return whether the author of *id_* knew, when they wrote it, that they had been excluded from *epoch*, and
        knew of nobody who had added them again there since."""
        known, naming = self._histories.known(id_), self._naming[epoch]
        stand = known & naming.get(author, 0)
        additions = known & self._taking[epoch].get(author, 0) if stand else 0
        while stand and additions:
            addition = self._at[additions.bit_length()]
            stand &= ~addition.known | naming.get(addition.by, 0)
            additions ^= addition.bit
            if not stand & addition.known:  # no addition that it follows undoes more either
                additions &= ~addition.known
        return bool(stand)
