"""The view of the map: valid records, beside the people who wrote them."""

import time

from tests.catalog.fake import ANA, BOB, CYD, EVE, ZOE
from tests.web.asking import ask
from tests.web.fake import FakeNode, serving
from tinyssb_node.catalog.rows import TelemetryRow
from tinyssb_node.content.telemetry import PositionRecord, SensorRecord, TelemetryRecord, withdrawal
from tinyssb_node.ids import FeedId

MINUTE_US = 60_000_000
NOW_US = time.time_ns() // 1_000


def row(feed: FeedId, record: TelemetryRecord, minutes: int) -> TelemetryRow:
    return TelemetryRow(feed=feed, own=feed == ANA, committed_us=NOW_US - minutes * MINUTE_US, record=record)


def test_valid_records_stand_beside_their_authors_and_others_are_left_out() -> None:
    node = FakeNode()
    node.catalog.all_telemetry = [
        row(CYD, PositionRecord(latitude=-100_000, longitude=250_000, radius_m=7, speed_dm_s=15), 5),
        row(BOB, PositionRecord(latitude=1, longitude=1, valid_minutes=10), 11),
        row(EVE, withdrawal(), 0),
        row(BOB, SensorRecord(voltage_mv=3_912, status="Hut open", hardware="Pi Zero 2 W"), 1),
    ]
    with serving(node) as address:
        found = ask(address, "/api/places").json
    assert abs(found["now_us"] - time.time_ns() // 1_000) < MINUTE_US
    rows = {one["author"]["feed"]: one for one in found["rows"]}
    assert [one["author"]["feed"] for one in found["rows"]][:3] == [ANA.hex(), CYD.hex(), BOB.hex()]
    assert rows[CYD.hex()]["position"] == {
        "time_us": NOW_US - 5 * MINUTE_US,
        "expires_us": NOW_US + 1_435 * MINUTE_US,
        "grouped": False,
        "latitude": -1.0,
        "longitude": 2.5,
        "radius_m": 7,
        "altitude_m": None,
        "speed_m_s": 1.5,
        "course_degrees": None,
    }
    assert rows[BOB.hex()]["position"] is None
    sensors = rows[BOB.hex()]["sensors"]
    assert (sensors["voltage_v"], sensors["status"], sensors["battery_percent"]) == (3.912, "Hut open", None)
    assert (sensors["hardware"], sensors["version"]) == ("Pi Zero 2 W", None)
    assert rows[EVE.hex()]["position"] is None
    assert ZOE.hex() not in rows, "nothing of hers is here"
