"""Table ``[gateway]`` of config.toml: settings of the gateway to other islands."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

from tinyssb_node import limits as node_limits
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.configreader import ConfigReader, split_address
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName
from tinyssb_node.islands.gateway import limits

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


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewayConfig:
    """Settings of ``[gateway]``, checked, with defaults filled in."""

    enabled: bool
    """True if the daemon starts the gateway."""
    listen: tuple[str, int]
    """Address and port, of UDP for the locator and of TCP for other gateways."""
    public: tuple[str, int] | None
    """Address or name, and port, at which others reach it; None: where it listens."""
    peers: tuple[tuple[str, int], ...]
    """Peers to contact first, address or name and port."""
    networks: tuple[NetworkName, ...]
    """Networks whose feeds are offered and sought."""
    offer: FeedSelection
    """Feeds that are advertised, and sent to others."""
    seek: FeedSelection
    """Feeds that are sought and fetched."""
    carry: frozenset[FeedId]
    """Feeds that are sought though they are in no set; they are kept on the shelf."""
    cert_file: Path | None
    """This gateway's certificate, for connections over TLS; None, as the next two: without TLS."""
    key_file: Path | None
    """Its key."""
    ca_file: Path | None
    """Certificates of the authorities that sign those of all trusted gateways."""


def gateway_config(config: Config) -> GatewayConfig | None:
    """Return the gateway's settings in *config*; None if there is no table for it."""
    found = config.optional.get("gateway")
    assert found is None or isinstance(found, GatewayConfig)
    return found


def read_settings(reader: ConfigReader, root: Path, networks: Iterable[NetworkName]) -> GatewayConfig:
    """Read the table; *networks* are those of the node, whose folder is *root*. Raises ConfigError."""
    listen = reader.address("gateway.listen", f"0.0.0.0:{limits.PORT}", limits.PORT)
    assert listen is not None, "there is a default"
    cert_file, key_file, ca_file = _files(reader, root)
    return GatewayConfig(
        enabled=reader.flag("gateway.enabled", default=False),
        listen=listen,
        public=reader.address("gateway.public", "", limits.PORT),
        peers=_peers(reader),
        networks=_networks(reader, networks),
        offer=reader.choice("gateway.offer", FeedSelection.SET),
        seek=reader.choice("gateway.seek", FeedSelection.SET),
        carry=_carry(reader),
        cert_file=cert_file,
        key_file=key_file,
        ca_file=ca_file,
    )


def _carry(reader: ConfigReader) -> frozenset[FeedId]:
    digits = 2 * node_limits.FEED_ID_SIZE
    allowed = (
        f"it takes a list of up to {limits.CARRY_MAX} feed ids of {digits} hexadecimal digits, each once"
    )
    texts = reader.texts("gateway.carry", (), allowed)
    right = all(re.fullmatch(f"[0-9a-fA-F]{{{digits}}}", text) and text.strip("0") for text in texts)
    feeds = frozenset(FeedId.from_hex(text) for text in texts) if right else frozenset()
    if len(feeds) < len(texts) or len(feeds) > limits.CARRY_MAX:
        raise reader.refuse("gateway.carry", list(texts[:1]), allowed)
    return feeds


def _files(reader: ConfigReader, root: Path) -> tuple[Path | None, Path | None, Path | None]:
    """Read the files for TLS: all three, or none."""
    keys = ("gateway.cert_file", "gateway.key_file", "gateway.ca_file")
    texts = [reader.text(key, "", "it takes a path") for key in keys]
    if any(texts) and not all(texts):
        key = keys[texts.index("")]
        raise reader.refuse(key, "", "it takes a path, since TLS takes all three of " + ", ".join(keys))
    cert_file, key_file, ca_file = (root / Path(text).expanduser() if text else None for text in texts)
    return cert_file, key_file, ca_file


def _peers(reader: ConfigReader) -> tuple[tuple[str, int], ...]:
    allowed = (
        f"it takes a list of up to {limits.FIRST_PEERS_MAX} addresses, each once, "
        f'such as ["gate.example.org:{limits.PORT}"]'
    )
    peers = reader.texts("gateway.peers", (), allowed)
    split = [split_address(peer) for peer in peers]
    found = tuple(peer for peer in split if peer is not None and peer[1])
    if len(set(found)) < len(peers) or len(peers) > limits.FIRST_PEERS_MAX:
        raise reader.refuse("gateway.peers", list(peers), allowed)
    return found


def _networks(reader: ConfigReader, networks: Iterable[NetworkName]) -> tuple[NetworkName, ...]:
    known = list(networks)
    allowed = f"it takes a list of networks of this node, each once: {', '.join(known)}"
    named = reader.texts("gateway.networks", (DEFAULT_NETWORK,), allowed)
    if not named or len(set(named)) < len(named) or not set(named) <= set(known):
        raise reader.refuse("gateway.networks", list(named), allowed)
    return tuple(NetworkName(name) for name in named)
