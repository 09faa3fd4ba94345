"""Plugins for content types: one that fails is left out, and nothing else changes."""

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from tinyssb_node.codec import bipf
from tinyssb_node.content import chat
from tinyssb_node.screens import limits
from tinyssb_node.screens.content_plugins import GROUP, ContentPlugins, PluginText

TIDE = bipf.encode(["TIDE", 143])
MODULE = """
def tide(content):
    return "143 cm" if b"TIDE" in content else None
def long(content):
    return "x" * 100_000
def broken(content):
    raise RuntimeError("no water")
def leaves(content):
    raise SystemExit(3)
def number(content):
    return 143
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module with plugins."""
    (tmp_path / "harbour.py").write_text(MODULE)
    (tmp_path / "sunk.py").write_text("1 / 0")
    monkeypatch.syspath_prepend(str(tmp_path))


def plugins(reports: list[str], **named: str) -> ContentPlugins:
    return ContentPlugins([EntryPoint(name, value, GROUP) for name, value in named.items()], reports.append)


@pytest.mark.usefixtures("module")
def test_the_plugin_that_knows_the_content_gives_its_words() -> None:
    reports: list[str] = []
    found = plugins(reports, tide="harbour:tide")
    assert found.describe(TIDE) == PluginText("tide", "143 cm")
    assert found.describe(bipf.encode(["OTHER"])) is None
    assert reports == []


@pytest.mark.usefixtures("module")
def test_messages_of_ours_are_no_matter_of_plugins() -> None:
    found = plugins([], long="harbour:long")
    assert found.describe(chat.serialize(chat.Alias(name="Ana"))) is None
    assert found.describe(TIDE) is not None


@pytest.mark.usefixtures("module")
def test_words_have_a_bound() -> None:
    described = plugins([], long="harbour:long").describe(TIDE)
    assert described is not None
    assert len(described.text) == limits.PLUGIN_TEXT_MAX


@pytest.mark.usefixtures("module")
@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("harbour:broken", "RuntimeError: no water"),
        ("harbour:leaves", "SystemExit: 3"),
        ("harbour:number", "TypeError: int in place of a text"),
        ("harbour:absent", "AttributeError"),
        ("sunk:tide", "ZeroDivisionError"),
        ("nowhere:tide", "ModuleNotFoundError"),
    ],
)
def test_a_plugin_that_fails_is_reported_once_and_left_out(place: str, reason: str) -> None:
    reports: list[str] = []
    found = plugins(reports, bad=place, tide="harbour:tide")
    assert [found.describe(TIDE), found.describe(TIDE)] == [PluginText("tide", "143 cm")] * 2
    (report,) = reports
    assert report.startswith("The plugin 'bad' failed and is left out: ")
    assert reason in report


@pytest.mark.usefixtures("module")
def test_a_plugin_is_imported_only_if_there_is_content_for_it() -> None:
    sys.modules.pop("harbour", None)
    found = plugins([], tide="harbour:tide")
    found.describe(chat.serialize(chat.Alias(name="Ana")))
    assert "harbour" not in sys.modules
    found.describe(TIDE)
    assert "harbour" in sys.modules
