"""`completion`: completion of commands in the shell."""

import argparse

from firmware_bridge.libraries import install_command
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("completion", completion, more='For bash: eval "$(tinyssb completion bash)".')
    parser.add_argument("shell", choices=("bash", "zsh"))


def completion(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from tinyssb_node.cli.main import build_parser

    try:
        import shtab
    except ImportError as error:
        raise ProblemError(
            "Shell completion needs the library shtab.",
            f"Install it with: {install_command('completion')}",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error
    print(shtab.complete(build_parser(), arguments.shell))
    return 0
