"""`position` and `telemetry`: show where people and nodes are, and what they measure; share and withdraw the own."""

from __future__ import annotations

import argparse
import re
import sys
from typing import TYPE_CHECKING, Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json, add_network, add_yes, whole

if TYPE_CHECKING:
    from tinyssb_node.catalog.rows import TelemetryRow
    from tinyssb_node.content.telemetry import PositionRecord, TelemetryRecord
    from tinyssb_node.daemon.config import Config
    from tinyssb_node.screens.session import NodeSession
    from tinyssb_node.telemetry.plan import TelemetryPlan
    from tinyssb_node.telemetry.sources.measured import Measured

_VALIDITY: Final = re.compile(r"([1-9][0-9]{0,5})([mhd])")
_MINUTES: Final = {"m": 1, "h": 60, "d": 1_440}
_PLACE: Final = re.compile(
    r"\s*([+-]?[0-9]{1,2}(?:\.[0-9]{1,12})?)\s*[,\s]\s*([+-]?[0-9]{1,3}(?:\.[0-9]{1,12})?)\s*"
)
_NAME_CELLS: Final = 20
_STATUS_CELLS: Final = 40
_FOR_GOOD: Final = (
    "Everyone who has your feed can read this position, and the earlier ones, for good. "
    "`tinyssb position stop` withdraws it from screens."
)


def add(commands: CommandParsers) -> None:
    """Describe the commands."""
    parser = commands.add("position", positions, more="Nothing is shared unless you say so.")
    _add_listing(parser)
    add_action = add_actions(parser)
    action = add_action("share", share_position, "publish your position once")
    action.add_argument("--at", metavar="LAT,LON", type=_place, help="degrees (default: ask the sources)")
    action.add_argument("--altitude", metavar="M", type=float, help="metres above sea level, with --at")
    action.add_argument(
        "--precision",
        metavar="M",
        type=whole,
        help="side of the grid on which it is published (default: telemetry.precision_m); 0: exact",
    )
    _add_validity(action)
    add_yes(action)
    _add_group(action)
    action = add_action(
        "stop", stop_position, "withdraw your position, and share none at intervals until you share again"
    )
    _add_group(action)
    parser = commands.add("telemetry", telemetry, more="Without an action it lists the latest values.")
    _add_listing(parser)
    add_action = add_actions(parser)
    action = add_action("share", share_sensors, "publish the values of your sensors once")
    action.add_argument("--status", metavar="TEXT", help="a text that goes with them")
    action.add_argument(
        "--only-status", action="store_true", help="publish the text alone, without values of sensors"
    )
    _add_validity(action)
    _add_group(action)
    add_action("status", status, "show what is shared at intervals, with whom, how often, and what is next")
    add_action("sources", sources, "show what the sources say now; nothing is published")
    action = add_action("run", run, "share at intervals; the daemon does so if `telemetry.enabled` is true")
    action.add_argument("--supervised", action="store_true", help="end when standard input does")


def _add_listing(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--all", action="store_true", help="show expired and withdrawn ones, too")
    add_network(parser)
    add_json(parser)


def _add_validity(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--for",
        dest="valid_minutes",
        metavar="TIME",
        type=_minutes,
        help="how long it is valid: 30m, 2h, 7d, or `next`: until the next one (default: a day)",
    )


def _add_group(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "--group", metavar="GROUP", help="for a private group alone: its name, or digits of its id"
    )


def _minutes(text: str) -> int:
    """Parse a validity. Raises argparse.ArgumentTypeError."""
    from tinyssb_node.content.limits import VALID_MINUTES_MAX

    if text == "next":
        return 0
    found = _VALIDITY.fullmatch(text)
    minutes = 0 if found is None else int(found[1]) * _MINUTES[found[2]]
    if not 0 < minutes <= VALID_MINUTES_MAX:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no time such as 30m, 2h or 7d, up to 366d, and not `next`"
        )
    return minutes


def _place(text: str) -> tuple[float, float]:
    """Parse latitude and longitude. Raises argparse.ArgumentTypeError."""
    found = _PLACE.fullmatch(text)
    latitude, longitude = (float(found[1]), float(found[2])) if found else (1e3, 1e3)
    if abs(latitude) > 90 or abs(longitude) > 180:
        raise argparse.ArgumentTypeError(
            f"'{text}' is no place such as 47.3769,8.5417: degrees north, then east"
        )
    return latitude, longitude


# --- showing


def positions(arguments: argparse.Namespace) -> int:
    """List the latest position of each person."""
    from tinyssb_node.content.telemetry import PositionRecord
    from tinyssb_node.screens.message_commands import open_node
    from tinyssb_node.screens.render import print_json, table
    from tinyssb_node.screens.telemetry import wall_us
    from tinyssb_node.telemetry.words import age, motion_in_words, place_in_words, validity, way_in_words

    now_us = wall_us()
    with open_node(arguments) as node:
        rows = _shown(node, arguments, PositionRecord, now_us)
        names, audiences = node.names(), _audiences(node, rows)
    if arguments.json:
        return print_json(_json(row, now_us) for row in rows)
    if not rows:
        print("Nobody shares a position. To share yours: tinyssb position share")
        return 0
    own = (row.record for row in rows if row.own)
    here = next((one for one in own if isinstance(one, PositionRecord)), None)
    listed = []
    for row in rows:
        record = row.record
        assert isinstance(record, PositionRecord)
        way = "" if row.own else way_in_words(here, record)
        listed.append(
            (
                names.shown(row.feed),
                place_in_words(record),
                motion_in_words(record),
                way,
                audiences[row.group],
                age(row, now_us),
                validity(row, now_us),
            )
        )
    print(table(("NAME", "POSITION", "ALTITUDE, SPEED", "FROM YOU", "FOR", "AGE", "VALID FOR"), listed))
    return 0


def telemetry(arguments: argparse.Namespace) -> int:
    """List the latest values of each node's sensors."""
    from tinyssb_node.content.telemetry import SensorRecord
    from tinyssb_node.screens.message_commands import open_node
    from tinyssb_node.screens.render import print_json, table
    from tinyssb_node.screens.telemetry import wall_us
    from tinyssb_node.telemetry.words import age, sensors_in_words, text_cell, validity

    now_us = wall_us()
    with open_node(arguments) as node:
        rows, names = _shown(node, arguments, SensorRecord, now_us), node.names()
        audiences = _audiences(node, rows)
    if arguments.json:
        return print_json(_json(row, now_us) for row in rows)
    if not rows:
        print("Nobody shares values of sensors. To share yours: tinyssb telemetry share")
        return 0
    listed = []
    for row in rows:
        record = row.record
        assert isinstance(record, SensorRecord)
        values = ", ".join(sensors_in_words(record))
        about = (text_cell(text, _NAME_CELLS) for text in (record.hardware, record.version))
        texts = (text_cell(record.status, _STATUS_CELLS), *about)
        cells = (names.shown(row.feed), values, *texts, audiences[row.group])
        listed.append((*cells, age(row, now_us), validity(row, now_us)))
    print(table(("NAME", "VALUES", "STATUS", "HARDWARE", "VERSION", "FOR", "AGE", "VALID FOR"), listed))
    return 0


def _shown(
    node: NodeSession, arguments: argparse.Namespace, kind: type[TelemetryRecord], now_us: int
) -> list[TelemetryRow]:
    """Return the rows of a kind that are valid, or all, the latest first."""
    from tinyssb_node.content.telemetry import time_us
    from tinyssb_node.screens.telemetry import latest_valid, shared_telemetry

    rows = [row for row in shared_telemetry(node) if isinstance(row.record, kind)]
    if not arguments.all:
        return latest_valid(rows, now_us)
    return sorted(rows, key=lambda row: (-time_us(row.record, row.committed_us), row.feed))


def _audiences(node: NodeSession, rows: list[TelemetryRow]) -> dict[str | None, str]:
    """Return in words with whom records are shared."""
    groups = {one.name: one.title for one in node.groups() or ()} if any(row.group for row in rows) else {}
    return {
        None: "everybody",
        **{row.group: groups.get(row.group, "") or row.group[:8] for row in rows if row.group},
    }


def _json(row: TelemetryRow, now_us: int) -> dict[str, object]:
    from tinyssb_node.content.telemetry import expires_us, is_valid, record_fields, time_us

    return {
        "feed": row.feed.hex(),
        "own": row.own,
        "group": row.group,
        "time_us": time_us(row.record, row.committed_us),
        "arrived_us": row.committed_us,
        "expires_us": expires_us(row.record, row.committed_us),
        "valid": is_valid(row.record, row.committed_us, now_us),
        **record_fields(row.record),
    }


# --- sharing


def share_position(arguments: argparse.Namespace) -> int:
    """Publish the position once. Raises ProblemError, and as publishing does."""
    from tinyssb_node.content.telemetry import coarsened
    from tinyssb_node.screens.telemetry import said_s, wall_us
    from tinyssb_node.telemetry.config import telemetry_config
    from tinyssb_node.telemetry.sources.measured import Measured, position_record
    from tinyssb_node.telemetry.words import place_in_words

    config = _config(arguments)
    if arguments.at is None:
        measured = _measured(config)
    else:
        latitude, longitude = arguments.at
        measured = Measured(latitude=latitude, longitude=longitude, altitude_m=arguments.altitude)
    record = position_record(measured, said_s(wall_us()), arguments.valid_minutes)
    if record is None:
        raise ProblemError(
            "No source says where this node is. Nothing was published.",
            "Give the place: tinyssb position share --at 47.3769,8.5417. Or name a source in config.toml: "
            "docs/howto/telemetry.md",
            exit_code=ExitCode.UNAVAILABLE,
        )
    precision_m = telemetry_config(config).precision_m if arguments.precision is None else arguments.precision
    record = coarsened(record, precision_m)
    if not _agrees(arguments, record):
        return ExitCode.ATTENTION
    return _share(arguments, record, f"Shared {place_in_words(record)}")


def _agrees(arguments: argparse.Namespace, record: PositionRecord) -> bool:
    """Ask before a position becomes public. Raises ProblemError."""
    from tinyssb_node.screens.screen import confirm
    from tinyssb_node.telemetry.words import place_in_words

    if arguments.yes or arguments.group is not None:
        return True
    print(f"Your position: {place_in_words(record)}. {_FOR_GOOD}", file=sys.stderr)
    if confirm(
        "Publish it?", kept="Nothing was published.", otherwise="Add --yes to publish without being asked."
    ):
        return True
    print("Nothing was published.", file=sys.stderr)
    return False


def stop_position(arguments: argparse.Namespace) -> int:
    """Withdraw the position."""
    from tinyssb_node.content.telemetry import withdrawal
    from tinyssb_node.screens.telemetry import said_s, wall_us

    return _share(arguments, withdrawal(said_s(wall_us())), "Withdrew your position from screens")


def share_sensors(arguments: argparse.Namespace) -> int:
    """Publish the values of sensors once. Raises ProblemError, and as publishing does."""
    from dataclasses import replace

    from tinyssb_node.screens.telemetry import said_s, wall_us
    from tinyssb_node.telemetry.measure import VERSION
    from tinyssb_node.telemetry.sources.measured import Measured, sensor_record
    from tinyssb_node.telemetry.words import sensors_in_words

    measured = Measured() if arguments.only_status else _measured(_config(arguments))
    if arguments.status is not None:
        measured = replace(measured, status=arguments.status)
    record = sensor_record(measured, said_s(wall_us()), arguments.valid_minutes, VERSION)
    if record is None:
        raise ProblemError(
            "No source has a value. Nothing was published.",
            "Give a text: tinyssb telemetry share --status 'all is well'. Sources: docs/howto/telemetry.md",
            exit_code=ExitCode.UNAVAILABLE,
        )
    try:
        _serialized(record)
    except ProblemError:
        record = replace(record, version=None)
    try:
        _serialized(record)
    except ProblemError:
        record = replace(record, hardware=None)
    texts = [f"'{text}'" for text in (record.status, record.hardware) if text]
    values = [*sensors_in_words(record), *texts]
    return _share(arguments, record, f"Shared {', '.join(values)}")


def _share(arguments: argparse.Namespace, record: TelemetryRecord, what: str) -> int:
    """Publish a record, to everybody or to a group. Raises ProblemError, and as publishing does."""
    from tinyssb_node.screens.message_commands import describe_published, open_node, tell_cost

    content = _serialized(record)
    with open_node(arguments) as node:
        if arguments.group is None:
            return describe_published(arguments, f"{what} as", node.publish(content))
        client = node.client
        tell_cost(arguments, client, client.group_share_cost(arguments.group, content).packets)
        row = client.group_share(arguments.group, content)
    if arguments.json:
        from tinyssb_node.screens.render import print_json

        return print_json([row.fields()])
    print(f"{what} for the group {row.group[:8]}, {row.packets} packets.")
    return 0


def _serialized(record: TelemetryRecord) -> bytes:
    """Serialize what a user typed. Raises ProblemError."""
    from tinyssb_node.content.telemetry import TelemetryRoomError, serialize_telemetry

    try:
        return serialize_telemetry(record)
    except TelemetryRoomError as error:
        raise ProblemError(
            f"{error}",
            "A status alone has room for 29 bytes, and for fewer beside values.",
            exit_code=ExitCode.DATA,
        ) from error


def _config(arguments: argparse.Namespace) -> Config:
    import os

    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.store.home import Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    return read_config(home)


def _measured(config: Config) -> Measured:
    """Read the sources; those that fail are named on standard error."""
    from tinyssb_node.telemetry.measure import measure

    measurement = measure(config)
    for problem in measurement.problems:
        print(f"tinyssb: {problem.reason}. {problem.hint}", file=sys.stderr)
    return measurement.measured


# --- what is shared at intervals


def sources(arguments: argparse.Namespace) -> int:
    """Show what the sources say."""
    from dataclasses import asdict

    from tinyssb_node.screens.render import fields, print_json

    stated = {
        name: value for name, value in asdict(_measured(_config(arguments))).items() if value is not None
    }
    if arguments.json:
        return print_json([stated])
    print(fields([*stated.items()]) if stated else "No source has a value. Sources: docs/howto/telemetry.md")
    return 0


def status(arguments: argparse.Namespace) -> int:
    """Show what is shared at intervals."""
    from tinyssb_node.screens.message_commands import open_node
    from tinyssb_node.screens.render import fields, print_json
    from tinyssb_node.screens.telemetry import wall_us
    from tinyssb_node.telemetry.config import telemetry_config
    from tinyssb_node.telemetry.plan import plan
    from tinyssb_node.telemetry.plan_words import plan_json, plan_lines

    config = _config(arguments)
    settings, now_us = telemetry_config(config), wall_us()
    with open_node(arguments) as node:
        plans: list[TelemetryPlan] = plan(settings, node, now_us)
    if arguments.json:
        return print_json(plan_json(one, enabled=settings.enabled) for one in plans)
    print(fields(plan_lines(plans, settings, now_us)))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Share at intervals until SIGTERM, Ctrl-C, or the end of the daemon that started it."""
    from tinyssb_node.daemon.logs import start_logging
    from tinyssb_node.screens.session import NodeSession
    from tinyssb_node.telemetry.sender import TelemetrySender, run_sender

    config = _config(arguments)
    sender = TelemetrySender(config, start_logging(config.log.level, config.log.format))
    run_sender(
        sender,
        lambda: NodeSession.at_home(arguments.home, arguments.network),
        supervised=arguments.supervised,
    )
    return 0
