"""Datagrams on real sockets of this machine."""

import asyncio
import errno
import os
import socket
from collections.abc import Callable

import pytest

from tests.faces.recording_sink import PATIENCE_S
from tinyssb_node.islands.gateway.datagrams import DatagramSocket, address_towards, resolve
from tinyssb_node.islands.locator.addresses import Peer, node_of, peer_of


class Box:
    """Keeps what came."""

    def __init__(self) -> None:
        self.came: asyncio.Queue[tuple[bytes, Peer]] = asyncio.Queue()

    def __call__(self, datagram: bytes, source: Peer) -> None:
        self.came.put_nowait((datagram, source))

    async def next(self) -> tuple[bytes, Peer]:
        async with asyncio.timeout(PATIENCE_S):
            return await self.came.get()


@pytest.mark.parametrize(
    ("listen", "host"),
    [
        ("127.0.0.2", "127.0.0.2"),
        ("::1", "::1"),
        ("::", "127.0.0.1"),
        ("::", "::1"),
        ("0.0.0.0", "127.0.0.3"),
    ],
)
async def test_datagrams_go_both_ways(listen: str, host: str) -> None:
    here, there = Box(), Box()
    one = await DatagramSocket.open(listen, 0, here)
    other = await DatagramSocket.open(host, 0, there)
    other.send(peer_of(host, one.port), b"hello")
    datagram, source = await here.next()
    assert (datagram, source.message) == (b"hello", other.port.to_bytes(2, "big"))
    assert source.node == node_of(host)
    one.send(source, b"and back")
    assert (await there.next())[0] == b"and back"
    await one.close()
    await other.close()


async def test_what_cannot_be_sent_is_counted() -> None:
    one = await DatagramSocket.open("127.0.0.2", 0, Box())
    one.send(peer_of("::1", 1), b"x")
    assert (one.unsent, one.take_problem()) == (1, None)
    one.send(peer_of("192.0.2.1", 1), b"x")
    assert one.unsent == 2
    assert one.take_problem() is not None
    await one.close()
    one.send(peer_of("127.0.0.1", 1), b"x")
    assert one.unsent == 3


async def test_nothing_is_piled_up_for_a_slow_link() -> None:
    box = Box()
    one, other = (
        await DatagramSocket.open("127.0.0.2", 0, box),
        await DatagramSocket.open("127.0.0.3", 0, Box()),
    )
    other.pause_writing()
    other.send(peer_of("127.0.0.2", one.port), b"lost")
    other.resume_writing()
    other.send(peer_of("127.0.0.2", one.port), b"sent")
    assert ((await box.next())[0], other.unsent) == (b"sent", 1)
    await one.close()
    await other.close()


async def test_a_port_that_is_taken_is_told() -> None:
    one = await DatagramSocket.open("127.0.0.2", 0, Box())
    with pytest.raises(OSError, match="in use"):
        await DatagramSocket.open("127.0.0.2", one.port, Box())
    await one.close()


def test_the_way_to_somebody_tells_who_we_are() -> None:
    assert address_towards(peer_of("127.0.0.9", 9)) == node_of("127.0.0.1")
    assert address_towards(peer_of("ff02::1%nothing", 9)) is None


async def test_names_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    assert await resolve("127.0.0.1", 7) == [peer_of("127.0.0.1", 7)]
    assert await resolve("::1", 7) == [peer_of("::1", 7)]

    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_AGAIN, "try again")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    assert await resolve("gate.example.org", 7) == ()


async def test_what_cannot_be_a_name_is_not_found() -> None:
    assert await resolve("gate..example.org", 7) == ()
    assert await resolve("a" * 70 + ".org", 7) == ()


def test_no_socket_is_not_no_way(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(number: int) -> Callable[..., None]:
        def socket_(*_: object, **__: object) -> None:
            raise OSError(number, os.strerror(number))

        return socket_

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", refuse(errno.EMFILE))
        with pytest.raises(OSError, match="Too many open files"):
            address_towards(None)
        patch.setattr(socket, "socket", refuse(errno.EAFNOSUPPORT))
        assert address_towards(None) is None


async def test_a_system_without_ipv6_listens_by_ipv4(monkeypatch: pytest.MonkeyPatch) -> None:
    made = socket.socket

    class OnlyIpv4(made):  # type: ignore[valid-type, misc] # a class at run time
        def __init__(self, family: int = socket.AF_INET, *others: int, **more: int) -> None:
            if family == socket.AF_INET6:
                raise OSError(errno.EAFNOSUPPORT, os.strerror(errno.EAFNOSUPPORT))
            super().__init__(family, *others, **more)

    monkeypatch.setattr(socket, "socket", OnlyIpv4)
    one = await DatagramSocket.open("::", 0, Box())
    assert not one.ipv6
    await one.close()
