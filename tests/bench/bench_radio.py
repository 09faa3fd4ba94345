"""Cost of driving a LoRa chip: time between a frame and the air, and the processor while listening."""

import asyncio
import statistics
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from firmware_bridge.boards import load_board
from firmware_bridge.chips.modem import Frame, Modem
from firmware_bridge.drivers.spi import SpiRadio
from firmware_bridge.emulation.board import EmulatedBoard
from firmware_bridge.emulation.ether import Ether
from firmware_bridge.emulation.loop import LoopTimeline
from tests.bench.figure import Figure

FRAMES = 20
"""Frames sent for each figure."""
LISTENING_S = 3.0
"""How long a radio is left to listen."""
SEND_MAX_MS = 3.0
EFFECT_MAX_MS = 5.0
LISTENING_MAX_PERCENT = 2.0
MODEM = Modem(frequency_hz=868_300_000, sync_word=0x58)
BOARDS = {"SX1276": "dragino-lora-gps-hat", "SX1262": "meshadv-mini"}
LISTENED_MS = {"SX1276": 2.05, "SX1262": 2.6}
"""Time of activity detection itself at SF7 and 125 kHz: it is the chip's, not the driver's."""


class Sink:
    """Takes the time of what it is told."""

    def __init__(self) -> None:
        self.is_up = asyncio.Event()
        self.heard_s: asyncio.Queue[float] = asyncio.Queue()

    def radio_up(self) -> None:
        """See RadioSink."""
        self.is_up.set()

    def radio_heard(self, _frame: Frame) -> None:
        """See RadioSink."""
        self.heard_s.put_nowait(asyncio.get_running_loop().time())

    def radio_reset(self, reason: str) -> None:
        """See RadioSink."""
        raise AssertionError(reason)


@asynccontextmanager
async def listening(ether: Ether, board: str) -> AsyncIterator[tuple[SpiRadio, Sink]]:
    """A radio that is up."""
    sink = Sink()
    emulated = EmulatedBoard(load_board(board), ether, board)
    radio = SpiRadio(emulated.profile, MODEM, 14, sink, emulated.open)
    task = asyncio.create_task(radio.run())
    await sink.is_up.wait()
    yield radio, sink
    task.cancel()
    await asyncio.wait([task])


async def measure(sender: str, receiver: str) -> tuple[float, float]:
    """Milliseconds from ``send`` to the first chirp, and from a frame's end to its being told, medians."""
    ether, clock = Ether(LoopTimeline()), asyncio.get_running_loop().time
    to_air_ms, to_effect_ms = [], []
    async with AsyncExitStack() as stack:
        radio, _ = await stack.enter_async_context(listening(ether, BOARDS[sender]))
        _, sink = await stack.enter_async_context(listening(ether, BOARDS[receiver]))
        for _ in range(FRAMES):
            asked_s = clock()
            await radio.send(bytes(124))
            signal = ether.sent[-1][1]
            heard_s = await sink.heard_s.get()
            to_air_ms.append((signal.start_us / 1e6 - asked_s) * 1e3 - LISTENED_MS[sender])
            to_effect_ms.append((heard_s - signal.end_us / 1e6) * 1e3)
    return statistics.median(to_air_ms), statistics.median(to_effect_ms)


async def idle(chip: str) -> float:
    """Percent of one core that a radio takes while nobody sends, its emulation included."""
    async with listening(Ether(LoopTimeline()), BOARDS[chip]):
        used_s, begun_s = time.process_time(), time.monotonic()
        await asyncio.sleep(LISTENING_S)
        return 100 * (time.process_time() - used_s) / (time.monotonic() - begun_s)


def run() -> list[Figure]:
    """All figures."""
    figures = []
    for sender, receiver in (("SX1276", "SX1262"), ("SX1262", "SX1276")):
        to_air_ms, to_effect_ms = asyncio.run(measure(sender, receiver))
        figures += [
            Figure(
                f"{sender} (emulated): from send to the air, beyond what the chip listens",
                to_air_ms,
                "ms",
                f"at most {SEND_MAX_MS:g} ms",
                to_air_ms <= SEND_MAX_MS,
            ),
            Figure(
                f"{receiver} (emulated): from a frame's end to its being told",
                to_effect_ms,
                "ms",
                f"at most {EFFECT_MAX_MS:g} ms",
                to_effect_ms <= EFFECT_MAX_MS,
            ),
        ]
    for chip in BOARDS:
        percent = asyncio.run(idle(chip))
        figures.append(
            Figure(
                f"{chip} (emulated): processor while listening",
                percent,
                "% of a core",
                f"at most {LISTENING_MAX_PERCENT:g} %",
                percent <= LISTENING_MAX_PERCENT,
            )
        )
    return figures
