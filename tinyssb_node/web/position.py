"""Requests about the user's own position: to whom it is shown now, what sharing publishes and costs, share, stop."""

import math
import re
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request
from starlette.routing import Route

from tinyssb_node.content.limits import RADIUS_M_MAX, VALID_MINUTES_MAX
from tinyssb_node.content.telemetry import (
    DEGREE,
    PositionRecord,
    coarsened,
    is_valid,
    serialize_telemetry,
    withdrawal,
)
from tinyssb_node.errors import BadRequestError
from tinyssb_node.screens.estimate import estimate
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import said_s, shared_telemetry, wall_us
from tinyssb_node.web import limits
from tinyssb_node.web.page_service import PageService
from tinyssb_node.web.request_fields import body_of, once_of
from tinyssb_node.web.responses import json_route
from tinyssb_node.web.shapes import Shape, cost_shape, group_title

_GROUP: Final = re.compile(r"[0-9a-f]{40}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SharedPlace:
    """A place that a phone found, and the choice of its user."""

    latitude: float
    """Degrees north."""
    longitude: float
    """Degrees east."""
    accuracy_m: float
    precision_m: int
    """Side of the grid on which it is published; 0: exact."""
    valid_minutes: int
    """0: until the next one."""
    group: str | None
    """None: for everybody."""

    def record(self) -> PositionRecord:
        """Return the record. Altitude is left out: phones state it above the ellipsoid, not above the sea."""
        exact = PositionRecord(
            said_s=said_s(wall_us()),
            valid_minutes=self.valid_minutes,
            latitude=round(self.latitude * DEGREE),
            longitude=round(self.longitude * DEGREE),
            radius_m=min(math.ceil(self.accuracy_m), RADIUS_M_MAX),
        )
        return coarsened(exact, self.precision_m)


def position_routes(service: PageService) -> list[Route]:
    """Return the routes of the user's own position."""

    async def cost(request: Request) -> Shape:
        place = place_of(await body_of(request))
        return await service.change(lambda node: preview_position(node, place))

    async def share(request: Request) -> Shape:
        body = await body_of(request)
        place, once = place_of(body), once_of(body)
        return await service.once(once, lambda node: share_position(node, place))

    async def stop(request: Request) -> Shape:
        once = once_of(await body_of(request))
        return await service.once(once, stop_position)

    return [
        json_route("/api/position", lambda _request: service.read(own_position)),
        json_route("/api/position/cost", cost, "POST"),
        json_route("/api/position/share", share, "POST"),
        json_route("/api/position/stop", stop, "POST"),
    ]


def own_position(node: NodeSession) -> Shape:
    """Return the groups to which a position may be shown, and to whom one is shown now: ids of groups, null for
    everybody."""
    groups = [{"name": room.name, "title": group_title(room)} for room in node.groups() or ()]
    return {"groups": groups, "shown": _audiences(node)}


def _audiences(node: NodeSession) -> list[str | None]:
    now_us, own = wall_us(), node.own
    return [
        row.group
        for row in shared_telemetry(node)
        if row.feed == own
        and isinstance(row.record, PositionRecord)
        and is_valid(row.record, row.committed_us, now_us)
    ]


def preview_position(node: NodeSession, place: SharedPlace) -> Shape:
    """Return the place as it would be published, and its cost. Raises as the client does."""
    record = place.record()
    assert record.latitude is not None
    assert record.longitude is not None
    client = node.client
    packets = 1  # a record fills one (docs/formats/telemetry.md)
    if place.group is not None:
        packets = client.group_share_cost(place.group, serialize_telemetry(record)).packets
    return {
        "latitude": record.latitude / DEGREE,
        "longitude": record.longitude / DEGREE,
        "radius_m": record.radius_m,
        **cost_shape(packets, estimate(packets, list(client.faces()), list(client.airtime()))),
    }


def share_position(node: NodeSession, place: SharedPlace) -> Shape:
    """Publish the place. Raises as the client does."""
    return {"packets": _publish(node, place.record(), place.group)}


def stop_position(node: NodeSession) -> Shape:
    """Withdraw the position from all to whom it is shown. Raises as the client does."""
    node.catch_up()
    record = withdrawal(said_s(wall_us()))
    return {"packets": sum(_publish(node, record, group) for group in _audiences(node))}


def _publish(node: NodeSession, record: PositionRecord, group: str | None) -> int:
    """Publish a record, and return its packets. Raises as the client does."""
    content = serialize_telemetry(record)
    if group is not None:
        return node.client.group_share(group, content).packets
    return 1 + node.publish(content).chunks


def place_of(body: dict[str, object]) -> SharedPlace:
    """Parse a place and its choices. Raises BadRequestError."""
    group = body.get("group")
    if group is not None and not (isinstance(group, str) and _GROUP.fullmatch(group)):
        raise BadRequestError("`group` must be the id of a group, or null for everybody.")
    return SharedPlace(
        latitude=_measured(body, "latitude", -90, 90),
        longitude=_measured(body, "longitude", -180, 180),
        accuracy_m=_measured(body, "accuracy_m", 0, 1e9),
        precision_m=_whole(body, "precision_m", limits.PRECISION_M_MAX),
        valid_minutes=_whole(body, "valid_minutes", VALID_MINUTES_MAX),
        group=group,
    )


def _measured(body: dict[str, object], name: str, least: float, most: float) -> float:
    value = body.get(name)
    if not isinstance(value, int | float) or isinstance(value, bool) or not least <= value <= most:
        raise BadRequestError(f"`{name}` must be a number from {least:g} to {most:g}.")
    return float(value)


def _whole(body: dict[str, object], name: str, most: int) -> int:
    value = body.get(name)
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value <= most:
        raise BadRequestError(f"`{name}` must be a whole number from 0 to {most}.")
    return value
