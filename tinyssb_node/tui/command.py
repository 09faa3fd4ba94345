"""`tui`: the node on a full-screen terminal."""

import argparse
import sys
from collections.abc import Callable

from firmware_bridge.libraries import install_command
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_network


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add(
        "tui", tui, more="Needs 60 columns or more and no mouse, and works over SSH. `?` shows the keys."
    )
    parser.add_argument(
        "--notify",
        choices=("bell", "osc9", "osc777"),
        metavar="HOW",
        help="tell of new messages: `bell` rings, `osc9` and `osc777` ask the terminal for a desktop notification",
    )
    add_network(parser)


def tui(arguments: argparse.Namespace) -> int:
    """Run the screen until its user quits."""
    try:
        from tinyssb_node.tui.app import Tui
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] not in {"textual", "rich"}:
            raise
        raise ProblemError(
            "The terminal screen needs the library Textual, which is not installed.",
            f"Install it with: {install_command('tui')}\nAll other commands, such as `tinyssb chat`, "
            "work without it.",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error
    from tinyssb_node.tui.source import NodeScreenSource

    source = NodeScreenSource(arguments.home, arguments.network)
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise ProblemError(
            "Standard input or output is not a terminal.",
            "Type `tinyssb tui` on a terminal (over SSH use `ssh -t`), or use `tinyssb chat`, which needs none.",
            exit_code=ExitCode.USAGE,
        )
    # The mouse is left to the terminal, so that text can be selected and copied as usual.
    Tui(source, notify=_notifier(arguments.notify)).run(mouse=False)
    return ExitCode.OK


def _notifier(how: str | None) -> Callable[[int], None] | None:
    """Return the function that notifies through the terminal; None: nothing does."""
    if how is None:
        return None
    from tinyssb_node.tui.notices import Notice, sequence

    notice = Notice(how)

    def notify(count: int) -> None:
        # The stream that Textual itself writes to; these sequences move no cursor.
        stream = sys.__stderr__ or sys.stdout
        stream.write(sequence(notice, count))
        stream.flush()

    return notify
