"""Alerts: rules with hysteresis over the figures of the serving database."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink.arrays import Floats, Ints
from spark_sink.derive.alert_inputs import AlertInputs, RuleResult, node_name
from spark_sink.derive.alert_rules import RULES
from spark_sink.derive.alert_series import OPEN, Series, Spans, boot_mesh_us, ints, rolling, spans
from spark_sink.derive.alert_windows import (
    END_US,
    AlertStanding,
    Window,
    ends_us,
    old_news,
    standing,
    windowed,
)
from spark_sink.derive.changes import BACK, ISOLATED, JOIN, SPLIT
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import boot_times, corrections

_SECOND_US: Final = 1_000_000
_NEVER: Final = 2**63 - 1


def alerts(inputs: AlertInputs, begun: AlertStanding | None = None) -> pa.Table:
    """Make the rows of the table `alerts`, in order of rule, subject and begin.

    Where something stood already, spans of `WINDOWED` rules that ended before it are left out, and of long tables only
    rows since then are needed. The cost grows as the rows do, a few sorts a rule. Hours that are not over can begin an
    alert, but end none.
    """
    window = Window(inputs, begun or AlertStanding(), END_US)
    up_us = _last_up_us(window)
    found = [
        RuleResult("isolated", _isolated(inputs, up_us), node_name),
        RuleResult("split", _split(inputs, up_us), lambda _: "mesh"),
        RuleResult("silent", _silent(inputs), node_name),
        RuleResult("clock_wrong", _clock_wrong(inputs), node_name),
        RuleResult("clock_jump", _clock_jump(inputs), node_name),
        RuleResult("restarts", _restarts(inputs), node_name),
        RuleResult("fork", _fork(inputs), lambda number: f"feed {number}"),
        _log_missing(inputs),
        *windowed(window),
    ]
    return pa.concat_tables([_rows(one, inputs.now_us) for one in found]).sort_by(
        [("rule", "ascending"), ("subject", "ascending"), ("since_us", "ascending")]
    )


def ended(inputs: AlertInputs, begun: AlertStanding, until_us: int) -> tuple[pa.Table, AlertStanding]:
    """Return the alerts of `WINDOWED` rules that end between what stood and a full hour, and what stands then."""
    window = Window(inputs, begun, until_us)
    found = windowed(window)
    rows = [
        _rows(RuleResult(one.rule, one.spans.where(one.spans.until_us != OPEN), one.name), inputs.now_us)
        for one in found
    ]
    return pa.concat_tables(rows), standing(window, found)


def _rows(found: RuleResult, now_us: int) -> pa.Table:
    rule, some = RULES[found.rule], found.spans
    if rule.name == "faded":
        some = old_news(some, now_us)
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


def _found(rule: str, series: Series) -> Spans:
    return spans(series, RULES[rule].raise_at, RULES[rule].clear_at)


def _isolated(inputs: AlertInputs, up_us: Mapping[int, int]) -> Spans:
    """Find hours without any contact, until there was one again or the node was no longer up."""
    begun: dict[int, int] = {}
    rows: list[tuple[int, int, int, float]] = []
    for kind, t_us, subject, _ in _changes(inputs, (ISOLATED, BACK)):
        number = int(subject.split()[1])
        if kind == ISOLATED:
            begun[number] = t_us
        elif number in begun:
            since_us = begun.pop(number)
            rows.append((number, since_us, t_us, (t_us - since_us) / HOUR_US))
    for number, since_us in begun.items():
        up = up_us.get(number, since_us) == _NEVER
        last_us = inputs.now_us if up else max(up_us.get(number, since_us), since_us)
        rows.append((number, since_us, OPEN if up else last_us, (last_us - since_us) / HOUR_US))
    rows.sort()
    numbers = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3)
    hours = np.array([row[3] for row in rows], np.float64)
    return Spans(numbers[:, 0], numbers[:, 1], numbers[:, 2], hours, hours)


def _split(inputs: AlertInputs, up_us: Mapping[int, int]) -> Spans:
    """Find spans in which the mesh is in several parts because it split.

    A split is over when nodes of two of its parts are in one group again, or when fewer than two parts have a node that
    is up.
    """
    begun: list[tuple[int, Sequence[set[int]]]] = []
    steps: list[tuple[int, int]] = []
    for kind, t_us, _, detail in _changes(inputs, (JOIN, SPLIT)):
        parts: Sequence[set[int]] = [set(part) for part in json.loads(detail)["parts"]]
        if kind == SPLIT:
            begun.append((t_us, parts))
            steps.append((t_us, len(parts) - 1))
            continue
        together = set().union(*parts)
        mended = [one for one in begun if sum(not part.isdisjoint(together) for part in one[1]) > 1]
        begun = [one for one in begun if one not in mended]
        steps += [(t_us, 1 - len(before)) for _, before in mended]
    for since_us, apart in begun:
        gone_us = sorted(max(up_us.get(node, since_us) for node in part) for part in apart)[-2]
        if gone_us != _NEVER:
            steps.append((max(gone_us, since_us), 1 - len(apart)))
    steps.sort()
    times = np.array([t_us for t_us, _ in steps], np.int64)
    several = np.array([parts for _, parts in steps], np.int64)
    last = np.append(times[1:] != times[:-1], True)[: len(times)]
    series = Series(np.zeros(len(times), np.int64), times, np.asarray(1.0 + np.cumsum(several), np.float64))
    return _found("split", series.where(last))


def _changes(inputs: AlertInputs, kinds: tuple[str, str]) -> Iterator[tuple[str, int, str, str]]:
    """Yield changes of these kinds in order; at the same time, in the order of their names."""
    table = inputs.tables["changes"]
    columns = (table[name].to_pylist() for name in ("t_us", "kind", "subject", "detail"))
    for t_us, kind, subject, detail in sorted(zip(*columns, strict=True)):
        if kind in kinds:
            yield kind, t_us, subject, detail


def _last_up_us(window: Window) -> dict[int, int]:
    """Return the end of the last hour in which each node was up; `_NEVER` if that was at most an hour ago."""
    return {
        node_no: end_us if end_us + HOUR_US <= window.inputs.now_us else _NEVER
        for node_no, end_us in ends_us(window).items()
    }


def _silent(inputs: AlertInputs) -> Spans:
    """Find boots whose log ended without a stop, until the node's next boot."""
    table = inputs.tables["boots"].sort_by([("node_no", "ascending"), ("boot", "ascending")])
    node_no = ints(table, "node_no")
    found = boot_times(corrections(inputs.tables["clocks"]), table)
    again = np.zeros(len(node_no), np.bool_)
    again[:-1] = node_no[1:] == node_no[:-1]
    next_us = np.append(found.since_us[1:], 0)[: len(node_no)]
    hours = (np.where(again, next_us, inputs.now_us) - found.until_us) / HOUR_US
    chosen = table["stopped_us"].is_null().to_numpy() & (hours >= RULES["silent"].raise_at)
    until_us = np.where(again, next_us, OPEN)
    return Spans(node_no[chosen], found.until_us[chosen], until_us[chosen], hours[chosen], hours[chosen])


def _clock_wrong(inputs: AlertInputs) -> Spans:
    """Find clocks that are wrong, in minutes, in the middle of their matches, until the node has another clock."""
    table = inputs.tables["clocks"]
    node_no = ints(table, "node_no")
    started_us = ints(table, "base_us") + ints(table, "from_mono_us")
    since_us = boot_mesh_us(table, node_no, ints(table, "boot"), ints(table, "from_mono_us"), started_us)
    minutes = np.abs(ints(table, "offset_us")) / (60 * _SECOND_US)
    return _found("clock_wrong", Series(node_no, since_us, minutes))


def _incidents(inputs: AlertInputs, kind: str) -> tuple[pa.Table, Ints]:
    """Return incidents of a kind, and their corrected times."""
    table = inputs.tables["incidents"].filter(pc.equal(inputs.tables["incidents"]["kind"], kind))
    columns = (ints(table, name) for name in ("node_no", "boot", "mono_us", "t_us"))
    return table, boot_mesh_us(inputs.tables["clocks"], *columns)


def _clock_jump(inputs: AlertInputs) -> Spans:
    """Find jumps of clocks, in seconds; each counts for an hour."""
    table, t_us = _incidents(inputs, "clock")
    node_no = ints(table, "node_no")
    seconds = np.abs(table["n"].fill_null(0).to_numpy()) / _SECOND_US
    jumped = seconds >= RULES["clock_jump"].raise_at
    node_no, t_us, seconds = node_no[jumped], t_us[jumped], seconds[jumped]
    counted = rolling(node_no, t_us // _SECOND_US, np.ones(len(t_us), np.int64), np.full(len(t_us), 3_600))
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
    """Count boots in the last six hours before which the node did not end in order."""
    table, t_us = _incidents(inputs, "start")
    second, window = t_us // _SECOND_US, np.full(len(t_us), 6 * 3_600)
    series = rolling(ints(table, "node_no"), second, np.ones(len(t_us), np.int64), window)
    series = series.at(series.t_us * _SECOND_US)
    return _found("restarts", series.where(series.t_us <= inputs.now_us))


def _fork(inputs: AlertInputs) -> Spans:
    """Find feeds with a fork, and how many nodes saw it, since the first did."""
    table, t_us = _incidents(inputs, "fork")
    known = table["feed_no"].is_valid().to_numpy()
    feed_no, node_no = table["feed_no"].fill_null(0).to_numpy()[known], ints(table, "node_no")[known]
    feeds, which = np.unique(feed_no, return_inverse=True)
    since_us = np.full(len(feeds), np.iinfo(np.int64).max)
    np.minimum.at(since_us, which, t_us[known])
    pairs = np.unique(np.stack([which, node_no]), axis=1)
    nodes = np.bincount(pairs[0], minlength=len(feeds)).astype(np.float64)
    return Spans(feeds, since_us, np.full(len(feeds), OPEN), nodes, nodes)


def _log_missing(inputs: AlertInputs) -> RuleResult:
    """Count missing records of each boot, since it began."""
    table = inputs.tables["gaps"].join(inputs.tables["boots"], ["node_no", "boot"], join_type="inner")
    node_no, boot = ints(table, "node_no"), ints(table, "boot")
    began_us = boot_times(corrections(inputs.tables["clocks"]), table).since_us
    boots, first, which = np.unique(np.stack([node_no, boot]), axis=1, return_index=True, return_inverse=True)
    gone = (ints(table, "next_offset") - ints(table, "first_offset")).astype(np.float64)
    missing: Floats = np.bincount(which.ravel(), gone, minlength=len(first)).astype(np.float64)
    found = Spans(np.arange(len(first)), began_us[first], np.full(len(first), OPEN), missing, missing)
    return RuleResult("log_missing", found, lambda one: f"boot {boots[0][one]} {boots[1][one]}")
