"""The table ``[pzp]`` of config.toml: who may call the gateway of PZP, whom it calls, and what it keeps."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.configreader import ConfigReader
from tinyssb_node.faces.access import EVERYBODY, PIN_RULE, Credentials, ListenerPolicy, read_pin
from tinyssb_node.ids import NetworkName
from tinyssb_node.pzp.database import limits as pzp_limits

_PEER = re.compile(r"wss?://[!-~]{1,2000}")
_KEEP = re.compile(r"all|none|set|dict|newest-[1-9][0-9]{0,9}")
_MIB: Final = 1_048_576
_PIN: Final = "#pin="
"""Separator between a peer's address and the fingerprint of its certificate."""


@dataclass(frozen=True, slots=True)
class PzpPeer:
    """Another gateway, which is called."""

    url: str
    """Its address."""
    credentials: Credentials
    """Certificates to trust there, and credentials to present."""


@dataclass(frozen=True, slots=True)
class PzpAccess:
    """Gateways that may call, and gateways that are called, over WebSocket."""

    listen: tuple[str, int] | None
    """Address and port where other gateways may call; None: nowhere."""
    guard: ListenerPolicy
    """The policy for gateways that call."""
    peers: tuple[PzpPeer, ...]
    """Gateways that are called."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PzpSettings:
    """Settings of ``[pzp]``, checked, with defaults filled in."""

    enabled: bool = False
    """True if the daemon starts the gateway."""
    access: PzpAccess = PzpAccess(None, EVERYBODY, ())
    """Which other gateways may call, and which are called."""
    keep: str = "all"
    """The goal for tangles that have none of their own, as goals are written (docs/formats/pzp-store.md)."""
    budget_bytes: int = 1024 * _MIB
    """Bytes of messages beyond which messages that no goal asks for are deleted."""


def pzp_settings(config: Config) -> PzpSettings:
    """Return what *config* says of PZP; the defaults if it has no table for it."""
    found = config.optional.get("pzp", PzpSettings())
    assert isinstance(found, PzpSettings)
    return found


def read_settings(reader: ConfigReader, root: Path, _networks: Iterable[NetworkName]) -> PzpSettings:
    """Read the table; paths are relative to *root*. Raises ConfigError."""
    return PzpSettings(
        enabled=reader.flag("pzp.enabled", default=False),
        access=_access(reader, root),
        keep=_keep(reader),
        budget_bytes=reader.number("pzp.budget_mib", 1024, 1, 1_048_576) * _MIB,
    )


def _keep(reader: ConfigReader) -> str:
    allowed = 'it takes "all", "none", "set", "dict", or a number of messages, such as "newest-100"'
    keep = reader.text("pzp.keep", "all", allowed)
    if not _KEEP.fullmatch(keep):
        raise reader.refuse("pzp.keep", keep, allowed)
    return keep


def _access(reader: ConfigReader, home: Path) -> PzpAccess:
    def file(key: str) -> Path | None:
        name = reader.text(key, "", "it takes a path")
        return home / Path(name).expanduser() if name else None

    certificate, key = file("pzp.cert_file"), file("pzp.key_file")
    token, authorities = file("pzp.token_file"), file("pzp.ca_file")
    guard = ListenerPolicy(
        certificate=certificate,
        key=key,
        clients=file("pzp.clients_file"),
        token=token,
        open=reader.flag("pzp.open", default=False),
    )
    listen = reader.address("pzp.listen", "", pzp_limits.GATEWAY_PORT)
    if listen is not None and (flaw := guard.flaw(listen[0])) is not None:
        raise reader.refuse("pzp.listen", "{}:{}".format(*listen), flaw)

    def credentials(url: str, pin: bytes | None) -> Credentials:
        # What is asked of callers is shown to those we call: gateways of one circle have one token.
        if not url.startswith("wss:"):
            return Credentials(pin=pin, token=token)
        return Credentials(
            tls=True, authorities=authorities, pin=pin, certificate=certificate, key=key, token=token
        )

    peers = []
    for text in _peers(reader):
        url, mark, digits = text.partition(_PIN)
        pin = read_pin(digits) if mark else None
        if mark and pin is None:
            raise reader.refuse("pzp.peers", text, f"behind {_PIN} it takes {PIN_RULE}")
        shown = credentials(url, pin)
        if (flaw := shown.flaw(urlsplit(url).hostname or "")) is not None:
            raise reader.refuse("pzp.peers", text, f"{flaw}, as in wss://")
        peers.append(PzpPeer(url, shown))
    return PzpAccess(listen, guard, tuple(peers))


def _peers(reader: ConfigReader) -> tuple[str, ...]:
    allowed = f'it takes a list of addresses, each once, such as ["ws://10.0.0.2:{pzp_limits.GATEWAY_PORT}"]'
    peers = reader.texts("pzp.peers", (), allowed)
    if any(not _PEER.fullmatch(peer) or peers.count(peer) > 1 for peer in peers):
        raise reader.refuse("pzp.peers", list(peers), allowed)
    return peers
