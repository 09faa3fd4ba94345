"""Everyday commands and the terminal screen print no sentence that is not a message."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.languages.extraction import PYTHON_FUNCTIONS, ROOT

TRANSLATED = sorted(
    path
    for pattern in (
        "tinyssb_node/cli/commands/attach.py",
        "tinyssb_node/cli/commands/chat.py",
        "tinyssb_node/cli/commands/group.py",
        "tinyssb_node/cli/commands/inbox.py",
        "tinyssb_node/cli/commands/node.py",
        "tinyssb_node/cli/commands/people.py",
        "tinyssb_node/cli/commands/search.py",
        "tinyssb_node/cli/chatlisting.py",
        "tinyssb_node/cli/grouplines.py",
        "tinyssb_node/screens/*words.py",
        "tinyssb_node/screens/chatlines.py",
        "tinyssb_node/screens/checkup.py",
        "tinyssb_node/screens/estimate.py",
        "tinyssb_node/screens/gaps.py",
        "tinyssb_node/screens/group_*.py",
        "tinyssb_node/screens/holders_text.py",
        "tinyssb_node/screens/inbox.py",
        "tinyssb_node/screens/localfile.py",
        "tinyssb_node/screens/message_commands.py",
        "tinyssb_node/tui/*.py",
    )
    for path in ROOT.glob(pattern)
)
WORDS = re.compile(r"[A-Za-z]{2,},? [a-z]{2,}")
NO_SENTENCE = re.compile(r"[`/: ]*tinyssb |group fetch |bold |event log$")
"""Commands to paste, and styles."""
ELSEWHERE = {"add", "add_action", "add_argument", "parser", "error", "ProblemError", "TypeVar", "namedtuple"}
"""Calls whose texts are no messages: help, which is English in all languages, and errors."""


def _called(node: ast.Call) -> str:
    """The name of the function that is called."""
    return node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")


def _is_help(node: ast.Assign) -> bool:
    """Tell if a text is for the help of a command."""
    return [one.id for one in node.targets if isinstance(one, ast.Name)] == ["more"]


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """Texts in a part of a module that are neither messages nor docstrings."""
    if isinstance(node, ast.Call) and _called(node) in ELSEWHERE | PYTHON_FUNCTIONS.keys():
        return
    if isinstance(node, ast.Raise | ast.Assert) or (isinstance(node, ast.Assign) and _is_help(node)):
        return
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.lineno, node.value
    for child in ast.iter_child_nodes(node):
        yield from _texts(child)


@pytest.mark.parametrize("path", TRANSLATED, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_sentences_are_messages(path: Path) -> None:
    bare = [
        (line, text)
        for line, text in _texts(ast.parse(path.read_text("utf-8")))
        if WORDS.search(text) and not NO_SENTENCE.match(text)
    ]
    assert bare == []
