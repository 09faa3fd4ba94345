"""Access to a listening WebSocket: real sockets, real TLS, tokens from files."""

import asyncio
import logging
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException

from tests.certificates import Authority, Pair
from tests.faces.recording_sink import PATIENCE_S, RecordingSink, running
from tests.faces.spec_writer import serialize_spec
from tinyssb_node import limits
from tinyssb_node.faces import limits as face_limits
from tinyssb_node.faces.access import EVERYBODY, PLAIN, Credentials, ListenerPolicy
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import CertificateError, SecretExposedError, SecretUnusableError
from tinyssb_node.faces.tls import client_context, fingerprint
from tinyssb_node.faces.websocket import WsClientEndpoint, WsServerEndpoint
from tinyssb_node.faces.ws_access import has_token
from tinyssb_node.faces.ws_spec import WsConnectSpec, WsListenSpec

PACKET = bytes(range(120))
TOKEN = "0123456789abcdef"


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def hut(authority: Authority) -> Pair:
    return own(authority.issue("hut"))


@pytest.fixture
def token(tmp_path: Path) -> Path:
    return secret(tmp_path / "token", TOKEN)


def secret(file: Path, text: str, mode: int = 0o600) -> Path:
    file.write_text(text + "\n")
    file.chmod(mode)
    return file


def own(pair: Pair) -> Pair:
    pair.key.chmod(0o600)
    return pair


def listening(guard: ListenerPolicy, peers: int, host: str = "127.0.0.1") -> WsServerEndpoint:
    spec = WsListenSpec(host=host, port=0, guard=guard, peers=peers)
    return WsServerEndpoint(serialize_spec(spec), spec)


@asynccontextmanager
async def server(
    guard: ListenerPolicy = EVERYBODY, peers: int = limits.WS_PEERS_MAX, host: str = "127.0.0.1"
) -> AsyncIterator[tuple[WsServerEndpoint, RecordingSink]]:
    endpoint = listening(guard, peers, host)
    async with running(endpoint) as sink:
        async with asyncio.timeout(PATIENCE_S):
            await endpoint.listening.wait()
        yield endpoint, sink


def caller(port: int, credentials: Credentials = PLAIN) -> WsClientEndpoint:
    spec = WsConnectSpec(host="127.0.0.1", port=port, credentials=credentials)
    return WsClientEndpoint(serialize_spec(spec), spec, Backoff(lambda: 0.0, min_s=0.001))


def stranger(port: int, tls: ssl.SSLContext | None = None, headers: Mapping[str, str] = {}) -> connect:
    scheme = "ws" if tls is None else "wss"
    return connect(f"{scheme}://127.0.0.1:{port}/", proxy=None, ssl=tls, additional_headers=headers)


async def until(condition: Callable[[], bool]) -> None:
    """Return when *condition* holds, which nothing announces."""
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - see above
            await asyncio.sleep(0.001)


async def test_with_certificate_and_token_packets_go_both_ways(hut: Pair, token: Path) -> None:
    guard = ListenerPolicy(certificate=hut.certificate, key=hut.key, token=token)
    shown = Credentials(tls=True, pin=fingerprint(hut.certificate), token=token)
    async with server(guard) as (pub, heard), running(caller(pub.port, shown)) as ana:
        await ana.until(lambda: bool(ana.ups))
        await ana.face().send([PACKET, PACKET[:8]])
        await heard.until(lambda: len(heard.frames) == 2)
        await heard.face().send([PACKET[:40]])
        await ana.until(lambda: bool(ana.frames))
        assert heard.packets == [PACKET, PACKET[:8]]
        assert pub.turned_away == 0


async def test_client_certificates_let_in_and_keep_out(authority: Authority, hut: Pair) -> None:
    friend = own(authority.issue("friend"))
    guard = ListenerPolicy(certificate=hut.certificate, key=hut.key, clients=authority.certificate)
    known = Credentials(
        tls=True, authorities=authority.certificate, certificate=friend.certificate, key=friend.key
    )
    async with server(guard) as (pub, heard):
        with pytest.raises((OSError, WebSocketException)):
            await stranger(pub.port, client_context(authorities=authority.certificate))
        async with running(caller(pub.port, known)) as ana:
            await ana.until(lambda: bool(ana.ups))
        await until(lambda: pub.turned_away == 1)
        assert len(heard.ups) == 1


async def test_a_caller_uses_a_renewed_certificate_at_its_next_call(
    authority: Authority, hut: Pair, tmp_path: Path
) -> None:
    (tmp_path / "others").mkdir()
    friend = own(Authority(tmp_path / "others", "others").issue("friend"))
    guard = ListenerPolicy(certificate=hut.certificate, key=hut.key, clients=authority.certificate)
    shown = Credentials(
        tls=True, authorities=authority.certificate, certificate=friend.certificate, key=friend.key
    )
    async with server(guard) as (pub, heard), running(caller(pub.port, shown)) as ana:
        await until(lambda: pub.turned_away >= 2)
        assert not heard.ups
        renewed = own(authority.issue("friend"))
        friend.key.write_text("half of it")  # changes nothing
        refused = pub.turned_away
        await until(lambda: pub.turned_away >= refused + 2)
        friend.key.write_bytes(renewed.key.read_bytes())
        friend.certificate.write_bytes(renewed.certificate.read_bytes())
        await heard.until(lambda: bool(heard.ups))
        await ana.until(lambda: bool(ana.faces))
        await ana.face().send([PACKET])
        await heard.until(lambda: bool(heard.frames))


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": TOKEN},
        {"Authorization": "Bearer "},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"bearer {TOKEN}"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": "Bearer äöü"},
        {"Cookie": f"token={TOKEN}"},
    ],
)
async def test_who_does_not_show_the_token_is_told_401_and_counted(
    token: Path, headers: dict[str, str]
) -> None:
    async with server(ListenerPolicy(token=token)) as (pub, heard):
        # The library sends headers as Latin-1 at most.
        sent = {name: value.encode().decode("latin-1") for name, value in headers.items()}
        with pytest.raises(InvalidStatus) as caught:
            await stranger(pub.port, headers=sent)
        assert caught.value.response.status_code == 401
        assert TOKEN not in str(caught.value.response)
        await until(lambda: pub.turned_away == 1)
        async with stranger(pub.port, headers={"Authorization": f"Bearer {TOKEN}"}):
            await heard.until(lambda: bool(heard.ups))
        assert pub.turned_away == 1


@pytest.mark.parametrize("origin", ["https://evil.example", "null", "http://127.0.0.1:{port}", ""])
async def test_web_pages_do_not_reach_it(origin: str) -> None:
    """A browser that runs on this machine connects for any site; it always states the site in this header."""
    async with server() as (pub, heard):
        with pytest.raises(InvalidStatus) as caught:
            await stranger(pub.port, headers={"Origin": origin.format(port=pub.port)})
        assert caught.value.response.status_code == 403
        await until(lambda: pub.turned_away == 1)
        assert not heard.ups


def test_two_tokens_are_none() -> None:
    right = f"Bearer {TOKEN}"
    assert has_token(TOKEN, [right])
    assert not has_token(TOKEN, [right, right])
    assert not has_token(TOKEN, [])


async def test_a_token_is_not_shown_to_another_than_the_pinned_one(
    authority: Authority, hut: Pair, token: Path
) -> None:
    """A server in the middle has a certificate, too; nothing but a handshake reaches it."""
    other = own(authority.issue("other"))
    heard = bytearray()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(other.certificate, other.key)
    ended = asyncio.Event()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(OSError):
            heard.extend(await reader.read(1_000))
        writer.close()
        ended.set()

    middle = await asyncio.start_server(listen, "127.0.0.1", 0, ssl=context)
    shown = Credentials(tls=True, pin=fingerprint(hut.certificate), token=token)
    endpoint = caller(middle.sockets[0].getsockname()[1], shown)
    async with middle, running(endpoint) as ana:
        await until(lambda: "another certificate" in (endpoint.problem or ""))
        assert ana.ups == []
    assert heard == b""


async def test_a_caller_says_what_to_look_at(hut: Pair, token: Path) -> None:
    async with server(ListenerPolicy(certificate=hut.certificate, key=hut.key, token=token)) as (pub, _):
        pin = fingerprint(hut.certificate)
        for credentials, said in (
            (Credentials(tls=True, pin=pin), "it asks for a token (401), and did not get the right one"),
            (
                Credentials(tls=True),
                "its certificate is not trusted (unable to get local issuer certificate)",
            ),
            (PLAIN, "did not receive a valid HTTP response"),
        ):
            endpoint = caller(pub.port, credentials)
            async with running(endpoint):
                await until(lambda: endpoint.problem is not None)  # noqa: B023 - called within the round
            assert said in str(endpoint.problem)


async def test_tokens_are_in_no_log_and_no_message(
    token: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = secret(tmp_path / "wrong", "fedcba9876543210")
    async with server(ListenerPolicy(token=token)) as (pub, _):
        right, bad = caller(pub.port, Credentials(token=token)), caller(pub.port, Credentials(token=wrong))
        async with running(right) as ana, running(bad):
            await ana.until(lambda: bool(ana.ups))
            await until(lambda: bad.problem is not None)
        said = caplog.text + str(bad.problem) + right.spec + bad.spec + pub.spec
        assert "401" in str(bad.problem)
        assert TOKEN not in said
        assert "fedcba" not in said


async def test_files_that_cannot_be_used_are_said(hut: Pair, tmp_path: Path) -> None:
    sink = RecordingSink()
    missing = tmp_path / "missing"
    exposed = secret(tmp_path / "exposed", TOKEN, 0o640)
    with pytest.raises(SecretUnusableError, match="is not there"):
        await listening(ListenerPolicy(token=missing), 1).run(sink)
    with pytest.raises(CertificateError):
        await listening(ListenerPolicy(certificate=missing, key=hut.key), 1).run(sink)
    with pytest.raises(SecretUnusableError, match="is not there"):
        await caller(1, Credentials(token=missing)).run(sink)
    with pytest.raises(CertificateError):
        await caller(1, Credentials(tls=True, authorities=missing)).run(sink)
    for endpoint in (listening(ListenerPolicy(token=exposed), 1), caller(1, Credentials(token=exposed))):
        with pytest.raises(SecretExposedError):
            await endpoint.run(sink)


async def test_an_address_has_only_as_many_connections_as_it_may(hut: Pair) -> None:
    async with server(ListenerPolicy(each=2)) as (pub, heard):
        async with stranger(pub.port), stranger(pub.port):
            await heard.until(lambda: len(heard.ups) == 2)
            for _ in range(3):
                with pytest.raises((OSError, WebSocketException)):
                    await stranger(pub.port)
            assert pub.turned_away == 3
        await heard.until(lambda: not heard.faces)
        async with stranger(pub.port):
            await heard.until(lambda: len(heard.faces) == 1)


async def test_handshakes_of_tls_that_never_end_are_bounded(
    hut: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "WS_HANDSHAKES_MAX", 2)
    guard = ListenerPolicy(certificate=hut.certificate, key=hut.key)
    async with server(guard, peers=1) as (pub, heard):
        sockets = [socket.create_connection(("127.0.0.1", pub.port)) for _ in range(40)]
        try:
            await until(lambda: pub.turned_away == 37)
            for sock in sockets:
                sock.close()
            await until(lambda: pub.turned_away == 40)
            async with stranger(pub.port, client_context(pin=fingerprint(hut.certificate))):
                await heard.until(lambda: bool(heard.ups))
        finally:
            for sock in sockets:
                sock.close()


async def test_a_server_ends_while_handshakes_are_under_way(hut: Pair) -> None:
    for guard in (EVERYBODY, ListenerPolicy(certificate=hut.certificate, key=hut.key)):
        async with server(guard) as (pub, _):
            reader, writer = await asyncio.open_connection("127.0.0.1", pub.port)
            writer.write(b"\x16\x03")
            await writer.drain()
        with suppress(ConnectionError):
            async with asyncio.timeout(PATIENCE_S):
                assert await reader.read() == b""
        writer.close()


async def test_any_bytes_into_a_port_with_tls_change_nothing(hut: Pair) -> None:
    async with server(ListenerPolicy(certificate=hut.certificate, key=hut.key)) as (pub, heard):
        for noise in (b"", b"GET / HTTP/1.1\r\n\r\n", bytes(500), b"\x16\x03\x01\x02\x00\x01" + bytes(600)):
            reader, writer = await asyncio.open_connection("127.0.0.1", pub.port)
            writer.write(noise)
            writer.write_eof()
            with suppress(ConnectionError):
                async with asyncio.timeout(PATIENCE_S):
                    await reader.read()
            writer.close()
        await until(lambda: pub.turned_away == 4)
        async with stranger(pub.port, client_context(pin=fingerprint(hut.certificate))) as peer:
            await peer.send(PACKET)
            await heard.until(lambda: bool(heard.frames))


async def test_who_brings_too_much_waits_and_loses_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(face_limits, "QUOTA_BURST_S", 0.01)
    slept: list[float] = []
    sleep = asyncio.sleep

    async def count(delay: float) -> None:
        slept.append(delay)
        await sleep(0)

    async with server(ListenerPolicy(rate=1_000)) as (pub, heard), stranger(pub.port) as peer:
        monkeypatch.setattr(asyncio, "sleep", count)
        for number in range(200):
            await peer.send(bytes([number]) * 120)
        await heard.until(lambda: len(heard.frames) == 200)
        monkeypatch.undo()
    assert heard.packets == [bytes([number]) * 120 for number in range(200)]
    # What was beyond the burst was waited for, a thousandth of a second each at most.
    assert len(slept) > 100
    assert sum(slept[:50]) > 0


async def test_who_says_nothing_of_use_is_hung_up_on() -> None:
    # As the settings do not allow it, so that nobody waits for a minute.
    guard = ListenerPolicy(idle_s=0)
    async with server(guard) as (pub, heard), stranger(pub.port) as peer:
        await heard.until(lambda: bool(heard.downs))
        assert "no packet came for 0 s" in heard.downs[0][1]
        with pytest.raises(ConnectionClosed):
            await peer.recv()


async def test_one_port_of_a_peer_may_have_connections_to_several_addresses_of_ours() -> None:
    async with server(host="0.0.0.0") as (pub, heard):
        with socket.socket() as one, socket.socket() as other:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            other.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            one.bind(("127.0.0.9", 0))
            other.bind(one.getsockname())
            one.connect(("127.0.0.1", pub.port))
            other.connect(("127.0.0.2", pub.port))
            async with (
                connect(f"ws://127.0.0.1:{pub.port}/", sock=one, proxy=None),
                connect(f"ws://127.0.0.2:{pub.port}/", sock=other, proxy=None),
            ):
                await heard.until(lambda: len(heard.faces) == 2)
            await heard.until(lambda: not heard.faces)
        assert pub.turned_away == 0


async def test_a_host_with_several_addresses_is_listened_to_at_all_of_them() -> None:
    async with server(host="localhost") as (pub, heard), connect(f"ws://127.0.0.1:{pub.port}/", proxy=None):
        await heard.until(lambda: bool(heard.ups))
