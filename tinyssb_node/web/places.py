"""The view of the map: where people and nodes are, how their batteries and sensors are, and when they were heard."""

import time
from collections.abc import Iterable, Mapping
from typing import Final

from tinyssb_node.catalog.rows import PersonRow, TelemetryRow
from tinyssb_node.content.telemetry import (
    DEGREE,
    PositionRecord,
    SensorRecord,
    expires_us,
    time_us,
)
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import latest_valid, shared_telemetry
from tinyssb_node.web.page_server.map_tiles import ServedMap
from tinyssb_node.web.shapes import PeopleIndex, Shape, author_shape
from tinyssb_node.web.views import people_of, public_people

_PLACES_MAX: Final = 255  # in an answer: as many as a set has feeds


def places(node: NodeSession) -> Shape:
    """Return people and nodes with their valid positions and values of sensors: us first, then those with a position,
    the last heard first."""
    return _shape(people_of(node), shared_telemetry(node))


def public_places(node: NodeSession, reader: FeedId | None) -> Shape:
    """Return the same as a guest sees it, who writes the feed *reader*: nothing of groups, and no names that our user
    gave."""
    return _shape(public_people(node, reader), node.catalog.telemetry())


def _shape(known: PeopleIndex, records: Iterable[TelemetryRow]) -> Shape:
    now_us = time.time_ns() // 1_000
    positions: dict[FeedId, TelemetryRow] = {}
    sensors: dict[FeedId, TelemetryRow] = {}
    for row in latest_valid(records, now_us):
        (positions if isinstance(row.record, PositionRecord) else sensors)[row.feed] = row
    people = [row for row in known.rows.values() if not row.blocked and (row.own or row.entries)]
    people.sort(key=lambda row: _order(row, positions, sensors))
    return {
        "now_us": now_us,
        "rows": [
            {
                "author": author_shape(row.feed, known),
                "heard_us": row.last_us,
                "position": _position(positions.get(row.feed)),
                "sensors": _sensors(sensors.get(row.feed)),
            }
            for row in people[:_PLACES_MAX]
        ],
        "all": len(people),
    }


def map_shape(served: ServedMap | None) -> Shape:
    """Return what the page needs to draw the ground."""
    if served is None:
        return {"map": None}
    about = served.about
    return {
        "map": {
            "version": served.version,
            "zoom_min": about.zoom_min,
            "zoom_max": about.zoom_max,
            "bounds": None if about.bounds is None else list(about.bounds),
            "attribution": about.attribution,
        }
    }


def _order(
    row: PersonRow, positions: Mapping[FeedId, TelemetryRow], sensors: Mapping[FeedId, TelemetryRow]
) -> tuple[bool, bool, bool, int, FeedId]:
    return not row.own, row.feed not in positions, row.feed not in sensors, -(row.last_us or 0), row.feed


def _position(row: TelemetryRow | None) -> Shape | None:
    if row is None or not isinstance(record := row.record, PositionRecord):
        return None
    assert record.latitude is not None
    assert record.longitude is not None
    return {
        **_times(row),
        "grouped": row.group is not None,
        "latitude": record.latitude / DEGREE,
        "longitude": record.longitude / DEGREE,
        "radius_m": record.radius_m,
        "altitude_m": record.altitude_m,
        "speed_m_s": _scaled(record.speed_dm_s, 10),
        "course_degrees": record.course_degrees,
    }


def _sensors(row: TelemetryRow | None) -> Shape | None:
    if row is None or not isinstance(record := row.record, SensorRecord):
        return None
    return {
        **_times(row),
        "battery_percent": record.battery_percent,
        "voltage_v": _scaled(record.voltage_mv, 1_000),
        "solar_w": _scaled(record.solar_mw, 1_000),
        "temperature_c": _scaled(record.temperature_dc, 10),
        "humidity_percent": record.humidity_percent,
        "pressure_hpa": _scaled(record.pressure_dhpa, 10),
        "status": record.status,
        "version": record.version,
        "hardware": record.hardware,
    }


def _times(row: TelemetryRow) -> Shape:
    return {
        "time_us": time_us(row.record, row.committed_us),
        "expires_us": expires_us(row.record, row.committed_us),
    }


def _scaled(value: int | None, factor: int) -> float | None:
    return None if value is None else value / factor
