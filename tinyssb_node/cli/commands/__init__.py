"""The commands, one module a subject. A module is imported when one of its commands is typed; ``add`` defines them."""

from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Final

from tinyssb_node.daemon import subjects
from tinyssb_node.screens.options import CommandParsers, Subparsers

MODULES: Final[Mapping[str, Mapping[str, str]]] = {
    f"{__name__}.node": {
        "init": "create a node: its key, its settings, its store",
        "run": "run the node",
        "status": "show node status",
        "id": "show the node's feed id",
    },
    f"{__name__}.identity": {"identity": "show how the node's key is stored, back it up, restore it"},
    f"{__name__}.service": {"service": "run the node as a service that starts with the machine"},
    f"{__name__}.publish": {
        "publish": "append an entry to the node's own feed, or to that of a further identity"
    },
    f"{__name__}.attach": {
        "attach": "publish a file of up to 64 kB",
        "fetch": "save an attached file, once all of it has arrived",
    },
    f"{__name__}.feeds": {
        "feeds": "list the feeds of the node's set",
        "log": "list a feed's entries",
        "show": "show one entry in full, and check its signature",
        "follow": "add a feed to the set and request its entries",
        "unfollow": "stop requesting a feed's entries",
        "purge": "delete what is stored of a feed that nobody here follows",
        "goset": "show the set of feed ids that peers agree on",
    },
    f"{__name__}.forks": {"forks": "list forked feeds: two entries were signed with one sequence number"},
    f"{__name__}.network": {
        "network": "list the node's networks: how full their sets are, and the keys of the sets"
    },
    f"{__name__}.chat": {"chat": "read and write messages"},
    f"{__name__}.group": {"group": "manage private groups, from which people can be excluded again"},
    f"{__name__}.thread": {"thread": "show how messages follow each other, or write them to a file"},
    f"{__name__}.board": {"board": "list and edit kanban boards"},
    f"{__name__}.people": {
        "alias": "publish your name, or show the one you published",
        "contacts": "list people, and give them names of your choice",
        "block": "hide a person's messages, and stop requesting their feed",
        "unblock": "show a person again, whatever lists say, and request their feed",
    },
    f"{__name__}.blocklist": {
        "blocklist": "list blocked people and who blocked them; publish your blocks, follow lists of others"
    },
    f"{__name__}.search": {"search": "find messages by their words"},
    f"{__name__}.inbox": {"inbox": "list unread messages, or show and announce new ones"},
    **subjects.commands("telemetry"),
    **subjects.commands("pzp"),
    **subjects.commands("islands"),
    f"{__name__}.receipts": {"receipts": "show which nodes have your entries, proven or inferred"},
    f"{__name__}.air": {
        "faces": "list the links that are up",
        "airtime": "show how much airtime the law still allows",
        "ether": "run a modelled LoRa channel for several nodes on one machine",
    },
    "tinyssb_node.tui.command": {
        "tui": "read and write messages, and see people, links and airtime, on a full-screen terminal"
    },
    "tinyssb_node.web.command": {"web": "serve a web page to read and write messages"},
    f"{__name__}.radio": {"radio": "examine the radios of this machine"},
    f"{__name__}.demo": {
        "demo": "run five nodes, a modelled channel and live analytics, without any hardware"
    },
    f"{__name__}.sim": {"sim": "play a mesh of modelled nodes in virtual time"},
    f"{__name__}.events": {"events": "show records of the event log"},
    **subjects.commands("remote"),
    **subjects.commands("alerts"),
    **subjects.commands("shipping"),
    f"{__name__}.keep": {
        "export": "write feeds to one file",
        "import": "import feeds from a file",
        "verify": "check every chain, signature and side chain of the store",
        "doctor": "find problems of the node, and show how to solve them",
    },
    f"{__name__}.carry": {
        "carry": "exchange entries with a folder that is carried from node to node, such as a memory stick"
    },
    f"{__name__}.shell": {"completion": "print a script that lets your shell complete commands"},
}
"""The modules that describe commands, in the order `--help` shows them, and the commands of each, with a summary."""


def add_all(subparsers: Subparsers) -> None:
    """Add every command."""
    for module in MODULES:
        _add(module, subparsers)


def add_typed(subparsers: Subparsers, argv: Sequence[str]) -> None:
    """Add what *argv* calls for, which is quicker: one module's commands, or only the summaries where it names none."""
    word = _command(argv)
    module = next((module for module, summaries in MODULES.items() if word in summaries), None)
    if module is not None:
        _add(module, subparsers)
        return
    for summaries in MODULES.values():
        for name, summary in summaries.items():
            subparsers.add_parser(name, help=summary, add_help=False)


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


def _add(module: str, subparsers: Subparsers) -> None:
    import_module(module).add(CommandParsers(subparsers, MODULES[module]))
