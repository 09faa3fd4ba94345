"""Addresses that a page's server listens on, and the host names that it answers to."""

import socket
from ipaddress import IPv6Address, IPv6Network, ip_address


def is_local(host: str) -> bool:
    """Return whether an address to listen on can be reached only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def owner_of(address: str) -> str:
    """Return the part of *address* that one person controls: all of an IPv4 address, the first half of an IPv6 one."""
    try:
        parsed = ip_address(address.partition("%")[0])
    except ValueError:
        return address
    if isinstance(parsed, IPv6Address):
        if parsed.ipv4_mapped is None:
            return str(IPv6Network((int(parsed), 64), strict=False))
        parsed = parsed.ipv4_mapped
    return str(parsed)


def allowed_hosts(host: str) -> list[str]:
    """Return the host names that a server listening at *host* answers to, so that no other site can read it by DNS
    rebinding."""
    return ["localhost", "127.0.0.1", "[::1]", "::1", host] if is_local(host) else ["*"]


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises OSError.

    Its connections send at once: Nagle's algorithm (RFC 896) would keep the body of a response until the browser
    acknowledges its headers, some 40 ms later. asyncio does so only for sockets whose protocol is stated.
    """
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    listener = socket.create_server((host, port), family=family)
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listener
