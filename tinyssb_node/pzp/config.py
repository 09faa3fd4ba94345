"""The table ``[pzp]`` of config.toml: who may call the gateway of PZP, whom it calls, and what it keeps."""

from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta

from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.config_table import Address, Flaw, SubjectTable, address_rule
from tinyssb_node.faces.access import PIN_RULE, Credentials, ListenerPolicy, read_pin
from tinyssb_node.ids import NetworkName

_PORT: Final = 8_788  # of examples: near the page's
_PEERS_RULE: Final = f'it takes a list of addresses, each once, such as ["ws://10.0.0.2:{_PORT}"]'
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


class PzpSettings(SubjectTable, frozen=True, kw_only=True):
    """Settings of ``[pzp]``, checked, with defaults filled in."""

    keep: Annotated[
        str,
        Meta(
            pattern=r"\A(all|none|set|dict|newest-[1-9][0-9]{0,9})\Z",
            description='it takes "all", "none", "set", "dict", or a number of messages, such as "newest-100"',
        ),
    ] = "all"
    """The goal for tangles that have none of their own, as goals are written (docs/formats/pzp-store.md)."""
    budget_mib: Annotated[int, Meta(ge=1, le=1_048_576)] = 1024
    """Size of messages beyond which messages that no goal asks for are deleted."""
    listen: Annotated[Address, Meta(description=address_rule(_PORT))] | None = None
    """Address and port where other gateways may call; None: nowhere."""
    peers: Annotated[
        tuple[Annotated[str, Meta(pattern=r"\Awss?://[!-~]{1,2000}\Z")], ...], Meta(description=_PEERS_RULE)
    ] = ()
    """Addresses of gateways to call, each with a fingerprint behind ``#pin=`` if it has one."""
    cert_file: Path | None = None
    """The certificate that this gateway presents."""
    key_file: Path | None = None
    """Its key."""
    clients_file: Path | None = None
    """Certificates of the authorities that sign those of callers."""
    token_file: Path | None = None
    """The token that callers present, and that is presented to gateways that are called."""
    ca_file: Path | None = None
    """Certificates of the authorities that sign those of gateways that are called."""
    open: bool = False
    """True if anyone may call."""

    @property
    def budget_bytes(self) -> int:
        """``budget_mib`` in bytes."""
        return self.budget_mib * 2**20

    @property
    def access(self) -> PzpAccess:
        """Which other gateways may call, and which are called."""
        guard = ListenerPolicy(
            certificate=self.cert_file,
            key=self.key_file,
            clients=self.clients_file,
            token=self.token_file,
            open=self.open,
        )
        return PzpAccess(self.listen, guard, tuple(self._peer(peer) for peer in self.peers))

    def flaw(self, _networks: Collection[NetworkName]) -> Flaw | None:
        """Check that what is secret is not sent in the clear, and that each peer is there once."""
        if self.listen is not None and (flaw := self.access.guard.flaw(self.listen[0])) is not None:
            return "listen", str(self.listen), flaw
        if len(set(self.peers)) < len(self.peers):
            return "peers", list(self.peers), _PEERS_RULE
        for text in self.peers:
            _, mark, digits = text.partition(_PIN)
            if mark and read_pin(digits) is None:
                return "peers", text, f"behind {_PIN} it takes {PIN_RULE}"
            peer = self._peer(text)
            if (flaw := peer.credentials.flaw(urlsplit(peer.url).hostname or "")) is not None:
                return "peers", text, f"{flaw}, as in wss://"
        return None

    def _peer(self, text: str) -> PzpPeer:
        url, _, digits = text.partition(_PIN)
        pin = read_pin(digits) if digits else None
        # What is asked of callers is shown to those we call: gateways of one circle have one token.
        if not url.startswith("wss:"):
            return PzpPeer(url, Credentials(pin=pin, token=self.token_file))
        shown = Credentials(
            tls=True,
            authorities=self.ca_file,
            pin=pin,
            certificate=self.cert_file,
            key=self.key_file,
            token=self.token_file,
        )
        return PzpPeer(url, shown)


TABLE: Final = PzpSettings


def pzp_settings(config: Config) -> PzpSettings:
    """Return what *config* says of PZP; the defaults if it has no table for it."""
    found = config.optional.get("pzp", PzpSettings())
    assert isinstance(found, PzpSettings)
    return found
