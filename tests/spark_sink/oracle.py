"""The serving database's figures counted the plain way, from lists of records: what Spark and SQL must agree with."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from typing import Any

from spark_sink import limits
from tests.spark_sink.logs import Record

Rows = set[tuple[Any, ...]]


def entries(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record["kind"] == "entry"]


def frontier(records: list[Record]) -> Rows:
    best: dict[tuple[str, str], tuple[int, int]] = {}
    for entry in entries(records):
        key = entry["node"], entry["feed"]
        best[key] = max(best.get(key, (0, 0)), (entry["seq"], entry["t_us"]))
    return {(*key, *value) for key, value in best.items()}


def behind(records: list[Record]) -> Rows:
    held = {(node, feed): seq for node, feed, seq, _ in frontier(records)}
    newest: Counter[str] = Counter()
    for (_, feed), seq in held.items():
        newest[feed] = max(newest[feed], seq)
    nodes = {record["node"] for record in records}
    return {(node, feed, newest[feed] - held.get((node, feed), 0)) for node in nodes for feed in newest}


def delays(records: list[Record]) -> Rows:
    published = {(e["feed"], e["seq"]): e["t_us"] for e in entries(records) if e["origin"] == "own"}
    return {
        (e["node"], e["feed"], e["seq"], e["t_us"] - published[e["feed"], e["seq"]])
        for e in entries(records)
        if e["origin"] != "own" and (e["feed"], e["seq"]) in published
    }


def packets(records: Iterable[Record]) -> list[Record]:
    return [record for record in records if record["kind"] in {"rx", "tx"}]


def traffic(records: list[Record]) -> Rows:
    sums: dict[tuple[Any, ...], list[int]] = defaultdict(lambda: [0, 0, 0])
    for p in packets(records):
        minute_us = p["t_us"] // 60_000_000 * 60_000_000
        key = p["node"], minute_us, p["kind"], p["face"], p["packet"], p.get("verdict", "sent")
        for index, value in enumerate((1, p["length"], p.get("airtime_us", 0))):
            sums[key][index] += value
    for many in (record for record in records if record["kind"] == "tx_more"):
        minute_us = many["t_us"] // 60_000_000 * 60_000_000
        key = many["node"], minute_us, "tx", many["face"], many["packet"], "sent"
        sums[key][0] += many["count"]
        sums[key][1] += many["size"]
    return {(*key, *values) for key, values in sums.items()}


def events_count(records: list[Record]) -> Rows:
    counts = Counter((record["kind"], record["node"]) for record in records)
    return {(*key, count) for key, count in counts.items()}


def links(records: list[Record]) -> Rows:
    """By brute force: every reception against every sending."""
    sums: dict[tuple[str, str], list[Any]] = {}
    sendings = [p for p in packets(records) if p["kind"] == "tx"]
    for p in packets(records):
        if p["kind"] == "rx" and (sender := _sender(p, sendings)):
            row = sums.setdefault((sender, p["node"]), [0, 0, 0, 0.0, 0, 0])
            row[0] += 1
            for index, name in ((1, "rssi_dbm"), (3, "snr_db")):
                if p.get(name) is not None:
                    row[index] += p[name]
                    row[index + 1] += 1
            row[5] = max(row[5], p["t_us"])
    return {(*key, *row) for key, row in sums.items()}


def _sender(heard: Record, sendings: list[Record]) -> str | None:
    candidates = [
        (sent["t_us"] > heard["t_us"], abs(sent["t_us"] - heard["t_us"]), sent["node"])
        for sent in sendings
        if sent["hash"] == heard["hash"]
        and sent["node"] != heard["node"]
        and abs(sent["t_us"] - heard["t_us"]) <= limits.LINK_WINDOW_US
    ]
    return min(candidates)[2] if candidates else None


def convergence(records: list[Record]) -> Rows:
    firsts: dict[tuple[str, int], int] = {}
    steps: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for e in entries(records):
        key = e["feed"], e["seq"]
        firsts[key] = min(firsts.get(key, e["t_us"]), e["t_us"])
        steps[e["t_us"] // 1_000_000 * 1_000_000][1] += 1
    for t_us in firsts.values():
        steps[t_us // 1_000_000 * 1_000_000][0] += 1
    nodes = len({record["node"] for record in records})
    found, published, copied = set(), 0, 0
    for second_us in sorted(steps):
        published += steps[second_us][0]
        copied += steps[second_us][1]
        found.add((second_us, published, copied, published * nodes - copied))
    return found
