"""Radios of this package on emulated boards, in the loop's own time, made quicker."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from firmware_bridge.boards import BoardProfile, load_board
from firmware_bridge.chips.modem import Frame, Modem
from firmware_bridge.drivers.spi import SpiRadio
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, Signal
from firmware_bridge.emulation.loop import LoopTimeline
from tests.firmware_bridge.skipping_loop import SkippingLoop

PATIENCE_S = 10.0
"""How long a test waits for what should come at once, before it fails."""
SCALE = 10.0
"""How much quicker than real emulated time passes: a frame takes 20 ms."""
TINYSSB = Modem(frequency_hz=868_300_000, sync_word=0x58)
"""Plan EU868.a."""
SX127X = "dragino-lora-gps-hat"
SX126X = "meshadv-mini"


class WatchedEther(Ether):
    """An ether on which a test can wait for somebody to send."""

    def __init__(self) -> None:
        super().__init__(LoopTimeline(SCALE))
        self._begun: asyncio.Queue[Signal] = asyncio.Queue()

    def transmit(self, sender: EmulatedAntenna, signal: Signal) -> None:
        super().transmit(sender, signal)
        self._begun.put_nowait(signal)

    async def sending(self, then_us: int = 0) -> None:
        """Return *then_us* after the next frame has begun, of those nobody waited for yet."""
        async with asyncio.timeout(PATIENCE_S):
            signal = await self._begun.get()
        await self.after(signal.start_us + then_us - self.timeline.now_us())

    async def after(self, us: int) -> None:
        """Return when so much emulated time has passed."""
        reached = asyncio.get_running_loop().create_future()
        self.timeline.at(self.timeline.now_us() + us, lambda: reached.set_result(None))
        await reached


class Sink:
    """Implements RadioSink; remembers, and lets a test wait."""

    def __init__(self) -> None:
        self.ups = 0
        self.frames: list[Frame] = []
        self.resets: list[str] = []
        self._changed = asyncio.Event()

    def radio_up(self) -> None:
        self.ups += 1
        self._changed.set()

    def radio_heard(self, frame: Frame) -> None:
        self.frames.append(frame)
        self._changed.set()

    def radio_reset(self, reason: str) -> None:
        self.resets.append(reason)
        self._changed.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return when *condition* holds."""
        async with asyncio.timeout(PATIENCE_S):
            while not condition():
                self._changed.clear()
                await self._changed.wait()


class Running:
    """A radio that is up."""

    def __init__(self, board: EmulatedBoard, radio: SpiRadio, sink: Sink, task: "asyncio.Task[None]") -> None:
        self.board = board
        self.radio = radio
        self.sink = sink
        self.task = task

    async def heard(self, count: int) -> list[bytes]:
        """The first *count* frames."""
        await self.sink.until(lambda: len(self.sink.frames) >= count)
        return [frame.payload for frame in self.sink.frames]


@asynccontextmanager
async def radio(
    ether: Ether,
    name: str,
    board: str | BoardProfile = SX127X,
    modem: Modem = TINYSSB,
    check_s: float = 600.0,
) -> AsyncIterator[Running]:
    """A radio on *ether*, up until the block ends; it must not have failed by itself."""
    profile = load_board(board) if isinstance(board, str) else board
    emulated, sink = EmulatedBoard(profile, ether, name), Sink()
    loop = asyncio.get_running_loop()
    assert isinstance(loop, SkippingLoop)
    driver = SpiRadio(
        profile, modem, 14, sink, emulated.open, sleep_s=loop.skip, check_s=check_s, time_scale=SCALE
    )
    task = asyncio.create_task(driver.run())
    try:
        up = asyncio.create_task(sink.until(lambda: sink.ups > 0))
        await asyncio.wait([task, up], return_when=asyncio.FIRST_COMPLETED)
        up.cancel()
        if task.done():
            task.result()
        yield Running(emulated, driver, sink, task)
        assert not task.done() or task.exception() is not None
    finally:
        task.cancel()
        await asyncio.wait([task])
    assert emulated.chip.violations == []
