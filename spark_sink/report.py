"""The serving database as tables in a terminal, or as one JSON object."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, TypeAlias, cast

from spark_sink import limits
from spark_sink.derive.buckets import percentiles_us
from spark_sink.page.clocks import load_clocks
from spark_sink.serving.database import Reader

_ROWS_MAX: Final = 100  # more than anybody reads in a terminal; the database has them all
Rows: TypeAlias = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class ReportTable:
    """A table of the report."""

    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[Any, ...]]

    def records(self) -> list[dict[str, Any]]:
        """Return its rows by column name."""
        return [dict(zip(self.columns, row, strict=True)) for row in self.rows]


@dataclass(frozen=True, slots=True)
class _Book:
    """A database, and the long names of its numbers."""

    db: Reader
    nodes: Mapping[int, str]
    feeds: Mapping[int, str]

    def rows(self, sql: str, *parameters: int) -> Rows:
        """Run a query; nodes and feeds are numbers."""
        return cast("Rows", self.db.rows(sql, parameters))

    def named(self, sql: str, *, nodes: int = 0, feed: int | None = None) -> Rows:
        """Run a query, and replace its first *nodes* columns and the column *feed* by long names."""
        found = []
        for row in self.rows(sql):
            cells = list(row)
            cells[:nodes] = [self.nodes[number] for number in cells[:nodes]]
            if feed is not None:
                cells[feed] = self.feeds.get(cells[feed])
            found.append(tuple(cells))
        return found

    def subject(self, text: str) -> str:
        """Return the subject of an alert (spark_sink/derive/alert_rules.py) by long names."""
        kind, *rest = text.split(" ", 2)
        names = [self.feeds if kind == "feed" else self.nodes, self.nodes if kind == "link" else {}]
        words = [
            known.get(int(word), word) if word.isdecimal() else word
            for word, known in zip(rest, names, strict=False)
        ]
        return " ".join([kind, *words])


def make(reader: Reader) -> dict[str, ReportTable]:
    """Return all tables of the report, as they were at one moment. Raises DatabaseFailedError."""
    with reader.snapshot():
        book = _Book(
            reader,
            dict(cast("Rows", reader.rows("SELECT node_no, node FROM nodes"))),
            dict(cast("Rows", reader.rows("SELECT feed_no, feed FROM feeds"))),
        )
        return {name: ReportTable(title, columns, rows(book)) for name, title, columns, rows in _TABLES}


def _delays(book: _Book) -> Rows:
    counts: dict[str, list[tuple[int, int]]] = defaultdict(list)
    for node, bucket, n in book.named(
        "SELECT a, bucket, CAST(sum(n) AS BIGINT) FROM delays WHERE scope = 'node' GROUP BY a, bucket",
        nodes=1,
    ):
        counts[node].append((bucket, n))
    found = []
    for node, pairs in sorted(counts.items()):
        numbers = [n for _bucket, n in pairs]
        delays_us = percentiles_us([bucket for bucket, _n in pairs], numbers, (0.5, 0.95))
        found.append((node, sum(numbers), *(round(delay_us) for delay_us in delays_us)))
    return found


def _links(book: _Book) -> Rows:
    found = book.named(
        "SELECT sender, receiver, CAST(sum(heard) AS BIGINT), CAST(sum(sent) AS BIGINT),"
        " CAST(sum(rssi_sum) AS BIGINT), CAST(sum(rssi_n) AS BIGINT), sum(snr_sum), CAST(sum(snr_n) AS BIGINT)"
        " FROM links GROUP BY sender, receiver",
        nodes=2,
    )
    return sorted(
        (sender, receiver, heard, sent, _mean(heard, sent, 3), _mean(rssi, rssi_n, 1), _mean(snr, snr_n, 1))
        for sender, receiver, heard, sent, rssi, rssi_n, snr, snr_n in found
    )


def _mean(total: float, count: int, digits: int) -> float | None:
    return round(total / count, digits) if count else None


def _clocks(book: _Book) -> Rows:
    """List the newest clock of each node at the newest record of its boot, if other clocks show its error."""
    ended = book.rows("SELECT node_no, boot, last_mono_us FROM boots")
    newest = {(node_no, boot): mono_us for node_no, boot, mono_us in ended}
    found = []
    for node_no, clocks in load_clocks(book.db).items():
        clock = clocks[-1]
        mono_us = newest.get((node_no, clock.boot))
        if clock.matches and mono_us is not None:
            own_us = clock.base_us + mono_us
            offset_us = own_us - clock.mesh_us(own_us)
            error_us = round(clock.error_us(own_us))
            found.append((book.nodes[node_no], offset_us, error_us, round(clock.drift_ppm, 3), clock.matches))
    return sorted(found)


def _alerts(book: _Book) -> Rows:
    found = book.rows(
        "SELECT level, rule, subject, since_us, until_us, value, peak FROM alerts"
        " ORDER BY CASE WHEN until_us IS NULL THEN 0 ELSE 1 END, since_us DESC, rule, subject LIMIT ?",
        _ROWS_MAX,
    )
    return [(level, rule, book.subject(subject), *rest) for level, rule, subject, *rest in found]


def _sorted(sql: str) -> Callable[[_Book], Rows]:
    """Return rows with the first column a node's long name, in order."""
    return lambda book: sorted(book.named(sql, nodes=1))


def _plainly(sql: str, *parameters: int) -> Callable[[_Book], Rows]:
    """Return rows as a query finds them."""
    return lambda book: book.rows(sql, *parameters)


_TABLES: Final[tuple[tuple[str, str, tuple[str, ...], Callable[[_Book], Rows]], ...]] = (
    ("nodes", "Nodes", ("node", "name", "boot", "running", "last_us", "records"), _plainly(
        "SELECT n.node, coalesce(n.name, '') AS name, n.boot, n.running, n.last_us,"
        " (SELECT CAST(sum(b.records) AS BIGINT) FROM boots b WHERE b.node_no = n.node_no)"
        " FROM node_names n ORDER BY name, n.node",
    )),
    ("behind", "Entries behind (0: holds everything that any node holds)",
     ("node", "feed", "held", "newest", "behind"), lambda book: sorted(
        book.named("SELECT node_no, feed_no, seq, newest, behind FROM behind", nodes=1, feed=1),
        key=lambda row: (row[1], row[0]),
    )),
    ("delays", "Replication delay, from publication, by corrected clocks",
     ("node", "copies", "median_us", "p95_us"), _delays),
    ("packets", "Packets by kind and verdict", ("direction", "packet", "verdict", "packets", "bytes"), _plainly(
        "SELECT direction, packet, verdict, CAST(sum(packets) AS BIGINT) AS n, CAST(sum(bytes) AS BIGINT)"
        " FROM traffic GROUP BY direction, packet, verdict ORDER BY direction DESC, n DESC, packet, verdict",
    )),
    ("airtime", "Airtime sent", ("node", "face", "packets", "airtime_us"), _sorted(
        "SELECT node_no, face, CAST(sum(packets) AS BIGINT), CAST(sum(airtime_us) AS BIGINT) FROM transmitted"
        " GROUP BY node_no, face",
    )),
    ("links", "Links (which node hears which)",
     ("sender", "receiver", "heard", "sent", "ratio", "rssi_dbm", "snr_db"), _links),
    ("clocks", "Clocks (how far ahead, with standard error)",
     ("node", "offset_us", "error_us", "drift_ppm", "matches"), _clocks),
    ("alerts", "Alerts (open if they have no end)",
     ("level", "rule", "subject", "since_us", "until_us", "value", "peak"), _alerts),
    ("forks", "Forks (two signed entries with one sequence number)",
     ("node", "feed", "seq", "held", "other"), lambda book: sorted(
        set(book.named(
            "SELECT node_no, feed_no, seq, held, other FROM incidents WHERE kind = 'fork'", nodes=1, feed=1
        )),
        key=lambda row: (row[1] or "", row[2] or 0, row[0]),
    )),
    ("gaps", "Gaps (records that have not arrived)", ("node", "boot", "first_offset", "next_offset"), _sorted(
        "SELECT node_no, boot, first_offset, next_offset FROM gaps",
    )),
    ("oddities", "Files that were skipped", ("node", "path", "reason"), _plainly(
        "SELECT node, path, reason FROM oddities ORDER BY node, path LIMIT ?", _ROWS_MAX,
    )),
    ("bad_lines", "Bad lines (not valid records)", ("path", "byte", "reason"), _plainly(
        "SELECT path, byte, reason FROM bad_lines ORDER BY path, byte LIMIT ?", _ROWS_MAX,
    )),
)  # fmt: skip
"""Every table: its name, its title, its columns, and what finds its rows."""

_MOMENTS: Final = {"last_us": "last", "since_us": "since", "until_us": "until"}
"""Columns that are points in time, and how they are headed."""
_NODE_DIGITS: Final = 16
"""Digits of a node's id, which are the first of its feed's (docs/formats/events.md)."""
_NUMBER: Final = re.compile(r"-|-?[0-9]{1,15}(\.[0-9]+)?")
"""Cells that are set to the right."""
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def render(report: Mapping[str, ReportTable]) -> str:
    """Format the report for people: names of nodes and feeds where known, seconds instead of microseconds."""
    names = _names(report["nodes"])
    parts = [_table(report["nodes"], {}), _behind_text(report["behind"], names)]
    parts += [
        _table(table, names)
        for name, table in report.items()
        if name not in {"nodes", "behind"} and table.rows
    ]
    return "\n\n".join(part for part in parts if part)


def _names(nodes: ReportTable) -> dict[str, str]:
    """Return names of nodes by id, at most 20 letters of each; equal names get some digits."""
    known = [(row["node"], row["name"][:20]) for row in nodes.records() if row["name"]]
    namesakes = Counter(name for _node, name in known)
    return {node: f"{name} {node[:4]}" if namesakes[name] > 1 else name for node, name in known}


def _behind_text(table: ReportTable, names: Mapping[str, str]) -> str:
    """Format entries behind: a line for each feed and a column for each node; if too wide, a line for each node."""
    records = table.records()
    nodes = sorted({record["node"] for record in records}, key=lambda node: names.get(node, node))
    if not records:
        return ""
    if len(nodes) > limits.REPORT_NODES_MAX:
        return f"{table.title}\n" + _columns(("node", "feeds", "behind"), _sums(records, names))
    cells = {(record["feed"], record["node"]): record["behind"] for record in records}
    newest = {record["feed"]: record["newest"] for record in records}
    rows = [
        (_feed(feed, names), newest[feed], *(cells[feed, node] for node in nodes)) for feed in sorted(newest)
    ]
    return f"{table.title}\n" + _columns(("feed", "newest", *(names.get(node, node) for node in nodes)), rows)


def _sums(records: Sequence[Mapping[str, Any]], names: Mapping[str, str]) -> Rows:
    """Return for each node in how many feeds and by how many entries it is behind; the farthest behind comes first."""
    feeds: Counter[str] = Counter()
    entries: Counter[str] = Counter()
    for record in records:
        feeds[record["node"]] += record["behind"] > 0
        entries[record["node"]] += record["behind"]
    return [
        (names.get(node, node), feeds[node], entries[node])
        for node in sorted(entries, key=lambda node: (-entries[node], names.get(node, node)))
    ]


def _table(table: ReportTable, names: Mapping[str, str]) -> str:
    headings = tuple(
        _MOMENTS.get(column, column.replace("_us", " s").replace("_", " ")) for column in table.columns
    )
    rows = [
        tuple(_cell(column, value, names) for column, value in zip(table.columns, row, strict=True))
        for row in table.rows
    ]
    return f"{table.title}\n" + _columns(headings, rows)


def _cell(column: str, value: object, names: Mapping[str, str]) -> object:
    if value is None:
        return "-"
    if column in {"node", "sender", "receiver"}:
        return names.get(str(value), value)
    if column == "subject":
        return " ".join(
            _feed(word, names) if len(word) >= _NODE_DIGITS else word for word in str(value).split(" ")
        )
    if column == "feed":
        return _feed(str(value), names)
    if column in _MOMENTS and isinstance(value, int):
        return _moment(value)
    if column.endswith("_us") and isinstance(value, int):
        return f"{value / 1_000_000:.3f}"
    return f"{value:g}" if isinstance(value, float) else value


def _moment(t_us: int) -> str:
    """Format a time to the second, UTC; unchanged if no calendar has it."""
    try:
        return (_EPOCH + timedelta(microseconds=t_us)).strftime("%Y-%m-%d %H:%M:%S")
    except OverflowError:
        return str(t_us)


def _feed(feed: str, names: Mapping[str, str]) -> str:
    """Name a feed by the node that owns it, else by its first digits, which are also the node's id."""
    return names.get(feed[:_NODE_DIGITS], feed[:_NODE_DIGITS])


def _columns(headings: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    texts = [[_plain(str(cell)) for cell in line] for line in (headings, *rows)]
    widths = [max(len(line[index]) for line in texts) for index in range(len(headings))]
    numeric = [all(_NUMBER.fullmatch(line[index]) for line in texts[1:]) for index in range(len(headings))]
    return "\n".join(
        "  "
        + "  ".join(
            text.rjust(width) if is_number else text.ljust(width)
            for text, width, is_number in zip(line, widths, numeric, strict=True)
        ).rstrip()
        for line in texts
    )


def _plain(text: str) -> str:
    """Replace characters of *text* that would move a terminal's cursor: names and paths come from strangers."""
    return "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in text)
