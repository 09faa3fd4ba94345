"""`completion`: completion of commands in the shell."""

import argparse

from tinyssb_node.screens.options import CommandParsers


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("completion", completion, more='For bash: eval "$(tinyssb completion bash)".')
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def completion(arguments: argparse.Namespace) -> int:
    """Print the script."""
    from tinyssb_node.cli.main import build_parser

    print(completion_script(build_parser(), arguments.shell))
    return 0


def completion_script(parser: argparse.ArgumentParser, shell: str) -> str:
    """Return the script that lets a *shell* complete the commands of a *parser*, their options, and names of files."""
    import shtab

    _complete_files(parser)
    return shtab.complete(parser, shell)


def _complete_files(parser: argparse.ArgumentParser) -> None:
    """Mark the arguments that are files or folders, so that the shell completes their names."""
    import shtab

    places = {"FILE": shtab.FILE, "FOLDER": shtab.DIRECTORY}
    for action in parser._actions:  # noqa: SLF001 - argparse has no public list
        if isinstance(action, argparse._SubParsersAction):  # noqa: SLF001 - as above
            for command in action.choices.values():
                _complete_files(command)
        elif isinstance(action.metavar, str) and action.metavar in places:
            vars(action)["complete"] = places[action.metavar]  # shtab reads this attribute
