"""Receptions, links, uses and hops, record by record in plain Python."""

import math
from collections import Counter, defaultdict
from dataclasses import fields
from typing import Any

import pyarrow as pa

from spark_sink import limits
from spark_sink.derive.facts import ENTRY, HOUR_US, RX, TX, Copies, Facts, Sights, Uptimes
from spark_sink.derive.uses import KINDS

Row = dict[str, Any]
NEW, PEER = 0, 6
CONTENT = {0, 1, 16, 17}
"""Codes of entries and chunks, coded or not."""


def rows_of(columns: Sights | Copies | Uptimes) -> list[Row]:
    """A dictionary a row; sights also get a `place`."""
    names = [field.name for field in fields(columns) if field.name != "faces"]
    values = zip(*(getattr(columns, name).tolist() for name in names), strict=True)
    return [{**dict(zip(names, row, strict=True)), "place": place} for place, row in enumerate(values)]


def order(row: Row) -> tuple[int, ...]:
    return row["mesh_us"], row["node_no"], row["boot"], row["offset"]


def sending_of(heard: Row, sent: list[Row]) -> Row | None:
    """Which of the packets *sent* with this hash was *heard*."""
    known = [
        row
        for row in sent
        if row["node_no"] != heard["node_no"] and bool(row["airtime_us"]) == bool(heard["airtime_us"])
    ]
    alone = heard["mesh"] == heard["node_no"]
    known = [
        row for row in known if (row["mesh"] == row["node_no"] if alone else row["mesh"] == heard["mesh"])
    ]
    reach_us = limits.LINK_WINDOW_US if alone else limits.HEARD_WITHIN_US
    now, within_us = heard["mesh_us"], limits.HEARD_WITHIN_US
    before = [row for row in known if order(row) < order(heard) and now - row["mesh_us"] <= reach_us]
    after = [row for row in known if order(row) > order(heard) and row["mesh_us"] - now <= within_us]
    last, first = max(before, key=order, default=None), min(after, key=order, default=None)
    if last is None or first is None:
        return last or first
    return last if alone or now - last["mesh_us"] <= first["mesh_us"] - now else first


class Heard:
    """All packets of some facts, and which sending each heard one was."""

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.rows = rows_of(facts.sights)
        self.sent: dict[int, list[Row]] = defaultdict(list)
        for row in self.rows:
            if row["kind"] == TX:
                self.sent[row["hash"]].append(row)
        self.sending = {
            row["place"]: sending_of(row, self.sent[row["hash"]]) for row in self.rows if row["kind"] == RX
        }
        self.copies = {(row["node_no"], row["feed_no"], row["seq"]): row for row in rows_of(facts.copies)}

    def asked(self, t_us: int) -> bool:
        return self.facts.since_us <= t_us < self.facts.until_us

    def receptions(self) -> list[tuple[Row, Row]]:
        """(heard, sent), one for each receiver of what was sent in the hours asked for."""
        found: dict[tuple[int, int], tuple[Row, Row]] = {}
        for row in sorted(
            (row for row in self.rows if row["kind"] == RX), key=lambda r: (r["boot"], r["offset"])
        ):
            sent = self.sending[row["place"]]
            if sent and self.asked(sent["mesh_us"]):
                found.setdefault((sent["place"], row["node_no"]), (row, sent))
        return list(found.values())

    def arrivals(self) -> list[tuple[Row, Row, Row]]:
        """(commit, heard, sent) of first commits by peers."""
        found, done = [], set()
        commits = [
            row
            for row in self.rows
            if row["kind"] == ENTRY and row["verdict"] == PEER and row["feed_no"] >= 0
        ]
        brought = defaultdict(list)
        for row in self.rows:
            if (
                row["kind"] == RX
                and row["verdict"] == NEW
                and row["packet"] in {0, 16}
                and row["feed_no"] >= 0
            ):
                brought[row["node_no"], row["feed_no"], row["seq"]].append(row)
        for row in sorted(commits, key=lambda row: (row["boot"], row["offset"])):
            key = row["node_no"], row["feed_no"], row["seq"]
            if key in done or key not in self.copies or self.copies[key]["mesh_us"] != row["mesh_us"]:
                continue
            done.add(key)
            came = [one for one in brought[key] if one["mesh_us"] <= row["mesh_us"]]
            last = max(came, key=lambda one: (one["mesh_us"], one["boot"], one["offset"]), default=None)
            if last and row["mesh_us"] - last["mesh_us"] <= limits.LOOK_BACK_US:
                sent = self.sending[last["place"]]
                if sent:
                    found.append((row, last, sent))
        return found

    def delay_us(self, commit: Row, sent: Row) -> int | None:
        """Since the sender had it."""
        theirs = self.copies.get((sent["node_no"], commit["feed_no"], commit["seq"]))
        if theirs is None:
            return None
        alone = commit["mesh"] == commit["node_no"] and theirs["mesh"] == theirs["node_no"]
        if commit["mesh"] != theirs["mesh"] and not alone:
            return None
        return int(commit["mesh_us"] - theirs["mesh_us"])


def links(heard: Heard) -> list[Row]:
    found: dict[tuple[int, int, int], list[tuple[Row, Row]]] = defaultdict(list)
    for rx, tx in heard.receptions():
        found[tx["mesh_us"] // HOUR_US * HOUR_US, tx["node_no"], rx["node_no"]].append((rx, tx))
    ups = rows_of(heard.facts.uptimes)
    table = []
    for (hour_us, sender, receiver), both in sorted(found.items()):
        faces = {tx["face"] for _, tx in both}
        sent = [
            row
            for row in heard.rows
            if row["kind"] == TX
            and row["node_no"] == sender
            and row["mesh_us"] // HOUR_US * HOUR_US == hour_us
            if row["face"] in faces
            if any(
                up["node_no"] == receiver and up["since_us"] <= row["mesh_us"] <= up["until_us"] for up in ups
            )
        ]
        rssi = [rx["rssi_dbm"] for rx, _ in both if rx["rssi_dbm"] != -32_768]
        snr = [rx["snr_db"] for rx, _ in both if not math.isnan(rx["snr_db"])]
        table.append(
            {
                "hour_us": hour_us,
                "sender": sender,
                "receiver": receiver,
                "heard": len(both),
                "sent": max(len(both), len(sent)),
                "rssi_sum": sum(rssi),
                "rssi_n": len(rssi),
                "snr_sum": sum(sorted(snr)),
                "snr_n": len(snr),
                "first_us": min(tx["mesh_us"] for _, tx in both),
                "last_us": max(tx["mesh_us"] for _, tx in both),
            }
        )
    return table


def uses(heard: Heard) -> list[Row]:
    new_to: dict[int, list[int]] = defaultdict(list)
    for place, sent in heard.sending.items():
        if sent:
            new_to[sent["place"]].append(heard.rows[place]["verdict"] == NEW)
    old = set()
    for commit, _, sent in heard.arrivals():
        had_us, waited_us = heard.delay_us(commit, sent), commit["mesh_us"] - sent["mesh_us"]
        if (
            had_us is not None
            and had_us - waited_us > limits.LOOK_BACK_US
            and waited_us <= limits.LINK_WINDOW_US
        ):
            old.add(sent["place"])
    packets: Counter[tuple[Any, ...]] = Counter()
    airtime_us: Counter[tuple[Any, ...]] = Counter()
    for row in heard.rows:
        if row["kind"] != TX or not heard.asked(row["mesh_us"]):
            continue
        place = row["place"]
        before = any(
            order(other) < order(row) and row["mesh_us"] - other["mesh_us"] <= limits.LOOK_BACK_US
            for other in heard.sent[row["hash"]]
            if other["node_no"] == row["node_no"]
            and other["face"] == row["face"]
            and other["packet"] in CONTENT
        )
        if row["packet"] not in CONTENT:
            use = "overhead"
        elif any(new_to[place]):
            use = "repair" if before or place in old else "news"
        else:
            use = "redundant" if new_to[place] else "unheard"
        face = heard.facts.sights.faces[row["face"]] if row["face"] >= 0 else ""
        key = (
            row["mesh_us"] // HOUR_US * HOUR_US,
            row["node_no"],
            face,
            KINDS[min(row["packet"], len(KINDS) - 1)],
            use,
        )
        packets[key] += 1
        airtime_us[key] += row["airtime_us"]
    names = "hour_us", "node_no", "face", "packet", "use"
    return [
        {**dict(zip(names, key, strict=True)), "packets": packets[key], "airtime_us": airtime_us[key]}
        for key in packets
    ]


def _since(row: Row, unit_us: int) -> int:
    since_us: int = row["mesh_us"] // unit_us * unit_us
    return since_us


def transmitted(heard: Heard) -> list[Row]:
    packets: Counter[tuple[Any, ...]] = Counter()
    airtime_us: Counter[tuple[Any, ...]] = Counter()
    for row in heard.rows:
        if row["kind"] == TX and row["airtime_us"] and heard.asked(row["mesh_us"]):
            face = heard.facts.sights.faces[row["face"]] if row["face"] >= 0 else ""
            key = row["node_no"], _since(row, limits.SLOT_US), face, _since(row, HOUR_US)
            packets[key] += 1
            airtime_us[key] += row["airtime_us"]
    names = "node_no", "slot_us", "face", "hour_us"
    return [
        {**dict(zip(names, key, strict=True)), "packets": packets[key], "airtime_us": airtime_us[key]}
        for key in packets
    ]


def hops(heard: Heard) -> list[Row]:
    found: Counter[tuple[int, ...]] = Counter()
    for commit, _, sent in heard.arrivals():
        delay_us = heard.delay_us(commit, sent)
        if delay_us is not None and heard.asked(commit["mesh_us"]):
            bucket = math.floor(16 * math.log2(1 + delay_us / 1_000) + 1e-9) if delay_us >= 0 else -1
            found[commit["mesh_us"] // HOUR_US * HOUR_US, sent["node_no"], commit["node_no"], bucket] += 1
    return [
        {"hour_us": hour_us, "scope": "hop", "a": a, "b": b, "bucket": bucket, "n": n}
        for (hour_us, a, b, bucket), n in found.items()
    ]


def same(table: pa.Table, rows: list[Row]) -> bool:
    """Return True if a table has these rows, in any order."""
    return sorted(map(repr, table.to_pylist())) == sorted(map(repr, rows))
