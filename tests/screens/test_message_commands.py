"""Notes on the index, shown by commands that read messages before they answer."""

import argparse
import sqlite3

from tests.catalog.mesh import Author, Home, post
from tinyssb_node.catalog.schema import CATALOG_FILE
from tinyssb_node.screens.message_commands import open_node


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
