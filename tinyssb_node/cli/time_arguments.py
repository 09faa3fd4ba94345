"""Points in time as typed on a command line."""

import re
from datetime import datetime, timedelta
from typing import Final

_UNITS: Final = {"m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_AGO: Final = re.compile(r"([0-9]{1,5})([mhdw])")


def moment_of(text: str, now: datetime) -> int | None:
    """Return microseconds since 1970 of *text*: `90m`, `12h`, `3d` or `2w` before *now*, or a date and time in ISO
    8601, local if it names no zone. None if it is neither."""
    if (ago := _AGO.fullmatch(text)) is not None:
        when = now - timedelta(**{_UNITS[ago[2]]: int(ago[1])})
    else:
        try:
            when = datetime.fromisoformat(text).astimezone()
        except (ValueError, OverflowError):
            return None
    return max(0, int(when.timestamp() * 1_000_000))
