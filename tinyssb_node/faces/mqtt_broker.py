"""A connection to an MQTT broker, by aiomqtt. That is an optional extra, so this module is imported only for a
configured broker: by MQTT faces, the shipper of event logs, and the bridge to Home Assistant."""

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from traceback import clear_frames
from typing import Final

import aiomqtt
from paho.mqtt.client import MQTT_CLEAN_START_FIRST_ONLY
from paho.mqtt.packettypes import PacketTypes
from paho.mqtt.properties import Properties
from paho.mqtt.reasoncodes import ReasonCode
from paho.mqtt.subscribeoptions import SubscribeOptions

from tinyssb_node.errors import LocalError, first_error
from tinyssb_node.faces import limits
from tinyssb_node.faces.errors import BrokerError
from tinyssb_node.faces.mqtt_secrets import make_tls, read_password
from tinyssb_node.faces.mqtt_spec import MqttSpec

ONLINE: Final = b"online"
OFFLINE: Final = b"offline"
"""Payload of a client's status topic while it is offline."""

_RETAINED: Final = 0
_NO_RETAINED: Final = 2
_REFUSED_MIN: Final = 128
_VAGUE: Final = 128
_WRONG_VERSION: Final = frozenset({1, 132})
_WRONG_USER: Final = frozenset({4, 5, 134, 135})
"""Reason codes of MQTT 3.1.1 and 5."""

_QUIET = logging.getLogger("tinyssb_node.faces.mqtt")
_QUIET.setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerCredentials:
    """The name and password of a client."""

    client: str
    """By which it finds our session again."""
    status: str
    """The topic of our will, which the broker publishes when we are gone."""
    message_max: int
    """Bytes of a message that it may send us."""
    receive_max: int
    """Messages at QoS 1 that the broker is asked to send us at most before we have taken the first (MQTT 5)."""
    read_max: int
    """Messages read ahead, should it send more: the rest is left with it, and asked for by connecting again."""
    queue: int
    """Messages read ahead; further ones at QoS 0 are dropped."""
    session_s: int
    """Time for which the broker keeps our session while we are away."""
    timeout_s: float
    """Longest wait for an answer of it."""


class Broker:
    """A broker that accepted us. All methods raise BrokerError when it is gone, or silent for too long."""

    def __init__(
        self, client: aiomqtt.Client, *, version_5: bool, timeout_s: float, left: asyncio.Event
    ) -> None:
        """Use ``connected``. *left* is set once a message at QoS 1 was left with the broker."""
        self._client = client
        self._left = left
        self._version_5 = version_5
        self._timeout_s = timeout_s

    async def publish(self, topic: str, payload: bytes, qos: int, *, retain: bool = False) -> None:
        """Publish *payload*; at QoS 0 return when it has left, at QoS 1 when the broker has it."""
        try:
            await self._client.publish(topic, payload, qos, retain)
        except aiomqtt.MqttError as error:
            raise _lost(error, self._timeout_s) from error

    async def subscribe(self, topics: Sequence[str], qos: int, *, retained: bool = False) -> None:
        """Subscribe to *topics*, but for our own messages and, unless *retained*, for retained ones, as far as the
        broker can distinguish them.

        Raises BrokerError if it refuses.
        """
        for first in range(0, len(topics), limits.MQTT_SUBSCRIBE_MAX):
            some = topics[first : first + limits.MQTT_SUBSCRIBE_MAX]
            options = SubscribeOptions(
                qos=qos, noLocal=True, retainHandling=_RETAINED if retained else _NO_RETAINED
            )
            try:
                if self._version_5:
                    answers = await self._client.subscribe([(topic, options) for topic in some])
                else:
                    answers = await self._client.subscribe([(topic, qos) for topic in some])
            except aiomqtt.MqttError as error:
                raise _lost(error, self._timeout_s) from error
            codes = [_number(answer) for answer in answers]
            for topic, code in zip(some, codes, strict=False):
                if code >= _REFUSED_MIN:
                    raise BrokerError(
                        f"it does not let this node take {topic}", "Look at the broker's access list."
                    )

    async def unsubscribe(self, topics: Sequence[str]) -> None:
        """Take them no more."""
        try:
            await self._client.unsubscribe([*topics])
        except aiomqtt.MqttError as error:
            raise _lost(error, self._timeout_s) from error

    async def messages(self) -> AsyncIterator[aiomqtt.Message]:
        """Yield received messages, also those kept for us while we were away.

        The broker keeps a message at QoS 1 until the next one is asked for: asking for it acknowledges the one before.
        Messages not acknowledged when the connection ends come again. BrokerError ends a connection, too, over which
        more came than could be read ahead, once the rest is processed.
        """
        paho = self._client._client  # noqa: SLF001 - aiomqtt has no way of its own to acknowledge by hand
        try:
            async for message in self._client.messages:
                yield message
                if message.qos:
                    paho.ack(message.mid, message.qos)
                if self._left.is_set() and not len(self._client.messages):
                    raise BrokerError("it sent too much at once, and has to send the rest again")
        except aiomqtt.MqttError as error:
            raise _lost(error, self._timeout_s) from error

    def hurry(self) -> None:
        """From now on wait for answers no longer than at the end."""
        self._client.timeout = limits.MQTT_GOODBYE_S


@asynccontextmanager
async def connected(
    spec: MqttSpec,
    caller: BrokerCredentials,
    password: str | None,
    tls: ssl.SSLContext | None,
    overflow: Callable[[int], None],
) -> AsyncIterator[Broker]:
    """Connect to the broker, with the session it kept for us, as long as the block runs. Subscribers of our status are
    notified when we vanish. *overflow* gets the size of a dropped message, from the beginning.

    Raises BrokerError.
    """
    left = asyncio.Event()
    client = _make_client(spec, caller, password, tls, overflow, left)
    _see_its_end(client)
    entering = asyncio.ensure_future(client.__aenter__())
    try:
        # A thread connects, which cannot be stopped half-way: it would leave an unused connection open.
        await asyncio.shield(entering)
    except asyncio.CancelledError:
        with suppress(aiomqtt.MqttError):
            await entering
        await _leave(client)
        raise
    except aiomqtt.MqttError as error:
        await _leave(client)
        if error.__context__ is not None:
            # paho-mqtt leaves a socket open in which no TLS came about. It goes with the variables that hold it.
            clear_frames(error.__context__.__traceback__)
        raise _refused(error, spec) from error
    _see_its_end(client)  # another one, if the first came before its beginning
    broker = Broker(client, version_5=spec.version == "5", timeout_s=caller.timeout_s, left=left)
    try:
        yield broker
    finally:
        await _leave(client)


async def visit_broker(
    spec: MqttSpec,
    credentials: BrokerCredentials,
    visit: Callable[[Broker], Awaitable[None]],
    tell: Callable[[str, str], None],
) -> None:
    """Connect, and *visit* the broker until that ends. *tell* is called with what the user may have to solve, and the
    remedy or nothing. Other errors are raised."""
    try:
        password, tls = read_password(spec, os.environ), make_tls(spec)
        async with connected(spec, credentials, password, tls, lambda _size: None) as broker:
            await visit(broker)
    except* BrokerError as errors:
        error = first_error(errors)
        assert isinstance(error, BrokerError)
        tell(f"no MQTT broker at {spec.place}: {error.what}", error.remedy)
    except* LocalError as errors:
        tell(str(first_error(errors)), "")


async def _leave(client: aiomqtt.Client) -> None:
    """Close the connection, also one that the broker never answered on: the library would leave it open."""
    client.timeout = limits.MQTT_GOODBYE_S
    with suppress(aiomqtt.MqttError):
        await client.__aexit__(None, None, None)


def _see_its_end(client: aiomqtt.Client) -> None:
    """Retrieve the reason why the connection ends, whenever it does: asyncio logs exceptions that are never
    retrieved."""

    def look(ended: asyncio.Future[None]) -> None:
        if not ended.cancelled():
            ended.exception()

    client._disconnected.add_done_callback(look)  # noqa: SLF001 - the library shows it in some cases only


def _make_client(
    spec: MqttSpec,
    caller: BrokerCredentials,
    password: str | None,
    tls: ssl.SSLContext | None,
    overflow: Callable[[int], None],
    left: asyncio.Event,
) -> aiomqtt.Client:
    class Bounded(asyncio.Queue[aiomqtt.Message]):
        """The client's queue of messages, which would silently drop those beyond its bound."""

        def put_nowait(self, item: aiomqtt.Message) -> None:
            if item.qos and self.full():
                left.set()
            elif not item.qos and self.qsize() >= caller.queue:
                overflow(len(item.payload))
            else:
                item.properties = None  # they are not used, and take ten times the memory of all else
                super().put_nowait(item)

    properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho-mqtt has no types there
    properties.SessionExpiryInterval = caller.session_s
    properties.MaximumPacketSize = caller.message_max
    properties.ReceiveMaximum = caller.receive_max
    version_5 = spec.version == "5"
    client = aiomqtt.Client(
        spec.host,
        spec.port,
        identifier=caller.client,
        username=spec.user,
        password=password,
        tls_context=tls,
        protocol=aiomqtt.ProtocolVersion.V5 if version_5 else aiomqtt.ProtocolVersion.V311,
        clean_start=False if version_5 else MQTT_CLEAN_START_FIRST_ONLY,
        clean_session=None if version_5 else False,
        properties=properties if version_5 else None,
        will=aiomqtt.Will(caller.status, OFFLINE, qos=1, retain=True),
        keepalive=limits.MQTT_KEEPALIVE_S,
        timeout=caller.timeout_s,
        queue_type=Bounded,
        max_queued_incoming_messages=caller.read_max,
        logger=_QUIET,
    )
    client.pending_calls_threshold = 2 * limits.MQTT_BATCH
    client._client.manual_ack_set(True)  # noqa: SLF001 - see ``Broker.messages``
    return client


def _lost(error: aiomqtt.MqttError, timeout_s: float) -> BrokerError:
    """Return the reason why a connection ended that waits so long for answers."""
    cause = error.__cause__
    code = error if isinstance(error, aiomqtt.MqttCodeError) else cause
    if (
        isinstance(code, aiomqtt.MqttCodeError)
        and isinstance(code.rc, ReasonCode)
        and _number(code.rc) > _VAGUE
    ):
        return BrokerError(f"the connection ended ({str(code.rc).lower()})")
    if "timed out" in str(error):
        return BrokerError(f"it did not answer within {timeout_s:.0f} s")
    return BrokerError("the connection broke")


def _refused(error: aiomqtt.MqttError, spec: MqttSpec) -> BrokerError:
    """Return the reason why there is no connection."""
    code = _code(error)
    if code in _WRONG_USER:
        secret = spec.password or spec.credential
        given = (
            f"user '{spec.user}' with the password in {secret}"
            if spec.user
            else "clients without a user name"
        )
        return BrokerError(
            f"it refuses {given}", "Look at user= and password=, and at the broker's passwords."
        )
    if code in _WRONG_VERSION:
        return BrokerError(f"it does not speak MQTT {spec.version}", "Put version=3.1.1 behind it.")
    if code is not None:
        return BrokerError(f"it refuses this node ({error})")
    text = str(error)
    if "CERTIFICATE_VERIFY_FAILED" in text:
        reason = text.rpartition("failed: ")[2].partition(" (_ssl")[0]
        return BrokerError(
            f"its certificate is not trusted ({reason})",
            "Look at ca=, and whether the host is named as in the certificate.",
        )
    if "timed out" in text:
        return BrokerError(
            "no answer in time", "If the broker runs, check whether it requires TLS or a certificate."
        )
    return BrokerError(f"no connection ({text.rpartition('] ')[2].partition(' (_ssl')[0].lower()})")


def _code(error: aiomqtt.MqttError) -> int | None:
    if not isinstance(error, aiomqtt.MqttCodeError) or error.rc is None:
        return None
    return _number(error.rc)


def _number(code: int | ReasonCode) -> int:
    return code if isinstance(code, int) else int(code.value)
