"""Attacks over TCP: floods, half-open connections, slow readers, connections without end, requests of pages."""

import asyncio
import random
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidMessage
from websockets.typing import Subprotocol

from tests.torture.hostile_peer import Stage
from tests.torture.hostile_traffic import Traffic

HALF_OPEN: Final = 24
"""Connections that send half a request, at a time."""
HALF_OPEN_S: Final = 5.0
"""Time after which they are given up for new ones."""
FAULTS: Final = (OSError, ConnectionClosed, InvalidHandshake, InvalidMessage, TimeoutError, EOFError)
"""Errors that a peer of this kind meets."""
REQUESTS: Final = (
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /api/people HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /api/events HTTP/1.1\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n",
    b"GET /api/messages?conversation=%s HTTP/1.1\r\nHost: x\r\n\r\n" % (b"9" * 2_000),
    b'POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Length: 23\r\n\r\n{"token": "0123456789"}',
    b"POST /api/login HTTP/1.1\r\nHost: x\r\nContent-Length: 100000000\r\n\r\n" + b"x" * 100_000,
    b"GET / HTTP/1.1\r\n" + b"X-Junk: %s\r\n" % (b"y" * 50_000) + b"\r\n",
    b"GET /../../etc/passwd HTTP/1.1\r\nHost: x\r\nCookie: %s\r\n\r\n" % (b"z" * 4_000),
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(500),
)  # fmt: skip
"""Requests of browsers without a token, of wrong tokens, and of no browser."""


async def _open(url: str, subprotocols: Sequence[Subprotocol] | None = None) -> ClientConnection:
    return await connect(
        url, proxy=None, ping_interval=None, close_timeout=0.1, subprotocols=subprotocols, compression=None
    )


async def flood_links(stage: Stage, url: str, traffic: Traffic) -> None:
    """Send as fast as the listener takes it; connect anew after a while, as a peer that nothing is known of."""
    packets = traffic.packets()
    while True:
        with suppress(*FAULTS):
            async with await _open(url) as link:
                reading = asyncio.create_task(_hear(link, traffic))
                try:
                    for _ in range(20_000):
                        await link.send(next(packets))
                        stage.count()
                finally:
                    reading.cancel()
        await asyncio.sleep(0.01)


async def _hear(link: ClientConnection | ServerConnection, traffic: Traffic) -> None:
    with suppress(ConnectionClosed):
        async for packet in link:
            if isinstance(packet, bytes) and packet:
                traffic.hear(packet)


async def read_slowly(stage: Stage, url: str, traffic: Traffic) -> None:
    """Request without end, and read nothing."""
    packets = traffic.packets()
    while True:
        with suppress(*FAULTS):
            async with await _open(url) as link:
                while True:
                    await asyncio.wait_for(link.send(next(packets)), 60.0)
                    stage.count()
                    await asyncio.sleep(0.01)
        await asyncio.sleep(0.1)


async def hang_half_open(stage: Stage, to: tuple[str, int]) -> None:
    """Connect, send half a request, and hang."""
    while True:
        opened: list[asyncio.StreamWriter] = []
        for number in range(HALF_OPEN):
            with suppress(OSError, TimeoutError):
                async with asyncio.timeout(0.2):
                    _, writer = await asyncio.open_connection(*to)
                opened.append(writer)
                writer.write(b"GET / HTTP/1.1\r\nUpgrade: websocket\r\nX: "[: 3 * number])
                stage.count()
        await asyncio.sleep(HALF_OPEN_S)
        for each in opened:
            each.transport.abort()


async def reconnect(stage: Stage, url: str, subprotocols: Sequence[Subprotocol] | None = None) -> None:
    """Connect and hang up, again and again."""
    while True:
        with suppress(*FAULTS):
            link = await _open(url, subprotocols)
            stage.count()
            link.transport.abort()
        await asyncio.sleep(0.005)


async def send_large(stage: Stage, url: str) -> None:
    """Send messages that are too large, and text."""
    while True:
        for message in (bytes(4_000), "text" * 900, bytes(1_000_000)):
            with suppress(*FAULTS, AttributeError):  # websockets aborts a transport that has already closed
                async with await _open(url) as link:
                    for _ in range(50):
                        await link.send(message)
                        stage.count()
        await asyncio.sleep(0.2)


async def serve_flood(stage: Stage, host: str, port: int, traffic: Traffic) -> None:
    """Be the server that a node connects to. Once it has begun, flood each connection, and end some."""
    packets, chance = traffic.packets(), random.Random(stage.seed)

    async def flood(link: ServerConnection) -> None:
        reading = asyncio.create_task(_hear(link, traffic))
        try:
            await stage.begin()
            with suppress(ConnectionClosed):
                for _ in range(200_000 + chance.randrange(200_000)):
                    await link.send(next(packets))
                    stage.count()
        finally:
            reading.cancel()

    async with serve(flood, host, port, ping_interval=None, close_timeout=0.1):
        await stage.begin()
        await stage.run()


async def ask_pages(stage: Stage, to: tuple[str, int]) -> None:
    """Request pages without a token, with wrong ones, and with what is no request; read some answers slowly."""
    chance = random.Random(stage.seed)
    while True:
        with suppress(OSError, TimeoutError):
            async with asyncio.timeout(5.0):
                reader, writer = await asyncio.open_connection(*to)
                try:
                    for _ in range(8):
                        writer.write(chance.choice(REQUESTS))
                        stage.count()
                        await writer.drain()
                        await reader.read(chance.choice((1, 100, 65_536)))
                finally:
                    writer.transport.abort()
        await asyncio.sleep(0.001)


async def send_packets(
    stage: Stage, url: str, subprotocol: Subprotocol, first: Sequence[bytes], seeds: Sequence[bytes]
) -> None:
    """Send packets of a sync: *first* those that begin it, then known ones, whole or with bytes changed."""
    chance = random.Random(stage.seed)
    while True:
        with suppress(*FAULTS):
            async with await _open(url, [subprotocol]) as link:
                for packet in first:
                    await link.send(packet)
                while True:
                    packet = chance.choice(seeds)
                    if chance.random() < 0.3:
                        at = chance.randrange(len(packet) + 1)
                        packet = packet[:at] + chance.randbytes(chance.choice((1, 4, 400))) + packet[at + 1 :]
                    await link.send(packet)
                    stage.count()
        await asyncio.sleep(0.005)
