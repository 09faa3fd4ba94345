"""Connections to the page: how many each address may have, and how long a request may take to arrive."""

import asyncio
from typing import ClassVar

from uvicorn.protocols.http.h11_impl import H11Protocol

from tinyssb_node.faces.access import ListenerPolicy, Quotas
from tinyssb_node.web import limits
from tinyssb_node.web.page_server.addresses import is_local


class PageConnection(H11Protocol):
    """One connection. It is closed if no request arrives, or one that never ends (a slow-read attack), so that others
    get its place.

    uvicorn closes connections that are idle after a response; it waits for ever for a first request, and for the rest
    of one.
    """

    quotas: ClassVar[Quotas]
    """Open connections by address."""
    _entered: str | None = None
    _deadline: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override] # uvicorn's own narrowing
        """Count the connection. Those of this machine are not counted: a tunnel or proxy brings many people from one
        address."""
        super().connection_made(transport)
        address = self.client[0] if self.client is not None else "localhost"
        if not is_local(address):
            if not self.quotas.enter(address):
                transport.abort()
                return
            self._entered = address
        self._await_request()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting it."""
        super().connection_lost(exc)
        if self._deadline is not None:
            self._deadline.cancel()
        if self._entered is not None:
            self.quotas.leave(self._entered)

    def on_response_complete(self) -> None:
        """Give the next request as much time as the first one had."""
        super().on_response_complete()
        if not self.transport.is_closing():
            self._await_request()

    def _await_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
        self._deadline = self.loop.call_later(limits.REQUEST_S, self._end_if_waiting)

    def _end_if_waiting(self) -> None:
        """Close it, unless the whole request is here and the response takes its time."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete or cycle.more_body:  # type: ignore[redundant-expr] # None at first
            self.transport.abort()


def make_connection_class() -> type[PageConnection]:
    """Create the class of connections of one server, counted together."""

    class Counted(PageConnection):
        quotas = Quotas(ListenerPolicy(each=limits.EACH_MAX))

    return Counted
