"""`blocklist`: blocked people and who blocked them, the user's own published list, and lists of others."""

from __future__ import annotations

import argparse
import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass

from tinyssb_node.catalog.rows import PersonRow
from tinyssb_node.content.blocklist import BlockStep, block_step, serialize_block_step
from tinyssb_node.content.contacts import follow_list, read_contacts
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import FeedId, blocked_short
from tinyssb_node.screens.message_commands import describe_published, open_node
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network, add_yes
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.render import print_json, table
from tinyssb_node.screens.session import NodeSession


@dataclass(frozen=True, slots=True)
class _Listed:
    """A list of blocks, with the people it names."""

    people: tuple[FeedId, ...]
    """The people on it who are known here."""
    unknown: int
    """How many others it names."""


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "blocklist",
        blocklist,
        more="Your own decisions, `block` or `unblock`, take precedence over all lists.",
    )
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("show", show, "show the people on a person's list, followed or not")
    _add_person(action)
    action = add_action(
        "publish",
        publish_blocklist,
        "publish the people you block, for good, and those you no longer block since you last published",
    )
    action.add_argument(
        "people", metavar="PERSON", nargs="*", help="publish only these (default: all people you block)"
    )
    action.add_argument(
        "--dry-run", action="store_true", help="show what would be published, and publish nothing"
    )
    add_yes(action)
    action = add_action("follow", follow, "block here the people on a person's list, now and later")
    _add_person(action)
    action = add_action("unfollow", unfollow, "stop following a person's list")
    _add_person(action)


def _add_person(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "person", metavar="PERSON", help="the author of the list: a name, or the beginning of a feed id"
    )


def blocklist(arguments: argparse.Namespace) -> int:
    """List blocked people, and the lists that are followed."""
    with open_node(arguments) as talk:
        people, names = talk.catalog.people(), talk.names()
        lists = {
            row.feed: _listed(talk.catalog.blocklist(row.feed), people) for row in people if row.list_followed
        }
    blocked = [row for row in people if row.blocked]
    if arguments.json:
        for row in blocked:
            by = [feed.hex() for feed in row.blocked_by]
            print(json.dumps({"kind": "blocked", "feed": row.feed.hex(), "by": by or ["me"]}))
        for feed, listed in lists.items():
            print(json.dumps({"kind": "list", **_list_json(feed, listed)}))
        return 0
    if not blocked:
        print("No one is blocked.")
    else:
        said = [(names.shown(row.feed), _by(row.blocked_by, names)) for row in blocked]
        print(table(("BLOCKED", "BY"), said))
    for feed, listed in lists.items():
        print(f"\nYou follow the list of {names.shown(feed)}: {_counted(listed)}.")
    return 0


def _by(authors: Collection[FeedId], names: DisplayNames) -> str:
    return ", ".join(names.shown(author) for author in authors) or "you"


def _counted(listed: _Listed) -> str:
    unknown = f", and {listed.unknown} unknown to this node" if listed.unknown else ""
    count = len(listed.people)
    return f"{count} {'person' if count == 1 else 'people'}{unknown}"


def _listed(shorts: Collection[bytes], people: Iterable[PersonRow]) -> _Listed:
    meant = {row.feed: blocked_short(row.feed) for row in people}
    known = tuple(feed for feed, short in meant.items() if short in shorts)
    return _Listed(known, len(set(shorts) - {meant[feed] for feed in known}))


def _list_json(feed: FeedId, listed: _Listed) -> dict[str, object]:
    return {"feed": feed.hex(), "people": [one.hex() for one in listed.people], "unknown": listed.unknown}


def show(arguments: argparse.Namespace) -> int:
    """Show a person's list."""
    with open_node(arguments) as talk:
        author, names = talk.find_person(arguments.person), talk.names()
        listed = _listed(talk.catalog.blocklist(author.feed), talk.catalog.people())
    if arguments.json:
        return print_json([{**_list_json(author.feed, listed), "followed": author.list_followed}])
    whose = "Your list" if author.own else f"The list of {names.shown(author.feed)}"
    print(f"{whose} names {_counted(listed)}.{' You follow it.' if author.list_followed else ''}")
    for feed in listed.people:
        print(f"  {names.shown(feed)}")
    return 0


def publish_blocklist(arguments: argparse.Namespace) -> int:
    """Publish the user's blocks. Raises ProblemError, LocalError, and what publishing raises."""
    from tinyssb_node.daemon.setup import read_node_identity

    with open_node(arguments) as talk:
        listed = talk.catalog.blocklist(talk.own)
        step = block_step(listed, _wanted(talk, arguments.people, listed))
        if step is None:
            if arguments.json:
                print(json.dumps({"added": 0, "removed": 0}))
            else:
                print("Already published. Nothing changed.")
            return 0
        content = serialize_block_step(step)
        if arguments.dry_run:
            packets = packet_count(len(content), read_node_identity(talk.home).dialect)
            if arguments.json:
                print(
                    json.dumps({"added": len(step.added), "removed": len(step.removed), "packets": packets})
                )
            else:
                print(
                    f"{_changed(step)}. Packets: {packets}. Nothing was published. Publishing cannot be undone."
                )
            return 0
        return describe_published(arguments, f"Published ({_changed(step)}):", talk.publish(content))


def _changed(step: BlockStep) -> str:
    return f"{len(step.added)} blocked, {len(step.removed)} no longer blocked"


def _wanted(talk: NodeSession, people: Iterable[str], listed: frozenset[bytes]) -> set[bytes]:
    """Return the blocks that the user's list should have. Raises ProblemError."""
    contacts = read_contacts(talk.home.root)
    blocked = {blocked_short(feed) for feed, contact in contacts.items() if contact.blocked}
    chosen = {blocked_short(_blocked_by_us(talk, text)) for text in people}
    return chosen.union(listed & blocked) if chosen else blocked


def _blocked_by_us(talk: NodeSession, text: str) -> FeedId:
    person = talk.find_person(text)
    if not person.blocked or person.blocked_by:
        raise ProblemError(
            f"You do not block {talk.names().shown(person.feed)} yourself. Nothing was published.",
            f"Block this person first: tinyssb block {person.feed.hex()[:8]}",
            exit_code=ExitCode.DATA,
        )
    return person.feed


def follow(arguments: argparse.Namespace) -> int:
    """Follow a list."""
    return _followed(arguments, followed=True)


def unfollow(arguments: argparse.Namespace) -> int:
    """Stop following a list."""
    return _followed(arguments, followed=False)


def _followed(arguments: argparse.Namespace, *, followed: bool) -> int:
    with open_node(arguments) as talk:
        author = talk.find_person(arguments.person)
        if author.own:
            raise ProblemError(
                "This is your own list, and your own blocks always apply. Nothing was changed.",
                "Name another person.",
                exit_code=ExitCode.USAGE,
            )
        follow_list(talk.home.root, author.feed, followed=followed)
        shown = talk.names().shown(author.feed)
        listed = _listed(talk.catalog.blocklist(author.feed), talk.catalog.people())
    if arguments.json:
        print(json.dumps({**_list_json(author.feed, listed), "followed": followed}))
    elif followed:
        print(
            f"Following the list of {shown}: {_counted(listed)}. To make an exception, type `tinyssb unblock PERSON`."
        )
    else:
        print(f"No longer following the list of {shown}.")
    return 0
