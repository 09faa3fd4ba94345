"""Scope of a question: a database, its names, and a range of time."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, cast

from spark_sink.errors import BadQuestionError, NotKnownError
from spark_sink.limits import CLOCK_AHEAD_MAX_US
from spark_sink.page import limits
from spark_sink.page.clocks import Clock, clock_of_record, load_clocks
from spark_sink.serving.database import Reader, Value

Answer: TypeAlias = dict[str, Any]
"""Content of a JSON object."""
Rows: TypeAlias = list[tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Question:
    """Parameters of a request besides the view; each None if not given."""

    from_us: int | None = None
    to_us: int | None = None
    at_us: int | None = None
    after: int | None = None
    limit: int | None = None
    scope: str | None = None
    name: str = ""
    """The node or feed that the address names, as hexadecimal digits."""
    seq: int = 0
    find: str = ""
    """Words, any of which the names or ids of rows have to contain."""


@dataclass(frozen=True, slots=True)
class Node:
    """A node as pages name it."""

    number: int
    node: str
    label: str
    """Its name, followed by some digits of its id if two nodes share the name; only digits if it has no name."""
    feed: str | None
    boot: int
    running: bool
    last_us: int
    """Time of its newest record, by its own clock."""
    version: str | None

    def named(self) -> Answer:
        """Return the fields that name it."""
        return {"node": self.node, "label": self.label}


@dataclass(frozen=True, slots=True)
class Feed:
    """A feed as pages name it."""

    number: int
    feed: str
    label: str
    """Label of the node that owns it, else some digits of its id."""
    owner: str | None
    """The node (16 digits) that owns it, if its log was read."""

    def named(self) -> Answer:
        """Return the fields that name it."""
        return {"feed": self.feed, "label": self.label}


@dataclass(frozen=True, slots=True)
class Scope:
    """One state of the database, and the requested range."""

    db: Reader
    nodes: Mapping[int, Node]
    feeds: Mapping[int, Feed]
    clocks: Mapping[int, Sequence[Clock]]
    as_of_us: int
    """Newest record that is not ahead of the job's clock: the "now" of all figures."""
    committed_us: int | None
    from_us: int
    to_us: int
    """The range is [from_us, to_us)."""
    asked: Question

    def hours(self) -> tuple[int, int]:
        """Return the full hours that the range touches: first, and the one after the last."""
        return self.from_us - self.from_us % limits.HOUR_US, -(-self.to_us // limits.HOUR_US) * limits.HOUR_US

    def finds(self, *names: str | None) -> bool:
        """Return whether a row with these names and ids was asked for: by any of the words, or if there are none."""
        words = self.asked.find.casefold().split()
        return not words or any(word in name.casefold() for name in names if name for word in words)

    def found_nodes(self) -> list[int]:
        """Return the nodes that were asked for, by number."""
        return [number for number, node in self.nodes.items() if self.finds(node.label, node.node)]

    def label(self, number: int) -> str:
        """Return the label of a node."""
        node = self.nodes.get(number)
        return node.label if node else f"node {number}"

    def node_id(self, number: int | None) -> str | None:
        """Return a node's 16 digits; None for none."""
        node = self.nodes.get(number) if number is not None else None
        return node.node if node else None

    def who(self, number: int) -> Answer:
        """Return the fields that name a node, whether its log was read or not."""
        return {"node": self.node_id(number), "label": self.label(number)}

    def feed_fields(self, number: int | None) -> Answer:
        """Return the fields of a row about a feed, null for none."""
        feed = self.feeds.get(number) if number is not None else None
        return {"feed": feed.feed if feed else None, "feed_label": feed.label if feed else None}

    def node(self) -> Node:
        """Return the node that the address names. Raises NotKnownError."""
        for node in self.nodes.values():
            if node.node == self.asked.name:
                return node
        raise NotKnownError(f"No log of the node {self.asked.name} has been read. Is a digit missing?")

    def feed(self) -> Feed:
        """Return the feed that the address names. Raises NotKnownError."""
        for feed in self.feeds.values():
            if feed.feed == self.asked.name:
                return feed
        raise NotKnownError(f"No log mentions the feed {self.asked.name}. Is a digit missing?")

    def subject(self, text: str) -> Answer:
        """Name the subject of an alert or a change by ids and labels: ``mesh``, ``node 7``, ``group 7``, ``face 7
        lora``, ``boot 7 2``, ``feed 7``, ``link 7 8`` (spark_sink/derive/alert_rules.py)."""
        kind, *rest = text.split(" ", 2)
        number = int(rest[0]) if rest and rest[0].isdecimal() else -1
        about: Answer = {"subject": text, "label": text, "node": self.node_id(number), "feed": None}
        label = self.label(number)
        if kind == "feed":
            feed = self.feeds.get(number)
            about.update(node=None, label=feed.label if feed else text, feed=feed.feed if feed else None)
        elif kind == "link" and len(rest) == 2 and rest[1].isdecimal():
            about["label"] = f"{label} → {self.label(int(rest[1]))}"
        elif kind == "face" and len(rest) == 2:
            about["label"] = f"{rest[1]} of {label}"
        elif kind in ("node", "group", "boot") and rest:
            about["label"] = label
        elif kind == "mesh":
            about["label"] = "the mesh"
        return about

    def mesh_us(self, node_no: int, boot: int, mono_us: int, t_us: int) -> int:
        """Convert a time of a node's log to mesh time; unchanged if its clock is not known."""
        return mesh_time(self.clocks, node_no, boot, mono_us, t_us)

    def published_us(
        self, publisher: int | None, boot: int | None, mono_us: int | None, t_us: int | None
    ) -> int | None:
        """Return the mesh time at which an entry was published; None if its publisher's log does not have it."""
        if publisher is None or t_us is None:
            return None
        return self.mesh_us(publisher, boot or 0, mono_us or 0, t_us)

    def newest_mesh_us(self, node_no: int, t_us: int) -> int:
        """Convert a time of a node's newest clock to mesh time; unchanged if that is not known."""
        clock = self.clock(node_no)
        return clock.mesh_us(t_us) if clock else t_us

    def clock(self, node_no: int) -> Clock | None:
        """Return the newest clock of a node."""
        known = self.clocks.get(node_no, ())
        return known[-1] if known else None

    def is_off(self, number: int) -> bool:
        """Return whether a node's newest clock is so wrong that its facts lie at other times."""
        clock = self.clock(number)
        return clock is not None and abs(clock.offset_us) > limits.MINUTE_US

    def own_range(self, node_no: int, from_us: int, to_us: int) -> tuple[int, int]:
        """Convert a range of mesh time to the time of a node's newest clock."""
        clock = self.clock(node_no)
        return (clock.own_us(from_us), clock.own_us(to_us)) if clock else (from_us, to_us)


def fetch(db: Reader, sql: str, parameters: Sequence[Value] = ()) -> Rows:
    """Run a query; its columns have the types in serving/tables.py. Raises DatabaseFailedError."""
    return cast("Rows", db.rows(sql, parameters))


def select(db: Reader, columns: str, rest: str, parameters: Sequence[Value] = ()) -> list[Answer]:
    """Return what a query finds, as objects with the columns (``a, b AS c``) as fields. Raises DatabaseFailedError."""
    names = [column.rpartition(" AS ")[2] for column in columns.split(", ")]
    return [dict(zip(names, row, strict=True)) for row in fetch(db, f"SELECT {columns} {rest}", parameters)]


def committed(db: Reader) -> int | None:
    """Return when the job last wrote, by the clock of its machine; None if it never did."""
    ((committed_us,),) = fetch(db, "SELECT max(committed_us) FROM batches")
    return committed_us if isinstance(committed_us, int) else None


def mesh_time(clocks: Mapping[int, Sequence[Clock]], node_no: int, boot: int, mono_us: int, t_us: int) -> int:
    """Convert a time of a node's log to mesh time; unchanged if its clock is not known."""
    clock = clock_of_record(clocks.get(node_no, ()), boot, mono_us, t_us)
    return clock.mesh_us(t_us) if clock else t_us


def span_of_records(
    db: Reader, clocks: Mapping[int, Sequence[Clock]], committed_us: int | None
) -> tuple[int, int] | None:
    """Return the mesh time of the oldest record and of the newest, the "now" of all figures; None without records.

    Clocks that are not known yet may be wrong. Times ahead of the job's clock do not count, unless all are.
    """
    rows = fetch(db, "SELECT node_no, boot, first_mono_us, first_us, last_mono_us, last_us FROM boots")
    if not rows:
        return None
    began = [mesh_time(clocks, *row[:4]) for row in rows]
    ended = [mesh_time(clocks, *row[:2], *row[4:]) for row in rows]
    latest_us = max(ended) if committed_us is None else committed_us + CLOCK_AHEAD_MAX_US
    return min(began), max((t_us for t_us in ended if t_us <= latest_us), default=max(ended))


def make_scope(db: Reader, asked: Question) -> Scope | None:
    """Return the scope of a question; None while nothing has been read into the database. Raises BadQuestionError."""
    committed_us = committed(db)
    clocks = load_clocks(db)
    span = span_of_records(db, clocks, committed_us)
    if span is None:
        return None
    first_us, as_of_us = span
    nodes = load_nodes(db)
    to_us = asked.to_us if asked.to_us is not None else as_of_us + 1
    from_us = asked.from_us
    # A request for everything begins at 0. Facts are kept by hours of clocks that differ, hence an hour more.
    begin_us = first_us - first_us % limits.HOUR_US - limits.HOUR_US
    if from_us is None:  # the range is a day, since meshes have a daily rhythm
        from_us = max(to_us - 24 * limits.HOUR_US, min(first_us, to_us - 1))
    elif begin_us < to_us:
        from_us = max(from_us, begin_us)
    if from_us >= to_us:
        raise BadQuestionError(f"The range from {from_us} to {to_us} is empty: `from` must be before `to`.")
    return Scope(
        db=db,
        nodes=nodes,
        feeds=load_feeds(db, nodes),
        clocks=clocks,
        as_of_us=as_of_us,
        committed_us=committed_us,
        from_us=from_us,
        to_us=to_us,
        asked=asked,
    )


def load_nodes(db: Reader) -> dict[int, Node]:
    """Return the nodes whose logs were read, by number."""
    rows = fetch(
        db,
        "SELECT n.node_no, n.node, n.name, f.feed, n.boot, n.running, n.last_us, n.version FROM node_names n"
        " LEFT JOIN feeds f ON f.feed_no = n.feed_no ORDER BY n.node_no",
    )
    namesakes = Counter(row[2] for row in rows)
    return {
        number: Node(
            number,
            node,
            _label(node, name, shared=namesakes[name] > 1),
            feed,
            boot,
            bool(running),
            last_us,
            version,
        )
        for number, node, name, feed, boot, running, last_us, version in rows
    }


def _label(node: str, name: str | None, *, shared: bool) -> str:
    if not name:
        return node[: limits.SHORT_ID_LENGTH]
    return f"{name} {node[:4]}" if shared else name


def load_feeds(db: Reader, nodes: Mapping[int, Node]) -> dict[int, Feed]:
    """Return all feeds that any log mentions, by number."""
    owners = {node.feed: node for node in nodes.values() if node.feed}
    feeds = {}
    for number, feed in fetch(db, "SELECT feed_no, feed FROM feeds ORDER BY feed_no"):
        owner = owners.get(feed)
        label = owner.label if owner else feed[: limits.SHORT_ID_LENGTH]
        feeds[number] = Feed(number, feed, label, owner.node if owner else None)
    return feeds
