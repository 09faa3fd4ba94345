"""The queue between a link and its reader."""

import asyncio

import pytest

from firmware_bridge.ble import limits
from firmware_bridge.ble.errors import LinkClosedError
from firmware_bridge.ble.link import Inbox

VALUES = [bytes([number]) for number in range(limits.VALUES_WAITING)]


async def full() -> Inbox:
    inbox = Inbox()
    for value in VALUES:
        await inbox.put(value)
    return inbox


async def test_values_come_out_in_order() -> None:
    inbox = await full()
    assert [await inbox.take() for _ in VALUES] == VALUES


async def test_a_writer_waits_for_room_and_a_notifier_does_not() -> None:
    inbox = await full()
    late = asyncio.create_task(inbox.put(b"late"))
    inbox.offer(b"lost")
    await asyncio.sleep(0)
    assert (late.done(), inbox.dropped) == (False, 1)
    taken = [await inbox.take()]
    await late
    taken += [await inbox.take() for _ in VALUES]
    assert taken == [*VALUES, b"late"]


async def test_a_reader_waits_for_values() -> None:
    inbox = Inbox()
    reader = asyncio.create_task(inbox.take())
    await asyncio.sleep(0)
    assert not reader.done()
    inbox.offer(b"at last")
    assert await reader == b"at last"


async def test_the_end_comes_after_all_that_came_before_it() -> None:
    inbox = await full()
    late = asyncio.create_task(inbox.put(b"late"))
    await asyncio.sleep(0)
    inbox.end("gone")
    inbox.end("for another reason")
    await late
    await inbox.put(b"later")
    inbox.offer(b"and later")
    assert [await inbox.take() for _ in VALUES] == VALUES
    for _ in range(2):
        with pytest.raises(LinkClosedError, match=r"^gone$"):
            await inbox.take()


async def test_a_reader_that_waits_is_told_of_the_end() -> None:
    inbox = Inbox()
    reader = asyncio.create_task(inbox.take())
    await asyncio.sleep(0)
    inbox.end("gone")
    with pytest.raises(LinkClosedError, match="gone"):
        await reader
