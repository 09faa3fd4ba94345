"""The fact tables made the plain way, record by record: what partial tables, and all that becomes of them, must equal.

Every function takes the records of whole logs, each once and in any order, and gives a table as a dictionary: from
the key, with nodes and feeds by name, to the other columns. Columns are those of docs/formats/serving.md. A field
that a record does not have may be missing or None.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from tests.spark_sink.logs import Record

Key = tuple[Any, ...]
Row = dict[str, Any]
Facts = dict[Key, Row]

HOUR_US = 3_600_000_000
SLOT_US = 600_000_000
SUM_MAX = 2**62


def facts(records: list[Record]) -> dict[str, Facts]:
    """All tables that are the same in whatever order logs are read, without those that have no rows."""
    tables = {name: make(records) for name, make in TABLES.items()}
    return {name: table for name, table in tables.items() if table}


def of(records: Iterable[Record], *kinds: str) -> list[Record]:
    return [record for record in records if record["kind"] in kinds]


def place(record: Record) -> tuple[int, int]:
    return record["boot"], record["offset"]


def hour(record: Record) -> int:
    return int(record["t_us"] // HOUR_US * HOUR_US)


def by(records: Iterable[Record], *names: str) -> dict[Key, list[Record]]:
    found = defaultdict(list)
    for record in records:
        found[tuple(record[name] for name in names)].append(record)
    return found


def some(record: Record, *names: str) -> Row:
    return {name: record.get(name) for name in names}


def boots(records: list[Record]) -> Facts:
    return {key: _boot(sorted(some, key=place)) for key, some in by(records, "node", "boot").items()}


def _boot(records: list[Record]) -> Row:
    first, last = records[0], records[-1]
    start = first if first["kind"] == "start" and first["offset"] == 0 else {}
    stops = of(records, "stop")
    clean = start.get("clean")
    return {
        **some(
            start, "name", "feed", "dialect", "version", "network", "network_name", "latitude", "longitude"
        ),
        "clean": None if clean is None else int(clean),
        "started_us": start.get("t_us"),
        "stopped_us": min((stop["t_us"] for stop in stops), default=None),
        "stop_reason": min(
            (stop["reason"] for stop in stops if stop.get("reason") is not None), default=None
        ),
        "records": len(records),
        **{f"first_{new}": first[old] for new, old in PLACES},
        **{f"last_{new}": last[old] for new, old in PLACES},
    }


PLACES = ("offset", "offset"), ("us", "t_us"), ("mono_us", "mono_us")


def faces(records: list[Record]) -> Facts:
    changes = [change for change in of(records, "face_up", "face_down") if change.get("face") is not None]
    law = "spec", "region", "sub_band", "limit_ppm", "window_us"
    found: Facts = {}
    for key, same in by(changes, "node", "face").items():
        newest = max(same, key=place)
        up = max((one for one in same if one["kind"] == "face_up"), key=place, default=Record())
        found[key] = some(newest, "boot", "offset", "t_us") | {"up": int(newest["kind"] == "face_up")}
        found[key] |= some(up, *law) | {f"law_{name}": up.get(name) for name in ("boot", "offset")}
    return found


def entries(records: list[Record]) -> Facts:
    return {key: _entry(same) for key, same in by(of(records, "entry"), "feed", "seq").items()}


def _entry(same: list[Record]) -> Row:
    """Return the row of an entry: its publisher's; if there is none, or more than one, the smallest id. The other
    fields only break ties."""
    own = [one for one in same if one["origin"] == "own"]
    ties = (
        ("id", "boot", "t_us", "mono_us", "type", "size", "chunks", "node")
        if own
        else ("id", "type", "size", "chunks")
    )
    best = min(own or same, key=lambda one: [one.get(name) or 0 for name in ties])
    return {
        **some(best, "id", "size", "chunks"),
        "type": best.get("type") or 0,
        "publisher": best["node"] if own else None,
        **(some(best, "boot", "t_us", "mono_us") if own else dict.fromkeys(("boot", "t_us", "mono_us"))),
    }


def copies(records: list[Record]) -> Facts:
    firsts = {
        key: min(same, key=place) for key, same in by(of(records, "entry"), "feed", "seq", "node").items()
    }
    names = "boot", "offset", "t_us", "mono_us", "origin", "face"
    return {key: some(one, *names) for key, one in firsts.items()}


def side_chains(records: list[Record]) -> Facts:
    chunks = [one for one in of(records, "chunk") if None not in some(one, "feed", "seq", "chunk").values()]
    return {
        key: {
            "held": max(one["chunk"] for one in same) + 1,
            "complete_us": min((one["t_us"] for one in same if one.get("complete")), default=None),
        }
        for key, same in by(chunks, "feed", "seq", "node").items()
    }


def frontiers(records: list[Record]) -> Facts:
    highest = {
        key: min(same, key=lambda one: (-one["seq"], one["boot"], one["t_us"]))
        for key, same in by(of(records, "entry"), "node", "feed").items()
    }
    return {key: some(one, "seq", "boot", "t_us") for key, one in highest.items()}


def sets(records: list[Record]) -> Facts:
    newest = {key: max(same, key=place) for key, same in by(of(records, "set"), "node").items()}
    names = "boot", "offset", "state", "t_us"
    return {key: some(one, *names) | {"feeds": one["count"]} for key, one in newest.items()}


def sums(rows: Iterable[tuple[Key, Row]]) -> Facts:
    found: Facts = {}
    for key, row in rows:
        before = found.get(key, dict.fromkeys(row, 0))
        found[key] = {name: min(before[name] + value, SUM_MAX) for name, value in row.items()}
    return found


def traffic(records: list[Record]) -> Facts:
    return sums(_packets(record) for record in of(records, "rx", "rx_more", "tx", "tx_more"))


def _packets(record: Record) -> tuple[Key, Row]:
    received, many = record["kind"].startswith("rx"), record["kind"].endswith("_more")
    verdict = record["verdict"] if received else "sent"
    reason = (record.get("reason") or "") if verdict == "invalid" else ""
    direction = "rx" if received else "tx"
    return (
        (record["node"], hour(record), direction, record["face"], record["packet"], verdict, reason),
        {
            "packets": record["count"] if many else 1,
            "bytes": record["size"] if many else record["length"],
            "airtime_us": record.get("airtime_us") or 0,
        },
    )


def counts(records: list[Record]) -> Facts:
    return sums(
        (
            (record["node"], hour(record), _counted_kind(record), _detail(record)),
            {"records": 1, "total": _total(record)}
            if record["kind"] != "left_out"
            else {"records": record["count"], "total": record["total"]},
        )
        for record in records
    )


def _counted_kind(record: Record) -> str:
    return str(record["record" if record["kind"] == "left_out" else "kind"])


def _detail(record: Record) -> str:
    match _counted_kind(record):
        case "want" | "chnk" | "claim" | "novelty" | "sketch" | "ask" | "feeds":
            return record.get("direction") or ""
        case "refused":
            return record.get("rule") or ""
        case "spared" | "face_up" | "face_down":
            return record.get("face") or ""
        case _:
            return ""


def _total(record: Record) -> int:
    match record["kind"]:
        case "want":
            return sum(1 for seq in record.get("seqs") or () if seq is not None and seq > 0)
        case "chnk":
            return len(record.get("chunks_wanted") or ())
        case "claim" | "novelty" | "sketch" | "ask" | "feeds" | "refused" | "spared":
            return int(record.get("count") or 0)
        case "clock":
            return abs(int(record.get("step_us") or 0))
        case _:
            return 0


def incidents(records: list[Record]) -> Facts:
    kinds = "start", "stop", "clock", "face_up", "face_down", "fork", "refused"
    return {
        (record["node"], record["boot"], record["offset"]): _incident(record)
        for record in of(records, *kinds)
    }


def _incident(record: Record) -> Row:
    reason = record.get("reason")
    detail = record.get("spec") if reason is None else reason
    if record["kind"] == "start":
        detail = "unclean" if record.get("clean") is False else None
    names = "t_us", "mono_us", "kind", "face", "rule", "feed", "seq", "held", "other"
    n = record.get("step_us") if record["kind"] == "clock" else record.get("count")
    return some(record, *names) | {"detail": detail, "n": n}


TABLES: dict[str, Callable[[list[Record]], Facts]] = {
    "boots": boots,
    "faces": faces,
    "entries": entries,
    "copies": copies,
    "side_chains": side_chains,
    "frontiers": frontiers,
    "sets": sets,
    "traffic": traffic,
    "counts": counts,
    "incidents": incidents,
}


def sights(records: list[Record]) -> dict[Key, list[Row]]:
    """By node, boot and hour what is packed, by offset; faces by their names, what is unknown as in packed rows."""
    found = defaultdict(list)
    for record in sorted(records, key=place):
        if record["kind"] in {"rx", "tx", "entry"} or (record["kind"] == "chunk" and record.get("complete")):
            found[record["node"], record["boot"], hour(record)].append(_sight(record))
    return found


KINDS = ("rx", "tx", "entry", "chunk")
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
VERDICTS = {"new": 0, "duplicate": 1, "invalid": 2, "not_ours": 3}
ORIGINS = {"own": 5, "peer": 6, "import": 7}


def _sight(record: Record) -> Row:
    kind, packet = record["kind"], record.get("packet")
    if kind == "rx":
        verdict = VERDICTS.get(record["verdict"], 255)
    else:
        verdict = 4 if kind == "tx" else ORIGINS.get(str(record.get("origin")), 255)
    return {
        "kind": KINDS.index(kind),
        "face": record.get("face"),
        "packet": PACKETS.index(packet) if packet in PACKETS else 255,
        "verdict": verdict,
        **some(record, "offset", "t_us", "mono_us"),
        "hash": _digits(record["hash"]) if kind in {"rx", "tx"} else 0,
        "length": record.get("length") or 0,
        "airtime_us": min(record.get("airtime_us") or 0, 2**32 - 1),
        "rssi_dbm": -32768 if record.get("rssi_dbm") is None else record["rssi_dbm"],
        "snr_db": record.get("snr_db"),
        "feed": _digits(record.get("feed")),
        "seq": min(record.get("seq") or 0, 2**32 - 1),
        "chunk": 2**32 - 1 if record.get("chunk") is None else min(record["chunk"], 2**32 - 1),
    }


def _digits(text: str | None) -> int:
    """The first 16 hexadecimal digits as a signed number, 0 if they are none."""
    digits = (text or "")[:16]
    if len(digits) < 16 or not set(digits.lower()) <= set("0123456789abcdef"):
        return 0
    number = int(digits, 16)
    return number - 2**64 if number >= 2**63 else number
