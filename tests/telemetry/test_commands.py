"""`position` and `telemetry` with a real daemon, and the process that shares at intervals."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import structlog

from tests.daemon.processes import RunningDaemon, daemon, make_home, tinyssb
from tests.nodes import key_of, packets_of, written
from tests.telemetry.gpsd import FIX, gpsd
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord, serialize_telemetry
from tinyssb_node.daemon.config import Config, read_config
from tinyssb_node.errors import ExitCode
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import wall_us
from tinyssb_node.store.home import Home
from tinyssb_node.telemetry.measure import Measurement
from tinyssb_node.telemetry.sender import TelemetrySender
from tinyssb_node.telemetry.sources.measured import Measured

BEN = key_of("ben")
HOUR_US = 3_600_000_000
HERE = Measured(latitude=47.3769, longitude=8.5417, accuracy_m=10, battery_percent=80)


@pytest.fixture
def running(tmp_path: Path) -> Iterator[RunningDaemon]:
    make_home(tmp_path / "node")
    with daemon(tmp_path / "node") as running:
        yield running


def said(home: Path, *arguments: str) -> str:
    ended = tinyssb(home, *arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    return ended.stdout.decode()


def rows(home: Path, *arguments: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said(home, *arguments, "--json").splitlines()]


def configure(home: Path, *lines: str, root: str = "") -> None:
    path = home / "config.toml"
    path.write_text(
        f'name = "test"\nfaces = []\n{root}\n[telemetry]\n' + "".join(f"{line}\n" for line in lines)
    )


def test_a_position_is_shared_on_the_grid_shown_and_withdrawn(running: RunningDaemon) -> None:
    home = running.home
    assert "Nobody shares a position" in said(home, "position")
    told = said(
        home, "position", "share", "--at", "47.3769,8.5417", "--altitude", "408", "--for", "2h", "--yes"
    )
    assert "Shared 47.37735, 8.54192 ±71 m as" in told
    assert "48 bytes in 1 packet" in told
    (row,) = rows(home, "position")
    assert (row["own"], row["valid"], row["latitude"], row["longitude"]) == (True, True, 4_737_735, 854_192)
    assert row["expires_us"] - row["time_us"] == 2 * HOUR_US
    assert "altitude_m" not in row
    shown = said(home, "position")
    assert "47.37735, 8.54192 ±71 m" in shown
    assert "1 h 59 min" in shown
    assert "Withdrew" in said(home, "position", "stop")
    assert rows(home, "position") == []
    (row,) = rows(home, "position", "--all")
    assert "latitude" not in row
    assert "withdrawn" in said(home, "position", "--all")


def test_an_exact_position_is_shared_if_that_is_wanted(running: RunningDaemon) -> None:
    said(
        running.home,
        "position",
        "share",
        "--at",
        "-33.86882 -151.20929",
        "--altitude",
        "9",
        "--precision",
        "0",
        "--yes",
    )
    (row,) = rows(running.home, "position")
    assert (row["latitude"], row["longitude"], row["altitude_m"]) == (-3_386_882, -15_120_929, 9)


def test_nothing_becomes_public_without_a_question(running: RunningDaemon) -> None:
    ended = tinyssb(running.home, "position", "share", "--at", "47.3769,8.5417")
    assert ended.returncode == ExitCode.USAGE
    assert b"for good" in ended.stderr
    assert b"Nothing was published" in ended.stderr
    assert rows(running.home, "position", "--all") == []


@pytest.mark.parametrize("place", ["91,0", "0,181", "here", "47.3769", "47.3769;8"])
def test_a_place_that_is_none_is_refused(running: RunningDaemon, place: str) -> None:
    ended = tinyssb(running.home, "position", "share", f"--at={place}", "--yes")
    assert ended.returncode == ExitCode.USAGE
    assert b"is no place such as" in ended.stderr


@pytest.mark.parametrize("validity", ["0h", "367d", "2 hours", "forever"])
def test_a_validity_that_is_none_is_refused(running: RunningDaemon, validity: str) -> None:
    ended = tinyssb(running.home, "position", "share", "--at", "1,1", "--for", validity, "--yes")
    assert ended.returncode == ExitCode.USAGE


def test_without_any_source_it_says_what_to_do(running: RunningDaemon) -> None:
    ended = tinyssb(running.home, "position", "share", "--yes")
    assert ended.returncode == ExitCode.UNAVAILABLE
    assert b"--at 47.3769,8.5417" in ended.stderr


def test_others_are_listed_with_the_way_to_them_and_their_texts_escaped(running: RunningDaemon) -> None:
    with running.client() as node:
        ben = PositionRecord(
            latitude=4_694_810, longitude=744_740, radius_m=5, speed_dm_s=15, course_degrees=271
        )
        status = SensorRecord(battery_percent=12, temperature_dc=-185, status="a\x1b[2J")
        contents = [serialize_telemetry(ben), serialize_telemetry(status)]
        node.import_packets(BEN.feed_id.hex(), packets_of(written(BEN, contents)))
    said(running.home, "position", "share", "--at", "47.3769,8.5417", "--precision", "0", "--yes")
    (line,) = [line for line in said(running.home, "position").splitlines() if "46.94810" in line]
    assert BEN.feed_id.hex()[:8] in line
    assert "95.5 km SW" in line
    assert "5.4 km/h W" in line
    listed = said(running.home, "telemetry")
    assert "battery 12 %, -18.5 °C" in listed
    assert "\x1b" not in listed


def test_sensors_are_read_by_a_hook_and_a_status_goes_with_them(running: RunningDaemon) -> None:
    hook = """hook = '''printf '{"temperature_c": 21.5, "battery_percent": 77}' '''"""
    configure(running.home, hook, "kernel = false")
    assert rows(running.home, "telemetry", "sources") == [{"battery_percent": 77, "temperature_c": 21.5}]
    assert "battery 77 %, 21.5 °C, 'Hut open' as" in said(
        running.home, "telemetry", "share", "--status", "Hut open", "--for", "next"
    )
    (row,) = rows(running.home, "telemetry")
    assert (row["temperature_dc"], row["status"], row["expires_us"]) == (215, "Hut open", None)
    assert row["version"].startswith("tinyssb ")
    assert "hardware" not in row, "nobody said that it may be known"
    said(running.home, "telemetry", "share", "--only-status", "--status", "x" * 29)
    (row,) = rows(running.home, "telemetry")
    assert "temperature_dc" not in row
    ended = tinyssb(running.home, "telemetry", "share", "--status", "x" * 41)
    assert ended.returncode == ExitCode.DATA
    assert b"Nothing was published" in ended.stderr


def test_the_hardware_is_told_if_the_user_names_it(running: RunningDaemon) -> None:
    configure(running.home, 'hardware = "T-Beam\\u2028"', "kernel = false")
    assert b"printable text" in tinyssb(running.home, "telemetry", "sources").stderr
    configure(running.home, 'hardware = "T-Beam"', "kernel = false")
    assert "Shared 'T-Beam' as" in said(running.home, "telemetry", "share")
    (row,) = rows(running.home, "telemetry")
    assert (row["hardware"], row["version"].startswith("tinyssb ")) == ("T-Beam", True)
    assert "T-Beam" in said(running.home, "telemetry")


def test_a_receiver_gives_the_place(running: RunningDaemon) -> None:
    with gpsd(FIX) as (host, port):
        configure(running.home, f'gpsd = "{host}:{port}"', "precision_m = 0")
        told = said(running.home, "position", "share", "--yes")
    assert "Shared 47.37690, 8.54170 ±12 m as" in told
    assert "408 m, 5.4 km/h E" in said(running.home, "position")


def test_settings_are_checked(tmp_path: Path) -> None:
    make_home(tmp_path / "node")
    for line, told in (
        ('position = " "', b'it takes "public"'),
        ('status = "\\u001b"', b"printable"),
        ("precision_m = -1", b"0 to 100000"),
        ('gpsd = "nowhere"', b"an address and a port"),
        ('fixed = true\ngpsd = "localhost:2947"', b"a node stays or moves"),
    ):
        configure(tmp_path / "node", line)
        ended = tinyssb(tmp_path / "node", "telemetry", "sources")
        assert ended.returncode == ExitCode.CONFIG
        assert told in ended.stderr


def test_the_place_in_the_settings_is_shared_only_if_that_is_wanted(running: RunningDaemon) -> None:
    root = "latitude = 46.5\nlongitude = 8.0\n"
    configure(running.home, "kernel = false", root=root)
    assert rows(running.home, "telemetry", "sources") == [{}]
    configure(running.home, "kernel = false", "fixed = true", root=root)
    assert rows(running.home, "telemetry", "sources") == [{"latitude": 46.5, "longitude": 8.0}]


# --- at intervals


class Walker:
    """A sender with sources and a clock of the test's."""

    def __init__(self, home: Path) -> None:
        self.measured = HERE
        self.ahead_us = 0
        self.home = home
        self.logged: list[structlog.typing.EventDict] = []
        self.sender = TelemetrySender(
            self._config(),
            structlog.wrap_logger(None, processors=[self._log]),
            now_us=lambda: wall_us() + self.ahead_us,
            read=self._read,
        )

    def _config(self) -> Config:
        return read_config(Home(self.home))

    def _log(self, _logger: object, level: str, event: structlog.typing.EventDict) -> str:
        self.logged.append({**event, "log_level": level})
        raise structlog.DropEvent

    def _read(self, _config: Config) -> Measurement:
        return Measurement(self.measured, ())

    def look(self) -> int:
        with NodeSession.at_home(str(self.home)) as node:
            return self.sender.look(node)


@pytest.fixture
def walker(running: RunningDaemon) -> Walker:
    configure(running.home, "enabled = true", 'position = "public"', "precision_m = 0", "per_day = 4")
    return Walker(running.home)


def test_it_shares_nothing_by_default(running: RunningDaemon) -> None:
    configure(running.home, "enabled = true")
    assert Walker(running.home).look() == 0


def test_it_shares_where_it_is_and_again_only_if_it_moved_after_the_interval(walker: Walker) -> None:
    assert walker.look() == 1
    walker.measured = replace(HERE, latitude=47.4)
    assert walker.look() == 0, "too soon"
    walker.ahead_us = HOUR_US // 2 + 1
    walker.measured = replace(HERE, latitude=47.3770)
    assert walker.look() == 0, "too near"
    walker.measured = replace(HERE, latitude=47.4)
    assert walker.look() == 1
    (row,) = rows(walker.home, "position")
    assert row["latitude"] == 4_740_000
    assert row["valid_minutes"] == 4 * 360, "four intervals at four a day"


def test_a_place_that_stays_is_renewed_before_it_expires(walker: Walker) -> None:
    assert walker.look() == 1
    walker.ahead_us = 17 * HOUR_US
    assert walker.look() == 0
    walker.ahead_us = 18 * HOUR_US + 60_000_000
    assert walker.look() == 1


def test_a_node_that_withdrew_shares_nothing_until_its_user_shares_again(walker: Walker) -> None:
    assert walker.look() == 1
    said(walker.home, "position", "stop")
    walker.ahead_us = 30 * HOUR_US
    assert walker.look() == 0
    assert "you withdrew your position" in said(walker.home, "telemetry", "status")
    said(walker.home, "position", "share", "--at", "1,1", "--yes")
    assert walker.look() == 1


def test_no_more_than_so_many_a_day_whoever_sent_them(walker: Walker) -> None:
    for _ in range(4):
        said(walker.home, "telemetry", "share", "--only-status", "--status", "x")
    walker.ahead_us = 20 * HOUR_US
    assert walker.look() == 0
    assert "4 of 4" in said(walker.home, "telemetry", "status")
    walker.ahead_us = 25 * HOUR_US
    assert walker.look() == 1


def test_sensors_go_to_those_who_are_named(running: RunningDaemon) -> None:
    configure(running.home, "enabled = true", 'sensors = "public"')
    walker = Walker(running.home)
    assert walker.look() == 1
    (row,) = rows(running.home, "telemetry")
    assert (row["battery_percent"], row["valid_minutes"]) == (80, 4 * 360)
    assert rows(running.home, "position", "--all") == []
    (position, sensors) = rows(running.home, "telemetry", "status")
    assert (position["audience"], sensors["audience"], sensors["sent_today"]) == (None, "public", 1)


def test_a_problem_is_logged_once(walker: Walker, running: RunningDaemon) -> None:
    running.stop()
    assert (walker.look(), walker.look()) == (0, 0)
    (event,) = walker.logged
    assert (event["event"], event["log_level"]) == ("cannot share telemetry at the moment", "warning")


def test_the_daemon_starts_the_sender_and_doctor_checks_the_sources(tmp_path: Path) -> None:
    home = tmp_path / "node"
    make_home(home)
    root = "latitude = 46.5\nlongitude = 8.0\n"
    configure(home, "enabled = true", 'position = "public"', "kernel = false", "fixed = true", root=root)
    with daemon(home) as running:
        with running.client() as node:
            listing = node.log("me", follow=True)
            row = next(iter(listing))
        assert row.size == 48
        assert "telemetry sender:" in said(home, "status")
        assert b"telemetry: sources answer" in tinyssb(home, "doctor").stdout
        configure(
            home, "enabled = true", 'position = "public"', "kernel = false", 'hook = "false"', root=root
        )
        ended = tinyssb(home, "doctor")
        assert b"exit code 1" in ended.stdout
        code, logged = running.stop()
        assert code == 0, logged
