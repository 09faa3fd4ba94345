"""Changes of private groups, for all screens: what one costs and does not protect, and how it is made."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from tinyssb_node.ids import FeedId
from tinyssb_node.screens.estimate import costs_in_words, estimate, packets_in_words
from tinyssb_node.screens.group_conversations import SHORT_GROUP, called, people_in_words
from tinyssb_node.screens.group_details import review_lines, review_title, short
from tinyssb_node.screens.languages import message, number, t, tn

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.control.group_rows import GroupCostRow, GroupReviewRow, GroupWrittenRow
    from tinyssb_node.screens.people import DisplayNames

EXCLUSION_LIMITS = (
    message(
        "It creates a new key, which all other members get. Excluded people cannot read what is written under it."
    ),
    message("They keep all earlier messages and the keys of these. This cannot be undone."),
    message(
        "Members who have not received the exclusion yet still write under the old key, which they can read."
    ),
)
"""Effects of an exclusion, and its limits."""
ADDED = message("They can read earlier messages as soon as these reach them.")
EXCLUDED = message(
    "Members who have not received this yet still write under the old key, which excluded people can read."
)
LEFT = message(
    "You can still read its messages stored here; your node requests no more of them. Other members see "
    "that you left."
)
RETURNED = message("Messages that you missed are requested.")
ACCEPTED = message("All members follow when they receive this.")
REJECTED = message("Nothing was written; other members decide for themselves.")
RENAMED = message("All members see this name, and each of them can change it.")
MUTED_MEANS = message(
    "Its new messages are shown in it, and neither marked nor counted. Nobody else sees that."
)
HISTORY_MEANS = message(
    "On the air they may take hours, and airtime of the nodes that send them. Then you can write to the group, "
    "and its messages are checked."
)
FOR_GOOD = message("This cannot be changed later.")
JOINED = message(
    "From now on your node does its part in it, which other members can make it do: it writes messages."
)
DECLINED = message("Nothing of it is requested or written, also if you are added again. Nobody is told.")


class GroupAction(StrEnum):
    """A change of a group."""

    CREATE = "create"
    ADD = "add"
    EXCLUDE = "exclude"
    LEAVE = "leave"
    RETURN = "return"
    ACCEPT_FORK = "accept_fork"
    REJECT_FORK = "reject_fork"
    ACCEPT = "accept"
    DECLINE = "decline"
    RENAME = "rename"
    MUTE = "mute"
    UNMUTE = "unmute"
    HISTORY = "history"


DECISIONS = {GroupAction.ACCEPT_FORK, GroupAction.REJECT_FORK}
"""Changes that decide on a fork that waits for the user (docs/decisions/0071-late-forks.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A change that a user requests."""

    action: GroupAction
    group: str = ""
    """Its id; empty for a new one."""
    name: str = ""
    """Name of a new group, or the new name of one."""
    people: tuple[FeedId, ...] = ()
    """People who are added or excluded."""
    text: str = ""
    """A greeting for people who are added."""
    erase_days: int | None = None
    """After how many days texts of a new group are erased; None: never."""
    fork: str = ""
    """Id of the fork that is decided on; empty for other changes."""

    @property
    def feeds(self) -> list[str]:
        """The people, as the daemon takes them."""
        return [feed.hex() for feed in self.people]


_TITLES = {
    GroupAction.CREATE: message("Create the group {name} with {who}:"),
    GroupAction.ADD: message("Adding {who} to the group {group}:"),
    GroupAction.LEAVE: message("Leaving the group {group}:"),
    GroupAction.RETURN: message("Taking part in the group {group} again."),
    GroupAction.ACCEPT: message("Taking part in the group {group}."),
    GroupAction.DECLINE: message("Declining the group {group}."),
    GroupAction.RENAME: message("Naming the group {name}:"),
    GroupAction.MUTE: message("Muting the group {group}."),
    GroupAction.UNMUTE: message("Unmuting the group {group}."),
    GroupAction.HISTORY: message("Requesting the older messages of the group {group} now."),
}
"""First line of a preview, by action. Exclusions and decisions on forks have lines of their own."""
_EFFECTS = {
    GroupAction.ADD: ADDED,
    GroupAction.LEAVE: LEFT,
    GroupAction.RETURN: RETURNED,
    GroupAction.ACCEPT_FORK: ACCEPTED,
    GroupAction.ACCEPT: JOINED,
    GroupAction.DECLINE: DECLINED,
    GroupAction.RENAME: RENAMED,
    GroupAction.MUTE: MUTED_MEANS,
    GroupAction.HISTORY: HISTORY_MEANS,
}
_AFTER = {GroupAction.EXCLUDE: EXCLUDED, GroupAction.REJECT_FORK: REJECTED}
"""Sentence behind what was done, where it differs from that before it."""
_DONE = {
    GroupAction.CREATE: message("Created the group {name} in {packets}."),
    GroupAction.ADD: message("Added {who} in {packets}."),
    GroupAction.EXCLUDE: message("Excluded {who} in {packets}."),
    GroupAction.LEAVE: message("Left the group {group}."),
    GroupAction.RETURN: message("You are in the group {group} again."),
    GroupAction.ACCEPT_FORK: message("Accepted the fork in {packets}."),
    GroupAction.REJECT_FORK: message("Rejected the fork."),
    GroupAction.ACCEPT: message("You take part in the group {group}."),
    GroupAction.DECLINE: message("Declined the group {group}."),
    GroupAction.RENAME: message("Named the group {name} in {packets}."),
    GroupAction.MUTE: message("Muted the group {group}."),
    GroupAction.UNMUTE: message("The group {group} is no longer muted."),
    GroupAction.HISTORY: message("Requested the older messages of the group {group}."),
}


def preview(client: DaemonClient, change: GroupChange, names: DisplayNames) -> list[str]:
    """Return lines that state the cost of *change*, and what it does not protect. Nothing is written. Raises as the
    client does."""
    cost = _cost_of(client, change)
    if change.action is GroupAction.EXCLUDE and cost is not None:
        return exclusion_preview(client, cost, change.people, names)
    if change.action in DECISIONS:
        lines = list(_fork_lines(client, change, names))
    else:
        lines = [t(_TITLES[change.action], **_words(change, change.group, names))]
    if cost is not None:
        lines += _indented(client, cost)
    creating = change.action is GroupAction.CREATE
    effect = kept_in_words(change.erase_days) if creating else _EFFECTS.get(change.action)
    if effect is None:
        return lines
    return [*lines, effect if creating else t(effect)]


def _cost_of(client: DaemonClient, change: GroupChange) -> GroupCostRow | None:
    """Return the cost of a change; None: it writes nothing, or one short message. Raises as the client does."""
    match change.action:
        case GroupAction.CREATE:
            return client.group_create_cost(change.name or None, change.feeds, change.erase_days)
        case GroupAction.ADD:
            return client.group_add_cost(change.group, change.feeds, change.text or None)
        case GroupAction.EXCLUDE:
            return client.group_exclude_cost(change.group, change.feeds)
        case GroupAction.ACCEPT_FORK:
            return client.group_accept_cost(change.group, change.fork)
        case GroupAction.RENAME:
            return client.group_rename_cost(change.group, change.name)
        case _:
            return None


def _words(change: GroupChange, group: str, names: DisplayNames) -> dict[str, str]:
    """Return the parts of a sentence about a change, safe to show."""
    return {
        "name": called(change.name, group).strip(),
        "who": people_in_words(change.people, names),
        "group": group[:SHORT_GROUP],
    }


def kept_in_words(erase_days: int | None) -> str:
    """Return what erasing texts protects, or that they are kept. It cannot be changed later."""
    if erase_days is None:
        kept = t("Texts are kept: a thief of a member's device could read all of them.")
    else:
        kept = tn(
            erase_days,
            "Texts are erased after {n} day: older ones can be read by no thief of a device, and not by you.",
            "Texts are erased after {n} days: older ones can be read by no thief of a device, and not by you.",
        )
    return f"{kept} {t(FOR_GOOD)}"


def _fork_lines(client: DaemonClient, change: GroupChange, names: DisplayNames) -> Iterator[str]:
    for row in client.group_review(change.group):
        if row.fork == change.fork:
            yield from review_lines(row, names)


def decisions(
    group: str, rows: Sequence[GroupReviewRow], names: DisplayNames
) -> list[tuple[GroupChange, str]]:
    """Return the decisions that the user can take on held forks of a group, each in a line. A rejected fork can still
    be accepted."""
    found = []
    for row in rows:
        title = t("{event} (fork {id})", event=review_title(row, names), id=short(row.fork))
        rejected = f", {t('rejected')}" if row.rejected else ""
        accept = GroupChange(action=GroupAction.ACCEPT_FORK, group=group, fork=row.fork)
        found.append((accept, f"{t('Accept')}: {title}{rejected}"))
        if not row.rejected:
            found.append((replace(accept, action=GroupAction.REJECT_FORK), f"{t('Reject')}: {title}"))
    return found


def exclusion_preview(
    client: DaemonClient, cost: GroupCostRow, people: Sequence[FeedId], names: DisplayNames
) -> list[str]:
    """Return the cost and the limits of an exclusion, in lines. Raises as the client does."""
    return [
        t(
            "Excluding {who} from the group {group}:",
            who=people_in_words(people, names),
            group=cost.group[:SHORT_GROUP],
        ),
        *_indented(client, cost),
        *map(t, EXCLUSION_LIMITS),
    ]


def _indented(client: DaemonClient, cost: GroupCostRow) -> list[str]:
    return [f"  {line}" for line in cost_lines(client, cost)]


def cost_lines(client: DaemonClient, cost: GroupCostRow) -> list[str]:
    """Return what an operation costs: messages, packets, and airtime on each radio face. Raises as the client does."""
    costs = estimate(cost.packets, list(client.faces()), list(client.airtime()))
    messages = f"{tn(cost.messages, '{n} message', '{n} messages')} ({', '.join(cost.steps)})"
    size = number(cost.content_bytes)
    lines = [
        f"{messages}, {tn(cost.packets, '{size} bytes in {n} packet', '{size} bytes in {n} packets', size=size)}",
        *costs_in_words(cost.packets, costs),
    ]
    if costs:
        lines.append(t("This is for sending it once; packets that a peer misses are sent again."))
    return lines


def perform(client: DaemonClient, change: GroupChange) -> GroupWrittenRow:
    """Make *change*. Raises as the client does."""
    match change.action:
        case GroupAction.CREATE:
            return client.group_create(change.name or None, change.feeds, change.erase_days)
        case GroupAction.ADD:
            return client.group_add(change.group, change.feeds, change.text or None)
        case GroupAction.EXCLUDE:
            return client.group_exclude(change.group, change.feeds)
        case GroupAction.LEAVE:
            return client.group_leave(change.group)
        case GroupAction.RETURN:
            return client.group_return(change.group)
        case GroupAction.ACCEPT_FORK | GroupAction.REJECT_FORK:
            accept = change.action is GroupAction.ACCEPT_FORK
            return client.group_decide(change.group, change.fork, accept=accept)
        case GroupAction.ACCEPT | GroupAction.DECLINE:
            return client.group_consent(change.group, accept=change.action is GroupAction.ACCEPT)
        case GroupAction.RENAME:
            return client.group_rename(change.group, change.name)
        case GroupAction.MUTE | GroupAction.UNMUTE | GroupAction.HISTORY:
            return _perform_here(client, change)


def _perform_here(client: DaemonClient, change: GroupChange) -> GroupWrittenRow:
    """Make a change that no other member sees. Raises as the client does."""
    if change.action is GroupAction.HISTORY:
        return client.group_history(change.group)
    return client.group_mute(change.group, muted=change.action is GroupAction.MUTE)


def done_in_words(change: GroupChange, row: GroupWrittenRow, names: DisplayNames) -> str:
    """Return what was done, in one line."""
    words = {**_words(change, row.group, names), "packets": packets_in_words(row.packets)}
    effect = _AFTER.get(change.action, _EFFECTS.get(change.action))
    done = t(_DONE[change.action], **words)
    return done if effect is None else f"{done} {t(effect)}"
