"""Every command with input that is wrong, on nodes where something lacks: a sentence, and an exit code of sysexits."""

import argparse
import io
import random
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.daemon.processes import make_home
from tinyssb_node.cli.main import build_parser, main
from tinyssb_node.errors import ExitCode

STAY = {"run", "demo", "tui", "web", "ether", "sim", "gateway"}
"""Commands that go on until they are stopped, and those that need no node."""
SAID = {ExitCode(code) for code in ExitCode if code >= ExitCode.USAGE} - {ExitCode.SOFTWARE}
FINDINGS = {"doctor", "service", "pzp"}
"""Commands that list what is wrong as their output, with an exit code that says so."""


def leaves(parser: argparse.ArgumentParser, words: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Each command with *WRONG* where it must have an argument."""
    below = [action for action in parser._actions if isinstance(action, argparse._SubParsersAction)]
    for action in below:
        for name, child in action.choices.items():
            yield from leaves(child, (*words, name))
    if not below:
        yield (*words, *needed(parser))


def needed(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if action.required and action.option_strings:
            yield action.option_strings[0]
        if action.nargs in ("*", "?", 0) or (action.option_strings and not action.required):
            continue
        yield str(next(iter(action.choices))) if action.choices else "WRONG"


COMMANDS = [words for words in leaves(build_parser()) if not STAY & set(words[:2])]


@pytest.fixture(scope="module")
def homes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("homes")
    found = {name: root / name for name in ("no daemon", "config", "store", "identity", "no store")}
    for path in found.values():
        make_home(path, "ws:listen:127.0.0.1:0")
    (found["config"] / "config.toml").write_text("faces = [")
    (found["store"] / "store.sqlite").write_bytes(b"not a store" * 500)
    (found["identity"] / "identity").write_bytes(random.Random(1).randbytes(300))
    (found["no store"] / "store.sqlite").unlink()
    return found | {"no home": root / "nowhere"}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    root = tmp_path_factory.mktemp("inputs")
    (root / "binary").write_bytes(random.Random(1).randbytes(5_000))
    (root / "empty").touch()
    return {
        "an unknown id": "0" * 64,
        "nothing": "",
        "a number": "1",
        "a megabyte": "x" * 1_000_000,
        "control characters": "\x1b[2J\udcff",
        "no such file": str(root / "no" / "such"),
        "a binary file": str(root / "binary"),
        "an empty file": str(root / "empty"),
    }


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_whatever_is_wrong_it_is_said_in_a_sentence(
    words: tuple[str, ...],
    homes: dict[str, Path],
    inputs: dict[str, str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)  # some of it can be the name of a file to write
    cases = [("no daemon", wrong) for wrong in inputs] + [(home, "an unknown id") for home in homes]
    for number, (name, wrong) in enumerate(cases):
        home = tmp_path / str(number)
        if homes[name].exists():
            shutil.copytree(homes[name], home)
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
        try:
            code = main(
                ["--home", str(home), *(inputs[wrong] if word == "WRONG" else word for word in words)]
            )
        except SystemExit as end:
            code = int(end.code or 0)
        out, err = capsys.readouterr()
        case = f"{name}, {wrong}: {code}, {err}"
        assert code in {ExitCode.OK, *SAID} or words[0] in FINDINGS, case
        assert err or out or code == ExitCode.OK, case
        assert len(err) < 1_200, case
        assert all(char.isprintable() or char == "\n" for char in err), case
        assert not err or err.startswith("tinyssb: ") or words[0] in FINDINGS, case
