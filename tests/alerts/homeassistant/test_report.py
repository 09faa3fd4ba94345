"""The report: public things only, safe to show, and also while the daemon is away."""

import time
from pathlib import Path
from typing import Any

from tests.catalog.fake import ANA, BOB, CYD, EVE, FakeCatalog, make_message, make_person
from tests.daemon.processes import make_home
from tests.web.fake import AIRTIME, FACE, GROUP, FakeNode
from tinyssb_node.alerts.homeassistant import limits
from tinyssb_node.alerts.homeassistant.report import NodeReport, look
from tinyssb_node.catalog.rows import MessageKind, TelemetryRow
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord, serialize_telemetry
from tinyssb_node.control.group_rows import GroupTelemetryRow
from tinyssb_node.ids import FeedId
from tinyssb_node.store.home import Home

NOW_US = time.time_ns() // 1_000
PLACE = PositionRecord(latitude=4_737_690, longitude=854_170)


def row(feed: FeedId, record: SensorRecord | PositionRecord, minutes: int = 1) -> TelemetryRow:
    return TelemetryRow(feed=feed, own=feed == ANA, committed_us=NOW_US - minutes * 60_000_000, record=record)


def looked(root: Path, node: Any) -> NodeReport:
    make_home(root, "ws:listen:127.0.0.1:0")
    node.home = Home(root)
    return look(node, name="hut", feed=ANA, version="0.1.0", now_us=NOW_US)


def people() -> FakeCatalog:
    persons = [
        make_person(ANA, "Ana"),
        make_person(BOB, "Bob\u202e\x1b[31m"),
        make_person(CYD, "Cyd"),
        make_person(EVE, "Eve", blocked=True),
    ]
    rows = [
        make_message("first", BOB, 1, "Soup\nat noon\x1b[2J" + "!" * 400, placed=1),
        make_message("second", EVE, 2, "Buy!", placed=2),
        make_message("third", CYD, 3, '["temp", 3]', placed=3, kind=MessageKind.DATA),
    ]
    return FakeCatalog(persons, rows)


def test_it_tells_what_is_public_and_nothing_of_blocked_people(tmp_path: Path) -> None:
    node = FakeNode(people())
    node.catalog.all_telemetry = [
        row(BOB, SensorRecord(battery_percent=87)),
        row(BOB, PLACE, minutes=3),
        row(BOB, SensorRecord(battery_percent=90), minutes=9),
        row(EVE, PLACE),
        row(ANA, PLACE),
        row(CYD, SensorRecord(temperature_dc=5, valid_minutes=10), minutes=11),
    ]
    in_group = serialize_telemetry(PLACE).hex()
    node.group_records = [GroupTelemetryRow(GROUP, CYD.hex(), NOW_US, in_group)]
    found = looked(tmp_path / "a", node)
    (bob,) = found.others
    assert (bob.feed, bob.position) == (BOB, PLACE)
    assert bob.sensors == SensorRecord(battery_percent=87)
    assert bob.name.isprintable()
    assert found.last is not None
    assert found.last.text.startswith("Soup⏎at noon")
    assert found.last.text.isprintable()
    assert len(found.last.text) == limits.STATE_MAX
    assert (found.entries, found.airtime) == (1_234, AIRTIME.used_us / AIRTIME.limit_us)
    assert FACE.heard_us is not None
    assert found.heard_us == NOW_US - FACE.heard_us
    assert [one.check for one in found.problems] == ["daemon"]


def test_our_own_message_is_by_the_node(tmp_path: Path) -> None:
    node = FakeNode(people())
    node.arrive(ANA, "Soup is ready.")
    found = looked(tmp_path / "a", node)
    assert found.last is not None
    assert (found.last.author, found.last.text) == ("hut", "Soup is ready.")


def test_while_the_daemon_is_away_the_rest_is_told(tmp_path: Path) -> None:
    node = FakeNode(people())
    node.running = False
    found = looked(tmp_path / "a", node)
    assert (found.entries, found.airtime, found.heard_us) == (None, None, None)
    assert found.last is not None
    assert found.free_bytes > 0
