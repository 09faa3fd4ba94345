"""The commands, one module a subject. A module's ``add`` describes them; what they need is imported when they run."""

import argparse
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from tinyssb_node.daemon import subjects
from tinyssb_node.screens.options import Subparsers

MODULES: Final[Mapping[str, Sequence[str]]] = {
    f"{__name__}.node": ("init", "run", "status", "id"),
    f"{__name__}.identity": ("identity",),
    f"{__name__}.service": ("service",),
    f"{__name__}.publish": ("publish",),
    f"{__name__}.attach": ("attach", "fetch"),
    f"{__name__}.feeds": ("feeds", "log", "show", "follow", "unfollow", "goset"),
    f"{__name__}.forks": ("forks",),
    f"{__name__}.network": ("network",),
    f"{__name__}.chat": ("chat",),
    f"{__name__}.group": ("group",),
    f"{__name__}.thread": ("thread",),
    f"{__name__}.board": ("board",),
    f"{__name__}.people": ("alias", "contacts", "block", "unblock"),
    f"{__name__}.blocklist": ("blocklist",),
    f"{__name__}.search": ("search",),
    **subjects.commands("pzp"),
    **subjects.commands("islands"),
    f"{__name__}.receipts": ("receipts",),
    f"{__name__}.air": ("faces", "airtime", "ether"),
    "tinyssb_node.tui.command": ("tui",),
    "tinyssb_node.web.command": ("web",),
    f"{__name__}.radio": ("radio",),
    f"{__name__}.demo": ("demo",),
    f"{__name__}.sim": ("sim",),
    f"{__name__}.events": ("events",),
    **subjects.commands("shipping"),
    f"{__name__}.keep": ("export", "import", "verify", "doctor"),
    f"{__name__}.carry": ("carry",),
    f"{__name__}.shell": ("completion",),
}
"""The modules that describe commands, in the order `--help` shows them, and the commands of each."""


def add_all(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add every command."""
    for module in MODULES:
        _add(module, subparsers, common)


def add_typed(subparsers: Subparsers, common: argparse.ArgumentParser, argv: Sequence[str]) -> None:
    """Add what *argv* calls for, which is quicker: one module's commands, or all where it names none."""
    word = _command(argv)
    module = next((module for module, commands in MODULES.items() if word in commands), None)
    if module is None:
        add_all(subparsers, common)
    else:
        _add(module, subparsers, common)


def _command(argv: Sequence[str]) -> str | None:
    """The first word that is no option: those before a command are --home FOLDER and what ends at once."""
    words = iter(argv)
    for word in words:
        if word == "--home":
            next(words, None)
        elif not word.startswith("-"):
            return word
        elif not word.startswith("--home="):
            return None
    return None


def _add(module: str, subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    import_module(module).add(subparsers, common)
