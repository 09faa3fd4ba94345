"""Client of the daemon's `bring` request, which stores packets of another island; for asyncio."""

import asyncio
from collections.abc import Sequence
from pathlib import Path

import msgspec

from tinyssb_node import limits
from tinyssb_node.control.client import reply_row
from tinyssb_node.control.protocol import RequestLine, parse_reply, serialize_request
from tinyssb_node.control.requests import Bring
from tinyssb_node.control.rows import BroughtRow
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId, NetworkName


class BringClient:
    """One connection to the daemon, made when it is needed. Requests wait for each other."""

    def __init__(self, socket: Path) -> None:
        """Use the daemon's control socket at *socket*."""
        self._socket = socket
        self._lock = asyncio.Lock()
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._requests = 0

    async def bring(self, network: NetworkName, feed: FeedId, packets: Sequence[bytes]) -> BroughtRow:
        """Hand over up to 512 packets of *feed*, entries in order, each before its chunks. Raises LocalError."""
        bring = Bring(feed.hex(), [packet.hex() for packet in packets], network=network)
        async with self._lock:
            self._requests += 1
            request = serialize_request(
                RequestLine(self._requests, bring.command, msgspec.to_builtins(bring))
            )
            line = b""
            try:
                async with asyncio.timeout(limits.CLIENT_TIMEOUT_S):
                    line = await self._ask(request)
            except (OSError, TimeoutError) as error:
                raise LocalError(
                    f"The daemon does not answer at {self._socket}: {str(error) or 'too late'}"
                ) from error
            finally:
                # The caller may have given up: a late reply must not be taken for that of the next request.
                if not line:
                    self.close()
        reply = parse_reply(line)
        if reply.error is not msgspec.UNSET:
            raise LocalError(f"The daemon cannot take it: {reply.error.message}")
        return reply_row(Bring, reply.result, BroughtRow)

    def close(self) -> None:
        """Hang up."""
        streams, self._streams = self._streams, None
        if streams is not None:
            streams[1].transport.abort()

    async def _ask(self, request: bytes) -> bytes:
        if self._streams is None:
            self._streams = await asyncio.open_unix_connection(self._socket, limit=limits.CONTROL_REPLY_MAX)
        reader, writer = self._streams
        writer.write(request)
        await writer.drain()
        line = await reader.readline()
        if not line:
            raise ConnectionResetError("it hung up")
        return line
