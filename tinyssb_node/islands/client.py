"""A client of the gateway: one connection to its socket (docs/formats/gateway.md)."""

import os
from typing import Self

from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError, RowStream
from tinyssb_node.islands.gateway.config import GATEWAY_SOCKET
from tinyssb_node.islands.gateway.requests import GetGatewayStatus, Locate
from tinyssb_node.islands.gateway.rows import GatewayRow, LocatedRow, LocationRow
from tinyssb_node.store.home import Home


class GatewayClient(DaemonClient):
    """One connection."""

    @classmethod
    def at_home(cls, home: str | None = None, network: str | None = None) -> Self:
        """Connect to the gateway of the node in the folder *home* (None: TINYSSB_HOME, else ~/.tinyssb).

        Raises ProblemError, ConfigError, DaemonUnreachableError.
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
        return cls(config.control.socket.with_name(GATEWAY_SOCKET), network=network)

    def gateway(self) -> GatewayRow:
        """Return the gateway's status."""
        return self._ask(GetGatewayStatus())

    def locate(self, feed: str, seconds: int) -> RowStream[LocationRow, LocatedRow]:
        """List where *feed* is, as it turns out within *seconds*. The sum of it is the result."""
        self._socket.settimeout(seconds + self._timeout_s)
        return self._list(Locate(feed, seconds, network=self._network))

    def _unreachable(self, error: OSError) -> DaemonUnreachableError:
        if isinstance(error, FileNotFoundError | ConnectionRefusedError):
            return DaemonUnreachableError(
                "The gateway is not running.",
                "It runs beside the daemon: start it with `tinyssb run`. If that runs, `tinyssb doctor` tells why.",
            )
        return super()._unreachable(error)
