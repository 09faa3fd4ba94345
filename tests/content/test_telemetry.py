"""Positions and sensor records as bytes, how long they are valid, and the grid of a chosen precision."""

import json
import math
import re
from dataclasses import astuple, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.test_bipf import VALUES
from tinyssb_node.codec import bipf
from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import chat, limits
from tinyssb_node.content.minutes import to_seconds
from tinyssb_node.content.phones import harm_to_phones
from tinyssb_node.content.telemetry import (
    PositionRecord,
    SensorRecord,
    TelemetryRecord,
    TelemetryRoomError,
    coarsened,
    expires_us,
    fitting,
    is_valid,
    parse_telemetry,
    serialize_telemetry,
    time_us,
    withdrawal,
)
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect

FOLDER = Path(__file__).parents[2]
VECTORS = json.loads((FOLDER / "tests/vectors/content/telemetry_v1.json").read_text("utf-8"))
NAMES = {
    "valid": "valid_minutes", "latitude": "latitude", "longitude": "longitude", "radius": "radius_m",
    "altitude": "altitude_m", "speed": "speed_dm_s", "course": "course_degrees", "battery": "battery_percent",
    "voltage": "voltage_mv", "solar": "solar_mw", "temperature": "temperature_dc", "humidity": "humidity_percent",
    "pressure": "pressure_dhpa", "status": "status", "version": "version",
    "hardware": "hardware",
}  # fmt: skip
"""Fields of ours for the words of the page."""
NOW_US = 1_762_495_200_000_000


def _maybe(low: int, high: int) -> st.SearchStrategy[int | None]:
    return st.none() | st.integers(low, high)


TIMES = _maybe(1, 2**24).map(lambda minutes: None if minutes is None else to_seconds(minutes))
VALID = _maybe(0, limits.VALID_MINUTES_MAX)
TEXTS = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), min_size=1, max_size=9)
POSITIONS = st.builds(
    PositionRecord,
    said_s=TIMES,
    valid_minutes=VALID,
    latitude=st.integers(-9_000_000, 9_000_000),
    longitude=st.integers(-18_000_000, 18_000_000),
    radius_m=_maybe(0, limits.RADIUS_M_MAX),
    altitude_m=_maybe(-12_000, 100_000),
    speed_dm_s=_maybe(0, 4_000),
    course_degrees=_maybe(0, 359),
)
SENSORS = st.builds(
    SensorRecord,
    said_s=TIMES,
    valid_minutes=VALID,
    battery_percent=_maybe(0, 101),
    voltage_mv=_maybe(0, 1_000_000),
    solar_mw=_maybe(0, 1_000_000_000),
    temperature_dc=_maybe(-1_000, 2_000),
    humidity_percent=_maybe(0, 100),
    pressure_dhpa=_maybe(0, 20_000),
    status=st.none() | TEXTS,
    version=st.none() | TEXTS,
    hardware=st.none() | TEXTS,
).filter(lambda record: any(item is not None for item in astuple(record)[2:]))


def _meant(case: Any) -> TelemetryRecord | None:
    if case["kind"] is None:
        return None
    kind = PositionRecord if case["kind"] == "POS" else SensorRecord
    said_s = None if case["minutes"] is None else to_seconds(case["minutes"])
    return kind(said_s=said_s, **{NAMES[name]: item for name, item in case["items"].items()})


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: str(case["id"]))
def test_bytes_mean_what_the_vectors_say(case: Any) -> None:
    content, record = bytes.fromhex(case["bytes"]), _meant(case)
    assert parse_telemetry(content) == record
    if record is not None and case["written"]:
        assert serialize_telemetry(record) == content


def test_the_page_takes_the_bytes_of_two_vectors_apart() -> None:
    page = (FOLDER / "docs/formats/telemetry.md").read_text("utf-8")
    shown = {
        "".join(re.split(r" {2,}", line.strip())[0].replace(" ", "") for line in block.splitlines())
        for block in page.split("```")[1::2]
    }
    assert {case["bytes"].rstrip("0") for case in VECTORS["cases"][:2]} == {one.rstrip("0") for one in shown}


@given(POSITIONS)
def test_a_position_is_read_as_it_was_written_in_one_packet(record: PositionRecord) -> None:
    content = serialize_telemetry(record)
    assert parse_telemetry(content) == record
    assert {packet_count(len(content), dialect) for dialect in Dialect} == {1}
    assert not harm_to_phones(content)
    assert isinstance(chat.parse(content), chat.Opaque), "it is nothing else"


@given(SENSORS)
def test_sensors_are_read_as_they_were_written_or_refused_for_their_size(record: SensorRecord) -> None:
    try:
        content = serialize_telemetry(record)
    except TelemetryRoomError:
        assert record.status or record.version or record.hardware, "numbers alone always fit"
        assert "than fit into one packet" in _refusal(record)
        record = fitting(record)
        if all(item is None for item in astuple(record)[2:]):
            return  # texts about the node alone, and too long
        content = serialize_telemetry(record)
    assert fitting(record) == record
    assert parse_telemetry(content) == record
    assert len(content) == 48
    assert not harm_to_phones(content)


def _refusal(record: TelemetryRecord) -> str:
    with pytest.raises(TelemetryRoomError) as refused:
        serialize_telemetry(record)
    return str(refused.value)


def test_what_does_not_fit_is_left_out_from_the_end() -> None:
    record = SensorRecord(battery_percent=50, status="x" * 39, version="tinyssb 1.0.0")
    assert fitting(record).version is None
    assert fitting(record).status == "x" * 31
    assert fitting(replace(record, status="x")) == replace(record, status="x")
    whole = replace(record, status="x", hardware="Pi Zero 2 W")
    assert fitting(whole) == whole
    longer = replace(whole, status="x" * 8)
    assert fitting(longer) == replace(longer, version=None)
    longest = replace(whole, status="x" * 22)
    assert fitting(longest) == replace(longest, version=None, hardware=None)


@pytest.mark.parametrize(
    "record",
    [
        PositionRecord(latitude=9_000_001, longitude=0),
        PositionRecord(latitude=1),
        PositionRecord(latitude=1, longitude=1, course_degrees=360),
        PositionRecord(latitude=1, longitude=1, valid_minutes=-1),
        SensorRecord(),
        SensorRecord(status=""),
        SensorRecord(status="a\0b"),
        SensorRecord(status="x" * 41),
        SensorRecord(battery_percent=102),
    ],
    ids=str,
)
def test_nothing_is_written_that_readers_would_not_read(record: TelemetryRecord) -> None:
    assert "Nothing was published" in _refusal(record)


def _about(word: str, rest: Value) -> bytes:
    items: list[Value] = [word, *rest] if isinstance(rest, list) else [word, rest]
    return bipf.encode(items)


@given(st.binary(max_size=60) | st.builds(_about, st.sampled_from(["POS", "TLM"]), VALUES))
def test_nothing_raises_and_what_is_read_can_be_written_again(content: bytes) -> None:
    record = parse_telemetry(content)
    if isinstance(record, PositionRecord):
        assert parse_telemetry(serialize_telemetry(record)) == record
    elif record is not None:
        fit = fitting(record)
        assert fit == record or len(content) > 48
        assert fit.version is None or parse_telemetry(serialize_telemetry(fit)) == fit


@given(VALUES)
def test_no_other_value_is_one(value: Value) -> None:
    if not (isinstance(value, list) and value[:1] in (["POS"], ["TLM"])):
        assert parse_telemetry(bipf.encode(value)) is None


# --- how long it is valid


PLACE = PositionRecord(said_s=NOW_US // 1_000_000, latitude=1, longitude=1)
MINUTE_US = 60_000_000


def test_a_record_without_a_validity_is_valid_for_a_day() -> None:
    assert expires_us(PLACE, NOW_US) == NOW_US + 1_440 * MINUTE_US
    assert is_valid(PLACE, NOW_US, NOW_US + 1_440 * MINUTE_US - 1)
    assert not is_valid(PLACE, NOW_US, NOW_US + 1_440 * MINUTE_US)


def test_a_record_may_be_valid_until_the_next_one() -> None:
    assert expires_us(replace(PLACE, valid_minutes=0), NOW_US) is None
    assert is_valid(replace(PLACE, valid_minutes=0), NOW_US, 2 * NOW_US)


def test_a_clock_that_runs_ahead_makes_nothing_valid_for_longer() -> None:
    ahead = replace(PLACE, said_s=2 * NOW_US // 1_000_000, valid_minutes=10)
    assert time_us(ahead, NOW_US) == NOW_US
    assert not is_valid(ahead, NOW_US, NOW_US + 10 * MINUTE_US)


def test_a_record_that_arrives_late_expires_by_its_authors_clock() -> None:
    late = replace(PLACE, valid_minutes=10)
    arrived_us = NOW_US + 60 * MINUTE_US
    assert time_us(late, arrived_us) == NOW_US
    assert not is_valid(late, arrived_us, arrived_us)


def test_without_a_clock_the_time_is_that_of_arrival() -> None:
    assert time_us(replace(PLACE, said_s=None), NOW_US) == NOW_US


def test_a_withdrawal_is_never_shown() -> None:
    assert not is_valid(withdrawal(), NOW_US, NOW_US)


# --- a chosen precision


@pytest.mark.parametrize("case", VECTORS["grid"], ids=str)
def test_places_are_on_the_grid_that_the_vectors_say(case: Any) -> None:
    place = PositionRecord(latitude=case["latitude"], longitude=case["longitude"], radius_m=case["radius"])
    found = coarsened(place, case["precision"])
    assert [found.latitude, found.longitude, found.radius_m] == case["becomes"]


def _apart_m(one: PositionRecord, other: PositionRecord) -> float:
    assert None not in (one.latitude, one.longitude, other.latitude, other.longitude)
    north = (one.latitude - other.latitude) * 1.1132  # type: ignore[operator]
    east = (one.longitude - other.longitude) * 1.1132  # type: ignore[operator]
    return math.hypot(north, east * math.cos(math.radians(one.latitude / 100_000)))  # type: ignore[operator]


@given(POSITIONS, st.integers(1, 50_000))
def test_the_author_is_within_the_radius_and_nothing_tells_more(
    record: PositionRecord, precision: int
) -> None:
    found = coarsened(record, precision)
    assert parse_telemetry(serialize_telemetry(found)) == found
    assert (found.altitude_m, found.speed_dm_s, found.course_degrees) == (None, None, None)
    assert found.radius_m is not None
    if abs(record.latitude or 0) < 8_000_000:
        assert _apart_m(record, found) <= found.radius_m + 0.03 * precision + 2
    assert coarsened(record, 0) == record
    assert coarsened(withdrawal(), precision) == withdrawal()
    # The same place again, and places near it in the same cell, tell the same.
    again = coarsened(replace(found, radius_m=record.radius_m), precision)
    assert (again.latitude, again.longitude) == (found.latitude, found.longitude)
