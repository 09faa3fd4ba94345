"""Clients that read nothing, finish nothing or come in thousands: the others are answered as before."""

import asyncio
import contextlib
import socket
from pathlib import Path

import pytest

from tests.daemon.controlled import PATIENCE_S, Connect, Line, code_of, serving
from tinyssb_node import limits

SHOW = b'{"v":1,"id":1,"command":"show","arguments":{"feed":"me","seq":1}}\n'


async def never_reading(connect: Connect, stack: contextlib.AsyncExitStack) -> Line:
    """A client that asks for megabytes, and takes none of them."""
    line = await stack.enter_async_context(connect())
    transport = line.writer.transport
    assert isinstance(transport, asyncio.Transport)
    transport.pause_reading()
    line.writer.write(SHOW * 200)
    return line


async def test_a_client_that_never_reads_holds_up_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line, contextlib.AsyncExitStack() as stack:
        await line.ask("publish", content="ab" * limits.CONTENT_PUBLISH_MAX)
        for _ in range(5):
            await never_reading(connect, stack)
        for _ in range(50):
            assert "result" in (await line.ask("show", feed="me", seq=1))[0]


async def test_half_a_line_holds_up_nobody(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, connect), connect() as half, connect() as line:
        half.writer.write(SHOW[:-9])
        await half.writer.drain()
        for _ in range(10):
            assert "result" in (await line.ask("status"))[0]
        half.writer.write(SHOW[-9:])
        assert code_of(await half.reply()) == "unknown_entry"


async def test_thousands_of_connections_hold_up_nobody(tmp_path: Path) -> None:
    address = str(tmp_path / "c")
    async with serving(tmp_path) as (_, connect), connect() as line:
        await line.ask("status")
        loop = asyncio.get_running_loop()
        for _ in range(20):
            with contextlib.ExitStack() as stack:
                for _ in range(100):
                    sock = stack.enter_context(socket.socket(socket.AF_UNIX, socket.SOCK_STREAM))
                    sock.setblocking(False)
                    async with asyncio.timeout(PATIENCE_S):
                        await loop.sock_connect(sock, address)
                assert "result" in (await line.ask("status"))[0]
        async with connect() as late:
            assert "result" in (await late.ask("status"))[0]
        turned_away = (await line.ask("status"))[0]["result"]["turned_away"]
        assert turned_away >= 20 * (100 - limits.CONTROL_CLIENTS_MAX)


async def test_where_all_places_are_taken_the_slowest_makes_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line, contextlib.AsyncExitStack() as stack:
        await line.ask("publish", content="ab" * limits.CONTENT_PUBLISH_MAX)
        silent = await stack.enter_async_context(connect())
        for _ in range(limits.CONTROL_CLIENTS_MAX - 3):
            await (await stack.enter_async_context(connect())).ask("status")
        await never_reading(connect, stack)
        # They have been so for a moment only, which is no reason yet.
        async with connect() as late:
            assert code_of(await late.reply()) == "busy"
        monkeypatch.setattr(limits, "CONTROL_STALL_S", -1.0)
        for _ in range(2):
            late = await stack.enter_async_context(connect())
            assert "result" in (await late.ask("status"))[0]
        assert await asyncio.wait_for(silent.reader.read(), PATIENCE_S) == b""
        # Who asked and was answered owes nothing, however long ago.
        async with connect() as late:
            assert code_of(await late.reply()) == "busy"
        assert "result" in (await line.ask("status"))[0]


async def test_requests_sent_ahead_are_answered_in_order_up_to_one_that_is_none(tmp_path: Path) -> None:
    async with serving(tmp_path) as (_, connect), connect() as line:
        for id_ in range(40):
            line.send({"v": 1, "id": id_, "command": "goset"})
        line.writer.write(b"nonsense\n" + SHOW)
        assert [(await line.reply())["id"] for _ in range(40)] == list(range(40))
        assert code_of(await line.reply()) == "bad_request"
        assert await asyncio.wait_for(line.reader.read(), PATIENCE_S) == b""
