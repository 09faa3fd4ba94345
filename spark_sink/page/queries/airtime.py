"""Time on the air: who spends it, on what, and how near the law's limit."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Final

import numpy as np

from spark_sink.arrays import Ints, run_starts, runs
from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch
from spark_sink.page.time_span import time_span
from spark_sink.serving.database import marks, pieces
from spark_sink.serving.day_sums import unpack_slots


@dataclass(frozen=True, slots=True)
class Slots:
    """Airtime of a face by slots of ten minutes, those without any left out."""

    time_us: Ints
    """When each begins, in order."""
    airtime_us: Ints

    def after(self, before: "Slots") -> "Slots":
        """Return these slots after others."""
        return Slots(
            np.concatenate([before.time_us, self.time_us]),
            np.concatenate([before.airtime_us, self.airtime_us]),
        )


NO_SLOTS: Final = Slots(np.zeros(0, np.int64), np.zeros(0, np.int64))


def airtime(scope: Scope) -> Answer:
    """Return the answer of ``/api/airtime``. Raises DatabaseFailedError."""
    # The slot in which the range begins counts whole: a mesh that has just begun has no other.
    from_us = scope.from_us - scope.from_us % limits.SLOT_US
    totals = common.airtime_sums(scope, from_us, scope.to_us)
    found_nodes = [number for number in scope.found_nodes() if number in totals]
    worst = sorted(found_nodes, key=lambda number: (-totals[number], number))[: limits.NODES_SHOWN_MAX]
    slots, packets = slots_of(scope, worst, from_us, scope.to_us)
    laws = {(number, law["face"]): law for number, found in common.laws(scope).items() for law in found}
    windows_us = {place: laws.get(place, {}).get("window_us") or limits.HOUR_US for place in slots}
    before = slots_within(scope, windows_us, from_us)
    uses, kinds = spent(scope, worst)
    rows = []
    for (number, face), found in slots.items():
        law = laws.get((number, face), {})
        window_us = law.get("window_us") or limits.HOUR_US
        all_known = found.after(before.get((number, face), NO_SLOTS))
        rows.append(
            {
                **scope.nodes[number].named(),
                "face": face,
                **{key: law.get(key) for key in ("region", "sub_band", "limit_ppm", "window_us")},
                "slots": thinned(found),
                "fullest_ppm": fullest_ppm(all_known, window_us, int(found.time_us[0])),
                "now_ppm": window_ppm(all_known, window_us, min(scope.to_us, scope.as_of_us + 1)),
                "uses": uses[number, face],
                "packets": kinds[number, face],
                "airtime_us": int(found.airtime_us.sum()),
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
        "hidden": {"nodes": len(found_nodes) - len(worst)},
    }


def slots_of(
    scope: Scope, nodes: Sequence[int], from_us: int, to_us: int
) -> tuple[dict[tuple[int, str], Slots], dict[tuple[int, str], int]]:
    """Return airtime by slot, and packets, of every face of nodes."""
    times: dict[tuple[int, str], list[Ints]] = defaultdict(list)
    airtime: dict[tuple[int, str], list[Ints]] = defaultdict(list)
    packets: dict[tuple[int, str], int] = defaultdict(int)
    span = time_span(scope, from_us, to_us)
    for some in pieces(nodes, limits.NODES_PER_QUERY):
        for days in pieces(span.days):
            rows = fetch(
                scope.db,
                "SELECT node_no, face, day_us, packets, slots FROM air_days"
                f" WHERE day_us IN ({marks(len(days))}) AND node_no IN ({marks(len(some))})",
                (*days, *some),
            )
            for number, face, day_us, count, packed in rows:
                slots = unpack_slots(packed)
                used = np.flatnonzero(slots)
                times[number, face].append(day_us + used * limits.SLOT_US)
                airtime[number, face].append(slots[used])
                packets[number, face] += count
    for low_us, high_us in span.rest:
        rows = common.transmitted(scope, nodes, low_us, high_us)
        for place, some_rows in groupby(rows, itemgetter(0, 1)):
            slot_us, airtime_us, counts = np.array([row[2:] for row in some_rows], np.int64).T
            times[place].append(slot_us)
            airtime[place].append(airtime_us)
            packets[place] += int(counts.sum())
    return {place: _in_order(times[place], airtime[place]) for place in sorted(times)}, packets


def _in_order(times: Sequence[Ints], airtime: Sequence[Ints]) -> Slots:
    time_us = np.concatenate(times)
    order = np.argsort(time_us, kind="stable")
    return Slots(time_us[order], np.concatenate(airtime)[order])


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
    found: dict[tuple[int, str], Slots] = {}
    for window_us, nodes in alike.items():
        found.update(slots_of(scope, nodes, end_us - window_us, end_us)[0])
    return found


def thinned(slots: Slots) -> list[tuple[int, int]]:
    """Return [slot_us, airtime_us]; of long ranges, the fullest slot of each stretch stands for it."""
    time_us, airtime_us = slots.time_us, slots.airtime_us
    if not len(time_us):
        return []
    span_us = int(time_us[-1] - time_us[0]) + limits.SLOT_US
    step_us = max(1, -(-span_us // (limits.POINTS_MAX * limits.SLOT_US))) * limits.SLOT_US
    step = time_us // step_us
    begin, count = runs(run_starts(step))
    fullest = np.flatnonzero(airtime_us == np.repeat(np.maximum.reduceat(airtime_us, begin), count))
    kept = fullest[run_starts(step[fullest])]
    return list(zip(time_us[kept].tolist(), airtime_us[kept].tolist(), strict=True))


def whole_slots_us(time_us: int) -> int:
    """Return a time, or the length of a window, rounded up to whole slots."""
    return -(-time_us // limits.SLOT_US) * limits.SLOT_US


def fullest_ppm(slots: Slots, window_us: int, since_us: int = 0) -> int:
    """Return the most that a window of whole slots holds that ends with a slot since then, in microseconds a second."""
    window_us = whole_slots_us(window_us)
    summed = np.append(0, np.cumsum(slots.airtime_us))
    left = np.searchsorted(slots.time_us, slots.time_us - window_us, "right")
    sent_us = (summed[1:] - summed[left])[slots.time_us >= since_us]
    return round(int(sent_us.max(initial=0)) * 1_000_000 / window_us)


def window_ppm(slots: Slots, window_us: int, end_us: int) -> int:
    """Return the use of the window that ends then, in microseconds a second.

    Both are rounded up to whole slots: of a shorter window nothing is known but that it is within its slot.
    """
    end_us, window_us = whole_slots_us(end_us), whole_slots_us(window_us)
    low, high = np.searchsorted(slots.time_us, [end_us - window_us, end_us])
    return round(int(slots.airtime_us[low:high].sum()) * 1_000_000 / window_us)


def spent(
    scope: Scope, nodes: Sequence[int]
) -> tuple[dict[tuple[int, str], dict[str, int]], dict[tuple[int, str], dict[str, int]]]:
    """Sum up airtime by use, and by kind of packet, for every face of nodes, in the range."""
    uses: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    kinds: dict[tuple[int, str], dict[str, int]] = defaultdict(dict)
    if not nodes:
        return uses, kinds
    columns = 'node_no, face, packet, "use", airtime_us'
    found, asked = time_span(scope, *scope.hours()).rows(
        "uses", columns, f"node_no IN ({marks(len(nodes))})", nodes
    )
    names = 'node_no, face, packet, "use"'
    rows = fetch(
        scope.db, f"SELECT {names}, sum(airtime_us) FROM {found} GROUP BY {names} ORDER BY {names}", asked
    )
    for number, face, packet, use, airtime_us in rows:
        for sums, name in ((uses, use), (kinds, packet)):
            of_face = sums[number, face]
            of_face[name] = of_face.get(name, 0) + int(airtime_us)
    return {place: dict(sorted(sums.items())) for place, sums in uses.items()}, kinds


def copies_delivered(scope: Scope) -> int:
    """Count copies that arrived at other nodes in the range, without those of the publishers."""
    ((copied, published),) = fetch(
        scope.db,
        "SELECT coalesce(sum(copied), 0), coalesce(sum(published), 0) FROM progress"
        " WHERE hour_us >= ? AND minute_us >= ? AND minute_us < ?",
        (scope.hours()[0], scope.from_us, scope.to_us),
    )
    return max(0, int(copied) - int(published))
