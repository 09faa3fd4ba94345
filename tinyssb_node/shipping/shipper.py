"""Shipper: the process that sends a node's event logs to their collector through an MQTT broker (docs/decisions/0051).
Of the daemon it needs only the files."""

import asyncio
import random
import secrets
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.setup import node_name, read_node_identity
from tinyssb_node.daemon.shutdown import watch_for_shutdown
from tinyssb_node.errors import first_error
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.faces.errors import BrokerError
from tinyssb_node.faces.mqtt_broker import (
    OFFLINE,
    ONLINE,
    Broker,
    BrokerCredentials,
    visit_broker,
)
from tinyssb_node.ids import NetworkName
from tinyssb_node.shipping.config import ship_config
from tinyssb_node.shipping.files import (
    LogFolder,
    ShipperStatus,
    claim_shipping,
    read_saved,
    serialize_saved,
    state_path,
    write_saved,
)
from tinyssb_node.shipping.shipment import BandwidthLimit, LogShipment
from tinyssb_node.shipping.wire import (
    OPEN,
    TOPIC_COLLECTOR,
    serialize_batch,
    topic_down,
    topic_status,
    topic_up,
)
from tinyssb_node.store.home import Home

_LOOK_S: Final = 1.0  # the daemon writes the logs once a second

_TWO_COLLECTORS: Final = "two collectors reply, and one of them is ignored: stop one of them"


def network_topic(network: Network) -> str:
    """Return the name of *network* in topics: as in its log's records, or ``open``."""
    return network.goset_dmx.hex() if network.key else OPEN


@dataclass(slots=True)
class _Log:
    """One network's log and its shipping."""

    name: NetworkName
    up: str
    down: str
    folder: LogFolder
    shipping: LogShipment
    state: Path
    connected: bool
    """True if the broker can be reached; at first, as saved."""
    acked_us: int
    """Time of the collector's last acknowledgement (wall clock); 0 for never."""
    written: bytes = b""
    """The state saved last."""
    sent_us: int = 0
    """Time of the last batch."""


class Shipper:
    """One run of the shipper."""

    def __init__(self, home: Home, config: Config, logger: Logger) -> None:
        settings = ship_config(config)
        assert settings is not None, "the caller has checked"
        self._config: Final = settings
        self._networks: Final = config.networks
        self._logger = logger
        self._home = home
        self._pace = BandwidthLimit(self._config.bytes_per_s)
        self._node = node_name(read_node_identity(home).feed)
        self.logs = [self._log(name, network) for name, network in config.networks.items()]
        self._stop = asyncio.Event()
        self._heard = asyncio.Event()
        self._problem: str | None = None
        self._saved_s = 0.0

    def _log(self, name: NetworkName, network: Network) -> _Log:
        state = state_path(self._home, name)
        saved, told = read_saved(state, self._node)
        topic = network_topic(network)
        shipping = LogShipment(
            saved,
            run=secrets.randbits(32),
            every_us=self._config.every_s * 1_000_000,
            pace=self._pace,
        )
        return _Log(
            name=name,
            up=topic_up(topic, self._node),
            down=topic_down(topic, self._node),
            folder=LogFolder(self._home.of(name).events / self._node),
            shipping=shipping,
            state=state,
            connected=told.connected,
            acked_us=told.acked_us,
        )

    async def run(self, *, supervised: bool) -> None:
        """Work until a signal, or if it is *supervised* until standard input ends. Raises ShippingBusyError."""
        watch_for_shutdown(self._stop.set, supervised=supervised)
        with ExitStack() as stack:
            stack.callback(claim_shipping(self._home).release)
            working = asyncio.create_task(self._work())
            stopping = asyncio.create_task(self._stop.wait())
            try:
                await asyncio.wait((working, stopping), return_when=asyncio.FIRST_COMPLETED)
            finally:
                working.cancel()
                stopping.cancel()
                await asyncio.wait((working, stopping))
                self._save()
            if not working.cancelled():
                working.result()

    @property
    def _status(self) -> str:
        network = next(iter(self._networks.values()))
        return topic_status(network_topic(network), self._node)

    # --- work

    async def _work(self) -> None:
        """Connect, ship, and reconnect. Problems that only the user can solve are logged, and retried too."""
        # A few kB an hour, where bytes cost money.
        spec, backoff = self._config.broker_spec, Backoff(random.random, max_s=60.0)
        while True:
            began_s = time.monotonic()
            try:
                await visit_broker(spec, self._caller(), self._visit, self._tell)
            except* OSError as errors:
                self._tell(f"the event log cannot be read: {first_error(errors)}")
            backoff.link_was_up(time.monotonic() - began_s)
            self._save()
            await asyncio.sleep(backoff.next_s())

    def _caller(self) -> BrokerCredentials:
        return BrokerCredentials(
            client=f"tinyssb-ship-{self._node}",
            status=self._status,
            message_max=65_536,  # replies have 21 kB at most
            receive_max=50,
            # A collector sends at most three for each unacknowledged batch; the broker sends the rest again.
            read_max=200,
            queue=50,
            session_s=30 * 86_400,  # as long as the node keeps its log
            timeout_s=150.0,  # 130 kB at 9,600 bit/s
        )

    async def _visit(self, broker: Broker) -> None:
        """Ship while the broker is connected."""
        await broker.subscribe([TOPIC_COLLECTOR, *(log.down for log in self.logs)], 1)
        await broker.publish(self._status, ONLINE, 1, retain=True)
        self._tell("")
        for log in self.logs:
            log.shipping.connected()
            log.connected = True
        try:
            async with asyncio.TaskGroup() as group:
                group.create_task(self._listen(broker))
                group.create_task(self._pump(broker))
        finally:
            for log in self.logs:
                log.shipping.lost()
                log.connected = False
            # The broker publishes our will only if the connection breaks.
            broker.hurry()
            with suppress(BrokerError):
                await broker.publish(self._status, OFFLINE, 1, retain=True)

    async def _listen(self, broker: Broker) -> None:
        logs = {log.down: log for log in self.logs}
        async for message in broker.messages():
            log = logs.get(message.topic.value)
            if log is None or not isinstance(message.payload, bytes):
                if (message.topic.value, message.payload) == (TOPIC_COLLECTOR, ONLINE):
                    self._called()
                continue
            before = log.shipping.saved().acked
            log.shipping.heard(message.payload, _now_us())
            if log.shipping.saved().acked != before:
                log.acked_us = time.time_ns() // 1_000
            self._heard.set()

    def _called(self) -> None:
        for log in self.logs:
            log.shipping.called()
        self._heard.set()

    async def _pump(self, broker: Broker) -> None:
        while True:
            self._heard.clear()
            # With a bandwidth limit that allows one batch at a time, logs take turns.
            for log in sorted(self.logs, key=lambda log: log.sent_us):
                await self._ship(broker, log)
            self._tell(self._troubles())
            if time.monotonic() - self._saved_s >= 5.0:  # after a kill, the collector is asked for the rest
                self._save()
            paced_us = self._pace.until_us - _now_us()
            with suppress(TimeoutError):
                wait_s = min(_LOOK_S, paced_us / 1e6) if paced_us > 0 else _LOOK_S
                await asyncio.wait_for(self._heard.wait(), wait_s)

    async def _ship(self, broker: Broker, log: _Log) -> None:
        """Send what can be sent of *log* now. Raises BrokerError, OSError."""
        shipping = log.shipping
        shipping.look(log.folder.sizes(_now_us()))
        while True:
            if (question := shipping.ask(_now_us())) is not None:
                await broker.publish(log.up, question, 1)
            if (piece := shipping.next(_now_us())) is None:
                return
            found = log.folder.read(piece)
            if found is None:
                return  # retention removed it: the next look will show that
            content, before = found
            run = shipping.run
            batch = serialize_batch(run, piece, before, content)
            await broker.publish(log.up, batch, 1)
            log.sent_us = _now_us()
            shipping.handed(piece, run, len(batch), log.sent_us)

    def _troubles(self) -> str:
        if any(log.shipping.old_collector for log in self.logs):
            return "the collector is older than this program: update it"
        if any(log.shipping.full for log in self.logs):
            return "the collector's disk is full"
        if any(log.shipping.unanswered(_now_us()) for log in self.logs):
            return "the collector does not reply"
        if any(log.shipping.two_collectors for log in self.logs):
            return _TWO_COLLECTORS
        return ""

    def _tell(self, problem: str, remedy: str = "") -> None:
        """Log *problem* and its remedy, unless it was the last one logged; empty: no problem."""
        if problem == self._problem:
            return
        self._problem = problem
        if problem == _TWO_COLLECTORS:
            self._logger.warning("the event log is shipped to one of two collectors", problem=problem)
        elif problem:
            self._logger.warning(
                "the event log is not shipped", problem=f"{problem}. {remedy}" if remedy else problem
            )
        else:
            self._logger.info(
                "shipping the event log", broker=self._config.broker_spec.place, node=self._node
            )
        self._save()

    def _save(self) -> None:
        """Save the state. A full disk is no reason to stop: the collector is asked for what was not saved."""
        self._saved_s = time.monotonic()
        for log in self.logs:
            status = ShipperStatus(
                connected=log.connected,
                problem=self._problem or "",
                acked_us=log.acked_us,
                refused=tuple((*segment,) for segment in sorted(log.shipping.refused)),
            )
            state = serialize_saved(self._node, log.shipping.saved(), status)
            if state == log.written:
                continue
            try:
                write_saved(log.state, state)
                log.written = state
            except OSError as error:
                self._logger.warning("the state of shipping was not saved", error=error.strerror)


def _now_us() -> int:
    return time.monotonic_ns() // 1_000
