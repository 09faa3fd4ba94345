"""A command of the user's that prints what it measured as one JSON object."""

import json
import math
import shlex
import subprocess
from dataclasses import fields
from typing import Final

from tinyssb_node.content.limits import TELEMETRY_TEXT_MAX
from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.sources.measured import Measured, SourceError

_RANGES: Final = {
    "latitude": (-90, 90),
    "longitude": (-180, 180),
    "accuracy_m": (0, 20_000_000),
    "altitude_m": (-12_000, 100_000),
    "speed_m_s": (0, 400),
    "course_degrees": (0, 360),
    "battery_percent": (0, 101),
    "voltage_v": (0, 1_000),
    "solar_w": (0, 1_000_000),
    "temperature_c": (-100, 200),
    "humidity_percent": (0, 100),
    "pressure_hpa": (0, 2_000),
}
NAMES: Final = tuple(field.name for field in fields(Measured))
_ADVICE: Final = "Run it in a terminal. docs/howto/telemetry.md lists the names that it may print."


def read_hook(command: str) -> Measured:
    """Run *command* without a shell, and return what it printed. Raises SourceError."""
    try:
        words = shlex.split(command)
        ended = subprocess.run(  # noqa: S603 - the user's own command
            words, stdin=subprocess.DEVNULL, capture_output=True, timeout=limits.SOURCE_TIMEOUT_S, check=False
        )
    except subprocess.TimeoutExpired:
        raise _bad(f"{command} takes more than {limits.SOURCE_TIMEOUT_S:.0f} s") from None
    except (OSError, ValueError, IndexError) as error:
        raise _bad(f"{command} cannot be run: {error}") from error
    if ended.returncode:
        last = ended.stderr.decode(errors="replace").strip().rpartition("\n")[2][:200]
        raise _bad(f"{command} ended with exit code {ended.returncode}{': ' if last else ''}{last}")
    return parse_measured(ended.stdout[: limits.SOURCE_BYTES_MAX])


def parse_measured(printed: bytes) -> Measured:
    """Parse a JSON object of names and values; null: not measured. Raises SourceError."""
    try:
        found = json.loads(printed)
    except (ValueError, RecursionError) as error:
        raise _bad(f"it did not print JSON: {error}") from error
    if not isinstance(found, dict):
        raise _bad("it did not print a JSON object")
    for name, value in found.items():
        if name not in NAMES:
            raise _bad(f"it printed the unknown name {name[:40]!r}; known are {', '.join(NAMES)}")
        if value is not None and not _is_good(name, value):
            raise _bad(f"it printed {str(value)[:60]!r} as {name}, which is out of range")
    measured = Measured(**found)
    if (measured.latitude is None) != (measured.longitude is None):
        raise _bad("it printed only one of latitude and longitude")
    return measured


def _is_good(name: str, value: object) -> bool:
    if name not in _RANGES:
        known = isinstance(value, str) and value.isprintable()
        return known and 0 < len(str(value).encode()) <= TELEMETRY_TEXT_MAX
    if not isinstance(value, int | float) or isinstance(value, bool):
        return False
    low, high = _RANGES[name]
    return math.isfinite(value) and low <= value <= high


def _bad(reason: str) -> SourceError:
    return SourceError("the hook", reason, _ADVICE)
