"""Real daemons on a modelled LoRa channel: a long feed is followed newest first."""

import re
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

from tests.daemon.processes import PATIENCE_S, PROGRAM, daemon, make_home, tinyssb
from tests.nodes import key_of, packets_of, written
from tinyssb_node.codec.dmx import Network
from tinyssb_node.node.node import Node
from tinyssb_node.store.sqlite import SqliteStore

pytestmark = pytest.mark.slow

BEN = key_of("ben")
LENGTH, NEWEST = 100, 5


@pytest.fixture
def homes(tmp_path: Path) -> Iterator[list[Path]]:
    """Two nodes on one channel; the first has a feed of 100 entries, 20 s of airtime."""
    with subprocess.Popen([*PROGRAM, "ether", "--port", "0"], stdout=subprocess.PIPE) as ether:
        assert ether.stdout is not None
        found = re.search(rb"127\.0\.0\.1:(\d+)", ether.stdout.readline())
        assert found is not None
        homes = [tmp_path / name for name in ("giver", "asker")]
        for home in homes:
            make_home(home, f"ether:127.0.0.1:{int(found[1])}?name={home.name}", name=home.name)
        store = SqliteStore.open(homes[0] / "store.sqlite")
        node = Node(store=store, network=Network(), entropy=Random(1), key=None)
        node.follow(BEN.feed_id, 0)
        for packet in packets_of(written(BEN, [b"entry %d" % number for number in range(LENGTH)])):
            node.import_packet(packet, 0)
        store.commit(time.time_ns() // 1_000)
        store.close()
        yield homes
        ether.send_signal(signal.SIGINT)
        assert ether.wait(PATIENCE_S) == 0


def test_the_newest_entries_are_read_before_half_of_the_history(homes: list[Path]) -> None:
    giver, asker = homes
    feed = BEN.feed_id.hex()
    with daemon(giver), daemon(asker):
        assert tinyssb(asker, "follow", feed, "--newest", str(NEWEST)).returncode == 0
        begun_s, shown = time.monotonic(), ""
        while "older entries missing" not in shown or f"entry {LENGTH - 1}" not in shown:
            assert time.monotonic() - begun_s < 3 * PATIENCE_S, shown
            time.sleep(0.2)
            shown = tinyssb(asker, "log", feed, "--limit", str(LENGTH)).stdout.decode()
    missing = re.search(r"\((\d+) older entries missing\)", shown)
    assert missing is not None
    assert int(missing[1]) > LENGTH // 2
    assert all(f"entry {number}\n" in shown for number in range(LENGTH - NEWEST, LENGTH))
