"""Messages to the service manager."""

import contextlib
import errno
import os
import socket
import threading
from collections.abc import Iterator

import pytest

from tinyssb_node.daemon.notify import Notifier


@pytest.fixture
def manager() -> Iterator[tuple[str, socket.socket]]:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as sock:
        name = f"tinyssb-notify-{os.getpid()}"
        sock.bind("\0" + name)
        sock.settimeout(5)
        yield "@" + name, sock


def test_it_hears_of_everything(manager: tuple[str, socket.socket]) -> None:
    address, sock = manager
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000"}, 7)
    notifier.ready("3 feeds")
    for now_us in (0, 1_499_999, 1_500_000):
        notifier.alive(now_us)
    notifier.stopping()
    heard = [sock.recv(99) for _ in range(4)]
    assert heard == [b"READY=1\nSTATUS=3 feeds", b"WATCHDOG=1", b"WATCHDOG=1", b"STOPPING=1"]


def test_a_sign_of_life_that_did_not_get_through_is_given_again(
    manager: tuple[str, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    address, sock = manager
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000"}, 7)

    class Crowded(socket.socket):
        def sendto(self, *_args: object) -> int:
            raise OSError(errno.ENOBUFS, "No buffer space available")

    with monkeypatch.context() as patch:
        patch.setattr(socket, "socket", Crowded)
        notifier.ready("")
        notifier.alive(0)
    # The next tick, and not half a period later: by then it is too late.
    for now_us in (1_000, 2_000, 1_501_000):
        notifier.alive(now_us)
    sock.settimeout(0)
    assert [sock.recv(99) for _ in range(2)] == [b"WATCHDOG=1"] * 2
    with pytest.raises(BlockingIOError):
        sock.recv(99)


def test_a_manager_that_reads_nothing_keeps_the_node_from_nothing(manager: tuple[str, socket.socket]) -> None:
    address, sock = manager
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as other, contextlib.suppress(BlockingIOError):
        other.setblocking(False)
        while True:
            other.sendto(b"unread", "\0" + address[1:])
    notifier = Notifier({"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000"}, 7)
    tick = threading.Thread(target=notifier.alive, args=(0,), daemon=True)
    tick.start()
    tick.join(5)
    assert not tick.is_alive()
    assert sock.recv(99) == b"unread"
    notifier.alive(1_000)
    heard = b"unread"
    while heard == b"unread":
        heard = sock.recv(99)
    assert heard == b"WATCHDOG=1", "the next tick said it"


@pytest.mark.parametrize(
    "environ",
    [
        {},
        {"WATCHDOG_USEC": "0"},
        {"WATCHDOG_USEC": "soon"},
        {"WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "8"},
    ],
)
def test_without_a_watchdog_of_ours_no_life_is_shown(environ: dict[str, str]) -> None:
    assert Notifier(environ, 7).watchdog_us is None


def test_a_manager_that_is_gone_is_no_reason_to_stop() -> None:
    notifier = Notifier({"NOTIFY_SOCKET": "/nowhere/at/all", "WATCHDOG_USEC": "2"}, 7)
    notifier.ready("")
    notifier.alive(0)
