"""Measured values in the units of people, and the records that state them."""

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace

from tinyssb_node.content.telemetry import DEGREE, PositionRecord, SensorRecord
from tinyssb_node.errors import ExitCode, ProblemError


class SourceError(ProblemError):
    """A source that cannot be read, or that says nothing usable."""

    def __init__(self, source: str, reason: str, advice: str) -> None:
        super().__init__(
            f"{source}: {reason}. Nothing was published.", advice, exit_code=ExitCode.UNAVAILABLE
        )
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """Values of sources; None: not stated."""

    latitude: float | None = None
    """Degrees north."""
    longitude: float | None = None
    """Degrees east."""
    accuracy_m: float | None = None
    altitude_m: float | None = None
    speed_m_s: float | None = None
    course_degrees: float | None = None
    battery_percent: float | None = None
    """101: powered from outside."""
    voltage_v: float | None = None
    solar_w: float | None = None
    temperature_c: float | None = None
    humidity_percent: float | None = None
    pressure_hpa: float | None = None
    status: str | None = None
    hardware: str | None = None
    """The device on which the node runs."""

    @property
    def has_place(self) -> bool:
        """True if it states a place."""
        return self.latitude is not None and self.longitude is not None


_PLACE = ("latitude", "longitude", "accuracy_m", "altitude_m", "speed_m_s", "course_degrees")


def merged(found: Iterable[Measured]) -> Measured:
    """Return what several sources measured: of each value the first that states it; a place whole from one source."""
    whole = Measured()
    for one in found:
        stated = {
            field.name: value for field in fields(one) if (value := getattr(one, field.name)) is not None
        }
        if whole.has_place or not one.has_place:
            stated = {name: value for name, value in stated.items() if name not in _PLACE}
        missing = {name: value for name, value in stated.items() if getattr(whole, name) is None}
        whole = replace(whole, **missing)
    return whole


def position_record(measured: Measured, said_s: int | None, valid_minutes: int) -> PositionRecord | None:
    """Return the exact position; None: there is none."""
    if measured.latitude is None or measured.longitude is None:
        return None
    course = _rounded(measured.course_degrees)
    return PositionRecord(
        said_s=said_s,
        valid_minutes=valid_minutes,
        latitude=round(measured.latitude * DEGREE),
        longitude=round(measured.longitude * DEGREE),
        radius_m=_rounded(measured.accuracy_m),
        altitude_m=_rounded(measured.altitude_m),
        speed_dm_s=_rounded(measured.speed_m_s, 10),
        course_degrees=None if course is None else course % 360,
    )


def sensor_record(
    measured: Measured, said_s: int | None, valid_minutes: int, version: str
) -> SensorRecord | None:
    """Return the values of sensors; None: there are none."""
    record = SensorRecord(
        said_s=said_s,
        valid_minutes=valid_minutes,
        battery_percent=_rounded(measured.battery_percent),
        voltage_mv=_rounded(measured.voltage_v, 1_000),
        solar_mw=_rounded(measured.solar_w, 1_000),
        temperature_dc=_rounded(measured.temperature_c, 10),
        humidity_percent=_rounded(measured.humidity_percent),
        pressure_dhpa=_rounded(measured.pressure_hpa, 10),
        status=measured.status,
        hardware=measured.hardware,
    )
    if record == SensorRecord(said_s=said_s, valid_minutes=valid_minutes):
        return None
    return replace(record, version=version)


def _rounded(value: float | None, factor: int = 1) -> int | None:
    return None if value is None else round(value * factor)
