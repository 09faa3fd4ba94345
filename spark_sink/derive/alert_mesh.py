"""Alerts on what is known in mesh time: who is alone, a mesh in parts, who gets nothing, links that fade."""

import json
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.derive.alert_inputs import AlertInputs
from spark_sink.derive.alert_rules import (
    FADE_FROM,
    FADE_HOURS,
    FADE_LASTS_US,
    FADE_PACKETS,
    RULES,
    STUCK_HOURS,
)
from spark_sink.derive.alert_series import OPEN, Series, Spans, hourly, ints, spans
from spark_sink.derive.changes import BACK, ISOLATED, JOIN, SPLIT
from spark_sink.derive.facts import HOUR_US, Ints

_NEVER: Final = 2**63 - 1


def isolated(inputs: AlertInputs) -> Spans:
    """Hours without any contact, until there was one again or the node was no longer up."""
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


def split(inputs: AlertInputs) -> Spans:
    """In how many parts the mesh is because it split.

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
    return spans(series.where(last), RULES["split"].raise_at, RULES["split"].clear_at)


def _changes(inputs: AlertInputs, kinds: tuple[str, str]) -> Iterator[tuple[str, int, str, str]]:
    """Changes of these kinds in order; at the same time, in the order of their names."""
    table = inputs.changes
    columns = (table[name].to_pylist() for name in ("t_us", "kind", "subject", "detail"))
    for t_us, kind, subject, detail in sorted(zip(*columns, strict=True)):
        if kind in kinds:
            yield kind, t_us, subject, detail


def _ends_us(inputs: AlertInputs) -> dict[int, int]:
    """By node, the end of the last hour in which it was up; `_NEVER` if that was no more than an hour ago."""
    node_no, hour_us = ints(inputs.ups, "node_no"), ints(inputs.ups, "hour_us")
    nodes, which = np.unique(node_no, return_inverse=True)
    last_us = np.full(len(nodes), OPEN)
    np.maximum.at(last_us, which, hour_us + HOUR_US)
    gone = last_us + HOUR_US <= inputs.now_us
    return dict(zip(nodes.tolist(), np.where(gone, last_us, _NEVER).tolist(), strict=True))


def stuck(inputs: AlertInputs) -> Spans:
    """Entries that a node lacked hours ago of those that others had, where it was up and got none of others' since."""
    order = np.lexsort((ints(inputs.ups, "hour_us"), ints(inputs.ups, "node_no")))
    node_no, hour = ints(inputs.ups, "node_no")[order], ints(inputs.ups, "hour_us")[order] // HOUR_US
    newest, held, got = _held(inputs.steps, inputs.boots)
    before = hour - STUCK_HOURS
    rows = np.arange(len(hour))
    back = np.maximum(rows - STUCK_HOURS, 0)
    still = (rows >= STUCK_HOURS) & (node_no[back] == node_no) & (hour[back] == before)
    still &= got.by(node_no, hour) == got.by(node_no, before)
    lacking = newest.by(np.zeros(len(hour), np.int64), before) - held.by(node_no, before)
    series = hourly(node_no, hour * HOUR_US, np.where(still, lacking, 0))
    over = series.t_us + HOUR_US <= inputs.now_us
    raise_at = RULES["stuck"].raise_at
    return spans(series.where(over).reaching(raise_at), raise_at, RULES["stuck"].clear_at)


class _Sums:
    """What somebody has by the end of an hour, from what came in each."""

    def __init__(self, who: Ints, hour: Ints, gain: Ints) -> None:
        self._begin = int(hour.min()) if len(hour) else 0
        self._span = int(hour.max(initial=self._begin)) - self._begin + 2
        self._who, place = np.unique(who, return_inverse=True)
        key = place * self._span + hour - self._begin
        order = np.argsort(key, kind="stable")
        self._key = key[order]
        self._sum = np.concatenate([np.zeros(1, np.int64), np.cumsum(gain[order])])

    def by(self, who: Ints, hour: Ints) -> Ints:
        """By the end of *hour*; 0 for whoever has nothing."""
        place = np.searchsorted(self._who, who)
        known = np.isin(who, self._who)
        begin = np.searchsorted(self._key, place * self._span)
        here = np.clip(hour - self._begin, -1, self._span - 2)
        end = np.searchsorted(self._key, place * self._span + here, "right")
        return np.where(known, self._sum[np.maximum(end, begin)] - self._sum[begin], 0)


def _held(steps: pa.Table, boots: pa.Table) -> tuple[_Sums, _Sums, _Sums]:
    """Entries that anybody has, under the number 0; that each node has; and that each node has of others' feeds."""
    node_no, feed_no, seq = (ints(steps, name) for name in ("node_no", "feed_no", "seq"))
    hour = ints(steps, "hour_us") // HOUR_US
    order = np.lexsort((seq, hour, feed_no, node_no))
    node_no, feed_no, hour, seq = node_no[order], feed_no[order], hour[order], seq[order]
    gain = _gains(seq, (node_no[1:] != node_no[:-1]) | (feed_no[1:] != feed_no[:-1]))
    owners = boots.filter(boots["feed_no"].is_valid())
    width = int(max(feed_no.max(initial=0), ints(owners, "feed_no").max(initial=0))) + 1
    own = np.isin(node_no * width + feed_no, ints(owners, "node_no") * width + ints(owners, "feed_no"))
    order = np.lexsort((seq, hour, feed_no))
    feeds = feed_no[order]
    news = _gains(seq[order], feeds[1:] != feeds[:-1])
    return (
        _Sums(np.zeros(len(hour), np.int64), hour[order], news),
        _Sums(node_no, hour, gain),
        _Sums(node_no[~own], hour[~own], gain[~own]),
    )


def _gains(seq: Ints, changed: Ints) -> Ints:
    """By how much each number is above all before it in its run; *changed*, from the second on, tells of new runs."""
    first = np.ones(len(seq), np.bool_)
    first[1:] = changed
    run = np.cumsum(first) - 1
    span = int(seq.max(initial=0)) + 1
    highest = np.maximum.accumulate(seq + run * span) - run * span
    before = np.zeros(len(seq), np.int64)
    before[1:] = np.where(first[1:], 0, highest[:-1])
    return np.asarray(highest - before)


def faded(inputs: AlertInputs) -> tuple[Spans, list[tuple[int, int]]]:
    """Percent of what is sent that is lost, where it was much less just before; subjects are places in the list."""
    table, rule = inputs.links, RULES["faded"]
    heard, sent = ints(table, "heard"), ints(table, "sent")
    sender, receiver, hour = ints(table, "sender"), ints(table, "receiver"), ints(table, "hour_us") // HOUR_US
    width = int(receiver.max(initial=0)) + 1
    link = sender * width + receiver
    bad = (sent > 0) & (100 * (sent - heard) >= rule.raise_at * sent)
    good = (sent > 0) & (heard >= FADE_FROM * sent)
    chosen = np.flatnonzero(np.isin(link, link[bad]) & np.isin(link, link[good]))
    chosen = chosen[np.lexsort((hour[chosen], link[chosen]))]
    link, hour, heard, sent = link[chosen], hour[chosen], heard[chosen], sent[chosen]
    heard_now, heard_then = _windows(link, hour, heard)
    sent_now, sent_then = _windows(link, hour, sent)
    fell = (sent_then >= FADE_PACKETS) & (heard_then >= FADE_FROM * sent_then)
    lost = 100 * (1 - heard_now / np.maximum(sent_now, 1))
    known = (sent_now >= FADE_PACKETS) & ((hour + 1) * HOUR_US <= inputs.now_us)
    known &= np.isin(link, link[known & fell & (lost >= rule.raise_at)])
    links, place = np.unique(link[known], return_inverse=True)
    series = Series(place, hour[known] * HOUR_US, lost[known])
    found = spans(series, rule.raise_at, rule.clear_at, fell[known])
    return _old_news(found, inputs.now_us), [(int(one) // width, int(one) % width) for one in links]


def _windows(link: Ints, hour: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Sums over the last `FADE_HOURS` and over as many before, of rows in order of link and hour, one of each."""
    now, then = count.copy(), np.zeros_like(count)
    for back in range(1, min(2 * FADE_HOURS, len(count))):
        ago = np.where(link[back:] == link[:-back], hour[back:] - hour[:-back], 2 * FADE_HOURS)
        now[back:] += np.where(ago < FADE_HOURS, count[:-back], 0)
        then[back:] += np.where((ago >= FADE_HOURS) & (ago < 2 * FADE_HOURS), count[:-back], 0)
    return now, then


def _old_news(found: Spans, now_us: int) -> Spans:
    """End what has been so for a day: it is how things are."""
    latest_us = found.since_us + FADE_LASTS_US
    open_ = found.until_us == OPEN
    until_us = np.where(open_ & (latest_us > now_us), OPEN, latest_us)
    until_us = np.where(open_, until_us, np.minimum(found.until_us, latest_us))
    return Spans(found.subject, found.since_us, until_us, found.value, found.peak)
