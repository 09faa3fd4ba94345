"""Common arguments of commands."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    Subparsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - argparse has no public name
else:
    Subparsers = object
"""Return value of ``ArgumentParser.add_subparsers``."""

Run = Callable[[argparse.Namespace], int]


def add_command(
    subparsers: Subparsers,
    common: argparse.ArgumentParser,
    name: str,
    run: Run,
    summary: str,
    *,
    more: str = "",
) -> argparse.ArgumentParser:
    """Add the command *name*, which is run by *run*."""
    parser = subparsers.add_parser(
        name,
        parents=[common],
        help=summary,
        description=f"{summary[:1].upper()}{summary[1:]}. {more}".rstrip(),
    )
    parser.set_defaults(run=run)
    return parser


def add_json(parser: argparse.ArgumentParser) -> None:
    """Add --json."""
    parser.add_argument("--json", action="store_true", help="print JSON, one object a line")


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


def positive(text: str) -> int:
    """Parse a whole number from 1 on. Raises argparse.ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and 0 < int(text) < 2**32):
        raise argparse.ArgumentTypeError(f"'{text}' is not a whole number from 1 on")
    return int(text)


def add_actions(
    parser: argparse.ArgumentParser, common: argparse.ArgumentParser
) -> Callable[..., argparse.ArgumentParser]:
    """Let *parser* take an action, or none. Return the function that adds one: its name, what runs it, a summary.

    Options of the command may stand before the action and, given to ``add_again``, behind it. Returns what adds one:
    its name, what runs it, a summary.

    Options of the command may stand before the action and, given to ``add_again``, behind it.
    """
    # With the program's name given, argparse need not compute it, which takes a millisecond.
    actions = parser.add_subparsers(title="actions", metavar="ACTION", prog=parser.prog)

    def add(name: str, run: Run, summary: str) -> argparse.ArgumentParser:
        action: argparse.ArgumentParser = actions.add_parser(
            name, parents=[common], help=summary, description=f"{summary[:1].upper()}{summary[1:]}."
        )
        action.set_defaults(run=run)
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
