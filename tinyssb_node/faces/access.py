"""Access policy of a listener, and credentials of a caller: as configured, before any file is read. Pure."""

import re
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Final

from tinyssb_node.faces import limits

_PIN = re.compile(r"[0-9a-f]{64}")
PIN_RULE: Final = (
    "64 hexadecimal digits, with or without colons, as `openssl x509 -fingerprint -sha256` prints them"
)
"""The form of a pin, in words."""


def is_local(host: str) -> bool:
    """Return True if an address to listen on, or to call, belongs to this machine alone."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def read_pin(text: str) -> bytes | None:
    """Parse the fingerprint of a certificate, 32 bytes; None if *text* is none."""
    digits = text.replace(":", "").lower()
    return bytes.fromhex(digits) if _PIN.fullmatch(digits) else None


@dataclass(frozen=True, slots=True, kw_only=True)
class ListenerPolicy:
    """The rule that decides who may connect, and how much each may send."""

    certificate: Path | None = None
    """Our certificate, for TLS (PEM); None: no TLS."""
    key: Path | None = None
    """The key to it."""
    clients: Path | None = None
    """Certificates of the authorities of which a client must have one (PEM)."""
    token: Path | None = None
    """The file with the token that a client must show."""
    open: bool = False
    """True if it is intended that everyone may connect."""
    each: int | None = None
    """Most connections from one address at a time; None: as many as there are places."""
    rate: int | None = None
    """Packets a second that one address may send for long; None: as many as the node takes."""
    idle_s: int | None = None
    """Seconds without a packet after which a connection is ended; None: never."""

    @property
    def asks(self) -> bool:
        """True if a client needs credentials."""
        return self.token is not None or self.clients is not None

    def flaw(self, host: str) -> str | None:
        """Return a contradiction in the options of a listener at *host*; None if there is none."""
        if (self.certificate is None) != (self.key is None):
            return "a certificate and its key are needed both"
        if self.clients is not None and self.certificate is None:
            return "certificates of clients are asked for within TLS, which takes a certificate and a key"
        if self.token is not None and self.certificate is None and not is_local(host):
            return (
                "a token sent without TLS is readable: add a certificate and its key, or listen on 127.0.0.1"
            )
        if self.open and self.asks:
            return "it cannot be open to all and ask for something"
        return None

    def warning(self, host: str) -> str | None:
        """Return a warning for the user of a listener at *host*; None if there is none."""
        if self.asks or self.open or is_local(host):
            return None
        return "everyone who can reach this machine may connect"


@dataclass(frozen=True, slots=True, kw_only=True)
class Credentials:
    """The certificates that a caller trusts, and the credentials it sends."""

    tls: bool = False
    """True if TLS is used."""
    authorities: Path | None = None
    """Certificates of the authorities of which the server must have one (PEM); None: the system's list."""
    pin: bytes | None = None
    """Fingerprint of the server's certificate, 32 bytes."""
    certificate: Path | None = None
    """Our own certificate (PEM)."""
    key: Path | None = None
    """The key to it."""
    token: Path | None = None
    """The file with the token to show."""

    def flaw(self, host: str) -> str | None:
        """Return a contradiction in the options of a call to *host*; None if there is none."""
        if (self.certificate is None) != (self.key is None):
            return "a certificate and its key are needed both"
        if not self.tls and (self.authorities or self.pin or self.certificate):
            return "certificates are a matter of TLS, which is off"
        if self.token is not None and not self.tls and not is_local(host):
            return "a token sent without TLS can be read by others: use TLS"
        return None


EVERYBODY: Final = ListenerPolicy()
"""A listener that asks for nothing."""
PLAIN: Final = Credentials()
"""A caller that shows nothing."""


class Quotas:
    """Quotas of each address at a listener: connections at a time, packets a second."""

    def __init__(self, guard: ListenerPolicy) -> None:
        self._each = guard.each
        self._rate = guard.rate
        self._open: dict[str, int] = {}
        self._spent: dict[str, tuple[float, float]] = {}

    def enter(self, address: str) -> bool:
        """Count one more connection from *address*. Return False, and do not count it, if there are too many."""
        place = owner_of(address)
        count = self._open.get(place, 0)
        if self._each is not None and count >= self._each:
            return False
        self._open[place] = count + 1
        return True

    def leave(self, address: str) -> None:
        """Count one connection less."""
        place = owner_of(address)
        count = self._open.pop(place) - 1
        if count:
            self._open[place] = count

    def wait_s(self, address: str, size: int, now_s: float) -> float:
        """Return the seconds until *address*, which sent *size* bytes, may send more."""
        if self._rate is None:
            return 0.0
        place = owner_of(address)
        spent, then_s = self._spent.pop(place, (0.0, now_s))
        packets = max(1.0, size / limits.QUOTA_PACKET_SIZE)
        spent = max(0.0, spent - (now_s - then_s) * self._rate) + packets
        # The count of an address outlives its connections, until later addresses evict it.
        self._spent[place] = (spent, now_s)
        if len(self._spent) > limits.QUOTA_PLACES_MAX:
            del self._spent[next(iter(self._spent))]
        return max(0.0, spent / self._rate - limits.QUOTA_BURST_S)


def owner_of(address: str) -> str:
    """Return the part of *address* that one person controls: all of an IPv4 address, the first half of an IPv6 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if parsed.version == 4:
        return str(parsed)
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped is not None else parsed.packed[:8].hex()
