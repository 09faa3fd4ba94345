"""Time on the air: who spends it, on what, and how near the law's limit."""

from collections import defaultdict
from collections.abc import Mapping

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch

Slots = dict[int, int]


def airtime(scope: Scope) -> Answer:
    """The answer of ``/api/airtime``. Raises DatabaseFailedError."""
    totals = common.airtime_sums(scope, list(scope.nodes), scope.from_us, scope.to_us)
    worst = sorted(totals, key=lambda number: (-totals[number], number))[: limits.NODES_SHOWN_MAX]
    slots, packets = slots_of(scope, worst)
    laws = {(number, law["face"]): law for number, found in common.laws(scope).items() for law in found}
    uses = spent(scope, "use")
    kinds = spent(scope, "packet")
    rows = []
    for (number, face), found in slots.items():
        law = laws.get((number, face), {})
        window_us = law.get("window_us") or limits.HOUR_US
        now_us = scope.own_range(number, min(scope.to_us, scope.as_of_us + 1), scope.to_us)[0]
        rows.append(
            {
                **scope.nodes[number].named(),
                "face": face,
                **{key: law.get(key) for key in ("region", "sub_band", "limit_ppm", "window_us")},
                "slots": thinned(scope, number, found),
                "fullest_ppm": fullest_ppm(found, window_us),
                "now_ppm": window_ppm(found, window_us, now_us),
                "uses": uses[number, face],
                "packets": kinds[number, face],
                "airtime_us": sum(found.values()),
                "packets_n": packets[number, face],
            }
        )
    rows.sort(key=lambda row: (-row["airtime_us"], row["label"], row["face"]))
    delivered = copies_delivered(scope)
    spent_us = sum(totals.values())
    return {
        "nodes": rows,
        "slot_us": limits.SLOT_US,
        "delivered": delivered,
        "airtime_us": spent_us,
        "cost_us": round(spent_us / delivered) if delivered else None,
        "hidden": {"nodes": len(totals) - len(worst)},
    }


def slots_of(
    scope: Scope, nodes: list[int]
) -> tuple[dict[tuple[int, str], Slots], dict[tuple[int, str], int]]:
    """Airtime by slot, and packets, of every face of nodes; slots are by the node's own clock."""
    slots: dict[tuple[int, str], Slots] = defaultdict(dict)
    packets: dict[tuple[int, str], int] = defaultdict(int)
    sql = "SELECT node_no, face, slot_us, airtime_us, packets FROM airtime WHERE {own} ORDER BY node_no, face, slot_us"
    rows = common.own_rows(scope, sql, "slot_us", nodes, scope.from_us, scope.to_us)
    for number, face, slot_us, airtime_us, count in rows:
        slots[number, face][slot_us] = airtime_us
        packets[number, face] += count
    return slots, packets


def thinned(scope: Scope, number: int, slots: Mapping[int, int]) -> list[tuple[int, int]]:
    """[slot_us, airtime_us], by mesh time; of long ranges, the fullest slot of each stretch stands for it."""
    clock = scope.clock(number)
    span_us = max(slots) - min(slots) + limits.SLOT_US if slots else 0
    step_us = max(1, -(-span_us // (limits.POINTS_MAX * limits.SLOT_US))) * limits.SLOT_US
    kept: dict[int, tuple[int, int]] = {}
    for slot_us, airtime_us in slots.items():
        step = slot_us // step_us
        if step not in kept or airtime_us > kept[step][1]:
            kept[step] = (slot_us, airtime_us)
    return [
        (clock.mesh_us(slot_us) if clock else slot_us, airtime_us) for slot_us, airtime_us in kept.values()
    ]


def fullest_ppm(slots: Mapping[int, int], window_us: int) -> int:
    """The most that any window of full slots holds, in microseconds a second."""
    return max((window_ppm(slots, window_us, slot_us + limits.SLOT_US) for slot_us in slots), default=0)


def window_ppm(slots: Mapping[int, int], window_us: int, end_us: int) -> int:
    """Airtime of the slots that begin in the window before ``end_us``, in microseconds a second of the window."""
    end_us = -(-end_us // limits.SLOT_US) * limits.SLOT_US
    first_us = end_us - -(-window_us // limits.SLOT_US) * limits.SLOT_US
    sent_us = sum(slots.get(slot_us, 0) for slot_us in range(first_us, end_us, limits.SLOT_US))
    return round(sent_us * 1_000_000 / window_us)


def spent(scope: Scope, column: str) -> dict[tuple[int, str], dict[str, int]]:
    """Airtime by what a column of ``uses`` says, for every face of every node, in the range."""
    first_us, end_us = scope.hours()
    rows = fetch(
        scope.db,
        f"SELECT node_no, face, {column}, sum(airtime_us) FROM uses WHERE hour_us >= ? AND hour_us < ?"
        f" GROUP BY node_no, face, {column} ORDER BY {column}",
        (first_us, end_us),
    )
    found: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    for number, face, name, airtime_us in rows:
        found[number, face][name] = int(airtime_us)
    return found


def copies_delivered(scope: Scope) -> int:
    """Copies that came to somebody in the range; what a node published itself is none."""
    ((copied, published),) = fetch(
        scope.db,
        "SELECT coalesce(sum(copied), 0), coalesce(sum(published), 0) FROM progress"
        " WHERE hour_us >= ? AND minute_us >= ? AND minute_us < ?",
        (scope.hours()[0], scope.from_us, scope.to_us),
    )
    return max(0, int(copied) - int(published))
