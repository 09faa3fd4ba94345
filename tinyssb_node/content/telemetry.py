"""Telemetry: positions, and what sensors measure, each in one packet (docs/formats/telemetry.md)."""

import math
from collections.abc import Sequence
from dataclasses import astuple, dataclass, fields, replace
from typing import Final, TypeVar

from tinyssb_node.codec import bipf
from tinyssb_node.content import limits
from tinyssb_node.content.minutes import read_minutes, to_minutes
from tinyssb_node.content.padded import decode
from tinyssb_node.errors import LocalError
from tinyssb_node.limits import CONTENT_SIZE

POSITION_WORD: Final = "POS"
SENSOR_WORD: Final = "TLM"
"""First items of the lists in such content."""
DEGREE: Final = 100_000
"""Units of latitude and longitude in a degree."""
_LATITUDE: Final = range(-90 * DEGREE, 90 * DEGREE + 1)
_LONGITUDE: Final = range(-180 * DEGREE, 180 * DEGREE + 1)
_UNIT_M: Final = 1.1132
"""Metres in a unit of latitude."""
_POLE_DEGREES: Final = 89.0
"""Latitude beyond which columns of the grid grow no wider."""
_HALF_DIAGONAL: Final = 0.71
"""Of a square, as a part of its side, rounded up."""
_MINUTE_US: Final = 60_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PositionRecord:
    """A position. Without a place it withdraws the one before."""

    said_s: int | None = None
    """The author's clock, seconds since 1970, in whole minutes; None: it was not set."""
    valid_minutes: int | None = None
    """Time for which it is valid; 0: until the next one; None: a day."""
    latitude: int | None = None
    """10^-5 degrees north (WGS 84); None: it withdraws."""
    longitude: int | None = None
    """10^-5 degrees east."""
    radius_m: int | None = None
    """Around this place, in which the author is; None: not known."""
    altitude_m: int | None = None
    """Above mean sea level."""
    speed_dm_s: int | None = None
    """Tenths of a metre per second over ground."""
    course_degrees: int | None = None
    """Clockwise from true north."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorRecord:
    """Values of a node's sensors; None: not stated."""

    said_s: int | None = None
    """The author's clock, seconds since 1970, in whole minutes; None: it was not set."""
    valid_minutes: int | None = None
    """Time for which it is valid; 0: until the next one; None: a day."""
    battery_percent: int | None = None
    """101: powered from outside."""
    voltage_mv: int | None = None
    """Of the battery."""
    solar_mw: int | None = None
    """Power that arrives from the panel."""
    temperature_dc: int | None = None
    """Tenths of a degree Celsius."""
    humidity_percent: int | None = None
    """Relative."""
    pressure_dhpa: int | None = None
    """Tenths of a hectopascal, not reduced to sea level."""
    status: str | None = None
    """Free text of the author's, which must be made safe before it is shown."""
    version: str | None = None
    """The program and its version, likewise."""
    hardware: str | None = None
    """The device that it runs on, likewise."""


TelemetryRecord = PositionRecord | SensorRecord
_Record = TypeVar("_Record", PositionRecord, SensorRecord)

_RANGES: Final = {
    "valid_minutes": range(limits.VALID_MINUTES_MAX + 1),
    "latitude": _LATITUDE,
    "longitude": _LONGITUDE,
    "radius_m": range(limits.RADIUS_M_MAX + 1),
    "altitude_m": range(-12_000, 100_001),
    "speed_dm_s": range(4_001),
    "course_degrees": range(360),
    "battery_percent": range(102),
    "voltage_mv": range(1_000_001),
    "solar_mw": range(1_000_000_001),
    "temperature_dc": range(-1_000, 2_001),
    "humidity_percent": range(101),
    "pressure_dhpa": range(20_001),
}
"""Of all numbers but the time."""


class TelemetryRoomError(LocalError):
    """Values that do not fit into one packet together, or that the format cannot state."""


def parse_telemetry(content: bytes) -> TelemetryRecord | None:
    """Parse the record in *content*; None if it is none. Never raises."""
    return read_telemetry(decode(content))


def read_telemetry(value: bipf.Value) -> TelemetryRecord | None:
    """Parse content that is decoded already, as `parse_telemetry` does."""
    if not isinstance(value, list) or not value:
        return None
    if value[0] == POSITION_WORD:
        position = _read(PositionRecord, value[1:])
        whole = (position.latitude is None) == (position.longitude is None)
        stated = value[3:5] + [None] * 2
        withdrawn = stated[0] is None and stated[1] is None
        if not whole or (position.latitude is None) != withdrawn:
            return None
        return withdrawal(position.said_s) if withdrawn else position
    if value[0] == SENSOR_WORD:
        sensors = _read(SensorRecord, value[1:])
        return sensors if any(item is not None for item in astuple(sensors)[2:]) else None
    return None


def _read(kind: type[_Record], items: Sequence[bipf.Value]) -> _Record:
    names = [field.name for field in fields(kind)]
    found = dict(zip(names, items, strict=False))
    said_s = read_minutes(found.pop("said_s", None))
    return kind(said_s=said_s, **{name: _item(name, item) for name, item in found.items()})  # type: ignore[arg-type]


def _item(name: str, item: bipf.Value) -> int | str | None:
    """Return an item if it is of the type and in the range that *name* has."""
    if name not in _RANGES:
        return item if isinstance(item, str) and _is_text(item) else None
    return item if isinstance(item, int) and not isinstance(item, bool) and item in _RANGES[name] else None


def _is_text(text: str) -> bool:
    try:
        raw = text.encode()
    except UnicodeEncodeError:
        return False
    return 0 < len(raw) <= limits.TELEMETRY_TEXT_MAX and 0 not in raw


def withdrawal(said_s: int | None = None) -> PositionRecord:
    """Return the record by which its author shares no position any more."""
    return PositionRecord(said_s=said_s)


def serialize_telemetry(record: TelemetryRecord) -> bytes:
    """Serialize *record* as the 48 bytes of an entry of type 0.

    Raises TelemetryRoomError: a value is out of range, nothing is stated, or it all takes more room.
    """
    for name, item in record_fields(record).items():
        if _item(name, item) is None:
            raise TelemetryRoomError(_refused(f"{item!r} is out of range as {name}"))
    content = _encode(record)
    if len(content) > CONTENT_SIZE:
        over = len(content) - CONTENT_SIZE
        raise TelemetryRoomError(_refused(f"It is {over} bytes more than fit into one packet"))
    padded = content.ljust(CONTENT_SIZE, b"\0")
    if parse_telemetry(padded) is None:
        raise TelemetryRoomError(_refused("It states nothing, or only half of a place"))
    return padded


def _refused(what: str) -> str:
    return f"{what}. Nothing was published. State fewer values, or a shorter status"


def _encode(record: TelemetryRecord) -> bytes:
    word = POSITION_WORD if isinstance(record, PositionRecord) else SENSOR_WORD
    minutes = 0 if record.said_s is None else to_minutes(record.said_s)
    items: list[bipf.Value] = [word, minutes or None, *astuple(record)[1:]]
    while items[-1] is None:
        items.pop()
    return bipf.encode(items)


def record_fields(record: TelemetryRecord) -> dict[str, int | str]:
    """Return what *record* states, by name, but its time."""
    names = [field.name for field in fields(record)]
    return {
        name: item for name, item in list(zip(names, astuple(record), strict=True))[1:] if item is not None
    }


def fitting(record: SensorRecord) -> SensorRecord:
    """Return *record* without what does not fit into one packet: its version, then its hardware, then the end of its
    status."""
    if len(_encode(record)) > CONTENT_SIZE:
        record = replace(record, version=None)
    if len(_encode(record)) > CONTENT_SIZE:
        record = replace(record, hardware=None)
    while record.status and len(_encode(record)) > CONTENT_SIZE:
        record = replace(record, status=record.status[:-1] or None)
    return record


def time_us(record: TelemetryRecord, committed_us: int) -> int:
    """Return the time of *record*, microseconds since 1970; *committed_us*: our clock when its entry arrived."""
    return committed_us if record.said_s is None else min(record.said_s * 1_000_000, committed_us)


def expires_us(record: TelemetryRecord, committed_us: int) -> int | None:
    """Return when *record* is no longer valid, microseconds since 1970; None: when the next one comes."""
    if record.valid_minutes == 0:
        return None
    valid = limits.VALID_MINUTES_USUAL if record.valid_minutes is None else record.valid_minutes
    return time_us(record, committed_us) + valid * _MINUTE_US


def is_valid(record: TelemetryRecord, committed_us: int, now_us: int) -> bool:
    """Return whether *record* is to be shown at *now_us*: it states something, and has not expired."""
    if isinstance(record, PositionRecord) and record.latitude is None:
        return False
    end_us = expires_us(record, committed_us)
    return end_us is None or now_us < end_us


def coarsened(position: PositionRecord, precision_m: int) -> PositionRecord:
    """Return *position* on the grid of *precision_m* metres, without what would tell more; 0: unchanged."""
    if not precision_m or position.latitude is None or position.longitude is None:
        return position
    rows = max(1, round(precision_m / _UNIT_M))
    latitude = _centre(position.latitude, rows, _LATITUDE)
    at_degrees = min(abs(latitude) / DEGREE, _POLE_DEGREES)
    columns = max(1, round(rows / math.cos(math.radians(at_degrees))))
    radius_m = (position.radius_m or 0) + math.ceil(_HALF_DIAGONAL * precision_m)
    return PositionRecord(
        said_s=position.said_s,
        valid_minutes=position.valid_minutes,
        latitude=latitude,
        longitude=_centre(position.longitude, columns, _LONGITUDE),
        radius_m=min(radius_m, limits.RADIUS_M_MAX),
    )


def _centre(value: int, side: int, allowed: range) -> int:
    return min(max(value // side * side + side // 2, allowed[0]), allowed[-1])
