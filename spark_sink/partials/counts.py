"""How many records of each kind there are, the single ones that tell what went wrong, and the sets of feeds."""

from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.derive.facts import HOUR_US
from spark_sink.partials.air import since
from spark_sink.partials.groups import Ints, chosen
from spark_sink.partials.merging import merge
from spark_sink.partials.records import Records

_COUNTED: Final = ("claim", "novelty", "sketch", "ask", "feeds", "refused", "spared")
"""Kinds whose ``count`` is summed up."""
_DETAILS: Final = {
    "direction": ("want", "chnk", "claim", "novelty", "sketch", "ask", "feeds"),
    "rule": ("refused",),
    "face": ("spared", "face_up", "face_down"),
}
_INCIDENTS: Final = ("start", "stop", "clock", "face_up", "face_down", "fork", "refused")


def counts(records: Records) -> pa.Table:
    """Partial rows of `counts`."""
    details = [
        (records.says("kind", *kinds) & records.has(name), records.column(name))
        for name, kinds in _DETAILS.items()
    ]
    columns = {
        "node": records.column("node"),
        "hour_us": since(records.numbers("t_us"), HOUR_US),
        "kind": records.column("kind"),
        "detail": chosen(len(records), "", *details),
        "records": pa.array(np.ones(len(records), np.int64)),
        "total": pa.array(_totals(records)),
    }
    return merge("counts", pa.table(columns))


def _totals(records: Records) -> Ints:
    found = np.where(records.says("kind", *_COUNTED), records.numbers("count"), 0)
    clock = records.says("kind", "clock")
    found[clock] = np.abs(records.numbers("step_us")[clock])
    found[records.says("kind", "want")] = _places_asked_for(records.of("want").column("seqs"))
    rows = records.of("chnk").column("chunks_wanted")
    found[records.says("kind", "chnk")] = np.asarray(rows.value_lengths().fill_null(0))
    return found


def _places_asked_for(seqs: pa.ListArray) -> Ints:
    """How many numbers above 0 there are in each list."""
    seqs = seqs.fill_null([]) if seqs.null_count else seqs
    asked = np.asarray(seqs.values.fill_null(0)) > 0
    before = np.concatenate(([0], np.cumsum(asked)))
    bounds: Ints = before[np.asarray(seqs.offsets)]
    return np.diff(bounds)


def incidents(records: Records) -> pa.Table:
    """Partial rows of `incidents`."""
    found = records.of(*_INCIDENTS)
    names = (
        "node", "boot", "offset", "t_us", "mono_us", "kind", "face", "rule", "feed", "seq", "held", "other",
    )  # fmt: skip
    started = found.says("kind", "start")
    columns = {name: found.column(name) for name in names}
    columns["detail"] = chosen(
        len(found),
        found.column("spec"),
        (found.has("reason"), found.column("reason")),
        (started, None),
        (started & (found.numbers("clean", 1) == 0), "unclean"),
    )
    stepped = found.says("kind", "clock")
    number = np.where(stepped, found.numbers("step_us"), found.numbers("count"))
    known = np.where(stepped, found.has("step_us"), found.has("count"))
    columns["n"] = pa.array(number, mask=~known)
    return merge("incidents", pa.table(columns))


def sets(records: Records) -> pa.Table:
    """Partial rows of `sets`."""
    found = records.of("set")
    columns = {name: found.column(name) for name in ("node", "boot", "offset", "state", "t_us")}
    return merge("sets", pa.table({**columns, "feeds": found.column("count")}))
