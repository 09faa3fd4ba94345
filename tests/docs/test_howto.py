"""The how-to pages: what they say to type can be typed, what they quote is said, and each is seen at once."""

import re
import textwrap
import tomllib
from pathlib import Path

import pytest

from firmware_bridge.firmware.boards.pico_rfm95 import BOARD
from firmware_bridge.flashing import controller_names
from tests.architecture.sources import ROOT
from tinyssb_node.daemon.config import parse_config
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.store.home import Home

HOWTO = ROOT / "docs" / "howto"
SCREEN_LINES = 50
"""Lines that a tall window shows."""
LOOKED_UP = {"trouble", "several-networks"}
"""Pages that do not lead to a node on the air: one is searched, one is about networks. All others are steps."""
STEPS = sorted(path.stem for path in HOWTO.glob("*.md") if path.stem not in LOOKED_UP)
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
    """Return the quotations in the first column of the trouble page's tables."""
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


@pytest.mark.parametrize("page", STEPS)
def test_each_page_is_seen_at_once(page: str) -> None:
    assert len((HOWTO / f"{page}.md").read_text("utf-8").splitlines()) <= SCREEN_LINES


def test_there_is_a_microcontroller_for_every_name() -> None:
    rows = [row for row in (HOWTO / "bridge-firmware.md").read_text("utf-8").splitlines() if row[:1] == "|"]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split("|")[2])]
    assert sorted(named) == controller_names()


def test_wires_are_where_the_firmware_looks_for_them() -> None:
    told = (ROOT / "docs/reference/bridge-firmware.md").read_text("utf-8")
    wires = {line: int(pin) for line, pin in re.findall(r"^\| (\w+) \| GPIO (\d+) \|", told, re.MULTILINE)}
    assert wires == {
        "SCK": BOARD.sck,
        "MOSI": BOARD.mosi,
        "MISO": BOARD.miso,
        "NSS": BOARD.cs,
        "RESET": BOARD.reset,
        "DIO0": BOARD.irq,
    }


def test_what_the_trouble_page_quotes_is_said() -> None:
    quoted = sentences()
    assert len(quoted) > 40
    assert [quote for quote in quoted if quote not in SOURCES] == []
