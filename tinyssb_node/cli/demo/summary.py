"""Result of the demonstration: what was published, where it arrived, whether nodes and tables agree."""

import json
import sqlite3
import urllib.request
from collections.abc import Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tinyssb_node.cli.demo.mesh import DemoMesh
from tinyssb_node.control.rows import EntryRow
from tinyssb_node.screens.render import table

_ANSWER_S: Final = 5.0
"""How long the page may take to answer."""
View = Mapping[str, int]
"""Feed id (64 digits) to the number of entries stored, whole side chains included."""


@dataclass(frozen=True, slots=True)
class DemoSummary:
    """The state of all nodes and tables at one moment."""

    published: Mapping[str, int]
    """Entries by node name."""
    held: Mapping[str, View]
    """Content of each node's store, by node name."""
    tips: Mapping[str, Mapping[str, str | None]]
    """Message id of each node's last entry of each feed."""
    tabled: Mapping[str, View]
    """Content of the serving database for each node."""
    expected: View
    """Content that every node should have."""

    @property
    def arrived(self) -> Mapping[str, int]:
        """Entries that each node has, its own included."""
        return {name: sum(view.values()) for name, view in self.held.items()}

    @property
    def total(self) -> int:
        """Entries published by all."""
        return sum(self.published.values())

    @property
    def nodes_agree(self) -> bool:
        """True if every node has everything, and the same of it."""
        tips = list(self.tips.values())
        return all(view == self.expected for view in self.held.values()) and all(
            tip == tips[0] for tip in tips
        )

    @property
    def tables_agree(self) -> bool:
        """True if the serving database shows for every node what the node itself reports."""
        return self.tabled == self.held

    def text(self) -> str:
        """Format the summary for people."""
        rows = [
            (name, self.published[name], f"{count} of {self.total}", f"{self._in_tables(name)} of {count}")
            for name, count in self.arrived.items()
        ]
        verdicts = (
            f"Nodes agree: {_yes(self.nodes_agree)}. Tables agree with nodes: {_yes(self.tables_agree)}."
        )
        return f"{table(('NODE', 'PUBLISHED', 'STORED', 'IN THE TABLES'), rows)}\n{verdicts}"

    def _in_tables(self, name: str) -> int:
        return sum(self.tabled.get(name, {}).values())

    def json(self) -> dict[str, object]:
        """Return the summary for scripts."""
        return {
            "published": dict(self.published),
            "holds": dict(self.arrived),
            "tables": {name: self._in_tables(name) for name in self.held},
            "nodes_agree": self.nodes_agree,
            "tables_agree": self.tables_agree,
        }


def _yes(truth: object) -> str:
    return "yes" if truth else "NO"


@dataclass(frozen=True, slots=True)
class PageHeadline:
    """The page's first line."""

    sentence: str
    nodes: int
    """Nodes that the page knows."""
    missing: int
    """Copies missing, over all nodes."""
    alerts: Mapping[str, str]
    """Open alerts: the rule, and the words for it."""


def read_headline(page: str) -> PageHeadline | None:
    """Ask the page at an address for its headline (docs/reference/dashboard.md); None while it has no figures."""
    try:
        with urllib.request.urlopen(f"{page}/api/overview", timeout=_ANSWER_S) as answer:  # noqa: S310 - ours
            told = json.load(answer)
    except OSError:
        return None
    if told["state"] != "ready":
        return None
    alerts = {one["rule"]: one["text"] for one in told["alerts"] if one["until_us"] is None}
    return PageHeadline(told["sentence"], told["totals"]["nodes"], told["totals"]["behind"], alerts)


def summarize(mesh: DemoMesh) -> DemoSummary:
    """Query every node and the tables."""
    held: dict[str, View] = {}
    tips: dict[str, Mapping[str, str | None]] = {}
    for member in mesh.members.values():
        with member.client() as client:
            rows = list(client.feeds())
            whole = {row.feed: row.seq - _open(client.log(row.feed, first=1)) for row in rows}
        held[member.name] = {feed: count for feed, count in whole.items() if count}
        tips[member.name] = {row.feed: row.tip for row in rows}
    members = mesh.members.values()
    return DemoSummary(
        published={member.name: member.published for member in members},
        held=held,
        tips=tips,
        tabled=read_tables(mesh.tables),
        expected={member.feed.hex(): member.published for member in members if member.published},
    )


def _open(entries: Iterable[EntryRow]) -> int:
    """Count the entries of a feed that lack packets of their side chain."""
    return sum(row.chunks_held < row.chunks for row in entries)


_WHOLE_COPIES: Final = """
    SELECT n.name, f.feed, count(*)
    FROM copies c
    JOIN node_names n ON n.node_no = c.node_no
    JOIN feeds f ON f.feed_no = c.feed_no
    JOIN entries e ON e.feed_no = c.feed_no AND e.seq = c.seq
    LEFT JOIN side_chains s ON s.feed_no = c.feed_no AND s.seq = c.seq AND s.node_no = c.node_no
    WHERE n.name IS NOT NULL AND (e.chunks = 0 OR s.complete_us IS NOT NULL)
    GROUP BY n.name, f.feed
"""


def read_tables(path: Path) -> dict[str, View]:
    """Read from the serving database (docs/formats/serving.md) what each node has; nothing while it does not exist."""
    if not path.exists():
        return {}
    with closing(sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as tables:
        try:
            rows = tables.execute(_WHOLE_COPIES).fetchall()
        except sqlite3.OperationalError:
            return {}  # Spark has not made its tables yet.
    found: dict[str, dict[str, int]] = {}
    for name, feed, count in rows:
        found.setdefault(name, {})[feed] = count
    return dict(found)
