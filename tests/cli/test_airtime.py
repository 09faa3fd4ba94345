"""`tinyssb airtime`: the law as a table."""

import asyncio
import time
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest

from tests.daemon.processes import daemon, make_home, tinyssb
from tests.faces.recording_sink import PATIENCE_S
from tests.sim.test_ether_server import QUICK, an_ether
from tinyssb_node.cli.commands.air import airtime_table, next_packet
from tinyssb_node.control.rows import AirtimeRow

ROW: AirtimeRow = AirtimeRow(
    band="EU868 868.0-868.6",
    faces=["ether:ana", "radio"],
    limit_us=36_000_000,
    window_us=3_600_000_000,
    used_us=9_000_000,
    left_us=27_000_000,
    advert_left_us=9_000_000,
    content_left_us=23_400_000,
    full_us=205_056,
    wait_us=90_000_000,
)


def test_a_line_says_it_all() -> None:
    _, line = airtime_table([ROW]).splitlines()
    cells = [cell.strip() for cell in line.split("  ") if cell.strip()]
    assert cells == [
        "EU868 868.0-868.6",
        "9.0 s",
        "36.0 s",
        "0.25 %",
        "27.0 s",
        "9.0 s",
        "23.4 s",
        "in 1 min 30 s",
        "ether:ana, radio",
    ]


@pytest.mark.parametrize(
    ("wait_us", "words"), [(0, "now"), (1_500_000, "in 1.5 s"), (None, "not while the disk is full")]
)
def test_when_the_next_packet_may_go(wait_us: int | None, words: str) -> None:
    assert next_packet(wait_us) == words


def look(home: Path) -> AirtimeRow:
    """Run a node until it has sent something, and ask it."""
    with daemon(home) as running:
        assert tinyssb(home, "publish", "hello").returncode == 0
        rows: list[AirtimeRow] = []
        end_s = time.monotonic() + PATIENCE_S
        while not rows or not rows[0].used_us:
            assert time.monotonic() < end_s, "nothing was sent"
            lines = tinyssb(home, "airtime", "--json").stdout.splitlines()
            rows = [msgspec.json.decode(line, type=AirtimeRow) for line in lines]
        assert running.stop()[0] == 0
    return rows[0]


@pytest.mark.realtime
async def test_a_node_on_an_ether_with_a_region_keeps_its_account_over_a_restart(tmp_path: Path) -> None:
    async with an_ether(replace(QUICK, time_scale=2.0)) as port:
        make_home(tmp_path / "a", f"ether:127.0.0.1:{port}?name=ana&region=EU868&plan=EU868.a")
        first = await asyncio.to_thread(look, tmp_path / "a")
        assert (first.band, first.faces) == ("EU868 868.0-868.6 ×2", ["ether:ana"])
        assert first.limit_us == 18_000_000
        again = await asyncio.to_thread(look, tmp_path / "a")
        assert again.used_us >= first.used_us
