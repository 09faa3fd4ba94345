"""The next steps of a member: excluding, adding, repairing, joining forks (exclusion document, 4.1, 4.6, 4.9).

A plan is computed anew from the stored messages, each time that one arrives or a wait ends. So an operation that a
crash or a lost node interrupted is finished by the same rules, here or by another member. A member who sees that
another was faster has nothing left to do (R17). Only the duration of waits is kept between two plans.

Nodes that only follow their plans come to rest. A person is added to an epoch once. An author begins one epoch behind
each base (the epoch that they prefer), as the base is no tip of theirs then. And each epoch has a greater measure than
its base: first the number of changes that its creator knew and people had asked for; then the number of people that it
is without, and of those who are really not in it. For a plan begins an epoch only to leave out a member of the base,
and takes on nobody whom a standing exclusion names. The measure is bounded, so there is no endless chain of epochs, and
behind each epoch there are finitely many. This needs `Group.standing` in both places: for whom to exclude, and for whom
not to add. ``tests/groups/search.py`` checks the measure.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from hashlib import sha256
from itertools import combinations
from typing import Final, TypeAlias

from tinyssb_node import limits
from tinyssb_node.errors import LocalError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.epochs import NOBODY, Exclusion, People
from tinyssb_node.groups.membership import Group
from tinyssb_node.ids import FeedId, MessageId

_NO_EPOCHS: Final = frozenset[MessageId]()


class RefusalReason(StrEnum):
    """The reason why an operation is refused."""

    SELF = "you cannot exclude yourself (4.1)"
    STRANGER = "they are not in the epoch that you write in"
    NOBODY = "nobody is named"
    EXCLUDED = "you were excluded from this group"
    OUTSIDE = "you are not in this group"
    NAMED = "it excludes you, so another member has to decide"
    NOT_HELD = "it does not wait for a decision"
    OTHER_EPOCH = "another epoch is preferred by now (4.1)"
    MEMBER = "they are in the group already"
    EPOCHS = "you began as many epochs of this group as count"
    DISPUTED = "people who were excluded would read it"


class GroupRefusalError(LocalError):
    """An operation that the rules of groups do not allow. Nothing was written."""

    def __init__(self, refusal: RefusalReason, people: Iterable[FeedId] = ()) -> None:
        super().__init__(f"nothing was written: {refusal.value}")
        self.refusal = refusal
        self.people = tuple(people)


@dataclass(frozen=True, slots=True)
class ExcludeStep:
    """A step: write a `group/exclude-member`, on our feed of *epoch* and sealed with its key (R7)."""

    epoch: MessageId
    people: tuple[FeedId, ...]


@dataclass(frozen=True, slots=True)
class BeginEpochStep:
    """A step: draw a new key and write a `group/init`, on a new feed of ours (R4 to R6)."""

    previous: tuple[MessageId, ...]
    """The epochs that it succeeds: all our tips (R38)."""


@dataclass(frozen=True, slots=True)
class AddStep:
    """A step: write a `group/add-member`, on our additions feed and sealed with the epoch's key and the new members'
    (R8)."""

    epoch: MessageId | None
    """None: the one that the `BeginEpochStep` before it begins."""
    people: tuple[FeedId, ...]
    """1 to 15."""
    old_keys: tuple[MessageId, ...] = ()
    """Earlier epochs whose keys are included (`oldSecrets`), since one of the people lacks them."""


Step: TypeAlias = ExcludeStep | BeginEpochStep | AddStep


class TaskPurpose(StrEnum):
    """The reason for a task."""

    FINISH = "finish"
    """An epoch or exclusion of our own was interrupted."""
    REPAIR = "repair"
    """An epoch lacks people (R29, R31)."""
    COMPLETE = "complete"
    """A member excluded people, and no epoch followed."""
    RESOLVE = "resolve"
    """Forks overlap (R15)."""
    GUESS = "guess"
    """An epoch seems to lack people, but a message that its creator knew is missing; it may be their exclusion."""


_WAITS_US: Final = {
    TaskPurpose.FINISH: (0, 0),
    TaskPurpose.REPAIR: group_limits.REPAIR_WAIT_US,
    TaskPurpose.COMPLETE: group_limits.COMPLETE_WAIT_US,
    TaskPurpose.RESOLVE: group_limits.RESOLVE_WAIT_US,
    TaskPurpose.GUESS: group_limits.GUESS_WAIT_US,
}


@dataclass(frozen=True, slots=True)
class GroupTask:
    """A task for a member, which another member may do first."""

    purpose: TaskPurpose
    epoch: MessageId
    """The epoch that lacks people, or is succeeded."""
    steps: tuple[Step, ...]
    """All steps, as far as they can be foreseen; never empty."""

    @property
    def key(self) -> str:
        """A name that stays the same until the task is done."""
        return f"{self.purpose.value}/{self.epoch.hex()}"


@dataclass(frozen=True, slots=True)
class GroupPlan:
    """The steps to write now, and when to plan again."""

    steps: tuple[Step, ...]
    """To be written now, in order. If writing stops in between, the next plan continues from there."""
    since_us: Mapping[str, int]
    """By task: when it was first seen. To be kept, and passed to the next plan."""
    wake_us: int | None
    """When the next wait ends; None: nothing waits."""
    tasks: tuple[GroupTask, ...] = ()
    """All tasks, waiting or not."""
    due_us: Mapping[str, int] = field(default_factory=dict)
    """By task: when it is done, unless another member is faster."""
    bounded: bool = False
    """True if a task is left out, because the member began so many epochs of the group."""


def plan(group: Group, me: FeedId, *, since_us: Mapping[str, int], now_us: int, seed: bytes) -> GroupPlan:
    """Return what *me* should do. *seed* is random, secret and kept: it makes waits random, and the same after a
    restart.

    *since_us* comes from the plan before; *now_us* is on any clock that does not jump back.
    """
    all_tasks = tasks(group, me)
    open_tasks = tuple(
        task
        for task in all_tasks
        if not begins_too_many(group, me, task.steps, asked=task.purpose is TaskPurpose.FINISH)
    )
    since = {task.key: since_us.get(task.key, now_us) for task in open_tasks}
    due = {task.key: since[task.key] + _wait_us(seed, me, task) for task in open_tasks}
    ready = [task for task in open_tasks if due[task.key] <= now_us]
    later = [due[task.key] for task in open_tasks if due[task.key] > now_us]
    return GroupPlan(
        steps=ready[0].steps if ready else (),
        since_us=since,
        wake_us=min(later, default=None),
        tasks=open_tasks,
        due_us=due,
        bounded=len(open_tasks) < len(all_tasks),
    )


def begins_too_many(group: Group, me: FeedId, steps: Iterable[Step], *, asked: bool = True) -> bool:
    """Return whether *steps* begin an epoch although *me* began as many as count, or as a node begins if nobody *asked*
    it. To finish an exclusion of one's own was asked for."""
    most = group_limits.EPOCHS_BY_ONE_MAX if asked else group_limits.EPOCHS_UNASKED_MAX
    return any(isinstance(step, BeginEpochStep) for step in steps) and group.epochs_by(me) >= most


def _wait_us(seed: bytes, me: FeedId, task: GroupTask) -> int:
    """Return a random wait (R16): uniform for anybody who does not know the seed."""
    least, most = _WAITS_US[task.purpose]
    drawn = int.from_bytes(sha256(seed + me + task.key.encode()).digest()[:8], "big")
    return least + drawn % (most - least + 1)


def tasks(group: Group, me: FeedId) -> tuple[GroupTask, ...]:
    """Return all tasks that *me* could do for the group, the most urgent first.

    People are added before anybody is excluded (R30). People who were excluded from any epoch, and added again by
    nobody, are not added automatically.
    """
    view = group.view
    preference = view.preference(me)
    unfinished = _unfinished(group, me)
    open_tasks = [
        GroupTask(TaskPurpose.FINISH, init, _additions(group, init, people)) for init, people in unfinished
    ]
    if preference.epoch is None or preference.excluded or _left_to_others(group, me, preference.epoch):
        return tuple(open_tasks)
    begun = dict(unfinished)
    for init, people in _repairs(group, me):
        if rest := people - begun.get(init, NOBODY):
            open_tasks.append(GroupTask(TaskPurpose.REPAIR, init, _additions(group, init, rest)))
    first = tuple(step for task in open_tasks for step in task.steps)
    base = preference.epoch
    for mine, people in _begun(group, me, base).items():
        purpose = TaskPurpose.FINISH if mine else TaskPurpose.COMPLETE
        open_tasks.append(GroupTask(purpose, base, first or _exclusion(group, me, base, people)))
    resolution = preference.resolution
    if resolution is not None and me not in resolution.exclude and (first or resolution.exclude):
        steps = first or _exclusion(group, me, base, resolution.exclude)
        open_tasks.append(GroupTask(TaskPurpose.RESOLVE, base, steps))
    guessed = [
        (init, _lacking(group, init, me)) for init in _needed(group, me) if not _history_complete(group, init)
    ]
    open_tasks += [
        GroupTask(TaskPurpose.GUESS, init, _additions(group, init, people))
        for init, people in guessed
        if people
    ]
    return tuple(open_tasks)


def unwelcome(group: Group, me: FeedId) -> People:
    """Return the people who read what *me* writes now, although a member excluded them: in a fork that is not joined
    yet, or with no epoch behind the exclusion. A post waits for ``settling`` steps until there are none.

    Exclusions by people who are not in the epoch that *me* prefers count through the forks only: an excluded person
    keeps nobody from writing by excluding others.
    """
    preference = group.view.preference(me)
    if preference.epoch is None:
        return NOBODY
    named = NOBODY.union(*(people for _, people in _aimed_at(group, preference.epoch)))
    if preference.resolution is not None:
        named |= preference.resolution.exclude
    return (named & group.view[preference.epoch].members) - {me}


def is_out(group: Group, me: FeedId) -> bool:
    """Return whether *me* was excluded: from the epoch that they prefer, or by a member of it from another epoch. Then
    the others join the forks without *me*, or prefer an epoch that *me* cannot read (4.5); nothing more comes of that
    epoch, so *me* would never hear of it."""
    preference = group.view.preference(me)
    if preference.epoch is None:
        return False
    return preference.excluded or _left_to_others(group, me, preference.epoch)


def awaited(group: Group, me: FeedId) -> dict[MessageId, People]:
    """Return the people whom somebody is going to add to an epoch: to the tips, and to epochs from which forks come.

    Where the rules say for *me* that a person is not added, they are not; of epochs that *me* is not in, it is assumed
    that their members add everybody who belongs there.
    """
    view = group.view
    tips = view.tips_among(view.epochs)
    found = {tip: view[tip].missing for tip in tips if me not in view[tip].members}
    return found | {init: _lacking(group, init, me) for init in _needed(group, me)}


def settling(group: Group, me: FeedId) -> tuple[Step, ...]:
    """Return the next steps after which fewer people are `unwelcome`, without the wait for other members; none if it is
    not for *me* to write them."""
    purposes = (TaskPurpose.FINISH, TaskPurpose.COMPLETE, TaskPurpose.RESOLVE)
    return next((task.steps for task in tasks(group, me) if task.purpose in purposes), ())


def _unfinished(group: Group, me: FeedId) -> list[tuple[MessageId, People]]:
    """Return epochs, each with the people it lacks whom *me* was about to add: in epochs of *me*, and newcomers
    of *me*.

    The first person whom the creator of a group adds is themselves.
    """
    unfinished = []
    needed = _needed(group, me)
    for init, epoch in group.view.epochs.items():
        people = _known_lacking(group, init, me)
        mine = NOBODY
        if epoch.creator == me:
            mine = (people or _remaining(group, init, me)) & epoch.due
        if epoch.creator == me and not epoch.previous and not epoch.members:
            mine |= {me}
        if init in needed:
            mine |= {person for person in people if group.adders(person) == {me}}
        if mine:
            unfinished.append((init, mine))
    return unfinished


def _repairs(group: Group, me: FeedId) -> list[tuple[MessageId, People]]:
    """Return the epochs of *me* that lack somebody, as far as it matters (R29)."""
    return [(init, people) for init in _needed(group, me) if (people := _known_lacking(group, init, me))]


def _needed(group: Group, me: FeedId) -> list[MessageId]:
    """Return the epochs of *me* whose membership decides something: the tips, and the epochs from which two of them
    come, where a person has to be in order to be a witness. Predecessors come first.

    People are not added to any other epoch: its key in a later addition is enough to read it, and takes 32 bytes.
    """
    view = group.view
    acted_on = view.acted_on(me)
    tips = view.tips_among(acted_on)
    near = _NO_EPOCHS.union(*(view.nearest(*pair) for pair in combinations(tips, 2)))
    return [init for init in acted_on if init in tips or init in near]


def _history_complete(group: Group, init: MessageId) -> bool:
    """Return whether everything is here that the creators of an epoch and its predecessors knew, so that it is certain
    whom they excluded.

    Entries of different feeds arrive in any order: the init of an epoch, and additions to it, may be here long before
    the exclusion that led to it. People who add others to an epoch are assumed to know what its creator knew.
    """
    return all(one in group.tangle for one in group.view.chain(init))


def _known_lacking(group: Group, init: MessageId, me: FeedId) -> People:
    """Return the people whom an epoch lacks, as far as that is certain."""
    return _lacking(group, init, me) if _history_complete(group, init) else NOBODY


def _remaining(group: Group, init: MessageId, me: FeedId) -> People:
    """Return the people whom an epoch created by *me* lacks, and who are in all its predecessors: they remain, whatever
    is missing."""
    before = [group.view[one].members for one in group.view[init].previous]
    return _lacking(group, init, me).intersection(*before) if before else NOBODY


def _lacking(group: Group, init: MessageId, me: FeedId) -> People:
    """Return the people to add to an epoch without anybody asking for it: nobody who was excluded.

    It leaves out people who do not belong in the epoch that *me* prefers, or whom another fork of theirs leaves out. To
    add them to an earlier epoch would vouch for people whom only members brought in who are excluded by now.
    """
    epoch, preferred = group.view[init], group.view.preference(me).epoch
    if me in epoch.excluded or me in epoch.without:
        return NOBODY
    out = NOBODY.union(
        *group.standing.values(), *(group.view[tip].without for tip in group.view.open_tips(me))
    )
    lacking = epoch.missing - (out - {me})
    return lacking if preferred is None else lacking & (group.view[preferred].correct | {me})


def _left_to_others(group: Group, me: FeedId, base: MessageId) -> bool:
    """Return whether somebody in *base* excluded *me* from another epoch, and others are there: then it is for them to
    act."""
    epoch = group.view[base]
    out = NOBODY.union(*(people for _, people in _aimed_at(group, base)))
    return me in out and bool(epoch.members - out)


def _aimed_at(group: Group, base: MessageId) -> list[tuple[Exclusion, People]]:
    """Return the exclusions by members of *base* that name members of it, and these members.

    A message by a person who is not in an epoch concerns it only through epochs that both are in (4.6, 4.7).
    """
    epoch = group.view[base]
    aimed = [(group.view.exclusions[id_], people & epoch.members) for id_, people in group.standing.items()]
    return [(one, people) for one, people in aimed if people and one.by in epoch.members]


def _begun(group: Group, me: FeedId, base: MessageId) -> dict[bool, People]:
    """Return the people whom exclusions that no epoch followed would take out of *base*: True for those by *me*, False
    by others.

    A person named in one leaves it to others, being excluded.
    """
    resolution = group.view.preference(me).resolution
    resolved = {me} if resolution is None else {me} | resolution.exclude
    pending = {one.id for one in group.resolved.pending}
    began: dict[bool, People] = {}
    for one, people in _aimed_at(group, base):
        if me not in one.people:
            mine = one.by == me and one.id in pending
            began[mine] = began.get(mine, NOBODY) | (people - resolved)
    return {mine: people for mine, people in sorted(began.items(), reverse=True) if people}


# --- operations that a person asks for


def exclude(
    group: Group, me: FeedId, people: Iterable[FeedId], *, epoch: MessageId | None = None
) -> tuple[Step, ...]:
    """Return all steps of excluding *people* from the epoch that *me* prefers (4.1), which has to be *epoch* if that is
    given.

    Writing the first ones is enough: `plan` asks for the rest at once. Raises GroupRefusalError.
    """
    named = frozenset(people)
    base = _writable(group, me, epoch)
    if not named:
        raise GroupRefusalError(RefusalReason.NOBODY)
    if me in named:
        raise GroupRefusalError(RefusalReason.SELF, [me])
    strangers = named - group.view[base].members
    if strangers:
        raise GroupRefusalError(RefusalReason.STRANGER, sorted(strangers))
    first = tuple(
        step for init, lacking in _repairs(group, me) for step in _additions(group, init, lacking - named)
    )
    steps = first + _exclusion(group, me, base, named)
    if begins_too_many(group, me, steps):
        raise GroupRefusalError(RefusalReason.EPOCHS)
    return steps


def join(group: Group, me: FeedId, tip: MessageId) -> tuple[Step, ...]:
    """Return all steps of joining a fork that is held to the epoch that *me* prefers (4.6): a person decided so.

    The new epoch is without the people excluded in either. To be written while the fork is `released`. Raises
    GroupRefusalError.
    """
    base = _writable(group, me, None)
    if tip not in {one.tip for one in group.late_forks}:
        raise GroupRefusalError(RefusalReason.NOT_HELD)
    with group.released(tip):
        out = group.view.barred(base, group.view.open_tips(me)) & group.view[base].members
        if me in out or tip not in group.view.open_tips(me):
            raise GroupRefusalError(RefusalReason.NAMED)
        steps = _exclusion(group, me, base, out)
    if begins_too_many(group, me, steps):
        raise GroupRefusalError(RefusalReason.EPOCHS)
    return steps


def add(group: Group, me: FeedId, people: Iterable[FeedId]) -> tuple[Step, ...]:
    """Return all steps of adding *people* to the epochs of *me* that matter, the earliest first, with the keys of all
    others, since an epoch can be read only by people who can read those before it (R29). Raises GroupRefusalError.

    Excluded people are added again by this.
    """
    named = frozenset(people)
    base = _writable(group, me, None)
    if not named:
        raise GroupRefusalError(RefusalReason.NOBODY)
    view = group.view
    there = named & view[base].members - view[base].excluded
    if there:
        raise GroupRefusalError(RefusalReason.MEMBER, sorted(there))
    steps: list[Step] = []
    needed = [init for init in _needed(group, me) if me not in view[init].excluded]
    for init in needed:
        people = named if init == base else named - view[init].members
        steps += _adds(group, init, people, view.predecessors(init) - set(needed))
    return tuple(steps)


def _writable(group: Group, me: FeedId, epoch: MessageId | None) -> MessageId:
    """Return the epoch that *me* changes: the one that they prefer (R2). Raises GroupRefusalError."""
    preference = group.view.preference(me)
    if preference.epoch is None:
        raise GroupRefusalError(RefusalReason.OUTSIDE)
    if preference.excluded or (
        epoch is not None and epoch in group.view.epochs and me in group.view[epoch].excluded
    ):
        raise GroupRefusalError(RefusalReason.EXCLUDED)
    if epoch not in {None, preference.epoch}:
        raise GroupRefusalError(RefusalReason.OTHER_EPOCH)
    return preference.epoch


def _exclusion(group: Group, me: FeedId, base: MessageId, people: People) -> tuple[Step, ...]:
    """Return the steps exclude, init, add (R3 to R9).

    The new epoch joins all forks, so it is also without people who were excluded in them, or were about to be. People
    who are excluded from the base already are not excluded again.
    """
    view = group.view
    resolution = view.preference(me).resolution
    people = people.union(
        NOBODY if resolution is None else resolution.exclude - {me}, *_begun(group, me, base).values()
    )
    named = (people & view[base].members) - _connected_exclusions(group, base)
    remaining = (view[base].members | _known_lacking(group, base, me) | {me}) - people - view[base].excluded
    steps: list[Step] = [ExcludeStep(base, tuple(sorted(named)))] if named else []
    steps += _told(group, me, base, people, remaining)
    steps.append(BeginEpochStep(view.open_tips(me)))
    before = _NO_EPOCHS.union(*(view.chain(tip) for tip in view.open_tips(me)))
    return (*steps, *_adds(group, None, remaining, before))


def _told(group: Group, me: FeedId, base: MessageId, people: People, remaining: People) -> list[Step]:
    """Return exclusions of *people*, and of those excluded in one of the forks to be joined, from the others that they
    are in.

    They can read neither the new epoch nor the fork in which they were excluded, so this is how they come to know.
    """
    view = group.view
    tips = view.open_tips(me)
    steps: list[Step] = []
    for tip in tips:
        epoch = view[tip]
        out = (view.barred(tip, tips) | people) & epoch.members - remaining - epoch.excluded - {me}
        if tip != base and out:
            steps.append(ExcludeStep(tip, tuple(sorted(out))))
    return steps


def _connected_exclusions(group: Group, base: MessageId) -> People:
    """Return the people excluded from *base* by messages that a new init follows."""
    view = group.view
    return view[base].excluded & NOBODY.union(
        *(one.people for one in view.exclusions.values() if one.epoch == base and one.id in group.tangle)
    )


def _additions(group: Group, epoch: MessageId, people: People) -> tuple[AddStep, ...]:
    """Return additions to an epoch, with the keys of epochs before it that one of the people lacks."""
    return _adds(group, epoch, people, group.view.predecessors(epoch))


def _adds(
    group: Group, epoch: MessageId | None, people: People, before: Collection[MessageId]
) -> tuple[AddStep, ...]:
    """Return as many additions as it takes, 15 people in each (R8a), to an epoch behind those *before*.

    The first one to a new epoch has the keys of those directly before it, so that everybody with the key of the last
    epoch can open all of them, one after the other. Other additions have keys only where such a link is missing.
    """
    view = group.view
    links = view.tips_among(before) if epoch is None and people else ()
    opened = group.opened_by(view[init].key for init in ((epoch,) if epoch is not None else links))
    out = {
        person: group.opened_by(group.keys_given(person))
        for person in people
        if any(view[init].key not in opened for init in before)
    }
    lacking = [
        init
        for init in view.epochs
        if init in links
        or (
            init in before
            and view[init].key not in opened
            and any(
                view[init].key not in keys and person != view[init].creator for person, keys in out.items()
            )
        )
    ]
    ordered: Sequence[FeedId] = sorted(people)
    size = limits.GROUP_ADD_MAX
    steps = [AddStep(epoch, tuple(ordered[at : at + size])) for at in range(0, len(ordered), size)]
    for number, at in enumerate(range(0, len(lacking), limits.GROUP_NAMED_MAX)):
        keys = tuple(lacking[at : at + limits.GROUP_NAMED_MAX])
        if number < len(steps):
            steps[number] = replace(steps[number], old_keys=keys)
        else:
            steps.append(AddStep(epoch, steps[0].people, keys))
    return tuple(steps)
