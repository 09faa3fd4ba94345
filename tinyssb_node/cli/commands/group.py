"""`group`: private groups, from which people can be excluded again."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from tinyssb_node.cli.chatlisting import show_latest
from tinyssb_node.cli.graph import ASCII, UNICODE
from tinyssb_node.cli.grouplines import fitted, invitations, listing, shown
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.group_rows import GroupCostRow, GroupWrittenRow
from tinyssb_node.errors import ExitCode
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import ERASE_DAYS_MAX
from tinyssb_node.screens import group_files, limits
from tinyssb_node.screens.estimate import as_json, estimate
from tinyssb_node.screens.group_changes import (
    ACCEPTED,
    ADDED,
    EXCLUDED,
    LEFT,
    REJECTED,
    RETURNED,
    GroupAction,
    GroupChange,
    cost_lines,
    done_in_words,
    exclusion_preview,
    kept_in_words,
    perform,
)
from tinyssb_node.screens.group_conversations import (
    called,
    notes_below,
    people_in_words,
)
from tinyssb_node.screens.group_details import reviewed, short
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.languages import t, tn
from tinyssb_node.screens.localfile import file_title, read_local_file
from tinyssb_node.screens.message_commands import agreed, open_node, text_given
from tinyssb_node.screens.options import (
    CommandParsers,
    add_actions,
    add_json,
    add_network,
    add_yes,
    positive,
)
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.render import print_json
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.screen import can_draw, confirm, width
from tinyssb_node.screens.session import NodeSession


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "group", list_groups, more="Without an action it lists the groups. Needs the daemon."
    )
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("create", create, "create a group of yourself and others")
    action.add_argument("name", metavar="NAME", help="the name of the group; its members can read it")
    _add_people(action, "*")
    action.add_argument(
        "--erase-after",
        type=_days,
        metavar="DAYS",
        help="erase texts on all members' devices after that many days, 1 to 365; never by default. "
        "It cannot be changed later",
    )
    _add_dry_run(action)
    add_yes(action)
    action = add_action("add", add_people, "add people to a group")
    _add_group(action)
    _add_people(action, "+")
    action.add_argument("--text", metavar="TEXT", help="a greeting; `-` reads it from standard input")
    _add_dry_run(action)
    add_yes(action)
    action = add_action(
        "exclude", exclude, "exclude people: create a new key and give it to the other members"
    )
    _add_group(action)
    _add_people(action, "+")
    _add_dry_run(action)
    action.add_argument("--yes", "-y", action="store_true", help="do not ask")
    _add_group(add_action("leave", leave, "leave a group"))
    _add_group(add_action("return", come_back, "rejoin a group that you left"))
    action = add_action("rename", name_group, "give a group another name, which all members see")
    _add_group(action)
    action.add_argument("name", metavar="NAME", help="the new name")
    _add_dry_run(action)
    add_yes(action)
    _add_group(add_action("mute", mute, "do not mark or count new messages of a group"))
    _add_group(add_action("unmute", unmute, "mark and count new messages of a group again"))
    _add_group(add_action("accept", accept, "take part in a group that somebody added you to"))
    _add_group(add_action("decline", decline, "take no part in a group that somebody added you to"))
    _add_group(
        add_action("history", history, "request the older messages of a group that you were added to, now")
    )
    add_action("list", list_groups, "list groups")
    action = add_action("show", show, "show a group: who can read what, its epochs, what your node will do")
    _add_group(action)
    action.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    action = add_action("review", review, "decide on exclusions by people who had been excluded before")
    _add_group(action)
    choice = action.add_mutually_exclusive_group()
    choice.add_argument("--accept", metavar="FORK", help="carry it out: begin a new epoch for all members")
    choice.add_argument("--reject", metavar="FORK", help="ignore it, and further ones by the same people")
    _add_dry_run(action)
    add_yes(action)
    _add_messages(add_action)


def _add_messages(add_action: Callable[..., argparse.ArgumentParser]) -> None:
    """Define the actions that write and read messages."""
    action = add_action("post", post, "post a message to a group")
    _add_group(action)
    action.add_argument(
        "text", metavar="TEXT", nargs="+", help="the message; `-` reads it from standard input"
    )
    action.add_argument("--reply", metavar="ID", help="answer this message: some digits of its id")
    add_yes(action)
    action = add_action("attach", attach, "send a file of up to 32 kB to a group; first shows the cost")
    _add_group(action)
    action.add_argument("file", metavar="FILE", help="the file")
    action.add_argument(
        "--name", metavar="NAME", help="the file name that others see (default: its name here)"
    )
    action.add_argument("--type", metavar="TYPE", help="its media type (default: guessed from its name)")
    action.add_argument("--reply", metavar="ID", help="answer this message: some digits of its id")
    _add_dry_run(action)
    add_yes(action)
    action = add_action("fetch", fetch, "save a file of a group; never overwrites one")
    _add_group(action)
    action.add_argument("message", metavar="ID", help="some digits of the message's id")
    action.add_argument(
        "-o",
        "--output",
        metavar="FILE",
        help="where to save it: a file, a folder, or `-` for standard output (default: the current folder)",
    )
    action = add_action("read", read, "show the messages of a group")
    _add_group(action)
    action.add_argument(
        "--last",
        type=positive,
        default=limits.CHAT_LAST,
        metavar="N",
        help=f"show the N latest messages (default: {limits.CHAT_LAST})",
    )
    action.add_argument(
        "--arrived", type=positive, metavar="N", help="show the N messages that arrived last, in their order"
    )
    _add_group(add_action("audit", audit, "list all messages of a group, and the rules they broke"))


def _days(text: str) -> int:
    """Parse the days after which texts are erased. Raises argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and len(text) <= 4 and 1 <= int(text) <= ERASE_DAYS_MAX):
        raise argparse.ArgumentTypeError(
            f"'{text[:80]}' is not a whole number of days from 1 to {ERASE_DAYS_MAX}"
        )
    return int(text)


def _add_group(action: argparse.ArgumentParser) -> None:
    action.add_argument("group", metavar="GROUP", help="a group: its name, or some digits of its id")


def _add_people(action: argparse.ArgumentParser, count: str) -> None:
    action.add_argument(
        "people",
        metavar="PERSON",
        nargs=count,
        default=[],  # explicit: argparse would require the argument otherwise
        help="a person: a name, or the beginning of a feed id",
    )


def _add_dry_run(action: argparse.ArgumentParser) -> None:
    action.add_argument("--dry-run", action="store_true", help="only show the cost")


# --- Changing


def create(arguments: argparse.Namespace) -> int:
    """Create a group, after showing its cost."""
    name, days = arguments.name, arguments.erase_after
    with open_node(arguments) as talk:
        names = talk.names()
        people = _people(names, arguments.people)
        feeds = [feed.hex() for feed in people]
        cost = talk.client.group_create_cost(name, feeds, days)
        if arguments.dry_run:
            return print_cost(arguments, talk, cost)
        if not agreed_to_change(arguments, talk, cost):
            return ExitCode.ATTENTION
        row = talk.client.group_create(name, feeds, days)
    others = [feed for feed in people if not names.is_own(feed)]
    title = called(name, row.group)
    made = t("Created the group {name}", name=title)
    if others:
        made = t("Created the group {name} with {people}", name=title, people=_shown(others, names))
    command = f"tinyssb group post {short(row.group)} {t('TEXT')}"
    return _wrote(
        arguments,
        row,
        made,
        f"{kept_in_words(days)}\n{t('Post a message to it: {command}', command=command)}",
    )


def add_people(arguments: argparse.Namespace) -> int:
    """Add people to a group, after showing the cost."""
    text = None if arguments.text is None else text_given(arguments.text)
    with open_node(arguments) as talk:
        names = _names_in(talk, arguments.group)
        people = _people(names, arguments.people)
        feeds = [feed.hex() for feed in people]
        cost = talk.client.group_add_cost(arguments.group, feeds, text)
        if arguments.dry_run:
            return print_cost(arguments, talk, cost)
        if not agreed_to_change(arguments, talk, cost):
            return ExitCode.ATTENTION
        row = talk.client.group_add(arguments.group, feeds, text)
    return _wrote(
        arguments,
        row,
        t("Added {people}", people=_shown(people, names)),
        t(ADDED),
    )


def agreed_to_change(arguments: argparse.Namespace, talk: NodeSession, cost: GroupCostRow) -> bool:
    """Show the cost of a change, and return whether it may be made: it is small, or `--yes` was given, or the user
    agrees. Raises ProblemError."""
    if not arguments.json:
        print("\n".join(cost_lines(talk.client, cost)), file=sys.stderr)
    if not group_files.is_costly(cost) or arguments.yes:
        return True
    if confirm(
        t("It takes more than {n} packets. Go on?", n=limits.POST_PACKETS_MAX),
        kept=t("Nothing was written."),
        otherwise=t("Add --yes to go on without being asked."),
    ):
        return True
    print(t("Nothing was written."), file=sys.stderr)
    return False


def exclude(arguments: argparse.Namespace) -> int:
    """Exclude people from a group, after showing the cost and the limits of an exclusion."""
    with open_node(arguments) as talk:
        names = _names_in(talk, arguments.group)
        people = _people(names, arguments.people)
        feeds = [feed.hex() for feed in people]
        cost = talk.client.group_exclude_cost(arguments.group, feeds)
        if arguments.dry_run:
            return print_cost(arguments, talk, cost)
        if not arguments.yes and not confirm_exclusion(talk, cost, people, names):
            print(t("Nothing was written."), file=sys.stderr)
            return ExitCode.ATTENTION
        row = talk.client.group_exclude(arguments.group, feeds)
    return _wrote(
        arguments,
        row,
        t("Excluded {people}", people=_shown(people, names)),
        t(EXCLUDED),
    )


def confirm_exclusion(
    talk: NodeSession, cost: GroupCostRow, people: Sequence[FeedId], names: DisplayNames
) -> bool:
    """Show the cost and the limits of an exclusion, and ask. Raises ProblemError."""
    explanation = exclusion_preview(talk.client, cost, people, names)
    print("\n".join(explanation), file=sys.stderr)
    return confirm(
        t("Exclude them? You can add them again later, at the cost of an addition."),
        kept=t("Nothing was written."),
        otherwise=t("Add --yes to exclude them without being asked."),
    )


def print_cost(arguments: argparse.Namespace, talk: NodeSession, cost: GroupCostRow) -> int:
    """Print what an operation would cost."""
    if arguments.json:
        costs = estimate(cost.packets, list(talk.client.faces()), list(talk.client.airtime()))
        print(json.dumps({**cost.fields(), "costs": [as_json(one) for one in costs]}))
        return 0
    print("\n".join(cost_lines(talk.client, cost)))
    return 0


def leave(arguments: argparse.Namespace) -> int:
    """Leave a group."""
    with open_node(arguments) as talk:
        row = talk.client.group_leave(arguments.group)
    return _wrote(
        arguments,
        row,
        t("Left the group {group}", group=short(row.group)),
        t(LEFT),
    )


def come_back(arguments: argparse.Namespace) -> int:
    """Rejoin a group."""
    with open_node(arguments) as talk:
        row = talk.client.group_return(arguments.group)
    if arguments.json:
        return print_json([row.fields()])
    print(t("You are in the group {group} again.", group=short(row.group)), t(RETURNED))
    return 0


def name_group(arguments: argparse.Namespace) -> int:
    """Give a group another name, after showing the cost."""
    change = GroupChange(action=GroupAction.RENAME, group=arguments.group, name=arguments.name)
    with open_node(arguments) as talk:
        cost = talk.client.group_rename_cost(arguments.group, arguments.name)
        if arguments.dry_run:
            return print_cost(arguments, talk, cost)
        if not agreed_to_change(arguments, talk, cost):
            return ExitCode.ATTENTION
        return _changed(arguments, talk, change)


def mute(arguments: argparse.Namespace) -> int:
    """Mute a group."""
    with open_node(arguments) as talk:
        return _changed(arguments, talk, GroupChange(action=GroupAction.MUTE, group=arguments.group))


def unmute(arguments: argparse.Namespace) -> int:
    """Undo ``mute``."""
    with open_node(arguments) as talk:
        return _changed(arguments, talk, GroupChange(action=GroupAction.UNMUTE, group=arguments.group))


def history(arguments: argparse.Namespace) -> int:
    """Request the history of a group."""
    with open_node(arguments) as talk:
        return _changed(arguments, talk, GroupChange(action=GroupAction.HISTORY, group=arguments.group))


def _changed(arguments: argparse.Namespace, talk: NodeSession, change: GroupChange) -> int:
    """Make a change, and print what was done. Raises ProblemError."""
    row = perform(talk.client, change)
    if arguments.json:
        return print_json([row.fields()])
    print(done_in_words(replace(change, group=row.group), row, talk.names()))
    return 0


def accept(arguments: argparse.Namespace) -> int:
    """Accept an invitation."""
    return _consented(arguments, GroupAction.ACCEPT)


def decline(arguments: argparse.Namespace) -> int:
    """Decline an invitation."""
    return _consented(arguments, GroupAction.DECLINE)


def _consented(arguments: argparse.Namespace, action: GroupAction) -> int:
    with open_node(arguments) as talk:
        change = GroupChange(action=action, group=arguments.group)
        row = perform(talk.client, change)
        done = done_in_words(change, row, talk.names())
    if arguments.json:
        return print_json([row.fields()])
    print(done)
    return 0


def review(arguments: argparse.Namespace) -> int:
    """List the forks that wait for the user's decision, or decide on one."""
    with open_node(arguments) as talk:
        if fork := arguments.accept:
            cost = talk.client.group_accept_cost(arguments.group, fork)
            if arguments.dry_run:
                return print_cost(arguments, talk, cost)
            if not agreed_to_change(arguments, talk, cost):
                return ExitCode.ATTENTION
            row = talk.client.group_decide(arguments.group, fork, accept=True)
            return _wrote(arguments, row, t("Accepted the fork"), t(ACCEPTED))
        if fork := arguments.reject:
            row = talk.client.group_decide(arguments.group, fork, accept=False)
            if arguments.json:
                return print_json([row.fields()])
            print(t("Rejected the fork."), t(REJECTED))
            return 0
        names = _names_in(talk, arguments.group)
        rows = list(talk.client.group_review(arguments.group))
    if arguments.json:
        return print_json(one.fields() for one in rows)
    for one in rows:
        for line in reviewed(one, arguments.group, names):
            print("\n".join(fitted(line, width())))
    if not rows:
        print(t("Nothing waits for your decision."))
    return 0


def post(arguments: argparse.Namespace) -> int:
    """Post a message to a group."""
    text = text_given(" ".join(arguments.text))
    with open_node(arguments) as talk:
        row = talk.say_to_group(arguments.group, text, arguments.reply)
    return said(arguments, row)


def attach(arguments: argparse.Namespace) -> int:
    """Send a file to a group, after showing its cost."""
    file = read_local_file(Path(arguments.file), arguments.name, arguments.type)
    draft = GroupFileDraft(arguments.group, file, arguments.reply)
    with open_node(arguments) as talk:
        cost = draft.cost(talk.client)
        if arguments.dry_run:
            if not arguments.json:
                print(file_title(file))
            return print_cost(arguments, talk, cost)
        if not arguments.json:
            print("\n".join(group_files.preview(talk.client, draft, cost)), file=sys.stderr)
        # The cost was just shown, so that the question is none but whether to go on.
        if group_files.is_costly(cost) and not agreed(
            arguments, lambda: [t("It takes more than {n} packets.", n=limits.POST_PACKETS_MAX)]
        ):
            return ExitCode.ATTENTION
        row = draft.publish(talk.client)
    id_ = row.entries[-1].id
    group = short(row.group)
    return _wrote(
        arguments,
        row,
        t("Sent {file} to the group {group}", file=file_title(file), group=group),
        t("Others save it with: {command}", command=f"tinyssb group fetch {group} {short(id_)}"),
    )


def fetch(arguments: argparse.Namespace) -> int:
    """Save a file of a group."""
    with open_node(arguments) as talk:
        if arguments.output == "-":
            file, _ = group_files.fetch(talk.client, arguments.group, arguments.message)
            sys.stdout.buffer.write(file.data)
            return 0
        file, path = group_files.save(talk.client, arguments.group, arguments.message, arguments.output)
    if arguments.json:
        about = {"name": file.name, "type": file.type, "size": len(file.data), "path": str(path)}
        print(json.dumps(about))
        return 0
    print(tn(len(file.data), "Saved {path}, {n} byte.", "Saved {path}, {n} bytes.", path=one_line(str(path))))
    return 0


def said(arguments: argparse.Namespace, row: GroupWrittenRow) -> int:
    """Print the id of a message that was posted to a group."""
    posted = t("Posted {id} to the group {group}", id=short(row.entries[-1].id), group=short(row.group))
    return _wrote(arguments, row, posted, "")


def _wrote(arguments: argparse.Namespace, row: GroupWrittenRow, what: str, then: str) -> int:
    """Print what was written: *what* is the beginning of the sentence."""
    if arguments.json:
        return print_json([row.fields()])
    messages = tn(len(row.entries), "{n} message", "{n} messages")
    cost = tn(row.packets, "{messages} in {n} packet", "{messages} in {n} packets", messages=messages)
    print(f"{what}: {cost}.")
    if then:
        print(then)
    return 0


def _names_in(talk: NodeSession, group: str) -> DisplayNames:
    """Return the names of all people, and of a group's members, whom the catalog may lack. Raises ProblemError."""
    members = {FeedId.from_hex(one.feed) for epoch in talk.client.group_show(group) for one in epoch.members}
    return talk.names().with_feeds(members)


def _people(names: DisplayNames, texts: Sequence[str]) -> list[FeedId]:
    """Return the people that *texts* name, each once. Raises UnknownPersonError, ProblemError."""
    return list(dict.fromkeys(names.find(text).feed for text in texts))


def _shown(people: Sequence[FeedId], names: DisplayNames) -> str:
    return people_in_words(people, names)


# --- Reading


def list_groups(arguments: argparse.Namespace) -> int:
    """List groups."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        rows = list(node.group_list())
    if arguments.json:
        return print_json(row.fields() for row in rows)
    if rows:
        print(listing(rows))
        if any(row.invitation is not None for row in rows):
            with open_node(arguments) as talk:
                for line in invitations(rows, talk.names()):
                    print("\n".join(fitted(line, width())))
    else:
        print(t("You are in no group. Create one: {command}", command="tinyssb group create NAME PERSON…"))
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show a group."""
    with open_node(arguments) as talk:
        listing = talk.client.group_show(arguments.group)
        epochs = list(listing)
        names = talk.names()
    row = listing.result
    if arguments.json:
        return print_json([{**row.fields(), "epochs": [epoch.fields() for epoch in epochs]}])
    glyphs = ASCII if arguments.ascii or not can_draw(UNICODE) else UNICODE
    for line in shown(row, epochs, names, glyphs, width()):
        print(line)
    return 0


def read(arguments: argparse.Namespace) -> int:
    """Show the messages of a group."""
    with open_node(arguments) as talk:
        if not arguments.json:
            notes = notes_below(talk.client, arguments.group)
            show_latest(talk, notes.group, notes, arguments.last, arguments.arrived)
        elif arguments.arrived is not None:
            count = min(arguments.arrived, limits.CHAT_LAST_MAX)
            arrived = list(talk.client.group_arrived(arguments.group, None, count))
            print_json(row.fields() for row in sorted(arrived, key=lambda row: row.order))
        else:
            last = min(arguments.last, limits.CHAT_LAST_MAX)
            print_json(row.fields() for row in talk.client.group_read(arguments.group, limit=last))
    return 0


def audit(arguments: argparse.Namespace) -> int:
    """List all messages of a group."""
    from tinyssb_node.cli.grouplines import audit as lines

    with open_node(arguments) as talk:
        rows = list(talk.client.group_audit(arguments.group))
        names = talk.names()
    if arguments.json:
        return print_json(row.fields() for row in rows)
    for line in lines(rows, names, width()):
        print(line)
    return 0
