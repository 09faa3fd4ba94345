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


DECISIONS = {GroupAction.ACCEPT_FORK, GroupAction.REJECT_FORK}
"""Changes that decide on a fork that waits for the user (docs/decisions/0071-late-forks.md)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupChange:
    """A change that a user requests."""

    action: GroupAction
    group: str = ""
    """Its id; empty for a new one."""
    name: str = ""
    """Name of a new group."""
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


def preview(client: DaemonClient, change: GroupChange, names: DisplayNames) -> list[str]:
    """Return lines that state the cost of *change*, and what it does not protect. Nothing is written. Raises as the
    client does."""
    who = people_in_words(change.people, names)
    match change.action:
        case GroupAction.CREATE:
            cost = client.group_create_cost(change.name or None, change.feeds, change.erase_days)
            return [
                f"Create the group {called(change.name, '').strip()} with {who}:",
                *_indented(client, cost),
                kept_in_words(change.erase_days),
            ]
        case GroupAction.ADD:
            cost = client.group_add_cost(change.group, change.feeds, change.text or None)
            return [
                f"Adding {who} to the group {change.group[:SHORT_GROUP]}:",
                *_indented(client, cost),
                ADDED,
            ]
        case GroupAction.EXCLUDE:
            cost = client.group_exclude_cost(change.group, change.feeds)
            return exclusion_preview(client, cost, change.people, names)
        case GroupAction.LEAVE:
            return [f"Leaving the group {change.group[:SHORT_GROUP]}:", LEFT]
        case GroupAction.RETURN:
            return [f"Taking part in the group {change.group[:SHORT_GROUP]} again.", RETURNED]
        case GroupAction.ACCEPT_FORK:
            cost = client.group_accept_cost(change.group, change.fork)
            return [*_fork_lines(client, change, names), *_indented(client, cost), ACCEPTED]
        case GroupAction.REJECT_FORK:
            return list(_fork_lines(client, change, names))
        case GroupAction.ACCEPT:
            return [f"Taking part in the group {change.group[:SHORT_GROUP]}.", JOINED]
        case GroupAction.DECLINE:
            return [f"Declining the group {change.group[:SHORT_GROUP]}.", DECLINED]


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


def done_in_words(change: GroupChange, row: GroupWrittenRow, names: DisplayNames) -> str:
    """Return what was done, in one line."""
    group, who = row.group[:SHORT_GROUP], people_in_words(change.people, names)
    packets = packets_in_words(row.packets)
    match change.action:
        case GroupAction.CREATE:
            return f"Created the group {called(change.name, row.group)} in {packets}."
        case GroupAction.ADD:
            return f"Added {who} in {packets}. {ADDED}"
        case GroupAction.EXCLUDE:
            return f"Excluded {who} in {packets}. {EXCLUDED}"
        case GroupAction.LEAVE:
            return f"Left the group {group}. {LEFT}"
        case GroupAction.RETURN:
            return f"You are in the group {group} again. {RETURNED}"
        case GroupAction.ACCEPT_FORK:
            return f"Accepted the fork in {packets}. {ACCEPTED}"
        case GroupAction.REJECT_FORK:
            return f"Rejected the fork. {REJECTED}"
        case GroupAction.ACCEPT:
            return f"You take part in the group {group}. {JOINED}"
        case GroupAction.DECLINE:
            return f"Declined the group {group}. {DECLINED}"
