"""`tinyssb`: parses the command line, runs one command, and turns its errors into sentences and exit codes.

Kept quick: only the module of the typed command is imported, and `--help` imports none.
"""

import argparse
import io
import os
import re
import sys
from collections.abc import Sequence
from typing import NoReturn

from tinyssb_node import version
from tinyssb_node.cli import commands
from tinyssb_node.errors import ExitCode, LocalError

_CHOICES_LISTED = 20
_LONG_WORD = re.compile(r"(\S{200})\S{100,}")


class Parser(argparse.ArgumentParser):
    """An argument parser whose errors look like all other errors of `tinyssb`."""

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse a value that is not among the choices: with the most similar one, or all where they are few."""
        if action.choices is None or value in action.choices:
            return
        from difflib import get_close_matches

        choices = [str(choice) for choice in action.choices]
        near = get_close_matches(str(value), choices, 1)
        if near:
            raise argparse.ArgumentError(action, f"{value!r} is unknown. Did you mean {near[0]!r}?")
        listed = f": choose from {', '.join(choices)}" if len(choices) <= _CHOICES_LISTED else ""
        raise argparse.ArgumentError(action, f"{value!r} is unknown{listed}.")

    def _match_arguments_partial(
        self, actions: Sequence[argparse.Action], arg_strings_pattern: str
    ) -> list[int]:
        """Return how many words each positional takes. One that may be left out waits for words behind options, as it
        does since Python 3.12.7: `thread export public --format json FILE`."""
        counts: list[int] = super()._match_arguments_partial(actions, arg_strings_pattern)
        while counts and counts[-1] == 0 and "O" in arg_strings_pattern:
            counts.pop()
        return counts

    def error(self, message: str) -> NoReturn:
        """Print what is wrong and where to find help, and exit with 64."""
        end = "" if message.endswith((".", "?")) else "."
        print_error(f"{message[:1].upper()}{message[1:]}{end}", f"Type `{self.prog} --help` for help.")
        sys.exit(ExitCode.USAGE)


class ShowVersion(argparse.Action):
    """The option ``--version``, which looks the version up only if it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        """Print the version and end."""
        print(f"tinyssb {version()}")
        parser.exit()


def build_parser(argv: Sequence[str] | None = None) -> argparse.ArgumentParser:
    """Build the parser of all commands or, for *argv*, of those it may name and a list of the others."""
    parser: argparse.ArgumentParser = Parser(
        prog="tinyssb",
        description="A node of a tinySSB mesh: publish, read and store signed feeds, by radio or any other link.",
        epilog="Manual: docs/reference/cli.md. Exit codes are those of sysexits(3).",
    )
    parser.add_argument("--version", action=ShowVersion, nargs=0, help="show the version and exit")
    parser.add_argument(
        "--home", metavar="FOLDER", help="the node's home folder (default: TINYSSB_HOME, else ~/.tinyssb)"
    )
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    if argv is None:
        commands.add_all(subparsers)
    else:
        commands.add_typed(subparsers, argv)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command. Return its exit code."""
    for stream in (sys.stdout, sys.stderr):
        # A character that the terminal lacks is shown by its number: no stranger's text may end a command.
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    argv = sys.argv[1:] if argv is None else argv
    arguments = build_parser(argv).parse_args(argv)
    from tinyssb_node.screens.languages import environment_language, speak

    try:
        # What programs read is the same in all languages, and so are logs: those of processes that the daemon starts.
        read_by_program = getattr(arguments, "json", False) or getattr(arguments, "supervised", False)
        speak(None if read_by_program else environment_language())
        code = int(arguments.run(arguments))
        sys.stdout.flush()
    except LocalError as error:
        from tinyssb_node.screens.error_texts import translated

        print_error(translated(error.message), translated(error.hint))
        if getattr(arguments, "supervised", False):
            from tinyssb_node.daemon.shutdown import report_exit_reason

            report_exit_reason(error.message, error.hint)
        return error.exit_code
    except BrokenPipeError:
        # The reader of our output closed the pipe (`tinyssb log me | head`); Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return ExitCode.OK
    except KeyboardInterrupt:
        return 130
    finally:
        speak(None)
    return code


def print_error(message: str, hint: str) -> None:
    """Print what happened and what to do next to standard error. It may quote any bytes that were typed."""
    from tinyssb_node.screens.safetext import safe

    text = f"tinyssb: {message}" + (f"\n{hint}" if hint else "")
    print(safe(_LONG_WORD.sub(r"\1…", text)), file=sys.stderr)
