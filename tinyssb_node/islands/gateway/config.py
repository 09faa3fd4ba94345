"""Table ``[gateway]`` of config.toml: settings of the gateway to other islands."""

from collections.abc import Collection
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

from msgspec import Meta

from tinyssb_node import limits as node_limits
from tinyssb_node.control.requests import WholeFeed
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Address, Flaw, SubjectTable, address_rule
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName
from tinyssb_node.islands.gateway import limits

_FIRST_PEERS_MAX: Final = 16  # one that answers is enough: it names others
_CARRY_MAX: Final = 3_840  # feeds: with a full set as many as one connection may be about
GATEWAY_SOCKET: Final = "gateway.sock"
"""Name of the gateway's control socket, beside the daemon's own."""


class FeedSelection(StrEnum):
    """Feeds of a network, as a policy names them."""

    SET = "set"
    """All that the node stores or follows, except those that its user does not want."""
    OWN = "own"
    """The node's own: its main feed and its further ones."""
    NONE = "none"
    """None."""


_PEERS_RULE: Final = (
    f"it takes a list of up to {_FIRST_PEERS_MAX} addresses, each once, "
    f'such as ["gate.example.org:{limits.PORT}"]'
)
_CARRY_RULE: Final = (
    f"it takes a list of up to {_CARRY_MAX} feed ids of {2 * node_limits.FEED_ID_SIZE} hexadecimal digits, "
    "each once"
)
_RELAY_MIB_MAX: Final = 1_048_576  # a TiB
_RELAY_RULE: Final = f"it takes MiB an hour, from 0 to {_RELAY_MIB_MAX}"
_Address = Annotated[Address, Meta(description=address_rule(limits.PORT))]


class GatewayConfig(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[gateway]``, checked, with defaults filled in."""

    listen: _Address = Address(("::", limits.PORT))
    """Address and port, of UDP for the locator and of TCP for other gateways: all addresses of IPv6 and IPv4."""
    public: _Address | None = None
    """Address or name, and port, at which others reach it; None: where it listens."""
    peers: Annotated[tuple[Address, ...], Meta(max_length=_FIRST_PEERS_MAX, description=_PEERS_RULE)] = ()
    """Peers to contact first, address or name and port."""
    networks: Annotated[tuple[NetworkName, ...], Meta(description="it takes a list of networks")] = (
        DEFAULT_NETWORK,
    )
    """Networks whose feeds are offered and sought."""
    offer: FeedSelection = FeedSelection.SET
    """Feeds that are advertised, and sent to others."""
    seek: FeedSelection = FeedSelection.SET
    """Feeds that are sought and fetched."""
    carry: Annotated[tuple[WholeFeed, ...], Meta(max_length=_CARRY_MAX, description=_CARRY_RULE)] = ()
    """Feeds that are sought though they are in no set; they are kept on the shelf."""
    relay_mib: Annotated[int, Meta(ge=0, le=_RELAY_MIB_MAX, description=_RELAY_RULE)] = limits.RELAY_MIB
    """MiB passed on in an hour between nodes that cannot be reached; 0: none."""
    cert_file: Path | None = None
    """This gateway's certificate, for connections over TLS; None, as the next two: without TLS."""
    key_file: Path | None = None
    """Its key."""
    ca_file: Path | None = None
    """Certificates of the authorities that sign those of all trusted gateways."""

    @property
    def carried(self) -> frozenset[FeedId]:
        """The feeds of ``carry``."""
        return frozenset(FeedId.from_hex(feed) for feed in self.carry)

    def flaw(self, networks: Collection[NetworkName]) -> Flaw | None:
        """Check that nothing is there twice, that the *networks* are the node's, and that TLS has all its files."""
        if len(set(self.peers)) < len(self.peers) or not all(port for _, port in self.peers):
            return "peers", [str(peer) for peer in self.peers], _PEERS_RULE
        if len(self.carried) < len(self.carry):
            return "carry", [self.carry[0]], _CARRY_RULE
        named = set(self.networks)
        if not named or len(named) < len(self.networks) or not named <= set(networks):
            allowed = f"it takes a list of networks of this node, each once: {', '.join(networks)}"
            return "networks", list(self.networks), allowed
        files = {"cert_file": self.cert_file, "key_file": self.key_file, "ca_file": self.ca_file}
        missing = [key for key, file in files.items() if file is None]
        if 0 < len(missing) < len(files):
            keys = ", ".join(f"gateway.{key}" for key in files)
            return missing[0], "", f"it takes a path, since TLS takes all three of {keys}"
        return None


TABLE: Final = GatewayConfig


def gateway_config(config: Config) -> GatewayConfig | None:
    """Return the gateway's settings in *config*; None if there is no table for it."""
    found = config.optional.get("gateway")
    assert found is None or isinstance(found, GatewayConfig)
    return found
