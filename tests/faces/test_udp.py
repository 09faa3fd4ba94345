"""UDP faces on the loopback interface, with real sockets."""

import asyncio
import errno
import random
import socket
from collections.abc import Iterator

import pytest

from tests.faces.recording_sink import RecordingSink, running
from tests.faces.spec_writer import serialize_spec
from tinyssb_node import limits
from tinyssb_node.faces import udp
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import FaceOpenError
from tinyssb_node.faces.frames import serialize_crc_frame
from tinyssb_node.faces.udp import UdpEndpoint, UdpFace
from tinyssb_node.faces.udp_spec import UdpSpec
from tinyssb_node.scheduling.link import WIRED, LinkMedium

PACKET = bytes(range(120))


@pytest.fixture
def port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("", 0))
        return int(probe.getsockname()[1])


def endpoint(port: int, *, interface: str = "lo", ttl: int = 1, copies: bool = True) -> UdpEndpoint:
    """An endpoint that waits a millisecond instead of a second before it tries again."""
    spec = UdpSpec(port=port, interface=interface, ttl=ttl, copies=copies)
    return UdpEndpoint(serialize_spec(spec), spec, Backoff(lambda: 0.0, min_s=0.001))


@pytest.fixture
def stranger() -> Iterator[socket.socket]:
    """A program of somebody else that sends to the group."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.bind(("127.0.0.1", 0))
        yield sock


async def test_two_daemons_of_one_host_hear_each_other_and_not_themselves(port: int) -> None:
    async with running(endpoint(port)) as ana, running(endpoint(port)) as bob:
        await ana.until(lambda: bool(ana.ups) and bool(bob.ups))
        assert ana.ups == [("udp:lo", f"udp:239.5.5.8:{port}?interface=lo")]
        assert ana.face().profile.medium is LinkMedium.LAN
        await ana.face().send([PACKET, PACKET[:40]])
        await bob.until(lambda: len(bob.frames) == 2)
        await bob.face().send([PACKET[:8]])
        await ana.until(lambda: len(ana.frames) == 1)
    assert bob.frames == [("udp:lo", PACKET, WIRED), ("udp:lo", PACKET[:40], WIRED)]
    assert ana.packets == [PACKET[:8]]
    assert ana.junks == bob.junks == []


async def test_both_daemons_send_the_same_and_both_hear_the_other(port: int) -> None:
    async with running(endpoint(port)) as ana, running(endpoint(port)) as bob:
        await ana.until(lambda: bool(ana.ups) and bool(bob.ups))
        await asyncio.gather(ana.face().send([PACKET]), bob.face().send([PACKET]))
        await ana.until(lambda: ana.packets == [PACKET])
        await bob.until(lambda: bob.packets == [PACKET])


async def test_what_is_no_frame_is_counted_and_the_next_packet_still_comes(
    port: int, stranger: socket.socket
) -> None:
    chance = random.Random(4)
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        for size in [0, 1, 11, 12, 124, 125, 3000, *(chance.randrange(200) for _ in range(50))]:
            stranger.sendto(chance.randbytes(size), ("127.0.0.1", port))
        stranger.sendto(serialize_crc_frame(PACKET), ("127.0.0.1", port))
        await ana.until(lambda: bool(ana.frames))
        assert ana.packets == [PACKET]
        assert len(ana.junks) == 57
        assert {reason for _, reason, _ in ana.junks} == {"too short", "too long", "wrong CRC"}


@pytest.fixture
def phone(port: int, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """Another device, with an address of its own and the same port; it never joins the group, as if asleep."""
    monkeypatch.setattr(udp, "is_of_this_host", lambda address: address != "127.0.0.9")
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        sock.bind(("127.0.0.9", port))
        sock.setblocking(False)
        yield sock


async def test_a_peer_that_was_heard_gets_a_copy_and_its_own_copies_are_dropped(
    port: int, phone: socket.socket
) -> None:
    async with running(endpoint(port, ttl=0)) as ana:
        await ana.until(lambda: bool(ana.ups))
        for packet in (PACKET, PACKET, PACKET[:8]):
            phone.sendto(serialize_crc_frame(packet), ("127.0.0.1", port))
        await ana.until(lambda: len(ana.frames) == 2)
        await ana.face().send([PACKET[:50]])
        async with asyncio.timeout(5):
            copy = await asyncio.get_running_loop().sock_recv(phone, 200)
    assert ana.packets == [PACKET, PACKET[:8]]
    assert copy == serialize_crc_frame(PACKET[:50])


async def test_no_copies_where_they_are_switched_off(port: int, phone: socket.socket) -> None:
    async with running(endpoint(port, copies=False)) as ana:
        await ana.until(lambda: bool(ana.ups))
        phone.sendto(serialize_crc_frame(PACKET), ("127.0.0.1", port))
        await ana.until(lambda: bool(ana.frames))
        await ana.face().send([PACKET[:50]])
    with pytest.raises(BlockingIOError):
        phone.recv(200)


async def test_programs_of_this_host_get_no_copies(port: int, stranger: socket.socket) -> None:
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        stranger.sendto(serialize_crc_frame(PACKET), ("127.0.0.1", port))
        await ana.until(lambda: bool(ana.frames))
        await ana.face().send([PACKET[:50]])
        stranger.sendto(serialize_crc_frame(PACKET[:60]), ("127.0.0.1", port))
        await ana.until(lambda: len(ana.frames) == 2)
        assert ana.packets == [PACKET, PACKET[:60]]  # a copy to this host would have come back to us


async def test_datagrams_wait_in_the_system_while_the_node_has_no_room(
    port: int, stranger: socket.socket
) -> None:
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        ana.accepting.clear()
        for packet in (PACKET, PACKET[:30]):
            stranger.sendto(serialize_crc_frame(packet), ("127.0.0.1", port))
        await ana.until(lambda: ana.rooms == 1)
        assert len(ana.frames) == 1
        ana.accepting.set()
        await ana.until(lambda: len(ana.frames) == 2)


async def test_a_changed_address_brings_the_face_down_and_up_again(
    port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    addresses = iter(["10.0.0.1"])
    monkeypatch.setattr(udp, "_own_address", lambda _: next(addresses, "10.0.0.2"))
    monkeypatch.setattr(limits, "UDP_CHECK_S", 0.001)
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: len(ana.ups) == 2)
        assert ana.downs == [("udp:lo", "the address of the network interface changed")]


async def test_a_network_that_fails_under_a_send_brings_the_face_down(port: int) -> None:
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        face = ana.face()
        assert isinstance(face, UdpFace)
        with pytest.raises(OSError, match="too long"):
            await face.send([bytes(70_000)])
        await ana.until(lambda: bool(ana.downs))
        assert ana.downs[0][1].startswith("the network failed: ")


async def test_a_network_that_goes_brings_the_face_down(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    answers: list[str | OSError] = ["10.0.0.1", OSError(errno.ENETUNREACH, "Network is unreachable")]

    def changing(_: UdpSpec) -> str:
        answer = answers.pop(0) if answers else "10.0.0.1"
        if isinstance(answer, OSError):
            raise answer
        return answer

    monkeypatch.setattr(udp, "_own_address", changing)
    monkeypatch.setattr(limits, "UDP_CHECK_S", 0.001)
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: len(ana.ups) == 2)
        assert ana.downs == [("udp:lo", "the network is gone: Network is unreachable")]


async def test_a_socket_that_fails_under_a_read_brings_the_face_down(
    port: int, monkeypatch: pytest.MonkeyPatch, stranger: socket.socket
) -> None:
    def fails(*_: object) -> None:
        raise OSError(errno.ENETDOWN, "Network is down")

    async with running(endpoint(port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        monkeypatch.setattr(asyncio.get_running_loop(), "sock_recvfrom", fails)
        stranger.sendto(serialize_crc_frame(PACKET), ("127.0.0.1", port))
        await ana.until(lambda: bool(ana.downs))
        assert ana.downs[0] == ("udp:lo", "the network failed: Network is down")


async def test_a_peer_that_cannot_be_reached_costs_the_others_nothing(
    port: int, phone: socket.socket, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    sendto, tries = loop.sock_sendto, 0

    async def fails_to_the_phone(sock: socket.socket, frame: bytes, address: tuple[str, int]) -> int:
        nonlocal tries
        if address[0] == "127.0.0.9":
            tries += 1
            raise OSError(errno.EHOSTUNREACH, "No route to host")
        return await sendto(sock, frame, address)

    async with running(endpoint(port)) as ana, running(endpoint(port)) as bob:
        await ana.until(lambda: bool(ana.ups) and bool(bob.ups))
        phone.sendto(serialize_crc_frame(PACKET), ("127.0.0.1", port))
        phone.sendto(serialize_crc_frame(PACKET), ("239.5.5.8", port))
        await ana.until(lambda: PACKET in ana.packets or PACKET in bob.packets)
        hearer, other = (ana, bob) if PACKET in ana.packets else (bob, ana)
        monkeypatch.setattr(loop, "sock_sendto", fails_to_the_phone)
        await hearer.face().send([PACKET[:40], PACKET[:41]])
        await other.until(lambda: PACKET[:41] in other.packets)
        assert PACKET[:40] in other.packets
        assert tries == 1, "not tried again until it is heard again"


async def test_an_interface_may_be_named_by_its_address(port: int) -> None:
    async with running(endpoint(port, interface="127.0.0.1")) as ana, running(endpoint(port)) as bob:
        await ana.until(lambda: bool(ana.ups) and bool(bob.ups))
        await ana.face().send([PACKET])
        await bob.until(lambda: bob.packets == [PACKET])
        assert ana.face().name == "udp:127.0.0.1"


def test_addresses_of_this_host() -> None:
    assert udp.is_of_this_host("127.0.0.1")
    assert not udp.is_of_this_host("203.0.113.77")


async def test_a_stream_of_datagrams_does_not_starve_the_rest(port: int, stranger: socket.socket) -> None:
    async with running(endpoint(port)) as ana:
        await ana.until(lambda: bool(ana.ups))
        turns = 0

        async def other() -> None:
            nonlocal turns
            while len(ana.frames) < 200:
                turns += 1
                await asyncio.sleep(0)

        for number in range(200):  # as many as a socket's buffer surely holds
            stranger.sendto(serialize_crc_frame(number.to_bytes(8, "big")), ("127.0.0.1", port))
        async with asyncio.timeout(10):
            await other()
        assert turns >= 200 // limits.UDP_READS_IN_A_ROW


async def test_no_network_yet_is_waited_for(port: int, monkeypatch: pytest.MonkeyPatch) -> None:
    real, failures = udp.group_socket, iter([OSError(errno.ENODEV, "No such device")])

    def failing_once(spec: UdpSpec) -> socket.socket:
        for failure in failures:
            raise failure
        assert made.problem == "there is no network for it: No such device"
        return real(spec)

    monkeypatch.setattr(udp, "group_socket", failing_once)
    made = endpoint(port)
    async with running(made) as ana:
        await ana.until(lambda: bool(ana.ups))
        assert made.problem is None


async def test_an_interface_that_does_not_exist_is_an_error_that_names_those_that_do() -> None:
    with pytest.raises(FaceOpenError, match=r"no network interface 'nosuch0'.*This machine has: .*lo"):
        await endpoint(1558, interface="nosuch0").run(RecordingSink())


async def test_a_port_that_somebody_keeps_for_himself_is_an_error() -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as selfish:
        selfish.bind(("", 0))
        with pytest.raises(FaceOpenError, match="holds it for itself"):
            await endpoint(selfish.getsockname()[1]).run(RecordingSink())
