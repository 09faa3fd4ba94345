"""The process of a hostile peer: started before the daemon, it attacks when it is told to."""

import asyncio
import contextlib
import multiprocessing
from collections.abc import Callable, Coroutine, Iterator
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from typing import TYPE_CHECKING, Final, Self

from tests.torture.checks import BrokenError

if TYPE_CHECKING:
    from tests.torture.hostile_face import HostileFace

START_S: Final = 60.0
"""Longest wait until it is ready."""


class Stage:
    """The view of an attack in its own process: when it begins and ends, and its counter."""

    def __init__(self, seed: int, ready: Event, begun: Event, over: Event, sent: "Synchronized[int]") -> None:
        self.seed = seed
        self._ready = ready
        self._begun = begun
        self._over = over
        self._sent = sent
        self._count = 0

    async def begin(self) -> None:
        """Report that the attack could begin, and return when it may."""
        self._ready.set()
        await until(self._begun.is_set)

    def count(self) -> None:
        """Count something that was sent."""
        self._count += 1
        if self._count % 16 == 0:
            self._sent.value = self._count

    async def run(self, *attacks: Coroutine[None, None, None]) -> None:
        """Run *attacks* until the end."""
        tasks = [asyncio.create_task(each) for each in attacks]
        while not self._over.is_set():
            await asyncio.sleep(0.05)
            for task in tasks:
                if task.done():
                    task.result()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._sent.value = self._count


async def until(met: Callable[[], bool], every_s: float = 0.05) -> None:
    """Return when *met* returns True, which nothing announces."""
    while not met():  # noqa: ASYNC110 - as said
        await asyncio.sleep(every_s)


class HostilePeer:
    """The same from outside."""

    def __init__(self, face: "HostileFace", seconds: float, seed: int) -> None:
        spawn = multiprocessing.get_context("spawn")
        self._ready, self._begun, self._over = spawn.Event(), spawn.Event(), spawn.Event()
        self._sent = spawn.Value("Q")
        arguments = (face, seed, self._ready, self._begun, self._over, self._sent)
        self._face, self._seconds = face, seconds
        self._process = spawn.Process(target=_run, args=arguments, daemon=True)

    @contextlib.contextmanager
    def ready(self) -> Iterator[Self]:
        """Have it run, and ready to begin."""
        self._process.start()
        try:
            if not self._ready.wait(START_S):
                raise BrokenError(f"{self._face.name}: the attack does not start")
            yield self
        finally:
            self._process.kill()
            self._process.join()

    def begin(self) -> None:
        """Let it attack."""
        self._begun.set()

    def end(self) -> int:
        """Let it end; returns how much it sent."""
        alive = self._process.is_alive()
        self._over.set()
        self._process.join(START_S)
        if not alive:
            raise BrokenError(f"{self._face.name}: the attack ended by itself")
        return int(self._sent.value)


def _run(
    face: "HostileFace", seed: int, ready: Event, begun: Event, over: Event, sent: "Synchronized[int]"
) -> None:
    asyncio.run(face.attack(Stage(seed, ready, begun, over, sent)))
