"""A mesh of twelve nodes over two days, as the job would have written it: what every view of the page has to show.

Six hours of the first day it is split in two; towards the end one node is alone. One clock is seven hours ahead. Some
names mean harm. Whatever is counted is kept in plain lists as well, so that tests can count again.
"""

import hashlib
import json
import random
from dataclasses import dataclass
from pathlib import Path

from tests.spark_sink.page.book import Book, bucket_of, feed_of, node_of
from tests.spark_sink.page.story_sights import put_sights

T0_US = 1_770_000_000_000_000 - 1_770_000_000_000_000 % 3_600_000_000
"""Where it begins: a full hour."""
MINUTE_US = 60_000_000
HOUR_US = 60 * MINUTE_US
SLOT_US = 10 * MINUTE_US
HOURS = 48
END_US = T0_US + HOURS * HOUR_US - 3 * MINUTE_US
"""The newest record."""
NODES = (
    "ana",
    "ben",
    "chloé",
    "<img src=x onerror=alert(1)>",
    "emil",
    "late-by-seven-hours",
    '=HYPERLINK("http://198.51.100.1","click")',
    "hütte oben am langen Grat über dem See, Südhang, Mast 2",
    "مرحبا",
    "jo",
    "jo",
    "",
)
"""Names; two nodes share one, and one has none."""
KEYS = tuple(f"{name} {place}" for place, name in enumerate(NODES))
"""The sources of nodes' ids, since names may be the same."""
PHONES = tuple(f"phone {place}" for place in range(8))
WRONG = 5
WRONG_US = 7 * HOUR_US
WRONG_PPM = 35.0
SPLIT = (30, 36)
"""Hours in which nodes from 7 on are apart from the others."""
ALONE = 11
ALONE_SINCE = 44
"""This node hears nobody from this hour on."""
LORA = {"region": "EU868", "sub_band": "EU868 868.0-868.6", "limit_ppm": 10_000, "window_us": HOUR_US}
AIRTIMES_US = {
    "entry": 231_000,
    "chunk": 205_000,
    "want": 82_000,
    "chnk": 72_000,
    "claim": 118_000,
    "sketch": 164_000,
}


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry by mesh time; ``owner`` is a place in NODES, or −1 for a phone's."""

    feed_no: int
    seq: int
    owner: int
    t_us: int
    size: int
    chunks: int
    kind: int


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy by mesh time, and from whom it came (−1: nobody of ours)."""

    feed_no: int
    seq: int
    node_no: int
    t_us: int
    sender: int


class Story:
    """The mesh, told into a book."""

    def __init__(self, *, seed: int = 5) -> None:
        self.chance = random.Random(seed)
        self.book = Book()
        self.entries: list[Entry] = []
        self.copies: list[Copy] = []
        self.frontiers: dict[tuple[int, int], int] = {}
        for key in KEYS:
            self.book.node(key)
        for key in (*KEYS, *PHONES):
            self.book.feed(key)
        self.boots()
        self.publish()
        self.air()
        self.groups()
        self.trouble()
        self.latest_packets()
        self.job()

    def write(self, path: Path) -> None:
        """Make the database, or what it has of these tables, anew."""
        self.book.write(path)

    def own_us(self, node_no: int, mesh_us: int) -> int:
        """Return the time on the node's clock."""
        if node_no != WRONG:
            return mesh_us
        return mesh_us + WRONG_US + round((mesh_us - T0_US) * WRONG_PPM / 1e6)

    def reach(self, one: int, other: int, t_us: int) -> bool:
        """Return True if two nodes could hear of each other at a time."""
        hour = (t_us - T0_US) // HOUR_US
        if ALONE in (one, other) and hour >= ALONE_SINCE:
            return False
        return not (SPLIT[0] <= hour < SPLIT[1] and (one < 7) != (other < 7))

    def boots(self) -> None:
        """Two boots for some, one for most; names, places, faces, clocks."""
        for node_no, name in enumerate(NODES):
            since = [T0_US] if node_no % 4 else [T0_US, T0_US + 20 * HOUR_US]
            for boot, begin_us in enumerate(since, 1):
                last = boot == len(since)
                until_us = END_US - node_no * 1_000_000 if last else since[1] - MINUTE_US
                began_us, ended_us = self.own_us(node_no, begin_us), self.own_us(node_no, until_us)
                self.book.put(
                    "boots",
                    node_no=node_no,
                    boot=boot,
                    name=name or None,
                    feed_no=node_no,
                    dialect="deployed",
                    version="0.1.0",
                    clean=0 if boot == 2 and node_no == 4 else 1,
                    latitude=46.5 + node_no * 0.011 if node_no < 10 else None,
                    longitude=7.9 + (node_no % 4) * 0.02 if node_no < 10 else None,
                    started_us=began_us,
                    stopped_us=None if last else ended_us,
                    stop_reason=None if last else "SIGTERM",
                    records=5_000,
                    first_us=began_us,
                    last_offset=4_999,
                    last_us=ended_us,
                    last_mono_us=ended_us - began_us,
                )
                self.clock(node_no, boot, began_us)
            up = {"node_no": node_no, "boot": len(since), "t_us": self.own_us(node_no, T0_US), "up": 1}
            self.book.put("faces", **up, face="lora", spec="rnode:/dev/ttyUSB0", **LORA)
            if node_no % 3 == 0:
                self.book.put("faces", **up, face="lan", spec="udp:239.5.5.8:1558")

    def clock(self, node_no: int, boot: int, began_us: int) -> None:
        """Add the refresh's estimate of a boot's clock."""
        wrong = node_no == WRONG
        at_us = self.own_us(node_no, T0_US + HOURS * HOUR_US // 2)
        self.book.put(
            "clocks",
            node_no=node_no,
            boot=boot,
            base_us=began_us,
            mesh=1_000_000,
            at_us=at_us,
            offset_us=at_us - (T0_US + HOURS * HOUR_US // 2),
            drift_ppm=WRONG_PPM if wrong else 0.0,
            offset_error_us=900.0,
            drift_error_ppm=0.02,
            matches=400 + node_no,
        )

    def publish(self) -> None:
        """An entry every seven minutes or so, and how it spreads: over hops, seconds to minutes each."""
        newest: dict[int, int] = {}
        t_us = T0_US + MINUTE_US
        while (t_us := t_us + round(self.chance.expovariate(1 / 7) * MINUTE_US)) < END_US - MINUTE_US:
            feed_no = self.chance.randrange(len(NODES) + len(PHONES))
            owner = feed_no if feed_no < len(NODES) else -1
            newest[feed_no] = newest.get(feed_no, 0) + 1
            size = self.chance.choice([12, 38, 44, 70, 212, 640])
            chunks = max(0, -(-(size - 28) // 100)) if size > 48 else 0
            self.entries.append(Entry(feed_no, newest[feed_no], owner, t_us, size, chunks, int(chunks > 0)))
        for entry in self.entries:
            self.spread(entry)
        self.copies.sort(key=lambda copy: copy.t_us)
        for copy in sorted(self.copies, key=lambda copy: copy.seq):
            if self.frontiers.get((copy.node_no, copy.feed_no), 0) == copy.seq - 1:
                self.frontiers[copy.node_no, copy.feed_no] = copy.seq
        self.copies = [c for c in self.copies if c.seq <= self.frontiers.get((c.node_no, c.feed_no), 0)]
        self.tell_copies()
        put_sights(self, tuple(feed_of(key) for key in (*KEYS, *PHONES)))
        self.tell_progress()

    def spread(self, entry: Entry) -> None:
        """Spread the entry: choose its receivers, the sender to each, and the time."""
        first = entry.owner if entry.owner >= 0 else self.chance.randrange(len(NODES))
        late_us = 0 if entry.owner >= 0 else self.chance.randrange(60_000_000)
        have = {first: entry.t_us + late_us}
        self.copies.append(Copy(entry.feed_no, entry.seq, first, have[first], -1))
        rest = [node_no for node_no in range(len(NODES)) if node_no != first]
        self.chance.shuffle(rest)
        for node_no in rest:
            sender = self.chance.choice(sorted(have))
            t_us = have[sender] + round(self.chance.lognormvariate(2.2, 1.1) * 1e6)
            if not self.reach(sender, node_no, t_us):
                sender = next(iter(have))
                healed_us = T0_US + SPLIT[1] * HOUR_US
                if t_us > healed_us or not self.reach(sender, node_no, healed_us + HOUR_US):
                    continue
                t_us = healed_us + round(self.chance.random() * 30 * MINUTE_US)
            if t_us < END_US and self.reach(sender, node_no, t_us):
                have[node_no] = t_us
                self.copies.append(Copy(entry.feed_no, entry.seq, node_no, t_us, sender))

    def boot_of(self, node_no: int, mesh_us: int) -> tuple[int, int]:
        """(boot, microseconds since it began)."""
        second_us = T0_US + 20 * HOUR_US
        if node_no % 4 == 0 and mesh_us >= second_us:
            return 2, self.own_us(node_no, mesh_us) - self.own_us(node_no, second_us)
        return 1, self.own_us(node_no, mesh_us) - self.own_us(node_no, T0_US)

    def tell_copies(self) -> None:
        """Entries, copies, side chains, frontiers, steps, delays."""
        when = {(entry.feed_no, entry.seq): entry for entry in self.entries}
        had = {(copy.feed_no, copy.seq, copy.node_no): copy.t_us for copy in self.copies}
        for entry in self.entries:
            known = entry.owner >= 0
            boot, mono_us = self.boot_of(entry.owner, entry.t_us) if known else (None, None)
            self.book.put(
                "entries",
                feed_no=entry.feed_no,
                seq=entry.seq,
                id=hashlib.sha256(f"{entry.feed_no} {entry.seq}".encode()).hexdigest()[:40],
                type=entry.kind,
                size=entry.size,
                chunks=entry.chunks,
                publisher=entry.owner if known else None,
                boot=boot,
                t_us=self.own_us(entry.owner, entry.t_us) if known else None,
                mono_us=mono_us,
            )
        for copy in self.copies:
            entry = when[copy.feed_no, copy.seq]
            own = copy.node_no == entry.owner
            boot, mono_us = self.boot_of(copy.node_no, copy.t_us)
            own_us = self.own_us(copy.node_no, copy.t_us)
            key = {"feed_no": copy.feed_no, "seq": copy.seq, "node_no": copy.node_no}
            face = None if own else "lora"
            origin = "own" if own else "peer"
            self.book.put("copies", **key, boot=boot, t_us=own_us, mono_us=mono_us, origin=origin, face=face)
            if entry.chunks:
                held = entry.chunks if own or self.chance.random() < 0.97 else entry.chunks - 1
                whole = own_us + 4_000_000 if held == entry.chunks else None
                self.book.put("side_chains", **key, held=held, complete_us=whole)
            self.book.put(
                "frontiers", node_no=copy.node_no, feed_no=copy.feed_no, boot=boot, t_us=own_us,
                seq=self.frontiers[copy.node_no, copy.feed_no],
            )  # fmt: skip
            self.delay(copy, entry, had)
        for copy in sorted(self.copies, key=lambda copy: copy.seq):
            hour_us = copy.t_us - copy.t_us % HOUR_US
            self.book.put("steps", node_no=copy.node_no, feed_no=copy.feed_no, hour_us=hour_us, seq=copy.seq)

    def delay(self, copy: Copy, entry: Entry, had: dict[tuple[int, int, int], int]) -> None:
        """A copy's delays in their buckets."""
        hour_us = copy.t_us - copy.t_us % HOUR_US
        if entry.owner >= 0 and copy.node_no != entry.owner:
            bucket = bucket_of(copy.t_us - entry.t_us)
            for scope, number in (("node", copy.node_no), ("feed", copy.feed_no)):
                key = {"hour_us": hour_us, "scope": scope, "a": number, "b": 0, "bucket": bucket}
                self.book.add("delays", key, n=1)
        if copy.sender >= 0 and (copy.feed_no, copy.seq, copy.sender) in had:
            bucket = bucket_of(copy.t_us - had[copy.feed_no, copy.seq, copy.sender])
            key = {"hour_us": hour_us, "scope": "hop", "a": copy.sender, "b": copy.node_no, "bucket": bucket}
            self.book.add("delays", key, n=1)

    def tell_progress(self) -> None:
        """Minutes in which anything was published or came in."""
        firsts: dict[tuple[int, int], int] = {}
        for copy in self.copies:
            place = (copy.feed_no, copy.seq)
            firsts[place] = min(copy.t_us, firsts.get(place, copy.t_us))
            self.progress(copy.t_us, copied=1)
        for t_us in firsts.values():
            self.progress(t_us, published=1)

    def progress(self, t_us: int, *, published: int = 0, copied: int = 0) -> None:
        """One more in a minute."""
        key = {"minute_us": t_us - t_us % MINUTE_US}
        if tuple(key.values()) not in self.book.rows["progress"]:
            self.book.put("progress", **key, hour_us=t_us - t_us % HOUR_US)
        self.book.add("progress", key, published=published, copied=copied)

    def air(self) -> None:
        """Add the packets sent, in slots of ten minutes, with their receivers and their use."""
        for slot_us in range(T0_US, END_US, SLOT_US):
            for node_no in range(len(NODES)):
                for packet, airtime_us in AIRTIMES_US.items():
                    busy = 2.4 if node_no == 1 else 1.0 if node_no != 9 else 0.2
                    count = int(self.chance.expovariate(1 / (3 * busy)) + 0.5)
                    if count:
                        self.sent(node_no, slot_us, packet, count, airtime_us)

    def sent(self, node_no: int, slot_us: int, packet: str, count: int, airtime_us: int) -> None:
        """Packets of one kind that a node sent in ten minutes."""
        own_us = self.own_us(node_no, slot_us)
        own_hour_us, hour_us = own_us - own_us % HOUR_US, slot_us - slot_us % HOUR_US
        spent_us = count * airtime_us
        sums = {"packets": count, "airtime_us": spent_us}
        slot = {"node_no": node_no, "slot_us": slot_us, "face": "lora"}
        if tuple(slot.values()) not in self.book.rows["transmitted"]:
            self.book.put("transmitted", **slot, hour_us=hour_us)
        self.book.add("transmitted", slot, **sums)
        tx = {"direction": "tx", "face": "lora", "packet": packet, "verdict": "sent", "reason": ""}
        self.book.add(
            "traffic", {"node_no": node_no, "hour_us": own_hour_us, **tx}, bytes=count * 100, **sums
        )
        if packet in ("want", "chnk", "claim", "sketch"):
            key = {"node_no": node_no, "hour_us": own_hour_us, "kind": packet, "detail": "tx"}
            self.book.add("counts", key, records=count, total=count * 5)
        listeners = [
            other for other in range(len(NODES)) if other != node_no and self.reach(node_no, other, slot_us)
        ]
        use = "unheard" if not listeners else self.chance.choice(_USES[packet])
        key = {"hour_us": hour_us, "node_no": node_no, "face": "lora", "packet": packet, "use": use}
        self.book.add("uses", key, **sums)
        for other in listeners:
            self.heard(node_no, other, slot_us, packet, count)

    def heard(self, sender: int, receiver: int, slot_us: int, packet: str, count: int) -> None:
        """Some of them, on another node: the fewer the farther away."""
        far = abs(sender - receiver)
        if far > 6:
            return
        heard = round(count * max(0.0, 1 - far / 7) * self.chance.uniform(0.8, 1.0))
        rssi_dbm, snr_db = -70 - 9 * far, 11.0 - 3 * far
        key = {"hour_us": slot_us - slot_us % HOUR_US, "sender": sender, "receiver": receiver}
        if tuple(key.values()) not in self.book.rows["links"]:
            self.book.put("links", **key, first_us=slot_us)
        self.book.add(
            "links", key, sent=count, heard=heard, rssi_sum=rssi_dbm * heard, rssi_n=heard,
            snr_sum=snr_db * heard, snr_n=heard,
        )  # fmt: skip
        self.book.rows["links"][tuple(key.values())]["last_us"] = slot_us + 5 * MINUTE_US
        own_us = self.own_us(receiver, slot_us)
        hour_us = own_us - own_us % HOUR_US
        rx = {"direction": "rx", "face": "lora", "packet": packet, "verdict": "new", "reason": ""}
        self.book.add(
            "traffic", {"node_no": receiver, "hour_us": hour_us, **rx}, packets=heard, bytes=heard * 100
        )
        if packet in ("want", "chnk"):
            detail = {"node_no": receiver, "hour_us": hour_us, "kind": packet, "detail": "rx"}
            self.book.add("counts", detail, records=heard, total=heard * 5)

    def groups(self) -> None:
        """Add the groups of connected nodes, and their changes."""
        for slot_us in range(T0_US, END_US, SLOT_US):
            for node_no in range(len(NODES)):
                others = [other for other in range(len(NODES)) if self.reach(node_no, other, slot_us)]
                near = [other for other in others if other != node_no]
                self.book.put(
                    "groups", slot_us=slot_us, node_no=node_no, hour_us=slot_us - slot_us % HOUR_US,
                    group_no=min(others, default=node_no), contacts=len(near),
                    last_us=slot_us + MINUTE_US if near else T0_US + ALONE_SINCE * HOUR_US - MINUTE_US,
                )  # fmt: skip
        parts = json.dumps({"parts": [list(range(7)), list(range(7, 12))]})
        for kind, hour in (("split", SPLIT[0]), ("join", SPLIT[1])):
            self.book.put("changes", t_us=T0_US + hour * HOUR_US, kind=kind, subject="group 0", detail=parts)
        alone_us = T0_US + ALONE_SINCE * HOUR_US - MINUTE_US
        alone = json.dumps({"nodes": [ALONE]})
        self.book.put("changes", t_us=alone_us, kind="isolated", subject=f"node {ALONE}", detail=alone)

    def trouble(self) -> None:
        """Forks, alerts, refusals, faces flapping, lines that cannot be read."""
        hour_us = T0_US + 40 * HOUR_US
        for node_no in (0, 2):
            self.book.put(
                "incidents", node_no=node_no, boot=1, offset=700, t_us=hour_us + node_no, mono_us=0, kind="fork",
                feed_no=13, seq=2, held="a" * 40, other="b" * 40,
            )  # fmt: skip
        step, step_mono_us = self.own_us(WRONG, hour_us), self.boot_of(WRONG, hour_us)[1]
        self.book.put(
            "incidents",
            node_no=WRONG,
            boot=1,
            offset=701,
            t_us=step,
            mono_us=step_mono_us,
            kind="clock",
            n=2_500_000,
        )
        for place in range(9):
            t_us = hour_us + place * 7 * MINUTE_US
            kind = "face_down" if place % 2 else "face_up"
            self.book.put(
                "incidents", node_no=6, boot=1, offset=800 + place, t_us=t_us, kind=kind, face="lora",
                detail="no answer from the modem" if place % 2 else "rnode:/dev/ttyUSB0",
            )  # fmt: skip
            if place % 2:
                key = {"node_no": 6, "hour_us": t_us - t_us % HOUR_US, "kind": "face_down", "detail": "lora"}
                self.book.add("counts", key, records=1)
        for kind, detail, total in (("refused", "budget", 17), ("spared", "lora", 31), ("set", "", 0)):
            key = {"node_no": 1, "hour_us": hour_us, "kind": kind, "detail": detail}
            self.book.add("counts", key, records=3, total=total)
        for face, reason, packets in (("lora", "signature", 4), ("lora", "<b>length</b>", 2)):
            key = {
                "node_no": 2, "hour_us": hour_us, "direction": "rx", "face": face, "packet": "unknown",
                "verdict": "invalid", "reason": reason,
            }  # fmt: skip
            self.book.add("traffic", key, packets=packets, bytes=packets * 90)
        state = feed_of("the set")
        for node_no in range(len(NODES)):
            mine = feed_of("another") if node_no == ALONE else state
            t_us = self.own_us(node_no, T0_US + node_no * MINUTE_US)
            self.book.put("sets", node_no=node_no, boot=1, offset=3, feeds=20, state=mine, t_us=t_us)
        self.book.put(
            "bad_lines",
            path="ana/00000001-000000000000.jsonl",
            byte=4_711,
            reason="not JSON",
            text="<script>",
        )
        self.book.put("gaps", node_no=3, boot=1, first_offset=120, next_offset=190)
        self.book.put(
            "oddities", node=node_of(KEYS[4]), path="old/emil", reason="two logs for the same records"
        )
        self.alerts()

    def alerts(self) -> None:
        """Three that are open, two that are over, one of them before the last day."""
        alone_us, split_us, join_us = (T0_US + hour * HOUR_US for hour in (ALONE_SINCE, *SPLIT))
        for rule, subject, since_us, until_us, level, value, peak in (
            ("isolated", f"node {ALONE}", alone_us, None, "warning", 3.97, 3.97),
            ("duty", "face 1 lora", END_US - HOUR_US, None, "warning", 93.0, 97.0),
            ("fork", "feed 13", T0_US + 40 * HOUR_US, None, "alarm", 2.0, 2.0),
            ("split", "mesh", split_us, join_us, "warning", 2.0, 2.0),
            ("silent", "node 4", T0_US + 2 * HOUR_US, T0_US + 3 * HOUR_US, "warning", 0.0, 7.0),
        ):
            self.book.put(
                "alerts", rule=rule, subject=subject, since_us=since_us, until_us=until_us, level=level,
                value=value, peak=peak,
            )  # fmt: skip

    def latest_packets(self) -> None:
        """Single packets of the last minutes."""
        for place in range(2_000):
            node_no = self.chance.randrange(len(NODES))
            packet = self.chance.choice(list(AIRTIMES_US))
            t_us = END_US - (2_000 - place) * 400_000
            rx = self.chance.random() < 0.8
            known = packet in ("entry", "chunk")
            self.book.put(
                "packets", place=place + 10_000, node_no=node_no, t_us=self.own_us(node_no, t_us),
                direction="rx" if rx else "tx", face="lora", packet=packet,
                verdict=self.chance.choice(["new", "duplicate"]) if rx else "sent", length=100,
                rssi_dbm=-90 if rx else None, snr_db=4.5 if rx else None, airtime_us=AIRTIMES_US[packet],
                feed_no=self.chance.randrange(20) if known else None, seq=3 if known else None,
                chunk=1 if packet == "chunk" else None,
            )  # fmt: skip

    def job(self) -> None:
        """Batches and refreshes of the last minutes, and the rest."""
        committed_us = END_US + 1_500_000
        for place in range(400):
            t_us = committed_us - (399 - place) * 2_000_000
            self.book.put(
                "batch_log", committed_us=t_us, query="q", batch_id=place, records=1_900 + place % 7, bytes=390_000,
                behind_bytes=(400 - place) * 10, read_us=310_000, merge_us=42_000, newest_us=t_us - 1_500_000,
            )  # fmt: skip
            if place % 5 == 0:
                self.book.put(
                    "refresh_log",
                    committed_us=t_us,
                    hours=12,
                    sights=21_000,
                    wall_us=350_000,
                    waiting=place % 3,
                )
        self.book.put(
            "batches", query="q", batch_id=399, records=2_000_000, committed_us=committed_us, newest_us=END_US,
            offsets="{}",
        )  # fmt: skip
        self.book.put("meta", name="version", value="2")
        self.book.put("meta", name="program", value="0.1.0")


_USES = {
    "entry": ("news", "news", "repair", "redundant"),
    "chunk": ("news", "news", "repair", "redundant"),
    "want": ("repair", "overhead"),
    "chnk": ("repair", "overhead"),
    "claim": ("overhead",),
    "sketch": ("repair", "overhead"),
}
