"""The commands, one module a subject. A module's ``add`` describes them; what they need is imported when they run."""

import argparse

from tinyssb_node.cli.commands import (
    air,
    demo,
    events,
    feeds,
    keep,
    node,
    publish,
    radio,
    receipts,
    service,
    shell,
    sim,
    web,
)
from tinyssb_node.cli.options import Subparsers


def add_all(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Add every command, in the order `--help` shows them."""
    for module in (node, service, publish, feeds, receipts, air, web, radio, demo, sim, events, keep, shell):
        module.add(subparsers, common)
