"""`remote`: allow others to give this node commands over the mesh, and give commands to others' nodes."""

from __future__ import annotations

import argparse
import re
import sys
import time
from typing import TYPE_CHECKING, Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.remote import limits
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_limit, add_network, whole

if TYPE_CHECKING:
    from tinyssb_node.content.private import SealKey
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.ids import FeedId
    from tinyssb_node.remote.gate import Admin, RemoteRecord
    from tinyssb_node.remote.messages import RemoteAnswer
    from tinyssb_node.store.home import Home

_VALIDITY: Final = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_MINUTES: Final = {"m": 1, "h": 60, "d": 1_440}
_POLL_S: Final = 1.0
_HOWTO: Final = (
    "Set `enabled = true` in the table [remote] of config.toml, and restart the daemon: docs/howto/remote.md"
)


def add(commands: CommandParsers) -> None:
    """Describe the command."""
    parser = commands.add("remote", admins, more="Without an action it lists who may.")
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    action = add_action("allow", allow, "let a feed give this node commands")
    _add_feed(action, "all 64 digits of the feed id")
    action = add_action("revoke", revoke, "no longer let a feed give this node commands")
    _add_feed(action, "the feed id, or its beginning")
    action = add_action("log", log, "list commands that this node was given")
    add_limit(action, 20, "commands")
    action = add_action("send", send, "give a node a command, and wait for the answer")
    action.add_argument("node", metavar="NODE", help="its name, or the beginning of its feed id")
    action.add_argument(
        "words",
        metavar="WORD",
        nargs="+",
        help="`status`, `face restart NAME`, `log LEVEL`, "
        "`radio set NAME KEY=VALUE`, or `radio confirm NAME`",
    )
    action.add_argument(
        "--for",
        dest="valid_minutes",
        metavar="TIME",
        type=_minutes,
        default=limits.VALID_MINUTES_USUAL,
        help="how long it may be executed: 30m, 2h, 7d, or `ever` for a node without a clock (default: 1h)",
    )
    action.add_argument(
        "--wait",
        metavar="SECONDS",
        type=whole,
        default=limits.WAIT_S,
        help=f"how long to wait for the answer (default: {limits.WAIT_S})",
    )
    action = add_action("answers", answers, "list commands that you gave, and the answers")
    add_limit(action, 10, "commands")
    action = add_action("run", run, "obey commands; the daemon does so if `remote.enabled` is true")
    action.add_argument("--supervised", action="store_true", help="end when standard input does")


def _add_feed(action: argparse.ArgumentParser, what: str) -> None:
    action.add_argument("feed", metavar="FEED", help=what)


def _minutes(text: str) -> int:
    """Parse a validity. Raises argparse.ArgumentTypeError."""
    if text == "ever":
        return 0
    found = _VALIDITY.fullmatch(text)
    minutes = 0 if found is None else int(found[1]) * _MINUTES[found[2]]
    if not 0 < minutes <= limits.VALID_MINUTES_MAX:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no time such as 30m, 2h or 7d, up to 365d, and not `ever`"
        )
    return minutes


# --- on the node


def admins(arguments: argparse.Namespace) -> int:
    """List feeds that may give commands, and those that might."""
    from tinyssb_node.remote.record_file import read_record
    from tinyssb_node.screens.message_commands import names_shown
    from tinyssb_node.screens.render import local_time, print_json, table

    home = _home(arguments)
    record = read_record(home)
    if arguments.json:
        return print_json(_admin_json(admin) for admin in record.admins)
    if record.admins:
        shown = names_shown(arguments)
        rows = [(shown(one.feed.hex()), one.state.value, one.seq, one.dropped) for one in _by_feed(record)]
        print(table(("FEED", "STATE", "READ UP TO", "DROPPED"), rows))
    else:
        print("Nobody may give this node commands. To allow somebody: tinyssb remote allow FEED")
    if record.ignored:
        came = local_time(record.ignored_s * 1_000_000)
        print(f"Ignored {record.ignored} commands by feeds that are not allowed, the last at {came}.")
    if record.allowed() and not _is_enabled(home):
        print(f"No commands are obeyed yet. {_HOWTO}")
    return 0


def _by_feed(record: RemoteRecord) -> list[Admin]:
    return sorted(record.admins, key=lambda admin: admin.feed)


def _admin_json(admin: Admin) -> dict[str, object]:
    return {
        "feed": admin.feed.hex(),
        "state": admin.state.value,
        "seq": admin.seq,
        "dropped": admin.dropped,
    }


def allow(arguments: argparse.Namespace) -> int:
    """Let a feed give commands, from its next entry on. Raises ProblemError."""
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.ids import FeedId
    from tinyssb_node.remote.record_file import change_record

    home, text = _home(arguments), arguments.feed.lower()
    if not re.fullmatch(r"[0-9a-f]{64}", text) or not int(text, 16):
        raise ProblemError(
            f"'{arguments.feed[:64]}' is not a whole feed id. Nobody was allowed.",
            "Names can be imitated: give all 64 digits, which `tinyssb id` shows on the administrator's own node.",
            exit_code=ExitCode.USAGE,
        )
    feed = FeedId.from_hex(text)
    with DaemonClient.at_home(str(home.root)) as client:
        rows = {row.feed: row for row in list(client.feeds())}
        row = rows.get(text)
        if row is not None and (row.own or row.forked_at is not None):
            why = "this node's own feed" if row.own else "forked, which means that its key is in two hands"
            raise ProblemError(
                f"{text} is {why}. Nobody was allowed.",
                "Give the feed id of the administrator: `tinyssb id` on their node.",
                exit_code=ExitCode.USAGE,
            )
        client.follow(text)
    seq = 0 if row is None else row.seq
    change_record(home, lambda record: record.allow(feed, seq, int(time.time())))
    print(f"Allowed: {text} may give this node commands, from its entry {seq + 1} on.")
    if not _is_enabled(home):
        print(f"No commands are obeyed yet. {_HOWTO}")
    return 0


def revoke(arguments: argparse.Namespace) -> int:
    """No longer let a feed give commands. Raises ProblemError."""
    from tinyssb_node.remote.gate import AdminState
    from tinyssb_node.remote.record_file import change_record, read_record

    home = _home(arguments)
    typed = arguments.feed.lower()
    found = [one.feed for one in read_record(home).admins if typed and one.feed.hex().startswith(typed)]
    if len(found) != 1:
        raise ProblemError(
            f"{'Several feeds' if found else 'No feed'} that was allowed begins with '{arguments.feed[:64]}'.",
            "List them: tinyssb remote --json",
            exit_code=ExitCode.USAGE if found else ExitCode.MISSING,
        )
    change_record(home, lambda record: record.end(found[0], AdminState.REVOKED))
    print(f"Revoked: {found[0].hex()} may no longer give this node commands.")
    return 0


def log(arguments: argparse.Namespace) -> int:
    """List commands that the node was given, the latest last."""
    from tinyssb_node.remote.record_file import read_record
    from tinyssb_node.remote.words import outcome_word
    from tinyssb_node.screens.message_commands import names_shown
    from tinyssb_node.screens.render import local_time, print_json, table
    from tinyssb_node.screens.safetext import one_line

    done = read_record(_home(arguments)).done[-arguments.limit :]
    if arguments.json:
        return print_json(
            {
                "time_us": one.time_s * 1_000_000,
                "feed": one.feed.hex(),
                "seq": one.seq,
                "words": [*one.words],
                "outcome": outcome_word(one.outcome),
            }
            for one in done
        )
    if not done:
        print("This node was given no commands.")
        return 0
    shown = names_shown(arguments)
    rows = [
        (
            local_time(one.time_s * 1_000_000),
            shown(one.feed.hex()),
            one.seq,
            one_line(" ".join(one.words)),
            outcome_word(one.outcome),
        )
        for one in done
    ]
    print(table(("TIME", "BY", "ENTRY", "COMMAND", "OUTCOME"), rows))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Obey commands until SIGTERM, Ctrl-C, or the end of the daemon that started it."""
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.logs import start_logging
    from tinyssb_node.remote.config import remote_config
    from tinyssb_node.remote.service import RemoteService, run_service

    home = _home(arguments)
    config = read_config(home)
    logger = start_logging(config.log.level, config.log.format)
    service = RemoteService(home, _key(home), logger, radio=remote_config(config).radio)
    run_service(service, lambda: DaemonClient.at_home(str(home.root)), supervised=arguments.supervised)
    return 0


# --- on the administrator's side


def send(arguments: argparse.Namespace) -> int:
    """Publish a command, and wait for the answer. Raises ProblemError, and as publishing does."""
    from tinyssb_node.remote.sent import command_content
    from tinyssb_node.remote.words import check_words
    from tinyssb_node.screens.message_commands import open_node
    from tinyssb_node.screens.render import printable

    words = tuple(arguments.words)
    check_words(words)
    with open_node(arguments) as node:
        person = node.find_person(arguments.node)
        if person.own:
            raise ProblemError(
                "This is your own node. Nothing was published.",
                "Here you need no remote commands: tinyssb status",
                exit_code=ExitCode.USAGE,
            )
        key = _key(node.home)
        content = command_content(words, arguments.valid_minutes, person.feed, key)
        begin = _tip(node.client, person.feed) + 1
        row = node.publish(content)
        if not arguments.json:
            shown = node.names().shown(person.feed)
            print(f"Sent `{printable(' '.join(words))}` to {shown}, as entry {row.seq} of your feed.")
            sys.stdout.flush()
        answer = _wait(node.client, key, person.feed, begin, row.seq, arguments.wait)
    return _show_answer(arguments, person.feed, row.seq, answer)


def _wait(
    client: DaemonClient, key: SealKey, node: FeedId, begin: int, seq: int, patience_s: int
) -> RemoteAnswer | None:
    """Return the answer to the command *seq* among entries from *begin* on; None: it did not come in time."""
    from tinyssb_node.remote.sent import find_answer

    end_s = time.monotonic() + patience_s
    while True:
        if _tip(client, node) >= begin:
            answer = find_answer(list(client.log(node.hex(), first=begin)), key, node, seq)
            if answer is not None:
                return answer
        if time.monotonic() >= end_s:
            return None
        time.sleep(min(_POLL_S, max(0.0, end_s - time.monotonic())))


def _tip(client: DaemonClient, feed: FeedId) -> int:
    """Return how many entries of *feed* are here; 0 if it is not known."""
    return next((row.seq for row in list(client.feeds()) if row.feed == feed.hex()), 0)


def _show_answer(arguments: argparse.Namespace, node: FeedId, seq: int, answer: RemoteAnswer | None) -> int:
    from tinyssb_node.remote.messages import RemoteOutcome
    from tinyssb_node.remote.words import answer_lines
    from tinyssb_node.screens.render import print_json

    if arguments.json:
        print_json([_sent_json(node, seq, tuple(arguments.words), answer)])
    elif answer is None:
        print("No answer yet. It comes once the node is in reach, if it obeys you: tinyssb remote answers")
    else:
        print("\n".join(answer_lines(arguments.words, answer)))
    if answer is None:
        return ExitCode.BUSY
    return ExitCode.OK if answer.outcome == RemoteOutcome.DONE else ExitCode.ATTENTION


def _sent_json(
    node: FeedId, seq: int, words: tuple[str, ...], answer: RemoteAnswer | None
) -> dict[str, object]:
    from tinyssb_node.remote.words import outcome_word
    from tinyssb_node.screens.render import to_json

    return {
        "node": node.hex(),
        "seq": seq,
        "words": [*words],
        "outcome": None if answer is None else outcome_word(answer.outcome),
        "node_time_s": None if answer is None else answer.said_s,
        "body": None if answer is None else [to_json(value) for value in answer.body],
    }


def answers(arguments: argparse.Namespace) -> int:
    """List own commands and their answers, the latest last."""
    from tinyssb_node.remote.sent import sent_commands
    from tinyssb_node.remote.words import answer_lines
    from tinyssb_node.screens.message_commands import open_node
    from tinyssb_node.screens.render import local_time, print_json, printable

    with open_node(arguments) as node:
        found = sent_commands(node.client, _key(node.home), arguments.limit)
        names = node.names()
    if arguments.json:
        return print_json(_sent_json(one.node, one.seq, one.command.words, one.answer) for one in found)
    if not found:
        print("You gave no commands. To give one: tinyssb remote send NODE status")
    for one in found:
        print(f"{local_time(one.sent_us)}  to {names.shown(one.node)}, entry {one.seq}")
        lines = (
            [f"{printable(' '.join(one.command.words))}: no answer yet"]
            if one.answer is None
            else answer_lines(one.command.words, one.answer)
        )
        print("\n".join(f"     {line}" for line in lines))
    return 0


# --- both


def _home(arguments: argparse.Namespace) -> Home:
    import os

    from tinyssb_node.store.home import Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    return home


def _is_enabled(home: Home) -> bool:
    from tinyssb_node.daemon.config import read_config

    table = read_config(home).optional.get("remote")
    return table is not None and table.enabled


def _key(home: Home) -> SealKey:
    """Return the key of the main identity. Raises as ``unlock_identity`` does."""
    import os

    from tinyssb_node.content.private import SealKey
    from tinyssb_node.daemon.setup import unlock_identity
    from tinyssb_node.screens.passphrases import asker

    return SealKey(unlock_identity(home, os.environ, asker()).seed)
