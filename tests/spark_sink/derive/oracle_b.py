"""Expected results of the transforms of progress, steps, delays, groups and changes, worked out record by record."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from spark_sink.derive.facts import ENTRY, HOUR_US, RX, TX, Copies, Facts, Sights
from spark_sink.limits import HEARD_WITHIN_US

MINUTE_US = 60_000_000
SLOT_US = 600_000_000
Found = list[dict[str, Any]]


def rows(table: pa.Table, *order: str) -> Found:
    """A table's rows, in order of these columns."""
    found: Found = table.to_pylist()
    return sorted(found, key=lambda row: [row[name] for name in order])


def each(columns: Sights | Copies | Any, *names: str) -> list[tuple[int, ...]]:
    return list(zip(*(getattr(columns, name).tolist() for name in names), strict=True))


def inside(facts: Facts, t_us: int) -> bool:
    return facts.since_us <= t_us < facts.until_us


def entries(facts: Facts) -> Mapping[tuple[int, int], list[tuple[int, int, int, int]]]:
    """By entry, its copies: 0 for own ones and 1 for others, node, mesh time, mesh; the publisher's first."""
    found: dict[tuple[int, int], list[tuple[int, int, int, int]]] = {}
    for feed, seq, node, own, t_us, mesh in each(
        facts.copies, "feed_no", "seq", "node_no", "own", "mesh_us", "mesh"
    ):
        found.setdefault((feed, seq), []).append((1 - own, node, t_us, mesh))
    return {place: sorted(copies) for place, copies in found.items()}


def progress(facts: Facts) -> Found:
    published: Counter[int] = Counter()
    copied: Counter[int] = Counter()
    for copies in entries(facts).values():
        first_us = min((strange, t_us) for strange, _, t_us, _ in copies)[1]
        published[first_us // MINUTE_US * MINUTE_US] += inside(facts, first_us)
        for _, _, t_us, _ in copies:
            copied[t_us // MINUTE_US * MINUTE_US] += inside(facts, t_us)
    return [
        {
            "minute_us": minute,
            "hour_us": minute // HOUR_US * HOUR_US,
            "published": published[minute],
            "copied": copied[minute],
        }
        for minute in sorted({*published, *copied})
        if published[minute] or copied[minute]
    ]


def steps(facts: Facts) -> Found:
    held: dict[tuple[int, int], int] = {}
    found: Found = []
    sights = each(facts.sights, "kind", "node_no", "feed_no", "mesh_us", "seq")
    for hour_us in range(facts.since_us, facts.until_us, HOUR_US):
        before = dict(held)
        for kind, node, feed, t_us, seq in sights:
            if kind == ENTRY and feed >= 0 and hour_us <= t_us < hour_us + HOUR_US:
                held[node, feed] = max(held.get((node, feed), 0), seq)
        found += [
            {"node_no": node, "feed_no": feed, "hour_us": hour_us, "seq": seq}
            for (node, feed), seq in held.items()
            if seq > before.get((node, feed), 0)
        ]
    return sorted(found, key=lambda row: (row["node_no"], row["feed_no"], row["hour_us"]))


def bucket(delay_us: int) -> int:
    return -1 if delay_us < 0 else math.floor(16 * math.log2(1 + delay_us / 1_000))


def delays(facts: Facts) -> Found:
    counts: Counter[tuple[int, str, int, int]] = Counter()
    for (feed, _), copies in entries(facts).items():
        stranger, publisher, published_us, publishers_mesh = copies[0]
        if stranger:
            continue
        for strange, node, t_us, mesh in copies:
            alone = mesh == node and publishers_mesh == publisher
            if strange and inside(facts, t_us) and (mesh == publishers_mesh or alone):
                hour_us, place = t_us // HOUR_US * HOUR_US, bucket(t_us - published_us)
                counts[hour_us, "node", node, place] += 1
                counts[hour_us, "feed", feed, place] += 1
    return [
        {"hour_us": hour_us, "scope": scope, "a": a, "b": 0, "bucket": place, "n": n}
        for (hour_us, scope, a, place), n in sorted(counts.items())
    ]


def heard(facts: Facts) -> list[tuple[int, int | None, int, int]]:
    """Receiver, sender if that is known, when, and for how many slots more it counts."""
    sent: dict[int, list[tuple[int, int]]] = {}
    packets = each(facts.sights, "kind", "hash", "mesh_us", "node_no", "verdict", "airtime_us", "length")
    for kind, hash_, t_us, node, *_ in packets:
        if kind == TX:
            sent.setdefault(hash_, []).append((t_us, node))
    found = []
    for kind, hash_, t_us, node, verdict, airtime_us, length in packets:
        if kind != RX:
            continue
        near = [(abs(when - t_us), who) for when, who in sent.get(hash_, []) if who != node]
        sender = min(near)[1] if near and min(near)[0] <= HEARD_WITHIN_US else None
        full_us = airtime_us * 140 // (length + 20)
        if sender is not None or verdict in {0, 1}:
            found.append((node, sender, t_us, min(6, max(3, full_us * 256 * 24 // SLOT_US))))
    return found


def groups(facts: Facts) -> Found:
    contacts = heard(facts)
    found: Found = []
    for slot_us in range(facts.since_us, facts.until_us, SLOT_US):
        up = {
            node
            for node, since_us, until_us in each(facts.uptimes, "node_no", "since_us", "until_us")
            if since_us < slot_us + SLOT_US and until_us >= slot_us
        }
        near: dict[int, set[int]] = {node: set() for node in up}
        last: dict[int, int] = {}
        for receiver, sender, t_us, life in contacts:
            begin_us = t_us // SLOT_US * SLOT_US
            if begin_us <= slot_us <= begin_us + life * SLOT_US:
                for node in (receiver, sender):
                    if node is not None:
                        last[node] = max(t_us, last.get(node, 0))
                if receiver in up and sender in up:
                    near[receiver].add(sender)
                    near[sender].add(receiver)
        for node in sorted(up):
            reached = {node}
            while more := {other for one in reached for other in near[one]} - reached:
                reached |= more
            found.append(
                {
                    "slot_us": slot_us,
                    "node_no": node,
                    "hour_us": slot_us // HOUR_US * HOUR_US,
                    "group_no": min(reached),
                    "contacts": len(near[node]),
                    "last_us": last.get(node),
                }
            )
    return found


class Mesh:
    """The mesh as it is told of: pairs of nodes that are in one group, and what is known of each node."""

    def __init__(self) -> None:
        self.slot_us = 0
        self.before: dict[int, int] = {}
        self.pairs: set[tuple[int, int]] = set()
        self.silent: dict[int, list[int]] = {}
        self.touched: dict[int, int] = {}
        self.contact_us: dict[int, int] = {}
        self.isolated_us: dict[int, int] = {}
        self.found: Found = []

    def slot(self, slot_us: int, group: dict[int, int], last: Mapping[int, int | None]) -> None:
        if slot_us != self.slot_us + SLOT_US:
            self.before = {}
        before, self.slot_us = self.before, slot_us
        both = pairs(group) & pairs(before)
        either = closed(pairs(group) | pairs(before))
        told = {(one, other) for one, other in self.pairs if one in group and other in group}
        parted = told & either
        joined = closed(parted | both)
        for kind, whole, parts in (("split", told, parted), ("join", joined, parted)):
            for members in sets(group, whole):
                some = [sorted(part) for part in sets(members, parts) if len(part) > 1]
                if len(some) > 1:
                    subject = f"group {some[0][0]}"
                    self.tell(slot_us - SLOT_US, kind, subject, {"parts": some})
        self.pairs, self.before = joined, group
        for node in group:
            self.node(slot_us, node, last[node], came=node not in before)
        for table in (self.silent, self.touched, self.contact_us):
            for node in {*table} - {*group}:
                del table[node]

    def node(self, slot_us: int, node: int, last_us: int | None, *, came: bool) -> None:
        if came:
            self.contact_us.pop(node, None)
            self.silent.pop(node, None)
            self.touched.pop(node, None)
        if last_us is None:
            self.touched[node] = 0
            silent = self.silent.setdefault(node, [])
            silent.append(slot_us)
            known_us = self.contact_us.get(node)
            if len(silent) >= (2 if known_us is not None else 8) and node not in self.isolated_us:
                self.isolated_us[node] = silent[0] if known_us is None else known_us
                self.tell(self.isolated_us[node], "isolated", f"node {node}", {"nodes": [node]})
            return
        self.silent[node] = []
        self.contact_us[node] = last_us
        self.touched[node] = self.touched.get(node, 0) + 1
        if self.touched[node] >= 2 and node in self.isolated_us:
            detail = {"nodes": [node], "since_us": self.isolated_us.pop(node)}
            self.tell(slot_us - SLOT_US, "back", f"node {node}", detail)

    def tell(self, t_us: int, kind: str, subject: str, detail: Any) -> None:
        text = json.dumps(detail, separators=(",", ":"), sort_keys=True)
        self.found.append({"t_us": t_us, "kind": kind, "subject": subject, "detail": text})


def pairs(group: Mapping[int, int]) -> set[tuple[int, int]]:
    return {(one, other) for one in group for other in group if one != other and group[one] == group[other]}


def closed(some: Iterable[tuple[int, int]]) -> set[tuple[int, int]]:
    """Return the transitive closure: connected nodes are connected with each other."""
    found = set(some)
    while more := {(a, d) for a, b in found for c, d in found if b == c and a != d} - found:
        found |= more
    return found


def sets(nodes: Iterable[int], some: set[tuple[int, int]]) -> list[set[int]]:
    found: list[set[int]] = []
    for node in sorted(nodes):
        if not any(node in one for one in found):
            found.append({node, *(other for one, other in some if one == node and other in set(nodes))})
    return found


def changes(groups: Sequence[Mapping[str, Any]]) -> Found:
    mesh = Mesh()
    for slot_us in sorted({row["slot_us"] for row in groups}):
        here = [row for row in groups if row["slot_us"] == slot_us]
        mesh.slot(
            slot_us,
            {row["node_no"]: row["group_no"] for row in here},
            {row["node_no"]: row["last_us"] for row in here},
        )
    return sorted(mesh.found, key=lambda row: (row["t_us"], row["kind"], row["subject"]))
