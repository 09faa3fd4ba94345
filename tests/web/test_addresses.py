"""Sockets that a page's server listens on."""

import socket

import pytest

from tinyssb_node.web.page_server.addresses import listen


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost"])
def test_a_body_does_not_wait_until_its_headers_are_acknowledged(host: str) -> None:
    with listen(host, 0) as listener, socket.create_connection(listener.getsockname()[:2]):
        connection, _ = listener.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
