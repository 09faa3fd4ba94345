"""Gossip: who asks, who answers, and how much of it was of use."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch
from spark_sink.page.time_span import time_span

COUNTED: Final = {
    ("want", "tx"): "wants_sent",
    ("want", "rx"): "wants_heard",
    ("chnk", "tx"): "chnks_sent",
    ("chnk", "rx"): "chnks_heard",
}
SET_PACKETS: Final = ("claim", "novelty", "sketch", "ask", "feeds")
KINDS: Final = ("want", "chnk", *SET_PACKETS, "set", "spared")
FIGURES: Final = (
    *COUNTED.values(), "places_asked", "answers_sent", "answers_new", "answers_redundant", "answers_unheard", "spared",
    "set_packets", "set_grown",
)  # fmt: skip


def gossip(scope: Scope) -> Answer:
    """Return the answer of ``/api/gossip``. Raises DatabaseFailedError."""
    found = of_nodes(scope, list(scope.nodes))
    together: Answer = {name: sum(row[name] for row in found.values()) for name in FIGURES}
    agreed = [row["agreed_us"] for row in found.values()]
    together["agreed_us"] = max(agreed) if agreed and None not in agreed else None
    asked = scope.found_nodes()
    shown = sorted(
        asked, key=lambda number: (-found[number]["wants_sent"] - found[number]["answers_sent"], number)
    )
    shown = shown[: limits.ROWS_MAX]
    shown.sort(key=lambda number: scope.label(number).casefold())
    return {
        "nodes": [{**scope.nodes[number].named(), **found[number]} for number in shown],
        "all": together,
        "hidden": {"nodes": len(asked) - len(shown)},
    }


def of_nodes(scope: Scope, nodes: Sequence[int]) -> dict[int, Answer]:
    """Return the figures of some nodes in the range."""
    sums: dict[int, Counter[str]] = {number: Counter() for number in nodes}
    for number, kind, detail, records, total in common.counts_by(scope, nodes, KINDS):
        _count(sums[number], kind, detail, int(records), int(total))
    only, numbers = ("node_no = ?", tuple(nodes)) if len(nodes) == 1 else ("true", ())
    sent, asked = time_span(scope, *scope.hours()).rows(
        "uses", 'node_no, "use", packets', f"packet IN ('entry', 'chunk') AND {only}", numbers
    )
    rows = fetch(scope.db, f'SELECT node_no, "use", sum(packets) FROM {sent} GROUP BY node_no, "use"', asked)
    for number, use, packets in rows:
        if number in sums:
            sums[number]["answers_sent"] += int(packets)
            name = {"news": "answers_new", "repair": "answers_new", "unheard": "answers_unheard"}
            sums[number][name.get(use, "answers_redundant")] += int(packets)
    agreed = agreed_since(scope)
    return {
        number: {**{name: counts[name] for name in FIGURES}, "agreed_us": agreed.get(number)}
        for number, counts in sums.items()
    }


def _count(sums: Counter[str], kind: str, detail: str, records: int, total: int) -> None:
    name = COUNTED.get((kind, detail))
    if name:
        sums[name] += records
    if kind in ("want", "chnk") and detail == "tx":
        sums["places_asked"] += total
    elif kind in SET_PACKETS and detail == "tx":
        sums["set_packets"] += records
    elif kind == "set":
        sums["set_grown"] += records
    elif kind == "spared":
        sums["spared"] += total


def agreed_since(scope: Scope) -> dict[int, int]:
    """Return when each node reached the set of feeds that most nodes have, in mesh time; others are left out."""
    rows = fetch(scope.db, "SELECT node_no, state, t_us FROM sets ORDER BY node_no")
    if not rows:
        return {}
    common_state = max(
        Counter(state for _number, state, _t_us in rows).items(), key=lambda item: (item[1], item[0])
    )[0]
    return {
        number: scope.newest_mesh_us(number, t_us) for number, state, t_us in rows if state == common_state
    }
