"""`tui`: the node on a terminal's whole screen."""

import argparse
import sys

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import ProblemError
from tinyssb_node.screens.options import Subparsers, add_command, add_network


class TuiMissingError(ProblemError):
    """The library that draws the screen is not installed."""

    exit_code = ExitCode.UNAVAILABLE


class NoTerminalError(ProblemError):
    """There is nothing to draw on."""

    exit_code = ExitCode.USAGE


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the command."""
    parser = add_command(
        subparsers,
        common,
        "tui",
        tui,
        "talk, and see people, links and airtime, on the whole terminal",
        more="For 60 columns or more, over SSH too, without a mouse; `?` shows the keys.",
    )
    add_network(parser)


def tui(arguments: argparse.Namespace) -> int:
    """Show the screen until its user has seen enough."""
    try:
        from tinyssb_node.tui.app import Tui
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"textual", "rich"}:
            raise
        raise TuiMissingError(
            "The screen needs the library Textual.",
            "Install it with: pip install 'tinyssb-node[tui]'. `tinyssb chat` and all other commands do without.",
        ) from error
    from tinyssb_node.tui.source import NodeScreenSource

    source = NodeScreenSource(arguments.home, arguments.network)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise NoTerminalError(
            "There is no terminal to draw on.",
            "Run `tinyssb tui` in one; `ssh -t` gives one. `tinyssb chat` prints lines that can go anywhere.",
        )
    # The mouse is left to the terminal, so that text can be marked and copied as anywhere.
    Tui(source).run(mouse=False)
    return ExitCode.OK
