"""The screen without a terminal: keys in, text out."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from rich.color import ColorType
from rich.segment import Segment
from textual.pilot import Pilot

from tinyssb_node.tui.app import Tui
from tinyssb_node.tui.screen_state import ScreenSource

PATIENCE_S = 20.0
"""How long a test waits for what should come at once, before it fails."""


@dataclass
class Screen:
    """A running application, its keyboard and what it shows."""

    app: Tui
    pilot: Pilot[None]

    async def settle(self) -> None:
        """Wait until nothing is under way that would change what is shown."""
        async with asyncio.timeout(PATIENCE_S):
            await self.pilot.pause()
            while self.app.busy:
                await self.pilot.pause()
            await self.pilot.pause()

    async def until(self, words: str) -> None:
        """Wait for *words*."""
        async with asyncio.timeout(PATIENCE_S):
            while words not in self.text():
                await self.settle()

    async def press(self, *keys: str) -> None:
        """Press keys, one after the other."""
        for key in keys:
            await self.pilot.press(key)
            await self.settle()

    async def look(self) -> None:
        """Have the application look at the node again."""
        self.app.look_soon()
        await self.settle()

    def segments(self) -> list[list[Segment]]:
        """Return the lines of the screen, with styles."""
        return [list(strip) for strip in self.app.screen._compositor.render_strips()]

    def lines(self) -> list[str]:
        """Return the lines of the screen as text."""
        return ["".join(part.text for part in line).rstrip() for line in self.segments()]

    def text(self) -> str:
        """All of it."""
        return "\n".join(self.lines())

    def reversed(self) -> list[str]:
        """Return the texts in reverse video."""
        return [
            part.text
            for line in self.segments()
            for part in line
            if part.style is not None and part.style.reverse and part.text.strip()
        ]

    def check(self, width: int) -> None:
        """No line is wider than the screen, nothing is on it but what can be seen, in the terminal's 16 colours."""
        for line in self.segments():
            assert sum(part.cell_length for part in line) == width
            for part in line:
                assert part.control is None
                assert all(char.isprintable() or char == "\u200d" for char in part.text), repr(part.text)
                assert "\u202e" not in part.text
                colours = [part.style.color, part.style.bgcolor] if part.style is not None else []
                assert all(
                    one is None or one.type in {ColorType.DEFAULT, ColorType.STANDARD} for one in colours
                ), part


@asynccontextmanager
async def shown(
    node: ScreenSource, *keys: str, size: tuple[int, int] = (80, 24), pause_s: float | None = None
) -> AsyncIterator[Screen]:
    """The screen of *node*, after *keys*. It looks at the node when it is told to, and not by the clock."""
    app = Tui(node, look_s=None, pause_s=pause_s)
    async with app.run_test(size=size) as pilot:
        screen = Screen(app, pilot)
        await screen.settle()
        await screen.press(*keys)
        yield screen
