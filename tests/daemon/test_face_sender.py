"""Packets reach their face in order, and what left is told once."""

import asyncio
from collections.abc import Callable

import structlog

from tests.daemon.fakes import FakeFace
from tinyssb_node.daemon.face_sender import FaceSender


def telling(left: list[tuple[int, int]]) -> Callable[[FaceSender, int, int, int], None]:
    return lambda _port, generation, count, _kept: left.append((generation, count))


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_packets_wait_while_the_face_is_busy_and_go_together() -> None:
    face, left = FakeFace(), list[tuple[int, int]]()
    port = FaceSender(face, "s", telling(left), structlog.get_logger())
    face.gate.clear()
    port.give(b"1")
    await settle()
    port.give(b"2")
    port.give(b"3")
    await settle()
    assert left == []
    face.gate.set()
    await settle()
    assert face.packets == [b"1", b"2", b"3"]
    assert left == [(0, 1), (0, 2)]
    port.close()


async def test_what_was_forgotten_is_not_sent_and_the_rest_is_of_an_older_generation() -> None:
    face, left = FakeFace(), list[tuple[int, int]]()
    port = FaceSender(face, "s", telling(left), structlog.get_logger())
    face.gate.clear()
    port.give(b"under way")
    await settle()
    port.give(b"waiting")
    port.discard()
    port.give(b"new")
    face.gate.set()
    await settle()
    assert face.packets == [b"under way", b"new"]
    assert left == [(0, 1), (1, 1)]
    port.close()


async def test_what_carrier_sense_kept_is_told_apart() -> None:
    told = list[tuple[int, int]]()

    def left(_port: FaceSender, _generation: int, count: int, kept: int) -> None:
        told.append((count, kept))

    face = FakeFace(keeps=1)
    port = FaceSender(face, "s", left, structlog.get_logger())
    port.give(b"1")
    port.give(b"2")
    await settle()
    assert told == [(0, 2)]
    assert face.packets == []
    port.close()
