"""gpsd: a place from a GPS receiver, by the JSON protocol of its socket (gpsd_json(5))."""

import json
import socket
import time
from collections.abc import Iterator
from typing import Final

from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.sources.measured import Measured, SourceError

_WATCH: Final = b'?WATCH={"enable":true,"json":true};\n'
_FIX_2D: Final = 2
"""``mode`` of a report with a place; 3 has an altitude, too."""
_NAME: Final = "gpsd"


def read_gpsd(address: tuple[str, int], timeout_s: float = limits.SOURCE_TIMEOUT_S) -> Measured:
    """Return the first place that gpsd at *address* reports. Raises SourceError: it cannot be reached, or has no place
    within *timeout_s*."""
    end_s = time.monotonic() + timeout_s
    try:
        with socket.create_connection(address, timeout_s) as connection:
            connection.sendall(_WATCH)
            for line in _lines(connection, end_s):
                if (found := parse_report(line)) is not None:
                    return found
    except TimeoutError:
        raise SourceError(
            _NAME,
            f"no place within {timeout_s:.0f} s",
            "Put the receiver under the open sky, and look with `cgps -s`. The first fix may take minutes.",
        ) from None
    except OSError as error:
        host, port = address
        raise SourceError(
            _NAME,
            f"{host}:{port} cannot be reached: {error.strerror or error}",
            "Start it (`systemctl start gpsd.socket`), or correct telemetry.gpsd in config.toml.",
        ) from error
    raise SourceError(_NAME, "it closed the connection", "Look at its log: journalctl -u gpsd")


def _lines(connection: socket.socket, end_s: float) -> Iterator[bytes]:
    """Yield whole lines, until the end or `limits.SOURCE_BYTES_MAX`. Raises TimeoutError, OSError."""
    waiting, taken = b"", 0
    while taken < limits.SOURCE_BYTES_MAX:
        left_s = end_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError
        connection.settimeout(left_s)
        part = connection.recv(4_096)
        if not part:
            return
        taken += len(part)
        *lines, waiting = (waiting + part).split(b"\n")
        yield from lines


def parse_report(line: bytes) -> Measured | None:
    """Return the place in a line of gpsd's; None: it has none. Never raises."""
    try:
        report = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(report, dict) or report.get("class") != "TPV":
        return None
    latitude, longitude = _number(report, "lat", 90), _number(report, "lon", 180)
    mode = report.get("mode")
    if not isinstance(mode, int) or mode < _FIX_2D or latitude is None or longitude is None:
        return None
    altitude_m = _number(report, "altMSL", 100_000)
    return Measured(
        latitude=latitude,
        longitude=longitude,
        accuracy_m=_number(report, "eph", 1e7),
        altitude_m=_number(report, "alt", 100_000) if altitude_m is None else altitude_m,
        speed_m_s=_number(report, "speed", 400),
        course_degrees=_number(report, "track", 360),
    )


def _number(report: dict[str, object], name: str, most: float) -> float | None:
    value = report.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not abs(value) <= most:
        return None
    return float(value)
