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

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.control.group_rows import GroupCostRow, GroupReviewRow, GroupWrittenRow
    from tinyssb_node.screens.people import DisplayNames

EXCLUSION_LIMITS = (
    "It creates a new key, which all other members get. Excluded people cannot read what is written under it.",
    "They keep all earlier messages and the keys of these. This cannot be undone.",
    "Members who have not received the exclusion yet still write under the old key, which they can read.",
)
"""Effects of an exclusion, and its limits."""
ADDED = "They can read earlier messages as soon as these reach them."
EXCLUDED = (
    "Members who have not received this yet still write under the old key, which excluded people can read."
)
LEFT = (
    "You can still read its messages stored here; your node requests no more of them. Other members see "
    "that you left."
)
RETURNED = "Messages that you missed are requested."
ACCEPTED = "All members follow when they receive this."
REJECTED = "Nothing was written; other members decide for themselves."
RENAMED = "All members see this name, and each of them can change it."
MUTED_MEANS = "Its new messages are shown in it, and neither marked nor counted. Nobody else sees that."
HISTORY_MEANS = (
    "On the air they may take hours, and airtime of the nodes that send them. Then you can write to the group, "
    "and its messages are checked."
)
FOR_GOOD = "This cannot be changed later."
JOINED = "From now on your node does its part in it, which other members can make it do: it writes messages."
DECLINED = "Nothing of it is requested or written, also if you are added again. Nobody is told."


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
    GroupAction.CREATE: "Create the group {name} with {who}:",
    GroupAction.ADD: "Adding {who} to the group {group}:",
    GroupAction.LEAVE: "Leaving the group {group}:",
    GroupAction.RETURN: "Taking part in the group {group} again.",
    GroupAction.ACCEPT: "Taking part in the group {group}.",
    GroupAction.DECLINE: "Declining the group {group}.",
    GroupAction.RENAME: "Naming the group {name}:",
    GroupAction.MUTE: "Muting the group {group}.",
    GroupAction.UNMUTE: "Unmuting the group {group}.",
    GroupAction.HISTORY: "Requesting the older messages of the group {group} now.",
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
_DONE = {
    GroupAction.CREATE: "Created the group {name} in {packets}.",
    GroupAction.ADD: "Added {who} in {packets}.",
    GroupAction.EXCLUDE: f"Excluded {{who}} in {{packets}}. {EXCLUDED}",
    GroupAction.LEAVE: "Left the group {group}.",
    GroupAction.RETURN: "You are in the group {group} again.",
    GroupAction.ACCEPT_FORK: "Accepted the fork in {packets}.",
    GroupAction.REJECT_FORK: f"Rejected the fork. {REJECTED}",
    GroupAction.ACCEPT: "You take part in the group {group}.",
    GroupAction.DECLINE: "Declined the group {group}.",
    GroupAction.RENAME: "Named the group {name} in {packets}.",
    GroupAction.MUTE: "Muted the group {group}.",
    GroupAction.UNMUTE: "The group {group} is no longer muted.",
    GroupAction.HISTORY: "Requested the older messages of the group {group}.",
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
        lines = [_TITLES[change.action].format(**_words(change, change.group, names))]
    if cost is not None:
        lines += _indented(client, cost)
    creating = change.action is GroupAction.CREATE
    effect = kept_in_words(change.erase_days) if creating else _EFFECTS.get(change.action)
    return lines if effect is None else [*lines, effect]


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
        return f"Texts are kept: a thief of a member's device could read all of them. {FOR_GOOD}"
    days = "1 day" if erase_days == 1 else f"{erase_days} days"
    return f"Texts are erased after {days}: older ones can be read by no thief of a device, and not by you. {FOR_GOOD}"


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
        title = f"{review_title(row, names)} (fork {short(row.fork)})"
        accept = GroupChange(action=GroupAction.ACCEPT_FORK, group=group, fork=row.fork)
        found.append((accept, f"Accept: {title}{', rejected' if row.rejected else ''}"))
        if not row.rejected:
            found.append((replace(accept, action=GroupAction.REJECT_FORK), f"Reject: {title}"))
    return found


def exclusion_preview(
    client: DaemonClient, cost: GroupCostRow, people: Sequence[FeedId], names: DisplayNames
) -> list[str]:
    """Return the cost and the limits of an exclusion, in lines. Raises as the client does."""
    return [
        f"Excluding {people_in_words(people, names)} from the group {cost.group[:SHORT_GROUP]}:",
        *_indented(client, cost),
        *EXCLUSION_LIMITS,
    ]


def _indented(client: DaemonClient, cost: GroupCostRow) -> list[str]:
    return [f"  {line}" for line in cost_lines(client, cost)]


def cost_lines(client: DaemonClient, cost: GroupCostRow) -> list[str]:
    """Return what an operation costs: messages, packets, and airtime on each radio face. Raises as the client does."""
    costs = estimate(cost.packets, list(client.faces()), list(client.airtime()))
    count = cost.messages
    messages = f"{count} message{'' if count == 1 else 's'} ({', '.join(cost.steps)})"
    lines = [
        f"{messages}, {cost.content_bytes:,} bytes in {packets_in_words(cost.packets)}",
        *costs_in_words(cost.packets, costs),
    ]
    if costs:
        lines.append("This is for sending it once; packets that a peer misses are sent again.")
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
    return " ".join(filter(None, [_DONE[change.action].format(**words), _EFFECTS.get(change.action)]))
