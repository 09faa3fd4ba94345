"""The rules of merging, row by row in plain Python (docs/formats/serving.md)."""

from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

Fact: TypeAlias = dict[str, Any]

SUM_MAX = 2**62
KEYS = {
    "boots": ("node", "boot"),
    "faces": ("node", "face"),
    "entries": ("feed", "seq"),
    "copies": ("feed", "seq", "node"),
    "side_chains": ("feed", "seq", "node"),
    "frontiers": ("node", "feed"),
    "sets": ("node",),
    "traffic": ("node", "hour_us", "direction", "face", "packet", "verdict", "reason"),
    "counts": ("node", "hour_us", "kind", "detail"),
    "incidents": ("node", "boot", "offset"),
}
TOLD = (
    "name", "feed", "dialect", "version", "clean", "network", "network_name", "latitude", "longitude", "started_us",
    "stopped_us", "stop_reason",
)  # fmt: skip
LAW = ("law_boot", "law_offset", "spec", "region", "sub_band", "limit_ppm", "window_us")
SUMS = {
    "traffic": ("packets", "bytes", "airtime_us"),
    "counts": ("records", "total"),
}


def combined(table: str, facts: Iterable[Fact]) -> list[Fact]:
    """One fact a key."""
    rows: dict[tuple[Any, ...], Fact] = {}
    for fact in facts:
        key = tuple(fact[column] for column in KEYS[table])
        rows[key] = _RULES[table](rows[key], fact) if key in rows else fact
    return list(rows.values())


def _boot(one: Fact, other: Fact) -> Fact:
    result = dict(one)
    for column in TOLD:
        values = [fact[column] for fact in (one, other) if fact[column] is not None]
        result[column] = min(values, default=None)
    result["records"] = min(SUM_MAX, one["records"] + other["records"])
    for end, fact in (
        ("first", min(one, other, key=lambda fact: fact["first_offset"])),
        ("last", max(one, other, key=lambda fact: fact["last_offset"])),
    ):
        for column in (f"{end}_offset", f"{end}_us", f"{end}_mono_us"):
            result[column] = fact[column]
    return result


def _entry(one: Fact, other: Fact) -> Fact:
    def rank(fact: Fact) -> tuple[Any, ...]:
        if fact["publisher"] is None:
            return 1, fact["id"], fact["type"], fact["size"], fact["chunks"]
        told = (
            fact[column]
            for column in ("id", "boot", "t_us", "mono_us", "type", "size", "chunks", "publisher")
        )
        return 0, *told

    return min(one, other, key=rank)


def _first(one: Fact, other: Fact) -> Fact:
    return min(one, other, key=lambda fact: (fact["boot"], fact["offset"]))


def _newest(one: Fact, other: Fact) -> Fact:
    return max(one, other, key=lambda fact: (fact["boot"], fact["offset"]))


def _face(one: Fact, other: Fact) -> Fact:
    told = [fact for fact in (one, other) if fact["law_boot"] is not None]
    law = max(told, key=lambda fact: (fact["law_boot"], fact["law_offset"]), default=one)
    return _newest(one, other) | {name: law[name] for name in LAW}


def _side_chain(one: Fact, other: Fact) -> Fact:
    whole = [fact["complete_us"] for fact in (one, other) if fact["complete_us"] is not None]
    return one | {"held": max(one["held"], other["held"]), "complete_us": min(whole, default=None)}


def _frontier(one: Fact, other: Fact) -> Fact:
    return min(one, other, key=lambda fact: (-fact["seq"], fact["boot"], fact["t_us"]))


def _adder(table: str) -> Callable[[Fact, Fact], Fact]:
    return lambda one, other: (
        one | {column: min(SUM_MAX, one[column] + other[column]) for column in SUMS[table]}
    )


_RULES: dict[str, Callable[[Fact, Fact], Fact]] = {
    "boots": _boot,
    "faces": _face,
    "entries": _entry,
    "copies": _first,
    "side_chains": _side_chain,
    "frontiers": _frontier,
    "sets": _newest,
    "traffic": _adder("traffic"),
    "counts": _adder("counts"),
    "incidents": _first,
}
