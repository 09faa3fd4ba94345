"""The faces of a daemon on wires, and its companion processes, each with the attack on it."""

import asyncio
import secrets
import socket
import zlib
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Final

import aiomqtt

from tests.fuzz.seeds import in_vectors
from tests.islands.feed_sources import StoreFeedSource
from tests.mosquitto import running_mosquitto
from tests.torture.hostile_face import HOST, HostileFace
from tests.torture.hostile_peer import Stage
from tests.torture.hostile_radios import RADIOS
from tests.torture.hostile_wires import (
    FAULTS,
    ask_pages,
    flood_links,
    hang_half_open,
    read_slowly,
    reconnect,
    send_large,
    send_packets,
    serve_flood,
)
from tests.torture.kills import free_port
from tinyssb_node.codec.dmx import Network, dmx_of
from tinyssb_node.control.rows import BroughtRow
from tinyssb_node.faces.mqtt_topics import ROOT, TopicNames
from tinyssb_node.faces.ws_access import CallFailedError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId
from tinyssb_node.islands.gateway.feed_sync_ws import PATH, SUBPROTOCOL, FeedSyncParty, open_link
from tinyssb_node.islands.locator.values import group_of_network
from tinyssb_node.pzp.sync_ws import SUBPROTOCOL as PZP_SUBPROTOCOL
from tinyssb_node.store.memory import MemoryStore
from tinyssb_node.store.sqlite import SqliteStore


class WebSocketFace(HostileFace):
    """A listener: floods, half-open connections, slow readers, connections without end."""

    name = "websocket"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tcp = HOST, free_port()
        self.specs = (f"ws:listen:{HOST}:{self.tcp[1]}",)

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        assert self.tcp is not None
        await stage.begin()
        url = f"ws://{HOST}:{self.tcp[1]}/"
        floods = [flood_links(stage, url, self.traffic(stage, f"{number}")) for number in range(2)]
        await stage.run(
            *floods,
            read_slowly(stage, url, self.traffic(stage, "slow")),
            hang_half_open(stage, self.tcp),
            reconnect(stage, url),
            send_large(stage, url),
        )


class WebSocketClientFace(HostileFace):
    """A server that the node connects to, and that floods it."""

    name = "websocket-client"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.specs = (f"ws:connect:{HOST}:{self.port}",)

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        await serve_flood(stage, HOST, self.port, self.traffic(stage))


class UdpFace(HostileFace):
    """Datagrams to the group and to the node itself, from many addresses, with right and wrong CRCs."""

    name = "udp"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.port = free_port()
        self.specs = (f"udp:239.5.5.8:{self.port}?interface=lo&ttl=0",)

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        await stage.begin()
        socks = []
        for number in range(2, 34):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((f"127.0.0.{number}", 0))
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_TTL, 0)
            sock.setsockopt(socket.IPPROTO_IP, socket.IP_MULTICAST_IF, socket.inet_aton(HOST))
            sock.setblocking(False)
            socks.append(sock)
        await stage.run(self._flood(stage, socks))

    async def _flood(self, stage: Stage, socks: Sequence[socket.socket]) -> None:
        for number, packet in enumerate(self.traffic(stage).packets()):
            crc = zlib.crc32(packet).to_bytes(4, "big") if number % 16 else b"\0\0\0\0"
            to = ("239.5.5.8" if number % 2 else HOST, self.port)
            with suppress(BlockingIOError):
                socks[number // 64 % len(socks)].sendto(packet + crc, to)
                stage.count()
            if number % 16 == 0:
                await asyncio.sleep(0)


class MqttFace(HostileFace):
    """A broker at which a stranger publishes in the topics of the set and of the feeds."""

    name = "mqtt"

    @contextmanager
    def surroundings(self) -> Iterator[object]:
        """See HostileFace."""
        with running_mosquitto(self.folder) as broker:
            self.port = broker.port
            self.specs = (f"mqtt:{HOST}:{broker.port}",)
            yield broker

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        await stage.begin()
        await stage.run(self._flood(stage))

    async def _flood(self, stage: Stage) -> None:
        network = Network()
        tag, set_ = dmx_of(network.prefix).hex(), network.goset_dmx.hex()
        with closing(SqliteStore.open_readonly(self.home / "store.sqlite")) as store:
            (own,) = [record.feed for record in store.feeds() if record.own]
        async with aiomqtt.Client(HOST, self.port, timeout=10) as client:
            names = TopicNames(ROOT, secrets.token_hex(8))
            topics = (
                names.of_set(tag, set_),
                names.of_feed(tag, own),
                names.of_set(tag, "ff" * 7),
                names.status,
            )
            for number, packet in enumerate(self.traffic(stage).packets()):
                # At QoS 1 each waits for the broker; at QoS 0 they come as fast as the broker takes them.
                qos = 1 if number % 8 == 0 else 0
                await client.publish(topics[0 if number % 4 else number // 4 % len(topics)], packet, qos)
                stage.count()


class GatewayFace(HostileFace):
    """The gateway to other islands: datagrams of the locator, and feed sync over WebSocket."""

    name = "gateway"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tcp = "127.0.1.1", free_port()
        self.config = f'[gateway]\nenabled = true\nlisten = "{self.tcp[0]}:{self.tcp[1]}"\n'

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        assert self.tcp is not None
        await stage.begin()
        with closing(SqliteStore.open_readonly(self.home / "store.sqlite")) as store:
            feeds = [record.feed for record in store.feeds()]
        url = f"ws://{self.tcp[0]}:{self.tcp[1]}{PATH}"
        syncs = [self._beg(stage, url, feeds) for _ in range(2)]
        seeds = [*in_vectors("feedsync/packets_v1.json"), secrets.token_bytes(2_000)]
        await stage.run(
            self._flood_locator(stage, self.tcp),
            *syncs,
            send_packets(stage, url, SUBPROTOCOL, [], seeds),
            hang_half_open(stage, self.tcp),
            reconnect(stage, url, [SUBPROTOCOL]),
        )

    async def _flood_locator(self, stage: Stage, to: tuple[str, int]) -> None:
        """Send known messages, whole and mutated, from many addresses."""
        seeds = in_vectors("locator/messages_v1.json")
        group = group_of_network(Network())
        ending = group + bytes((len(group),))
        socks = []
        for number in range(2, 18):
            sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            sock.bind((f"127.0.1.{number}", 0))
            sock.setblocking(False)
            socks.append(sock)
        chance = self.traffic(stage).chance
        number = 0
        while True:
            number += 1
            datagram = chance.choice(seeds)
            if number % 2:
                at = chance.randrange(len(datagram) + 1)
                datagram = datagram[:at] + chance.randbytes(chance.choice((1, 4, 20))) + datagram[at + 1 :]
            if number % 3:
                datagram = datagram[: -len(ending)] + ending
            with suppress(BlockingIOError):
                socks[number // 16 % len(socks)].sendto(datagram, to)
                stage.count()
            if number % 16 == 0:
                await asyncio.sleep(0)

    async def _beg(self, stage: Stage, url: str, feeds: Sequence[FeedId]) -> None:
        """Fetch everything, keep nothing, offer what does not exist, and begin again."""

        async def forget(_feed: FeedId, packets: Sequence[bytes]) -> BroughtRow:
            stage.count()
            return BroughtRow(shelved=False, entries=len(packets), chunks=0, held=0, refused=None, dropped=[])

        side = FeedSyncParty(
            name=DEFAULT_NETWORK,
            network=Network(),
            holding=StoreFeedSource(MemoryStore()),
            wanted=lambda: feeds,
            offered=lambda: [FeedId(secrets.token_bytes(32)) for _ in range(200)],
            bring=forget,
        )
        while True:
            with suppress(*FAULTS, CallFailedError):
                link = await open_link(url, side)
                async with asyncio.timeout(2.0):
                    await link.run()
            stage.count()
            await asyncio.sleep(0.01)


class PzpFace(HostileFace):
    """The gateway of PZP: sync packets over WebSocket."""

    name = "pzp"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tcp = HOST, free_port()
        self.config = f'[pzp]\nenabled = true\nlisten = "{HOST}:{self.tcp[1]}"\n'

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        assert self.tcp is not None
        await stage.begin()
        url = f"ws://{HOST}:{self.tcp[1]}/"
        seeds = [*in_vectors("pzpsync/packets_v1.json"), secrets.token_bytes(2_000)]
        await stage.run(
            *(send_packets(stage, url, PZP_SUBPROTOCOL, [], seeds) for _ in range(3)),
            hang_half_open(stage, self.tcp),
            reconnect(stage, url, [PZP_SUBPROTOCOL]),
        )


class WebPageFace(HostileFace):
    """The web page, from outside: requests without its token, half ones, and what is no request."""

    name = "web"

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.tcp = HOST, free_port()
        self.config = f'[web]\nenabled = true\nlisten = "{HOST}:{self.tcp[1]}"\n'

    async def attack(self, stage: Stage) -> None:
        """See HostileFace."""
        assert self.tcp is not None
        await stage.begin()
        await stage.run(*(ask_pages(stage, self.tcp) for _ in range(8)), hang_half_open(stage, self.tcp))


FACES: Final = {
    face.name: face
    for face in (
        WebSocketFace,
        WebSocketClientFace,
        UdpFace,
        MqttFace,
        *RADIOS,
        GatewayFace,
        PzpFace,
        WebPageFace,
    )
}
"""All of them, by name."""
