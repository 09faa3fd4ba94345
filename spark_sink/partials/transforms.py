"""Records to partial rows of the fact tables: one function a table, but for `sights`."""

from typing import Any, Final

import numpy as np
import pyarrow as pa

from spark_sink import limits
from spark_sink.arrays import Ints
from spark_sink.derive.facts import HOUR_US
from spark_sink.partials.combine import FIRST, KEYS, LATEST, SCHEMAS, STARTED, merge, spelled
from spark_sink.partials.groupby import chosen, greatest, group, least
from spark_sink.partials.records import RecordColumns


def _partial(name: str, found: RecordColumns, **made: pa.Array | Ints) -> pa.Table:
    """Make the partial rows of the table *name*: what is not *made* are the records' columns of the same names."""
    copied = {column: found.column(column) for column in SCHEMAS[name].names if column not in made}
    return merge(name, pa.table({**copied, **made}))


def since(t_us: Ints, unit_us: int) -> pa.Array:
    """Return the beginnings of the full hours, or other units, that times lie in."""
    return pa.array(t_us - t_us % unit_us)


def traffic(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `traffic`."""
    found = records.of("rx", "rx_more", "tx", "tx_more")
    received, many = found.says("kind", "rx", "rx_more"), found.says("kind", "rx_more", "tx_more")
    invalid = received & found.says("verdict", "invalid")
    return _partial(
        "traffic",
        found,
        hour_us=since(found.numbers("t_us"), HOUR_US),
        direction=chosen(len(found), "tx", (received, "rx")),
        verdict=chosen(len(found), "sent", (received, found.column("verdict"))),
        reason=chosen(len(found), "", (invalid & found.has("reason"), found.column("reason"))),
        packets=np.where(many, found.numbers("count"), 1),
        bytes=np.where(many, found.numbers("size"), found.numbers("length")),
        airtime_us=found.numbers("airtime_us"),
    )


def packets(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `packets`: the last ones read."""
    found = records.of("rx", "tx")
    found = found.where(np.arange(len(found)) >= len(found) - limits.PACKETS_KEPT)
    verdict = chosen(len(found), "sent", (found.says("kind", "rx"), found.column("verdict")))
    airtime_us = found.numbers("airtime_us")
    return _partial("packets", found, direction=found.column("kind"), verdict=verdict, airtime_us=airtime_us)


_COUNTED: Final = ("claim", "novelty", "sketch", "ask", "feeds", "refused", "spared")
"""Kinds whose ``count`` is summed up."""
_DETAILS: Final = {
    "direction": ("want", "chnk", "claim", "novelty", "sketch", "ask", "feeds"),
    "rule": ("refused",),
    "face": ("spared", "face_up", "face_down"),
}
_LEFT_OUT: Final = "left_out"
"""Kind of the records that sum up others, which are not in the log."""
_INCIDENTS: Final = ("start", "stop", "clock", "face_up", "face_down", "fork", "refused")


def counts(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `counts`. Records that were left out of a log count as those that are in it."""
    left_out = records.says("kind", _LEFT_OUT)
    kinds = chosen(
        len(records), "", (records.has("kind"), records.column("kind")), (left_out, records.column("record"))
    )
    counted = RecordColumns({"kind": kinds}, len(records))
    details = [
        (counted.says("kind", *known) & records.has(name), records.column(name))
        for name, known in _DETAILS.items()
    ]
    return _partial(
        "counts",
        records,
        kind=kinds,
        hour_us=since(records.numbers("t_us"), HOUR_US),
        detail=chosen(len(records), "", *details),
        records=np.where(left_out, records.numbers("count"), 1),
        total=np.where(left_out, records.numbers("total"), _totals(records)),
    )


def _totals(records: RecordColumns) -> Ints:
    found = np.where(records.says("kind", *_COUNTED), records.numbers("count"), 0)
    clock = records.says("kind", "clock")
    found[clock] = np.abs(records.numbers("step_us")[clock])
    found[records.says("kind", "want")] = _places_asked_for(records.of("want").column("seqs"))
    rows = records.of("chnk").column("chunks_wanted")
    found[records.says("kind", "chnk")] = np.asarray(rows.value_lengths().fill_null(0))
    return found


def _places_asked_for(seqs: pa.ListArray) -> Ints:
    """Count the numbers above 0 in each list."""
    seqs = seqs.fill_null([]) if seqs.null_count else seqs
    asked = np.asarray(seqs.values.fill_null(0)) > 0
    before = np.concatenate(([0], np.cumsum(asked)))
    bounds: Ints = before[np.asarray(seqs.offsets)]
    return np.diff(bounds)


def incidents(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `incidents`."""
    found = records.of(*_INCIDENTS)
    started = found.says("kind", "start")
    detail = chosen(
        len(found),
        found.column("spec"),
        (found.has("reason"), found.column("reason")),
        (started, None),
        (started & (found.numbers("clean", 1) == 0), "unclean"),
    )
    stepped = found.says("kind", "clock")
    number = np.where(stepped, found.numbers("step_us"), found.numbers("count"))
    known = np.where(stepped, found.has("step_us"), found.has("count"))
    return _partial("incidents", found, detail=detail, n=pa.array(number, mask=~known))


def sets(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `sets`."""
    found = records.of("set")
    return _partial("sets", found, feeds=found.column("count"))


def entries(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `entries`."""
    found = records.of("entry")
    own = found.says("origin", "own")
    publisher = chosen(len(found), None, (own, found.column("node")))
    times = {name: pa.array(found.numbers(name), mask=~own) for name in ("boot", "t_us", "mono_us")}
    return _partial("entries", found, type=found.numbers("type"), publisher=publisher, **times)


def copies(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `copies`."""
    return _partial("copies", records.of("entry"))


def frontiers(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `frontiers`."""
    return _partial("frontiers", records.of("entry"))


def side_chains(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `side_chains`."""
    found = records.of("chunk").known("feed", "seq", "chunk")
    complete_us = pa.array(found.numbers("t_us"), mask=found.numbers("complete") != 1)
    return _partial("side_chains", found, held=found.numbers("chunk") + 1, complete_us=complete_us)


_PLACE = ("offset", "t_us", "mono_us")


def boots(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `boots`."""
    started = records.of("start")
    started = started.where(started.numbers("offset") == 0)
    stopped = records.of("stop")
    tables = [
        _spans(records),
        _ends(
            started,
            {
                **{name: started.column(name) for name in STARTED[:-1]},
                "clean": started.column("clean").cast(pa.int64()),
                "started_us": started.column("t_us"),
            },
        ),
        _ends(stopped, {"stopped_us": stopped.column("t_us"), "stop_reason": stopped.column("reason")}),
    ]
    return merge("boots", pa.concat_tables(spelled("boots", table) for table in tables))


def _spans(records: RecordColumns) -> pa.Table:
    """Find the first and the last record of each boot."""
    groups = group([records.column(key) for key in KEYS["boots"]], len(records))
    offsets = records.column("offset")
    found = {"records": pa.array(groups.sums(np.ones(len(records), np.int64)))}
    for names, places in (
        (dict(zip(FIRST, _PLACE, strict=True)), groups.best([least(offsets)])),
        (dict(zip(LATEST, _PLACE, strict=True)), groups.best([greatest(offsets)])),
    ):
        rows = pa.array(places)
        found |= {new: records.column(old).take(rows) for new, old in names.items()}
        found |= {key: records.column(key).take(rows) for key in KEYS["boots"]}
    return pa.table(found)


def _ends(records: RecordColumns, columns: dict[str, Any]) -> pa.Table:
    """Make rows for records with further values, which are counted elsewhere."""
    places = {
        new: records.column(old) for names in (FIRST, LATEST) for new, old in zip(names, _PLACE, strict=True)
    }
    keys = {key: records.column(key) for key in KEYS["boots"]}
    return pa.table({**keys, **columns, **places, "records": pa.array(np.zeros(len(records), np.int64))})


def faces(records: RecordColumns) -> pa.Table:
    """Make the partial rows of `faces`."""
    changes = records.of("face_up", "face_down").known("face")
    up = changes.says("kind", "face_up")
    law = {f"law_{column}": pa.array(changes.numbers(column), mask=~up) for column in ("boot", "offset")}
    return _partial("faces", changes, up=up, **law)


def bad_lines(rows: pa.Table) -> pa.Table:
    """Make the partial rows of `bad_lines`, from those rows of the source that are no records."""
    columns = {name.removeprefix("bad_"): rows.column(name) for name in rows.column_names}
    return merge("bad_lines", pa.table(columns))
