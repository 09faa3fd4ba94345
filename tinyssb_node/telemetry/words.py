"""Positions and values of sensors in words. Pure; texts of strangers are escaped."""

import math
from collections.abc import Iterator

from tinyssb_node.catalog.rows import TelemetryRow
from tinyssb_node.content.telemetry import DEGREE, PositionRecord, SensorRecord, expires_us, time_us
from tinyssb_node.screens.render import duration
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.telemetry.schedule import moved_m

_POWERED = 101
_WINDS = ("N", "NE", "E", "SE", "S", "SW", "W", "NW")


def place_in_words(record: PositionRecord) -> str:
    """Return ``47.37690, 8.54170 ±12 m``."""
    if record.latitude is None or record.longitude is None:
        return "withdrawn"
    around = "" if record.radius_m is None else f" ±{distance(record.radius_m)}"
    return f"{record.latitude / DEGREE:.5f}, {record.longitude / DEGREE:.5f}{around}"


def motion_in_words(record: PositionRecord) -> str:
    """Return ``408 m, 5.4 km/h E``: altitude, speed and course, as far as they are stated."""
    words = [] if record.altitude_m is None else [f"{record.altitude_m:,} m"]
    if record.speed_dm_s is not None:
        course = "" if record.course_degrees is None else f" {wind(record.course_degrees)}"
        words.append(f"{record.speed_dm_s * 0.36:.1f} km/h{course}")
    return ", ".join(words)


def way_in_words(here: PositionRecord | None, there: PositionRecord) -> str:
    """Return ``3.2 km NE``: how far, and in which direction; empty: one of the places is not known."""
    if here is None or here.latitude is None or there.latitude is None:
        return ""
    return f"{distance(moved_m(here, there))} {wind(_bearing(here, there))}"


def _bearing(here: PositionRecord, there: PositionRecord) -> float:
    """Return the direction in which a great circle begins, degrees from north."""
    first, second = (math.radians((one.latitude or 0) / DEGREE) for one in (here, there))
    across = math.radians(((there.longitude or 0) - (here.longitude or 0)) / DEGREE)
    east = math.sin(across) * math.cos(second)
    north = math.cos(first) * math.sin(second) - math.sin(first) * math.cos(second) * math.cos(across)
    return math.degrees(math.atan2(east, north)) % 360


def distance(metres: float) -> str:
    """Return ``120 m``, ``3.2 km`` or ``410 km``."""
    if metres < 1_000:
        return f"{metres:.0f} m"
    return f"{metres / 1_000:.1f} km" if metres < 100_000 else f"{metres / 1_000:,.0f} km"


def wind(degrees: float) -> str:
    """Return the nearest of eight directions."""
    return _WINDS[round(degrees / 45) % len(_WINDS)]


def sensors_in_words(record: SensorRecord) -> Iterator[str]:
    """Yield the values of a record, each with its unit."""
    if (percent := record.battery_percent) is not None:
        yield "powered from outside" if percent == _POWERED else f"battery {percent} %"
    for value, factor, text in (
        (record.voltage_mv, 1_000, "{:.2f} V"),
        (record.solar_mw, 1_000, "solar {:.1f} W"),
        (record.temperature_dc, 10, "{:.1f} °C"),
        (record.humidity_percent, 1, "{:.0f} % humidity"),
        (record.pressure_dhpa, 10, "{:.1f} hPa"),
    ):
        if value is not None:
            yield text.format(value / factor)


def age(row: TelemetryRow, now_us: int) -> str:
    """Return how old a record is."""
    return duration(max(0, now_us - time_us(row.record, row.committed_us)))


def validity(row: TelemetryRow, now_us: int) -> str:
    """Return for how long a record is valid."""
    end_us = expires_us(row.record, row.committed_us)
    if end_us is None:
        return "until the next"
    return "expired" if now_us >= end_us else duration(end_us - now_us)


def text_cell(text: str | None, most: int) -> str:
    """Return a text of its author's for a table."""
    return "" if text is None else one_line(text, most)
