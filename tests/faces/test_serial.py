"""Faces on emulated radios at pseudo-terminals: packets go across, and cables are pulled."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

from firmware_bridge.emulation.serial_air import RSSI_DBM, SNR_DB, Air, Device
from tests.faces.recording_sink import RecordingSink, running
from tests.faces.serial_rig import KINDS, endpoint, plugged, spec_text

PACKETS = [number.to_bytes(4) * 30 for number in range(40)]


@dataclass
class Pair:
    """Two nodes with a radio each."""

    air: Air
    left: RecordingSink
    right: RecordingSink


@asynccontextmanager
async def a_pair(kind: str) -> AsyncIterator[Pair]:
    air = Air()
    make = KINDS[kind][2]
    with plugged(make(air, 1)) as left_plug, plugged(make(air, 2)) as right_plug:
        async with (
            running(endpoint(spec_text(kind, left_plug.path))) as left,
            running(endpoint(spec_text(kind, right_plug.path))) as right,
        ):
            await left.until(lambda: bool(left.faces))
            await right.until(lambda: bool(right.faces))
            yield Pair(air, left, right)


@pytest.mark.parametrize("kind", KINDS)
async def test_packets_go_across_in_order(kind: str) -> None:
    async with a_pair(kind) as pair:
        for packet in PACKETS:
            assert await pair.left.face().send([packet]) == 1
        await pair.right.until(lambda: len(pair.right.packets) >= len(PACKETS))
        assert pair.right.packets == PACKETS
        assert pair.right.junks == pair.left.junks == pair.left.frames == []
