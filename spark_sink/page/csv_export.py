"""Answers as CSV (RFC 4180), safe to open in a spreadsheet."""

import csv
import io
from collections.abc import Mapping
from typing import Any, Final

from spark_sink.errors import BadQuestionError
from spark_sink.page import limits
from spark_sink.page.scope import Answer

MAIN: Final = {
    "overview": "nodes",
    "heatmap": "cells",
    "topology": "links",
    "airtime": "nodes",
    "delays": "rows",
    "packets": "rows",
    "message": "arrivals",
    "node": "traffic",
    "feed": "entries",
    "gossip": "nodes",
    "faults": "alerts",
    "job": "batches",
}
"""List of an answer that is exported by default."""
_FORMULA: Final = ("=", "+", "-", "@", "\t", "\r")
_LINES: Final[Mapping[str, tuple[str, ...]]] = {
    "convergence": ("t_us", "missing"),
    "over_time": ("from_us", "low_us", "high_us", "n"),
}
"""Lists of lists, and what their columns are called."""


def sheet(view: str, answer: Answer, table: str | None) -> bytes:
    """Export one list of an answer as CSV with a line of headings. Raises BadQuestionError."""
    name = table or MAIN[view]
    rows = cells(answer) if view == "heatmap" and name == "cells" else answer.get(name)
    if not isinstance(rows, list) or not (name in _LINES or all(isinstance(row, Mapping) for row in rows)):
        raise BadQuestionError(f"There is no table {name!r} in this answer.")
    if name in _LINES:
        rows = [dict(zip(_LINES[name], row, strict=True)) for row in rows]
    flat = [flatten(row) for row in rows]
    headings = list(dict.fromkeys(heading for row in flat for heading in row))
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow([cell(heading) for heading in headings])
    writer.writerows([cell(row.get(heading)) for heading in headings] for row in flat)
    return text.getvalue().encode("utf-8", "replace")


def cells(answer: Answer) -> list[Answer]:
    """Return the heat map, a row a cell."""
    chunks = answer["chunks_missing"]
    return [
        {
            "feed": feed["feed"],
            "feed_label": feed["label"],
            "node": node["node"],
            "label": node["label"],
            "newest": feed["newest"],
            "behind": answer["behind"][row][column],
            "chunks_missing": chunks[row][column] if chunks is not None else None,
        }
        for row, feed in enumerate(answer["feeds"])
        for column, node in enumerate(answer["nodes"])
    ]


def flatten(row: Mapping[str, Any]) -> dict[str, Any]:
    """Flatten a row: fields of objects beside the rest; lists of words in one cell; other lists are left out."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        if isinstance(value, Mapping):
            flat.update((f"{name}.{inner}", inside) for inner, inside in flatten(value).items())
        elif isinstance(value, list):
            if all(isinstance(item, str) for item in value):
                flat[name] = " ".join(value)
        else:
            flat[name] = value
    return flat


def cell(value: object) -> str:
    """Format a cell. A text that a spreadsheet would take for a formula becomes plain text."""
    if value is None:
        return ""
    if not isinstance(value, str):
        return str(int(value) if isinstance(value, bool) else value)
    text = value[: limits.CSV_TEXT_MAX].replace("\0", "")
    return f"'{text}" if text.startswith(_FORMULA) else text
