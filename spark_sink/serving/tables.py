"""Tables of the serving database, defined once for SQLite and PostgreSQL (docs/formats/serving.md)."""

from dataclasses import dataclass
from enum import Enum
from typing import Final


class ColumnType(Enum):
    """Type of a column; the value is its name in Arrow."""

    INT = "int64"
    REAL = "double"
    TEXT = "string"
    BYTES = "binary"


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table."""

    name: str
    type: ColumnType
    optional: bool
    """It may be null."""


@dataclass(frozen=True, slots=True)
class Table:
    """A table: its key first, then the rest."""

    name: str
    key: tuple[str, ...]
    """Empty where rows have no key."""
    columns: tuple[Column, ...]
    indexes: tuple[tuple[str, ...], ...] = ()
    rare: tuple[str, str] | None = None
    """Columns and condition of an index that only some rows are in, which are few."""
    large: bool = False
    """Its rows are too large for a tree."""

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of its columns."""
        return tuple(column.name for column in self.columns)


def _table(
    name: str, key: str, rest: str, *indexes: str, rare: tuple[str, str] | None = None, large: bool = False
) -> Table:
    """Define a table in words ``name:type``; a question mark after the type allows null."""
    columns = []
    for word in f"{key} {rest}".split():
        column, _, kind = word.partition(":")
        columns.append(Column(column, ColumnType[kind.rstrip("?").upper()], kind.endswith("?")))
    return Table(
        name,
        tuple(word.partition(":")[0] for word in key.split()),
        tuple(columns),
        tuple(tuple(index.split()) for index in indexes),
        rare,
        large,
    )


NAMES: Final = (
    _table("nodes", "node_no:int", "node:text", "node"),
    _table("feeds", "feed_no:int", "feed:text", "feed"),
)
"""Numbers for the long names that all other tables use. Which number a name has depends on the order of reading."""

FACTS: Final = (
    _table(
        "boots",
        "node_no:int boot:int",
        "name:text? feed_no:int? dialect:text? version:text? clean:int? network:text? network_name:text? "
        "latitude:real? longitude:real? started_us:int? stopped_us:int? stop_reason:text? records:int "
        "first_offset:int first_us:int first_mono_us:int last_offset:int last_us:int last_mono_us:int",
    ),
    _table(
        "faces",
        "node_no:int face:text",
        "boot:int offset:int t_us:int up:int"
        " law_boot:int? law_offset:int? spec:text? region:text? sub_band:text? limit_ppm:int? window_us:int?",
    ),
    _table(
        "entries",
        "feed_no:int seq:int",
        "id:text type:int size:int chunks:int publisher:int? boot:int? t_us:int? mono_us:int?",
    ),
    _table(
        "copies",
        "feed_no:int seq:int node_no:int",
        "boot:int offset:int t_us:int mono_us:int origin:text face:text?",
    ),
    _table("side_chains", "feed_no:int seq:int node_no:int", "held:int complete_us:int?"),
    _table("frontiers", "node_no:int feed_no:int", "seq:int boot:int t_us:int", "feed_no"),
    _table("sets", "node_no:int", "boot:int offset:int feeds:int state:text t_us:int"),
    _table(
        "traffic",
        "node_no:int hour_us:int direction:text face:text packet:text verdict:text reason:text",
        "packets:int bytes:int airtime_us:int",
        rare=("verdict, node_no, hour_us", "verdict = 'invalid'"),
    ),
    _table("counts", "node_no:int hour_us:int kind:text detail:text", "records:int total:int", "kind"),
    _table(
        "incidents",
        "node_no:int boot:int offset:int",
        "t_us:int mono_us:int kind:text face:text? rule:text? detail:text? feed_no:int? seq:int? held:text? "
        "other:text? n:int?",
        "t_us",
        "kind",
        rare=("node_no, t_us", "kind IN ('face_down', 'face_up')"),
    ),
    _table(
        "sights",
        "node_no:int boot:int hour_us:int batch:int part:int",
        "n:int low_us:int high_us:int rows:bytes",
        large=True,
    ),
    _table(
        "packets",
        "place:int",
        "node_no:int t_us:int direction:text face:text packet:text verdict:text reason:text? length:int rssi_dbm:int? "
        "snr_db:real? airtime_us:int feed_no:int? seq:int? chunk:int?",
    ),
)
"""Facts of the logs, merged batch by batch. Times are by the clock of the node that wrote the record."""

TOTALS: Final = (
    _table("node_totals", "node_no:int", "held:int"),
    _table("feed_totals", "feed_no:int", "newest:int held:int"),
    _table("chunk_totals", "node_no:int feed_no:int", "held:int"),
    _table("count_days", "node_no:int day_us:int kind:text detail:text", "records:int total:int"),
)
"""Sums over ``frontiers``, ``side_chains`` and ``counts``, kept up with each merge."""

SIDE: Final = (
    _table("bad_lines", "path:text byte:int", "reason:text text:text"),
    _table("gaps", "node_no:int boot:int first_offset:int", "next_offset:int?"),
    _table("oddities", "node:text path:text", "reason:text"),
)
"""Input that was not counted, and why."""

JOB: Final = (
    _table("meta", "name:text", "value:text"),
    _table("batches", "query:text", "batch_id:int records:int committed_us:int newest_us:int? offsets:text"),
    _table(
        "batch_log",
        "committed_us:int query:text batch_id:int",
        "records:int bytes:int behind_bytes:int read_us:int merge_us:int newest_us:int?",
    ),
    _table("refresh_log", "committed_us:int", "hours:int sights:int wall_us:int waiting:int"),
    _table("forgets", "at_us:int", "changes:int"),
    _table("dirty", "node_no:int boot:int hour_us:int", "marked_us:int"),
    _table("touched", "feed_no:int seq:int node_no:int", ""),
    _table("counted", "node_no:int", "hour_us:int"),
)
"""Progress and speed of the job. Times are by the clock of the machine that runs it."""

_LINK: Final = "heard:int sent:int rssi_sum:int rssi_n:int snr_sum:real snr_n:int first_us:int last_us:int"
"""Columns of what a node heard of another one."""
DERIVED: Final = (
    _table(
        "clocks",
        "node_no:int boot:int era:int",
        "from_mono_us:int base_us:int mesh:int at_us:int offset_us:int drift_ppm:real offset_error_us:real "
        "drift_error_ppm:real covariance_us_ppm:real matches:int",
    ),
    _table("links", "hour_us:int sender:int receiver:int", _LINK),
    _table(
        "transmitted",
        "node_no:int slot_us:int face:text",
        "hour_us:int packets:int airtime_us:int",
        "hour_us",
    ),
    _table("uses", "hour_us:int node_no:int face:text packet:text use:text", "packets:int airtime_us:int"),
    _table("delays", "hour_us:int scope:text a:int b:int bucket:int", "n:int"),
    _table("delay_hours", "hour_us:int scope:text bucket:int", "n:int"),
    _table("steps", "node_no:int feed_no:int hour_us:int", "seq:int", "hour_us"),
    _table("feed_steps", "feed_no:int hour_us:int", "seq:int", "hour_us"),
    _table("progress", "minute_us:int", "hour_us:int published:int copied:int", "hour_us"),
    _table(
        "groups", "slot_us:int node_no:int", "hour_us:int group_no:int contacts:int last_us:int?", "hour_us"
    ),
    _table("changes", "t_us:int kind:text subject:text", "detail:text slot_us:int", "slot_us"),
    _table(
        "alerts",
        "rule:text subject:text since_us:int",
        "until_us:int? level:text value:real peak:real",
        "until_us",
    ),
    _table("standing", "at_us:int", "state:bytes"),
)
"""Figures from all logs together, derived again for each hour with new facts. Times are by the clock of the mesh:
corrected clocks of nodes."""

DAY_SUMS: Final = (
    _table("days", "day_us:int", "summed:int"),
    _table("link_days", "day_us:int sender:int receiver:int", _LINK, "receiver"),
    _table("use_days", "day_us:int node_no:int face:text packet:text use:text", "packets:int airtime_us:int"),
    _table("air_days", "day_us:int node_no:int face:text", "packets:int airtime_us:int slots:bytes"),
    _table("delay_days", "day_us:int scope:text a:int b:int", "n:int buckets:bytes"),
)
"""Sums of derived rows over days in which nothing changes any more, and which days these are."""


FACE_STATE: Final = ("boot", "offset", "t_us", "up")
"""Columns of `faces` that come from the newest record, all from the same one."""
FACE_LAW: Final = (
    "law_boot", "law_offset", "spec", "region", "sub_band", "limit_ppm", "window_us",
)  # fmt: skip
"""Those that come from the newest ``face_up``: a face that is down keeps its law."""
TABLES: Final = {table.name: table for table in (*NAMES, *FACTS, *TOTALS, *SIDE, *JOB, *DERIVED, *DAY_SUMS)}
