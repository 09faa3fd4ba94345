"""A private group in plain words: its state, who can read what since when, what the node will do. Pure."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from tinyssb_node.ids import FeedId
from tinyssb_node.screens.chatlines import SHORT_MESSAGE, local_minute
from tinyssb_node.screens.group_conversations import (
    NOTES,
    arriving_in_words,
    called,
    history_command,
    invitation_commands,
    invited_in_words,
    people_in_words,
)
from tinyssb_node.screens.render import duration
from tinyssb_node.screens.safetext import one_line

if TYPE_CHECKING:
    from tinyssb_node.control.group_rows import (
        GroupArrivingRow,
        GroupBudgetRow,
        GroupEpochRow,
        GroupForkRow,
        GroupReviewRow,
        GroupShownRow,
        GroupTaskRow,
    )
    from tinyssb_node.screens.people import DisplayNames

_REASONS: Final = {
    "epoch-zero": "it is the only epoch",
    "4.2": "it comes after all other epochs that you are in",
    "4.4": "of forks with the same members it has the smallest key",
    "4.5": "of forks it has the fewest members",
    "4.6": "of forks that overlap it has the smallest key, until a member merges them",
}
"""Why a member writes in an epoch, by section of the exclusion document."""
_RELATIONS: Final = {
    "same": "have the same members: {winner} is preferred, and no message is needed for that",
    "subset": "fork, and all members of the smaller epoch are in the other: they write in the smaller one",
    "overlap": "overlap: a new epoch will merge them; {winner} is preferred until then",
    "disjoint": "have no members in common: they are two groups from now on",
}
_PURPOSES: Final = {
    "finish": "finish a task that this node began",
    "repair": "add missing members",
    "complete": "finish an exclusion that another member began",
    "resolve": "merge forks that overlap",
    "guess": "add people who seem to be missing, if messages that the epoch's creator knew have not arrived by then",
}
_LATE: Final = {
    "days": "It arrived here {late} after their exclusion.",
    "depth": "Others wrote {messages} or more messages after their exclusion.",
    "again": "What they wrote in spite of it was carried out once before.",
    "share": "It would take out more than half of the members.",
    "outside": "{by} began an epoch without being in it.",
}
"""Why a fork waits for a person, by reason."""
_EPOCHS_NAMED_MAX: Final = 4
"""Epochs named by their ids in a line, where words of time cannot say it."""
KEPT: Final = (
    "Excluded people keep the messages and keys that they have. Any member can pass both on to others."
)


REJECTION: Final = (
    "If you reject it, your node ignores it, and further ones by the same people. "
    "Other members decide for themselves."
)


def short(id_: str) -> str:
    """Return the beginning of an id, as it is shown."""
    return id_[:SHORT_MESSAGE]


def person(feed: str, names: DisplayNames) -> str:
    """Return a person's name, safe to show."""
    return names.shown(FeedId.from_hex(feed))


def people(feeds: Sequence[str], names: DisplayNames) -> str:
    """Return the names of some people in a line, safe to show."""
    return people_in_words([FeedId.from_hex(feed) for feed in feeds], names)


def details(row: GroupShownRow, epochs: Sequence[GroupEpochRow], names: DisplayNames) -> Iterator[str]:
    """Describe a group as a whole, without the graph of its epochs."""
    yield from head(row, names)
    if row.arriving is not None:
        return
    yield ""
    yield from access_lines(access_of(row, epochs, names), names, limits_of_access(row))
    yield from (fork(one) for one in row.forks)
    yield ""
    yield from next_tasks(row.tasks, names)


# --- Its state


def head(row: GroupShownRow, names: DisplayNames) -> Iterator[str]:
    """Describe a group and our user's standing in it."""
    if row.arriving is not None:
        yield from _arriving_head(row, row.arriving, names)
        return
    maker = (
        "unknown: its first message is not stored here" if row.creator is None else person(row.creator, names)
    )
    waiting = row.waiting
    waits = f"; {waiting:,} more wait for a predecessor" if waiting else ""
    yield called(row.name, row.group)
    yield f"id:        {row.group}"
    yield f"creator:   {maker}"
    yield f"messages:  {row.posts:,} posts, {row.messages:,} messages in all{waits}"
    yield f"you:       {standing(row)}"
    yield f"texts:     {kept(row)}"
    if row.budget is not None:
        yield f"by itself: {spent(row.budget)}"
    if row.invitation is not None:
        yield f"invited:   {invited_in_words(row.invitation, names)}. Your node writes nothing for it until you accept."
        yield f"answer:    {invitation_commands(row.group)}"
    if row.problem is not None:
        yield f"problem:   {one_line(row.problem)}"
    for review in row.reviews:
        yield from reviewed(review, row.group, names)


def _arriving_head(row: GroupShownRow, arriving: GroupArrivingRow, names: DisplayNames) -> Iterator[str]:
    """Describe a group whose history is not here."""
    yield called(row.name, row.group)
    yield f"id:        {row.group}"
    yield f"messages:  {row.posts:,} of the newest ones can be read"
    yield f"members:   as far as known: {people(arriving.people, names)}"
    yield f"you:       {standing(row)}"
    yield f"history:   {arriving_in_words(arriving, names)}."
    if not arriving.requested:
        yield f"           To request them now: {history_command(row.group)}"
    if row.problem is not None:
        yield f"problem:   {one_line(row.problem)}"


def review_title(row: GroupReviewRow, names: DisplayNames) -> str:
    """Return what the people in a held fork did, in a line."""
    did = f"excluded {people(row.excludes, names)}" if row.excludes else "began an epoch"
    return f"{people(row.by, names)} {did}"


def review_lines(row: GroupReviewRow, names: DisplayNames) -> Iterator[str]:
    """Format a fork that waits for the user: what happened, and why nothing is done."""
    by, excluders = people(row.by, names), people(row.excluded_by, names)
    state = "rejected" if row.rejected else "waits for your decision"
    title = review_title(row, names)
    yield f"fork {short(row.fork)} ({state}): {title}, although {excluders} had excluded them before."
    for reason in row.reasons:
        late = "" if row.late_us is None else duration(row.late_us)
        yield "  " + _LATE.get(reason, reason).format(by=by, late=late, messages=row.messages)
    yield "  They may not have heard of it, or pretend so. Nothing was done because of it."
    out = people(row.out, names) if row.out else "anybody excluded in either"
    yield f"  If you accept, a new epoch begins without {out}, and all members follow it."
    yield f"  {REJECTION}"


def reviewed(row: GroupReviewRow, group: str, names: DisplayNames) -> Iterator[str]:
    """Format a fork that waits for the user, with the commands that decide."""
    yield from review_lines(row, names)
    yield f"  Accept: tinyssb group review {short(group)} --accept {short(row.fork)}"
    if not row.rejected:
        yield f"  Reject: tinyssb group review {short(group)} --reject {short(row.fork)}"


def spent(budget: GroupBudgetRow) -> str:
    """Return what the node wrote for a group without being asked, of what it may."""
    return f"your node wrote {budget.used:,} of {budget.of:,} packets that it may in 24 hours"


def kept(row: GroupShownRow) -> str:
    """Return how long texts can be read, by members and by a thief of this device."""
    erased = row.erased
    if erased is None:
        return "are kept: a thief of this device could read all of them"
    days = "1 day" if erased.after_days == 1 else f"{erased.after_days} days"
    back = "none"
    if erased.open_days:
        back = f"those of {erased.open_days} days" if erased.open_days > 1 else "those of today"
    lacking = "; newer ones wait for a key" if erased.lacking else ""
    return f"are erased after {days}: a thief of this device could read {back}{lacking}"


def standing(row: GroupShownRow) -> str:
    """Return where the user writes, and why."""
    note = NOTES.get(row.state, row.state)
    if note or row.epoch is None:
        return f"{note or NOTES['outside']}: you cannot write"
    reasons = "; ".join(_REASONS.get(rule, rule) for rule in row.rules)
    return f"write in {short(row.epoch)}: {reasons}" + (" (for now)" if row.interim else "")


def fork(row: GroupForkRow) -> str:
    """Describe two epochs that nothing joins yet."""
    one, other = map(short, row.epochs)
    rule = _RELATIONS.get(row.relation, row.relation).format(winner=short(row.winner))
    return f"{one} and {other} {rule}."


def next_tasks(tasks: Sequence[GroupTaskRow], names: DisplayNames) -> Iterator[str]:
    """Describe the tasks that the node is going to do by itself."""
    if not tasks:
        yield "Your node has no pending tasks in this group."
        return
    yield "Your node will do this automatically:"
    for task in tasks:
        due_us = task.due_in_us
        when = "now" if not due_us else f"in {duration(due_us)}, unless another member does it first"
        yield f"  {when}: {_PURPOSES.get(task.purpose, task.purpose)}"
        for step in task.steps:
            yield f"    {_step(step.step, step.epoch, step.people, names)}"


def _step(step: str, epoch: str | None, feeds: Sequence[str], names: DisplayNames) -> str:
    where = "the new epoch" if epoch is None else short(epoch)
    match step:
        case "begin":
            return "begin a new epoch"
        case "add":
            return f"add to {where}: {people(feeds, names)}"
        case "exclude":
            return f"exclude from {where}: {people(feeds, names)}"
    return step


# --- Who can read what since when


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupReadAccess:
    """The part of a group's messages that one person has the keys of."""

    feed: FeedId
    current: bool
    """They can read what is written now."""
    reads: str
    """The part, in words."""
    reason: str
    """The people who added and excluded them, in words; may be empty."""


def read_access(
    epochs: Sequence[GroupEpochRow], writing: str | None, names: DisplayNames
) -> list[GroupReadAccess]:
    """Return for each person who ever had a key which messages it opens: first the people who read what our user writes
    now (in the epoch *writing*), ourselves on top."""
    held: dict[FeedId, list[GroupEpochRow]] = {}
    readers: dict[str, set[str]] = {}
    for epoch in reversed(epochs):
        # The creator has the key, even if they never added themselves. Readers of an epoch open all epochs before it.
        inside = {one.feed for one in epoch.members} | {epoch.creator}
        readers.setdefault(epoch.epoch, set()).update(inside)
        for previous in epoch.previous:
            readers.setdefault(previous, set()).update(readers[epoch.epoch])
    for epoch in epochs:
        for feed in readers[epoch.epoch]:
            held.setdefault(FeedId.from_hex(feed), []).append(epoch)
    followers = _followers(epochs)
    found = [
        GroupReadAccess(
            feed=feed,
            current=_reads_now(feed, having, writing, followers),
            reads="everything" if len(having) == len(epochs) else _periods(having, followers),
            reason=_reason(feed, having, names),
        )
        for feed, having in held.items()
    ]
    return sorted(found, key=lambda one: (not one.current, not names.is_own(one.feed), one.feed))


def access_of(
    row: GroupShownRow, epochs: Sequence[GroupEpochRow], names: DisplayNames
) -> list[GroupReadAccess]:
    """Return the same, as `group_show` answers."""
    return read_access(epochs, row.epoch if row.state == "member" else None, names)


def access_lines(
    access: Sequence[GroupReadAccess], names: DisplayNames, closing: str = KEPT
) -> Iterator[str]:
    """Format who can read what, one person a line; *closing* comes last."""
    now = [one for one in access if one.current]
    former = [one for one in access if not one.current]
    yield "Who can read what (times: when the new key arrived here):"
    yield from (f"  {access_words(one, names)}" for one in now)
    if former:
        yield "Who cannot read what is written now:"
        yield from (f"  {access_words(one, names)}" for one in former)
    yield closing


def limits_of_access(row: GroupShownRow) -> str:
    """Return what no list of members can say: what is passed on, and what is erased."""
    if row.erased is None:
        return KEPT
    days = row.erased.after_days
    opens = f"Of texts, each device opens those of the last {days} days at most"
    return f"{KEPT} {opens}, and none from before it got a key."


def access_words(one: GroupReadAccess, names: DisplayNames) -> str:
    """Format what one person can read."""
    return f"{names.shown(one.feed)}: {one.reads}" + (f"; {one.reason}" if one.reason else "")


def _followers(epochs: Iterable[GroupEpochRow]) -> Mapping[str, list[GroupEpochRow]]:
    followers: dict[str, list[GroupEpochRow]] = {}
    for epoch in epochs:
        for previous in epoch.previous:
            followers.setdefault(previous, []).append(epoch)
    return followers


def _reads_now(
    feed: FeedId,
    having: Iterable[GroupEpochRow],
    writing: str | None,
    followers: Mapping[str, Collection[GroupEpochRow]],
) -> bool:
    """Return whether a person has the key of the epoch *writing*; if that is unknown, of any latest one."""
    latest = [one for one in having if (one.epoch == writing if writing else one.epoch not in followers)]
    excluded = any(who.feed == feed.hex() and who.excluded_by for one in latest for who in one.members)
    return bool(latest) and not excluded


def _periods(having: Sequence[GroupEpochRow], followers: Mapping[str, list[GroupEpochRow]]) -> str:
    """Return when what someone can read was written: their epochs as spans of time, if forks allow that."""
    own = {one.epoch for one in having}
    spans = []
    for first in having:
        if own & set(first.previous):
            continue
        last = first
        while mine := [one for one in followers.get(last.epoch, ()) if one.epoch in own]:
            if len(mine) > 1 or len(mine[0].previous) > 1:
                return _named(having)
            last = mine[0]
        begin = "from the beginning" if not first.previous else f"from {_moment(first.committed_us)}"
        ends = [one.committed_us for one in followers.get(last.epoch, ())]
        known = [us for us in ends if us is not None]
        spans.append(begin + (f" until {_moment(min(known, default=None))}" if ends else " until now"))
    return ", and ".join(spans)


def _named(having: Sequence[GroupEpochRow]) -> str:
    ids = ", ".join(short(one.epoch) for one in having[:_EPOCHS_NAMED_MAX])
    more = len(having) - _EPOCHS_NAMED_MAX
    return f"what was written in the epochs {ids}" + (f" and {more} more" if more > 0 else "")


def _moment(came_us: int | None) -> str:
    return "an unknown time" if came_us is None else " ".join(local_minute(came_us))


def _reason(feed: FeedId, having: Sequence[GroupEpochRow], names: DisplayNames) -> str:
    """Return who added a person first, and who excluded them."""
    rows = [one for epoch in having for one in epoch.members if one.feed == feed.hex()]
    adders = next((by for one in rows if (by := [who for who in one.added_by if who != one.feed])), [])
    excluders = list(dict.fromkeys(who for one in rows for who in one.excluded_by))
    words = [("added by", adders), ("excluded by", excluders)]
    return ", ".join(f"{word} {people(by, names)}" for word, by in words if by)
