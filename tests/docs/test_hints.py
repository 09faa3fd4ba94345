"""No page, message or script installs a program of ours by a name on PyPI: the names there are not ours."""

import re
import subprocess

import pytest

from tests.architecture.sources import ROOT

INSTALLERS = re.compile(
    r"\b(?:pip3? (?:install|download)|pipx (?:install|run)|uv (?:tool|pip) (?:install|run)|uvx)\b"
)
OURS = re.compile(r"tinyssb(?:[-_]\w+)?(?:[\[=<>~!@].*)?")
"""A word that is looked up on PyPI: a path would have a slash."""


def by_name(text: str) -> list[str]:
    """Return the commands in *text* that install a program of ours by its name on PyPI."""
    commands = []
    for match in INSTALLERS.finditer(text.replace("\\\n", " ")):
        rest = match.string[match.end() :]
        command = re.split(r"[`\n;&|#]", rest, maxsplit=1)[0]
        if any(OURS.fullmatch(word.strip("'\"(),.")) for word in command.split()):
            commands.append(match[0] + command)
    return commands


@pytest.mark.parametrize(
    "line",
    [
        "pip install tinyssb",
        "pip install tinyssb-node",
        "pip install 'tinyssb-node[web]'",
        "pip install --upgrade tinyssb_sink",
        "pipx install tinyssb-node",
        "pipx install tinyssb",
        "uv tool install 'tinyssb-node[tui]'",
        "f\"Install it with: pip install 'tinyssb-node[{extra}]'\"",
        "pip install \\\n    tinyssb-node",
    ],
)
def test_a_name_is_noticed(line: str) -> None:
    assert by_name(line)


@pytest.mark.parametrize(
    "line",
    [
        "pip install '.[web]'",
        "pip install ./tinyssb_node-0.1.0-py3-none-any.whl",
        "pipx install './tinyssb_node-0.1.0-py3-none-any.whl[tui,web]'",
        "pipx inject tinyssb-node textual",
        "sudo /opt/tinyssb/bin/pip install '.[web]'",
        "pip install /usr/src/tinyssb",
        "pip install rns; tinyssb run",
    ],
)
def test_a_path_is_fine(line: str) -> None:
    assert by_name(line) == []


def test_nothing_is_installed_by_a_name_that_is_not_ours() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True, text=True)
    found = {}
    for name in listed.stdout.split("\0"):
        path = ROOT / name
        if not name or name == "tests/docs/test_hints.py" or not path.is_file():
            continue
        lines = by_name(path.read_bytes().decode("utf-8", errors="ignore"))
        if lines:
            found[name] = lines
    assert found == {}
