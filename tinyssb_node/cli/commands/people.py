"""`alias`, `contacts`, `block`, `unblock`: what people are called, and whom not to see."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import ProblemError
from tinyssb_node.screens.options import Subparsers, add_actions, add_command, add_json, add_network

if TYPE_CHECKING:
    from tinyssb_node.catalog.rows import PersonRow
    from tinyssb_node.ids import FeedId
    from tinyssb_node.screens.people import DisplayNames
    from tinyssb_node.screens.session import NodeSession


class SelfBlockError(ProblemError):
    """Our user would be blocked."""

    exit_code = ExitCode.USAGE


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the commands."""
    parser = add_command(
        subparsers,
        common,
        "alias",
        alias,
        "tell everybody what to call you, or show what you told them",
        more="It is an entry of your feed, for good.",
    )
    parser.add_argument("name", metavar="NAME", nargs="?", help="your name; '' takes it back")
    add_network(parser)
    add_json(parser)
    parser = add_command(
        subparsers, common, "contacts", contacts, "list people, and give them names of your own"
    )
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser, common)
    action = add_action("petname", petname, "call somebody as you like; nobody else sees it")
    _add_person(action)
    action.add_argument("name", metavar="NAME", help="the name; '' takes it away")
    for name, run, summary in (
        ("block", block, "show nothing more of somebody, and ask for it no longer"),
        ("unblock", unblock, "show somebody again, whatever lists say, and ask for what is missing"),
    ):
        more = "Nobody else learns of it, unless you publish it: `tinyssb blocklist`."
        parser = add_command(subparsers, common, name, run, summary, more=more)
        _add_person(parser)
        add_network(parser)
        add_json(parser)


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "person", metavar="PERSON", help="a name that only one has, or the beginning of a feed id"
    )


def alias(arguments: argparse.Namespace) -> int:
    """Say what we call ourselves."""
    from tinyssb_node.screens.message_commands import describe_published, open_node
    from tinyssb_node.screens.safetext import one_line

    with open_node(arguments) as talk:
        if arguments.name is not None:
            return describe_published(arguments, "Told everybody:", talk.call_me(arguments.name))
        own = talk.own
        me = talk.catalog.person(own)
        said = None if me is None else me.said
    if arguments.json:
        print(json.dumps({"feed": own.hex(), "said": said}))
    else:
        print(one_line(said) if said else "You have not told anybody your name; `tinyssb alias NAME` does.")
    return 0


def contacts(arguments: argparse.Namespace) -> int:
    """List everybody of whom the node knows."""
    from tinyssb_node.screens.message_commands import open_node
    from tinyssb_node.screens.people import SHORT_FEED
    from tinyssb_node.screens.render import local_time, table
    from tinyssb_node.screens.safetext import one_line
    from tinyssb_node.screens.talkjson import person_json

    with open_node(arguments) as talk:
        people, names = talk.catalog.people(), talk.names()
    if arguments.json:
        for person in people:
            print(json.dumps(person_json(person)))
        return 0
    from tinyssb_node.screens.limits import NAME_CELLS

    listed = [
        (
            person.feed.hex()[:SHORT_FEED],
            one_line(names.name(person.feed) or "", NAME_CELLS),
            one_line(person.said or "", NAME_CELLS),
            person.entries,
            None if person.last_us is None else local_time(person.last_us),
            _state(person, names),
        )
        for person in people
    ]
    print(table(("FEED", "NAME", "CALLS ITSELF", "ENTRIES", "LATEST", "STATE"), listed))
    return 0


def _state(person: PersonRow, names: DisplayNames) -> str:
    """Whether somebody is blocked, and by whose word if it is not our user's."""
    by = ", ".join(names.shown(author) for author in person.blocked_by)
    return f"blocked by {by}" if by else "blocked" if person.blocked else ""


def petname(arguments: argparse.Namespace) -> int:
    """Give somebody a name, or take it away."""
    from tinyssb_node.screens.message_commands import open_node

    with open_node(arguments) as talk:
        feed = talk.find_person(arguments.person).feed
        talk.petname(feed, arguments.name or None)
        shown = talk.names().shown(feed)
    if arguments.json:
        print(json.dumps({"feed": feed.hex(), "name": arguments.name or None}))
    else:
        print(f"This is {shown} now.")
    return 0


def block(arguments: argparse.Namespace) -> int:
    """Block somebody."""
    return _blocked(arguments, blocked=True)


def unblock(arguments: argparse.Namespace) -> int:
    """Take a block back."""
    return _blocked(arguments, blocked=False)


def _blocked(arguments: argparse.Namespace, *, blocked: bool) -> int:
    from tinyssb_node.screens.message_commands import open_node

    with open_node(arguments) as talk:
        feed = _feed(talk, arguments.person)
        if blocked:
            talk.block(feed)
        else:
            talk.unblock(feed)
        shown = talk.names().shown(feed)
    if arguments.json:
        print(json.dumps({"feed": feed.hex(), "blocked": blocked}))
        return 0
    print(f"{'No longer showing' if blocked else 'Showing'} {shown}{'' if blocked else ' again'}.")
    return 0


def _feed(talk: NodeSession, text: str) -> FeedId:
    """Return whom *text* means: a known person, or a whole feed id.

    Raises SelfBlockError, and as ``NodeSession.find_person`` does.
    """
    from tinyssb_node.ids import FeedId
    from tinyssb_node.screens.people import UnknownPersonError

    try:
        person = talk.find_person(text)
    except UnknownPersonError:
        if re.fullmatch("[0-9a-fA-F]{64}", text):
            return FeedId.from_hex(text)
        raise
    if person.own:
        raise SelfBlockError(
            "That is you, and you cannot be blocked here. Nothing was changed.", "Name somebody else."
        )
    return person.feed
