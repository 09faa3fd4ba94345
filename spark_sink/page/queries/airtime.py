"""Time on the air: who spends it, on what, and how near the law's limit."""

from collections import defaultdict
from collections.abc import Mapping

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch

Slots = dict[int, int]


def airtime(scope: Scope) -> Answer:
    """Return the answer of ``/api/airtime``. Raises DatabaseFailedError."""
    totals = common.airtime_sums(scope, list(scope.nodes), scope.from_us, scope.to_us)
    worst = sorted(totals, key=lambda number: (-totals[number], number))[: limits.NODES_SHOWN_MAX]
    slots, packets = slots_of(scope, worst, scope.from_us, scope.to_us)
    laws = {(number, law["face"]): law for number, found in common.laws(scope).items() for law in found}
    windows_us = {place: laws.get(place, {}).get("window_us") or limits.HOUR_US for place in slots}
    before = slots_within(scope, windows_us, scope.from_us)
    uses = spent(scope, "use")
    kinds = spent(scope, "packet")
    rows = []
    for (number, face), found in slots.items():
        law = laws.get((number, face), {})
        window_us = law.get("window_us") or limits.HOUR_US
        all_known = {**before[number, face], **found}
        rows.append(
            {
                **scope.nodes[number].named(),
                "face": face,
                **{key: law.get(key) for key in ("region", "sub_band", "limit_ppm", "window_us")},
                "slots": thinned(found),
                "fullest_ppm": fullest_ppm(all_known, window_us, min(found)),
                "now_ppm": window_ppm(all_known, window_us, min(scope.to_us, scope.as_of_us + 1)),
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
    scope: Scope, nodes: list[int], from_us: int, to_us: int
) -> tuple[dict[tuple[int, str], Slots], dict[tuple[int, str], int]]:
    """Return airtime by slot, and packets, of every face of nodes."""
    slots: dict[tuple[int, str], Slots] = defaultdict(dict)
    packets: dict[tuple[int, str], int] = defaultdict(int)
    columns = "node_no, face, slot_us, airtime_us, packets"
    rows = common.transmitted(scope, columns, nodes, from_us, to_us, "ORDER BY node_no, face, slot_us")
    for number, face, slot_us, airtime_us, count in rows:
        slots[number, face][slot_us] = airtime_us
        packets[number, face] += count
    return slots, packets


def slots_within(
    scope: Scope, windows_us: Mapping[tuple[int, str], int], end_us: int
) -> dict[tuple[int, str], Slots]:
    """Return airtime by slot of faces, by node and name, in the windows before a time, each of a length of its own."""
    of_node: dict[int, int] = defaultdict(int)
    for (number, _face), window_us in windows_us.items():
        of_node[number] = max(of_node[number], whole_slots_us(window_us))
    alike: dict[int, list[int]] = defaultdict(list)
    for number, window_us in of_node.items():
        alike[window_us].append(number)
    found: dict[tuple[int, str], Slots] = defaultdict(dict)
    for window_us, nodes in alike.items():
        found.update(slots_of(scope, nodes, end_us - window_us, end_us)[0])
    return found


def thinned(slots: Mapping[int, int]) -> list[tuple[int, int]]:
    """Return [slot_us, airtime_us]; of long ranges, the fullest slot of each stretch stands for it."""
    span_us = max(slots) - min(slots) + limits.SLOT_US if slots else 0
    step_us = max(1, -(-span_us // (limits.POINTS_MAX * limits.SLOT_US))) * limits.SLOT_US
    kept: dict[int, tuple[int, int]] = {}
    for slot_us, airtime_us in slots.items():
        step = slot_us // step_us
        if step not in kept or airtime_us > kept[step][1]:
            kept[step] = (slot_us, airtime_us)
    return list(kept.values())


def whole_slots_us(time_us: int) -> int:
    """Return a time, or the length of a window, rounded up to whole slots."""
    return -(-time_us // limits.SLOT_US) * limits.SLOT_US


def fullest_ppm(slots: Mapping[int, int], window_us: int, since_us: int = 0) -> int:
    """Return the most that a window of whole slots holds that ends with a slot since then, in microseconds a second."""
    window_us = whole_slots_us(window_us)
    times_us = sorted(slots)
    left = sent_us = most_us = 0
    for slot_us in times_us:
        sent_us += slots[slot_us]
        while times_us[left] <= slot_us - window_us:
            sent_us -= slots[times_us[left]]
            left += 1
        if slot_us >= since_us:
            most_us = max(most_us, sent_us)
    return round(most_us * 1_000_000 / window_us)


def window_ppm(slots: Mapping[int, int], window_us: int, end_us: int) -> int:
    """Return airtime of the slots that begin in the window before ``end_us``, in microseconds a second of the window.

    Both are rounded up to whole slots: of a shorter window nothing is known but that it is within its slot.
    """
    end_us, window_us = whole_slots_us(end_us), whole_slots_us(window_us)
    sent_us = sum(
        airtime_us for slot_us, airtime_us in slots.items() if end_us - window_us <= slot_us < end_us
    )
    return round(sent_us * 1_000_000 / window_us)


def spent(scope: Scope, column: str) -> dict[tuple[int, str], dict[str, int]]:
    """Sum up airtime by a column of ``uses``, for every face of every node, in the range."""
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
    """Count copies that arrived at other nodes in the range, without those of the publishers."""
    ((copied, published),) = fetch(
        scope.db,
        "SELECT coalesce(sum(copied), 0), coalesce(sum(published), 0) FROM progress"
        " WHERE hour_us >= ? AND minute_us >= ? AND minute_us < ?",
        (scope.hours()[0], scope.from_us, scope.to_us),
    )
    return max(0, int(copied) - int(published))
