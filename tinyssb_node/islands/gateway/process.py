"""The gateway as a process: finds other islands by the locator, and lets the links bring what is wanted
(docs/decisions/0054-gateways.md)."""

import asyncio
import os
import shutil
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing, suppress
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Final

from tinyssb_node.control.access import ControlAccess
from tinyssb_node.control.server import ControlServer
from tinyssb_node.daemon.clock import boottime_ns
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.shutdown import watch_for_shutdown
from tinyssb_node.errors import ExitCode, LocalError, ProblemError
from tinyssb_node.ids import FeedId, NetworkName
from tinyssb_node.islands.gateway.bring_client import BringClient
from tinyssb_node.islands.gateway.config import GATEWAY_SOCKET, gateway_config
from tinyssb_node.islands.gateway.datagrams import DatagramSocket
from tinyssb_node.islands.gateway.feed_sync_ws import FeedSyncParty
from tinyssb_node.islands.gateway.feedfile import StoreAndShelfSource
from tinyssb_node.islands.gateway.firstpeers import FIRST_PEERS_FILE, read_first_peers
from tinyssb_node.islands.gateway.handler import GatewayHandler
from tinyssb_node.islands.gateway.holdings import CombinedHoldings, offered_feeds
from tinyssb_node.islands.gateway.links import GatewayLinks, load_trusted_gateways
from tinyssb_node.islands.gateway.network import GatewayNetwork
from tinyssb_node.islands.gateway.peersfile import PEERS_FILE, KnownPeers, read_peers, write_peers
from tinyssb_node.islands.gateway.reachability import Reachability
from tinyssb_node.islands.gateway.relay_ws import RelayListener
from tinyssb_node.islands.gateway.rows import GatewayRow, LocatorRow, ProblemRow
from tinyssb_node.islands.locator.addresses import Peer, text_of
from tinyssb_node.store.home import Home


def free_bytes(folder: Path, shelf_mib: int) -> int:
    """Return the space for feeds of others: what is free on the disk of *folder*, at most the quota of the shelf; 0 if
    that is not known."""
    try:
        free = shutil.disk_usage(folder).free
    except OSError:
        return 0
    return min(free, shelf_mib * 2**20)


class IslandGateway:
    """One run of it."""

    def __init__(self, home: Home, config: Config, own: FeedId, logger: Logger) -> None:
        """Raises ProblemError."""
        settings = gateway_config(config)
        if settings is None:
            raise ProblemError(
                "config.toml says nothing of a gateway.",
                "`[gateway]` with `enabled = true` makes one; docs/howto/gateways.md tells how.",
                exit_code=ExitCode.CONFIG,
            )
        self._home = home
        self._config = config
        self._settings: Final = settings
        self.own: Final = own
        self._logger = logger
        self._stopping = False
        self._hurry = asyncio.Event()
        """Look at once."""
        self.islands: Mapping[NetworkName, GatewayNetwork] = {}
        self._problems: dict[str, tuple[str, int]] = {}
        """The last problem in each place, and its time."""
        self._begun_us = self.now_us()
        self._wake: asyncio.TimerHandle | None = None

    @staticmethod
    def now_us() -> int:
        """Microseconds of a clock that only goes on, while the machine sleeps too: what was known grows old."""
        return boottime_ns() // 1_000

    async def run(self, *, supervised: bool) -> None:
        """Work until a signal, or if it is *supervised* until standard input ends.

        Raises StoreFailedError and its kin, GatewayAddressError, HomeInaccessibleError.
        """
        watch_for_shutdown(self._end, supervised=supervised)
        with ExitStack() as stack:
            kept, bringer = self._read_peers(), BringClient(self._config.control.socket)
            sides: dict[NetworkName, FeedSyncParty] = {}
            islands: dict[NetworkName, GatewayNetwork] = {}
            for name in self._settings.networks:
                home = self._home.of(name)
                holdings = stack.enter_context(
                    closing(CombinedHoldings(home.store, home.shelf, self._settings.carried))
                )
                files = stack.enter_context(closing(StoreAndShelfSource(home.store, home.shelf)))
                islands[name] = GatewayNetwork(
                    name,
                    self._config.networks[name],
                    self._settings,
                    holdings,
                    self._send,
                    free_bytes=partial(free_bytes, self._home.root, self._config.set.shelf_mib),
                )
                sides[name] = self._side(islands[name], files, bringer)
            self.islands = islands
            try:
                await self._listen(kept, sides)
            finally:
                bringer.close()

    def _side(
        self, island: GatewayNetwork, files: StoreAndShelfSource, bringer: BringClient
    ) -> FeedSyncParty:
        """Return the party that syncs feeds of *island* over a link."""

        def offered() -> list[FeedId]:
            return [one.feed for one in offered_feeds(island.holdings.feeds, self._settings.offer)]

        return FeedSyncParty(
            name=island.name,
            network=island.network,
            holding=files,
            wanted=lambda: tuple(island.seeking.feeds),
            offered=offered,
            bring=partial(bringer.bring, island.name),
        )

    def _end(self) -> None:
        self._stopping = True
        self._hurry.set()

    # --- open, work, close

    async def _listen(
        self, kept: Mapping[NetworkName, KnownPeers], sides: Mapping[NetworkName, FeedSyncParty]
    ) -> None:
        """Open what others reach, work, and close it."""
        host, port = self._settings.listen
        groups, quota = [island.group for island in self.islands.values()], self._settings.relay_mib * 2**20
        self._links = GatewayLinks(
            self.islands,
            sides,
            self._told,
            self.now_us,
            load_trusted_gateways(self._settings),
            relay=RelayListener(groups, quota, self.now_us) if quota else None,
        )
        try:
            await self._links.open(host, port)
            self._datagrams = await DatagramSocket.open(host, self._links.port, self._received)
        except OSError as error:
            await self._links.close()
            raise ProblemError(
                f"The gateway cannot listen at {host}, port {port}: {error.strerror or error}.",
                "Another program may have the port; `gateway.listen` in config.toml names another one.",
                exit_code=ExitCode.UNAVAILABLE,
            ) from error
        listed = self._listed_peers()
        self._way = Reachability(self._settings, self._links.port, ipv6=self._datagrams.ipv6, listed=listed)
        self._kept = dict(kept)
        control = asyncio.create_task(self._control().run(asyncio.Event()))
        try:
            self._logger.info("the gateway is ready", listen=f"{host}:{self._links.port}")
            await self._go_on(control)
        finally:
            control.cancel()
            await asyncio.gather(control, return_exceptions=True)
            if self._wake is not None:
                self._wake.cancel()
            await self._way.close()
            await self._links.close()
            await self._datagrams.close()
            self._write_peers()

    def _listed_peers(self) -> Sequence[tuple[str, int]]:
        """Return the peers of the signed list in the home, if there is one that still holds."""
        try:
            found = read_first_peers(self._home.root / FIRST_PEERS_FILE)
        except (LocalError, OSError) as error:
            self._tell(FIRST_PEERS_FILE, str(error))
            return ()
        if found is None:
            return ()
        if found.until < datetime.now(UTC).date():
            self._tell(FIRST_PEERS_FILE, f"the list of first peers was to be used until {found.until}")
            return ()
        return found.peers

    def _control(self) -> ControlServer:
        socket = self._config.control.socket.with_name(GATEWAY_SOCKET)
        door = ControlAccess(self._logger, group=self._config.control.group)
        return ControlServer(GatewayHandler(self), socket, door)

    async def _go_on(self, control: asyncio.Task[None]) -> None:
        """Look for what is new, tell others, find what is wanted, until told to stop."""
        written_us = self.now_us()
        control.add_done_callback(lambda _: self._hurry.set())
        while not self._stopping:
            self._find_way()
            self._look()
            if self.now_us() - written_us >= 600_000_000:  # ten minutes: an SD card wears out by writes
                self._write_peers()
                written_us = self.now_us()
            if control.done():
                control.result()
            with suppress(TimeoutError):
                # Looking at the store takes a millisecond when nothing is new.
                await asyncio.wait_for(self._hurry.wait(), 1.0)
            self._hurry.clear()

    def _find_way(self) -> None:
        """Begin, or begin anew, when it has turned out who we are to others, or whom to ask first."""
        begin = self._way.look(self.now_us())
        for peer, why in self._way.passed_over.items():
            self._tell(peer, f"it is not asked: {why}")
        if not begin or self._way.me is None:
            return
        me, first = self._way.me, tuple(self._way.first)
        for name, island in self.islands.items():
            kept = self._kept.pop(name, KnownPeers())
            island.begin(
                me,
                KnownPeers((*kept.historic, *first), (*first, *kept.recent)),
                self.now_us(),
                also=self._way.also,
                families=self._way.families,
            )
        self._logger.info(
            "looking for other islands",
            address=text_of(me.node, me.message) if me.node else None,
            first_peers=[str(peer) for peer in first],
        )
        self._arm()

    def _look(self) -> None:
        now_us = self.now_us()
        if (problem := self._datagrams.take_problem()) is not None:
            self._tell("datagrams", problem)
        for name, island in self.islands.items():
            linked = self._links.linked(name)
            try:
                if (changes := island.look(linked, now_us)) is not None:
                    self._links.changed(name, changes)
            except LocalError as error:
                self._tell(f"store of {name}", str(error))
        if not self._way.away:
            self._links.look(now_us)
        self._arm()

    # --- datagrams and time

    def _received(self, datagram: bytes, source: Peer) -> None:
        """A datagram: of the network whose group is at its end, or counted by the first one as nobody's."""
        first = None
        for island in self.islands.values():
            first = first or island
            if datagram.endswith(island.ending):
                first = island
                break
        if first is not None:
            first.receive(datagram, source, self.now_us())
            if first.take_learnt():
                self._hurry.set()
            self._arm()

    def _send(self, to: Peer, datagram: bytes) -> None:
        if len(to.node) in self._way.families:
            self._datagrams.send(to, datagram)

    def _arm(self) -> None:
        """Wake up when a locator is due next."""
        due = [wake_us for one in self.islands.values() if (wake_us := one.next_wake_us()) is not None]
        if not due:
            return
        loop = asyncio.get_running_loop()
        at_s = loop.time() + max(0, min(due) - self.now_us()) / 1e6
        if self._wake is not None:
            # A datagram moves timers by microseconds.
            if not self._wake.cancelled() and abs(self._wake.when() - at_s) < 0.002:
                return
            self._wake.cancel()
        self._wake = loop.call_at(at_s, self._woken)

    def _woken(self) -> None:
        self._wake = None
        for island in self.islands.values():
            island.wake(self.now_us())
        self._arm()

    # --- peers on the disk

    def _read_peers(self) -> Mapping[NetworkName, KnownPeers]:
        try:
            return read_peers(self._home.root / PEERS_FILE)
        except OSError as error:
            self._tell(PEERS_FILE, f"it cannot be read: {error.strerror}")
            return {}

    def _write_peers(self) -> None:
        """Keep who is known, of networks that are not served now what was kept before."""
        known = {**self._kept, **{name: one.known() for name, one in self.islands.items() if one.counts()}}
        try:
            if known != read_peers(self._home.root / PEERS_FILE):
                write_peers(self._home.root / PEERS_FILE, known, time.time_ns() // 1_000)
        except OSError as error:
            self._tell(PEERS_FILE, f"it cannot be written: {error.strerror}")

    # --- how it is

    def row(self) -> GatewayRow:
        """For whoever asks."""
        now_us, me, also = self.now_us(), self._way.me, self._way.also
        rows: list[ProblemRow] = [
            ProblemRow(what=what, problem=problem, ago_us=now_us - at_us)
            for what, (problem, at_us) in self._problems.items()
        ]
        host = self._settings.listen[0]
        return GatewayRow(
            pid=os.getpid(),
            uptime_us=now_us - self._begun_us,
            listen=f"[{host}]:{self._links.port}" if ":" in host else f"{host}:{self._links.port}",
            address=text_of(me.node, me.message) if me is not None and me.node else None,
            also=None if also is None else text_of(also.node, also.message),
            away=self._way.away,
            networks=[
                _locator_row(island, self._links.relays(name)) for name, island in self.islands.items()
            ],
            links=self._links.rows(now_us),
            unsent=self._datagrams.unsent,
            problems=sorted(rows, key=lambda row: row.ago_us),
            relay=self._links.relay_row(),
        )

    def _tell(self, what: str, problem: str) -> None:
        """Log *problem*, unless that was the last one there."""
        if self._problems.get(what, ("", 0))[0] != problem:
            self._logger.warning("there is a problem", where=what, problem=problem)
        self._keep(what, problem)

    def _told(self, where: str, why: str) -> None:
        """A connection has ended, or there was none: that is how it goes, and is shown to who asks."""
        self._logger.info("no connection any more", where=where, why=why)
        self._keep(where, why)

    def _keep(self, what: str, problem: str) -> None:
        self._problems.pop(what, None)
        self._problems[what] = (problem, self.now_us())
        if len(self._problems) > 32:  # callers alone may have more in a minute
            del self._problems[next(iter(self._problems))]


def _locator_row(island: GatewayNetwork, relays: Sequence[str]) -> LocatorRow:
    counts = island.counts()
    return LocatorRow(
        network=island.name,
        reached=counts is not None and counts.reached,
        historic=0 if counts is None else counts.historic,
        unconfirmed=0 if counts is None else counts.unconfirmed,
        confirmed=0 if counts is None else counts.confirmed,
        labels=0 if counts is None else counts.labels,
        locations=0 if counts is None else counts.locations,
        offers=len(island.offers),
        sought=len(island.seeking.feeds),
        looking=0 if counts is None else counts.seeks,
        lookups=island.lookups,
        newer=island.newer,
        received={} if counts is None else dict(counts.received),
        sent={} if counts is None else dict(counts.sent),
        received_bytes=0 if counts is None else counts.received_bytes,
        sent_bytes=0 if counts is None else counts.sent_bytes,
        drops={} if counts is None else dict(counts.drops),
        relays=tuple(relays),
    )
