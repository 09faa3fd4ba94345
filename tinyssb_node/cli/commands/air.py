"""`faces`, `airtime`, `ether`: the node's links, their airtime by law, and a modelled channel."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from tinyssb_node import limits
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import AirtimeRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, positive
from tinyssb_node.screens.render import duration, print_json, table

if TYPE_CHECKING:
    from tinyssb_node.faces.ether_protocol import Command, EtherStatus

_HOST = "127.0.0.1"


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parser = commands.add("faces", faces)
    add_json(parser)
    add_action = add_actions(parser, again=False)
    action = add_action("restart", restart, "close a configured face, and open it again")
    action.add_argument("name", metavar="NAME", help="the name of the face")
    action = add_action("set", tune, "try other settings of a radio, which go back unless they are confirmed")
    action.add_argument("name", metavar="NAME", help="the name of the face")
    action.add_argument(
        "settings", metavar="KEY=VALUE", nargs="+", type=_setting, help="such as power=10 or sf=9"
    )
    action.add_argument(
        "--minutes", metavar="N", type=positive, default=15, help="when they go back (default: 15)"
    )
    action = add_action("confirm", confirm, "keep the settings of a radio that are on trial")
    action.add_argument("name", metavar="NAME", help="the name of the face")
    add_json(
        commands.add(
            "airtime",
            airtime,
            more="One line for each sub-band in which the node sends and the law sets a limit.",
        )
    )
    parser = commands.add(
        "ether",
        ether,
        more="Nodes join it with the face ether:HOST:PORT?name=NAME. With an action: control a channel that runs.",
    )
    parser.add_argument("--host", default=_HOST, help=f"its address (default: {_HOST})")
    parser.add_argument(
        "--port", type=_port, default=limits.ETHER_PORT, help=f"its port (default: {limits.ETHER_PORT})"
    )
    parser.add_argument(
        "--sf", type=int, choices=range(7, 13), default=7, help="spreading factor (default: 7)"
    )
    parser.add_argument(
        "--loss",
        type=_share,
        default=0.0,
        help="share of packets lost besides collisions, 0 to 1 (default: 0)",
    )
    parser.add_argument(
        "--time-scale", type=_scale, default=1.0, help="how much faster than real time it runs (default: 1)"
    )
    parser.add_argument("--json", action="store_true", help="with an action: print the ether's state as JSON")
    actions = parser.add_subparsers(title="actions", metavar="ACTION", dest="action")
    cut = actions.add_parser("cut", help="keep the nodes of LEFT and those of RIGHT from hearing each other")
    cut.add_argument("left", metavar="LEFT", type=_names, help="names of nodes, separated by commas")
    cut.add_argument("right", metavar="RIGHT", type=_names, help="names of nodes, separated by commas")
    actions.add_parser("heal", help="undo all cuts")
    actions.add_parser("status", help="show the nodes of the channel, and the cuts")


def restart(arguments: argparse.Namespace) -> int:
    """Restart a face."""
    with DaemonClient.at_home(arguments.home) as node:
        row = node.restart_face(arguments.name)
    print(f"Restarted {row.face} ({row.spec}). `tinyssb status` shows whether it could be opened.")
    return 0


def tune(arguments: argparse.Namespace) -> int:
    """Try other settings of a radio."""
    with DaemonClient.at_home(arguments.home) as node:
        row = node.tune_face(arguments.name, dict(arguments.settings), arguments.minutes)
    print(
        f"In {limits.TRIAL_DELAY_S} s {row.face} becomes {row.spec}, for {arguments.minutes} min. "
        f"To keep that, confirm it in that time: tinyssb faces confirm {row.face}"
    )
    return 0


def confirm(arguments: argparse.Namespace) -> int:
    """Keep the settings of a radio that are on trial."""
    with DaemonClient.at_home(arguments.home) as node:
        row = node.confirm_face(arguments.name)
    print(f"Confirmed: {row.face} stays {row.spec}, until its spec in config.toml is changed.")
    return 0


def _setting(text: str) -> tuple[str, str]:
    """Parse KEY=VALUE. Raises argparse.ArgumentTypeError."""
    key, mark, value = text.partition("=")
    if not (key and mark and value):
        raise argparse.ArgumentTypeError(f"'{text}' is no setting such as power=10")
    return key, value


def faces(arguments: argparse.Namespace) -> int:
    """List the links that are up."""
    with DaemonClient.at_home(arguments.home) as node:
        rows = list(node.faces())
    if arguments.json:
        return print_json(row.fields() for row in rows)
    header = ("FACE", "MEDIUM", "SENT", "RECEIVED", "NEW", "INVALID", "WAITING", "HEARD")
    listed = [
        (
            row.face,
            row.medium,
            row.sent,
            row.received,
            row.new,
            row.invalid,
            row.queued + row.outstanding,
            "never" if row.heard_us is None else duration(row.heard_us) + " ago",
        )
        for row in rows
    ]
    print(table(header, listed))
    return 0


def airtime(arguments: argparse.Namespace) -> int:
    """Show the airtime accounts."""
    with DaemonClient.at_home(arguments.home) as node:
        rows = list(node.airtime())
    if arguments.json:
        return print_json(row.fields() for row in rows)
    if rows:
        print(airtime_table(rows))
    else:
        print("No link that is up has an airtime limit.")
    return 0


def airtime_table(rows: Sequence[AirtimeRow]) -> str:
    """Format one line for each account: times in seconds, because an hour's allowance is minutes at most."""
    header = ("SUB-BAND", "USED", "OF", "DUTY", "LEFT", "ADVERTS", "CONTENT", "NEXT PACKET", "FACES")
    listed = [
        (
            row.band,
            f"{row.used_us / 1e6:.1f} s",
            f"{row.limit_us / 1e6:.1f} s",
            f"{100 * row.used_us / row.window_us:.2f} %",
            f"{row.left_us / 1e6:.1f} s",
            f"{row.advert_left_us / 1e6:.1f} s",
            f"{row.content_left_us / 1e6:.1f} s",
            next_packet(row.wait_us),
            ", ".join(row.faces),
        )
        for row in rows
    ]
    return table(header, listed)


def next_packet(wait_us: int | None) -> str:
    """Return when the next full packet may be sent, in words."""
    if wait_us is None:
        return "not while the disk is full"
    return "now" if wait_us == 0 else f"in {duration(wait_us)}"


def ether(arguments: argparse.Namespace) -> int:
    """Run an ether, or control one."""
    import asyncio

    from tinyssb_node.faces.ether_protocol import EtherGetStatus
    from tinyssb_node.sim.ether import ether_command

    if arguments.action is None:
        return _run_ether(arguments)
    host, port = arguments.host, arguments.port
    if arguments.action == "cut":
        _require_names(
            (*arguments.left, *arguments.right), asyncio.run(ether_command(host, port, EtherGetStatus()))
        )
    status = asyncio.run(ether_command(host, port, _command(arguments)))
    print(_as_json(status) if arguments.json else _as_table(status))
    return 0


def _run_ether(arguments: argparse.Namespace) -> int:
    import asyncio

    from firmware_bridge.lora import LoraSettings
    from tinyssb_node.sim.ether import EtherConfig, serve_ether
    from tinyssb_node.sim.medium import MediumOptions

    medium = MediumOptions(lora=LoraSettings(spreading_factor=arguments.sf), default_loss=arguments.loss)
    config = EtherConfig(
        host=arguments.host, port=arguments.port, medium=medium, time_scale=arguments.time_scale
    )

    def ready(port: int) -> None:
        print(f"The ether listens at {arguments.host}:{port}. Press Ctrl-C to end it.", flush=True)
        sys.stdout.flush()

    async def serve() -> None:
        serving = asyncio.ensure_future(serve_ether(config, ready=ready))
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, serving.cancel)
        await asyncio.wait([serving])
        if not serving.cancelled():
            serving.result()

    asyncio.run(serve())
    return 0


def _require_names(names: Sequence[str], status: EtherStatus) -> None:
    """Check that all *names* are of nodes that are on the ether, or were."""
    there = {node.name for node in status.nodes}
    for name in names:
        if name not in there:
            raise ProblemError(
                f"No node on the ether has the name '{name[: limits.FACE_NAME_MAX]}'. Nothing was cut.",
                f"Nodes on the ether: {', '.join(sorted(there))}."
                if there
                else "No node has joined the ether yet.",
                exit_code=ExitCode.MISSING,
            )


def _command(arguments: argparse.Namespace) -> Command:
    from tinyssb_node.faces.ether_protocol import EtherCut, EtherGetStatus, EtherHeal

    if arguments.action == "cut":
        return EtherCut(left=arguments.left, right=arguments.right)
    return EtherHeal() if arguments.action == "heal" else EtherGetStatus()


def _as_json(status: EtherStatus) -> str:
    import msgspec

    return msgspec.json.encode(status).decode()


def _as_table(status: EtherStatus) -> str:
    header = ("NODE", "HERE", "SENT", "AIRTIME", "HEARD", "COLLIDED", "LOST")
    nodes = [
        (
            node.name,
            node.connected,
            node.sent,
            duration(node.airtime_us),
            node.heard,
            node.collided,
            node.lost,
        )
        for node in status.nodes
    ]
    cuts = [f"cut: {', '.join(left)} | {', '.join(right)}" for left, right in status.cuts]
    return "\n".join([table(header, nodes), *cuts])


def _names(text: str) -> tuple[str, ...]:
    return tuple(text.split(","))


def _port(text: str) -> int:
    if not text.isdecimal() or int(text) > 65_535:
        raise argparse.ArgumentTypeError(f"'{text}' is not a port, which is a number from 0 to 65535")
    return int(text)


def _share(text: str) -> float:
    return _number(text, 0.0, 1.0)


def _scale(text: str) -> float:
    return _number(text, 0.001, 10_000.0)


def _number(text: str, low: float, high: float) -> float:
    try:
        number = float(text)
    except ValueError:
        number = float("nan")
    if not low <= number <= high:
        raise argparse.ArgumentTypeError(f"'{text}' is not a number from {low:g} to {high:g}")
    return number
