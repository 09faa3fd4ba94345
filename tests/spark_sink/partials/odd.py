"""Records as strange as a log may have them."""

from typing import Any

from hypothesis import strategies as st

from tests.spark_sink.logs import Record, digits, feed_name, node_name
from tests.spark_sink.partials.oracle import HOUR_US

TIMES_US = st.sampled_from(
    [0, 1, 599_999_999, 600_000_000, HOUR_US - 1, HOUR_US, 490_000 * HOUR_US + 7, 2**53]
)
COUNTS = st.sampled_from([0, 1, 2, 40, 2**32])
FACES = st.sampled_from(["ether", "", "ü" * 200, "udp:239.5.5.8:1558", "rx"])
TEXTS = st.sampled_from(["", "timeout", "invalid", "own", "<b>", "\x00", "é"])
FEEDS = st.sampled_from([feed_name(0), feed_name(1), "G" + feed_name(2)[1:], "f" * 64])
IDS = st.sampled_from([digits("a", 40), digits("b", 40), "é" * 20])
HASHES = st.sampled_from(["f" * 16, "0" * 15 + "1", "7" * 16, "x" * 16, "A" * 16])
PACKETS = st.sampled_from(["entry", "chunk", "want", "pong", "named_chnk", "unknown", "thing"])
LISTS = st.lists(st.sampled_from([0, 1, 5, None, -1]), max_size=4)
VERDICTS = st.sampled_from(["new", "invalid", "not_ours", "sent"])
DIRECTIONS = st.sampled_from(["rx", "tx"])

_ENTRY = {
    "feed": FEEDS,
    "seq": COUNTS,
    "id": IDS,
    "size": COUNTS,
    "chunks": COUNTS,
    "origin": st.sampled_from(["own", "peer", "import", "sent"]),
}
_HEARD = {"face": FACES, "packet": PACKETS, "length": st.sampled_from([0, 120, 65_535]), "hash": HASHES}
_SIGNAL = {
    "rssi_dbm": st.sampled_from([-1_000, -90, 0]),
    "snr_db": st.sampled_from([-4.25, 0.0, 9.5]),
    "airtime_us": COUNTS,
    "reason": TEXTS,
    "feed": FEEDS,
    "seq": COUNTS,
    "chunk": COUNTS,
}
_HELD = {
    "feed": FEEDS,
    "seq": COUNTS,
    "chunk": COUNTS,
    "complete": st.booleans(),
    "origin": TEXTS,
    "face": FACES,
}
_SAID = {"direction": DIRECTIONS, "face": FACES, "count": COUNTS, "feed": FEEDS}
_LISTED = {
    "direction": DIRECTIONS,
    "seqs": LISTS,
    "chunks_wanted": st.lists(LISTS, max_size=3),
    "count": COUNTS,
}
_PLACE = {"latitude": st.sampled_from([-90.0, 47.5]), "longitude": st.sampled_from([0.0, 7.25])}
_LAW = {"region": TEXTS, "sub_band": TEXTS, "limit_ppm": COUNTS, "window_us": COUNTS}
_START = {**_PLACE, "dialect": TEXTS, "version": TEXTS, "clean": st.booleans(), "network": st.just("0" * 14)}
_DIFFER = {"held": IDS, "other": IDS}
_KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "start": (
        {"name": TEXTS, "feed": FEEDS},
        {**_START, "network_name": TEXTS, "spec": TEXTS, "reason": TEXTS},
    ),
    "stop": ({}, {"reason": TEXTS}),
    "mark": ({}, {}),
    "clock": ({}, {"step_us": st.sampled_from([-(2**53), -5, 0, 2**53]), "count": COUNTS}),
    "face_up": ({}, {"face": FACES, "spec": TEXTS, "reason": TEXTS, **_LAW}),
    "face_down": ({}, {"face": FACES, "reason": TEXTS}),
    "entry": (_ENTRY, {"type": st.integers(0, 2), "face": FACES}),
    "chunk": ({}, _HELD),
    "rx": ({**_HEARD, "verdict": VERDICTS}, _SIGNAL),
    "tx": (_HEARD, {**_SIGNAL, "verdict": TEXTS}),
    "tx_more": ({"face": FACES, "packet": PACKETS, "count": COUNTS, "size": COUNTS}, {"verdict": TEXTS}),
    "rx_more": (
        {"face": FACES, "packet": PACKETS, "verdict": VERDICTS, "count": COUNTS, "size": COUNTS},
        {"airtime_us": COUNTS, "reason": TEXTS},
    ),
    "left_out": (
        {
            "record": st.sampled_from(["want", "refused", "face_up", "spared", "left_out"]),
            "count": COUNTS,
            "total": COUNTS,
        },
        {"direction": DIRECTIONS, "face": FACES, "rule": TEXTS},
    ),
    "want": ({}, _LISTED),
    "chnk": ({}, _LISTED),
    "claim": ({}, _SAID),
    "feeds": ({}, _SAID),
    "set": ({"feed": FEEDS, "count": COUNTS, "state": FEEDS}, {"face": FACES}),
    "fork": ({"feed": FEEDS, "seq": COUNTS, **_DIFFER}, {}),
    "refused": ({}, {"rule": TEXTS, "face": FACES, "count": COUNTS}),
    "spared": ({}, {"face": FACES, "count": COUNTS}),
    "unheard of": ({}, {"face": FACES, "count": COUNTS, "seqs": LISTS}),
}
"""By kind, fields that are there always, and those that may be."""

_BODIES = st.one_of(
    [
        st.fixed_dictionaries({"kind": st.just(kind), **always}, optional=maybe)
        for kind, (always, maybe) in _KINDS.items()
    ]
)
_HEADS = st.fixed_dictionaries(
    {
        "node": st.sampled_from([node_name(0), node_name(1)]),
        "boot": st.sampled_from([1, 2, 99_999_999]),
        "offset": st.integers(0, 30),
        "t_us": TIMES_US,
        "mono_us": TIMES_US,
    }
)


@st.composite
def records(draw: st.DrawFn) -> list[Record]:
    """Records of several boots and nodes in any order, none of them twice."""
    heads = draw(
        st.lists(_HEADS, unique_by=lambda head: (head["node"], head["boot"], head["offset"]), max_size=24)
    )
    return [{"v": 1, **head, **draw(_BODIES)} for head in heads]


@st.composite
def divided(draw: st.DrawFn, some: list[Record]) -> list[list[list[Record]]]:
    """The same records in another order, as blocks of tasks."""
    shuffled = draw(st.permutations(some))
    cuts = sorted(draw(st.lists(st.integers(0, len(some)), max_size=5)))
    blocks = [shuffled[low:high] for low, high in zip([0, *cuts], [*cuts, len(some)], strict=True)]
    at = draw(st.integers(0, len(blocks)))
    return [blocks[:at], blocks[at:]]


def by_place(some: list[Record]) -> list[Record]:
    return sorted(some, key=lambda one: (one["node"], one["boot"], one["offset"]))
