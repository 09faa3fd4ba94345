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
    standing_note,
)
from tinyssb_node.screens.languages import message, number, t, tn
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
    "epoch-zero": message("it is the only epoch"),
    "4.2": message("it comes after all other epochs that you are in"),
    "4.4": message("of forks with the same members it has the smallest key"),
    "4.5": message("of forks it has the fewest members"),
    "4.6": message("of forks that overlap it has the smallest key, until a member merges them"),
}
"""Why a member writes in an epoch, by section of the exclusion document."""
_RELATIONS: Final = {
    "same": message("have the same members: {winner} is preferred, and no message is needed for that"),
    "subset": message(
        "fork, and all members of the smaller epoch are in the other: they write in the smaller one"
    ),
    "overlap": message("overlap: a new epoch will merge them; {winner} is preferred until then"),
    "disjoint": message("have no members in common: they are two groups from now on"),
}
_PURPOSES: Final = {
    "finish": message("finish a task that this node began"),
    "repair": message("add missing members"),
    "complete": message("finish an exclusion that another member began"),
    "resolve": message("merge forks that overlap"),
    "guess": message(
        "add people who seem to be missing, if messages that the epoch's creator knew have not arrived by then"
    ),
}
_LATE: Final = {
    "days": message("It arrived here {late} after their exclusion."),
    "depth": message("Others wrote {messages} or more messages after their exclusion."),
    "again": message("What they wrote in spite of it was carried out once before."),
    "share": message("It would take out more than half of the members."),
    "outside": message("{by} began an epoch without being in it."),
}
"""Why a fork waits for a person, by reason."""
_EPOCHS_NAMED_MAX: Final = 4
"""Epochs named by their ids in a line, where words of time cannot say it."""
KEPT: Final = message(
    "Excluded people keep the messages and keys that they have. Any member can pass both on to others."
)


REJECTION: Final = message(
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


def _labelled(label: str, text: str) -> str:
    return f"{label + ':':<10} {text}"


def head(row: GroupShownRow, names: DisplayNames) -> Iterator[str]:
    """Describe a group and our user's standing in it."""
    if row.arriving is not None:
        yield from _arriving_head(row, row.arriving, names)
        return
    maker = t("unknown: its first message is not stored here")
    if row.creator is not None:
        maker = person(row.creator, names)
    waiting = row.waiting
    posts = tn(row.posts, "{n} post", "{n} posts")
    written = f"{posts}, {tn(row.messages, '{n} message in all', '{n} messages in all')}"
    if waiting:
        written += f"; {tn(waiting, '{n} more waits for a predecessor', '{n} more wait for a predecessor')}"
    yield called(row.name, row.group)
    yield _labelled(t("id"), row.group)
    yield _labelled(t("creator"), maker)
    yield _labelled(t("messages"), written)
    yield _labelled(t("you"), standing(row))
    yield _labelled(t("texts"), kept(row))
    if row.budget is not None:
        yield _labelled(t("by itself"), spent(row.budget))
    if row.invitation is not None:
        invited = invited_in_words(row.invitation, names)
        yield _labelled(
            t("invited"),
            t("{invitation}. Your node writes nothing for it until you accept.", invitation=invited),
        )
        yield _labelled(t("answer"), invitation_commands(row.group))
    if row.problem is not None:
        yield _labelled(t("problem"), one_line(row.problem))
    for review in row.reviews:
        yield from reviewed(review, row.group, names)


def _arriving_head(row: GroupShownRow, arriving: GroupArrivingRow, names: DisplayNames) -> Iterator[str]:
    """Describe a group whose history is not here."""
    yield called(row.name, row.group)
    yield _labelled(t("id"), row.group)
    readable = tn(row.posts, "{n} of the newest ones can be read", "{n} of the newest ones can be read")
    yield _labelled(t("messages"), readable)
    known = t("as far as known: {people}", people=people(arriving.people, names))
    yield _labelled(t("members"), known)
    yield _labelled(t("you"), standing(row))
    yield _labelled(t("history"), f"{arriving_in_words(arriving, names)}.")
    if not arriving.requested:
        command = history_command(row.group)
        yield f"{'':<11}{t('To request them now: {command}', command=command)}"
    if row.problem is not None:
        yield _labelled(t("problem"), one_line(row.problem))


def review_title(row: GroupReviewRow, names: DisplayNames) -> str:
    """Return what the people in a held fork did, in a line."""
    by = people(row.by, names)
    if row.excludes:
        return t("{by} excluded {people}", by=by, people=people(row.excludes, names))
    return t("{by} began an epoch", by=by)


def review_lines(row: GroupReviewRow, names: DisplayNames) -> Iterator[str]:
    """Format a fork that waits for the user: what happened, and why nothing is done."""
    by, excluders = people(row.by, names), people(row.excluded_by, names)
    state = t("rejected") if row.rejected else t("waits for your decision")
    title = review_title(row, names)
    yield t(
        "fork {id} ({state}): {event}, although {people} had excluded them before.",
        id=short(row.fork),
        state=state,
        event=title,
        people=excluders,
    )
    for reason in row.reasons:
        late = "" if row.late_us is None else duration(row.late_us)
        yield "  " + t(_LATE.get(reason, reason), by=by, late=late, messages=row.messages)
    yield "  " + t("They may not have heard of it, or pretend so. Nothing was done because of it.")
    out = people(row.out, names) if row.out else t("anybody excluded in either")
    yield "  " + t(
        "If you accept, a new epoch begins without {people}, and all members follow it.", people=out
    )
    yield f"  {t(REJECTION)}"


def reviewed(row: GroupReviewRow, group: str, names: DisplayNames) -> Iterator[str]:
    """Format a fork that waits for the user, with the commands that decide."""
    yield from review_lines(row, names)
    yield f"  {t('Accept')}: tinyssb group review {short(group)} --accept {short(row.fork)}"
    if not row.rejected:
        yield f"  {t('Reject')}: tinyssb group review {short(group)} --reject {short(row.fork)}"


def spent(budget: GroupBudgetRow) -> str:
    """Return what the node wrote for a group without being asked, of what it may."""
    used, most = number(budget.used), number(budget.of)
    return t("your node wrote {used} of {most} packets that it may in 24 hours", used=used, most=most)


def kept(row: GroupShownRow) -> str:
    """Return how long texts can be read, by members and by a thief of this device."""
    erased = row.erased
    if erased is None:
        return t("are kept: a thief of this device could read all of them")
    after = tn(erased.after_days, "are erased after {n} day", "are erased after {n} days")
    back = t("a thief of this device could read none")
    if erased.open_days == 1:
        back = t("a thief of this device could read those of today")
    elif erased.open_days:
        back = tn(
            erased.open_days,
            "a thief of this device could read those of {n} day",
            "a thief of this device could read those of {n} days",
        )
    lacking = f"; {t('newer ones wait for a key')}" if erased.lacking else ""
    return f"{after}: {back}{lacking}"


def standing(row: GroupShownRow) -> str:
    """Return where the user writes, and why."""
    note = standing_note(row.state)
    if note or row.epoch is None:
        return t("{reason}: you cannot write", reason=note or t(NOTES["outside"]))
    reasons = "; ".join(t(_REASONS.get(rule, rule)) for rule in row.rules)
    for_now = f" ({t('for now')})" if row.interim else ""
    return t("write in {epoch}: {reasons}", epoch=short(row.epoch), reasons=reasons) + for_now


def fork(row: GroupForkRow) -> str:
    """Describe two epochs that nothing joins yet."""
    one, other = map(short, row.epochs)
    rule = t(_RELATIONS.get(row.relation, row.relation), winner=short(row.winner))
    return t("{one} and {other} {relation}.", one=one, other=other, relation=rule)


def next_tasks(tasks: Sequence[GroupTaskRow], names: DisplayNames) -> Iterator[str]:
    """Describe the tasks that the node is going to do by itself."""
    if not tasks:
        yield t("Your node has no pending tasks in this group.")
        return
    yield t("Your node will do this automatically:")
    for task in tasks:
        due_us = task.due_in_us
        when = t("now")
        if due_us:
            when = t("in {time}, unless another member does it first", time=duration(due_us))
        yield f"  {when}: {t(_PURPOSES.get(task.purpose, task.purpose))}"
        for step in task.steps:
            yield f"    {_step(step.step, step.epoch, step.people, names)}"


def _step(step: str, epoch: str | None, feeds: Sequence[str], names: DisplayNames) -> str:
    where = t("the new epoch") if epoch is None else short(epoch)
    match step:
        case "begin":
            return t("begin a new epoch")
        case "add":
            return t("add to {epoch}: {people}", epoch=where, people=people(feeds, names))
        case "exclude":
            return t("exclude from {epoch}: {people}", epoch=where, people=people(feeds, names))
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
            reads=t("everything") if len(having) == len(epochs) else _periods(having, followers),
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
    access: Sequence[GroupReadAccess], names: DisplayNames, closing: str | None = None
) -> Iterator[str]:
    """Format who can read what, one person a line; *closing* comes last."""
    now = [one for one in access if one.current]
    former = [one for one in access if not one.current]
    yield t("Who can read what (times: when the new key arrived here):")
    yield from (f"  {access_words(one, names)}" for one in now)
    if former:
        yield t("Who cannot read what is written now:")
        yield from (f"  {access_words(one, names)}" for one in former)
    yield t(KEPT) if closing is None else closing


def limits_of_access(row: GroupShownRow) -> str:
    """Return what no list of members can say: what is passed on, and what is erased."""
    if row.erased is None:
        return t(KEPT)
    opens = tn(
        row.erased.after_days,
        "Of texts, each device opens those of the last {n} day at most, and none from before it got a key.",
        "Of texts, each device opens those of the last {n} days at most, and none from before it got a key.",
    )
    return f"{t(KEPT)} {opens}"


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
        begin = t("from the beginning")
        if first.previous:
            begin = t("from {time}", time=_moment(first.committed_us))
        ends = [one.committed_us for one in followers.get(last.epoch, ())]
        known = [us for us in ends if us is not None]
        end = t("until {time}", time=_moment(min(known, default=None))) if ends else t("until now")
        spans.append(f"{begin} {end}")
    return f", {t('and')} ".join(spans)


def _named(having: Sequence[GroupEpochRow]) -> str:
    ids = ", ".join(short(one.epoch) for one in having[:_EPOCHS_NAMED_MAX])
    more = len(having) - _EPOCHS_NAMED_MAX
    if more > 0:
        ids = tn(more, "{shown} and {n} more", "{shown} and {n} more", shown=ids)
    return t("what was written in the epochs {ids}", ids=ids)


def _moment(came_us: int | None) -> str:
    return t("an unknown time") if came_us is None else " ".join(local_minute(came_us))


def _reason(feed: FeedId, having: Sequence[GroupEpochRow], names: DisplayNames) -> str:
    """Return who added a person first, and who excluded them."""
    rows = [one for epoch in having for one in epoch.members if one.feed == feed.hex()]
    adders = next((by for one in rows if (by := [who for who in one.added_by if who != one.feed])), [])
    excluders = list(dict.fromkeys(who for one in rows for who in one.excluded_by))
    words = []
    if adders:
        words.append(t("added by {people}", people=people(adders, names)))
    if excluders:
        words.append(t("excluded by {people}", people=people(excluders, names)))
    return ", ".join(words)
