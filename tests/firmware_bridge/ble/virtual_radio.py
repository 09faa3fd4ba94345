"""Bluetooth controllers that bumble models, on one modelled air, each behind a socket as a dongle would be."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from bumble.controller import Controller
from bumble.link import LocalLink
from bumble.transport import open_transport


@asynccontextmanager
async def virtual_dongles(folder: Path, count: int) -> AsyncIterator[list[str]]:
    """What bumble calls *count* dongles that hear each other; their sockets are in *folder*."""
    air = LocalLink()
    async with AsyncExitStack() as stack:
        names = []
        for number in range(count):
            path = folder / f"hci{number}"
            transport = await open_transport(f"unix-server:{path}")
            # Its close() leaves the socket that listens.
            server: asyncio.Server = transport.server  # type: ignore[attr-defined]  # of a class it keeps to itself
            stack.callback(server.close)
            Controller(
                f"C{number}",
                host_source=transport.source,
                host_sink=transport.sink,
                link=air,
                public_address=f"F0:F0:F0:F0:F0:0{number}",
            )
            names.append(f"unix:{path}")
        yield names
