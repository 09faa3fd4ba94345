"""What config.toml says in its table ``[ship]``, of where event logs are sent: loaded only where it says anything."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinyssb_node.daemon.configreader import Reader
from tinyssb_node.logship import limits

_BROKER: Final = re.compile(
    r"(mqtts?)://(\[[0-9A-Fa-f:.%]{2,64}\]|[A-Za-z0-9._-]{1,253})(?::([0-9]{1,5}))?/?"
)
_PORTS: Final = {"mqtt": limits.PORT, "mqtts": limits.TLS_PORT}


@dataclass(frozen=True, slots=True, kw_only=True)
class Broker:
    """An MQTT broker."""

    host: str
    port: int
    tls: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ShipConfig:
    """How the event log is shipped."""

    enabled: bool
    """True if the daemon starts the shipper."""
    broker: Broker
    user: str
    """Who we are to the broker; empty: the node's name in its event log."""
    password_file: Path | None
    """A file whose first line is the password."""
    ca_file: Path | None
    """Who vouches for the broker; None: whom the system trusts."""
    cert_file: Path | None
    """Our certificate, if the broker asks for one."""
    key_file: Path | None
    """Its key."""
    every_s: int
    """How often what is no full batch is sent."""
    bytes_per_s: int
    """Bandwidth limit; 0: none."""


def read_ship(reader: Reader, root: Path) -> ShipConfig:
    """Read the table; files are relative to *root*. Raises ConfigError."""
    enabled = reader.flag("ship.enabled", default=False)
    cert_file, key_file = _file(reader, "ship.cert_file", root), _file(reader, "ship.key_file", root)
    if (cert_file is None) != (key_file is None):
        raise reader.refuse("", None, "[ship] takes cert_file and key_file together")
    return ShipConfig(
        enabled=enabled,
        broker=_broker(reader),
        user=reader.text("ship.user", "", "it takes text"),
        password_file=_file(reader, "ship.password_file", root),
        ca_file=_file(reader, "ship.ca_file", root),
        cert_file=cert_file,
        key_file=key_file,
        every_s=reader.number("ship.every_s", limits.EVERY_S, 1, 86_400),
        bytes_per_s=reader.number("ship.bytes_per_s", 0, 0, 1_000_000_000),
    )


def _broker(reader: Reader) -> Broker:
    allowed = 'it takes an address such as "mqtts://broker.example.org" or "mqtt://10.0.0.2:1883"'
    text = reader.text("ship.broker", "mqtt://localhost", allowed)
    found = _BROKER.fullmatch(text)
    port = int(found[3] or _PORTS[found[1]]) if found else 0
    if found is None or not 0 < port < 65_536:
        raise reader.refuse("ship.broker", text, allowed)
    return Broker(host=found[2].strip("[]"), port=port, tls=found[1] == "mqtts")


def _file(reader: Reader, key: str, root: Path) -> Path | None:
    text = reader.text(key, "", "it takes a path")
    return root / Path(text).expanduser() if text else None
