"""What is wrong now, and was: rules with hysteresis over the figures of the serving database."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.derive import alert_mesh, limits
from spark_sink.derive.alert_inputs import AlertInputs
from spark_sink.derive.alert_rules import RESTARTS_US, RULES
from spark_sink.derive.alert_series import (
    OPEN,
    Series,
    Spans,
    boot_mesh_us,
    hourly,
    ints,
    mesh_us,
    rolling,
    spans,
)
from spark_sink.derive.facts import HOUR_US, Floats, Ints
from spark_sink.derive.lives import boots_of, lives
from spark_sink.derive.mesh_time import corrections

_SECOND_US: Final = 1_000_000


@dataclass(frozen=True, slots=True)
class Found:
    """What a rule found: spans, and how its subjects are called."""

    rule: str
    spans: Spans
    name: Callable[[int], str]


def alerts(inputs: AlertInputs) -> pa.Table:
    """Rows of the table `alerts`, all of them, in order of rule, subject and begin.

    The cost grows as the rows do, a few sorts a rule. Hours that are not over can begin an alert, but end none.
    """
    found = [
        Found("isolated", alert_mesh.isolated(inputs), _node),
        Found("split", alert_mesh.split(inputs), lambda _: "mesh"),
        Found("silent", _silent(inputs), _node),
        Found("stuck", alert_mesh.stuck(inputs), _node),
        *_duty(inputs),
        Found("clock_wrong", _clock_wrong(inputs), _node),
        Found("clock_jump", _clock_jump(inputs), _node),
        Found("restarts", _restarts(inputs), _node),
        _flapping(inputs),
        Found("fork", _fork(inputs), lambda number: f"feed {number}"),
        Found("invalid", _invalid(inputs), _node),
        Found("budget", _refused(inputs, "budget", ("budget",)), _node),
        _faded(inputs),
        _log_missing(inputs),
        Found("disk", _refused(inputs, "disk", ("read_only", "event_log")), _node),
    ]
    return pa.concat_tables([_rows(one, inputs.now_us) for one in found]).sort_by(
        [("rule", "ascending"), ("subject", "ascending"), ("since_us", "ascending")]
    )


def _rows(found: Found, now_us: int) -> pa.Table:
    rule, some = RULES[found.rule], found.spans
    lasted_us = np.where(some.until_us == OPEN, now_us, some.until_us) - some.since_us
    kept = np.flatnonzero(lasted_us >= rule.hold_us)
    until_us = some.until_us[kept]
    return pa.table(
        {
            "rule": pa.array([rule.name] * len(kept), pa.string()),
            "subject": pa.array([found.name(int(one)) for one in some.subject[kept]], pa.string()),
            "since_us": some.since_us[kept],
            "until_us": pa.array(until_us, mask=until_us == OPEN),
            "level": pa.array([rule.level] * len(kept), pa.string()),
            "value": some.value[kept].astype(np.float64),
            "peak": some.peak[kept].astype(np.float64),
        }
    )


def _node(number: int) -> str:
    return f"node {number}"


def _found(rule: str, series: Series) -> Spans:
    return spans(series, RULES[rule].raise_at, RULES[rule].clear_at)


def _past(series: Series, now_us: int, rule: str, lasting_us: int = 0) -> Series:
    """Leave out what has not been yet, or what is of an hour that is not over and not too high already."""
    over = series.t_us + lasting_us <= now_us
    return series.where(over | ((series.value >= RULES[rule].raise_at) & (series.t_us <= now_us)))


def _hours(inputs: AlertInputs, rule: str, node_no: Ints, subject: Ints, hour_us: Ints, value: Ints) -> Spans:
    """Spans of what was counted by the hour, by nodes' own clocks; *subject* determines *node_no*."""
    series = hourly(subject, hour_us, value).reaching(RULES[rule].raise_at)
    known, places = np.unique(subject, return_index=True)
    node = node_no[places][np.searchsorted(known, series.subject)] if len(known) else series.subject
    right = series.at(mesh_us(inputs.clocks, node, series.t_us))
    return _found(rule, _past(right, inputs.now_us, rule, HOUR_US))


def _silent(inputs: AlertInputs) -> Spans:
    """Boots whose log ended without a stop, until the node's next boot."""
    table = inputs.boots.sort_by([("node_no", "ascending"), ("boot", "ascending")])
    node_no = ints(table, "node_no")
    found = lives(corrections(inputs.clocks), boots_of(table))
    again = np.zeros(len(node_no), np.bool_)
    again[:-1] = node_no[1:] == node_no[:-1]
    next_us = np.append(found.since_us[1:], 0)[: len(node_no)]
    hours = (np.where(again, next_us, inputs.now_us) - found.until_us) / HOUR_US
    chosen = table["stopped_us"].is_null().to_numpy() & (hours >= RULES["silent"].raise_at)
    until_us = np.where(again, next_us, OPEN)
    return Spans(node_no[chosen], found.until_us[chosen], until_us[chosen], hours[chosen], hours[chosen])


def _faces(node_no: Ints, face: pa.ChunkedArray) -> tuple[Ints, Ints, Callable[[int], str]]:
    """A number for each node and face, by number the node, and how each is called."""
    names = face.combine_chunks().dictionary_encode()
    called = names.dictionary.to_pylist()
    width = max(len(called), 1)
    codes, number = np.unique(
        node_no * width + np.asarray(names.indices.to_numpy(), np.int64), return_inverse=True
    )
    return number, codes // width, lambda one: f"face {codes[one] // width} {called[codes[one] % width]}"


def _duty(inputs: AlertInputs) -> list[Found]:
    """Time on the air in the last window of the law, percent of what it allows, ten minutes by ten minutes.

    What is surely over the law is what is left without the longest packet, of which all but its end may be older.
    """
    table = inputs.airtime.join(inputs.faces, ["node_no", "face"], join_type="inner")
    face, nodes, name = _faces(ints(table, "node_no"), table["face"])
    slot = ints(table, "slot_us") // limits.SLOT_US
    window = np.maximum(ints(table, "window_us") // limits.SLOT_US, 1)
    allowed_us = window * limits.SLOT_US * (ints(table, "limit_ppm") / 1_000_000)
    percent = ints(table, "airtime_us") * 100 / allowed_us
    longest = np.zeros(len(nodes))
    np.maximum.at(longest, face, percent / np.maximum(ints(table, "packets"), 1))
    fullest = np.zeros(len(nodes))
    np.maximum.at(fullest, face, percent * window)
    busy = fullest[face] >= RULES["duty"].raise_at
    series = rolling(face[busy], slot[busy], percent[busy], window[busy]).reaching(RULES["duty"].raise_at)
    right = series.at(mesh_us(inputs.clocks, nodes[series.subject], series.t_us * limits.SLOT_US))
    right = right.where(right.t_us <= inputs.now_us)
    surely = Series(right.subject, right.t_us, right.value - longest[right.subject])
    return [
        Found("duty", _found("duty", right), name),
        Found("duty_over", _found("duty_over", surely), name),
    ]


def _clock_wrong(inputs: AlertInputs) -> Spans:
    """How far each clock is off in the middle of what is known of it, minutes, until the node has another one."""
    table = inputs.clocks
    node_no = ints(table, "node_no")
    started_us = ints(table, "base_us") + ints(table, "from_mono_us")
    since_us = boot_mesh_us(table, node_no, ints(table, "boot"), ints(table, "from_mono_us"), started_us)
    minutes = np.abs(ints(table, "offset_us")) / (60 * _SECOND_US)
    return _found("clock_wrong", Series(node_no, since_us, minutes))


def _incidents(inputs: AlertInputs, kind: str) -> tuple[pa.Table, Ints]:
    """Incidents of a kind, and their times put right."""
    table = inputs.incidents.filter(pc.equal(inputs.incidents["kind"], kind))
    columns = (ints(table, name) for name in ("node_no", "boot", "mono_us", "t_us"))
    return table, boot_mesh_us(inputs.clocks, *columns)


def _clock_jump(inputs: AlertInputs) -> Spans:
    """Jumps, seconds; each counts for an hour."""
    table, t_us = _incidents(inputs, "clock")
    node_no = ints(table, "node_no")
    seconds = np.abs(table["n"].fill_null(0).to_numpy()) / _SECOND_US
    jumped = seconds >= RULES["clock_jump"].raise_at
    node_no, t_us, seconds = node_no[jumped], t_us[jumped], seconds[jumped]
    counted = rolling(node_no, t_us // _SECOND_US, np.ones(len(t_us)), np.full(len(t_us), 3_600))
    ends = counted.where(counted.value == 0)
    ends = ends.at((ends.t_us + 1) * _SECOND_US)
    ends = ends.where(ends.t_us <= inputs.now_us)
    series = Series(
        np.concatenate([node_no, ends.subject]),
        np.concatenate([t_us, ends.t_us]),
        np.concatenate([seconds, ends.value]),
    )
    return _found("clock_jump", series)


def _restarts(inputs: AlertInputs) -> Spans:
    """Boots in the last six hours before which the node did not end in order."""
    table, t_us = _incidents(inputs, "start")
    second, window = t_us // _SECOND_US, np.full(len(t_us), RESTARTS_US // _SECOND_US)
    series = rolling(ints(table, "node_no"), second, np.ones(len(t_us)), window)
    series = series.at(series.t_us * _SECOND_US)
    return _found("restarts", series.where(series.t_us <= inputs.now_us))


def _flapping(inputs: AlertInputs) -> Found:
    table = inputs.counts.filter(pc.equal(inputs.counts["kind"], "face_down"))
    node_no = ints(table, "node_no")
    face, _, name = _faces(node_no, table["detail"])
    hours = _hours(inputs, "flapping", node_no, face, ints(table, "hour_us"), ints(table, "records"))
    return Found("flapping", hours, name)


def _invalid(inputs: AlertInputs) -> Spans:
    table = inputs.invalid
    node_no = ints(table, "node_no")
    return _hours(inputs, "invalid", node_no, node_no, ints(table, "hour_us"), ints(table, "packets"))


def _refused(inputs: AlertInputs, rule: str, details: tuple[str, ...]) -> Spans:
    """What was turned away, or had to wait, for one of these reasons."""
    counts = inputs.counts
    chosen = pc.and_(pc.equal(counts["kind"], "refused"), pc.is_in(counts["detail"], pa.array(details)))
    table = counts.filter(chosen)
    node_no = ints(table, "node_no")
    return _hours(inputs, rule, node_no, node_no, ints(table, "hour_us"), ints(table, "total"))


def _fork(inputs: AlertInputs) -> Spans:
    """Feeds with a fork, how many nodes saw it, since the first did."""
    table, t_us = _incidents(inputs, "fork")
    known = table["feed_no"].is_valid().to_numpy()
    feed_no, node_no = table["feed_no"].fill_null(0).to_numpy()[known], ints(table, "node_no")[known]
    feeds, which = np.unique(feed_no, return_inverse=True)
    since_us = np.full(len(feeds), np.iinfo(np.int64).max)
    np.minimum.at(since_us, which, t_us[known])
    pairs = np.unique(np.stack([which, node_no]), axis=1)
    nodes = np.bincount(pairs[0], minlength=len(feeds)).astype(np.float64)
    return Spans(feeds, since_us, np.full(len(feeds), OPEN), nodes, nodes)


def _faded(inputs: AlertInputs) -> Found:
    found, pairs = alert_mesh.faded(inputs)
    return Found("faded", found, lambda one: f"link {pairs[one][0]} {pairs[one][1]}")


def _log_missing(inputs: AlertInputs) -> Found:
    """Records that are missing, by boot, since it began."""
    table = inputs.gaps.join(inputs.boots, ["node_no", "boot"], join_type="inner")
    node_no, boot = ints(table, "node_no"), ints(table, "boot")
    began_us = lives(corrections(inputs.clocks), boots_of(table)).since_us
    boots, first, which = np.unique(np.stack([node_no, boot]), axis=1, return_index=True, return_inverse=True)
    gone = (ints(table, "next_offset") - ints(table, "first_offset")).astype(np.float64)
    missing: Floats = np.bincount(which.ravel(), gone, minlength=len(first)).astype(np.float64)
    found = Spans(np.arange(len(first)), began_us[first], np.full(len(first), OPEN), missing, missing)
    return Found("log_missing", found, lambda one: f"boot {boots[0][one]} {boots[1][one]}")
