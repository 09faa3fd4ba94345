"""MQTT: links islands through a broker that stores new packets for absent nodes (docs/formats/mqtt.md).

One connection carries two things. Gossip, as on any face that several nodes share, while the broker is connected. And
all new entries and chunks of the store, once, whenever the broker is connected again.
"""

import asyncio
import os
import random
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from secrets import token_hex
from typing import TYPE_CHECKING

from firmware_bridge.libraries import install_command
from tinyssb_node import limits as node_limits
from tinyssb_node.faces import limits
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import BrokerError, FaceOpenError
from tinyssb_node.faces.face import FaceSink
from tinyssb_node.faces.frames import FrameFault, parse_bare
from tinyssb_node.faces.mqtt_backlog import MqttBacklog
from tinyssb_node.faces.mqtt_secrets import make_tls, read_password
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.faces.mqtt_topics import ParsedTopic, TopicKind, TopicNames, feed_prefix
from tinyssb_node.faces.store_port import FaceStorePort
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.scheduling.link import WIRED, LinkProfile, broker_profile
from tinyssb_node.scheduling.suppression import RecentSet

if TYPE_CHECKING:
    import aiomqtt

    from tinyssb_node.faces.mqtt_broker import Broker

_MICROS = 1_000_000


class _Network:
    """One network's part of a face."""

    def __init__(self, library: FaceStorePort, face: FaceName) -> None:
        self.library = library
        self.backlog = MqttBacklog(library, face)
        self.taken: dict[str, None] = {}
        """Prefixes of the feeds that are subscribed to."""

    def follow(self) -> tuple[list[str], list[str]]:
        """Look which feeds are in the set now. Returns the prefixes to be subscribed to, and those to be no more."""
        wanted = dict.fromkeys(feed_prefix(feed) for feed in sorted(self.library.follows()))
        new = [prefix for prefix in wanted if prefix not in self.taken]
        old = [prefix for prefix in self.taken if prefix not in wanted]
        self.taken = wanted
        return new, old


class MqttFace:
    """A broker, while it is connected."""

    def __init__(
        self,
        name: FaceName,
        broker: "Broker",
        topics: TopicNames,
        networks: Sequence[_Network],
        *,
        gossip: bool,
    ) -> None:
        self.name = name
        self.profile: LinkProfile = broker_profile()
        self._broker = broker
        self._topics = topics
        self._networks = networks
        self._gossip = gossip

    async def send(self, packets: list[bytes]) -> int:
        """Publish *packets*; those that wait to be published anyway are left to that. Raises BrokerError."""
        for packet in packets:
            for topic in self._topics_of(packet):
                await self._broker.publish(topic, packet, 0)
        return len(packets)

    def _topics_of(self, packet: bytes) -> list[str]:
        network = self._networks[0]
        if len(self._networks) > 1:
            network = next((each for each in self._networks if each.library.knows(packet)), network)
        tag = network.library.network
        feeds: Sequence[FeedId] = ()
        if len(packet) == node_limits.PACKET_SIZE:
            feeds = network.library.feeds_of(packet)
        if feeds:
            waits = network.backlog.holds(packet)
            return [] if waits else [self._topics.of_feed(tag, feed) for feed in feeds]
        return [self._topics.of_set(tag, network.library.set)] if self._gossip else []


class MqttVisit:
    """One connection to a broker, and what is done on it."""

    def __init__(
        self,
        endpoint: "MqttEndpoint",
        broker: "Broker",
        topics: TopicNames,
        networks: Sequence[_Network],
        sink: FaceSink,
    ) -> None:
        self._endpoint = endpoint
        self._broker = broker
        self._topics = topics
        self._networks = networks
        self._sink = sink
        self._gossip = endpoint.broker_spec.gossip
        self.face = MqttFace(endpoint.broker_spec.face_name, broker, topics, networks, gossip=self._gossip)
        self._heard: RecentSet[bytes] = RecentSet(8_192)  # 1 MB
        self._strange: dict[str, None] = {}
        """Topics that came without a subscription, of an earlier session."""
        self._clock = asyncio.get_running_loop().time

    async def begin(self) -> None:
        """Publish that we are online, and subscribe. Raises BrokerError."""
        from tinyssb_node.faces.mqtt_broker import ONLINE  # noqa: PLC0415 - aiomqtt is an optional extra

        await self._broker.publish(self._topics.status, ONLINE, 1, retain=True)
        for network in self._networks:
            tag = network.library.network
            if self._gossip:
                await self._broker.subscribe([self._topics.from_set(tag, network.library.set)], 0)
            network.taken.clear()
            await self._follow(network)

    async def work(self) -> None:
        """Go on until the broker is gone. Raises BrokerError."""
        tasks = [asyncio.ensure_future(work) for work in (self._read(), self._upload_loop(), self._look())]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for task in tasks:
                task.cancel()
            results = await asyncio.gather(*tasks, return_exceptions=True)
        # None of them ends by itself. The reader, which is first, knows best why the connection did.
        raise next(result for result in results if isinstance(result, Exception))

    async def end(self) -> None:
        """Publish that we go offline, if the broker is still connected."""
        from tinyssb_node.faces.mqtt_broker import OFFLINE  # noqa: PLC0415 - aiomqtt is an optional extra

        self._broker.hurry()
        with suppress(BrokerError):
            await self._broker.publish(self._topics.status, OFFLINE, 1, retain=True)

    # --- received messages

    async def _read(self) -> None:
        since_s, taken = self._clock(), 0
        async for message in self._broker.messages():
            if not self._take(message):
                await self._sink.room(self.face.name)
            taken += 1
            if taken >= limits.MQTT_TAKE_PER_S:
                await asyncio.sleep(max(0.0, since_s + 1 - self._clock()))
                since_s, taken = self._clock(), 0

    def _take(self, message: "aiomqtt.Message") -> bool:
        """Return False if the node has no room for more at the moment."""
        said = self._topics.parse(message.topic.value)
        if said is not None and said.client == self._topics.client:
            return True
        packet = self._packet_of(message, said)
        if isinstance(packet, str):
            self._sink.junk(self.face.name, packet, len(message.payload))
            return True
        return self._sink.frame(self.face.name, packet, WIRED)

    def _packet_of(self, message: "aiomqtt.Message", said: ParsedTopic | None) -> bytes | str:
        """Return the packet in a message with the topic *said*, or the reason why it is none."""
        if message.retain:
            return "retained"
        if said is None or not self._takes(said):
            self._strange[message.topic.value] = None
            while len(self._strange) > limits.MQTT_SUBSCRIBE_MAX:
                del self._strange[next(iter(self._strange))]
            return "not subscribed to"
        packet = parse_bare(message.payload)
        if said.kind is TopicKind.FEED and not isinstance(packet, FrameFault):
            if len(packet) < node_limits.PACKET_SIZE:
                return FrameFault.TOO_SHORT
            if message.qos:
                # Published for absent nodes, too. What only connected nodes received is ours to publish.
                self._heard.add(packet, self._now_us())
        return packet

    def _takes(self, said: ParsedTopic) -> bool:
        """Return True if we subscribe to a topic."""
        for network in self._networks:
            if network.library.network == said.network:
                if said.kind is TopicKind.FEED:
                    return said.about in network.taken
                if self._gossip and said.about == network.library.set:
                    return True
        return False

    def _now_us(self) -> int:
        return int(self._clock() * _MICROS)

    # --- new entries and chunks

    async def _upload_loop(self) -> None:
        while True:
            appended = self._sink.appended()
            published = 0
            for network in self._networks:
                published += await self._upload_backlog(network)
            if published:
                await asyncio.sleep(published / limits.MQTT_PUBLISH_PER_S)
            elif all(not network.backlog.look() for network in self._networks):
                await appended.wait()

    async def _upload_backlog(self, network: _Network) -> int:
        """Publish the first that wait. Returns how many were."""
        waiting = network.backlog.look()
        if not all(each.ours for each in waiting):
            # Random wait: several nodes of an island have these packets, and the first informs the others.
            await asyncio.sleep(1.0 * self._endpoint.entropy())
        now_us = self._now_us()
        unsaid = [
            each
            for each in waiting
            # An hour: a node that was away longer missed them.
            if each.ours or not self._heard.within(each.packet, 3_600_000_000, now_us)
        ]
        tag = network.library.network
        await asyncio.gather(
            *(self._broker.publish(self._topics.of_feed(tag, each.feed), each.packet, 1) for each in unsaid)
        )
        network.backlog.done()
        return len(unsaid)

    # --- from time to time

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(limits.MQTT_LOOK_S)
            for network in self._networks:
                network.backlog.keep()
                await self._follow(network)
            strange, self._strange = self._strange, {}
            for topic in strange:
                said = self._topics.parse(topic)
                if said is None or not self._takes(said):
                    await self._broker.unsubscribe([topic.rpartition("/")[0] + "/+"])

    async def _follow(self, network: _Network) -> None:
        new, old = network.follow()
        tag = network.library.network
        await self._broker.subscribe([self._topics.from_feed(tag, prefix) for prefix in new], 1)
        if old:
            await self._broker.unsubscribe([self._topics.from_feed(tag, prefix) for prefix in old])


class MqttEndpoint:
    """An endpoint that keeps a connection to a broker up, as face ``mqtt:HOST:PORT``."""

    def __init__(
        self,
        text: str,
        spec: MqttSpec,
        entropy: Callable[[], float] = random.random,
        environ: Mapping[str, str] = os.environ,
        backoff: Backoff | None = None,
    ) -> None:
        self.spec = text
        self.broker_spec = spec
        self.entropy = entropy
        self._environ = environ
        self._backoff = backoff or Backoff(entropy)
        self._networks: list[_Network] = []
        self._failure: tuple[str, str] | None = None

    @property
    def problem(self) -> str | None:
        """See Endpoint."""
        if self._failure is None:
            return None
        waiting = self.waiting
        kept = "1 packet waits for it" if waiting == 1 else f"{waiting or 'no'} packets wait for it"
        what, remedy = self._failure
        said = f"no MQTT broker at {self.broker_spec.place}: {what}; {kept}"
        return f"{said}. {remedy}" if remedy else said

    @property
    def waiting(self) -> int:
        """About how many packets wait to be published."""
        return sum(network.backlog.size for network in self._networks)

    async def run(self, sink: FaceSink) -> None:
        """Connect, and connect again whenever the broker is lost, until cancelled. Raises FaceOpenError where aiomqtt
        is not installed, and the errors of ``read_password`` and ``client_context``."""
        try:
            from tinyssb_node.faces import mqtt_broker  # noqa: F401, PLC0415 - aiomqtt is an optional extra
        except ModuleNotFoundError as error:
            raise FaceOpenError(
                self.spec,
                "the library for MQTT is not installed",
                f"Type: {install_command('mqtt')}",
            ) from error
        libraries = sink.libraries()
        self._networks = [_Network(library, self.broker_spec.face_name) for library in libraries]
        topics = TopicNames(self.broker_spec.root, self._client(libraries[0]))
        while True:
            try:
                await self._visit(topics, sink)
            except BrokerError as error:
                # The words alone: the error would keep the broken socket.
                self._failure = error.what, error.remedy
            await asyncio.sleep(self._backoff.next_s())

    def _client(self, library: FaceStorePort) -> str:
        """Return our client id at the broker: always the same, so that it finds our session."""
        key = f"mqtt:{self.broker_spec.face_name}:client"
        client = library.recall(key)
        if client is None:
            client = token_hex(limits.MQTT_CLIENT_SIZE)
            library.keep(key, client)
        return client

    async def _visit(self, topics: TopicNames, sink: FaceSink) -> None:
        """Be there for as long as the broker is. Raises BrokerError when it is not, or no more."""
        from tinyssb_node.faces.mqtt_broker import BrokerCredentials, connected  # noqa: PLC0415 - see ``run``

        spec = self.broker_spec
        password, tls = read_password(spec, self._environ), make_tls(spec)
        early: deque[int] = deque(maxlen=limits.MQTT_READ_MAX)
        """Sizes of messages dropped before the face was up."""
        visit: MqttVisit | None = None

        def overflow(length: int) -> None:
            if visit is None:
                early.append(length)
            else:
                sink.junk(visit.face.name, "too many at once", length)

        caller = BrokerCredentials(
            client=topics.client,
            status=topics.status,
            message_max=limits.MQTT_MESSAGE_MAX,
            receive_max=limits.MQTT_RECEIVE_MAX,
            read_max=limits.MQTT_READ_MAX,
            queue=limits.MQTT_QUEUE,
            session_s=limits.MQTT_SESSION_S,
            timeout_s=limits.MQTT_TIMEOUT_S,
        )
        async with connected(spec, caller, password, tls, overflow) as broker:
            beginning = MqttVisit(self, broker, topics, self._networks, sink)
            await beginning.begin()
            visit, self._failure = beginning, None
            reason = "this node closed it"
            begun_s = asyncio.get_running_loop().time()
            sink.up(beginning.face, self.spec)
            for length in early:
                overflow(length)
            try:
                await beginning.work()
            except BrokerError as error:
                reason = str(error)
                raise
            finally:
                visit = None
                sink.down(beginning.face.name, reason)
                for network in self._networks:
                    network.backlog.keep()
                self._backoff.link_was_up(asyncio.get_running_loop().time() - begun_s)
                await beginning.end()
