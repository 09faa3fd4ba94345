"""Requests at the gateway's socket (docs/formats/gateway.md). Used by both ends."""

from tinyssb_node.control.requests import ControlRequest, NetworkListing, Number, Text
from tinyssb_node.islands.gateway.rows import GatewayRow, LocatedRow, LocationRow


class GetGatewayStatus(ControlRequest[GatewayRow], frozen=True):
    """How the gateway is."""

    command = "status"


class Locate(NetworkListing[LocationRow, LocatedRow], frozen=True):
    """Where a feed is, as the gateway learns of it."""

    command = "locate"
    feed: Text
    seconds: Number = 20
