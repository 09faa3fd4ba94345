"""Facts made in the plainest way from a folder of nodes' logs, every clock taken as right."""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from spark_sink.derive.facts import ENTRY, HOUR_US, RX, TX, WHOLE, Copies, Facts, Sights, Uptimes

Record = Mapping[str, Any]
Row = Mapping[str, Any]

PACKETS = (
    "entry",
    "chunk",
    "claim",
    "novelty",
    "zap",
    "sketch",
    "ask",
    "feeds",
    "want",
    "chnk",
    "ping",
    "pong",
    "more",
    "diff",
    "named_want",
    "named_chnk",
    "coded",
    "coded_chunk",
)
VERDICTS = ("new", "duplicate", "invalid", "not_ours", "sent", "own", "peer", "import")
MESH = 2**40
"""A number that related clocks share."""
UNKNOWN = {"rssi_dbm": -32_768, "snr_db": math.nan, "seq": 0, "chunk": 2**32 - 1}


@lru_cache(maxsize=1)
def records_of(folder: Path) -> list[Record]:
    """All records below *folder*, which must not grow any more, in order of node, boot and offset."""
    found = [
        json.loads(line) for path in sorted(folder.rglob("*.jsonl")) for line in path.read_text().splitlines()
    ]
    return sorted(found, key=lambda record: (record["node"], record["boot"], record["offset"]))


def numbers(folder: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Numbers of nodes, by their names (``n0``: 1, and so on, in that order), and of feeds, by their owners' names."""
    starts = {record["name"]: record for record in records_of(folder) if record["kind"] == "start"}
    named = {name: place for place, name in enumerate(sorted(starts, key=lambda name: (len(name), name)), 1)}
    return named, dict(named)


def facts_of(
    folder: Path, *, since_us: int | None = None, until_us: int | None = None, margin_us: int = 0
) -> Facts:
    """Facts for full hours of what was logged below *folder*, all of it unless told otherwise."""
    records = records_of(folder)
    starts = {record["name"]: record for record in records if record["kind"] == "start"}
    nodes = {starts[name]["node"]: number for name, number in numbers(folder)[0].items()}
    feeds = {starts[name]["feed"]: number for name, number in numbers(folder)[1].items()}
    times = [record["t_us"] for record in records]
    since_us = min(times) // HOUR_US * HOUR_US if since_us is None else since_us
    until_us = (max(times) // HOUR_US + 1) * HOUR_US if until_us is None else until_us
    faces = tuple(sorted({record["face"] for record in records if "face" in record}))
    seen = [
        _row(record, nodes, feeds, faces)
        for record in records
        if record["kind"] in {"rx", "tx", "entry"} or (record["kind"] == "chunk" and record["complete"])
    ]
    near = [row for row in seen if since_us - margin_us <= row["mesh_us"] < until_us + margin_us]
    arrived = {(row["feed_no"], row["seq"]) for row in near if row["kind"] == ENTRY}
    first: dict[tuple[int, int, int], Row] = {}
    for row in seen:
        if row["kind"] == ENTRY and (row["feed_no"], row["seq"]) in arrived:
            first.setdefault((row["feed_no"], row["seq"], row["node_no"]), row)
    return Facts(
        since_us=since_us,
        until_us=until_us,
        sights=sights_of(near, faces),
        copies=copies_of(
            [
                {**first[key], "own": int(first[key]["verdict"] == VERDICTS.index("own"))}
                for key in sorted(first)
            ]
        ),
        uptimes=_uptimes(records, nodes),
    )


def sights_of(rows: Sequence[Row], faces: Sequence[str] = ("air",)) -> Sights:
    """Sights of rows that may leave out what is unknown or 0; they are put in order."""
    rows = sorted(rows, key=lambda row: int(row["mesh_us"]))
    columns = {field.name: _column(rows, field.name) for field in fields(Sights) if field.name != "faces"}
    return Sights(**columns, faces=tuple(faces))


def copies_of(rows: Sequence[Row]) -> Copies:
    """Copies, in the order of *rows*."""
    return Copies(**{field.name: _column(rows, field.name) for field in fields(Copies)})


def uptimes_of(rows: Sequence[Row]) -> Uptimes:
    """Uptimes, in the order of *rows*."""
    return Uptimes(**{field.name: _column(rows, field.name) for field in fields(Uptimes)})


def _column(rows: Sequence[Row], name: str) -> Any:
    defaults = {"boot": 1, "mesh": MESH, **UNKNOWN}
    values = [row.get(name, defaults.get(name, 0)) for row in rows]
    return np.array(values, np.float64 if name == "snr_db" else np.int64)


def _row(record: Record, nodes: Mapping[str, int], feeds: Mapping[str, int], faces: Sequence[str]) -> Row:
    kind = {"rx": RX, "tx": TX, "entry": ENTRY, "chunk": WHOLE}[record["kind"]]
    verdict = record.get("verdict") or record.get("origin") or "sent"
    packet = record.get("packet", record["kind"])
    number = int(record.get("hash", "0"), 16)
    return {
        "node_no": nodes[record["node"]],
        "boot": record["boot"],
        "offset": record["offset"],
        "kind": kind,
        "face": faces.index(record["face"]) if "face" in record else -1,
        "packet": PACKETS.index(packet) if packet in PACKETS else 255,
        "verdict": VERDICTS.index(verdict),
        "t_us": record["t_us"],
        "mono_us": record["mono_us"],
        "mesh_us": record["t_us"],
        "hash": number - 2**64 if number >= 2**63 else number,
        "length": record.get("length", 0),
        "airtime_us": record.get("airtime_us", 0),
        **{name: record.get(name, unknown) for name, unknown in UNKNOWN.items()},
        "feed_no": feeds.get(record.get("feed", ""), -1),
    }


def _uptimes(records: Sequence[Record], nodes: Mapping[str, int]) -> Uptimes:
    ends: dict[tuple[int, int], list[int]] = {}
    for record in records:
        ends.setdefault((nodes[record["node"]], record["boot"]), []).append(record["t_us"])
    return uptimes_of(
        [
            {"node_no": node, "boot": boot, "since_us": min(times), "until_us": max(times)}
            for (node, boot), times in sorted(ends.items())
        ]
    )
