"""Packets through emulated radios on pseudo-terminals: whether all of them come, and what they cost."""

import asyncio
import resource
import time
from collections.abc import Sequence

from tests.bench.figure import Figure
from tests.emulated.serial_air import Air
from tests.faces.recording_sink import RecordingSink, running
from tests.faces.serial_rig import KINDS, endpoint, plugged, spec_text

PACKETS = 1_000
"""Packets per kind of radio, half of them each way."""


def run() -> list[Figure]:
    """Measure each kind of radio."""
    figures = []
    for kind in KINDS:
        figures += asyncio.run(_measure(kind))
    return figures


async def _measure(kind: str) -> list[Figure]:
    packets = [number.to_bytes(4) * 30 for number in range(PACKETS)]
    air, make = Air(), KINDS[kind][2]
    with plugged(make(air, 1)) as left_plug, plugged(make(air, 2)) as right_plug:
        async with (
            running(endpoint(spec_text(kind, left_plug.path))) as left,
            running(endpoint(spec_text(kind, right_plug.path))) as right,
        ):
            await left.until(lambda: bool(left.faces))
            await right.until(lambda: bool(right.faces))
            begun_s, cpu_s = time.monotonic(), _cpu_s()
            for there, back in zip(packets[::2], packets[1::2], strict=True):
                await _send(left, there)
                await _send(right, back)
            await asyncio.sleep(0.5)
            took_s, cpu_s = time.monotonic() - begun_s - 0.5, _cpu_s() - cpu_s
            on_air_us = left.face().profile.airtime_us[120]
    amiss = _amiss(right.packets, packets[::2]) + _amiss(left.packets, packets[1::2])
    late_us = took_s / PACKETS * 1e6 - on_air_us
    return [
        Figure(f"{kind}: of {PACKETS:,} packets, lost or out of order", amiss, "", "0", amiss == 0),
        Figure(f"{kind}: time per packet beyond its airtime, both ends emulated too", late_us / 1e3, "ms"),
        Figure(f"{kind}: processor time per packet, both ends emulated too", cpu_s / PACKETS * 1e3, "ms"),
    ]


async def _send(sink: RecordingSink, packet: bytes) -> None:
    """Send *packet*, again if the radio keeps it, as a node does."""
    while await sink.face().send([packet]) == 0:
        continue


def _amiss(received: Sequence[bytes], sent: Sequence[bytes]) -> int:
    """Packets that are missing, or not in their place."""
    return abs(len(sent) - len(received)) + sum(
        left != right for left, right in zip(received, sent, strict=False)
    )


def _cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
