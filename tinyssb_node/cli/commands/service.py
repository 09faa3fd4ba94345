"""`service`: the node as a systemd service."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from tinyssb_node.cli.systemd import CONFIG, STATE, FileState, Service, current_program, run_tool
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.options import CommandParsers, add_json
from tinyssb_node.screens.render import fields


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add("service", status, more="For Linux with systemd; install and uninstall need sudo.")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    installing = actions.add_parser("install", help="write the service's files; nothing is started yet")
    installing.set_defaults(run=install)
    installing.add_argument(
        "--program", type=Path, metavar="FILE", help="the program that the service starts (default: this one)"
    )
    uninstalling = actions.add_parser(
        "uninstall", help="stop the service and remove its files; key, feeds and settings stay"
    )
    uninstalling.set_defaults(run=uninstall)
    showing = actions.add_parser(
        "status", help="show whether the service is installed, up to date and running"
    )
    showing.set_defaults(run=status)
    add_json(showing)
    for action in (installing, uninstalling, showing):
        action.add_argument(
            "--root",
            type=Path,
            default=Path("/"),
            metavar="FOLDER",
            help="change the system in this folder, such as an SD card image (default: this machine)",
        )


def _service(arguments: argparse.Namespace) -> Service:
    program = getattr(arguments, "program", None) or current_program()
    return Service(arguments.root.absolute(), program.absolute(), run_tool)


def install(arguments: argparse.Namespace) -> int:
    """Write the service's files, and print the next commands."""
    service = _service(arguments)
    written = service.install()
    print("\n".join(f"Wrote {place}" for place in written) or "All files were up to date already.")
    print(f"Settings are in {CONFIG}; the key, the feeds and the event log will be in {STATE}.\n\nNext:")
    if service.has_node:
        print("    sudo systemctl restart tinyssb")
    else:
        print(f"    sudo -u tinyssb {service.program} --home {STATE} init")
        print("    sudo systemctl enable --now tinyssb")
    return ExitCode.OK


def uninstall(arguments: argparse.Namespace) -> int:
    """Remove the service's files, and print what stays."""
    removed = _service(arguments).uninstall()
    print("\n".join(f"Removed {place}" for place in removed) or "No service was installed.")
    print(f"Kept: {STATE} with the node's secret key, {CONFIG.parent}, and the user tinyssb.")
    return ExitCode.OK


def status(arguments: argparse.Namespace) -> int:
    """Show files and state. Return 1 if the service needs attention."""
    service = _service(arguments)
    files, manager = service.files(), service.manager()
    if arguments.json:
        print(
            json.dumps({"files": {str(place): state for place, state in files.items()}, "systemd": manager})
        )
    else:
        state = f"{manager.get('ActiveState', 'unknown')} ({manager.get('SubState', 'systemd does not run here')})"
        rows = [("service", state), ("starts with the machine", manager.get("UnitFileState") or "no")]
        rows += [("status", manager["StatusText"])] if manager.get("StatusText") else []
        print(fields([*rows, *((str(place), found.value) for place, found in files.items())]))
    well = manager.get("ActiveState") == "active" and set(files.values()) == {FileState.CURRENT}
    return ExitCode.OK if well else ExitCode.ATTENTION
