"""`radio`: examination of this machine's radios, one at a time."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from firmware_bridge.boards import BoardError, BoardProfile, board_names, load_board
from firmware_bridge.libraries import install_command
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_json, positive
from tinyssb_node.screens.render import print_json, table

if TYPE_CHECKING:
    from firmware_bridge.drivers.hardware import Hardware
    from firmware_bridge.drivers.probe import Finding
    from tinyssb_node.store.port import Store

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
        "probe",
        help="test a board or Bluetooth, or identify a device at a serial port; sends nothing by radio",
    )
    probing.set_defaults(run=probe)
    _add_radio(probing)
    add_json(probing)
    reporting = actions.add_parser(
        "report", help="examine a radio, and print a report for the project; sends nothing by radio"
    )
    reporting.set_defaults(run=report)
    _add_radio(reporting)
    pairing = actions.add_parser(
        "pair-test", help="let two radios on one desk send to each other, and compare their times with theory"
    )
    pairing.set_defaults(run=pair_test)
    pairing.add_argument("radios", metavar="FACE", nargs=2, help="a radio, as in config.toml")
    pairing.add_argument(
        "--packets", type=positive, default=20, metavar="N", help="packets each way (default: 20)"
    )
    add_json(pairing)
    firmware_files = actions.add_parser(
        "firmware", help="write the files that make a microcontroller a radio on a USB cable"
    )
    firmware_files.set_defaults(run=firmware)
    firmware_files.add_argument(
        "controller", metavar="BOARD", help="the microcontroller's name; a wrong one lists those there are"
    )
    firmware_files.add_argument("folder", metavar="FOLDER", type=Path, help="where to put them")


def _add_radio(parser: argparse.ArgumentParser) -> None:
    """Let the user name a board, a port, or Bluetooth."""
    looked_at = parser.add_mutually_exclusive_group(required=True)
    looked_at.add_argument("--board", metavar="BOARD", help="a name that `boards` lists, or a profile's path")
    looked_at.add_argument("--port", metavar="DEVICE", help="a serial port, or usb: and a USB serial number")
    looked_at.add_argument(
        "--bluetooth",
        metavar="ADAPTER",
        nargs="?",
        const="",
        help="Bluetooth: the first adapter that is on, or this",
    )
    parser.add_argument("--speed", type=int, metavar="N", help="bits a second at the port (115200)")
    parser.add_argument("--emulated", action="store_true", help="look at an emulation of the board instead")


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
    """Examine a board, a serial port, or Bluetooth."""
    findings, notes = _look(arguments)
    well = True
    for finding in findings:
        well = well and finding.ok
        print(json.dumps(_finding_row(finding)) if arguments.json else _finding_text(finding), flush=True)
    if not arguments.json:
        for note in notes:
            print(f"note {note}")
    return ExitCode.OK if well else ExitCode.ATTENTION


def report(arguments: argparse.Namespace) -> int:
    """Print a report of a radio, for people who send it to the project."""
    from tinyssb_node.cli.radio_report import report_lines, timed

    findings, _ = _look(arguments)
    found = list(timed(findings))
    if arguments.bluetooth is not None:
        radio, private = "Bluetooth", []
    elif arguments.port:
        radio, private = "a device at a serial port", [arguments.port, str(Path(arguments.port).resolve())]
    else:
        # A profile of one's own may be in a folder with one's name.
        radio, private = Path(arguments.board).name, [str(Path(arguments.board).parent)]
    emulated = " (EMULATED: not a report of hardware)" if arguments.emulated else ""
    print("\n".join(report_lines(f"{radio}{emulated}", [word for word in private if len(word) > 1], found)))
    print(
        "Complete the last line, and send all of it to the project as an issue. It has no name, key, address or "
        "position.",
        file=sys.stderr,
    )
    return ExitCode.OK if all(one.finding.ok for one in found) else ExitCode.ATTENTION


def pair_test(arguments: argparse.Namespace) -> int:
    """Let two radios send to each other."""
    import asyncio

    from tinyssb_node.cli.pair_test import AirAccount, run_pair_test
    from tinyssb_node.cli.pair_words import pair_words
    from tinyssb_node.daemon.clock import SystemClock, find_boot
    from tinyssb_node.faces.spec import open_endpoint

    emulated = [_is_emulated(spec) for spec in arguments.radios]
    clock = SystemClock()
    with _account_store(arguments, emulated=any(emulated)) as store:
        account = AirAccount(store, find_boot(clock), clock)
        endpoints = (open_endpoint(arguments.radios[0]), open_endpoint(arguments.radios[1]))
        try:
            directions = asyncio.run(run_pair_test(endpoints, arguments.packets, account, clock))
        except OSError as error:
            raise ProblemError(
                f"A radio failed during the test: {error}.",
                "Examine it: tinyssb radio probe.",
                exit_code=ExitCode.UNAVAILABLE,
            ) from error
        store.commit(clock.wall_us())
    if arguments.json:
        print_json(direction.fields() for direction in directions)
    else:
        print("\n".join(pair_words(directions, arguments.packets)))
    whole = all(len(direction.packets) == arguments.packets for direction in directions)
    well = whole and not any(direction.lost or direction.is_early for direction in directions)
    return ExitCode.OK if well else ExitCode.ATTENTION


def _is_emulated(spec: str) -> bool:
    """Return whether the face *spec* is an emulated radio. Raises FaceSpecError, and ProblemError if it is no radio."""
    from tinyssb_node.faces.lora_spec import LoraSpec
    from tinyssb_node.faces.serial_spec import KissSpec, MeshcoreSpec, MeshtasticSpec, RnodeSpec
    from tinyssb_node.faces.spec import parse_spec

    parsed = parse_spec(spec)
    if not isinstance(parsed, LoraSpec | KissSpec | RnodeSpec | MeshtasticSpec | MeshcoreSpec):
        raise ProblemError(
            f"{spec} is not a LoRa radio.",
            "Name two radios as in config.toml: lora:BOARD, kiss:DEVICE, rnode:DEVICE, meshtastic:DEVICE, "
            "meshcore:DEVICE.",
            exit_code=ExitCode.USAGE,
        )
    return isinstance(parsed, LoraSpec) and parsed.emulated


@contextmanager
def _account_store(arguments: argparse.Namespace, *, emulated: bool) -> Iterator[Store]:
    """Yield the store with the node's account of airtime; an empty one if there is no node here, or nothing is sent on
    air. Raises StoreLockedError while the daemon runs."""
    from tinyssb_node.store.home import Home
    from tinyssb_node.store.memory import MemoryStore

    home = Home.find(arguments.home, os.environ)
    if emulated or not home.identity.exists():
        yield MemoryStore()
        return
    from tinyssb_node.store.sqlite import SqliteStore

    store = SqliteStore.open(home.store)
    try:
        yield store
    finally:
        store.close()


def _look(arguments: argparse.Namespace) -> Looked:
    """Begin to examine what the user named."""
    if arguments.bluetooth is not None:
        return _look_at_bluetooth(arguments.bluetooth or None), ()
    return _look_at_port(arguments) if arguments.port else _look_at_board(arguments)


def _look_at_bluetooth(adapter: str | None) -> Iterator[Finding]:
    from firmware_bridge.ble.errors import BluetoothError
    from firmware_bridge.ble.stacks import BluezStack
    from firmware_bridge.drivers.probe import Finding

    try:
        yield from _one_by_one(BluezStack(adapter).probe())
    except BluetoothError as missing:
        yield Finding(check="packages", ok=False, found=missing.what, advice=missing.remedy)


def _look_at_port(arguments: argparse.Namespace) -> Looked:
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
    return _one_by_one(probe_port(arguments.port, speed, ANSWER_US / 1e6)), ()


def _one_by_one(findings: AsyncIterator[Finding]) -> Iterator[Finding]:
    """Run each check when it is asked for."""
    import asyncio

    async def following() -> Finding | None:
        return await anext(findings, None)

    with asyncio.Runner() as runner:
        while (finding := runner.run(following())) is not None:
            yield finding


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
