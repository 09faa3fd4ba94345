"""A client of the gateway: one connection to its socket (docs/formats/gateway.md)."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Self, cast

from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError, RowStream
from tinyssb_node.islands.gateway.config import GATEWAY_SOCKET
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.islands.gateway.rows import GatewayRow, LocationRow


class GatewayClient(DaemonClient):
    """One connection."""

    @classmethod
    def at_home(cls, home: str | None = None, network: str | None = None) -> Self:
        """Connect to the gateway of the node in the folder *home* (None: TINYSSB_HOME, else ~/.tinyssb).

        Raises HomeMissingError, ConfigError, DaemonUnreachableError.
        """
        from tinyssb_node.daemon.config import read_config
        from tinyssb_node.islands.gateway.config import gateway_config

        found = Home.find(home, os.environ)
        found.require()
        config = read_config(found)
        settings = gateway_config(config)
        if settings is None or not settings.enabled:
            raise DaemonUnreachableError(
                "This node has no gateway to other islands.",
                "`[gateway]` with `enabled = true` in config.toml makes one; docs/howto/gateways.md tells how.",
            )
        return cls(config.control_socket.with_name(GATEWAY_SOCKET), network=network)

    def gateway(self) -> GatewayRow:
        """How the gateway is."""
        return cast("GatewayRow", self._ask("status"))

    def locate(self, feed: str, seconds: int) -> RowStream[LocationRow]:
        """Where *feed* is, as it turns out within *seconds*. A ``LocatedRow``, the sum of it, is the result."""
        self._socket.settimeout(seconds + self._timeout_s)
        return RowStream(self._stream("locate", feed=feed, seconds=seconds, **self._scope))

    def _unreachable(self, error: OSError) -> DaemonUnreachableError:
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return DaemonUnreachableError(
                "The gateway is not running.",
                "It runs beside the daemon: start it with `tinyssb run`. If that runs, `tinyssb doctor` tells why.",
            )
        return super()._unreachable(error)
