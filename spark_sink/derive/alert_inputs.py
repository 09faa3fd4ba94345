"""Inputs of alerts, and the spans that a rule finds."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from spark_sink.derive.alert_series import Spans


@dataclass(frozen=True, slots=True)
class AlertInputs:
    """Tables by name, with rows in any order and the columns in `SCHEMAS`.

    ``ups`` are the hours of mesh time in which each node was up. ``held`` are the frontiers before the first of the
    `steps`, of their nodes and feeds; a missing one is 0. ``turns`` are the incidents at which faces went down or up.
    """

    now_us: int
    """Newest mesh time known."""
    tables: Mapping[str, pa.Table]


_COLUMNS: Final = {
    "ups": "node_no:int hour_us:int",
    "changes": "t_us:int kind:text subject:text detail:text",
    "clocks": "node_no:int boot:int from_mono_us:int base_us:int at_us:int offset_us:int drift_ppm:real "
    "era:int mesh:int",
    "boots": "node_no:int boot:int feed_no:int stopped_us:int first_us:int first_mono_us:int last_us:int "
    "last_mono_us:int",
    "faces": "node_no:int face:text limit_ppm:int window_us:int",
    "transmitted": "node_no:int slot_us:int face:text packets:int airtime_us:int",
    "counts": "node_no:int hour_us:int kind:text detail:text records:int total:int",
    "incidents": "node_no:int boot:int t_us:int mono_us:int kind:text feed_no:int n:int",
    "turns": "node_no:int boot:int t_us:int mono_us:int kind:text face:text",
    "invalid": "node_no:int hour_us:int packets:int",
    "links": "hour_us:int sender:int receiver:int heard:int sent:int",
    "steps": "node_no:int feed_no:int hour_us:int seq:int",
    "held": "node_no:int feed_no:int seq:int",
    "gaps": "node_no:int boot:int first_offset:int next_offset:int",
}
_TYPES: Final = {"int": pa.int64(), "real": pa.float64(), "text": pa.string()}
SCHEMAS: Final = {
    name: pa.schema([(column, _TYPES[kind]) for column, kind in (word.split(":") for word in words.split())])
    for name, words in _COLUMNS.items()
}
"""Columns of each table of `AlertInputs`."""


@dataclass(frozen=True, slots=True)
class RuleResult:
    """Result of a rule: spans, and the names of their subjects."""

    rule: str
    spans: Spans
    name: Callable[[int], str]


def node_name(number: int) -> str:
    """Return the name of a node as a subject."""
    return f"node {number}"
