"""The server process of a page."""

import contextlib
import socket
import time
from collections.abc import Callable
from functools import partial
from typing import Final

import uvicorn

page_config: Final = partial(
    uvicorn.Config, log_level="warning", access_log=False, server_header=False, proxy_headers=False, ws="none"
)
"""Settings that all pages share: no line per request, and no trust in the headers of a proxy. ``connection_options``
returns others that each page needs."""


class PageServer(uvicorn.Server):
    """A server that ends the event streams first when it stops; uvicorn would wait for them."""

    def __init__(
        self, config: uvicorn.Config, end_streams: Callable[[], None], *, rest_s: float | None = None
    ) -> None:
        """Create a server that ends itself after *rest_s* seconds without a request or an open connection; None:
        never."""
        super().__init__(config)
        self._end_streams = end_streams
        self._rest_s = rest_s
        self._requests = 0
        self._used_s = time.monotonic()
        self.rested = False
        """True: it ended since nobody used it."""

    async def on_tick(self, counter: int) -> bool:
        """Return whether to end; uvicorn asks ten times a second."""
        requests = self.server_state.total_requests
        if requests != self._requests or self.server_state.connections:
            self._requests, self._used_s = requests, time.monotonic()
        ends = await super().on_tick(counter)
        unused_s = time.monotonic() - self._used_s
        self.rested = not ends and self._rest_s is not None and unused_s >= self._rest_s
        return ends or self.rested

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, then everything else."""
        self._end_streams()
        await super().shutdown(sockets)

    def run_until_signal(self, listener: socket.socket) -> None:
        """Serve until SIGINT or SIGTERM."""
        # uvicorn shuts down at the first SIGINT and then raises it again, as a shell expects.
        with contextlib.suppress(KeyboardInterrupt):
            self.run(sockets=[listener])
