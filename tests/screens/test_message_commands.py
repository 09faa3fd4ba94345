"""Notes on the index, shown by commands that read messages before they answer."""

import argparse
import io
import sqlite3

import pytest

from tests.catalog.mesh import Author, Home, post
from tinyssb_node.catalog.schema import CATALOG_FILE
from tinyssb_node.errors import ProblemError
from tinyssb_node.screens.message_commands import agreed, open_node


def test_an_index_that_was_made_anew_is_said_once(tmp_path, capsys):
    ana = Author("ana")
    home = Home(tmp_path / "home", ana)
    home.keep([ana.say(post("soup"))])
    home.close()
    arguments = argparse.Namespace(home=str(home.folder), network=None)
    with open_node(arguments):
        assert capsys.readouterr().err == ""
    connection = sqlite3.connect(home.folder / CATALOG_FILE)
    connection.executescript("PRAGMA user_version = 99")
    connection.close()
    with open_node(arguments) as talk:
        assert [row.text for row in talk.catalog.messages("public")] == ["soup"]
    told = "tinyssb: The index of messages was rebuilt: it was of another version.\n"
    assert capsys.readouterr().err == told
    with open_node(arguments):
        assert capsys.readouterr().err == ""


def test_only_a_big_post_asks_and_needs_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def ask() -> list[str]:
        return ["This message takes 21 packets."]

    asking, sure = argparse.Namespace(yes=False), argparse.Namespace(yes=True)
    assert agreed(sure, ask)
    assert agreed(asking, list)
    assert capsys.readouterr().err == ""
    with pytest.raises(ProblemError, match="no terminal"):
        agreed(asking, ask)
    for typed, expected in (("y\n", True), ("\n", False)):
        monkeypatch.setattr("sys.stdin", Keyboard(typed))
        assert agreed(asking, ask) is expected
    assert "21 packets" in capsys.readouterr().err


class Keyboard(io.StringIO):
    """Standard input of a terminal."""

    def isatty(self) -> bool:
        return True
