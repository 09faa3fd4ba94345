"""The gateway of PZP: takes in what entries carry, and keeps the database alike with those of other gateways
(docs/decisions/0043). A process of its own, beside the daemon.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import ExitStack, closing, suppress
from typing import Final

from websockets.asyncio.server import Server

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.shutdown import watch_for_shutdown
from tinyssb_node.errors import ExitCode, ProblemError, StoreFullError
from tinyssb_node.pzp.config import pzp_settings
from tinyssb_node.pzp.database import limits
from tinyssb_node.pzp.database.certificates import roots_of
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.entry_import import EntryImporter
from tinyssb_node.pzp.database.errors import PzpBusyError
from tinyssb_node.pzp.database.replica import DatabaseReplica
from tinyssb_node.pzp.database.sqlite import PZP_FILE, SqlitePzpRows
from tinyssb_node.pzp.messages.goals import NONE, Goal, parse_goal
from tinyssb_node.pzp.sync.sync import Event, SyncCompleted
from tinyssb_node.pzp.sync_ws import PzpSyncConnector, PzpSyncListener
from tinyssb_node.store.home import Home


class GatewayReplica(DatabaseReplica):
    """Replica that wants what goals ask for and, while there is room, *keep* of other tangles."""

    def __init__(self, database: PzpDatabase, *, keep: Goal, budget_bytes: int) -> None:
        super().__init__(database, _wall_us, default=keep)
        self._held: Final = database
        # Less than all, or what was collected would be fetched again.
        self._full_bytes: Final = budget_bytes * 900 // 1_000

    def goal(self, root: str) -> Goal:
        """Return the goal of the tangle *root*: no new tangle is begun when the budget is nearly used up."""
        if root in self._held.goals() or self._held.totals().bytes < self._full_bytes:
            return super().goal(root)
        return super().goal(root) if len(self._held.tangle(root)) else NONE


class PzpGateway:
    """One run of it."""

    def __init__(self, home: Home, config: Config, logger: Logger) -> None:
        self._home = home
        self._networks = config.networks
        self._settings = pzp_settings(config)
        self._logger = logger
        self._stop = asyncio.Event()
        self._problems: dict[str, str] = {}
        """The last problem reported of each peer."""

    async def run(self, *, supervised: bool) -> None:
        """Work until a signal, or if it is *supervised* until standard input ends.

        Raises StoreFailedError and its kin, GatewayAddressError.
        """
        watch_for_shutdown(self._stop.set, supervised=supervised)
        with ExitStack() as stack:
            rows = SqlitePzpRows.open(self._home.root / PZP_FILE)
            self._database = stack.enter_context(closing(PzpDatabase(rows)))
            self._carried = [
                stack.enter_context(closing(EntryImporter.open(self._home.of(name).root)))
                for name in self._networks
            ]
            self._number = max((one.last_number for one in self._database.tangles()), default=0)
            self._look()
            await self._serve()

    async def _serve(self) -> None:
        settings = self._settings
        msgs = GatewayReplica(
            self._database, keep=parse_goal(settings.keep), budget_bytes=settings.budget_bytes
        )
        access = settings.access
        # 32 filters of each of 16 peers are 2 MB.
        listener = PzpSyncListener(msgs, self._roots, self._told, peers=16, guard=access.guard)
        callers = {
            peer.url: PzpSyncConnector(peer.url, msgs, self._roots, self._told, peer.credentials)
            for peer in access.peers
        }
        servers = [] if access.listen is None else await self._listen(listener, *access.listen)
        where = None if access.listen is None else "{}:{}".format(*access.listen)
        self._logger.info("the gateway of PZP is ready", listen=where, peers=list(callers))
        calling = [asyncio.create_task(caller.run()) for caller in callers.values()]
        try:
            await self._go_on(listener, callers)
        finally:
            for task in calling:
                task.cancel()
            await asyncio.gather(*calling, return_exceptions=True)
            for server in servers:
                server.close()
                await server.wait_closed()

    async def _listen(self, listener: PzpSyncListener, host: str, port: int) -> list[Server]:
        if self._settings.access.guard.warning(host) is not None:
            self._logger.warning(
                "everybody who reaches this machine may read all PZP messages here",
                advice="pzp.token_file with a certificate keeps others out; pzp.open = true says it is meant",
            )
        try:
            return await listener.open(host, port)
        except OSError as error:
            raise ProblemError(
                f"The gateway cannot listen at {host}, port {port}: {error.strerror or error}.",
                "Another program may have the port; `pzp.listen` in config.toml names another one.",
                exit_code=ExitCode.UNAVAILABLE,
            ) from error

    async def _go_on(self, listener: PzpSyncListener, callers: Mapping[str, PzpSyncConnector]) -> None:
        """Look for what is new, and pass it on, until told to stop."""
        collected_s = 0.0
        while not self._stop.is_set():
            self._look()
            if news := self._news():
                links = [*listener.links, *(caller.link for caller in callers.values())]
                for link in filter(None, links):
                    link.sync(news)
            self._tell_problems(listener, callers)
            if time.monotonic() - collected_s >= 60.0:
                self._collect()
                collected_s = time.monotonic()
            with suppress(TimeoutError):
                # For entries and commands; each look takes 1 ms.
                await asyncio.wait_for(self._stop.wait(), 1.0)

    def _look(self) -> None:
        """Take in what entries carry. What cannot be done now is done at one of the next looks."""
        for carried in self._carried:
            try:
                caught = carried.catch_up(self._database, wall_us=_wall_us())
            except (StoreFullError, PzpBusyError) as error:
                self._tell("entries", str(error))
                continue
            if caught.new or caught.refused:
                self._logger.info(
                    "took messages from entries",
                    new=caught.new,
                    refused=caught.refused,
                    waiting=caught.waiting,
                )

    def _news(self) -> list[str]:
        """The tangles in which something is that came since this was asked last, wherever it came from."""
        roots: dict[str, None] = {}
        while page := self._database.records(self._number):
            for record in page:
                roots.update(dict.fromkeys(roots_of(record)[: limits.PLACES_MAX] or [record.id]))
            self._number = page[-1].number
        return list(roots)

    def _roots(self) -> list[str]:
        """All tangles of which anything is here, or wanted."""
        goals = self._database.goals()
        here = [one.root for one in self._database.tangles()]
        return [root for root in dict.fromkeys([*goals, *here]) if goals.get(root) != NONE]

    def _collect(self) -> None:
        """Make room, if there are more messages than the budget."""
        try:
            collected = self._database.collect(self._settings.budget_bytes)
        except (StoreFullError, PzpBusyError) as error:
            self._tell("room", str(error))
            return
        if collected.deleted or collected.stripped:
            self._logger.info("made room", deleted=collected.deleted, stripped=collected.stripped)

    def _told(self, event: Event) -> None:
        """Log what became of a sync."""
        if not isinstance(event, SyncCompleted):
            self._logger.warning("a sync has failed", why=event.why)
        elif event.got or event.given or event.refused:
            self._logger.info(
                "synced", root=event.root, got=event.got, given=event.given, refused=event.refused
            )

    def _tell_problems(self, listener: PzpSyncListener, callers: Mapping[str, PzpSyncConnector]) -> None:
        for name, problem in [
            ("callers", listener.problem),
            *((url, caller.problem) for url, caller in callers.items()),
        ]:
            if problem is not None:
                self._tell(name, problem)

    def _tell(self, name: str, problem: str) -> None:
        """Log *problem*, unless that was the last one logged there."""
        if self._problems.get(name) != problem:
            self._problems[name] = problem
            self._logger.warning("there is a problem", where=name, problem=problem)


def _wall_us() -> int:
    return time.time_ns() // 1_000
