"""Addresses that a page's server listens on, and the host names that it answers to."""

import socket
from ipaddress import ip_address


def is_local(host: str) -> bool:
    """Return whether an address to listen on can be reached only from this machine."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def allowed_hosts(host: str) -> list[str]:
    """Return the host names that a server listening at *host* answers to, so that no other site can read it by DNS
    rebinding."""
    return ["localhost", "127.0.0.1", "[::1]", "::1", host] if is_local(host) else ["*"]


def listen(host: str, port: int) -> socket.socket:
    """Return a listening socket; port 0 takes a free one. Raises OSError."""
    family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
    return socket.create_server((host, port), family=family)
