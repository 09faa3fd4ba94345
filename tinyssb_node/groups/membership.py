"""The members of each epoch of a group: three tangles of messages, which may arrive in any order (4.9, 4.10).

A message takes part in a tangle if it has the form, the feed and the key that the tangle requires. Whether it counts
depends on its author and on what they knew. Messages that do not count are kept with the rule that they broke, for the
audit. The result is a function of the set of stored messages, and of nothing else.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Final

from tinyssb_node.content.tangle import AddOutcome, Candidates, Tangle, TangleData
from tinyssb_node.groups.change_resolution import CausalHistories, ChangeResolver, ResolvedChanges
from tinyssb_node.groups.epochs import NOBODY, EpochGraph, People
from tinyssb_node.groups.late_forks import CameUs, LateFork, LateForks, unclocked
from tinyssb_node.groups.messages import (
    AddMember,
    ExcludeMember,
    FeedRole,
    GroupContent,
    GroupInit,
    MessageFlaw,
    OpenedGroupMessage,
)
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId


@dataclass(frozen=True, slots=True)
class AuditLine:
    """One message in the history of a group."""

    said: OpenedGroupMessage
    flaw: MessageFlaw | None
    """None: it counts."""
    waits: bool = False
    """True if it follows a message that is missing, or that we cannot read."""


_SECOND_ROOT: Final = MessageFlaw("R34", "begins the group a second time")
_OTHER_GROUP: Final = MessageFlaw("R34", "is of another group, or of another tangle")


class _MembersRules:
    """Rules of the members tangle of an epoch (R32)."""

    def __init__(self, root: MessageId, group: "Group") -> None:
        self._root = root
        self._group = group

    def place(self, message: OpenedGroupMessage) -> TangleData | None:
        """Return the message's tangle data."""
        said = message.message
        return said.members_tangle if isinstance(said, GroupInit | AddMember | ExcludeMember) else None

    def extends(self, message: OpenedGroupMessage, previous: Sequence[OpenedGroupMessage]) -> bool:  # noqa: ARG002 - a port's signature
        """Return whether the message is on the feed, and has the key, that it needs to change this epoch's members."""
        init = self._group.init(self._root)
        flaw = None if init is None or message.id == self._root else self._flaw(message, init)
        if flaw is not None:
            self._group.note(message.id, flaw)
        return flaw is None

    def _flaw(self, message: OpenedGroupMessage, init: GroupInit) -> MessageFlaw | None:
        said = message.message
        if isinstance(said, ExcludeMember):
            if message.role is not FeedRole.EPOCH or message.key != init.secret:
                return MessageFlaw("R32", "excludes people, but not on a feed of the epoch")
            return None
        if not isinstance(said, AddMember) or message.role is not FeedRole.ADDITIONS:
            return MessageFlaw("R32", "adds people, but not on an additions feed")
        if said.root != self._group.root:
            return MessageFlaw("R32", "names another first message of the group")
        return (
            None
            if said.secret == init.secret
            else MessageFlaw("R32", "shares a key that is not this epoch's")
        )


class Group:
    """All messages of one group."""

    def __init__(
        self, group: GroupId, root: MessageId, me: FeedId | None = None, came_us: CameUs = unclocked
    ) -> None:
        """*me*: the person whose node this is, for whom forks are held; *came_us*: when a message arrived here."""
        self.group = group
        self.me = me
        self.root = root
        """The group's first message."""
        self.tangle = Tangle[OpenedGroupMessage](root, Candidates(lambda said: said.message.group_tangle))
        """The group tangle (R34): all messages."""
        self.epoch_tangle = Tangle[OpenedGroupMessage](root, Candidates(_epoch_place))
        """The epoch tangle (R33): inits."""
        self._said: dict[MessageId, OpenedGroupMessage] = {}
        self._members: dict[MessageId, Tangle[OpenedGroupMessage]] = {}
        """Members tangles by their root (R32)."""
        self._flaws: dict[MessageId, MessageFlaw] = {}
        """Flaws that follow from a message's form alone."""
        self._given: dict[FeedId, set[EpochKey]] = {}
        """By person: the keys that additions of theirs contain."""
        self._handed: dict[EpochKey, set[EpochKey]] = {}
        """By key: the keys in additions that everybody with this key can open."""
        self._histories = CausalHistories()
        self._resolved: ResolvedChanges | None = None
        self._came_us = came_us
        self._judge: LateForks | None = None
        self._late: dict[tuple[MessageId, ...], tuple[LateFork, ...]] = {}
        """Held forks among some tips. A cache."""
        self._aside: frozenset[MessageId] | None = None
        self._released: MessageId | None = None

    def __contains__(self, id_: object) -> bool:
        """Return whether a message was added."""
        return id_ in self._said

    def __len__(self) -> int:
        return len(self._said)

    def said(self, id_: MessageId) -> OpenedGroupMessage:
        """Return a message that was added. Raises KeyError."""
        return self._said[id_]

    def wrote(self, person: FeedId) -> bool:
        """Return whether a person wrote any message here."""
        return any(said.author == person for said in self._said.values())

    def init(self, id_: MessageId) -> GroupInit | None:
        """Return the init *id_*, if it is here and is one."""
        said = self._said.get(id_)
        return said.message if said is not None and isinstance(said.message, GroupInit) else None

    def members_tangle(self, init: MessageId) -> Tangle[OpenedGroupMessage]:
        """Return the members tangle of the epoch that *init* begins (R32); it is empty if *init* is missing."""
        tangle = self._members.get(init)
        if tangle is None:
            tangle = self._members[init] = Tangle[OpenedGroupMessage](init, _MembersRules(init, self))
        return tangle

    def note(self, id_: MessageId, flaw: MessageFlaw) -> None:
        """Record a flaw of a message; the first one found stays."""
        self._flaws.setdefault(id_, flaw)

    # --- taking messages

    def add(self, said: OpenedGroupMessage) -> AddOutcome:
        """Add a message. Returns its outcome in the group tangle."""
        if said.id in self._said:
            return AddOutcome.DUPLICATE
        self._said[said.id] = said
        if isinstance(said.message, AddMember):
            keys = {said.message.secret, *said.message.old_secrets}
            self._handed.setdefault(said.message.secret, set()).update(keys)
            for person in said.message.people:
                self._given.setdefault(person, set()).update(keys)
        if self._histories.add(said.id, said.message):
            self._resolved = None
        self._aside = None
        flaw = self._flaw_of_form(said)
        if flaw is not None:
            self.note(said.id, flaw)
            return AddOutcome.REFUSED
        message = said.message
        if isinstance(message, GroupInit):
            self.epoch_tangle.add(said.id, said)
            self.members_tangle(said.id).add(said.id, said)
        elif isinstance(message, AddMember | ExcludeMember) and message.members_tangle.root is not None:
            self.members_tangle(message.members_tangle.root).add(said.id, said)
        return self._in_group(said)

    def _in_group(self, said: OpenedGroupMessage) -> AddOutcome:
        outcome = self.tangle.add(said.id, said).outcome
        if outcome is AddOutcome.REFUSED:
            self.note(said.id, _OTHER_GROUP)
        return outcome

    def _flaw_of_form(self, said: OpenedGroupMessage) -> MessageFlaw | None:
        """Return the flaw of a message that does not depend on messages of others."""
        message = said.message
        if message.group is None:
            if said.id != self.root:
                return _SECOND_ROOT
        elif message.group != self.group:
            return _OTHER_GROUP
        elif said.id == self.root:
            return MessageFlaw("R34", "is in the place of the first message, but has predecessors")
        elif message.group_tangle.root != self.root:
            return _OTHER_GROUP
        if isinstance(message, GroupInit):
            if said.role is not FeedRole.EPOCH or said.key != message.secret:
                return MessageFlaw("R33", "begins an epoch, but not on a feed of that epoch")
            if message.author not in {None, said.author}:
                return MessageFlaw("R33", "begins an epoch in another person's name")
        elif not isinstance(message, AddMember) and said.role is FeedRole.ADDITIONS:
            return MessageFlaw("R32", "is on an additions feed, where only additions count")
        return None

    # --- the result

    @property
    def view(self) -> EpochGraph:
        """Epochs, their members, and exclusions."""
        view = self.resolved.view
        if self._judge is not None and self._judge.take_unsure():
            self._forget()
        return view

    @property
    def late_forks(self) -> tuple[LateFork, ...]:
        """Forks that wait for the person's decision (decision 0071)."""
        view = self.view
        tips = () if self.me is None else view.tips(self.me)
        return self._late_among(tips) if len(tips) > 1 else ()

    @property
    def set_aside(self) -> frozenset[MessageId]:
        """Messages of forks that are held. What is written meanwhile does not follow them: others may lack them."""
        late = [one for one in self.late_forks if one.tip != self._released]
        if late and self._aside is None:
            assert self.me is not None, "nothing is held"
            view = self.view
            kept = set(view.acted_on(self.me))
            held = {view[init].key for init in set(view.of(self.me)) - kept}
            kept.update(*(view[tip].exclusions for tip in view.unheld_tips(self.me)))
            written = frozenset(id_ for one in late for id_ in one.written if id_ not in kept)
            bits = [self._histories.bit(id_) for id_ in written]
            self._aside = written | frozenset(
                id_
                for id_, said in self._said.items()
                if said.key in held or any(self._histories.known(id_) & bit for bit in bits)
            )
        return self._aside if late and self._aside is not None else frozenset()

    @property
    def standing(self) -> Mapping[MessageId, People]:
        """By exclusion: the people it names whom nobody has added again; without exclusions in forks that are held.

        Nobody is excluded, and nobody is left out of an addition, because of any other exclusion. If these were two
        sets, nodes would add and exclude the same people in turn, with an epoch for each time.
        """
        aside = self.set_aside
        standing = self.resolved.standing
        return {id_: people for id_, people in standing.items() if id_ not in aside} if aside else standing

    def tips(self) -> tuple[MessageId, ...]:
        """Return the messages that the next one follows (R37), sorted."""
        aside = self.set_aside
        if not aside:
            return self.tangle.tips
        kept = [id_ for id_ in self.tangle if id_ not in aside]
        passed = {previous for id_ in kept for previous in self.tangle.previous(id_)}
        return tuple(sorted(set(kept) - passed))

    @contextmanager
    def released(self, tip: MessageId) -> Iterator[None]:
        """Let a held fork count like any other: while the epoch that joins it is planned, and while it is written, so
        that this epoch follows all that it joins."""
        self._release(tip)
        try:
            yield
        finally:
            self._release(None)

    def _release(self, tip: MessageId | None) -> None:
        self._released = tip
        self._forget()

    def _forget(self) -> None:
        self._late.clear()
        self._aside = None
        if self._resolved is not None:
            self._resolved.view.forget()

    def _late_among(self, tips: tuple[MessageId, ...]) -> tuple[LateFork, ...]:
        if tips not in self._late:
            assert self._judge is not None, "made with the view"
            self._late[tips] = self._judge.of(self.resolved.view, tips)
        return self._late[tips]

    def _hold(self, tips: tuple[MessageId, ...]) -> frozenset[MessageId]:
        return frozenset(one.tip for one in self._late_among(tips)) - {self._released}

    @property
    def resolved(self) -> ResolvedChanges:
        """The changes that all messages together result in."""
        if self._resolved is None:
            self._resolved = ChangeResolver(
                self._said, self._histories, self.epoch_tangle, self.members_tangle
            ).resolve()
            self._judge = LateForks(self._said, self._histories, self._came_us)
            self._late.clear()
            self._aside = None
            self._resolved.view.hold_with(self._hold)
        return self._resolved

    @property
    def lacking(self) -> bool:
        """True while a message that changes the group follows one that is missing, or that we cannot read."""
        return self._histories.lacked(self.tangle.missing)

    def keys_given(self, person: FeedId) -> AbstractSet[EpochKey]:
        """Return the keys in additions of *person*."""
        return self._given.get(person, frozenset())

    def opened_by(self, keys: Iterable[EpochKey]) -> AbstractSet[EpochKey]:
        """Return *keys*, and all that their readers find in additions which these keys open."""
        opened: set[EpochKey] = set()
        ahead = list(keys)
        while ahead:
            key = ahead.pop()
            if key not in opened:
                opened.add(key)
                ahead += self._handed.get(key, ())
        return opened

    def adders(self, person: FeedId) -> People:
        """Return the people who added *person* to any epoch."""
        return frozenset(by for by, people in self.resolved.added_by.items() if person in people)

    def epochs_by(self, person: FeedId) -> int:
        """Return how many epochs a member began, with those that do not count."""
        said = (self._said[id_] for id_ in self.epoch_tangle)
        return sum(one.author == person for one in said)

    def audit(self) -> list[AuditLine]:
        """Return all messages in the order of the group tangle, then by id those that have no position in it."""
        flaws = {**self._strangers(), **self.resolved.flaws, **self._flaws}
        ordered = self.tangle.order()
        rest = sorted(self._said.keys() - set(ordered))
        lines = [AuditLine(self._said[id_], flaws.get(id_)) for id_ in ordered]
        return lines + [AuditLine(self._said[id_], flaws.get(id_), id_ not in flaws) for id_ in rest]

    def _strangers(self) -> dict[MessageId, MessageFlaw]:
        """Return the messages written with the key of an epoch by people who are not in it."""
        people: dict[EpochKey, People] = {}
        for epoch in self.view.epochs.values():
            people[epoch.key] = people.get(epoch.key, NOBODY) | epoch.members | {epoch.creator}
        flaw = MessageFlaw("R23", "was written by a person who is not in the epoch")
        return {
            id_: flaw
            for id_, said in self._said.items()
            if isinstance(said.message, GroupContent)
            and (said.key is None or said.author not in people.get(said.key, NOBODY))
        }


def _epoch_place(said: OpenedGroupMessage) -> TangleData | None:
    return said.message.epoch_tangle if isinstance(said.message, GroupInit) else None
