"""The further identities of a running daemon, whose code is loaded once there are any: most nodes do without."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from tinyssb_node.control.rows import ReopenedIdentitiesRow
from tinyssb_node.errors import UnknownIdentityError

if TYPE_CHECKING:
    from tinyssb_node.control.rows import IdentityRow
    from tinyssb_node.daemon.clock import Clock
    from tinyssb_node.daemon.identity_manager import IdentityManager, IdentityWriter, OpenedIdentities
    from tinyssb_node.daemon.logs import Logger
    from tinyssb_node.daemon.network_storage import NetworkStorage
    from tinyssb_node.ids import FeedId, NetworkName
    from tinyssb_node.node.further_identities import FurtherIdentity
    from tinyssb_node.node.networks import Networks
    from tinyssb_node.node.node import Node
    from tinyssb_node.store.home import Home


class IdentityHost:
    """The identities of a home, or none; see ``IdentityManager`` for each method."""

    def __init__(
        self,
        home: Home,
        opened: OpenedIdentities | None,
        places: Sequence[NetworkStorage],
        *,
        clock: Clock,
        logger: Logger,
    ) -> None:
        """*opened*: None if there never was any."""
        self._home, self._places, self._clock, self._logger = home, places, clock, logger
        self._manager = None if opened is None else self._load(opened)

    def _load(self, opened: OpenedIdentities | None = None) -> IdentityManager:
        from tinyssb_node.daemon.identity_manager import (  # noqa: PLC0415 - most nodes do without
            IdentityManager,
            OpenedIdentities,
        )

        opened = opened or OpenedIdentities((), {})
        return IdentityManager(self._home, opened, self._places, clock=self._clock, logger=self._logger)

    def authors(self, network: NetworkName) -> Sequence[FurtherIdentity]:
        """Return the identities as the node of *network* needs them."""
        return () if self._manager is None else self._manager.authors(network)

    def tick(self, networks: Networks, now_us: int) -> None:
        """Log changes of certainty, and write the tip marks when due."""
        if self._manager is not None:
            self._manager.tick(networks, now_us)

    def close(self, networks: Networks, now_us: int) -> None:
        """Write the final tip marks."""
        if self._manager is not None:
            self._manager.close(networks, now_us)

    def find(self, name: str) -> IdentityWriter:
        """Return the identity called *name*. Raises UnknownIdentityError, ProblemError."""
        if self._manager is None:
            raise UnknownIdentityError(name)
        return self._manager.find(name)

    def names(self) -> Mapping[FeedId, str]:
        """Return the names of the identities, by feed."""
        return {} if self._manager is None else self._manager.names()

    def rows(self, node: Node, now_us: int) -> Iterator[IdentityRow]:
        """Yield the status of each in the network of *node*, sorted by name."""
        if self._manager is not None:
            yield from self._manager.rows(node, now_us)

    def reopen(self, main: FeedId, environ: Mapping[str, str]) -> ReopenedIdentitiesRow:
        """Use identities that are new in the home, and no longer those that were removed. Raises
        HomeInaccessibleError."""
        if self._manager is None:
            if not self._home.identities.exists():
                return ReopenedIdentitiesRow(opened=[], closed=[], problems={})
            self._manager = self._load()
        return self._manager.reopen(main, environ)
