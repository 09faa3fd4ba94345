"""The how-to pages: what they say to type can be typed, what they quote is said, and each is seen at once."""

import re
import textwrap
import tomllib
from pathlib import Path

import pytest

from tests.architecture.sources import ROOT
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.daemon.home import Home
from tinyssb_node.faces.spec import parse_spec

HOWTO = ROOT / "docs" / "howto"
SCREEN_LINES = 50
"""What a tall window shows."""
RADIOS = ("first-node", "lora-hat", "serial-radio", "rnode", "meshtastic", "ble", "lan")
TROUBLE = (HOWTO / "trouble.md").read_text("utf-8")
SOURCES = "\n".join(
    # Sentences are broken into several literals where lines end.
    re.sub(r'"\n\s*f?"', "", path.read_text("utf-8"))
    for package in ("tinyssb_node", "firmware_bridge")
    for path in (ROOT / package).rglob("*.py")
)
COMMANDS = re.compile(r"^(tinyssb|sudo|journalctl|&|--|rfkill)")


def blocks(language: str) -> list[tuple[str, str]]:
    """Every code block of a language in the how-to pages, with its page's name."""
    return [
        (path.stem, textwrap.dedent(block))
        for path in sorted(HOWTO.glob("*.md"))
        for block in re.findall(
            rf"^ *```{language}\n(.*?)^ *```$", path.read_text("utf-8"), re.MULTILINE | re.DOTALL
        )
    ]


def sentences() -> list[str]:
    """What the first column of the trouble page's tables quotes."""
    cells = [line.split("|")[1] for line in TROUBLE.splitlines() if re.match(r"\| [^-y]", line)]
    quoted = [quote for cell in cells for quote in re.findall(r"`([^`]+)`", cell)]
    return [quote for quote in quoted if not COMMANDS.match(quote)]


@pytest.mark.parametrize(("page", "block"), blocks("toml"))
def test_settings_are_what_a_daemon_takes(page: str, block: str, tmp_path: Path) -> None:
    config = parse_config(Home(tmp_path), tomllib.loads(block))
    for face in config.faces:
        parse_spec(face)


def test_there_are_settings_of_every_kind_of_radio() -> None:
    told = "\n".join(block for _, block in blocks("toml"))
    kinds = (
        "lora:",
        "kiss:",
        "rnode:",
        "meshtastic:",
        "ble:peripheral",
        "ble:central",
        "ws:listen",
        "ws:connect",
    )
    assert [kind for kind in kinds if f'"{kind}' not in told] == []


@pytest.mark.parametrize("page", RADIOS)
def test_each_page_is_seen_at_once(page: str) -> None:
    assert len((HOWTO / f"{page}.md").read_text("utf-8").splitlines()) <= SCREEN_LINES


def test_what_the_trouble_page_quotes_is_said() -> None:
    quoted = sentences()
    assert len(quoted) > 40
    assert [quote for quote in quoted if quote not in SOURCES] == []
