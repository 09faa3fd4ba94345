"""Small facts of any kind, for Hypothesis."""

from typing import Any

from hypothesis import strategies as st

from spark_sink.derive.facts import ENTRY, HOUR_US, RX, TX, Facts
from spark_sink.limits import HEARD_WITHIN_US
from tests.spark_sink.derive.facts_of import MESH, copies_of, sights_of, uptimes_of

SINCE_US = 490_896 * HOUR_US
"""When the hours begin: 2026-01-01."""
MINUTE_US = 60_000_000
HOURS = 2

times = st.integers(SINCE_US - HOUR_US, SINCE_US + (HOURS + 1) * HOUR_US)
nodes = st.integers(1, 5)


def facts(**parts: Any) -> Facts:
    """Two hours of what is given, and of nothing else."""
    nothing: dict[str, Any] = {
        "since_us": SINCE_US,
        "until_us": SINCE_US + HOURS * HOUR_US,
        "sights": sights_of([]),
        "copies": copies_of([]),
        "uptimes": uptimes_of([]),
    }
    return Facts(**{**nothing, **parts})


@st.composite
def copied_facts(draw: st.DrawFn) -> Facts:
    """Copies of some entries, by clocks that may be unrelated."""
    places = st.tuples(st.integers(1, 3), st.integers(1, 3), nodes)
    keys = sorted(draw(st.sets(places, max_size=12)))
    near = st.one_of(
        times, st.sampled_from([SINCE_US, SINCE_US + 1, SINCE_US + HOUR_US, SINCE_US + HOURS * HOUR_US])
    )
    return facts(
        copies=copies_of(
            [
                {
                    "feed_no": feed,
                    "seq": seq,
                    "node_no": node,
                    "own": draw(st.integers(0, 1)),
                    "mesh_us": draw(near),
                    "mesh": draw(st.sampled_from([node, MESH, MESH + 1])),
                }
                for feed, seq, node in keys
            ]
        )
    )


@st.composite
def committed_facts(draw: st.DrawFn) -> Facts:
    """Entries committed by some nodes, in any order."""
    row = st.fixed_dictionaries(
        {
            "kind": st.sampled_from([ENTRY, ENTRY, RX]),
            "node_no": st.integers(1, 2),
            "feed_no": st.integers(-1, 2),
            "mesh_us": times,
            "seq": st.integers(1, 9),
        }
    )
    return facts(sights=sights_of(draw(st.lists(row, max_size=20))))


@st.composite
def heard_facts(draw: st.DrawFn) -> Facts:
    """Packets sent by some, or by strangers, and heard by others, at any spreading factor; nodes come and go."""
    rows = []
    for number in range(draw(st.integers(0, 8))):
        t_us, sender = draw(times), draw(nodes)
        airtime_us = draw(st.sampled_from([0, 50_000, 400_000, 7_000_000]))
        packet = {"hash": number - 4, "length": draw(st.integers(1, 120)), "airtime_us": airtime_us}
        if draw(st.booleans()):
            rows.append({**packet, "kind": TX, "node_no": sender, "mesh_us": t_us, "verdict": 4})
        for receiver in draw(st.sets(nodes, max_size=3)):
            late_us = draw(st.sampled_from([0, 20_000, HEARD_WITHIN_US, HEARD_WITHIN_US + 1]))
            verdict = draw(st.integers(0, 3))
            rows.append(
                {**packet, "kind": RX, "node_no": receiver, "mesh_us": t_us + late_us, "verdict": verdict}
            )
    ups = []
    for node in draw(st.lists(nodes, max_size=8)):
        since_us = draw(times)
        ups.append(
            {"node_no": node, "since_us": since_us, "until_us": since_us + draw(st.integers(0, 2 * HOUR_US))}
        )
    return facts(sights=sights_of(rows), uptimes=uptimes_of(sorted(ups, key=lambda row: row["node_no"])))


@st.composite
def grouped(draw: st.DrawFn) -> list[dict[str, Any]]:
    """Rows of `groups` over some slots: a few partitions that repeat, as those of meshes do, and empty slots."""
    slot_us = 10 * MINUTE_US
    some = [draw(st.lists(st.integers(0, 3), min_size=5, max_size=5)) for _ in range(3)]
    rows = []
    slots = draw(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 31), st.integers(0, 31)), max_size=20))
    for number, (which, up, silent) in enumerate(slots):
        if which == 3:
            continue
        labels = {node: some[which][node - 1] for node in range(1, 6) if not up >> (node - 1) & 1 or up % 3}
        for node, label in labels.items():
            group_no = min(one for one, other in labels.items() if other == label)
            quiet = bool(silent >> (node - 1) & 1)
            t_us = SINCE_US + number * slot_us
            rows.append(
                {
                    "slot_us": t_us,
                    "node_no": node,
                    "hour_us": t_us // HOUR_US * HOUR_US,
                    "group_no": group_no,
                    "contacts": 0,
                    "last_us": None if quiet else t_us + node,
                }
            )
    return rows
