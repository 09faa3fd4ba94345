"""Request handler of the gateway's control socket (docs/formats/gateway.md)."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from tinyssb_node import limits as node_limits
from tinyssb_node.control.protocol import RequestLine
from tinyssb_node.control.requests import ControlRequest, read_request
from tinyssb_node.control.server import ControlConnection
from tinyssb_node.daemon.feed_names import OWN_FEED
from tinyssb_node.errors import ProblemError
from tinyssb_node.ids import FeedId, NetworkName
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.network import GatewayNetwork
from tinyssb_node.islands.gateway.requests import GetGatewayStatus, Locate
from tinyssb_node.islands.gateway.rows import GatewayRow, LocatedRow, LocationRow
from tinyssb_node.islands.locator.addresses import ContactAddress, text_of
from tinyssb_node.islands.locator.values import Location, ResourceParameters


class GatewayView(Protocol):
    """Gateway, as its request handler sees it."""

    @property
    def islands(self) -> Mapping[NetworkName, GatewayNetwork]:
        """Its networks."""
        ...

    @property
    def own(self) -> FeedId:
        """The node's main feed."""
        ...

    def now_us(self) -> int:
        """Return the time of the gateway's clock."""
        ...

    def row(self) -> GatewayRow:
        """Return its status."""
        ...


class GatewayHandler:
    """Requests for the gateway's status, and for locations of feeds."""

    def __init__(self, gateway: GatewayView) -> None:
        self._gateway = gateway
        self._answers: Mapping[
            type[ControlRequest[Any]], Callable[[Any, ControlConnection], Awaitable[object]]
        ] = {GetGatewayStatus: self._status, Locate: self._locate}

    async def answer(self, line: RequestLine, client: ControlConnection) -> object:
        """Return the result of the request in *line*; items go to *client* before. Raises LocalError."""
        kinds = {kind.command: kind for kind in self._answers}
        kind = kinds.get(line.command)
        if kind is None:
            raise ProblemError(
                f"The gateway knows no command `{line.command[: node_limits.CONTROL_ID_MAX]}`.",
                "There are " + ", ".join(kinds) + ".",
                code="unknown_command",
            )
        return await self._answers[kind](read_request(kind, line.arguments), client)

    async def _status(self, _request: GetGatewayStatus, _client: ControlConnection) -> GatewayRow:
        return self._gateway.row()

    async def _locate(self, request: Locate, client: ControlConnection) -> LocatedRow:
        network, seconds = request.network, min(request.seconds, limits.LOCATE_MAX_S)
        island = self._gateway.islands.get(NetworkName(network))
        if island is None:
            raise ProblemError(
                f"The gateway does not serve the network '{network[: node_limits.NAME_MAX]}'.",
                "`gateway.networks` in config.toml lists those it serves.",
                code="unknown_network",
            )
        feed = self._find(island, request.feed)
        return await self._watch(island, feed, seconds, client)

    def _find(self, island: GatewayNetwork, name: str) -> FeedId:
        """Return the feed that *name* names; with all its digits it may be unknown here."""
        if name == OWN_FEED:
            return self._gateway.own
        prefix = name.lower()
        found = [one.feed for one in island.holdings.feeds if prefix and one.feed.hex().startswith(prefix)]
        if len(found) > 1:
            raise ProblemError(
                f"{len(found)} feeds begin with '{name}'.",
                "Add digits until only one is left; `tinyssb feeds` lists them.",
                code="ambiguous_feed",
            )
        if found:
            return found[0]
        try:
            return FeedId(bytes.fromhex(name))
        except ValueError:
            raise ProblemError(
                f"No feed known here begins with '{name[: 2 * node_limits.FEED_ID_SIZE]}'.",
                f"One that is not known here is located by all {2 * node_limits.FEED_ID_SIZE} digits of its id.",
                code="unknown_feed",
            ) from None

    async def _watch(
        self, island: GatewayNetwork, feed: FeedId, seconds: int, client: ControlConnection
    ) -> LocatedRow:
        """Send locations to *client* as they come in, each when it is new or has changed."""
        reports: asyncio.Queue[_Told] = asyncio.Queue(256)
        begun_us = self._gateway.now_us()
        told: dict[ContactAddress, ResourceParameters] = {}
        total = denials = 0
        heard = _heard(island)

        def watch(locations: tuple[Location, ...], over: bool) -> None:
            nonlocal heard
            before, heard = heard, _heard(island)
            # A slow reader gets fewer reports, and the end by the clock.
            if not reports.full():
                reports.put_nowait(_Told(locations, answer=heard != before, over=over))

        async def end_when_gone() -> None:
            await client.gone.wait()
            watch((), True)

        going = asyncio.create_task(end_when_gone())
        island.watch(feed, watch, begun_us)
        try:
            async with asyncio.timeout(seconds):
                while not (report := await reports.get()).over:
                    total += report.answer
                    denials += report.answer and not report.locations
                    for location in report.locations:
                        if told.get(location.place) != location.parameters:
                            told[location.place] = location.parameters
                            await client.send(_row(feed, location, self._gateway.now_us() - begun_us))
        except TimeoutError:
            pass  # The client chose how long.
        finally:
            going.cancel()
            island.unwatch(feed, watch)
        counts = island.counts()
        return LocatedRow(
            feed=feed.hex(),
            count=len(told),
            reports=total,
            denials=denials,
            peers=0 if counts is None else counts.confirmed,
        )


@dataclass(frozen=True, slots=True)
class _Told:
    """A report to a watch."""

    locations: tuple[Location, ...]
    answer: bool
    """False: it is from the gateway's own memory."""
    over: bool


def _heard(island: GatewayNetwork) -> int:
    """Return how many replies to queries came in so far."""
    counts = island.counts()
    return 0 if counts is None else counts.received.get("report_cookie", 0)


def _row(feed: FeedId, location: Location, elapsed_us: int) -> LocationRow:
    place, parameters = location.place, location.parameters
    return LocationRow(
        feed=feed.hex(),
        address=text_of(place.node, place.message),
        connection=text_of(place.node, place.connection),
        entries=parameters.timestamp,
        whole=parameters.completeness,
        old=parameters.old,
        elapsed_us=elapsed_us,
    )
