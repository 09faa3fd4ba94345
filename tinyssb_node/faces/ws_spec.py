"""Spec strings of WebSocket: ws:listen:HOST:PORT and ws:connect:HOST:PORT. Grammar: docs/reference/faces.md. Pure."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.faces.access import (
    EVERYBODY,
    PIN_RULE,
    PLAIN,
    Credentials,
    ListenerPolicy,
    read_pin,
)
from tinyssb_node.faces.spec_reader import SpecReader, bracketed, matching
from tinyssb_node.ids import FaceName

LISTEN_OPTIONS: Final = "peers, cert, key, clients, token, open, each, rate, idle, name"
"""Options of ``ws:listen``, as errors show them."""
CONNECT_OPTIONS: Final = "path, tls, ca, pin, cert, key, token, name"
"""Options of ``ws:connect``."""

_PATH = re.compile(r"/[A-Za-z0-9._~!$&'()*+,;=:@/?%-]{0,199}")
_FILE = re.compile(r"/[^\x00-\x1f\x7f]{1,199}")


@dataclass(frozen=True, slots=True, kw_only=True)
class WsListenSpec:
    """A WebSocket server."""

    host: str
    """Address to listen on: 0.0.0.0 or :: for all."""
    port: int
    """0 to 65535; 0 takes any free one."""
    peers: int = limits.WS_PEERS_MAX
    """Most connections at a time."""
    guard: ListenerPolicy = EVERYBODY
    """The access policy."""
    name: str | None = None
    """Prefix of the faces' names; None: ``ws:PORT``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class WsConnectSpec:
    """A WebSocket client."""

    host: str
    """Host name or address of the server."""
    port: int
    """1 to 65535."""
    path: str = "/"
    """Path, and query if any, of the URL."""
    credentials: Credentials = PLAIN
    """TLS settings and credentials of the caller."""
    name: str | None = None
    """The face's name; None: made from the rest."""

    @property
    def face_name(self) -> FaceName:
        """``ws:HOST:PORT``."""
        return FaceName(self.name or f"ws:{bracketed(self.host)}:{self.port}")

    @property
    def url(self) -> str:
        """The URL for a WebSocket library."""
        scheme = "wss" if self.credentials.tls else "ws"
        return f"{scheme}://{bracketed(self.host)}:{self.port}{self.path}"


def parse_ws(reader: SpecReader) -> WsListenSpec | WsConnectSpec | None:
    """Parse a spec string of WebSocket; None if it is of another kind. Raises FaceSpecError."""
    if reader.skip("ws:listen:"):
        return _parse_listen(reader)
    if reader.skip("ws:connect:"):
        return _parse_connect(reader)
    return None


def _parse_listen(reader: SpecReader) -> WsListenSpec:
    host, port = reader.place(port_min=0)
    peers = reader.number("peers", limits.WS_PEERS_MAX, 1, limits.WS_PEERS_MAX)
    guard = ListenerPolicy(
        certificate=_file(reader, "cert"),
        key=_file(reader, "key"),
        clients=_file(reader, "clients"),
        token=_file(reader, "token"),
        open=reader.switch("open", default=False),
        each=_bound(reader, "each", 1, limits.WS_PEERS_MAX),
        rate=_bound(reader, "rate", 10, 10_000),  # from the rate of deployed phones while all sets are equal
        idle_s=_bound(reader, "idle", 60, 86_400),  # adverts are up to half a minute apart
    )
    spec = WsListenSpec(host=host, port=port, peers=peers, guard=guard, name=reader.name())
    reader.end(LISTEN_OPTIONS)
    if (flaw := guard.flaw(host)) is not None:
        reader.fail(flaw, "docs/reference/faces.md has examples")
    return spec


def _parse_connect(reader: SpecReader) -> WsConnectSpec:
    host, port = reader.place(port_min=1)
    path = reader.option("path", "/", matching(_PATH), "a path that begins with '/'")
    credentials = Credentials(
        tls=reader.switch("tls", default=False),
        authorities=_file(reader, "ca"),
        pin=reader.option("pin", None, read_pin, PIN_RULE),
        certificate=_file(reader, "cert"),
        key=_file(reader, "key"),
        token=_file(reader, "token"),
    )
    spec = WsConnectSpec(host=host, port=port, path=path, credentials=credentials, name=reader.name())
    reader.end(CONNECT_OPTIONS)
    if (flaw := credentials.flaw(host)) is not None:
        reader.fail(flaw, "docs/reference/faces.md has examples")
    return spec


def _bound(reader: SpecReader, key: str, low: int, high: int) -> int | None:
    """Parse a number from *low*, which is not 0, to *high*; None where none is given."""
    return reader.number(key, 0, low, high) or None


def _file(reader: SpecReader, key: str) -> Path | None:
    text = reader.option(key, None, matching(_FILE), "the path of a file, which begins with '/'")
    return None if text is None else Path(text)
