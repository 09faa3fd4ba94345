"""Times in minutes: four bytes of BIPF instead of six (docs/formats/messages.md)."""

from typing import Final

from tinyssb_node.codec.bipf import Value
from tinyssb_node.content import limits

_MINUTE_S: Final = 60
_START_S: Final = limits.CLAIM_MIN_US // 1_000_000
MINUTES_SHORT_MAX: Final = (1 << 24) - 1
"""Most minutes that three bytes state: November 2051."""
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
