"""What the page shows, as values; their JSON is documented in docs/reference/dashboard.md.

Times are microseconds since 1970-01-01 UTC by the clocks of the nodes, unless said otherwise.
"""

import json
from dataclasses import asdict, dataclass
from typing import Literal

from spark_sink.dashboard import limits

State = Literal["ready", "empty", "missing", "unreadable"]


@dataclass(frozen=True, slots=True)
class Totals:
    """The headline."""

    nodes: int = 0
    running: int = 0
    """Nodes whose log does not end with a stop."""
    feeds: int = 0
    entries: int = 0
    """Sum over the feeds of the highest sequence number anyone holds."""
    behind: int = 0
    """Sum over nodes and feeds of the entries a node lacks."""
    behind_nodes: int = 0
    forks: int = 0
    """Feeds that were seen forked."""
    bad_lines: int = 0
    """Lines of the logs that could not be read, counted up to ``limits.BAD_LINES_COUNTED_MAX``."""


@dataclass(frozen=True, slots=True)
class NodeRow:
    """One node."""

    node: str
    label: str
    """Its name; with some digits of its id where two nodes share the name; those alone if it has none."""
    feed: str | None
    running: bool
    boot: int
    last_us: int
    """Its newest record."""
    behind: int
    """Entries it lacks, all feeds together."""
    delay_median_us: int | None
    """Replication delay of the latest entries it got from others; None if there are none."""
    delay_p95_us: int | None
    delay_count: int
    airtime_us: int
    """What it sent in the traffic window, as time on air; 0 where its faces cost none."""


@dataclass(frozen=True, slots=True)
class FeedRow:
    """One feed."""

    feed: str
    label: str
    """The name of the node it belongs to, or the first digits of its id."""
    owner: str | None
    """Node it belongs to, if that node's log is known."""
    newest: int
    """Highest sequence number anyone holds."""


@dataclass(frozen=True, slots=True)
class Hidden:
    """What was left out because the page has room for no more."""

    nodes: int = 0
    feeds: int = 0


@dataclass(frozen=True, slots=True)
class Missing:
    """One step of the convergence line: from here on so many copies were missing in the mesh."""

    t_us: int
    missing: int


@dataclass(frozen=True, slots=True)
class PacketCount:
    """Packets of one kind in the traffic window; ``verdict`` is "sent" for those that went out."""

    packet: str
    verdict: str
    packets: int
    bytes: int


@dataclass(frozen=True, slots=True)
class Traffic:
    """The latest minutes on all faces of all nodes."""

    since_us: int | None = None
    until_us: int | None = None
    packets: tuple[PacketCount, ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """Packets that ``receiver`` heard and ``sender`` sent; signal figures are means, None where unknown."""

    sender: str
    receiver: str
    packets: int
    rssi_dbm: float | None
    snr_db: float | None
    last_us: int


@dataclass(frozen=True, slots=True)
class RecentEntry:
    """One of the latest entries."""

    feed: str
    seq: int
    id: str
    size: int
    """Bytes of content."""
    chunks: int
    publisher: str | None
    """Node that published it, None if its log is not known."""
    t_us: int
    """When it was published; where that is not known, when it was first seen."""
    held_by: tuple[str, ...]
    """Nodes that have it."""
    reached_us: int | None
    """When the latest of them got it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """All of the page at one moment."""

    state: State
    message: str = ""
    """For states other than "ready": what is wrong and what to do, as a sentence."""
    as_of_us: int | None = None
    """The newest record, leaving out clocks that are ahead: "now" for everything below."""
    committed_us: int | None = None
    """When the job last wrote, by the clock of its machine."""
    totals: Totals = Totals()
    nodes: tuple[NodeRow, ...] = ()
    feeds: tuple[FeedRow, ...] = ()
    behind: tuple[tuple[int, ...], ...] = ()
    """Entries behind: a row per feed, a column per node, in the orders above."""
    hidden: Hidden = Hidden()
    convergence: tuple[Missing, ...] = ()
    traffic: Traffic = Traffic()
    links: tuple[Link, ...] = ()
    recent: tuple[RecentEntry, ...] = ()

    def serialize(self) -> bytes:
        """The JSON of ``/api/snapshot``; equal snapshots give equal bytes."""
        return json.dumps({"v": limits.SNAPSHOT_VERSION, **asdict(self)}, separators=(",", ":")).encode()
