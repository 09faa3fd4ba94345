"""Serving databases made by hand: what the analytics job would have written for a mesh told in a few calls."""

import hashlib
import random
import sqlite3
from pathlib import Path
from types import TracebackType
from typing import Self

from spark_sink import tables

T0_US = 1_760_000_040_000_000
"""Where the stories begin; a full minute."""
SECOND_US = 1_000_000
MINUTE_US = 60 * SECOND_US


def feed_of(name: str) -> str:
    """The feed id a node of this name has in the stories: 64 digits."""
    return hashlib.sha256(name.encode()).hexdigest()


def node_of(name: str) -> str:
    """Its node id: the first 16 digits of the feed's."""
    return feed_of(name)[:16]


class Mesh:
    """Writes a serving database; nodes and feeds go by their names. Commit with ``with``, or ``commit``."""

    def __init__(self, path: Path) -> None:
        self.db = tables.open_for_writing(path)
        self.db.execute("BEGIN")
        self._committed = self.db.total_changes

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: object, trace: TracebackType | None) -> None:
        if kind is None and self.db.total_changes != self._committed:
            self.commit()
        self.db.close()

    def commit(self, t_us: int | None = None) -> None:
        """Commit a batch, as the job does."""
        newest_us = self.db.execute("SELECT max(last_t_us) FROM nodes").fetchone()[0]
        committed_us = t_us or newest_us or T0_US
        self.db.execute(
            "INSERT INTO batches VALUES ('q', 0, 0, ?1, ?2)"
            " ON CONFLICT DO UPDATE SET batch_id = batch_id + 1, committed_us = ?1, newest_t_us = ?2",
            (committed_us, newest_us),
        )
        self.db.execute("COMMIT")
        self.db.execute("BEGIN")
        self._committed = self.db.total_changes

    def node(self, name: str, *, t_us: int = T0_US, running: bool = True, shown: str | None = "") -> str:
        """A node whose log was read; ``shown`` is its name in the log if that is not ``name``."""
        named = name if shown == "" else shown
        row = (node_of(name), named, feed_of(name) if named else None, 1, t_us, int(running))
        self.db.execute("INSERT OR REPLACE INTO nodes VALUES (?, ?, ?, ?, ?, ?)", row)
        return node_of(name)

    def publish(
        self, name: str, seq: int, t_us: int, *, size: int = 40, chunks: int = 0, logged: bool = True
    ) -> None:
        """An entry; where the publisher's log was not read (``logged``), ``t_us`` is when it was first seen."""
        feed, publisher = feed_of(name), node_of(name)
        identity = hashlib.sha256(f"{feed} {seq}".encode()).hexdigest()[:40]
        known = (publisher, t_us) if logged else (None, None)
        self.db.execute(
            "INSERT INTO entries (feed, seq, id, size, chunks, publisher, published_us, first_us)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (feed, seq, identity, size, chunks, *known, t_us),
        )
        self._progress(t_us, published=1)
        if logged:
            self._copy(publisher, feed, seq, t_us, "own", None)

    def arrive(self, name: str, feed: str, seq: int, t_us: int) -> None:
        """An entry of the feed of ``feed`` arrives at ``name``."""
        self._copy(node_of(name), feed_of(feed), seq, t_us, "peer", "ether")

    def _copy(self, node: str, feed: str, seq: int, t_us: int, origin: str, face: str | None) -> None:
        self.db.execute("INSERT INTO copies VALUES (?, ?, ?, ?, ?, ?)", (node, feed, seq, t_us, origin, face))
        self.db.execute(
            "INSERT INTO frontier VALUES (?1, ?2, ?3, ?4)"
            " ON CONFLICT DO UPDATE SET seq = ?3, t_us = ?4 WHERE ?3 > seq",
            (node, feed, seq, t_us),
        )
        self.db.execute("UPDATE nodes SET last_t_us = max(last_t_us, ?) WHERE node = ?", (t_us, node))
        self._progress(t_us, copied=1)

    def _progress(self, t_us: int, *, published: int = 0, copied: int = 0) -> None:
        self.db.execute(
            "INSERT INTO progress VALUES (?1, ?2, ?3)"
            " ON CONFLICT DO UPDATE SET published = published + ?2, copied = copied + ?3",
            (t_us - t_us % SECOND_US, published, copied),
        )

    def packets(
        self,
        name: str,
        t_us: int,
        packet: str,
        verdict: str,
        count: int,
        *,
        length: int = 120,
        airtime_us: int = 0,
    ) -> None:
        """Packets of one kind, heard or (verdict "sent") sent in one minute; ``airtime_us`` of each."""
        direction = "tx" if verdict == "sent" else "rx"
        key = (node_of(name), t_us - t_us % MINUTE_US, direction, "ether", packet, verdict)
        self.db.execute(
            "INSERT INTO traffic VALUES (?, ?, ?, ?, ?, ?, ?7, ?8, ?9) ON CONFLICT DO UPDATE"
            " SET packets = packets + ?7, bytes = bytes + ?8, airtime_us = airtime_us + ?9",
            (*key, count, count * length, count * airtime_us),
        )

    def link(
        self,
        sender: str,
        receiver: str,
        packets: int,
        t_us: int,
        *,
        rssi_dbm: int | None = None,
        snr_db: float = 0.0,
    ) -> None:
        """``receiver`` heard ``sender`` so often, last at ``t_us``; without RSSI no signal figures at all."""
        heard = 0 if rssi_dbm is None else packets
        row = (packets, heard * (rssi_dbm or 0), heard, heard * snr_db, heard, t_us)
        self.db.execute(
            "INSERT OR REPLACE INTO link_sums VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (node_of(sender), node_of(receiver), *row),
        )


def partition(path: Path, *, now_us: int = T0_US + 14 * MINUTE_US) -> None:
    """Five nodes on a shared channel, three minutes into a partition: ana, ben, chloé here; dora, emil there."""
    chance = random.Random(7)
    names = ["ana", "ben", "chloé", "dora", "emil"]
    cut_us = now_us - 190 * SECOND_US
    start_us = now_us - 13 * MINUTE_US
    sides = [{"ana", "ben", "chloé"}, {"dora", "emil"}]
    with Mesh(path) as mesh:
        for name in names:
            mesh.node(name, t_us=now_us - chance.randrange(3) * SECOND_US)
        _entries(mesh, chance, names, sides, start_us, cut_us, now_us)
        _air(mesh, chance, names, sides, start_us, cut_us, now_us)
        mesh.commit(now_us)


def _entries(
    mesh: Mesh,
    chance: random.Random,
    names: list[str],
    sides: list[set[str]],
    start_us: int,
    cut_us: int,
    now_us: int,
) -> None:
    newest = dict.fromkeys(names, 0)
    t_us = start_us
    while (t_us := t_us + chance.randrange(6, 30) * SECOND_US) < now_us - 4 * SECOND_US:
        author = chance.choice(names)
        newest[author] += 1
        size = chance.choice([12, 38, 44, 70, 212, 340])
        mesh.publish(author, newest[author], t_us, size=size, chunks=max(0, -(-(size - 48) // 100)))
        reached = names if t_us < cut_us else next(side for side in sides if author in side)
        for name in sorted(set(reached) - {author}):
            late_us = int(chance.lognormvariate(1.4, 0.7) * SECOND_US)
            if t_us + late_us < (now_us if name in _side(sides, author) else cut_us):
                mesh.arrive(name, author, newest[author], t_us + late_us)


def _side(sides: list[set[str]], name: str) -> set[str]:
    return next(side for side in sides if name in side)


def _air(
    mesh: Mesh,
    chance: random.Random,
    names: list[str],
    sides: list[set[str]],
    start_us: int,
    cut_us: int,
    now_us: int,
) -> None:
    airtimes_us = {
        "entry": 231_000,
        "chunk": 231_000,
        "claim": 205_000,
        "novelty": 98_000,
        "want": 82_000,
        "chnk": 72_000,
    }
    for minute_us in range(start_us - start_us % MINUTE_US, now_us, MINUTE_US):
        for name in names:
            listeners = len(names if minute_us < cut_us else _side(sides, name)) - 1
            for packet, often in zip(airtimes_us, (6, 4, 2, 0.3, 4, 1.6), strict=True):
                count = int(chance.expovariate(1 / often) + 0.5)
                mesh.packets(name, minute_us, packet, "sent", count, airtime_us=airtimes_us[packet])
                fresh = count * listeners * (3 if packet in {"claim", "want", "chnk"} else 1) // 4
                mesh.packets(name, minute_us, packet, "new", fresh)
                mesh.packets(name, minute_us, packet, "duplicate", max(0, count * listeners - fresh))
    mesh.packets("ben", now_us, "unknown", "not_ours", 23)
    mesh.packets("emil", now_us, "unknown", "invalid", 4)
    for sender in names:
        for receiver in set(names) - {sender}:
            apart = receiver not in _side(sides, sender)
            last_us = (
                cut_us - chance.randrange(20) * SECOND_US
                if apart
                else now_us - chance.randrange(9) * SECOND_US
            )
            distance = abs(names.index(sender) - names.index(receiver))
            rssi = -78 - 9 * distance - chance.randrange(6)
            mesh.link(
                sender,
                receiver,
                chance.randrange(90, 330) // distance,
                last_us,
                rssi_dbm=rssi,
                snr_db=12.5 - 4 * distance + chance.random(),
            )


def read_cells(path: Path) -> dict[tuple[str, str], int]:
    """Entries behind by (feed, node), straight from the tables."""
    db = sqlite3.connect(path)
    try:
        return {
            (feed, node): behind for feed, node, behind in db.execute("SELECT feed, node, behind FROM behind")
        }
    finally:
        db.close()
