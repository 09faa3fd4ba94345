"""`tinyssb`: reads the command line, runs one command, turns its errors into sentences and exit codes.

Kept quick: everything a command needs is imported by the command, when it runs.
"""

import argparse
import io
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from tinyssb_node import __version__
from tinyssb_node.cli import commands
from tinyssb_node.errors import ExitCode, LocalError


class Parser(argparse.ArgumentParser):
    """An argument parser that ends like every other error of ours."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong and where help is; exit 64."""
        say_error(f"{message[:1].upper()}{message[1:]}.", f"See `{self.prog} --help`.")
        sys.exit(ExitCode.USAGE)


def build_parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """The parser of all commands, or, which is quicker, one that is good for *argv*."""
    parser: argparse.ArgumentParser = Parser(
        prog="tinyssb",
        description="A node of a tinySSB mesh: publish, read, and keep signed feeds that travel over thin air.",
        epilog="Manual: docs/reference/cli.md. Exit codes are those of sysexits(3).",
    )
    parser.add_argument("--version", action="version", version=f"tinyssb {__version__}")
    parser.add_argument("--home", metavar="FOLDER", help="the node's folder (TINYSSB_HOME, ~/.tinyssb)")
    # A second --home behind the command must not undo one before it, so it has no default of its own.
    common = argparse.ArgumentParser(add_help=False)
    common.add_argument("--home", metavar="FOLDER", default=argparse.SUPPRESS, help=argparse.SUPPRESS)
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if argv is None:
        commands.add_all(subparsers, common)
    else:
        commands.add_typed(subparsers, common, argv)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Returns its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without a character shows its number: words of strangers end no command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else argv
    arguments = build_parser(argv).parse_args(argv)
    try:
        code = int(arguments.run(arguments))
        sys.stdout.flush()
    except LocalError as error:
        say_error(error.message, error.hint)
        if getattr(arguments, "supervised", False):
            from tinyssb_node.daemon.shutdown import report_exit_reason

            report_exit_reason(error.message, error.hint)
        return error.exit_code
    except BrokenPipeError:
        # Whoever read our output has seen enough (`tinyssb log me | head`); Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except KeyboardInterrupt:
        return 130
    return code


def say_error(message: str, hint: str) -> None:
    """What happened and what to do next, on standard error."""
    print(f"tinyssb: {message}" + (f"\n{hint}" if hint else ""), file=sys.stderr)
