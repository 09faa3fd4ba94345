"""The server process of a page."""

import contextlib
import socket
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

    def __init__(self, config: uvicorn.Config, end_streams: Callable[[], None]) -> None:
        super().__init__(config)
        self._end_streams = end_streams

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End the event streams, then everything else."""
        self._end_streams()
        await super().shutdown(sockets)

    def run_until_signal(self, listener: socket.socket) -> None:
        """Serve until SIGINT or SIGTERM."""
        # uvicorn shuts down at the first SIGINT and then raises it again, as a shell expects.
        with contextlib.suppress(KeyboardInterrupt):
            self.run(sockets=[listener])
