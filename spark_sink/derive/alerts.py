"""Alerts: rules with hysteresis over the figures of the serving database."""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.arrays import Bools, Floats, Ints, run_starts
from spark_sink.derive.alert_rules import RULES
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
from spark_sink.derive.changes import BACK, ISOLATED, JOIN, SPLIT
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import boot_times, corrections

_STUCK_HOURS: Final = 3  # in which a node that lacks entries gets none
_FADE_HOURS: Final = 3  # a link's ratio over these hours is compared with that over as many before
_FADE_PACKETS: Final = 20  # sent in either: of fewer, half and a tenth are chance
_FADE_FROM: Final = 0.5  # no node relied on a link that delivered less before


@dataclass(frozen=True, slots=True)
class AlertInputs:
    """Tables by name, with rows in any order and the columns named in `QUERIES`, which says which rows they have.

    ``ups`` are the hours of mesh time in which each node was up.
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
    "invalid": "node_no:int hour_us:int packets:int",
    "links": "hour_us:int sender:int receiver:int heard:int sent:int",
    "steps": "node_no:int feed_no:int hour_us:int seq:int",
    "gaps": "node_no:int boot:int first_offset:int next_offset:int",
}
_TYPES: Final = {"int": pa.int64(), "real": pa.float64(), "text": pa.string()}
SCHEMAS: Final = {
    name: pa.schema([(column, _TYPES[kind]) for column, kind in (word.split(":") for word in words.split())])
    for name, words in _COLUMNS.items()
}
"""Columns of each table of `AlertInputs`."""

_FROM: Final = {
    "ups": "groups GROUP BY node_no, hour_us",
    "invalid": "traffic WHERE verdict = 'invalid'",
    "counts": "counts WHERE kind IN ('face_down', 'refused')",
    "incidents": "incidents WHERE kind IN ('clock', 'fork') OR (kind = 'start' AND detail = 'unclean')",
    "faces": "faces WHERE limit_ppm > 0 AND window_us > 0",
    "gaps": "gaps WHERE next_offset IS NOT NULL",
}
QUERIES: Final = {
    name: f"SELECT {', '.join(schema.names)} FROM {_FROM.get(name, name)}"  # noqa: S608 the names are ours
    for name, schema in SCHEMAS.items()
}
"""SQL by name of the table, for SQLite and PostgreSQL; the columns are those of the schema."""


_SECOND_US: Final = 1_000_000
_NEVER: Final = 2**63 - 1


@dataclass(frozen=True, slots=True)
class RuleResult:
    """Result of a rule: spans, and the names of their subjects."""

    rule: str
    spans: Spans
    name: Callable[[int], str]


def alerts(inputs: AlertInputs) -> pa.Table:
    """Make the rows of the table `alerts`, all of them, in order of rule, subject and begin.

    The cost grows as the rows do, a few sorts a rule. Hours that are not over can begin an alert, but end none.
    """
    found = [
        RuleResult("isolated", _isolated(inputs), _node),
        RuleResult("split", _split(inputs), lambda _: "mesh"),
        RuleResult("silent", _silent(inputs), _node),
        RuleResult("stuck", stuck(inputs), _node),
        *_duty(inputs),
        RuleResult("clock_wrong", _clock_wrong(inputs), _node),
        RuleResult("clock_jump", _clock_jump(inputs), _node),
        RuleResult("restarts", _restarts(inputs), _node),
        _flapping(inputs),
        RuleResult("fork", _fork(inputs), lambda number: f"feed {number}"),
        _node_hours(inputs, "invalid", inputs.tables["invalid"], "packets"),
        _refused(inputs, "budget", ("budget",)),
        faded(inputs),
        _log_missing(inputs),
        _refused(inputs, "disk", ("read_only", "event_log")),
    ]
    return pa.concat_tables([_rows(one, inputs.now_us) for one in found]).sort_by(
        [("rule", "ascending"), ("subject", "ascending"), ("since_us", "ascending")]
    )


def _rows(found: RuleResult, now_us: int) -> pa.Table:
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


def _isolated(inputs: AlertInputs) -> Spans:
    """Find hours without any contact, until there was one again or the node was no longer up."""
    ends_us = _ends_us(inputs)
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
        up = ends_us.get(number, since_us) == _NEVER
        last_us = inputs.now_us if up else max(ends_us.get(number, since_us), since_us)
        rows.append((number, since_us, OPEN if up else last_us, (last_us - since_us) / HOUR_US))
    rows.sort()
    numbers = np.array([row[:3] for row in rows], np.int64).reshape(-1, 3)
    hours = np.array([row[3] for row in rows], np.float64)
    return Spans(numbers[:, 0], numbers[:, 1], numbers[:, 2], hours, hours)


def _split(inputs: AlertInputs) -> Spans:
    """Find spans in which the mesh is in several parts because it split.

    A split is over when nodes of two of its parts are in one group again, or when fewer than two parts have a node that
    is up.
    """
    ends_us = _ends_us(inputs)
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
        gone_us = sorted(max(ends_us.get(node, since_us) for node in part) for part in apart)[-2]
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


def _ends_us(inputs: AlertInputs) -> dict[int, int]:
    """Return the end of the last hour in which each node was up; `_NEVER` if that was at most an hour ago."""
    node_no, hour_us = ints(inputs.tables["ups"], "node_no"), ints(inputs.tables["ups"], "hour_us")
    nodes, which = np.unique(node_no, return_inverse=True)
    last_us = np.full(len(nodes), OPEN)
    np.maximum.at(last_us, which, hour_us + HOUR_US)
    gone = last_us + HOUR_US <= inputs.now_us
    return dict(zip(nodes.tolist(), np.where(gone, last_us, _NEVER).tolist(), strict=True))


def stuck(inputs: AlertInputs) -> Spans:
    """Find nodes that lacked entries hours ago that others had, and got none of others since, while they were up."""
    order = np.lexsort((ints(inputs.tables["ups"], "hour_us"), ints(inputs.tables["ups"], "node_no")))
    node_no, hour = (
        ints(inputs.tables["ups"], "node_no")[order],
        ints(inputs.tables["ups"], "hour_us")[order] // HOUR_US,
    )
    newest, held, got = _held(inputs.tables["steps"], inputs.tables["boots"])
    before = hour - _STUCK_HOURS
    rows = np.arange(len(hour))
    back = np.maximum(rows - _STUCK_HOURS, 0)
    still = (rows >= _STUCK_HOURS) & (node_no[back] == node_no) & (hour[back] == before)
    still &= got.by(node_no, hour) == got.by(node_no, before)
    lacking = newest.by(np.zeros(len(hour), np.int64), before) - held.by(node_no, before)
    series = hourly(node_no, hour * HOUR_US, np.where(still, lacking, 0))
    over = series.t_us + HOUR_US <= inputs.now_us
    raise_at = RULES["stuck"].raise_at
    return spans(series.where(over).reaching(raise_at), raise_at, RULES["stuck"].clear_at)


class _RunningSums:
    """Running totals of many subjects: the sum by the end of an hour, from the gains of each hour."""

    def __init__(self, who: Ints, hour: Ints, gain: Ints) -> None:
        self._begin = int(hour.min()) if len(hour) else 0
        self._span = int(hour.max(initial=self._begin)) - self._begin + 2
        self._who, place = np.unique(who, return_inverse=True)
        key = place * self._span + hour - self._begin
        order = np.argsort(key, kind="stable")
        self._key = key[order]
        self._sum = np.concatenate([np.zeros(1, np.int64), np.cumsum(gain[order])])

    def by(self, who: Ints, hour: Ints) -> Ints:
        """Return the sums by the end of *hour*; 0 for a subject without any."""
        place = np.searchsorted(self._who, who)
        known = np.isin(who, self._who)
        begin = np.searchsorted(self._key, place * self._span)
        here = np.clip(hour - self._begin, -1, self._span - 2)
        end = np.searchsorted(self._key, place * self._span + here, "right")
        return np.where(known, self._sum[np.maximum(end, begin)] - self._sum[begin], 0)


def _held(steps: pa.Table, boots: pa.Table) -> tuple[_RunningSums, _RunningSums, _RunningSums]:
    """Sum up entries that any node has, under the number 0; that each node has; and that each has of others' feeds."""
    node_no, feed_no, seq = (ints(steps, name) for name in ("node_no", "feed_no", "seq"))
    hour = ints(steps, "hour_us") // HOUR_US
    order = np.lexsort((seq, hour, feed_no, node_no))
    node_no, feed_no, hour, seq = node_no[order], feed_no[order], hour[order], seq[order]
    gain = _gains(seq, run_starts(node_no, feed_no))
    owners = boots.filter(boots["feed_no"].is_valid())
    width = int(max(feed_no.max(initial=0), ints(owners, "feed_no").max(initial=0))) + 1
    own = np.isin(node_no * width + feed_no, ints(owners, "node_no") * width + ints(owners, "feed_no"))
    order = np.lexsort((seq, hour, feed_no))
    news = _gains(seq[order], run_starts(feed_no[order]))
    return (
        _RunningSums(np.zeros(len(hour), np.int64), hour[order], news),
        _RunningSums(node_no, hour, gain),
        _RunningSums(node_no[~own], hour[~own], gain[~own]),
    )


def _gains(seq: Ints, first: Bools) -> Ints:
    """Return by how much each number is above all before it in its run; *first* are the first rows of runs."""
    run = np.cumsum(first) - 1
    span = int(seq.max(initial=0)) + 1
    highest = np.maximum.accumulate(seq + run * span) - run * span
    before = np.zeros(len(seq), np.int64)
    before[1:] = np.where(first[1:], 0, highest[:-1])
    return np.asarray(highest - before)


def faded(inputs: AlertInputs) -> RuleResult:
    """Find links that lose most of what is sent, in percent, and lost much less just before."""
    table, rule = inputs.tables["links"], RULES["faded"]
    heard, sent = ints(table, "heard"), ints(table, "sent")
    sender, receiver, hour = ints(table, "sender"), ints(table, "receiver"), ints(table, "hour_us") // HOUR_US
    width = int(receiver.max(initial=0)) + 1
    link = sender * width + receiver
    bad = (sent > 0) & (100 * (sent - heard) >= rule.raise_at * sent)
    good = (sent > 0) & (heard >= _FADE_FROM * sent)
    chosen = np.flatnonzero(np.isin(link, link[bad]) & np.isin(link, link[good]))
    chosen = chosen[np.lexsort((hour[chosen], link[chosen]))]
    link, hour, heard, sent = link[chosen], hour[chosen], heard[chosen], sent[chosen]
    heard_now, heard_then = _windows(link, hour, heard)
    sent_now, sent_then = _windows(link, hour, sent)
    fell = (sent_then >= _FADE_PACKETS) & (heard_then >= _FADE_FROM * sent_then)
    lost = 100 * (1 - heard_now / np.maximum(sent_now, 1))
    known = (sent_now >= _FADE_PACKETS) & ((hour + 1) * HOUR_US <= inputs.now_us)
    known &= np.isin(link, link[known & fell & (lost >= rule.raise_at)])
    links, place = np.unique(link[known], return_inverse=True)
    series = Series(place, hour[known] * HOUR_US, lost[known])
    found = spans(series, rule.raise_at, rule.clear_at, fell[known])
    found = _old_news(found, inputs.now_us)
    return RuleResult("faded", found, lambda one: f"link {links[one] // width} {links[one] % width}")


def _windows(link: Ints, hour: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Sum over the last `_FADE_HOURS` and as many before; rows are in order of link and hour, one of each."""
    now, then = count.copy(), np.zeros_like(count)
    for back in range(1, min(2 * _FADE_HOURS, len(count))):
        ago = np.where(link[back:] == link[:-back], hour[back:] - hour[:-back], 2 * _FADE_HOURS)
        now[back:] += np.where(ago < _FADE_HOURS, count[:-back], 0)
        then[back:] += np.where((ago >= _FADE_HOURS) & (ago < 2 * _FADE_HOURS), count[:-back], 0)
    return now, then


def _old_news(found: Spans, now_us: int) -> Spans:
    """End what has been so for a day: the node was moved, and the new state is normal."""
    latest_us = found.since_us + 24 * HOUR_US
    open_ = found.until_us == OPEN
    until_us = np.where(open_ & (latest_us > now_us), OPEN, latest_us)
    until_us = np.where(open_, until_us, np.minimum(found.until_us, latest_us))
    return Spans(found.subject, found.since_us, until_us, found.value, found.peak)


def _hours(inputs: AlertInputs, rule: str, node_no: Ints, subject: Ints, hour_us: Ints, value: Ints) -> Spans:
    """Apply a rule to counts by the hour of nodes' own clocks; *subject* determines *node_no*."""
    series = hourly(subject, hour_us, value).reaching(RULES[rule].raise_at)
    known, places = np.unique(subject, return_index=True)
    node = node_no[places][np.searchsorted(known, series.subject)] if len(known) else series.subject
    right = series.at(mesh_us(inputs.tables["clocks"], node, series.t_us))
    # An hour that is not over counts only where it is too high already.
    over = right.t_us + HOUR_US <= inputs.now_us
    over |= (right.value >= RULES[rule].raise_at) & (right.t_us <= inputs.now_us)
    return _found(rule, right.where(over))


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


def _faces(node_no: Ints, face: pa.ChunkedArray) -> tuple[Ints, Ints, Callable[[int], str]]:
    """Return a number for each node and face; for each number its node; and a function for its name."""
    names = face.combine_chunks().dictionary_encode()
    called = names.dictionary.to_pylist()
    width = max(len(called), 1)
    codes, number = np.unique(
        node_no * width + np.asarray(names.indices.to_numpy(), np.int64), return_inverse=True
    )
    return number, codes // width, lambda one: f"face {codes[one] // width} {called[codes[one] % width]}"


def _duty(inputs: AlertInputs) -> list[RuleResult]:
    """Compute airtime in the last window of the law, in percent of what it allows, every ten minutes.

    The longest packet is subtracted for the alarm, since all but its end may be older than the window.
    """
    table = inputs.tables["transmitted"].join(inputs.tables["faces"], ["node_no", "face"], join_type="inner")
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
    right = series.at(series.t_us * limits.SLOT_US)
    right = right.where(right.t_us <= inputs.now_us)
    surely = Series(right.subject, right.t_us, right.value - longest[right.subject])
    return [
        RuleResult("duty", _found("duty", right), name),
        RuleResult("duty_over", _found("duty_over", surely), name),
    ]


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
    """Count boots in the last six hours before which the node did not end in order."""
    table, t_us = _incidents(inputs, "start")
    second, window = t_us // _SECOND_US, np.full(len(t_us), 6 * 3_600)
    series = rolling(ints(table, "node_no"), second, np.ones(len(t_us)), window)
    series = series.at(series.t_us * _SECOND_US)
    return _found("restarts", series.where(series.t_us <= inputs.now_us))


def _flapping(inputs: AlertInputs) -> RuleResult:
    table = inputs.tables["counts"].filter(pc.equal(inputs.tables["counts"]["kind"], "face_down"))
    node_no = ints(table, "node_no")
    face, _, name = _faces(node_no, table["detail"])
    hours = _hours(inputs, "flapping", node_no, face, ints(table, "hour_us"), ints(table, "records"))
    return RuleResult("flapping", hours, name)


def _node_hours(inputs: AlertInputs, rule: str, table: pa.Table, column: str) -> RuleResult:
    """Apply a rule to what each node counted by the hour."""
    node_no = ints(table, "node_no")
    found = _hours(inputs, rule, node_no, node_no, ints(table, "hour_us"), ints(table, column))
    return RuleResult(rule, found, _node)


def _refused(inputs: AlertInputs, rule: str, details: tuple[str, ...]) -> RuleResult:
    """Apply a rule to what was refused, or had to wait, for one of these reasons."""
    counts = inputs.tables["counts"]
    chosen = pc.and_(pc.equal(counts["kind"], "refused"), pc.is_in(counts["detail"], pa.array(details)))
    return _node_hours(inputs, rule, counts.filter(chosen), "total")


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
