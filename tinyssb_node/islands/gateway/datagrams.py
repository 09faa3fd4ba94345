"""UDP socket that the locators of all networks share; routes and names, as the system finds them."""

import asyncio
import errno
import socket
from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Final, Self, cast

from tinyssb_node.islands.locator.addresses import Peer, host_of, node_of, peer_of

_NOBODY: Final = Peer(node_of("192.0.2.1"), b"\0\x09")
"""An address reserved for examples (RFC 5737): used to ask for a route when there is no peer."""


ALL_ADDRESSES: Final = "::"
"""Stands for all addresses, of IPv6 and IPv4."""
WITHOUT_IPV6: Final = frozenset({errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL})
"""Errors of a system that has no IPv6."""
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
"""Errors when the system has no socket for us; they tell nothing about the peer."""


class DatagramSocket(asyncio.DatagramProtocol):
    """An open UDP socket. Datagrams that cannot be sent are lost, and counted."""

    def __init__(self, received: Callable[[bytes, Peer], None]) -> None:
        """Use ``open``."""
        self._received = received
        self._transport: asyncio.DatagramTransport | None = None
        self._full = False
        """The system accepts no more for now."""
        self._closed = asyncio.Event()
        self.ipv6 = False
        """It is a socket of IPv6, which has IPv4 as a part."""
        self.port = 0
        """The port it listens on."""
        self.unsent = 0
        """Datagrams that the system did not accept."""
        self._problem: str | None = None

    @classmethod
    async def open(cls, host: str, port: int, received: Callable[[bytes, Peer], None]) -> Self:
        """Listen at *host*, *port*, and pass every datagram to *received*; at ``::``, by IPv4 too, or by IPv4 alone on
        a system without IPv6. Raises OSError."""
        loop = asyncio.get_running_loop()
        if host == ALL_ADDRESSES:
            sock = _open_for_all(port)
            _, protocol = await loop.create_datagram_endpoint(lambda: cls(received), sock=sock)
        else:
            _, protocol = await loop.create_datagram_endpoint(lambda: cls(received), local_addr=(host, port))
        return protocol

    async def close(self) -> None:
        """Stop listening."""
        if self._transport is not None:
            self._transport.abort()
            await self._closed.wait()

    def send(self, to: Peer, datagram: bytes) -> None:
        """Send *datagram*, if it can be sent at all."""
        transport = self._transport
        if transport is None or self._full:
            self.unsent += 1
            return
        host = host_of(to.node)
        if self.ipv6 and len(to.node) == 4:
            host = f"::ffff:{host}"
        elif not self.ipv6 and len(to.node) != 4:
            self.unsent += 1
            return
        transport.sendto(datagram, (host, int.from_bytes(to.message, "big")))

    def take_problem(self) -> str | None:
        """Return the last error of the system since the last call."""
        problem, self._problem = self._problem, None
        return problem

    # --- calls of asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Use the socket, which is open now."""
        self._transport = cast("asyncio.DatagramTransport", transport)
        sock = transport.get_extra_info("socket")
        self.ipv6 = sock.family == socket.AF_INET6
        self.port = int(sock.getsockname()[1])

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio names it
        """Note that the socket is closed."""
        self._transport = None
        self._closed.set()

    def pause_writing(self) -> None:
        """Drop further datagrams: 64 KiB wait for a slow link."""
        self._full = True

    def resume_writing(self) -> None:
        """Send datagrams again."""
        self._full = False

    def datagram_received(self, data: bytes, address: tuple[str, int]) -> None:
        """Pass on a datagram."""
        if address[1]:
            self._received(data, peer_of(*address[:2]))

    def error_received(self, error: OSError) -> None:  # type: ignore[override] # the base class takes any exception
        """Count a datagram that the system could not send, now or a moment ago."""
        self.unsent += 1
        self._problem = error.strerror or str(error)


def _open_for_all(port: int) -> socket.socket:
    """Open a socket at *port* of all addresses, whatever the system's default for IPv4 within IPv6. Raises OSError."""
    try:
        sock = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
    except OSError as error:
        if error.errno not in WITHOUT_IPV6:
            raise
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    try:
        if sock.family == socket.AF_INET6:
            sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        sock.setblocking(False)
        sock.bind(("", port))
    except OSError:
        sock.close()
        raise
    return sock


def address_towards(peer: Peer | None) -> bytes | None:
    """Return our address, 4 or 16 bytes, from which *peer* is reached; None: there is no route. Nothing is sent.

    Raises OSError if the system has no socket for us.
    """
    peer = peer or _NOBODY
    family = socket.AF_INET if len(peer.node) == 4 else socket.AF_INET6
    try:
        with closing(socket.socket(family, socket.SOCK_DGRAM)) as sock:
            sock.connect((host_of(peer.node), int.from_bytes(peer.message, "big")))
            return node_of(sock.getsockname()[0])
    except OSError as error:
        if error.errno in EXHAUSTED:
            raise
        return None


async def resolve(host: str, port: int) -> Sequence[Peer]:
    """Return the addresses of *host*, a name or an address, the best one first; empty if none can be found now."""
    loop = asyncio.get_running_loop()
    try:
        found = await loop.getaddrinfo(host, port, type=socket.SOCK_DGRAM)
    except (OSError, UnicodeError):
        # UnicodeError: the name is malformed, as with two dots in a row.
        return ()
    return [peer_of(*address[:2]) for *_, address in found]
