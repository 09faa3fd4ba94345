"""Records of this node that are due at intervals, computed from its settings, its feed and its airtime accounts."""

from dataclasses import dataclass
from enum import StrEnum

from tinyssb_node.catalog.rows import TelemetryRow
from tinyssb_node.content.telemetry import PositionRecord, expires_us, time_us
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import shared_telemetry
from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.config import PUBLIC, TelemetryConfig
from tinyssb_node.telemetry.schedule import Pace, air_us, busy, moved_m

_MINUTE_US = 60_000_000


class TelemetryKind(StrEnum):
    """The two kinds of records."""

    POSITION = "position"
    SENSORS = "sensors"


@dataclass(frozen=True, slots=True, kw_only=True)
class TelemetryPlan:
    """The state of the automatic records of one kind."""

    kind: TelemetryKind
    audience: str
    """To whom they go; empty: nobody."""
    pace: Pace
    sent_today: int
    """Records of both kinds within the last day, those sent by hand among them."""
    latest: TelemetryRow | None
    """The last record of this kind, if there is one."""
    next_us: int
    """When the next one may be sent, wall clock; 0: now."""
    waits: str | None
    """Why none is sent although it may be time, as the end of a sentence; None: one is, if a source has something."""

    def is_due(self, now_us: int) -> bool:
        """Return whether a record is to be sent now, if it tells anything new."""
        return bool(self.audience) and self.waits is None and now_us >= self.next_us

    def tells_nothing_new(self, position: PositionRecord, moved_least_m: int, now_us: int) -> bool:
        """Return whether the last position still says it: near enough, and valid for a while."""
        if self.latest is None or not isinstance(self.latest.record, PositionRecord):
            return False
        record, arrived_us = self.latest.record, self.latest.committed_us
        end_us = expires_us(record, arrived_us)
        if end_us is not None and now_us >= end_us - (end_us - time_us(record, arrived_us)) // 4:
            return False
        return moved_m(record, position) < max(moved_least_m, 1)


def plan(settings: TelemetryConfig, node: NodeSession, now_us: int) -> list[TelemetryPlan]:
    """Return the plans of both kinds. Raises as the catalog and the client do."""
    own, catalog, client = node.own, node.catalog, node.client
    active_us = now_us - limits.ACTIVE_US
    nodes = sum(1 for row in catalog.people() if row.own or (row.last_us or 0) >= active_us)
    faces, accounts = list(client.faces()), list(client.airtime())
    waits, day_ago_us = busy(faces, accounts), now_us - limits.DAY_US
    mine = [row for row in shared_telemetry(node) if row.own]
    # A record from the future is of a clock that was wrong then. Of groups only the last ones are known.
    sent = {
        *(row.committed_us for row in mine),
        *(row.committed_us for row in catalog.telemetry_of(own, day_ago_us)),
    }
    times = sorted(at for at in sent if at <= now_us)
    plans = []
    for kind, audience, minutes in (
        (TelemetryKind.POSITION, settings.position, settings.position_minutes),
        (TelemetryKind.SENSORS, settings.sensors, settings.sensors_minutes),
    ):
        grouped = audience not in {"", PUBLIC}
        wished_us = max(minutes * _MINUTE_US, limits.DAY_US // settings.per_day if grouped else 0)
        packets = limits.GROUP_PACKETS if grouped else 1
        on_air_us = air_us(packets * max(nodes, 1), faces, accounts)
        pace = Pace(wished_us=wished_us, air_us=on_air_us, per_day=settings.per_day)
        of_kind = [row for row in mine if _kind(row) is kind and (row.group is not None) == grouped]
        last = max(of_kind, key=lambda row: row.committed_us, default=None)
        latest_us = None if last is None or last.committed_us > now_us else last.committed_us
        plans.append(
            TelemetryPlan(
                kind=kind,
                audience=audience,
                pace=pace,
                sent_today=sum(at >= day_ago_us for at in times),
                latest=last,
                next_us=pace.next_us(latest_us, times),
                waits=_stopped(last) or waits,
            )
        )
    return plans


def _kind(row: TelemetryRow) -> TelemetryKind:
    return TelemetryKind.POSITION if isinstance(row.record, PositionRecord) else TelemetryKind.SENSORS


def _stopped(last: TelemetryRow | None) -> str | None:
    withdrawn = last is not None and isinstance(last.record, PositionRecord) and last.record.latitude is None
    return "you withdrew your position; to share it again: tinyssb position share" if withdrawn else None
