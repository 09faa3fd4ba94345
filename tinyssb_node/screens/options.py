"""Common arguments of commands."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name
else:
    Subparsers = object
"""Return value of ``ArgumentParser.add_subparsers``."""

Run = Callable[[argparse.Namespace], int]


class CommandParsers:
    """Parsers of the commands, with the options that all of them share."""

    def __init__(self, subparsers: Subparsers, summaries: Mapping[str, str]) -> None:
        """Add parsers to *subparsers*. *summaries* has a line about each command, as `--help` lists it."""
        self._subparsers = subparsers
        self._summaries = summaries

    def add(self, name: str, run: Run, *, more: str = "") -> argparse.ArgumentParser:
        """Add the command *name*, which is run by *run*; its help has *more* behind the summary."""
        return _add(self._subparsers, name, run, self._summaries[name], more)


def _add(subparsers: Subparsers, name: str, run: Run, summary: str, more: str) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(
        name, help=summary, description=f"{summary[:1].upper()}{summary[1:]}. {more}".rstrip()
    )
    # --home may follow the command, too. No default here: it would override a --home before the command.
    parser.add_argument("--home", metavar="FOLDER", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    parser.set_defaults(run=run)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")


def add_yes(parser: argparse.ArgumentParser) -> None:
    """Add --yes."""
    parser.add_argument("--yes", "-y", action="store_true", help="do not ask")


def add_feed(parser: argparse.ArgumentParser) -> None:
    """Add FEED."""
    parser.add_argument("feed", metavar="FEED", help="a feed id, the beginning of one, or `me`")


def add_network(parser: argparse.ArgumentParser) -> None:
    """Add --network."""
    parser.add_argument(
        "--network", metavar="NAME", help="one of the node's networks (default: the network `default`)"
    )


def add_limit(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    """Add --limit."""
    parser.add_argument(
        "--limit",
        type=positive,
        default=default,
        metavar="N",
        help=f"show the N newest {what} (default: {default})",
    )


def command_for(home: str | None, words: str) -> str:
    """Return the command `tinyssb` *words* to type for the node in a folder, as it was given with ``--home``, if it
    was."""
    return f"tinyssb {words}" if home is None else f"tinyssb --home {shlex.quote(home)} {words}"


def positive(text: str) -> int:
    """Parse a whole number from 1 on. Raises argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def add_actions(
    parser: argparse.ArgumentParser, *, again: bool = True
) -> Callable[..., argparse.ArgumentParser]:
    """Let *parser* take an action, or none. Return the function that adds one: its name, what runs it, a summary, and
    *more* for its help.

    Options of the command may stand before the action and, unless *again* is false, behind it.
    """
    # With the program's name given, argparse need not compute it, which takes a millisecond.
    actions = parser.add_subparsers(title="actions", metavar="ACTION", prog=parser.prog)

    def add(name: str, run: Run, summary: str, *, more: str = "") -> argparse.ArgumentParser:
        action = _add(actions, name, run, summary, more)
        if again:
            add_again(action)
        return action

    return add


def add_again(action: argparse.ArgumentParser) -> None:
    """Add --network and --json to an action whose command has them, too: an option given before the action is kept."""
    action.add_argument("--network", metavar="NAME", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    action.add_argument(
        "--json", action="store_true", default=argparse.SUPPRESS, help="print JSON, one object a line"
    )


def whole(text: str) -> int:
    """A whole number from 0 on, of 63 bits at most. Raises argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text) < 2**63):
        raise argparse.ArgumentTypeError(f"'{text}' is no whole number from 0 on")
    return int(text)


def hours(text: str) -> float:
    """A number of hours. Raises argparse.ArgumentTypeError."""
    try:
        return float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of hours") from None
