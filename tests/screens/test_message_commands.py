"""Notes on the index, shown by commands that read messages before they answer."""

import argparse
import io
import sqlite3
from dataclasses import dataclass
from typing import cast

import pytest

from tests.catalog.mesh import Author, Home, post
from tests.screens.test_estimate import account, face
from tinyssb_node.catalog.schema import CATALOG_FILE
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import AirtimeRow, FaceRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.message_commands import agreed, open_node, tell_cost


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


@dataclass
class FakeDaemon:
    """A daemon with one radio."""

    radios: int = 1

    def faces(self) -> list[FaceRow]:
        return [face("radio")][: self.radios]

    def airtime(self) -> list[AirtimeRow]:
        return [account("radio")][: self.radios]


def test_what_it_costs_is_shown_before(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def tell(packets: int, *, radios: int = 1, **options: bool) -> str:
        arguments = argparse.Namespace(**{"yes": False, "json": False, **options})
        tell_cost(arguments, cast("DaemonClient", FakeDaemon(radios)), packets)
        return capsys.readouterr().err

    assert tell(2) == "radio: 2 packets, 0.4 s of airtime, 1 % of this hour's budget\n"
    assert tell(2, radios=0) == tell(2, json=True) == ""
    assert tell(21, yes=True) == "radio: 21 packets, 4.3 s of airtime, 12 % of this hour's budget\n"
    monkeypatch.setattr("sys.stdin", Keyboard("y\n"))
    assert tell(21).startswith("This message takes 21 packets.\nradio: 21 packets, 4.3 s")
    monkeypatch.setattr("sys.stdin", Keyboard("\n"))
    with pytest.raises(ProblemError, match="did not agree") as caught:
        tell(21, json=True)
    assert caught.value.exit_code is ExitCode.ATTENTION
    assert "21 packets" in capsys.readouterr().err
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    with pytest.raises(ProblemError, match=r"no terminal .* Nothing was published"):
        tell(21)


class Keyboard(io.StringIO):
    """Standard input of a terminal."""

    def isatty(self) -> bool:
        return True
