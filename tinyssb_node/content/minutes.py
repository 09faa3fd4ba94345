"""Times in minutes: four bytes of BIPF instead of six (docs/formats/messages.md)."""

from typing import Final

from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits

_MINUTE_S: Final = 60
_START_S: Final = limits.CLAIM_MIN_US // 1_000_000
MINUTES_SHORT_MAX: Final = (1 << 24) - 1
"""Most minutes that three bytes state: November 2051."""
LOW_MINUTES: Final = 1 << 16
"""Minutes after which two bytes state the same again."""
_MAX: Final = (limits.SAID_S_MAX - _START_S) // _MINUTE_S


def to_minutes(wall_s: int) -> int:
    """Return the whole minutes from the start of 2020 to *wall_s*, seconds since 1970; 0 for an earlier time."""
    return min(max(wall_s - _START_S, 0) // _MINUTE_S, _MAX)


def read_minutes(value: Value) -> int | None:
    """Return the seconds since 1970 of a time in minutes; None: it is none, or absurd."""
    if not isinstance(value, int) or isinstance(value, bool) or not 0 < value <= _MAX:
        return None
    return to_seconds(value)


def to_seconds(minutes: int) -> int:
    """Return the seconds since 1970 of whole *minutes* since the start of 2020."""
    return _START_S + minutes * _MINUTE_S


def to_low_minutes(wall_s: int) -> int:
    """Return the lower 16 bits of the minutes of a time: they come again after 45.5 days."""
    return to_minutes(wall_s) % LOW_MINUTES


def nearest_seconds(low_minutes: int, reference_s: int) -> int | None:
    """Return the time with these lower bits that is nearest to *reference_s*; both in seconds since 1970. None: that is
    before 2020, or absurd."""
    reference = (reference_s - _START_S) // _MINUTE_S
    half = LOW_MINUTES // 2
    minutes = reference + (low_minutes - reference + half) % LOW_MINUTES - half
    return to_seconds(minutes) if 0 < minutes <= _MAX else None
