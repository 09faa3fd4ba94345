"""Order of events on an emulated ether."""

import asyncio
from collections.abc import Callable

import pytest

from firmware_bridge.emulation.loop import LoopTimeline, shared_ether
from firmware_bridge.emulation.timeline import Timeline
from tests.emulated.timeline import VirtualTimeline


def test_things_happen_in_their_turn_and_at_their_time() -> None:
    timeline = VirtualTimeline()
    seen: list[tuple[str, int]] = []

    def happen(name: str) -> Callable[[], None]:
        return lambda: seen.append((name, timeline.now_us()))

    for name, time_us in (("late", 30), ("early", 10), ("also early", 10)):
        timeline.at(time_us, happen(name))
    timeline.advance(20)
    assert seen == [("early", 10), ("also early", 10)]
    assert timeline.now_us() == 20
    timeline.advance(100)
    assert seen[-1] == ("late", 30)
    assert timeline.next_us() is None


def test_what_happens_may_bring_more_about() -> None:
    timeline = VirtualTimeline()
    seen: list[int] = []

    def again() -> None:
        seen.append(timeline.now_us())
        if len(seen) < 5:
            timeline.at(timeline.now_us() + 7, again)

    timeline.at(0, again)
    timeline.advance(21)
    assert seen == [0, 7, 14, 21]


def test_who_looks_late_sees_each_thing_at_its_own_time() -> None:
    clock = [0]
    timeline = Timeline(lambda: clock[0])
    seen: list[int] = []
    timeline.at(10, lambda: seen.append(timeline.now_us()))
    timeline.at(10, timeline.catch_up)
    timeline.at(20, lambda: seen.append(timeline.now_us()))
    clock[0] = 1_000
    timeline.catch_up()
    assert seen == [10, 20]
    timeline.at(5, lambda: seen.append(timeline.now_us()))
    timeline.catch_up()
    assert seen[-1] == 1_000, "what is past happens now"


async def test_a_loop_moves_it_on() -> None:
    timeline = LoopTimeline(1_000.0)
    over = asyncio.Event()
    seen: list[str] = []
    begun_us = timeline.now_us()
    timeline.at(begun_us + 200_000, lambda: seen.append("second"))
    timeline.at(begun_us + 200_000, over.set)
    timeline.at(begun_us + 100_000, lambda: seen.append("first"))
    async with asyncio.timeout(5):
        await over.wait()
    assert seen == ["first", "second"]


async def test_a_loop_has_one_ether_to_share() -> None:
    assert shared_ether() is shared_ether()


@pytest.mark.parametrize("scale", [0.5, 20.0])
async def test_time_passes_as_quick_as_asked(scale: float) -> None:
    loop = asyncio.get_running_loop()
    timeline = LoopTimeline(scale)
    begun_s, begun_us = loop.time(), timeline.now_us()
    over = loop.create_future()
    timeline.at(begun_us + int(20_000 * scale), lambda: over.set_result(None))
    await over
    assert loop.time() - begun_s >= 0.0199
