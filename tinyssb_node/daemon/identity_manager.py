"""The further identities of a home while a daemon runs: their keys, their tip marks, and their status."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import Effect, EntryAppended
from tinyssb_node.control.rows import IdentityRow, ReopenedIdentitiesRow
from tinyssb_node.daemon.clock import Clock
from tinyssb_node.daemon.identities import duplicate_identity, names_of
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.setup import unlock_identity
from tinyssb_node.daemon.tip_monitor import TipMonitor, waiting_row
from tinyssb_node.errors import (
    HomeInaccessibleError,
    LocalError,
    ProblemError,
    SetFullError,
    UnknownIdentityError,
)
from tinyssb_node.gossip.certainty import TipUncertainError
from tinyssb_node.ids import Dialect, FeedId, NetworkName
from tinyssb_node.node.further_identities import FurtherIdentity
from tinyssb_node.node.networks import Networks
from tinyssb_node.node.node import Node
from tinyssb_node.store.home import MAIN_IDENTITY, Home
from tinyssb_node.store.secrets import folder_reach
from tinyssb_node.store.unlock import Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class IdentityWriter:
    """A further identity whose key was opened."""

    name: str
    """The name that the user gave it."""
    key: SigningKey = field(repr=False)
    """The key that signs its feed."""
    dialect: Dialect
    """The dialect of its feed."""

    @property
    def feed(self) -> FeedId:
        """Its feed."""
        return self.key.feed_id

    def append(self, node: Node, content: bytes, now_us: int) -> tuple[EntryAppended, list[Effect]]:
        """Append *content* to its feed. Raises as ``Node.append_to_feed`` does."""
        if (waiting := node.waiting(now_us, self.feed)) is not None:
            raise TipUncertainError(waiting, self.name)
        if not node.read_only and node.own(self.feed) is None:
            raise SetFullError(len(node.feeds()))
        return node.append_to_feed(self.key, content, now_us)


@dataclass(frozen=True, slots=True)
class OpenedIdentities:
    """The identities that were in the home when the daemon started."""

    writers: Sequence[IdentityWriter]
    """Those whose keys were opened."""
    problems: Mapping[str, str]
    """The problem of each of the others, by name."""


def open_identities(
    home: Home,
    main: FeedId,
    environ: Mapping[str, str],
    ask: Ask | None,
    logger: Logger,
    have: Mapping[FeedId, str] | None = None,
) -> OpenedIdentities:
    """Open the further identities of *home*, whose main one is *main*, but for those that the caller has. Those that
    fail are logged and left out."""
    names, writers, problems = {main: MAIN_IDENTITY, **(have or {})}, [], {}
    try:
        found = names_of(home)
    except HomeInaccessibleError as error:
        found = []
        logger.warning("no further identity is used", problem=error.message)
    for name in (one for one in found if one not in (have or {}).values()):
        own = home.of_identity(name)
        logger.info("opening a further identity", identity=name)
        try:
            if (mode := folder_reach(own.identity)) is not None:
                advice = f"chmod 700 {own.root}"
                logger.warning(
                    "other users may use the folder of a secret key", mode=f"{mode:04o}", advice=advice
                )
            identity = unlock_identity(own, environ, ask, name)
            key = SigningKey(identity.seed)
            if (other := names.setdefault(key.feed_id, name)) != name:
                raise duplicate_identity(other)
        except (LocalError, OSError) as error:
            problems[name] = error.message if isinstance(error, LocalError) else f"{error.strerror}."
        else:
            writers.append(IdentityWriter(name=name, key=key, dialect=identity.dialect))
    for name, problem in problems.items():
        logger.error("a further identity is not used", identity=name, problem=problem)
    return OpenedIdentities(writers, problems)


class IdentityManager:
    """The further identities of a running daemon."""

    def __init__(
        self,
        home: Home,
        opened: OpenedIdentities,
        places: Sequence[NetworkStorage],
        *,
        clock: Clock,
        logger: Logger,
    ) -> None:
        """Read the tip marks of those *opened* in *home*, and compare them with the stores of *places*."""
        self._home, self._places, self._clock, self._logger = home, places, clock, logger
        self._problems = opened.problems
        self._writers: dict[str, IdentityWriter] = {}
        self._monitors: dict[str, TipMonitor] = {}
        self._use(opened.writers)

    def _use(self, writers: Sequence[IdentityWriter]) -> None:
        for writer in writers:
            self._writers[writer.name] = writer
            self._monitors[writer.name] = TipMonitor(
                self._home.of_identity(writer.name).mark,
                writer.feed,
                self._places,
                clock=self._clock,
                logger=self._logger.bind(identity=writer.name),
            )

    def reopen(self, main: FeedId, environ: Mapping[str, str]) -> ReopenedIdentitiesRow:
        """Use identities that are new in the home, and no longer those that were removed from it; *main* is the node's
        own. The nodes are to be loaded again if that changed anything. Raises HomeInaccessibleError."""
        there = names_of(self._home)
        closed = sorted(name for name in self._writers if name not in there)
        for name in closed:
            # Its tip mark went with its folder.
            del self._writers[name], self._monitors[name]
        opened = open_identities(self._home, main, environ, None, self._logger, self.names())
        self._problems = opened.problems
        self._use(opened.writers)
        return ReopenedIdentitiesRow(
            opened=[writer.name for writer in opened.writers], closed=closed, problems=dict(opened.problems)
        )

    def authors(self, network: NetworkName) -> list[FurtherIdentity]:
        """Return the identities as the node of *network* needs them."""
        return [
            FurtherIdentity(
                key=writer.key, dialect=writer.dialect, certainty=self._monitors[name].certainty(network)
            )
            for name, writer in self._writers.items()
        ]

    def tick(self, networks: Networks, now_us: int) -> None:
        """Log changes of certainty, and write the tip marks when due."""
        for monitor in self._monitors.values():
            monitor.tick(networks, now_us)

    def close(self, networks: Networks, now_us: int) -> None:
        """Write the final tip marks."""
        for monitor in self._monitors.values():
            monitor.close(networks, now_us)

    def find(self, name: str) -> IdentityWriter:
        """Return the identity called *name*. Raises UnknownIdentityError, ProblemError."""
        if name in self._problems:
            raise ProblemError(
                f"The identity '{name}' could not be used when the daemon started: {self._problems[name]}",
                "Nothing was written. Everything else continues; restart the daemon when this is mended.",
            )
        if name not in self._writers:
            raise UnknownIdentityError(name, self._writers)
        return self._writers[name]

    def names(self) -> dict[FeedId, str]:
        """Return the names of the identities, by feed."""
        return {writer.feed: name for name, writer in self._writers.items()}

    def rows(self, node: Node, now_us: int) -> Iterator[IdentityRow]:
        """Yield the status of each in the network of *node*, sorted by name."""
        for name in sorted({*self._writers, *self._problems}):
            writer = self._writers.get(name)
            record = None if writer is None else node.own(writer.feed)
            yield IdentityRow(
                name=name,
                feed=None if writer is None else writer.feed.hex(),
                dialect=None if writer is None else writer.dialect.value,
                problem=self._problems.get(name),
                frozen_at=None if record is None else record.forked_at,
                waiting=None if writer is None else waiting_row(node.waiting(now_us, writer.feed)),
            )
