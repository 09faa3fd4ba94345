"""The commands, one module a subject. A module's ``add`` describes them; what they need is imported when they run."""

import argparse
from collections.abc import Sequence
from importlib import import_module
from typing import Final

from tinyssb_node.cli.options import Subparsers

MODULES: Final = {
    "node": ("init", "run", "status", "id"),
    "identity": ("identity",),
    "service": ("service",),
    "publish": ("publish",),
    "attach": ("attach", "fetch"),
    "feeds": ("feeds", "log", "show", "follow", "unfollow", "goset"),
    "forks": ("forks",),
    "network": ("network",),
    "chat": ("chat",),
    "group": ("group",),
    "thread": ("thread",),
    "board": ("board",),
    "people": ("alias", "contacts", "block", "unblock"),
    "blocklist": ("blocklist",),
    "search": ("search",),
    "pzp": ("pzp",),
    "gateway": ("gateway", "locate"),
    "receipts": ("receipts",),
    "air": ("faces", "airtime", "ether"),
    "tui": ("tui",),
    "web": ("web",),
    "radio": ("radio",),
    "demo": ("demo",),
    "sim": ("sim",),
    "events": ("events",),
    "ship": ("ship",),
    "keep": ("export", "import", "verify", "doctor"),
    "carry": ("carry",),
    "shell": ("completion",),
}
"""The modules of this folder, in the order `--help` shows them, and the commands that each describes."""


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
    import_module(f"{__name__}.{module}").add(subparsers, common)
