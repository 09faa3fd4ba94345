"""Emulated devices, tried with the libraries that the devices' own makers wrote: they must be fooled as our hosts are.

Each test needs a library that is no dependency of ours (meshtastic and rns for their licences, meshcore for its size)
and is skipped without it. To run them: pip install -e '.[serial-peers]'.
"""

import asyncio
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from tests.emulated.meshcore import MeshcoreCompanion
from tests.emulated.meshtastic import MeshtasticDevice
from tests.emulated.rnode import Rnode
from tests.emulated.serial_air import Air
from tests.faces.recording_sink import PATIENCE_S, running
from tests.faces.serial_rig import endpoint, plugged, spec_text

PACKET = bytes.fromhex("c0db") * 60

# These libraries leave threads, files and loops to the end of the process.
pytestmark = pytest.mark.filterwarnings("ignore")


def library(name: str) -> ModuleType:
    module: ModuleType = pytest.importorskip(name, reason=f"needs {name}: pip install -e '.[serial-peers]'")
    return module


@pytest.fixture(autouse=True)
def no_modem_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pseudo-terminal has none, and pyserial takes that for a fault."""
    serial = library("serial")
    for line in ("dtr", "rts"):
        monkeypatch.setattr(serial.Serial, f"_update_{line}_state", lambda _port: None)


async def test_meshcore_s_library_exchanges_packets_with_our_face() -> None:
    meshcore = library("meshcore")
    air = Air()
    with plugged(MeshcoreCompanion(air)) as theirs, plugged(MeshcoreCompanion(air)) as ours:
        async with running(endpoint(spec_text("meshcore", ours.path))) as sink, asyncio.timeout(PATIENCE_S):
            await sink.until(lambda: bool(sink.faces))
            companion = await meshcore.MeshCore.create_serial(theirs.path, cx_dly=0.0)
            assert companion.self_info["radio_freq"] == 869.525
            info = await companion.commands.send_device_query()
            assert info.payload["model"] == "emulated board"
            channel = await companion.commands.get_channel(1)
            assert channel.payload["channel_name"] == "tinySSB"
            stats = await companion.commands.get_stats_core()
            assert stats.payload["queue_len"] == 0

            sent = await companion.commands.send_channel_data(1, 0xFF58, PACKET, path=b"")
            assert not sent.is_error()
            await sink.until(lambda: sink.packets == [PACKET])

            await sink.face().send([PACKET[::-1]])
            received = await companion.commands.get_msg()
            while "payload" not in received.payload:
                await asyncio.sleep(0.01)
                received = await companion.commands.get_msg()
            assert bytes.fromhex(received.payload["payload"]) == PACKET[::-1]
            assert received.payload["data_type"] == 0xFF58
            await companion.disconnect()


async def test_meshtastic_s_library_exchanges_packets_with_our_face() -> None:
    interfaces = library("meshtastic.serial_interface")
    air, loop = Air(), asyncio.get_running_loop()
    heard: asyncio.Queue[bytes] = asyncio.Queue()

    def on_data(packet: dict[str, dict[str, bytes]], interface: object) -> None:
        loop.call_soon_threadsafe(heard.put_nowait, packet["decoded"]["payload"])

    library("pubsub.pub").subscribe(on_data, "meshtastic.receive.data.PRIVATE_APP")
    with plugged(MeshtasticDevice(air, 0x1111)) as theirs, plugged(MeshtasticDevice(air, 0x2222)) as ours:
        async with running(endpoint(spec_text("meshtastic", ours.path))) as sink, asyncio.timeout(PATIENCE_S):
            await sink.until(lambda: bool(sink.faces))
            device = await asyncio.to_thread(interfaces.SerialInterface, theirs.path)
            try:
                assert device.localNode.nodeNum == 0x1111
                assert [channel.settings.name for channel in device.localNode.channels[:2]] == ["", "tinySSB"]
                await asyncio.to_thread(
                    lambda: device.sendData(PACKET, portNum=256, hopLimit=0, channelIndex=1)
                )
                await sink.until(lambda: sink.packets == [PACKET])
                await sink.face().send([PACKET[::-1]])
                assert await heard.get() == PACKET[::-1]
            finally:
                await asyncio.to_thread(device.close)


class NoNetwork:
    """Answers whatever a driver asks the network above it at its start."""

    def __getattr__(self, _name: str) -> Callable[..., int]:
        return lambda *_arguments: 1


async def test_reticulum_s_driver_exchanges_packets_with_our_face(monkeypatch: pytest.MonkeyPatch) -> None:
    rns, drivers = library("RNS"), library("RNS.Interfaces.RNodeInterface")
    monkeypatch.setattr(rns.Reticulum, "get_instance", NoNetwork)
    air, loop = Air(), asyncio.get_running_loop()
    heard: asyncio.Queue[bytes] = asyncio.Queue()
    owner = SimpleNamespace(
        inbound=lambda data, _interface: loop.call_soon_threadsafe(heard.put_nowait, bytes(data))
    )
    with plugged(Rnode(air)) as theirs, plugged(Rnode(air)) as ours:
        configuration = {
            "name": "theirs",
            "port": theirs.path,
            "frequency": 868_300_000,
            "bandwidth": 125_000,
            "txpower": 14,
            "spreadingfactor": 7,
            "codingrate": 5,
        }
        async with running(endpoint(spec_text("rnode", ours.path))) as sink, asyncio.timeout(PATIENCE_S):
            await sink.until(lambda: bool(sink.faces))
            driver = await asyncio.to_thread(drivers.RNodeInterface, owner, configuration)
            assert driver.online
            await asyncio.to_thread(driver.process_outgoing, PACKET)
            await sink.until(lambda: sink.packets == [PACKET])
            await sink.face().send([PACKET[::-1]])
            assert await heard.get() == PACKET[::-1]
            assert driver.r_stat_rssi == -91
            await asyncio.to_thread(driver.detach)
