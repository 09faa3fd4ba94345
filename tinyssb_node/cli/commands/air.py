"""`faces`, `ether`: links to the outside, and a modelled channel to try them on."""

import argparse
import json

from tinyssb_node.cli.options import Subparsers, add_command, add_json


def add(subparsers: Subparsers, common: argparse.ArgumentParser) -> None:
    """Describe the commands."""
    add_json(add_command(subparsers, common, "faces", faces, "list the links that are up"))


def faces(arguments: argparse.Namespace) -> int:
    """List faces."""
    from tinyssb_node.cli.client import Client
    from tinyssb_node.cli.render import duration, table

    with Client.at_home(arguments.home) as node:
        rows = list(node.faces())
    if arguments.json:
        for row in rows:
            print(json.dumps(row))
        return 0
    header = ("FACE", "MEDIUM", "SENT", "RECEIVED", "WAITING", "HEARD")
    listed = [
        (
            row["face"],
            row["medium"],
            row["sent"],
            row["received"],
            row["queued"] + row["outstanding"],
            "never" if row["heard_us"] is None else duration(row["heard_us"]) + " ago",
        )
        for row in rows
    ]
    print(table(header, listed))
    return 0
