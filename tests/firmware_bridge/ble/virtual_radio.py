"""Bluetooth controllers that bumble models, on one modelled air, each behind a socket as a dongle would be."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from bumble.controller import Controller
from bumble.link import LocalLink
from bumble.transport import open_transport


class VirtualDongle(str):
    """A dongle, by its name in bumble."""

    __slots__ = ("unplug",)

    unplug: Callable[[], None]


def _disconnect(sink: Any) -> None:
    sink.transport.close()


@asynccontextmanager
async def virtual_dongles(folder: Path, count: int) -> AsyncIterator[list[VirtualDongle]]:
    """Yield *count* dongles that hear each other; their sockets are in *folder*."""
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
            dongle = VirtualDongle(f"unix:{path}")
            dongle.unplug = partial(_disconnect, transport.sink)
            names.append(dongle)
        yield names
