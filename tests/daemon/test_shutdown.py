"""A process beside the daemon ends when it is told to, and when the daemon is no more."""

import asyncio
import os
import signal
import sys

import pytest

from tinyssb_node.daemon.shutdown import EXIT_REASON_FD, report_exit_reason, watch_for_shutdown


@pytest.fixture
def daemons_end(monkeypatch):
    """The end of a pipe that the daemon would hold; the other one is standard input."""
    ours, theirs = os.pipe()
    with os.fdopen(ours) as source:
        monkeypatch.setattr(sys, "stdin", source)
        yield os.fdopen(theirs, "wb", buffering=0)


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_signal_is_the_end(number):
    ended = asyncio.Event()
    watch_for_shutdown(ended.set, supervised=False)
    os.kill(os.getpid(), number)
    await asyncio.wait_for(ended.wait(), 5)


async def test_it_ends_with_who_started_it_and_not_before(daemons_end):
    ended = asyncio.Event()
    ends = []

    def end():
        ends.append(ended.is_set())
        ended.set()

    watch_for_shutdown(end, supervised=True)
    daemons_end.write(b"nobody should")
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not ended.is_set()
    daemons_end.close()
    await asyncio.wait_for(ended.wait(), 5)
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert ends == [False], "once"


async def test_who_was_started_by_hand_does_not_read(daemons_end):
    ended = asyncio.Event()
    watch_for_shutdown(ended.set, supervised=False)
    daemons_end.close()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not ended.is_set()


def test_why_is_told_to_who_started_it_and_to_nobody_else(monkeypatch):
    reading, writing = os.pipe()
    monkeypatch.delenv(EXIT_REASON_FD, raising=False)
    report_exit_reason("Nobody", "hears this.")
    monkeypatch.setenv(EXIT_REASON_FD, str(writing))
    report_exit_reason("The port\nis taken.", "Take another.")
    assert os.read(reading, 100) == b"The port is taken.\nTake another."
    os.close(reading)
    report_exit_reason("The daemon", "is gone.")
    os.close(writing)
