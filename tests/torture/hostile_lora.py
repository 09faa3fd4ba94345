"""A daemon whose emulated LoRa chip shares its ether with a station that fills the channel."""

import asyncio
import sys
from pathlib import Path

from firmware_bridge.chips.modem import Modem
from firmware_bridge.emulation import loop
from firmware_bridge.emulation.ether import EmulatedAntenna, Ether, ReceivedSignal, Signal
from tests.torture.hostile_peer import until
from tests.torture.hostile_traffic import Traffic
from tinyssb_node import limits
from tinyssb_node.cli.main import main as tinyssb
from tinyssb_node.faces.frames import serialize_crc_frame

MODEM = Modem(frequency_hz=868_300_000, sync_word=0x58)
"""Plan EU868.a."""
POWER_DBM = 14.0


class Deaf:
    """A receiver that hears nothing."""

    def preamble_found(self) -> None: ...

    def sync_found(self) -> None: ...

    def header_found(self, *, valid: bool) -> None: ...

    def frame_found(self, heard: ReceivedSignal) -> None: ...

    def signal_lost(self) -> None: ...


async def flood(ether: Ether, home: Path, begin: Path, sent: Path) -> None:
    """Send a frame after the other, once the file *begin* is there; append a byte to *sent* for each."""
    await until(begin.exists)
    antenna = EmulatedAntenna("hostile", Deaf())
    ether.join(antenna)
    with sent.open("ab", buffering=0) as count:
        for packet in Traffic(home, "lora").packets():
            frame = serialize_crc_frame(packet[: limits.PACKET_SIZE])
            signal = Signal(modem=MODEM, payload=frame, power_dbm=POWER_DBM, start_us=ether.timeline.now_us())
            ether.transmit(antenna, signal)
            count.write(b"x")
            await asyncio.sleep(MODEM.airtime_us(len(frame)) / 1e6 + 0.01)


def main() -> int:
    """Run `tinyssb` with the arguments behind the home, and the two files."""
    home, begin, sent = map(Path, sys.argv[1:4])
    make, tasks = loop.shared_ether, set[asyncio.Task[None]]()

    def shared() -> Ether:
        ether = make()
        if not tasks:
            tasks.add(asyncio.get_running_loop().create_task(flood(ether, home, begin, sent)))
        return ether

    loop.shared_ether = shared
    return tinyssb(sys.argv[4:])
