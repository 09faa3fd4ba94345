"""WebSocket faces over real sockets: server with client, each against strangers, ends and new beginnings."""

import asyncio
import contextlib
import random
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.asyncio.server import ServerConnection, serve
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.faces.recording_sink import PATIENCE_S, RecordingSink, running
from tests.faces.spec_writer import serialize_spec
from tinyssb_node import limits
from tinyssb_node.faces import ws_access
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.websocket import WsClientEndpoint, WsServerEndpoint
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec
from tinyssb_node.scheduling.link import WIRED, LinkMedium

PACKET = bytes(range(120))


def listening_at(port: int, *, peers: int = limits.WS_PEERS_MAX, name: str | None = None) -> WsServerEndpoint:
    spec = WsListenSpec(host="127.0.0.1", port=port, peers=peers, name=name)
    return WsServerEndpoint(serialize_spec(spec), spec)


@asynccontextmanager
async def server(
    *, port: int = 0, peers: int = limits.WS_PEERS_MAX, name: str | None = None
) -> AsyncIterator[tuple[WsServerEndpoint, RecordingSink]]:
    endpoint = listening_at(port, peers=peers, name=name)
    async with running(endpoint) as sink:
        async with asyncio.timeout(PATIENCE_S):
            await endpoint.listening.wait()
        yield endpoint, sink


def client(port: int, entropy: Callable[[], float] = lambda: 0.0) -> WsClientEndpoint:
    """A client that waits a millisecond instead of a second before it tries again."""
    spec = WsConnectSpec(host="127.0.0.1", port=port)
    return WsClientEndpoint(serialize_spec(spec), spec, Backoff(entropy, min_s=0.001))


def stranger(port: int) -> connect:
    return connect(f"ws://127.0.0.1:{port}/any/path", proxy=None)


async def test_server_and_client_exchange_packets() -> None:
    async with server() as (endpoint, pub), running(client(endpoint.port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        await pub.until(lambda: bool(pub.ups))
        assert pub.ups == [(f"ws:{endpoint.port}#1", "ws:listen:127.0.0.1:0")]
        assert ana.face().name == f"ws:127.0.0.1:{endpoint.port}"
        assert pub.face().profile.medium is ana.face().profile.medium is LinkMedium.STREAM
        await ana.face().send([PACKET, PACKET[:8]])
        await pub.face().send([PACKET[:40]])
        await pub.until(lambda: len(pub.frames) == 2)
        await ana.until(lambda: len(ana.frames) == 1)
    assert [packet for _, packet, reception in pub.frames if reception is WIRED] == [PACKET, PACKET[:8]]
    assert ana.packets == [PACKET[:40]]
    assert pub.downs[0][0] == f"ws:{endpoint.port}#1"


async def test_each_connection_is_a_face_of_its_own() -> None:
    async with server(name="pub") as (endpoint, pub):
        async with stranger(endpoint.port) as one, stranger(endpoint.port) as two:
            await pub.until(lambda: len(pub.faces) == 2)
            await two.send(PACKET)
            await pub.until(lambda: bool(pub.frames))
            assert pub.frames[0][0] == "pub#2"
            await pub.faces[pub.ups[0][0]].send([PACKET[:9]])
            assert await one.recv() == PACKET[:9]
        await pub.until(lambda: not pub.faces)
        assert sorted(name for name, _ in pub.downs) == ["pub#1", "pub#2"]
        async with stranger(endpoint.port):
            await pub.until(lambda: bool(pub.faces))
            assert pub.face().name == "pub#3"


async def test_what_is_no_packet_is_counted_and_the_next_one_still_comes() -> None:
    async with server() as (endpoint, pub), stranger(endpoint.port) as peer:
        for message in (b"", bytes(7), bytes(121), bytes(4096), "a text", PACKET):
            await peer.send(message)
        await pub.until(lambda: bool(pub.frames))
        assert [(reason, length) for _, reason, length in pub.junks] == [
            ("too short", 0),
            ("too short", 7),
            ("too long", 121),
            ("too long", 4096),
            ("text instead of bytes", 6),
        ]
        assert pub.packets == [PACKET]


async def test_a_huge_message_ends_the_connection_and_nothing_else() -> None:
    async with server() as (endpoint, pub):
        async with stranger(endpoint.port) as peer:
            with contextlib.suppress(ConnectionClosed):
                await peer.send(bytes(100_000))
            await pub.until(lambda: bool(pub.downs))
        assert "fault of the peer" in pub.downs[0][1]
        async with stranger(endpoint.port):
            await pub.until(lambda: bool(pub.faces))


async def test_any_bytes_into_the_port_and_into_open_connections() -> None:
    chance = random.Random(7)
    async with server() as (endpoint, pub):
        for _ in range(30):
            _, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
            writer.write(chance.randbytes(chance.randrange(1, 300)))
            writer.close()
        for _ in range(30):
            peer = await stranger(endpoint.port)
            peer.transport.write(chance.randbytes(chance.randrange(2, 300)))
            peer.transport.write_eof()
            await peer.wait_closed()
        await pub.until(lambda: len(pub.downs) == 30)
        async with stranger(endpoint.port) as peer:
            await peer.send(PACKET)
            await pub.until(lambda: PACKET in pub.packets)


async def test_a_full_server_says_so() -> None:
    async with server(peers=1) as (endpoint, pub), stranger(endpoint.port):
        await pub.until(lambda: bool(pub.faces))
        with pytest.raises(InvalidStatus, match="503"):
            await stranger(endpoint.port)


async def test_connections_that_never_shake_hands_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "WS_HANDSHAKES_MAX", 1)
    async with server(peers=1) as (endpoint, _):
        idle = [await asyncio.open_connection("127.0.0.1", endpoint.port) for _ in range(2)]
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        with contextlib.suppress(ConnectionResetError):
            assert await reader.read() == b""
        for _, open_writer in (*idle, (reader, writer)):
            open_writer.close()


async def test_a_node_that_is_behind_makes_tcp_wait_and_loses_nothing() -> None:
    packets = [bytes([number % 256]) * 120 for number in range(3_000)]
    async with server() as (endpoint, pub), running(client(endpoint.port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        await pub.until(lambda: bool(pub.ups))
        pub.accepting.clear()
        sending = asyncio.create_task(ana.face().send(packets))
        await pub.until(lambda: pub.rooms == 1)
        assert len(pub.frames) == 1
        pub.accepting.set()
        await sending
        await pub.until(lambda: len(pub.frames) == 3_000)
        assert pub.packets == packets


async def test_a_stopping_server_drops_tcp_so_that_phones_come_back() -> None:
    async with server() as (endpoint, pub):
        peer: ClientConnection = await stranger(endpoint.port)
        await pub.until(lambda: bool(pub.faces))
    with pytest.raises(ConnectionClosed) as caught:
        await peer.recv()
    assert caught.value.rcvd is None  # no close frame: a failure, which phones answer by reconnecting
    assert pub.downs == [(f"ws:{endpoint.port}#1", "this node closed it")]


async def test_a_client_comes_back_after_each_kind_of_end() -> None:
    ends = iter(["abort", "close", "text"])

    async def fickle(connection: ServerConnection) -> None:
        match next(ends, None):
            case "abort":
                connection.transport.abort()
            case "close":
                await connection.close(reason="maintenance")
            case "text":
                connection.transport.write(b"\xff\xff\xff")
                await connection.wait_closed()
            case None:
                await connection.send(PACKET)
                await connection.wait_closed()

    async with (
        serve(fickle, "127.0.0.1", 0, logger=ws_access.QUIET) as other,
        running(client(other.sockets[0].getsockname()[1])) as ana,
    ):
        await ana.until(lambda: bool(ana.frames))
        assert len(ana.ups) == 4
        reasons = [reason for _, reason in ana.downs]
        assert reasons[:2] == ["the connection broke", "the peer closed it (maintenance)"]
        assert "fault of the peer" in reasons[2]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\x00" * 5_000,
        b"HTTP/1.1 404 Not Found\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: ws://[::1\r\n\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: ws://127.0.0.1:1/\r\n\r\n",
        b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\n\r\n",
    ],
)
async def test_a_client_survives_servers_that_are_none(answer: bytes) -> None:
    visits = asyncio.Semaphore(0)

    async def none(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer)
        writer.close()
        visits.release()

    other = await asyncio.start_server(none, "127.0.0.1", 0)
    async with other, running(client(other.sockets[0].getsockname()[1])) as ana:
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(3):
                await visits.acquire()
        assert ana.ups == []


async def test_a_client_waits_for_a_server_that_begins_later() -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    tries = asyncio.Semaphore(0)

    def counting() -> float:
        tries.release()
        return 0.0

    endpoint = client(port, counting)
    async with running(endpoint) as ana, asyncio.timeout(PATIENCE_S):
        await tries.acquire()
        problem = endpoint.problem
        async with server(port=port):
            await ana.until(lambda: bool(ana.ups))
            assert endpoint.problem is None
    assert problem is not None
    assert problem.startswith(f"no connection to ws://127.0.0.1:{port}/: ")


async def test_sending_into_a_lost_connection_is_an_oserror() -> None:
    async with server() as (endpoint, pub):
        peer = await stranger(endpoint.port)
        await pub.until(lambda: bool(pub.faces))
        face = pub.face()
        peer.transport.abort()
        await pub.until(lambda: bool(pub.downs))
        with pytest.raises(ConnectionResetError):
            await face.send([PACKET])


async def test_a_port_in_use_is_an_error_that_says_what_to_do() -> None:
    async with server() as (endpoint, _):
        with pytest.raises(FaceOpenError, match="Choose another port"):
            await listening_at(endpoint.port).run(RecordingSink())


async def test_a_peer_that_ends_its_half_before_it_reads_what_we_wrote_ends_its_own_face_only(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bytes that wait are still written, and then the library aborts a transport that is gone."""
    async with server() as (endpoint, pub):
        reader, writer = await asyncio.open_connection("127.0.0.1", endpoint.port)
        writer.write(
            b"GET / HTTP/1.1\r\nHost: pub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
        )
        await pub.until(lambda: bool(pub.ups))
        face = pub.face()

        async def write_for_ever() -> None:
            while True:
                await face.send([PACKET] * 100)

        full = asyncio.Event()
        pause = ServerConnection.pause_writing

        def note_and_pause(connection: ServerConnection) -> None:
            full.set()
            pause(connection)

        monkeypatch.setattr(ServerConnection, "pause_writing", note_and_pause)
        writing = asyncio.create_task(write_for_ever())
        async with asyncio.timeout(PATIENCE_S):
            await full.wait()
            writer.write_eof()
            while await reader.read(limits.WS_WRITE_BUFFER):
                pass
            with pytest.raises(ConnectionResetError):
                await writing
        await pub.until(lambda: not pub.faces)
        writer.close()
    assert len(pub.downs) == 1


@pytest.mark.parametrize("passes", range(12))
async def test_a_listener_that_is_stopped_while_it_opens_leaves_its_port(passes: int) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    opening = asyncio.create_task(listening_at(port).run(RecordingSink()))
    for _ in range(passes):
        await asyncio.sleep(0)
    opening.cancel()
    await asyncio.wait([opening])
    assert opening.cancelled()
    async with server(port=port) as (endpoint, _):
        assert endpoint.port == port
