"""The packets in which the story's entries travelled, packed as the job packs them."""

from collections import defaultdict
from typing import TYPE_CHECKING

import numpy as np

from spark_sink.derive.sights import DTYPES, NO_CHUNK, NO_FACE, NO_RSSI, pack

if TYPE_CHECKING:
    from tests.spark_sink.page.story import Story

HOUR_US = 3_600_000_000
RX, TX, ENTRY = 0, 1, 2
NEW, SENT, OWN, PEER = 0, 4, 5, 6
Row = dict[str, float]


def put_sights(story: "Story", feeds: tuple[str, ...]) -> None:
    """A sending and a hearing for every copy that came from a node, and a commit for every copy."""
    logs: dict[tuple[int, int, int], list[Row]] = defaultdict(list)
    owners = {(entry.feed_no, entry.seq): entry.owner for entry in story.entries}
    for copy in story.copies:
        name = {"feed": _signed(feeds[copy.feed_no]), "seq": copy.seq}
        own = owners[copy.feed_no, copy.seq] == copy.node_no
        _log(
            story,
            logs,
            copy.node_no,
            copy.t_us,
            kind=ENTRY,
            face=NO_FACE,
            verdict=OWN if own else PEER,
            **name,
        )
        if copy.sender < 0:
            continue
        packet = {"hash": copy.feed_no * 100_000 + copy.seq + 1, "length": 120, "airtime_us": 231_000}
        _log(story, logs, copy.sender, copy.t_us - 3_000, kind=TX, verdict=SENT, **packet)
        _log(
            story, logs, copy.node_no, copy.t_us - 3_000, kind=RX, verdict=NEW, rssi_dbm=-91, **packet, **name
        )
    for (node_no, boot, hour_us), rows in logs.items():
        rows.sort(key=lambda row: row["t_us"])
        columns = {
            name: np.array([row[name] for row in rows]).astype(dtype) for name, dtype in DTYPES.items()
        }
        columns["offset"] = np.arange(len(rows))
        times = [int(row["t_us"]) for row in rows]
        story.book.put(
            "sights", node_no=node_no, boot=boot, hour_us=hour_us, n=len(rows), low_us=times[0], high_us=times[-1],
            rows=pack(columns, ("lora",)),
        )  # fmt: skip


def _log(
    story: "Story", logs: dict[tuple[int, int, int], list[Row]], node_no: int, mesh_us: int, **columns: float
) -> None:
    boot, mono_us = story.boot_of(node_no, mesh_us)
    t_us = story.own_us(node_no, mesh_us)
    row: Row = dict.fromkeys(DTYPES, 0)
    row |= {
        "rssi_dbm": NO_RSSI,
        "snr_db": np.nan,
        "chunk": NO_CHUNK,
        "t_us": t_us,
        "mono_us": mono_us,
        **columns,
    }
    logs[node_no, boot, t_us - t_us % HOUR_US].append(row)


def _signed(feed: str) -> int:
    return int.from_bytes(bytes.fromhex(feed[:16]), "big", signed=True)
