"""The ether over real sockets, its clock sped up: nodes hear each other, are cut apart, and say what they like."""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from firmware_bridge.lora import LoraSettings, airtime_us
from tests.faces.recording_sink import PATIENCE_S, RecordingSink, running
from tinyssb_node import limits
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import EtherUnreachableError, FaceOpenError
from tinyssb_node.faces.ether import EtherEndpoint
from tinyssb_node.faces.ether_protocol import (
    EtherCut,
    EtherGetStatus,
    EtherHeal,
    EtherHello,
    EtherPlug,
    EtherSend,
    EtherSetLink,
    EtherSetLoss,
    EtherStatus,
    EtherUnplug,
    serialize_message,
    welcome,
)
from tinyssb_node.faces.ether_spec import EtherSpec
from tinyssb_node.faces.radio import radio_profile
from tinyssb_node.scheduling.link import LinkMedium
from tinyssb_node.sim.ether import EtherConfig, ether_command, serve_ether
from tinyssb_node.sim.links import LinkQuality
from tinyssb_node.sim.medium import MediumOptions

pytestmark = pytest.mark.realtime

QUICK = EtherConfig(port=0, time_scale=200.0)
"""A packet of 0.2 s takes a millisecond."""
PACKET = bytes(range(120))


@asynccontextmanager
async def an_ether(config: EtherConfig = QUICK) -> AsyncIterator[int]:
    """Run an ether; gives its port."""
    port: asyncio.Future[int] = asyncio.get_running_loop().create_future()
    task = asyncio.create_task(serve_ether(config, entropy=random.Random(1), ready=port.set_result))
    try:
        async with asyncio.timeout(PATIENCE_S):
            yield await port
        assert not task.done()
    finally:
        task.cancel()
        await asyncio.wait([task])


def node(port: int, name: str) -> EtherEndpoint:
    spec = EtherSpec(host="127.0.0.1", port=port, name=name)
    return EtherEndpoint(f"ether:127.0.0.1:{port}?name={name}", spec, Backoff(lambda: 0.0, min_s=0.001))


async def up(*sinks: RecordingSink) -> None:
    for sink in sinks:
        await sink.until(lambda: bool(sink.faces))  # noqa: B023 - awaited within the round


async def status(port: int) -> EtherStatus:
    return await ether_command("127.0.0.1", port, EtherGetStatus())


async def test_three_nodes_hear_each_other_with_signal_and_airtime() -> None:
    async with (
        an_ether() as port,
        running(node(port, "ana")) as ana,
        running(node(port, "bob")) as bob,
        running(node(port, "cyn")) as cyn,
    ):
        await up(ana, bob, cyn)
        assert ana.ups == [("ether:ana", f"ether:127.0.0.1:{port}?name=ana")]
        await ana.face().send([PACKET, PACKET[:40]])
        await bob.until(lambda: len(bob.frames) == 2)
        await cyn.until(lambda: len(cyn.frames) == 2)
        assert bob.packets == cyn.packets == [PACKET, PACKET[:40]]
        face, _, reception = bob.frames[0]
        assert (face, reception.rssi_dbm, reception.snr_db) == ("ether:bob", -80, 37.0)
        assert reception.airtime_us == bob.face().profile.airtime_us[120] == round(205_056 / 200)
        assert ana.frames == []
        state = await status(port)
        assert [(one.name, one.sent, one.heard, one.collided, one.lost) for one in state.nodes] == [
            ("ana", 2, 0, 0, 0),
            ("bob", 0, 2, 0, 0),
            ("cyn", 0, 2, 0, 0),
        ]
        modem = LoraSettings()
        assert state.nodes[0].airtime_us == airtime_us(modem, 124) + airtime_us(modem, 44)


async def test_send_returns_when_the_airtime_is_over() -> None:
    async with an_ether(replace(QUICK, time_scale=10.0)) as port, running(node(port, "ana")) as ana:
        await up(ana)
        clock = asyncio.get_running_loop().time
        begun_s = clock()
        await ana.face().send([PACKET])
        assert clock() - begun_s >= 0.0205


async def test_a_radio_that_comes_loose_is_down_until_it_is_plugged_in() -> None:
    async with (
        an_ether() as port,
        running(node(port, "ana")) as ana,
        running(node(port, "bob")) as bob,
    ):
        await up(ana, bob)
        await ether_command("127.0.0.1", port, EtherUnplug(name="bob"))
        await bob.until(lambda: len(bob.downs) == 1)
        state = await status(port)
        assert [(one.name, one.connected) for one in state.nodes] == [("ana", True), ("bob", False)]
        await ether_command("127.0.0.1", port, EtherPlug(name="bob"))
        await bob.until(lambda: len(bob.ups) == 2)
        assert len(ana.ups) == 1
        with pytest.raises(LocalError, match="no node named 'eve'"):
            await ether_command("127.0.0.1", port, EtherUnplug(name="eve"))


async def test_cut_and_heal() -> None:
    async with (
        an_ether() as port,
        running(node(port, "ana")) as ana,
        running(node(port, "bob")) as bob,
        running(node(port, "cyn")) as cyn,
    ):
        await up(ana, bob, cyn)
        state = await ether_command("127.0.0.1", port, EtherCut(left=("ana", "bob"), right=("cyn",)))
        assert state.cuts == ((("ana", "bob"), ("cyn",)),)
        await ana.face().send([PACKET])
        await bob.until(lambda: bool(bob.frames))
        state = await ether_command("127.0.0.1", port, EtherHeal())
        assert state.cuts == ()
        await ana.face().send([PACKET[:9]])
        await cyn.until(lambda: bool(cyn.frames))
        assert cyn.packets == [PACKET[:9]]


async def test_links_and_losses_by_command() -> None:
    async with an_ether() as port, running(node(port, "ana")) as ana, running(node(port, "bob")) as bob:
        await up(ana, bob)
        await ether_command("127.0.0.1", port, EtherSetLoss(loss=1.0))
        await ana.face().send([PACKET])
        assert (await status(port)).nodes[1].lost == 1
        await ether_command("127.0.0.1", port, EtherSetLink(left="ana", right="bob", rssi_dbm=-100.0))
        await ana.face().send([PACKET[:9]])
        await bob.until(lambda: bool(bob.frames))
        assert (bob.packets, bob.frames[0][2].rssi_dbm) == ([PACKET[:9]], -100)


async def test_links_and_places_from_the_configuration() -> None:
    config = replace(
        QUICK,
        medium=MediumOptions(default_rssi_dbm=None),
        links={("ana", "bob"): LinkQuality(-90.0, 0.0)},
        positions_m={"ana": (0.0, 0.0), "cyn": (40.0, 0.0), "far": (1e6, 0.0)},
    )
    async with (
        an_ether(config) as port,
        running(node(port, "ana")) as ana,
        running(node(port, "bob")) as bob,
        running(node(port, "cyn")) as cyn,
        running(node(port, "far")) as far,
    ):
        await up(ana, bob, cyn, far)
        await ana.face().send([PACKET])
        await bob.until(lambda: bool(bob.frames))
        await cyn.until(lambda: bool(cyn.frames))
        assert (bob.frames[0][2].rssi_dbm, cyn.frames[0][2].rssi_dbm) == (-90, -113)
        assert far.frames == []


async def test_a_node_comes_back_when_the_ether_does() -> None:
    async with an_ether() as port:
        endpoint = node(port, "ana")
        sink = RecordingSink()
        task = asyncio.create_task(endpoint.run(sink))
        await up(sink)
        face = sink.face()
    await sink.until(lambda: bool(sink.downs))
    assert sink.downs == [("ether:ana", "the ether is gone")]
    with pytest.raises(ConnectionResetError):
        await face.send([PACKET])
    assert endpoint.problem == "the ether is gone"
    async with an_ether(replace(QUICK, port=port)):
        await up(sink)
        assert endpoint.problem != "the ether is gone"
        task.cancel()
        await asyncio.wait([task])
    assert sink.downs[1:] == [("ether:ana", "this node closed it")]


async def test_a_send_that_the_end_of_the_ether_interrupts_fails() -> None:
    channel_for_ever = replace(QUICK, time_scale=0.001)
    async with an_ether(channel_for_ever) as port:
        sink = RecordingSink()
        task = asyncio.create_task(node(port, "ana").run(sink))
        await up(sink)
        sending = asyncio.create_task(sink.face().send([PACKET]))
        await asyncio.sleep(0)  # it is written, and its airtime is minutes
    with pytest.raises(ConnectionResetError):
        await sending
    task.cancel()
    await asyncio.wait([task])


async def test_one_name_is_one_node() -> None:
    async with an_ether() as port, running(node(port, "ana")) as ana:
        await up(ana)
        with pytest.raises(FaceOpenError, match="'ana' is here already"):
            await node(port, "ana").run(RecordingSink())


async def test_a_node_that_left_makes_room_for_its_name() -> None:
    async with an_ether() as port:
        for _ in range(2):
            async with running(node(port, "ana")) as ana:
                await up(ana)
                await ana.face().send([PACKET])
        state = await status(port)
        assert [(one.name, one.connected, one.sent) for one in state.nodes] == [("ana", False, 2)]


async def test_old_names_are_forgotten_first(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ETHER_NODES_MAX", 2)
    async with an_ether() as port:
        async with running(node(port, "ana")) as ana:
            await up(ana)
        async with running(node(port, "bob")) as bob, running(node(port, "cyn")) as cyn:
            await up(bob, cyn)
            assert [one.name for one in (await status(port)).nodes] == ["bob", "cyn"]
            with pytest.raises(FaceOpenError, match="room for 2 nodes"):
                await node(port, "dov").run(RecordingSink())


@pytest.mark.parametrize(
    ("lines", "reason"),
    [
        (b"\xff\x00\n", "the first line must be a hello"),
        (serialize_message(EtherGetStatus()), "the first line must be a hello"),
        (b'{"t":"hello","version":2}\n', "speaks version 1, not 2"),
        (serialize_message(EtherHello(version=1, name="x")) + b"garbage\n", "a node may only send"),
        (
            serialize_message(EtherHello(version=1, name="x")) + serialize_message(EtherHeal()),
            "a node may only send",
        ),
        (serialize_message(EtherHello(version=1)) + b"{}\n", "that is no command"),
        (
            serialize_message(EtherHello(version=1)) + serialize_message(EtherSend(id=1, packet="00" * 8)),
            "no command",
        ),
        (b"x" * 70_000, "the first line must be a hello"),
    ],
)
async def test_who_says_nonsense_is_told_and_left(lines: bytes, reason: str) -> None:
    async with an_ether() as port, running(node(port, "ana")) as ana:
        await up(ana)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(lines)
        said = b""
        try:
            said = await reader.read()
        except ConnectionResetError:  # the rest of an overlong line was never read
            assert len(lines) > limits.ETHER_LINE_MAX
        else:
            assert reason in said.decode()
        writer.close()
        await ana.face().send([PACKET])  # the ether goes on


async def test_who_says_nothing_is_left_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ETHER_HELLO_S", 0.01)
    async with an_ether() as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        assert b"no hello came" in await reader.read()
        writer.close()


async def test_connections_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ETHER_NODES_MAX", 1)
    monkeypatch.setattr(limits, "ETHER_CONTROLS_MAX", 0)
    async with an_ether() as port, running(node(port, "ana")) as ana:
        await up(ana)
        with pytest.raises(EtherUnreachableError):
            await status(port)


async def test_commands_that_make_no_sense_are_refused_in_words() -> None:
    async with an_ether() as port:
        with pytest.raises(LocalError, match="ana cannot be on both sides") as caught:
            await ether_command("127.0.0.1", port, EtherCut(left=("ana",), right=("ana", "bob")))
        assert caught.value.exit_code is ExitCode.DATA


async def test_a_command_without_an_ether_says_how_to_start_one() -> None:
    async with an_ether() as port:
        pass
    with pytest.raises(EtherUnreachableError, match="Start one with: tinyssb ether"):
        await status(port)


async def test_a_command_to_something_else() -> None:
    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"220 mail.example.org ESMTP\r\n")
        writer.close()

    async with await asyncio.start_server(greet, "127.0.0.1", 0) as other:
        with pytest.raises(EtherUnreachableError, match="no ether"):
            await status(other.sockets[0].getsockname()[1])


async def test_an_address_in_use() -> None:
    async with an_ether() as port:
        with pytest.raises(LocalError, match="Choose another port") as caught:
            await serve_ether(replace(QUICK, port=port))
        assert caught.value.exit_code is ExitCode.UNAVAILABLE


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\xff" * 100 + b"\n",
        serialize_message(welcome(LoraSettings(), 1.0)).replace(b'"version":1', b'"version":2'),
        serialize_message(welcome(LoraSettings(), 1.0)).replace(
            b'"spreading_factor":7', b'"spreading_factor":99'
        ),
    ],
)
async def test_a_node_survives_ethers_that_are_none(answer: bytes) -> None:
    visits = asyncio.Semaphore(0)

    async def greet(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(answer)
        writer.close()
        visits.release()

    async with (
        await asyncio.start_server(greet, "127.0.0.1", 0) as other,
        running(node(other.sockets[0].getsockname()[1], "ana")) as ana,
    ):
        async with asyncio.timeout(PATIENCE_S):
            for _ in range(3):
                await visits.acquire()
        assert ana.ups == []


async def test_a_node_leaves_an_ether_that_never_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ETHER_HELLO_S", 0.01)
    left = asyncio.Semaphore(0)

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionResetError):
            await reader.read()
        writer.close()
        left.release()

    async with await asyncio.start_server(silent, "127.0.0.1", 0) as other:
        endpoint = node(other.sockets[0].getsockname()[1], "ana")
        async with running(endpoint), asyncio.timeout(PATIENCE_S):
            await left.acquire()
            await left.acquire()
        assert endpoint.problem is not None
        assert endpoint.problem.endswith("too slow")


async def test_who_hears_somebody_is_told_to_wait() -> None:
    async with (
        an_ether(replace(QUICK, time_scale=1.5)) as port,
        running(node(port, "ana")) as ana,
        running(node(port, "bob")) as bob,
    ):
        await up(ana, bob)
        first = asyncio.create_task(ana.face().send([PACKET]))
        await asyncio.sleep(0.05)  # 0.08 s on the channel: the packet has begun and is not over
        assert await bob.face().send([PACKET[:8], PACKET]) == 0
        assert await first == 1
        assert await bob.face().send([PACKET[:8]]) == 1
        await bob.until(lambda: bob.packets == [PACKET])


def test_a_time_scale_of_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match=r"time_scale is 0\.0; possible: above 0"):
        EtherConfig(time_scale=0.0)


async def test_any_bytes_from_an_ether_are_junk() -> None:
    chance = random.Random(3)
    lines = [chance.randbytes(chance.randrange(100)).replace(b"\n", b"") + b"\n" for _ in range(50)]
    lines.append(b'{"t":"sent","id":12345}\n')

    async def babble(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(serialize_message(welcome(LoraSettings(), 1.0)) + b"".join(lines))
        await reader.read()
        writer.close()

    async with (
        await asyncio.start_server(babble, "127.0.0.1", 0) as other,
        running(node(other.sockets[0].getsockname()[1], "ana")) as ana,
    ):
        await ana.until(lambda: len(ana.junks) == 50)
        assert {reason for _, reason, _ in ana.junks} == {"not understood"}


async def test_a_node_that_does_not_read_misses_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "ETHER_WRITE_BUFFER", 0)
    async with an_ether() as port, running(node(port, "ana")) as ana, running(node(port, "bob")) as bob:
        await up(ana, bob)
        sending = asyncio.create_task(ana.face().send([PACKET]))
        while not (await status(port)).nodes[1].heard:
            pass
        sending.cancel()
        assert bob.frames == []


def test_the_profile_follows_the_clock() -> None:
    settings = welcome(LoraSettings(), 2.0).lora()
    profile = radio_profile(settings, lambda length: length + limits.CRC_SIZE, None, time_scale=2.0)
    assert profile.medium is LinkMedium.AIR
    assert profile.airtime_us[120] == 102_528
    assert len(profile.airtime_us) == 121
