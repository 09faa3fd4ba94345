"""Loader of what alerts are made from: small tables whole, and the rows of some hours of the long ones."""

import threading
from collections.abc import Mapping
from typing import Final

import numpy as np
import pyarrow as pa

from spark_sink.arrays import Ints
from spark_sink.derive.alert_inputs import SCHEMAS
from spark_sink.derive.alert_series import ints
from spark_sink.derive.alert_windows import BEGIN_US, END_US, LOOK_BACK_HOURS, STUCK_HOURS
from spark_sink.derive.facts import HOUR_US
from spark_sink.serving.database import Reader, Value, pieces
from spark_sink.serving.tables import TABLES

GROUPS: Final = pa.schema([(name, pa.int64()) for name in TABLES["groups"].names])
"""All of its columns are whole numbers."""
_WHOLE: Final = {
    "clocks": "",
    "boots": "",
    "faces": " WHERE limit_ppm > 0 AND window_us > 0",
    "incidents": " WHERE kind IN ('clock', 'fork') OR (kind = 'start' AND detail = 'unclean')",
    "gaps": " WHERE next_offset IS NOT NULL",
}
_OWN: Final = {
    "counts": ("counts", "hour_us", "t.kind IN ('face_down', 'refused')"),
    "invalid": ("traffic", "hour_us", "t.verdict = 'invalid'"),
    "turns": ("incidents", "t_us", "t.kind IN ('face_down', 'face_up')"),
}
"""Found by the nodes' own clocks: the table, the column with the time, and which rows."""
_MARGIN_US: Final = 3 * HOUR_US  # an hour that follows, and a year's drift of a clock
_WINDOW_MAX_US: Final = 24 * HOUR_US  # longer windows of a law are looked back at node by node
_RANGES_AT_A_TIME: Final = 5_000

_HELD: Final = """
    SELECT s.node_no, s.feed_no, coalesce((
        SELECT h.seq FROM steps h WHERE h.node_no = s.node_no AND h.feed_no = s.feed_no AND h.hour_us < ?
        ORDER BY h.hour_us DESC LIMIT 1
    ), 0) FROM (SELECT DISTINCT node_no, feed_no FROM steps WHERE hour_us >= ? AND hour_us < ?) s
"""


def whole_tables(reader: Reader, lock: threading.Lock) -> dict[str, pa.Table]:
    """Load the tables that are small however long the history is. Raises DatabaseFailedError."""
    found = {}
    for name, condition in _WHOLE.items():
        with lock:
            sql = f"SELECT {', '.join(SCHEMAS[name].names)} FROM {name}{condition}"  # noqa: S608 - names of ours
            found[name] = reader.table(sql, SCHEMAS[name])
    return found


def groups_of(reader: Reader, lock: threading.Lock, low_us: int, until_us: int) -> pa.Table:
    """Load the rows of `groups` of a stretch of mesh time. Raises DatabaseFailedError."""
    with lock:
        return reader.table(
            f"SELECT {', '.join(GROUPS.names)} FROM groups WHERE slot_us >= ? AND slot_us < ?",  # noqa: S608 - names of ours
            GROUPS,
            (low_us, until_us),
        )


def window_tables(
    reader: Reader, lock: threading.Lock, whole: Mapping[str, pa.Table], low_us: int, until_us: int
) -> dict[str, pa.Table]:
    """Load what rules need of the long tables from *low_us* on, a full hour. Raises DatabaseFailedError."""
    back_us = max(low_us - LOOK_BACK_HOURS * HOUR_US, BEGIN_US)
    grown_us = max(low_us - STUCK_HOURS * HOUR_US, BEGIN_US)
    windows_us = ints(whole["faces"], "window_us")
    lengths = windows_us[windows_us <= _WINDOW_MAX_US]
    sent_us = max(low_us - int(lengths.max(initial=0)), BEGIN_US)
    questions: dict[str, tuple[str, tuple[int, ...]]] = {
        "ups": (
            "SELECT node_no, hour_us FROM groups WHERE slot_us >= ? AND slot_us < ? GROUP BY node_no, hour_us",
            (back_us, until_us),
        ),
        "links": (_between("links"), (back_us, until_us)),
        "steps": (_between("steps"), (grown_us, until_us)),
        "held": (_HELD, (grown_us, grown_us, until_us)),
        "transmitted": (_between("transmitted"), (sent_us - sent_us % HOUR_US, until_us)),
    }
    found = {}
    for name, (sql, parameters) in questions.items():
        with lock:
            found[name] = reader.table(sql, SCHEMAS[name], parameters)
    found["transmitted"] = pa.concat_tables(
        [found["transmitted"], *_sent_long_ago(reader, lock, whole["faces"], low_us, sent_us)]
    )
    ranges = own_ranges(whole["clocks"], np.unique(ints(whole["boots"], "node_no")), back_us, until_us)
    return found | {name: _own_rows(reader, lock, name, ranges) for name in _OWN}


def _between(table: str) -> str:
    return f"SELECT {', '.join(SCHEMAS[table].names)} FROM {table} WHERE hour_us >= ? AND hour_us < ?"  # noqa: S608 - names of ours


def _sent_long_ago(
    reader: Reader, lock: threading.Lock, faces: pa.Table, low_us: int, sent_us: int
) -> list[pa.Table]:
    """Load airtime before *sent_us* that is within the longer window of some face's law."""
    found = []
    columns = ", ".join(SCHEMAS["transmitted"].names)
    for row in faces.to_pylist():
        if row["window_us"] > _WINDOW_MAX_US:
            since_us = max(low_us - row["window_us"], BEGIN_US)
            with lock:
                found.append(
                    reader.table(
                        f"SELECT {columns} FROM transmitted "  # noqa: S608 - names of ours
                        "WHERE node_no = ? AND slot_us >= ? AND hour_us < ? AND face = ?",
                        SCHEMAS["transmitted"],
                        (row["node_no"], since_us, sent_us - sent_us % HOUR_US, row["face"]),
                    )
                )
    return found


def own_ranges(clocks: pa.Table, nodes: Ints, low_us: int, until_us: int) -> list[tuple[int, int, int]]:
    """Return stretches of nodes' own time (node_no, begin, end) that have all hours of a stretch of mesh time.

    Hours around may be in it, too; none is in it twice. Nodes whose clocks are not known are taken to be right.
    """
    node_no = ints(clocks, "node_no")
    start_us = ints(clocks, "base_us") + ints(clocks, "from_mono_us")
    order = np.lexsort((ints(clocks, "base_us"), start_us, node_no))
    node_no, start_us = node_no[order], start_us[order]
    offset_us = ints(clocks, "offset_us")[order]
    first = np.append(True, node_no[1:] != node_no[:-1])[: len(node_no)]
    last = np.append(first[1:], True)[: len(node_no)]
    shown_us = np.where(first, BEGIN_US, start_us)
    gone_us = np.where(last, END_US, np.append(start_us[1:], 0)[: len(node_no)])
    begin_us = np.maximum(low_us + offset_us - _MARGIN_US, shown_us - _MARGIN_US)
    end_us = np.minimum(until_us + offset_us + _MARGIN_US, gone_us + _MARGIN_US)
    met = begin_us < end_us
    unknown = np.setdiff1d(nodes, node_no).tolist()
    found = [(node, low_us - _MARGIN_US, until_us + _MARGIN_US) for node in unknown]
    for node, begin, end in sorted(
        zip(node_no[met].tolist(), begin_us[met].tolist(), end_us[met].tolist(), strict=True)
    ):
        if found and found[-1][0] == node and begin <= found[-1][2]:
            found[-1] = (node, found[-1][1], max(found[-1][2], end))
        else:
            found.append((node, begin, end))
    return found


def _own_rows(
    reader: Reader, lock: threading.Lock, name: str, ranges: list[tuple[int, int, int]]
) -> pa.Table:
    """Load the rows of nodes in stretches of their own time."""
    table, time_column, condition = _OWN[name]
    columns = ", ".join(f"t.{column}" for column in SCHEMAS[name].names)
    found = [SCHEMAS[name].empty_table()]
    for some in pieces(ranges, _RANGES_AT_A_TIME):
        values = ", ".join(["(?, ?, ?)"] * len(some))
        parameters: list[Value] = [value for row in some for value in row]
        with lock:
            found.append(
                reader.table(
                    f"WITH w (node_no, low_us, until_us) AS (VALUES {values}) SELECT {columns} FROM w "  # noqa: S608 - names of ours
                    f"CROSS JOIN {table} t WHERE t.node_no = w.node_no AND t.{time_column} >= w.low_us "
                    f"AND t.{time_column} < w.until_us AND {condition}",
                    SCHEMAS[name],
                    parameters,
                )
            )
    return pa.concat_tables(found)
