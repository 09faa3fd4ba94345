"""When the next automatic record may be sent: pure calculation on the daemon's airtime accounts and on what was sent
(docs/decisions/0107)."""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from tinyssb_node.content.telemetry import DEGREE, PositionRecord
from tinyssb_node.control.rows import AirtimeRow, FaceRow
from tinyssb_node.limits import AIR_CONTENT_PERMILLE
from tinyssb_node.telemetry import limits

_MINUTE_US: Final = 60_000_000
_AIR: Final = "air"
_EARTH_M: Final = 6_371_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How often automatic records may be sent."""

    wished_us: int
    """Least time between two of a kind, by the settings."""
    air_us: int
    """Least time between two of any kind, by the airtime that the law allows; 0: no radio limits it."""
    per_day: int
    """Most of both kinds in a day, by the settings."""

    @property
    def interval_us(self) -> int:
        """Time between two of a kind: a multiple of a minute, as validities are."""
        longest = max(self.wished_us, self.air_us, limits.DAY_US // self.per_day)
        return -(-longest // _MINUTE_US) * _MINUTE_US

    @property
    def valid_minutes(self) -> int:
        """Validity of an automatic record."""
        return max(limits.VALID_FACTOR * self.interval_us // _MINUTE_US, limits.VALID_MIN_MINUTES)

    def next_us(self, latest_us: int | None, of_all: Sequence[int]) -> int:
        """Return when the next record of a kind may be sent. *latest_us*: time of the last of that kind, if there is
        one; *of_all*: times of both kinds within the last day, and of the last ones, in order. Records sent by hand
        count, too. Microseconds."""
        earliest_us = 0 if latest_us is None else latest_us + self.wished_us
        if of_all:
            earliest_us = max(earliest_us, of_all[-1] + self.air_us)
        if len(of_all) >= self.per_day:
            earliest_us = max(earliest_us, of_all[-self.per_day] + limits.DAY_US)
        return earliest_us


def air_us(packets: int, faces: Iterable[FaceRow], accounts: Iterable[AirtimeRow]) -> int:
    """Return the time in which the law of the narrowest radio leaves room for *packets*, those of one record by each
    node, sent once by each: as for acknowledgements (``gossip.acknowledgements``). 0: there is no radio."""
    narrowest_us = 0
    limited: set[str] = set()
    for account in accounts:
        limited.update(account.faces)
        if account.limit_us:
            narrowest_us = max(
                narrowest_us,
                packets
                * account.full_us
                * account.window_us
                * 1_000
                // (account.limit_us * limits.AIR_PERMILLE),
            )
    for face in faces:
        if face.medium == _AIR and face.face not in limited and face.full_us is not None:
            # Where the law sets no limit: a tenth of the time, as in the widest European band.
            narrowest_us = max(narrowest_us, packets * face.full_us * 10_000 // limits.AIR_PERMILLE)
    return narrowest_us


def busy(faces: Iterable[FaceRow], accounts: Iterable[AirtimeRow]) -> str | None:
    """Return why a record has to wait for messages, as the end of a sentence; None: it need not."""
    for account in accounts:
        content_us = account.limit_us * AIR_CONTENT_PERMILLE // 1_000
        if account.wait_us != 0 or 2 * account.content_left_us < content_us:
            return f"messages need the airtime that is left in {account.band}"
    for face in faces:
        if face.medium == _AIR and (face.queued or face.outstanding):
            return f"{face.face} has packets to send"
    return None


def moved_m(one: PositionRecord, other: PositionRecord) -> float:
    """Return the distance of two places along the Earth, in metres; infinite if one of them is none."""
    if None in (one.latitude, one.longitude, other.latitude, other.longitude):
        return math.inf
    assert one.latitude is not None
    assert one.longitude is not None
    assert other.latitude is not None
    assert other.longitude is not None
    first, second = math.radians(one.latitude / DEGREE), math.radians(other.latitude / DEGREE)
    across = math.radians((other.longitude - one.longitude) / DEGREE)
    chord = (
        math.sin((second - first) / 2) ** 2 + math.cos(first) * math.cos(second) * math.sin(across / 2) ** 2
    )
    return 2 * _EARTH_M * math.asin(math.sqrt(min(1.0, chord)))
