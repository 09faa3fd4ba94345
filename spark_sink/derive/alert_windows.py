"""Rules over long tables: they begin with what stood at some hour, so that earlier rows need not be read again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spark_sink import limits
from spark_sink.arrays import Bools, Ints, count_up, run_starts
from spark_sink.derive.alert_inputs import AlertInputs, RuleResult, node_name
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
from spark_sink.derive.facts import HOUR_US
from spark_sink.derive.mesh_time import boot_times, corrections
from spark_sink.derive.row_keys import last_before

BEGIN_US: Final = -(2**62)
END_US: Final = 2**62
"""Before and after all times."""
STUCK_HOURS: Final = 3
"""Hours in which a node that lacks entries gets none."""
_FADE_HOURS: Final = 3  # a link's ratio over these hours is compared with that over as many before
_FADE_PACKETS: Final = 20  # sent in either: of fewer, half and a tenth are chance
_FADE_FROM: Final = 0.5  # no node relied on a link that delivered less before
LOOK_BACK_HOURS: Final = 2 * _FADE_HOURS
"""Hours before the first one that is looked at, of which rules need the rows; `duty` needs the law's window."""
_PACKET_MAX_US: Final = 2**32  # more airtime than a record may say


@dataclass(frozen=True, slots=True)
class OpenSpan:
    """A span that had not ended."""

    subject: str
    since_us: int
    value: float
    peak: float


@dataclass(frozen=True, slots=True)
class AlertStanding:
    """State of the rules at a full hour of mesh time: all that they need to know of the time before."""

    at_us: int = BEGIN_US
    """The hour."""
    up_us: Mapping[int, int] = field(default_factory=dict)
    """End of the last hour in which each node was up."""
    newest: Mapping[int, int] = field(default_factory=dict)
    """The highest entry of each feed that any node had `STUCK_HOURS` before."""
    held: Mapping[int, int] = field(default_factory=dict)
    """How many entries each node had then, of all feeds together."""
    longest_us: Mapping[str, int] = field(default_factory=dict)
    """Airtime of a packet on each face, in the slot where the mean was the longest."""
    open: Mapping[str, Sequence[OpenSpan]] = field(default_factory=dict)
    """Spans that had not ended, by rule."""


@dataclass(frozen=True, slots=True)
class Window:
    """Tables with the rows of some hours, and of the hours before that rules look back at."""

    inputs: AlertInputs
    begun: AlertStanding
    until_us: int
    """Times from `begun` on and before this one are looked at."""

    def subjects(self, rule: str) -> list[str]:
        """Return the subjects of spans of a rule that had not ended."""
        return [one.subject for one in self.begun.open.get(rule, ())]

    def spans(self, rule: str, series: Series, begun: Sequence[int], may: Bools | None = None) -> Spans:
        """Go on with the spans of a rule; *begun* are the numbers of `subjects` in the series."""
        inside = (series.t_us >= self.begun.at_us) & (series.t_us < self.until_us)
        series = series.where(inside)
        may = np.ones(len(series.t_us), np.bool_) if may is None else may[inside]
        # Two values stand for all before: the highest at its begin, and the last one.
        known = self.begun.open.get(rule, ())
        last_us = self.begun.at_us - 1
        again = Series(
            np.concatenate([series.subject, np.array([*begun, *begun], np.int64)]),
            np.concatenate(
                [
                    series.t_us,
                    np.array([*(one.since_us for one in known), *(last_us for _ in known)], np.int64),
                ]
            ),
            np.concatenate(
                [
                    series.value,
                    np.array([*(one.peak for one in known), *(one.value for one in known)], np.float64),
                ]
            ),
        )
        may = np.concatenate([may, np.ones(2 * len(known), np.bool_)])
        return spans(again, RULES[rule].raise_at, RULES[rule].clear_at, may)


def windowed(window: Window) -> list[RuleResult]:
    """Return the spans of all rules over long tables: those that had not ended before the window, and those in it."""
    counts = window.inputs.tables["counts"]
    return [
        RuleResult("stuck", stuck(window), node_name),
        *_duty(window),
        down(window),
        _flapping(window),
        _node_hours(window, "invalid", window.inputs.tables["invalid"], "packets"),
        _refused(window, counts, "budget", ("budget",)),
        faded(window),
        _refused(window, counts, "disk", ("read_only", "event_log")),
    ]


WINDOWED: Final = ("stuck", "duty", "duty_over", "down", "flapping", "invalid", "budget", "faded", "disk")
"""Names of these rules."""


def standing(window: Window, found: Sequence[RuleResult]) -> AlertStanding:
    """Return what stands at the end of the window, whose rules *found* these spans."""
    newest, held = _held_by(window)
    return AlertStanding(
        window.until_us,
        ends_us(window),
        newest,
        held,
        _longest_us(window),
        {one.rule: _open(one) for one in found},
    )


def _open(found: RuleResult) -> list[OpenSpan]:
    some = found.spans
    return [
        OpenSpan(
            found.name(int(some.subject[row])),
            int(some.since_us[row]),
            float(some.value[row]),
            float(some.peak[row]),
        )
        for row in np.flatnonzero(some.until_us == OPEN)
    ]


def ends_us(window: Window) -> dict[int, int]:
    """Return the end of the last hour before the end of the window in which each node was up."""
    ups = window.inputs.tables["ups"]
    node_no, hour_us = ints(ups, "node_no"), ints(ups, "hour_us")
    inside = hour_us < window.until_us
    nodes, which = np.unique(node_no[inside], return_inverse=True)
    last_us = np.full(len(nodes), BEGIN_US)
    np.maximum.at(last_us, which, hour_us[inside] + HOUR_US)
    found = dict(window.begun.up_us)
    for node, end_us in zip(nodes.tolist(), last_us.tolist(), strict=True):
        found[node] = max(end_us, found.get(node, end_us))
    return found


# --- Nodes that get nothing


def stuck(window: Window) -> Spans:
    """Find nodes that lacked entries hours ago that others had, and got none of others since, while they were up."""
    ups = window.inputs.tables["ups"]
    order = np.lexsort((ints(ups, "hour_us"), ints(ups, "node_no")))
    node_no, hour = ints(ups, "node_no")[order], ints(ups, "hour_us")[order] // HOUR_US
    steps = _Steps.of(window)
    newest, held, got = steps.newest(), steps.held(), steps.got()
    before = hour - STUCK_HOURS
    rows = np.arange(len(hour))
    back = np.maximum(rows - STUCK_HOURS, 0)
    still = (rows >= STUCK_HOURS) & (node_no[back] == node_no) & (hour[back] == before)
    still &= got.by(node_no, hour) == got.by(node_no, before)
    known = sum(window.begun.newest.values())
    lacking = known + newest.by(np.zeros(len(hour), np.int64), before)
    lacking -= _looked_up(window.begun.held, node_no) + held.by(node_no, before)
    series = hourly(node_no, hour * HOUR_US, np.where(still, lacking, 0))
    begun = [int(one.split()[1]) for one in window.subjects("stuck")]
    over = series.t_us + HOUR_US <= window.inputs.now_us
    series = series.where(over).reaching(RULES["stuck"].raise_at, begun)
    return window.spans("stuck", series, begun)


def _looked_up(known: Mapping[int, int], keys: Ints) -> Ints:
    """Return the number of each key; 0 for an unknown one."""
    distinct, place = np.unique(keys, return_inverse=True)
    return np.array([known.get(one, 0) for one in distinct.tolist()], np.int64)[place]


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


@dataclass(frozen=True, slots=True)
class _Steps:
    """Growth of frontiers; the first rows are those before, which count nothing."""

    node_no: Ints
    feed_no: Ints
    hour: Ints
    seq: Ints
    counts: Bools
    own: Bools
    """The feed is one of the node's own."""

    @classmethod
    def of(cls, window: Window) -> "_Steps":
        tables, newest = window.inputs.tables, window.begun.newest
        parts = [tables["held"], tables["steps"]]
        node_no, feed_no, seq = (
            np.concatenate([ints(part, name) for part in parts] + [np.array(more, np.int64)])
            for name, more in (
                ("node_no", [-1] * len(newest)),
                ("feed_no", list(newest)),
                ("seq", list(newest.values())),
            )
        )
        hour = ints(tables["steps"], "hour_us") // HOUR_US
        first = int(hour.min(initial=0)) - 1
        hour = np.concatenate([np.full(len(tables["held"]), first), hour, np.full(len(newest), first)])
        owners = tables["boots"].filter(tables["boots"]["feed_no"].is_valid())
        width = int(max(feed_no.max(initial=0), ints(owners, "feed_no").max(initial=0))) + 1
        own = np.isin(node_no * width + feed_no, ints(owners, "node_no") * width + ints(owners, "feed_no"))
        return cls(node_no, feed_no, hour, seq, hour > first, own)

    def held(self) -> "_RunningSums":
        """Sum up entries that each node has."""
        return self._by_node(self.counts)

    def got(self) -> "_RunningSums":
        """Sum up entries that each node has of others' feeds."""
        return self._by_node(self.counts & ~self.own)

    def newest(self) -> "_RunningSums":
        """Sum up entries that any node has, under the number 0."""
        order = np.lexsort((self.seq, self.hour, self.feed_no))
        gain = _gains(self.seq[order], run_starts(self.feed_no[order]))
        counts = self.counts[order]
        return _RunningSums(np.zeros(int(counts.sum()), np.int64), self.hour[order][counts], gain[counts])

    def _by_node(self, counts: Bools) -> "_RunningSums":
        order = np.lexsort((self.seq, self.hour, self.feed_no, self.node_no))
        node_no, feed_no, hour = self.node_no[order], self.feed_no[order], self.hour[order]
        gain, counts = _gains(self.seq[order], run_starts(node_no, feed_no)), counts[order]
        return _RunningSums(node_no[counts], hour[counts], gain[counts])


def _held_by(window: Window) -> tuple[dict[int, int], dict[int, int]]:
    """Return the newest entry of each feed, and what each node has, `STUCK_HOURS` before the end of the window."""
    steps = _Steps.of(window)
    hour = window.until_us // HOUR_US - STUCK_HOURS - 1
    newest = dict(window.begun.newest)
    early = steps.hour <= hour
    for feed, seq in zip(steps.feed_no[early].tolist(), steps.seq[early].tolist(), strict=True):
        newest[feed] = max(seq, newest.get(feed, seq))
    nodes = np.unique(steps.node_no[steps.counts])
    held = dict(window.begun.held)
    for node, more in zip(
        nodes.tolist(), steps.held().by(nodes, np.full(len(nodes), hour)).tolist(), strict=True
    ):
        held[node] = held.get(node, 0) + more
    return newest, held


def _gains(seq: Ints, first: Bools) -> Ints:
    """Return by how much each number is above all before it in its run; *first* are the first rows of runs."""
    run = np.cumsum(first) - 1
    span = int(seq.max(initial=0)) + 1
    highest = np.maximum.accumulate(seq + run * span) - run * span
    before = np.zeros(len(seq), np.int64)
    before[1:] = np.where(first[1:], 0, highest[:-1])
    return np.asarray(highest - before)


# --- Links that fade


def faded(window: Window) -> RuleResult:
    """Find links that lose most of what is sent, in percent, and lost much less just before."""
    table, rule = window.inputs.tables["links"], RULES["faded"]
    heard, sent = ints(table, "heard"), ints(table, "sent")
    sender, receiver, hour = ints(table, "sender"), ints(table, "receiver"), ints(table, "hour_us") // HOUR_US
    begun = [[int(word) for word in one.split()[1:]] for one in window.subjects("faded")]
    width = int(max([receiver.max(initial=0), *(one[1] for one in begun)])) + 1
    link, open_ = sender * width + receiver, [one * width + other for one, other in begun]
    bad = (sent > 0) & (100 * (sent - heard) >= rule.raise_at * sent)
    good = (sent > 0) & (heard >= _FADE_FROM * sent)
    chosen = np.flatnonzero((np.isin(link, link[bad]) & np.isin(link, link[good])) | np.isin(link, open_))
    chosen = chosen[np.lexsort((hour[chosen], link[chosen]))]
    link, hour, heard, sent = link[chosen], hour[chosen], heard[chosen], sent[chosen]
    heard_now, heard_then = _windows(link, hour, heard)
    sent_now, sent_then = _windows(link, hour, sent)
    fell = (sent_then >= _FADE_PACKETS) & (heard_then >= _FADE_FROM * sent_then)
    lost = 100 * (1 - heard_now / np.maximum(sent_now, 1))
    known = (sent_now >= _FADE_PACKETS) & ((hour + 1) * HOUR_US <= window.inputs.now_us)
    telling = np.concatenate([link[known & fell & (lost >= rule.raise_at)], np.array(open_, np.int64)])
    known &= np.isin(link, telling)
    links, place = np.unique(np.concatenate([link[known], np.array(open_, np.int64)]), return_inverse=True)
    count = int(known.sum())
    series = Series(place[:count], hour[known] * HOUR_US, lost[known])
    found = window.spans("faded", series, place[count:].tolist(), fell[known])
    return RuleResult("faded", found, lambda one: f"link {links[one] // width} {links[one] % width}")


def _windows(link: Ints, hour: Ints, count: Ints) -> tuple[Ints, Ints]:
    """Sum over the last `_FADE_HOURS` and as many before; rows are in order of link and hour, one of each."""
    now, then = count.copy(), np.zeros_like(count)
    for back in range(1, min(2 * _FADE_HOURS, len(count))):
        ago = np.where(link[back:] == link[:-back], hour[back:] - hour[:-back], 2 * _FADE_HOURS)
        now[back:] += np.where(ago < _FADE_HOURS, count[:-back], 0)
        then[back:] += np.where((ago >= _FADE_HOURS) & (ago < 2 * _FADE_HOURS), count[:-back], 0)
    return now, then


def old_news(found: Spans, now_us: int) -> Spans:
    """End what has been so for a day: the node was moved, and the new state is normal."""
    latest_us = found.since_us + 24 * HOUR_US
    open_ = found.until_us == OPEN
    until_us = np.where(open_ & (latest_us > now_us), OPEN, latest_us)
    until_us = np.where(open_, until_us, np.minimum(found.until_us, latest_us))
    return Spans(found.subject, found.since_us, until_us, found.value, found.peak)


# --- Airtime


def _faces(
    node_no: Ints, face: pa.ChunkedArray, also: Sequence[str]
) -> tuple[Ints, list[int], Ints, Callable[[int], str]]:
    """Return a number for each node and face, and for the subjects *also*; each number's node; and a function for its
    name."""
    words = [one.split(" ", 2) for one in also]
    both = pa.chunked_array([*face.chunks, pa.array([word[2] for word in words], pa.string())])
    names = both.combine_chunks().dictionary_encode()
    called = names.dictionary.to_pylist()
    width = max(len(called), 1)
    nodes = np.concatenate([node_no, np.array([int(word[1]) for word in words], np.int64)])
    codes, number = np.unique(
        nodes * width + np.asarray(names.indices.to_numpy(), np.int64), return_inverse=True
    )
    count = len(node_no)

    def name(one: int) -> str:
        return f"face {codes[one] // width} {called[codes[one] % width]}"

    return number[:count], number[count:].tolist(), codes // width, name


def _limited(window: Window) -> pa.Table:
    tables = window.inputs.tables
    return tables["transmitted"].join(tables["faces"], ["node_no", "face"], join_type="inner")


def _duty(window: Window) -> list[RuleResult]:
    """Compute airtime in the last window of the law, in percent of what it allows, every ten minutes.

    The longest packet so far is subtracted for the alarm, since all but its end may be older than the window.
    """
    table = _limited(window)
    also = [*window.subjects("duty"), *window.subjects("duty_over"), *window.begun.longest_us]
    face, others, nodes, name = _faces(ints(table, "node_no"), table["face"], also)
    slot, airtime_us = ints(table, "slot_us") // limits.SLOT_US, ints(table, "airtime_us")
    length = np.maximum(ints(table, "window_us") // limits.SLOT_US, 1)
    allowed_us = np.ones(len(nodes))
    allowed_us[face] = length * limits.SLOT_US * (ints(table, "limit_ppm") / 1_000_000)
    fullest = np.zeros(len(nodes))
    np.maximum.at(fullest, face, 100.0 * airtime_us / allowed_us[face] * length)
    open_ = others[: len(others) - len(window.begun.longest_us)]
    busy = (fullest[face] >= RULES["duty"].raise_at) | np.isin(face, open_)
    used = rolling(face[busy], slot[busy], airtime_us[busy], length[busy])
    used = Series(used.subject, used.t_us, used.value * 100 / allowed_us[used.subject])
    used = used.reaching(RULES["duty"].raise_at, open_)
    longest = _longest(window, face, slot, others[len(open_) :], table)
    right = used.at(used.t_us * limits.SLOT_US)
    most_us = longest(used.subject, used.t_us)
    past = right.t_us <= window.inputs.now_us
    right, most_us = right.where(past), most_us[past]
    surely = Series(right.subject, right.t_us, right.value - most_us * 100 / allowed_us[right.subject])
    first = len(window.subjects("duty"))
    return [
        RuleResult("duty", window.spans("duty", right, open_[:first]), name),
        RuleResult("duty_over", window.spans("duty_over", surely, open_[first:]), name),
    ]


def _packet_us(table: pa.Table) -> Ints:
    """Return the mean airtime of the packets of each row, rounded up."""
    mean_us = -(-ints(table, "airtime_us") // np.maximum(ints(table, "packets"), 1))
    return np.minimum(mean_us, _PACKET_MAX_US)


def _longest(
    window: Window, face: Ints, slot: Ints, known: Sequence[int], table: pa.Table
) -> Callable[[Ints, Ints], Ints]:
    """Return a function for the longest mean packet of a face until a slot; *known* are those of the standing."""
    begin = int(slot.min(initial=0)) - 1
    face = np.concatenate([face, np.array(known, np.int64)])
    slot = np.concatenate([slot, np.full(len(known), begin)])
    most_us = np.concatenate([_packet_us(table), np.array(list(window.begun.longest_us.values()), np.int64)])
    order = np.lexsort((slot, face))
    face, slot, most_us = face[order], slot[order], most_us[order]
    run = np.cumsum(run_starts(face)) - 1
    highest_us = np.maximum.accumulate(most_us + run * 2 * _PACKET_MAX_US) - run * 2 * _PACKET_MAX_US

    def longest(asked: Ints, by_slot: Ints) -> Ints:
        place = last_before(asked, by_slot, face, slot)
        return np.where(place < 0, 0, highest_us[place]) if len(highest_us) else np.zeros_like(asked)

    return longest


def _longest_us(window: Window) -> dict[str, int]:
    table = _limited(window)
    table = table.filter(pa.array(ints(table, "slot_us") < window.until_us))
    face, _, _, name = _faces(ints(table, "node_no"), table["face"], ())
    most_us = np.zeros(int(face.max(initial=-1)) + 1, np.int64)
    np.maximum.at(most_us, face, _packet_us(table))
    found = dict(window.begun.longest_us)
    for number, longest_us in enumerate(most_us.tolist()):
        subject = name(number)
        found[subject] = max(longest_us, found.get(subject, 0))
    return found


# --- Faces that are down

_DOWN: Final = 0
_UP: Final = -1
"""Values that the thresholds of `down`, both 0, tell apart; that of the alert is its length."""
_MINUTE_US: Final = 60_000_000


def down(window: Window) -> RuleResult:
    """Find faces that are down, in minutes, until they are up again or the node's boot is over."""
    turns, boots = window.inputs.tables["turns"], _Boots.of(window)
    node_no = ints(turns, "node_no")
    face, begun, nodes, name = _faces(node_no, turns["face"], window.subjects("down"))
    clocks, moments = (
        window.inputs.tables["clocks"],
        (ints(turns, each) for each in ("boot", "mono_us", "t_us")),
    )
    fell = pc.equal(turns["kind"], "face_down").to_numpy()
    which, since_us = boots.begins(nodes)
    series = Series(
        np.concatenate([face, which]),
        np.concatenate([boot_mesh_us(clocks, node_no, *moments), since_us]),
        np.concatenate([np.where(fell, _DOWN, _UP), np.full(len(which), _UP)]).astype(np.float64),
    )
    some = window.spans("down", series, begun)
    ends_us = boots.ends_us(nodes[some.subject], some.since_us)
    over = (ends_us < window.until_us) & ((some.until_us == OPEN) | (ends_us < some.until_us))
    until_us = np.where(over, ends_us, some.until_us)
    minutes = (np.where(until_us == OPEN, window.inputs.now_us, until_us) - some.since_us) / _MINUTE_US
    return RuleResult("down", Spans(some.subject, some.since_us, until_us, minutes, minutes), name)


@dataclass(frozen=True, slots=True)
class _Boots:
    """Boots of all nodes, in order of node and begin."""

    node_no: Ints
    since_us: Ints
    until_us: Ints
    """`END_US` for the newest of a node, unless it stopped."""

    @classmethod
    def of(cls, window: Window) -> "_Boots":
        table = window.inputs.tables["boots"]
        node_no, boot = ints(table, "node_no"), ints(table, "boot")
        times = boot_times(corrections(window.inputs.tables["clocks"]), table)
        runs = table["stopped_us"].is_null().to_numpy()
        in_turn = np.lexsort((boot, node_no))
        runs[in_turn] &= np.append(run_starts(node_no[in_turn])[1:], True)[: len(node_no)]
        until_us = np.where(runs, END_US, times.until_us)
        order = np.lexsort((boot, times.since_us, node_no))
        return cls(node_no[order], times.since_us[order], until_us[order])

    def begins(self, nodes: Ints) -> tuple[Ints, Ints]:
        """Return when the boots of each of *nodes* began: places in *nodes*, and times."""
        low = np.searchsorted(self.node_no, nodes)
        counts = np.searchsorted(self.node_no, nodes, "right") - low
        return np.repeat(np.arange(len(nodes)), counts), self.since_us[
            np.repeat(low, counts) + count_up(counts)
        ]

    def ends_us(self, node_no: Ints, t_us: Ints) -> Ints:
        """Return the end of the last boot of each node that had begun by a time."""
        place = last_before(node_no, t_us, self.node_no, self.since_us)
        return (
            np.where(place < 0, END_US, self.until_us[place])
            if len(self.node_no)
            else np.full_like(t_us, END_US)
        )


# --- Counts by the hour


def _hours(
    window: Window, rule: str, node_no: Ints, subject: Ints, hour_us: Ints, value: Ints, begun: Sequence[int]
) -> Spans:
    """Apply a rule to counts by the hour of nodes' own clocks; *subject* determines *node_no*."""
    raise_at = RULES[rule].raise_at
    series = hourly(subject, hour_us, value).reaching(raise_at, begun)
    known, places = np.unique(subject, return_index=True)
    node = node_no[places][np.searchsorted(known, series.subject)] if len(known) else series.subject
    right = series.at(mesh_us(window.inputs.tables["clocks"], node, series.t_us))
    # An hour that is not over counts only where it is too high already.
    over = right.t_us + HOUR_US <= window.inputs.now_us
    over |= (right.value >= raise_at) & (right.t_us <= window.inputs.now_us)
    return window.spans(rule, right.where(over), begun)


def _flapping(window: Window) -> RuleResult:
    counts = window.inputs.tables["counts"]
    table = counts.filter(pc.equal(counts["kind"], "face_down"))
    node_no = ints(table, "node_no")
    face, begun, _, name = _faces(node_no, table["detail"], window.subjects("flapping"))
    hours = _hours(window, "flapping", node_no, face, ints(table, "hour_us"), ints(table, "records"), begun)
    return RuleResult("flapping", hours, name)


def _node_hours(window: Window, rule: str, table: pa.Table, column: str) -> RuleResult:
    """Apply a rule to what each node counted by the hour."""
    node_no = ints(table, "node_no")
    begun = [int(one.split()[1]) for one in window.subjects(rule)]
    found = _hours(window, rule, node_no, node_no, ints(table, "hour_us"), ints(table, column), begun)
    return RuleResult(rule, found, node_name)


def _refused(window: Window, counts: pa.Table, rule: str, details: tuple[str, ...]) -> RuleResult:
    """Apply a rule to what was refused, or had to wait, for one of these reasons."""
    chosen = pc.and_(pc.equal(counts["kind"], "refused"), pc.is_in(counts["detail"], pa.array(details)))
    return _node_hours(window, rule, counts.filter(chosen), "total")
