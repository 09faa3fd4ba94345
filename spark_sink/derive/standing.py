"""State of the mesh at an hour, from which changes of the mesh and alerts go on: rows of the table `standing`."""

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_sink.derive.alert_windows import AlertStanding, OpenSpan
from spark_sink.derive.changes import GroupState

Settled = frozenset[tuple[int, str]]
"""Facts by node that rules take as if they had always been so: feeds that nodes own, and laws of faces."""
_GROUP_ARRAYS: Final = {
    "nodes": np.int64, "up": np.bool_, "seen": np.int64, "told": np.int64, "alone": np.int64, "fresh": np.bool_,
    "contact_us": np.int64, "touched": np.int64, "isolated_us": np.int64,
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Standing:
    """The state before an hour of mesh time, `alerts.at_us`."""

    groups: GroupState = field(default_factory=lambda: GroupState.of(np.empty(0, np.int64)))
    alerts: AlertStanding = field(default_factory=AlertStanding)
    settled: Settled = frozenset()

    def holds(self, settled: Settled) -> bool:
        """Return whether it would be the same if it were made with what is settled now."""
        known = {*self.groups.nodes.tolist(), *self.alerts.held}
        return not any(node in known for node, _ in self.settled ^ settled)


def settled(tables: Mapping[str, pa.Table]) -> Settled:
    """Return what is settled by the tables ``boots`` and ``faces`` of `AlertInputs`."""
    boots, faces = tables["boots"], tables["faces"]
    owners = zip(boots["node_no"].to_pylist(), boots["feed_no"].to_pylist(), strict=True)
    laws = zip(*(faces[name].to_pylist() for name in faces.column_names), strict=True)
    return frozenset(
        [(node, f"feed {feed}") for node, feed in owners if feed is not None]
        + [(node, f"face {face} {limit_ppm} {window_us}") for node, face, limit_ppm, window_us in laws]
    )


def serialize_standing(some: Standing) -> bytes:
    """Write a state: JSON, compressed by zlib (docs/formats/serving.md)."""
    groups, alerts = some.groups, some.alerts
    text = json.dumps(
        {
            "slot_us": groups.slot_us,
            **{name: getattr(groups, name).tolist() for name in _GROUP_ARRAYS},
            "at_us": alerts.at_us,
            **{
                name: list(getattr(alerts, name).items())
                for name in ("up_us", "newest", "held", "longest_us")
            },
            "open": {
                rule: [[one.subject, one.since_us, one.value, one.peak] for one in spans]
                for rule, spans in alerts.open.items()
            },
            "settled": sorted(some.settled),
        },
        separators=(",", ":"),
    )
    return zlib.compress(text.encode(), 1)


def parse_standing(data: bytes) -> Standing:
    """Read a state that this program wrote."""
    told: dict[str, Any] = json.loads(zlib.decompress(data))
    arrays: dict[str, Any] = {name: np.array(told[name], kind) for name, kind in _GROUP_ARRAYS.items()}
    return Standing(
        GroupState(slot_us=told["slot_us"], **arrays),
        AlertStanding(
            at_us=told["at_us"],
            up_us=dict(told["up_us"]),
            newest=dict(told["newest"]),
            held=dict(told["held"]),
            longest_us=dict(told["longest_us"]),
            open={rule: [OpenSpan(*one) for one in spans] for rule, spans in told["open"].items()},
        ),
        frozenset((node, text) for node, text in told["settled"]),
    )
