"""The daemon process: it opens its parts in order, runs them together, and closes them in the opposite order."""

import asyncio
import ctypes
import gc
import os
import random
import shutil
import signal
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from secrets import token_bytes
from typing import TYPE_CHECKING, Final

from tinyssb_node import limits, version
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import DaemonStarted, DaemonStopped
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.contacts import read_contacts
from tinyssb_node.control.access import ControlAccess
from tinyssb_node.control.server import ControlServer
from tinyssb_node.daemon import subjects
from tinyssb_node.daemon.block_policy import BlockPolicy
from tinyssb_node.daemon.clock import SystemClock, find_boot
from tinyssb_node.daemon.companion import CompanionProcess, companion_command
from tinyssb_node.daemon.config import Config, read_config
from tinyssb_node.daemon.disk_space import DiskSpace, DiskWatch
from tinyssb_node.daemon.eventlog import EventLog, EventLogOptions
from tinyssb_node.daemon.face_manager import FaceManager
from tinyssb_node.daemon.face_settings import read_settings, write_settings
from tinyssb_node.daemon.handler import KEEPERS_ONLY, ControlHandler, DaemonInfo
from tinyssb_node.daemon.identity_host import IdentityHost
from tinyssb_node.daemon.logs import Logger, start_logging
from tinyssb_node.daemon.network_storage import NetworkStorage, bind_store
from tinyssb_node.daemon.notify import Notifier
from tinyssb_node.daemon.rekey import effective_network
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.daemon.setup import home_access_error, node_name, unlock_identity
from tinyssb_node.daemon.tip_monitor import TipMonitor
from tinyssb_node.errors import ConfigError, ExitCode, LocalError, ProblemError, first_error
from tinyssb_node.faces.errors import FaceSpecError
from tinyssb_node.faces.spec import endpoint_name, parse_spec
from tinyssb_node.gossip.admission import Admission, AdmissionPolicy
from tinyssb_node.groups.host import MakeGroups, groups_of
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect, NetworkName
from tinyssb_node.node.networks import Networks
from tinyssb_node.node.node import Node
from tinyssb_node.node.shelf_port import OpenShelf
from tinyssb_node.scheduling.budget import AirBudgets
from tinyssb_node.store.durable import lacks_room
from tinyssb_node.store.home import Home
from tinyssb_node.store.secrets import folder_reach
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.unlock import Ask

if TYPE_CHECKING:
    from tinyssb_node.daemon.identity_manager import OpenedIdentities

_M_TRIM_THRESHOLD: Final = -1
_M_MMAP_THRESHOLD: Final = -3
_M_ARENA_MAX: Final = -8
"""Parameters of glibc's ``mallopt`` (malloc.h)."""


def run_daemon(home: Home, ask: Ask | None = None, *, sure: bool = False) -> int:
    """Run the node in *home* until a signal. *ask* asks for a passphrase that is not given otherwise. *sure*: the user
    confirms that no entries of the node's feed are missing. Returns an exit code.

    Raises LocalError if the node cannot start or continue, SystemExit after a bug, which is logged.
    """
    home.require()
    config = read_config(home)
    check_faces(home, config)
    identity = unlock_identity(home, os.environ, ask)
    key, dialect = SigningKey(identity.seed), identity.dialect
    logger = start_logging(config.log.level, config.log.format)
    if (mode := folder_reach(home.identity)) is not None:
        advice = f"chmod 700 {home.root}"
        logger.warning("other users may use the folder of the secret key", mode=f"{mode:04o}", advice=advice)
    reduce_garbage_collection()
    return_memory()
    opened = _open_further(home, key, ask, logger)
    try:
        groups = groups_of(identity.seed, token_bytes)
        asyncio.run(Daemon(home, config, key, dialect, logger, groups, sure=sure, opened=opened).run())
    except Exception as error:
        first = first_error(error)
        if isinstance(first, LocalError):
            raise first from error
        logger.critical("stopping because of a bug in this program; please report it", exc_info=first)
        raise SystemExit(ExitCode.SOFTWARE) from error
    return ExitCode.OK


def _open_further(home: Home, key: SigningKey, ask: Ask | None, logger: Logger) -> "OpenedIdentities | None":
    """Open the further identities of *home*; None if there never was any."""
    if not home.identities.exists():
        return None
    from tinyssb_node.daemon.identity_manager import open_identities  # noqa: PLC0415 - most nodes do without

    return open_identities(home, key.feed_id, os.environ, ask, logger)


def reduce_garbage_collection() -> None:
    """Run the cyclic garbage collector less often, and let it look only at what comes from now on.

    A packet makes dozens of short-lived values and no cycles; with Python's defaults the collector takes 5 % of the
    time of a node that receives a backlog. Connections that ended are cycles, with all that they had read: they must
    not wait for too long.
    """
    gc.freeze()
    gc.set_threshold(2_000, 5, 2)


def return_memory() -> None:
    """Let the C library return to the system what a flood of packets needed for a moment: blocks from 64 KiB on at
    once, others once as much lies free at the end of the heap. glibc's own limits grow with the largest block that was
    ever freed (mallopt(3)), and a node's memory with them. Elsewhere than with glibc it does nothing."""
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        for parameter, value in ((_M_TRIM_THRESHOLD, 2**16), (_M_MMAP_THRESHOLD, 2**16), (_M_ARENA_MAX, 1)):
            mallopt(parameter, value)


def check_faces(home: Home, config: Config) -> None:
    """Raise ConfigError for a face that cannot be opened, or that has the name of another one."""
    names: dict[str, str] = {}
    for face in config.faces:
        try:
            spec = parse_spec(face)
        except FaceSpecError as error:
            raise ConfigError(
                home.config, "faces", face, f"{error.what}. Possible: {error.allowed}"
            ) from error
        other = names.setdefault(endpoint_name(spec), face)
        if other != face:
            raise ConfigError(
                home.config,
                "faces",
                face,
                f"{other} has the same name; give one of them another name with ?name=",
            )


class Daemon:
    """One run of a node."""

    def __init__(
        self,
        home: Home,
        config: Config,
        key: SigningKey,
        dialect: Dialect,
        logger: Logger,
        groups: MakeGroups,
        *,
        sure: bool,
        opened: "OpenedIdentities | None",
    ) -> None:
        self._home = home
        self._sure = sure
        self._opened = opened
        self._config = config
        self._key = key
        self._dialect = dialect
        self._logger = logger
        self._groups = groups
        self._clock = SystemClock()
        self._notifier = Notifier(os.environ, os.getpid())
        self._disk = DiskSpace(home.root, config.disk)
        self._stop_reason = ""

    async def run(self) -> None:
        """Run until a signal. Raises LocalError."""
        stop = asyncio.Event()
        for number in (signal.SIGTERM, signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, self._on_signal, number, stop)
        with ExitStack() as stack:
            # The default network first: its folder's lock is the home's, and its store has the airtime budget.
            places = [
                self._open_place(stack, name, network) for name, network in self._config.networks.items()
            ]
            tip_monitor = TipMonitor(
                self._home.mark,
                self._key.feed_id,
                places,
                clock=self._clock,
                logger=self._logger,
                sure=self._sure,
            )
            identities = IdentityHost(
                self._home, self._opened, places, clock=self._clock, logger=self._logger
            )

            def each_second(now_us: int) -> None:
                # Called by the turns of the nodes: an event loop that runs without them is not a sign of life.
                self._notifier.alive(now_us)
                tip_monitor.tick(runtime.networks, now_us)
                identities.tick(runtime.networks, now_us)
                blocks.tick(runtime)
                disk.tick(runtime)

            disk = DiskWatch(self._disk, places)
            blocks = BlockPolicy(self._home.root, places, self._logger)
            runtime = Runtime(
                make_networks=self._networks_maker(stack, places, tip_monitor, identities, blocks, disk),
                places=places,
                clock=self._clock,
                logger=self._logger,
                has_room=self._has_room,
                show_life=each_second,
            )
            for place in places:
                runtime.begin(place.name, self._started(place))
            await self._work(runtime, places, identities, blocks, stop)
            runtime.note(DaemonStopped(reason=self._stop_reason))
            tip_monitor.close(runtime.networks, self._clock.now_us())
            identities.close(runtime.networks, self._clock.now_us())
        self._logger.info("stopped", reason=self._stop_reason)

    async def _work(
        self,
        runtime: Runtime,
        places: Sequence[NetworkStorage],
        identities: IdentityHost,
        blocks: BlockPolicy,
        stop: asyncio.Event,
    ) -> None:
        faces = FaceManager(
            self._config.faces,
            runtime,
            self._logger,
            confirmed=read_settings(self._home),
            save=lambda settings: write_settings(self._home, settings),
        )
        about = DaemonInfo(
            name=self._config.name,
            feed=self._key.feed_id,
            dialect=self._dialect,
            home=str(self._home.root),
            pid=os.getpid(),
            boot=places[0].events.boot,
        )
        companions = self._companions()
        access = ControlAccess(self._logger, group=self._config.control.group, keepers_only=KEEPERS_ONLY)
        handler = ControlHandler(
            about=about,
            runtime=runtime,
            places=places,
            clock=self._clock,
            faces=faces,
            turned_away=lambda: access.turned_away,
            blocks=blocks,
            authorship=identities,
            companions=companions,
        )
        listening = asyncio.Event()
        async with asyncio.TaskGroup() as group:
            working = group.create_task(runtime.run())
            around = [
                group.create_task(work)
                for work in (
                    ControlServer(handler, self._config.control.socket, access).run(listening),
                    faces.run(),
                )
            ]
            await listening.wait()
            around += [group.create_task(companion.run()) for companion in companions]
            self._logger.info("ready", feed=self._key.feed_id.hex(), home=about.home, version=version())
            feeds = sum(len(runtime.networks.node(place.name).feeds()) for place in places)
            self._notifier.ready(f"{feeds} feeds")
            await stop.wait()
            self._notifier.stopping()
            for task in around:
                task.cancel()
            await asyncio.wait(around)
            runtime.stop()
            await working

    def _companions(self) -> list[CompanionProcess]:
        optional = self._config.optional
        wanted: list[tuple[str, tuple[str, ...]]] = (
            [("the web page", ("web",))] if self._config.web.enabled else []
        )
        wanted += [
            (subject.process, subject.process_command)
            for subject in subjects.present()
            if subject.table in optional and optional[subject.table].enabled
        ]
        return [
            CompanionProcess(name, companion_command(self._home, *words), self._logger)
            for name, words in wanted
        ]

    def _on_signal(self, number: signal.Signals, stop: asyncio.Event) -> None:
        self._stop_reason = signal.Signals(number).name
        stop.set()

    def _networks_maker(
        self,
        stack: ExitStack,
        places: Sequence[NetworkStorage],
        tip_monitor: TipMonitor,
        identities: IdentityHost,
        blocks: BlockPolicy,
        disk: DiskWatch,
    ) -> Callable[[bool], Networks]:
        entropy, boot = random.SystemRandom(), find_boot(self._clock)
        shelves = {place.name: self._shelf(stack, place) for place in places}

        def make_networks(read_only: bool) -> Networks:
            # All networks share the airtime for acknowledgements.
            permille = (
                content_limits.ACK_AIR_PERMILLE // len(places) if self._config.acknowledge.enabled else 0
            )
            # The law counts what leaves the antenna, for whichever network.
            budgets = AirBudgets(places[0].store, boot, read_only=read_only)
            networks = Networks(
                {
                    place.name: Node(
                        store=place.store,
                        network=effective_network(
                            place.network, place.store, self._home.of(place.name).store
                        ),
                        entropy=entropy,
                        key=self._key,
                        dialect=self._dialect,
                        read_only=read_only,
                        budgets=budgets,
                        acknowledge_permille=permille,
                        certainty=tip_monitor.certainty(place.name),
                        groups=self._groups,
                        admission=self._admission(),
                        shelf=shelves[place.name],
                        quota=disk.quota(),
                        # Phones and boards know no keys.
                        places=limits.SET_MAX if place.network.key else self._config.set.places,
                    )
                    for place in places
                },
                board_name=self._key.feed_id.hex()[: limits.BOARD_NAME_DIGITS],
            )
            for place in places:
                node = networks.node(place.name)
                for author in identities.authors(place.name):
                    node.adopt(author)
                node.block(blocks.for_node(place.name), 0)
            return networks

        return make_networks

    def _admission(self) -> Admission:
        """Return the admission policy that config.toml sets. Raises ContactsError."""
        admit, across = self._config.set.admit, self._config.set.admit_across
        contacts = read_contacts(self._home.root) if AdmissionPolicy.KNOWN in {admit, across} else {}
        known = [feed for feed, contact in contacts.items() if not contact.blocked]
        return Admission(admit, across=across, known=known, per_hour=self._config.set.ids_per_hour)

    def _shelf(self, stack: ExitStack, place: NetworkStorage) -> OpenShelf | None:
        """Return the function that opens the shelf of *place*; None if no installed subject has one."""
        path, budget = self._home.of(place.name).shelf, self._config.set.shelf_mib * 2**20
        for subject in subjects.present():
            if subject.shelf is not None:
                make = subject.load(subject.shelf).LazyShelfFile
                shelf = make(path, place.network, budget_bytes=budget, logger=self._logger)
                opens: OpenShelf = stack.enter_context(closing(shelf)).open
                return opens
        return None

    def _open_place(self, stack: ExitStack, name: NetworkName, network: Network) -> NetworkStorage:
        """Open the storage of a network; create it if there is none. Raises LocalError."""
        home = self._home.of(name)
        try:
            home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise home_access_error(self._home, error, f"It is the folder for the network {name}.") from error
        store = stack.enter_context(closing(SqliteStore.open(home.store)))
        if not bind_store(store, network, self._clock.wall_us()):
            raise ProblemError(
                f"{self._home.config} gives the network {name} another key than it had: the entries in {home.root} "
                "are signed for the old key, and are invalid for other nodes under the new one. Nothing was changed.",
                "Put the old key back, or give the new key its own network under another name.",
                exit_code=ExitCode.CONFIG,
            )
        events = stack.enter_context(closing(self._open_events(home, store, network)))
        return NetworkStorage(name=name, network=network, store=store, events=events)

    def _open_events(self, home: Home, store: SqliteStore, network: Network) -> EventLog:
        events = self._config.events
        keep_bytes = min(events.keep_mib * 2**20, self._disk.log_bytes)
        options = EventLogOptions(
            # Only whole segments are deleted.
            segment_bytes=min(events.segment_mib * 2**20, keep_bytes // 8),
            segment_age_us=events.segment_hours * 3_600_000_000,
            retention_bytes=keep_bytes,
            retention_age_us=events.keep_days * 86_400_000_000,
        )
        name = node_name(self._key.feed_id)
        return EventLog.open(
            home.events,
            name,
            store,
            self._clock.wall_us(),
            options=options,
            network=network.goset_dmx.hex() if network.key else None,
        )

    def _started(self, place: NetworkStorage) -> DaemonStarted:
        return DaemonStarted(
            name=self._config.name,
            feed=self._key.feed_id,
            dialect=self._dialect,
            version=version(),
            clean=place.events.clean,
            network_name=None if place.name == DEFAULT_NETWORK else place.name,
            latitude=self._config.latitude,
            longitude=self._config.longitude,
        )

    def _has_room(self) -> bool:
        root = self._home.root
        return shutil.disk_usage(root).free >= limits.DISK_ROOM_MIN and not lacks_room(root)
