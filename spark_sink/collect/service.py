"""``tinyssb-sink collect``: receives the nodes' event logs from an MQTT broker and stores them as files.

A message is acknowledged to the broker after its content is on the disk. So the broker keeps the message until then,
and sends only a few ahead. Nodes send again what the broker loses: they rely on the collector's replies only.
"""

import queue
import re
import secrets
import ssl
import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

try:
    from paho.mqtt import client as mqtt
    from paho.mqtt.enums import CallbackAPIVersion, MQTTErrorCode
    from paho.mqtt.packettypes import PacketTypes
    from paho.mqtt.properties import Properties
    from paho.mqtt.reasoncodes import ReasonCode
except ImportError as missing:
    from spark_sink.errors import UnavailableError, how_to_install

    raise UnavailableError(
        f"Collecting over MQTT needs paho-mqtt. Install it with: {how_to_install('mqtt')}"
    ) from missing

from spark_sink import limits
from spark_sink.collect.collector import Collector, Reply
from spark_sink.collect.landing import LandingFolder
from spark_sink.collect.messages import STATUS, TOPICS
from spark_sink.errors import InternalError, OptionError, RefusedError

_BROKER: Final = re.compile(
    r"(mqtts?)://(\[[0-9A-Fa-f:.%]{2,64}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?/?"
)

_FOR_GOOD: Final = {0x84, 0x85, 0x86, 0x87, 0x8A, 0x8C}
"""Why a broker refuses who comes again as well (MQTT 5, 3.2.2.2): version, name, password, rights, ban, method."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CollectorSettings:
    """Settings of a collector."""

    root: Path
    """Folder for the logs."""
    broker: str
    """``mqtt://host[:port]``, or ``mqtts://`` with TLS."""
    name: str
    """Client id, by which the broker queues messages: a different one for each collector at a broker."""
    user: str | None
    password_file: Path | None
    ca_file: Path | None
    cert_file: Path | None
    key_file: Path | None
    quota_mb: int
    """MB of segments that one node may have."""
    keep_free_mb: int
    """MB of the disk that stay free."""


class _Message(NamedTuple):
    topic: str
    payload: bytes
    mid: int
    connection: int
    """Counts connections: the acknowledgement of a message belongs to the one that it came by."""


class _Client(mqtt.Client):
    """MQTT client that exposes errors which paho only logs."""

    ended = ""
    """Why its thread is not there any more."""
    why = ""
    """Cause of a lost connection, if known."""

    def reconnect(self) -> MQTTErrorCode:
        """Connect, and note the cause of a failure."""
        self.why = ""
        try:
            return super().reconnect()
        except OSError as error:
            self.why = _why_not(error)
            raise

    def loop_forever(self, timeout: float = 1.0, retry_first_connection: bool = False) -> MQTTErrorCode:
        """Run the network loop, and note the cause of its end."""
        try:
            code = super().loop_forever(timeout, retry_first_connection)
        except Exception as error:
            self.ended = repr(error)
            raise
        self.ended = mqtt.error_string(code)
        return code


class CollectorService:
    """One run of the collector: MQTT client, landing folder, and reports to the user."""

    def __init__(self, settings: CollectorSettings, tell: Callable[[str], None]) -> None:
        """*tell* is called in the thread that calls ``run``; an OSError from it stops nothing. Raises OptionError."""
        self._settings = settings
        self._tell = tell
        self._incoming: queue.Queue[_Message] = queue.Queue(limits.COLLECT_BATCHES)
        """Messages of the current connection: a broker may not send more ahead than fit."""
        self._connection = 0
        self._up = False
        self._refusal = ""
        self._trouble = ""
        """Cause of the lost connection that was reported last."""
        self._news: deque[str] = deque(maxlen=16)
        """Reports about the connection that wait to be printed while the disk is busy; the latest ones are kept."""
        self._untold = 0
        self._overflow = 0
        self._stop = threading.Event()
        self._client = self._make_client()

    def stop(self) -> None:
        """End soon; may be called from a signal handler."""
        self._stop.set()

    def run(self) -> None:
        """Collect until ``stop`` is called.

        Raises RefusedError, InternalError, BusyError, StorageError.
        """
        settings = self._settings
        files = LandingFolder.open(
            settings.root,
            quota_bytes=settings.quota_mb * 10**6,
            keep_free_bytes=settings.keep_free_mb * 10**6,
        )
        collector = Collector(files, life=secrets.randbits(32))
        try:
            self._client.loop_start()
            self._collect(files, collector)
        finally:
            if self._up:
                with suppress(RuntimeError, ValueError):  # the connection broke this moment: our will says it
                    self._client.publish(STATUS, b"offline", qos=1, retain=True).wait_for_publish(1.0)
            self._client.disconnect()
            self._client.loop_stop()
            files.close()

    def _collect(self, files: LandingFolder, collector: Collector) -> None:
        settings = self._settings
        told, told_s = Counter[str](), time.monotonic()
        while not self._stop.is_set():
            if self._refusal:
                raise RefusedError(
                    f"The broker {settings.broker} refused the collector: {self._refusal}. Nothing was collected "
                    "since. Check the user, the password and the broker's access list (docs/howto/ship-logs.md)."
                )
            if self._client.ended:
                raise InternalError(
                    f"The connection to the broker {settings.broker} ended by a fault of this program: "
                    f"{self._client.ended}. All log data that was acknowledged to nodes is kept, and they send "
                    "the rest again. Start again, and report the fault if it comes back."
                )
            self._say_news()
            messages = self._take()
            answers = [collector.receive(message.topic, message.payload) for message in messages]
            if messages:
                files.sync()
                self._answer(messages, answers)
            if time.monotonic() - told_s >= 60:
                told = self._report(collector.counts, told)
                told_s = time.monotonic()
        self._say_news()
        self._report(collector.counts, told)

    def _take(self) -> list[_Message]:
        """Return the messages that have arrived; wait a little if there are none."""
        messages: list[_Message] = []
        try:
            messages.append(self._incoming.get(timeout=0.5))
            while len(messages) < limits.COLLECT_BATCHES:
                messages.append(self._incoming.get_nowait())
        except queue.Empty:
            pass
        return messages

    def _answer(self, messages: list[_Message], answers: list[Reply | None]) -> None:
        for answer in answers:
            if answer is not None:
                self._client.publish(answer.topic, answer.message, qos=1)
        for message in messages:
            if message.connection == self._connection:
                self._client.ack(message.mid, 1)

    def _report(self, counts: Counter[str], told: Counter[str]) -> Counter[str]:
        """Report the counts since *told*, if any changed."""
        now = Counter(counts)
        now["dropped: too many at once, or not by QoS 1"] = self._overflow
        now["not reported in time"] = self._untold
        since = now - told
        if since:
            self._say("Collected: " + ", ".join(f"{count} {what}" for what, count in sorted(since.items())))
        return now

    def _say_news(self) -> None:
        while self._news:
            self._say(self._news.popleft())

    def _say(self, line: str) -> None:
        """Print a line if possible: collecting logs matters more than a full disk under our output."""
        try:
            self._tell(line)
        except OSError:
            self._untold += 1

    # --- The broker; these are called by paho's thread, which ends by whatever they raise

    def _make_client(self) -> _Client:
        settings = self._settings
        host, port, tls = _parse_broker(settings.broker)
        client = _Client(
            CallbackAPIVersion.VERSION2,
            client_id=settings.name,
            protocol=mqtt.MQTTv5,
            manual_ack=True,
        )
        client.max_queued_messages_set(limits.COLLECT_BATCHES * 32)
        client.reconnect_delay_set(1, 30)
        if settings.user is not None:
            client.username_pw_set(settings.user, _password(settings.password_file))
        if tls:
            client.tls_set_context(_context(settings))
        client.will_set(STATUS, b"offline", qos=1, retain=True)
        client.on_log = self._logged
        client.on_connect = self._connected
        client.on_connect_fail = self._failed
        client.on_disconnect = self._disconnected
        client.on_subscribe = self._subscribed
        client.on_message = self._came
        properties = Properties(PacketTypes.CONNECT)  # type: ignore[no-untyped-call]  # paho has no type
        properties.SessionExpiryInterval = 30 * 86_400  # as long as nodes keep their logs
        properties.ReceiveMaximum = limits.COLLECT_BATCHES
        properties.MaximumPacketSize = limits.BATCH_WIRE_MAX + 1_024
        client.connect_async(host, port, clean_start=False, properties=properties)
        return client

    def _connected(
        self, client: mqtt.Client, _data: object, _flags: mqtt.ConnectFlags, reason: ReasonCode, _more: object
    ) -> None:
        if reason.is_failure:
            if reason.value in _FOR_GOOD:
                self._refusal = str(reason)
            self._client.why = str(reason)
            return
        with suppress(queue.Empty):
            while True:
                self._incoming.get_nowait()  # not acknowledged, so the broker sends it again
        self._trouble = ""
        self._connection += 1
        self._up = True
        client.subscribe(TOPICS, qos=1)
        client.publish(STATUS, b"online", qos=1, retain=True)

    def _subscribed(
        self, _client: mqtt.Client, _data: object, _mid: int, reasons: list[ReasonCode], _more: object
    ) -> None:
        if any(reason.is_failure for reason in reasons):
            self._refusal = f"it may not subscribe to {TOPICS} ({reasons[0]})"
        else:
            self._news.append(f"Collecting from {self._settings.broker} into {self._settings.root}")

    def _logged(self, _client: mqtt.Client, _data: object, level: int, text: str) -> None:
        if level == mqtt.MQTT_LOG_ERR:
            self._client.why = text

    def _failed(self, _client: mqtt.Client, _data: object) -> None:
        self._lost(self._client.why)

    def _disconnected(
        self,
        _client: mqtt.Client,
        _data: object,
        flags: mqtt.DisconnectFlags,
        reason: ReasonCode | None,
        _more: object,
    ) -> None:
        said = str(reason) if flags.is_disconnect_packet_from_server else self._client.why
        self._lost(said or "it closed the connection")

    def _lost(self, why: str) -> None:
        self._up = False
        if why != self._trouble and not self._stop.is_set():
            self._trouble = why
            self._news.append(f"The broker {self._settings.broker} cannot be reached ({why}): trying again")

    def _came(self, _client: mqtt.Client, _data: object, message: mqtt.MQTTMessage) -> None:
        if message.qos != 1:
            self._overflow += 1
            return
        try:
            self._incoming.put_nowait(
                _Message(message.topic, bytes(message.payload), message.mid, self._connection)
            )
        except queue.Full:
            self._overflow += 1


def _parse_broker(broker: str) -> tuple[str, int, bool]:
    """Parse the address of a broker: host, port, and whether it uses TLS. Raises OptionError."""
    found = _BROKER.fullmatch(broker)
    if found is not None:
        tls, host = found[1] == "mqtts", found[2].strip("[]")
        port = int(found[3] or (8_883 if tls else 1_883))  # registered with IANA
        with suppress(UnicodeError):
            host.encode("idna")  # as the system will, which refuses `a..b`
            if 0 < port < 65_536:
                return host, port, tls
    raise OptionError("BROKER", broker, "mqtt://host or mqtts://host, perhaps with :port")


def _why_not(error: OSError) -> str:
    """Return the cause of a failed connection in words that say what to check."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {error.verify_message.rstrip('.')}"
    return error.strerror or str(error)


def _password(file: Path | None) -> str | None:
    if file is None:
        return None
    try:
        return file.read_text("utf-8").partition("\n")[0]
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError("--password-file", str(file), f"a file that can be read ({error})") from error


def _context(settings: CollectorSettings) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=settings.ca_file)
        if settings.cert_file is not None:
            context.load_cert_chain(settings.cert_file, settings.key_file)
    except OSError as error:
        raise OptionError("--ca, --cert or --key", str(error), "a file in PEM that can be read") from error
    return context
