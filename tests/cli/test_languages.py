"""Commands in the language of the environment; what programs read, and errors, in English."""

from pathlib import Path

import pytest

from tests.cli.talkers import Talkers, make_talkers
from tests.daemon.processes import tinyssb
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.languages import LANGUAGES


@pytest.fixture(scope="module")
def talkers(tmp_path_factory: pytest.TempPathFactory) -> Talkers:
    return make_talkers(tmp_path_factory.mktemp("talk") / "home")


@pytest.fixture
def german(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")


@pytest.mark.usefixtures("german")
def test_everyday_commands_speak_german(talkers: Talkers, tmp_path: Path) -> None:
    made = tinyssb(tmp_path / "n", "init", "--name", "ana").stdout.decode()
    assert "Der Knoten 'ana' wurde in " in made
    assert f"\nStarten: tinyssb --home {tmp_path / 'n'} run\n" in made
    chat = tinyssb(talkers.folder, "chat").stdout.decode()
    assert "[wartet auf 07070707]" in chat
    listed = tinyssb(talkers.folder, "chat", "list")
    assert listed.stdout.decode().split()[:3] == ["MIT", "NACHRICHTEN", "LETZTE"]
    assert listed.stderr.decode().startswith("tinyssb: Private Gruppen sind nicht aufgeführt")
    assert "NENNT SICH" in tinyssb(talkers.folder, "contacts").stdout.decode()


def test_what_programs_read_is_the_same_in_all_languages(
    talkers: Talkers, monkeypatch: pytest.MonkeyPatch
) -> None:
    commands = (["chat"], ["chat", "list"], ["contacts"], ["inbox"], ["id"])
    english = [tinyssb(talkers.folder, *command, "--json").stdout for command in commands]
    assert all(english[:3])
    for language in LANGUAGES:
        monkeypatch.setenv("LC_ALL", language)
        assert [tinyssb(talkers.folder, *command, "--json").stdout for command in commands] == english


@pytest.mark.usefixtures("german")
def test_errors_are_german_and_help_is_english(talkers: Talkers) -> None:
    ended = tinyssb(talkers.folder, "chat", "--with", "nobody-here")
    assert ended.returncode != ExitCode.OK
    assert ended.stderr.decode().startswith(
        "tinyssb: Dieser Knoten kennt keine Person „nobody-here“.\nPersonen "
    )
    read_by_program = tinyssb(talkers.folder, "chat", "--with", "nobody-here", "--json")
    assert read_by_program.stderr.decode().startswith("tinyssb: This node knows no person 'nobody-here'.")
    assert "show the N latest messages" in tinyssb(talkers.folder, "chat", "--help").stdout.decode()
