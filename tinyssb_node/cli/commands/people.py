"""`alias`, `contacts`, `block`, `unblock`: names of people, and blocks."""

from __future__ import annotations

import argparse
import re
import shlex

from tinyssb_node.catalog.rows import PersonRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.follow_words import PENDING
from tinyssb_node.screens.languages import t
from tinyssb_node.screens.limits import NAME_CELLS
from tinyssb_node.screens.message_commands import describe_published, open_node
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network
from tinyssb_node.screens.people import SHORT_FEED, DisplayNames, UnknownPersonError
from tinyssb_node.screens.render import local_time, print_json, table
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.talkjson import person_json


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add("alias", alias, more="Your name becomes an entry of your feed, for good.")
    parser.add_argument("name", metavar="NAME", nargs="?", help="your name; '' withdraws it")
    add_network(parser)
    add_json(parser)
    parser = commands.add("contacts", contacts)
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("petname", petname, "give a person a name that only you see")
    _add_person(action)
    action.add_argument("name", metavar="NAME", help="the name; '' removes it")
    more = "No one else learns of it, unless you publish it with `tinyssb blocklist`."
    for parser in (commands.add("block", block, more=more), commands.add("unblock", unblock, more=more)):
        _add_person(parser)
        add_network(parser)
        add_json(parser)


def _add_person(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "person", metavar="PERSON", help="a name that only one person has, or the beginning of a feed id"
    )


def alias(arguments: argparse.Namespace) -> int:
    """Publish or show the user's own name."""
    from tinyssb_node.daemon.config import read_config

    with open_node(arguments) as talk:
        if arguments.name is not None:
            return describe_published(arguments, t("Published your name as"), talk.call_me(arguments.name))
        own = talk.own
        me = talk.catalog.person(own)
        said = None if me is None else me.said
        usual = read_config(talk.home).name
    if arguments.json:
        return print_json([{"feed": own.hex(), "said": said}])
    command = f"tinyssb alias {shlex.quote(one_line(usual))}"
    publish = t("You have not published a name. Publish one: {command}", command=command)
    print(one_line(said) if said else publish)
    return 0


def contacts(arguments: argparse.Namespace) -> int:
    """List all people the node knows of."""
    with open_node(arguments) as talk:
        people, names = talk.catalog.people(), talk.names()
    if arguments.json:
        return print_json(person_json(person) for person in people)
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
    print(table((t("FEED"), t("NAME"), t("CALLS ITSELF"), t("ENTRIES"), t("LATEST"), t("STATE")), listed))
    return 0


def _state(person: PersonRow, names: DisplayNames) -> str:
    """Return whether a person is blocked, and by whose list if not by the user, or that nobody near has their feed."""
    by = ", ".join(names.shown(author) for author in person.blocked_by)
    if by:
        return t("blocked by {people}", people=by)
    return t("blocked") if person.blocked else t(PENDING) if person.pending else ""


def petname(arguments: argparse.Namespace) -> int:
    """Give a person a name, or remove it."""
    with open_node(arguments) as talk:
        feed = talk.find_person(arguments.person).feed
        talk.petname(feed, arguments.name or None)
        shown = talk.names().shown(feed)
    if arguments.json:
        return print_json([{"feed": feed.hex(), "name": arguments.name or None}])
    print(t("The name is now {name}.", name=shown))
    return 0


def block(arguments: argparse.Namespace) -> int:
    """Block a person."""
    return _blocked(arguments, blocked=True)


def unblock(arguments: argparse.Namespace) -> int:
    """Undo a block."""
    return _blocked(arguments, blocked=False)


def _blocked(arguments: argparse.Namespace, *, blocked: bool) -> int:
    with open_node(arguments) as talk:
        feed = _feed(talk, arguments.person)
        if blocked:
            talk.block(feed)
        else:
            talk.unblock(feed)
        shown = talk.names().shown(feed)
    if arguments.json:
        return print_json([{"feed": feed.hex(), "blocked": blocked}])
    print(t("Blocked {name}.", name=shown) if blocked else t("Unblocked {name}.", name=shown))
    return 0


def _feed(talk: NodeSession, text: str) -> FeedId:
    """Return the feed that *text* names: a known person's, or a whole feed id.

    Raises ProblemError, and as ``NodeSession.find_person`` does.
    """
    try:
        person = talk.find_person(text)
    except UnknownPersonError:
        if re.fullmatch("[0-9a-fA-F]{64}", text):
            return FeedId.from_hex(text)
        raise
    if person.own:
        raise ProblemError(
            "This is your own feed, which you cannot block. Nothing was changed.",
            "Name another person.",
            exit_code=ExitCode.USAGE,
        )
    return person.feed
