"""`completion`: completion of commands in the shell."""

import argparse

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import Subparsers, add_command


class CompletionMissingError(ProblemError):
    """The library for completion scripts is not installed."""

    exit_code = ExitCode.UNAVAILABLE


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Define the command."""
    parser = add_command(
        subparsers,
        common,
        "completion",
        completion,
        "print a script that lets your shell complete commands",
        more='For bash: eval "$(tinyssb completion bash)".',
    )
    parser.add_argument("shell", choices=("bash", "zsh"))


def completion(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from tinyssb_node.cli.main import build_parser

    try:
        import shtab
    except ImportError as error:
        raise CompletionMissingError(
            "Shell completion needs the library shtab.",
            "Install it with: pip install 'tinyssb-node[completion]'",
        ) from error
    print(shtab.complete(build_parser(), arguments.shell))
    return 0
