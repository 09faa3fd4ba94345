"""Connections to a page: how many each address may have, how long a request may take to arrive, and which connection
makes room for another."""

import asyncio
from collections import Counter
from dataclasses import dataclass
from typing import Any, ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from tinyssb_node.web.page_server.addresses import is_local, owner_of


@dataclass(frozen=True, slots=True, kw_only=True)
class ConnectionLimits:
    """Limits of the connections to one page."""

    served: int
    """Connections whose whole request is here, and its response is not complete."""
    waiting: int
    """Connections that have sent no whole request. Beyond it one of them is ended, so that silence takes no place."""
    each: int | None = None
    """Connections from one address; None: no such limit. Those of this machine are not counted: a tunnel or proxy
    brings many people from one address."""
    request_s: float
    """Seconds that a request may take to arrive, counted from the connection or the last response."""


class ConnectionTable:
    """Open connections of one server."""

    def __init__(self, limits: ConnectionLimits) -> None:
        self.limits = limits
        self._open: Counter[str] = Counter()
        """By address, without those of this machine."""
        self._waiting: dict[PageConnection, str] = {}
        """Address of each that has sent no whole request, the oldest first."""

    def enter(self, address: str) -> bool:
        """Count a connection. Return False, and do not count it, if its address has too many."""
        if is_local(address):
            return True
        owner, each = owner_of(address), self.limits.each
        if each is not None and self._open[owner] >= each:
            return False
        self._open[owner] += 1
        return True

    def leave(self, address: str) -> None:
        """Count a connection less."""
        if not is_local(address):
            owner = owner_of(address)
            self._open[owner] -= 1
            if not self._open[owner]:
                del self._open[owner]

    def wait(self, connection: "PageConnection", address: str) -> None:
        """Note that *connection* owes a request. If too many do, end the oldest of the address that has most of them:
        an honest browser needs milliseconds, an attacker ends its own."""
        self._waiting.pop(connection, None)
        self._waiting[connection] = owner_of(address)
        if len(self._waiting) > self.limits.waiting:
            ((most, _),) = Counter(self._waiting.values()).most_common(1)
            oldest = next(one for one, owner in self._waiting.items() if owner == most)
            del self._waiting[oldest]
            oldest.end()

    def wait_no_more(self, connection: "PageConnection") -> None:
        """Note that a whole request came, or the connection is closed."""
        self._waiting.pop(connection, None)


class PageConnection(H11Protocol):
    """One connection. It is closed if no request arrives, or one that never ends (a slow-read attack), so that others
    get its place.

    uvicorn closes connections that are idle after a response; it waits for ever for a first request, and for the rest
    of one, and counts them as if they were served.
    """

    table: ClassVar[ConnectionTable]
    """Connections of the same server."""
    _address: str | None = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own narrowing
        """Count the connection, and wait for its request."""
        super().connection_made(transport)
        address = self.client[0] if self.client is not None else "localhost"
        if not self.table.enter(address):
            self.end()
            return
        self._address = address
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting it."""
        super().connection_lost(exc)
        self.table.wait_no_more(self)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._address is not None:
            self.table.leave(self._address)

    def handle_events(self) -> None:
        """Note when a whole request has come."""
        super().handle_events()
        if not self._owes_request():
            self.table.wait_no_more(self)

    def on_response_complete(self) -> None:
        """Give the next request as much time as the first one had."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._await_request()

    def end(self) -> None:
        """Close it at once. It is no longer among the connections that uvicorn counts before it serves another."""
        self.connections.discard(self)
        self.transport.abort()

    def _await_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(self.table.limits.request_s, self._end_if_waiting)
        if self._address is not None and self._owes_request():
            self.table.wait(self, self._address)

    def _end_if_waiting(self) -> None:
        if self._owes_request():
            self.end()

    def _owes_request(self) -> bool:
        """Return False while the whole request is here, and the response takes its time."""
        cycle = self.cycle
        return cycle is None or cycle.response_complete or cycle.more_body  # type: ignore[redundant-expr] # None at first


def connection_options(limits: ConnectionLimits) -> dict[str, Any]:
    """Return uvicorn's options for one server: a class of connections that are counted together, and its own limit."""

    class Counted(PageConnection):
        table = ConnectionTable(limits)

    return {"http": Counted, "limit_concurrency": limits.served + limits.waiting}
