"""The bridge to Home Assistant: it publishes the node to the broker, and takes texts from it."""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress

from tinyssb_node.alerts.homeassistant import limits
from tinyssb_node.alerts.homeassistant.discovery import (
    messages,
    nodes_topics,
    say_topic,
    status_topic,
    topics_of_other,
)
from tinyssb_node.alerts.homeassistant.report import NodeReport
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.errors import LocalError
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import BrokerError
from tinyssb_node.faces.mqtt_broker import OFFLINE, ONLINE, Broker, BrokerCredentials, visit_broker
from tinyssb_node.faces.mqtt_spec import MqttSpec
from tinyssb_node.scheduling.token_bucket import TokenBucket


class HomeBridge:
    """Publishes what changed, again and again, and says what Home Assistant wants said."""

    def __init__(
        self,
        broker: MqttSpec,
        logger: Logger,
        *,
        node: str,
        look: Callable[[], NodeReport],
        say: Callable[[str], None] | None = None,
        look_s: float = limits.LOOK_S,
    ) -> None:
        """*node*: the first 16 digits of its feed id. *look* and *say* block. *say* publishes a text, and raises
        LocalError for one that it cannot publish; None: texts are not taken."""
        self._spec, self._logger, self._node = broker, logger, node
        self._look, self._say, self._look_s = look, say, look_s
        self._texts = TokenBucket(
            limits.TEXTS_AT_ONCE, limits.TEXTS_PER_HOUR, 3_600_000_000, time.monotonic_ns() // 1_000
        )
        self._published: dict[str, bytes] = {}
        """Payloads that the broker has of us."""
        self._problem = ""

    async def run(self) -> None:
        """Connect, publish, and connect again, until cancelled."""
        backoff = Backoff(random.random, max_s=limits.RETRY_MAX_S)
        while True:
            began_s = time.monotonic()
            await visit_broker(self._spec, self._caller(), self._visit, self._tell)
            backoff.link_was_up(time.monotonic() - began_s)
            await asyncio.sleep(backoff.next_s())

    def _caller(self) -> BrokerCredentials:
        return BrokerCredentials(
            client=f"tinyssb-ha-{self._node}",
            status=status_topic(self._node),
            message_max=limits.MESSAGE_BYTES_MAX,
            receive_max=limits.QUEUE_MAX,
            read_max=limits.QUEUE_MAX,
            queue=limits.QUEUE_MAX,
            session_s=0,  # a text for a node that is away would come too late
            timeout_s=limits.TIMEOUT_S,
        )

    async def _visit(self, broker: Broker) -> None:
        """Publish while the broker is connected. It may have forgotten all that it had."""
        self._published.clear()
        if self._say is not None:
            await broker.subscribe([say_topic(self._node)], 1)
        if await self._publish_changes(broker):
            # The broker may have devices of an earlier run that are no more.
            await broker.subscribe([nodes_topics(self._node)], 1, retained=True)
        await broker.publish(status_topic(self._node), ONLINE, 1, retain=True)
        self._tell("")
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(broker))
                group.create_task(self._repeat(broker))
        finally:
            # The broker publishes our will only if the connection breaks.
            broker.hurry()
            with suppress(BrokerError):
                await broker.publish(status_topic(self._node), OFFLINE, 1, retain=True)

    async def _repeat(self, broker: Broker) -> None:
        while True:
            await asyncio.sleep(self._look_s)
            await self._publish_changes(broker)

    async def _publish_changes(self, broker: Broker) -> bool:
        """Publish what differs from what the broker has; remove devices of nodes that share no more. Return False if
        the node cannot be looked at."""
        try:
            report = await asyncio.to_thread(self._look)
        except (LocalError, OSError) as error:
            self._tell(f"the node cannot be looked at: {error}")
            return False
        wanted = messages(report, self._node, says=self._say is not None)
        for topic in [topic for topic in self._published if topic not in wanted]:
            await broker.publish(topic, b"", 1, retain=True)
            del self._published[topic]
        for topic, payload in wanted.items():
            if self._published.get(topic) != payload:
                await broker.publish(topic, payload, 1, retain=True)
                self._published[topic] = payload
        return True

    async def _listen(self, broker: Broker) -> None:
        async for message in broker.messages():
            topic = message.topic.value
            if topic == say_topic(self._node) and isinstance(message.payload, bytes):
                await self._heard(message.payload)
            elif message.payload and topic not in self._published:
                for gone in topics_of_other(self._node, topic) or ():
                    await broker.publish(gone, b"", 1, retain=True)

    async def _heard(self, payload: bytes) -> None:
        """Publish a text of Home Assistant, within limits."""
        assert self._say is not None, "nothing else is subscribed to"
        try:
            text = payload.decode().strip()
        except UnicodeDecodeError:
            text = ""
        now_us = time.monotonic_ns() // 1_000
        if not text or len(payload) > limits.TEXT_MAX:
            self._logger.warning(
                "a text of Home Assistant was not published", problem="it is empty or too long"
            )
        elif not self._texts.has(now_us):
            self._logger.warning("a text of Home Assistant was not published", problem="there were too many")
        else:
            self._texts.take()
            try:
                await asyncio.to_thread(self._say, text)
                self._logger.info("published a text of Home Assistant", characters=len(text))
            except LocalError as error:
                self._logger.warning("a text of Home Assistant was not published", problem=str(error))

    def _tell(self, problem: str, remedy: str = "") -> None:
        """Log *problem* and its remedy, unless it was the last one logged; empty: no problem."""
        if problem == self._problem:
            return
        self._problem = problem
        if problem:
            told = f"{problem}. {remedy}" if remedy else problem
            self._logger.warning("Home Assistant is not told of this node", problem=told)
        else:
            self._logger.info("connected to Home Assistant's broker", broker=self._spec.place)
