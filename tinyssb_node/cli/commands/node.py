"""`init`, `run`, `status`, `id`: a node, its daemon and its status."""

from __future__ import annotations

import argparse
import json
import os
import shlex
import socket
from collections.abc import Iterator
from typing import Final

from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import (
    CompanionRow,
    EndpointRow,
    IdentityRow,
    NetworkRow,
    RefusalRow,
    StatusRow,
)
from tinyssb_node.errors import ExitCode, ProblemError, StoreFailedError
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect
from tinyssb_node.screens.disk_words import biggest_words, use_words
from tinyssb_node.screens.follow_words import pending_count
from tinyssb_node.screens.group_conversations import (
    invitation_commands,
    invited_in_words,
    review_command,
    waiting_reviews,
)
from tinyssb_node.screens.languages import message, number, t, tn
from tinyssb_node.screens.limit_words import recent, what_to_do, what_was_refused
from tinyssb_node.screens.options import CommandParsers, add_json, command_for
from tinyssb_node.screens.phone_words import phone_problem
from tinyssb_node.screens.render import duration, fields, print_json
from tinyssb_node.store.home import Home


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add("init", init)
    parser.add_argument(
        "--dialect",
        choices=("spec", "deployed"),
        default="spec",
        help="the dialect of its feed, fixed for good: the phone app can read `deployed` (default: spec)",
    )
    parser.add_argument("--name", help="your name for the node (default: this machine's name)")
    parser.add_argument(
        "--face",
        action="append",
        metavar="SPEC",
        help="a link to open; may be repeated (default: UDP multicast)",
    )
    parser = commands.add("run", run, more="It stays in the foreground until SIGTERM or Ctrl-C.")
    parser.add_argument(
        "--i-am-sure",
        action="store_true",
        help="confirm that no newer entries of its feed exist elsewhere, and allow writing",
    )
    add_json(commands.add("status", status))
    add_json(commands.add("id", show_id, more="Works without the daemon."))


_DIALECTS: Final = {
    Dialect.SPEC: message(
        "It is of the dialect `spec`: it has private groups and short packets, and the tinySSB phone app\n"
        "and ESP32 boards cannot read it. If people near you use these: tinyssb identity new phone --dialect deployed"
    ),
    Dialect.DEPLOYED: message(
        "It is of the dialect `deployed`: the tinySSB phone app and ESP32 boards can read it, and it\n"
        "has no private groups and takes more packets for a message. This cannot be changed later."
    ),
}
"""The meaning of each dialect, for who chooses one."""


def init(arguments: argparse.Namespace) -> int:
    """Create a home."""

    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.setup import create_home

    home = Home.find(arguments.home, os.environ)
    if home.config.is_symlink() and (arguments.name is not None or arguments.face):
        raise ProblemError(
            f"This node already has settings, in {home.config.resolve()}. Nothing was changed.",
            "Leave out --name and --face, and change them in that file.",
            exit_code=ExitCode.CREATE,
        )
    name = arguments.name if arguments.name is not None else socket.gethostname().partition(".")[0][:32]
    feed = create_home(home, name, Dialect(arguments.dialect), tuple(arguments.face or ()))
    print(t("Created the node '{name}' in {folder}.", name=read_config(home).name, folder=home.root))
    print(t("Its feed is {feed}.", feed=feed.hex()))
    print(t(_DIALECTS[Dialect(arguments.dialect)]))
    print(t("Start it: {command}", command=command_for(arguments.home, "run")))
    print(
        t("Then back up its key on paper: {command}", command=command_for(arguments.home, "identity backup"))
    )
    if arguments.name is not None:
        command = command_for(arguments.home, f"alias {shlex.quote(name)}")
        print(t("And let others see this name, once the node runs: {command}", command=command))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Run the daemon."""
    from tinyssb_node.daemon.process import run_daemon
    from tinyssb_node.screens.passphrases import asker

    return run_daemon(Home.find(arguments.home, os.environ), asker(), sure=arguments.i_am_sure)


def status(arguments: argparse.Namespace) -> int:
    """Print the daemon's status."""
    with DaemonClient.at_home(arguments.home) as node:
        row = node.status()
    if arguments.json:
        return print_json([row.fields()])
    print(fields([*_facts(row), *unread_line(arguments), *_parts(arguments, row)]))
    return 0


def _facts(row: StatusRow) -> list[tuple[str, object]]:
    """Return what describes the node as a whole, by name."""
    return [
        (t("name"), row.name),
        (t("feed"), row.feed),
        (t("dialect"), row.dialect),
        (t("home"), row.home),
        (
            t("running"),
            t(
                "{time} (start {boot}, process {pid})",
                time=duration(row.uptime_us),
                boot=row.boot,
                pid=row.pid,
            ),
        ),
        (t("writing"), row.read_only or _writing(row)),
        *((t("identity {name}", name=one.name), _identity(one, row.read_only)) for one in row.identities),
        (t("feeds"), _feeds(row)),
        (
            t("forked feeds"),
            t("{n} (see `{command}`)", n=row.forked, command="tinyssb forks") if row.forked else 0,
        ),
        *(
            (f"{t('groups')}{_of(one)}", f"{waiting_reviews(one.group_reviews)}: {review_command()}")
            for one in row.networks
            if one.group_reviews
        ),
    ]


def _parts(arguments: argparse.Namespace, row: StatusRow) -> list[tuple[str, object]]:
    """Return what describes its networks, links and companions, by name."""
    return [
        *(line for one in row.networks for line in _invitations(arguments, one)),
        *(
            (
                f"{t('follows')}{_of(one)}",
                t("{n} (see `{command}`)", n=pending_count(one.pending), command="tinyssb feeds"),
            )
            for one in row.networks
            if one.pending
        ),
        *((f"{t('disk')}{_of(one)}", use_words(one.disk)) for one in row.networks if one.disk is not None),
        *(
            (f"{t('biggest others')}{_of(one)}", biggest_words(one.disk))
            for one in row.networks
            if one.disk is not None and one.disk.biggest
        ),
        *([(t("refused"), _refusals(row.turned_away))] if row.turned_away else []),
        *(
            (t("limit {rule}", rule=one.rule), f"{what_was_refused(one)}. {what_to_do(one)}")
            for one in _limits(row)
        ),
        *(
            (f"{t('phones')}{_of(one)}", ". ".join(problem))
            for one in row.networks
            if (problem := phone_problem(one.phones)) is not None
        ),
        (t("faces up"), row.faces),
        *((t("face {spec}", spec=short_spec(end.spec)), _endpoint(end)) for end in row.endpoints),
        *((one.name, companion_text(one)) for one in row.companions),
        *((t("network {name}", name=one.name), _holdings(one)) for one in row.networks[1:]),
    ]


def unread_line(arguments: argparse.Namespace) -> list[tuple[str, object]]:
    """Return the sums of unread messages of the default network as a line; nothing if there are none, or if the index
    of messages cannot be read."""
    from tinyssb_node.catalog.errors import CatalogFailedError
    from tinyssb_node.content.contacts import ContactsError
    from tinyssb_node.screens.inbox import inbox, unread_in_words
    from tinyssb_node.screens.session import NodeSession

    try:
        with NodeSession.at_home(arguments.home) as talk:
            talk.catch_up()
            rows = inbox(talk, talk.catalog.conversations(), talk.groups() or ())
    except (CatalogFailedError, ContactsError, ProblemError, StoreFailedError):
        return []
    if not rows:
        return []
    return [(t("unread"), t("{n} (see `{command}`)", n=unread_in_words(rows), command="tinyssb inbox"))]


def _invitations(arguments: argparse.Namespace, network: NetworkRow) -> Iterator[tuple[str, str]]:
    """Yield the groups of a network that the user has not accepted, with the people's names."""
    if not network.invitations:
        return
    from tinyssb_node.screens.session import NodeSession

    with NodeSession.at_home(arguments.home, network.name) as talk:
        names = talk.names()
    for one in network.invitations:
        words = f"{invited_in_words(one, names)}: {invitation_commands(one.group)}"
        yield f"{t('invitation')}{_of(network)}", words
    if more := network.invitations_count - len(network.invitations):
        yield f"{t('invitations')}{_of(network)}", t("{n} more: `tinyssb group list`", n=number(more))


def _limits(row: StatusRow) -> list[RefusalRow]:
    return [one for network in row.networks for one in recent(network.refusals, row.uptime_us)]


def _of(network: NetworkRow) -> str:
    return "" if network.name == DEFAULT_NETWORK else " " + t("of {network}", network=network.name)


def _refusals(count: int) -> str:
    return tn(
        count,
        "{n} connection to the control socket; see the log",
        "{n} connections to the control socket; see the log",
    )


def short_spec(spec: str) -> str:
    """Return *spec* without most of its options, if it is too long for the table."""
    address, _, options = spec.partition("?")
    if len(spec) <= 60:  # files and fingerprints would leave no room for what is wrong
        return spec
    named = [option for option in options.split("&") if option.startswith("name=")]
    return "&".join([f"{address}?…", *named])


def _endpoint(end: EndpointRow) -> str:
    state = end.problem or t("open")
    if end.changes:
        settings = " ".join(f"{key}={value}" for key, value in end.changes.items())
        told = (
            t("{settings} on trial", settings=settings)
            if end.trial
            else t("{settings} instead of config.toml", settings=settings)
        )
        state = f"{state}; {told}"
    if not end.turned_away:
        return state
    return f"{state}; {tn(end.turned_away, '{n} connection refused', '{n} connections refused')}"


def companion_text(one: CompanionRow) -> str:
    """Describe a companion process, such as the web page."""
    if one.problem is None:
        ends = tn(one.ends, "has ended {n} time", "has ended {n} times")
        return f"{t('running')}; {ends}" if one.ends else t("running")
    ended = tn(one.ends, "It has ended {n} time.", "It has ended {n} times.")
    after = t("It is not started again.") if one.given_up else t("It is started again.")
    return f"{one.problem} {ended} {after}"


def _holdings(network: NetworkRow) -> str:
    forked = f", {tn(network.forked, '{n} forked', '{n} forked')}" if network.forked else ""
    yes = t("yes")
    writing = "" if (told := _writing(network)) == yes else f", {t('writing')} {told}"
    for one in network.identities:
        if one.problem is None and (told := _writing(one)) != yes:
            writing += f", {t('identity {name}', name=one.name)}: {t('writing')} {told}"
    return f"{_feeds(network)}{forked}{writing}"


def _feeds(row: StatusRow | NetworkRow) -> str:
    entries = tn(row.entries, "with {n} entry", "with {n} entries")
    return f"{tn(row.feeds, '{n} feed', '{n} feeds')} {entries}"


def _identity(one: IdentityRow, read_only: str | None) -> str:
    """Describe a further identity, and whether it can write."""
    if one.problem is not None:
        return t("not used: {problem}", problem=one.problem)
    return t("feed {feed}, writing: {state}", feed=one.feed, state=read_only or _writing(one))


def _writing(row: StatusRow | NetworkRow | IdentityRow) -> str:
    """Describe whether one of the node's own feeds can be written."""
    if (frozen_at := row.frozen_at) is not None:
        return t("no, and never again: your feed is forked at entry {n} (see `tinyssb forks`)", n=frozen_at)
    waiting = row.waiting
    if waiting is None:
        return t("yes")
    return t("not yet: {reason}; {awaited}", reason=waiting.reason, awaited=waiting.awaited)


def show_id(arguments: argparse.Namespace) -> int:
    """Show the node's feed id, from its files."""
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.setup import read_node_identity

    home = Home.find(arguments.home, os.environ)
    home.require()
    kept = read_node_identity(home)
    if arguments.json:
        name = read_config(home).name
        print(json.dumps({"feed": kept.feed.hex(), "dialect": kept.dialect.value, "name": name}))
    else:
        print(kept.feed.hex())
    return 0
