"""Commands on the pages: all of them can be typed."""

import argparse
import re

import pytest

from spark_sink import cli as sink_cli
from tests.docs import pages
from tinyssb_node.cli.main import build_parser

PARSERS = {"tinyssb": build_parser, "tinyssb-sink": sink_cli.build_parser}
PAGES = {"tinyssb": "docs/reference/cli.md", "tinyssb-sink": "docs/reference/sink.md"}


def subcommands(parser: argparse.ArgumentParser) -> dict[str, argparse.ArgumentParser]:
    """The commands of *parser* by name."""
    actions = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    return dict(actions[0].choices) if actions else {}


def options(parser: argparse.ArgumentParser) -> list[str]:
    """Return the options of *parser*, as `--help` shows them."""
    return [
        string
        for action in parser._actions
        if action.help != argparse.SUPPRESS
        for string in action.option_strings
        if string not in {"-h", "--help"}
    ]


@pytest.mark.parametrize("program", PARSERS)
def test_every_command_in_a_shell_block_is_understood(
    program: str, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = []
    for place, words in pages.shell_commands(program):
        try:
            PARSERS[program]().parse_args(words)
        except SystemExit as end:
            if end.code != 0:
                wrong.append(f"{place}: {capsys.readouterr().err}")
    assert wrong == []


@pytest.mark.parametrize("program", PARSERS)
def test_every_command_named_in_a_sentence_exists(program: str) -> None:
    known = subcommands(PARSERS[program]())
    wrong = [
        str(place)
        for place, words in pages.inline_commands(program)
        if re.fullmatch(r"[a-z]+", words[0]) and words[0] not in known
    ]
    assert wrong == []


@pytest.mark.parametrize("program", PARSERS)
def test_every_command_and_option_is_documented(program: str) -> None:
    page = pages.read(PAGES[program])
    missing = []
    for name, command in subcommands(PARSERS[program]()).items():
        wanted = re.escape(f"{program} {name}")
        section = re.search(rf"^## `{wanted}\b.*?(?=^## |\Z)", page, re.MULTILINE | re.DOTALL)
        if section is None:
            missing.append(f"{program} {name}")
        else:
            missing += [
                f"{program} {name} {option}" for option in options(command) if option not in section[0]
            ]
    assert missing == []


def test_every_make_target_in_the_pages_exists() -> None:
    targets = set(re.findall(r"^([a-z-]+):.*##", pages.read("Makefile"), re.MULTILINE))
    said = [*pages.shell_commands("make"), *pages.inline_commands("make")]
    assert [str(place) for place, words in said if words and words[0] not in targets] == []
    assert len(said) > 3
