"""`radio`: examination of this machine's radios, one at a time."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_bridge.boards import BoardError, BoardProfile, board_names, load_board
from firmware_bridge.libraries import install_command
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_json
from tinyssb_node.screens.render import print_json, table

if TYPE_CHECKING:
    from firmware_bridge.drivers.hardware import Hardware
    from firmware_bridge.drivers.probe import Finding

    Looked = tuple[Iterable[Finding], Sequence[str]]
    """Findings, and notes."""


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add(
        "radio", boards, more="Works without the daemon. A radio that the daemon uses cannot be examined."
    )
    actions = parser.add_subparsers(title="actions", metavar="ACTION", required=True)
    listing = actions.add_parser("boards", help="list the boards whose wiring is known")
    listing.set_defaults(run=boards)
    add_json(listing)
    probing = actions.add_parser(
        "probe", help="test a board, or identify the device at a serial port; sends nothing by radio"
    )
    probing.set_defaults(run=probe)
    looked_at = probing.add_mutually_exclusive_group(required=True)
    looked_at.add_argument("--board", metavar="BOARD", help="a name that `boards` lists, or a profile's path")
    looked_at.add_argument("--port", metavar="DEVICE", help="a serial port, or usb: and a USB serial number")
    probing.add_argument("--speed", type=int, metavar="N", help="bits a second at the port (115200)")
    probing.add_argument("--emulated", action="store_true", help="look at an emulation of the board instead")
    add_json(probing)
    firmware_files = actions.add_parser(
        "firmware", help="write the files that make a microcontroller a radio on a USB cable"
    )
    firmware_files.set_defaults(run=firmware)
    firmware_files.add_argument(
        "controller", metavar="BOARD", help="the microcontroller's name; a wrong one lists those there are"
    )
    firmware_files.add_argument("folder", metavar="FOLDER", type=Path, help="where to put them")


def boards(arguments: argparse.Namespace) -> int:
    """List board profiles."""
    profiles = [load_board(name) for name in board_names()]
    if arguments.json:
        return print_json(_board_row(profile) for profile in profiles)
    listed = [
        (profile.name, profile.chip.upper(), profile.bus.device, profile.tried or "no", profile.title)
        for profile in profiles
    ]
    print(table(("BOARD", "CHIP", "DEVICE", "TRIED", "TITLE"), listed))
    return 0


def _board_row(profile: BoardProfile) -> dict[str, object]:
    return {
        "board": profile.name,
        "title": profile.title,
        "chip": profile.chip,
        "device": profile.bus.device,
        "pins": profile.pins.used(),
        "bands_hz": profile.radio.bands_hz,
        "tried": profile.tried,
    }


def probe(arguments: argparse.Namespace) -> int:
    """Examine a board, or a serial port."""
    findings, notes = _look_at_port(arguments) if arguments.port else _look_at_board(arguments)
    well = True
    for finding in findings:
        well = well and finding.ok
        print(json.dumps(_finding_row(finding)) if arguments.json else _finding_text(finding), flush=True)
    if not arguments.json:
        for note in notes:
            print(f"note {note}")
    return ExitCode.OK if well else ExitCode.ATTENTION


def _look_at_port(arguments: argparse.Namespace) -> Looked:
    import asyncio

    from firmware_bridge.serial.limits import ANSWER_US, BAUD
    from tinyssb_node.faces.serial_probe import probe_port
    from tinyssb_node.faces.serial_spec import SPEEDS

    speed = arguments.speed or BAUD
    if speed not in SPEEDS:
        raise ProblemError(
            f"Serial ports have no speed of {speed} bits a second.",
            f"Choose one of {', '.join(map(str, SPEEDS))}.",
            exit_code=ExitCode.USAGE,
        )

    async def look() -> list[Finding]:
        return [finding async for finding in probe_port(arguments.port, speed, ANSWER_US / 1e6)]

    return asyncio.run(look()), ()


def _look_at_board(arguments: argparse.Namespace) -> Looked:
    from firmware_bridge.drivers.linux import open_linux
    from firmware_bridge.drivers.probe import probe as look

    try:
        profile = load_board(arguments.board)
    except BoardError as error:
        raise ProblemError(
            f"The board '{error.board}' cannot be used: {error.what}.",
            error.remedy,
            exit_code=ExitCode.MISSING,
        ) from error
    return look(profile, _open_emulated if arguments.emulated else open_linux), profile.notes


def firmware(arguments: argparse.Namespace) -> int:
    """Write the files that are copied onto a microcontroller."""
    from firmware_bridge.flashing import UnknownControllerError, controller_names, write_firmware

    folder: Path = arguments.folder
    try:
        compiled = write_firmware(arguments.controller, folder)
    except UnknownControllerError as error:
        raise ProblemError(
            f"There is no firmware for a board '{error.name}'. Nothing was written.",
            f"Boards with firmware: {', '.join(controller_names())}.",
            exit_code=ExitCode.MISSING,
        ) from error
    except OSError as error:
        raise ProblemError(
            f"{folder} cannot be written: {error.strerror}.",
            "Name a folder that you can write to.",
            exit_code=ExitCode.MISSING,
        ) from error
    print(f"Wrote the firmware for {arguments.controller} to {folder}.")
    if not compiled:
        print(
            "It is not compiled, and needs more of the board's memory. To compile it, install the "
            f"compiler, and repeat this: {install_command('firmware')}"
        )
    print("With MicroPython on the board, copy it there and start it:")
    print(f"  mpremote cp -r {folder / 'firmware_bridge'} {folder / 'main.py'} :")
    print("  mpremote reset")
    return 0


def _open_emulated(profile: BoardProfile) -> Hardware:
    """Emulate a board after its data sheets, in this process's time."""

    from firmware_bridge.emulation.board import EmulatedBoard
    from firmware_bridge.emulation.ether import Ether
    from firmware_bridge.emulation.timeline import Timeline

    return EmulatedBoard(profile, Ether(Timeline(lambda: time.monotonic_ns() // 1_000)), "probed").open()


def _finding_row(finding: Finding) -> dict[str, object]:
    return {
        "check": finding.check,
        "ok": finding.ok,
        "found": finding.found,
        "advice": finding.advice,
        "registers": [
            {
                "name": wrong.name,
                "address": wrong.address,
                "expected": wrong.expected,
                "found": wrong.found,
            }
            for wrong in finding.registers
        ],
    }


def _finding_text(finding: Finding) -> str:
    line = f"{'ok ' if finding.ok else 'BAD'}  {finding.check}: {finding.found}"
    return f"{line}\n     {finding.advice}" if finding.advice else line
