"""How to get to the page: addresses of this machine, a link that has the token in it, the link as a QR code."""

import fcntl
import io
import socket
import struct
from collections.abc import Iterator
from ipaddress import IPv4Address, ip_address
from urllib.parse import quote

_ADDRESSES_MAX = 8
"""Addresses of this machine that are shown: more fit on no screen."""
_GET_ADDRESS = 0x8915
"""SIOCGIFADDR of Linux, netdevice(7)."""
_REQUEST_SIZE = 256
"""Bytes of a `struct ifreq` and some; the address is in bytes 20 to 23."""


def page_address(host: str, port: int, *, tls: bool = False) -> str:
    """The address of the page at *host*, as one types it into a browser."""
    scheme = "https" if tls else "http"
    return f"{scheme}://[{host}]:{port}/" if ":" in host else f"{scheme}://{host}:{port}/"


def page_hosts(host: str) -> list[str]:
    """Addresses at which a page that listens at *host* can be reached, what others can use first."""
    try:
        everywhere = ip_address(host).is_unspecified
    except ValueError:
        everywhere = False
    if not everywhere:
        return [host]
    found = [str(each) for each in interface_addresses() if not each.is_loopback]
    return [*found[:_ADDRESSES_MAX], "127.0.0.1"]


def page_addresses(host: str, port: int, *, tls: bool = False) -> list[str]:
    """The same as addresses for a browser."""
    return [page_address(each, port, tls=tls) for each in page_hosts(host)]


def link(address: str, token: str | None) -> str:
    """A link that opens the page; what stands behind `#` never leaves the browser on its own."""
    return address if token is None else f"{address}#token={quote(token, safe='')}"


def guest_link(address: str, token: str) -> str:
    """A link that lets guests in."""
    return f"{address}#guest={quote(token, safe='')}"


def qr_code(text: str) -> str | None:
    """*text* as a QR code of block characters for a dark terminal; None if the library for it is not installed."""
    try:
        import segno
    except ImportError:
        return None
    drawn = io.StringIO()
    segno.make(text, error="l", micro=False).terminal(drawn, compact=True, border=2)
    return drawn.getvalue().rstrip("\n")


def interface_addresses() -> Iterator[IPv4Address]:
    """The IPv4 address of each network interface, as Linux tells it; on other systems none."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            request = struct.pack(f"{_REQUEST_SIZE}s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(asking.fileno(), _GET_ADDRESS, request)
            except OSError:
                continue  # it has none, or this is no Linux
            yield IPv4Address(answer[20:24])
