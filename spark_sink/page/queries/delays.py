"""How long entries take, as distributions: by node, by feed, by hop."""

from collections import Counter
from typing import Final

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, BadQuestionError, Scope

SCOPES: Final = ("node", "feed", "hop")


def delays(scope: Scope) -> Answer:
    """The answer of ``/api/delays``. Raises BadQuestionError, DatabaseFailedError."""
    kind = scope.asked.scope or "node"
    if kind not in SCOPES:
        raise BadQuestionError(f"`scope` is one of {', '.join(SCOPES)}.")
    found = common.delays_by(scope, kind)
    together: Counter[int] = Counter()
    for counts in found.values():
        together.update(counts)
    rows = [
        {**_named(scope, kind, a, b), **common.spread(counts.items()), "buckets": common.bucket_rows(counts)}
        for (a, b), counts in found.items()
    ]
    rows.sort(key=lambda row: (-row["n"], row["label"]))
    return {
        "scope": kind,
        "rows": rows[: limits.ROWS_MAX],
        "all": {**common.spread(together.items()), "buckets": common.bucket_rows(together)},
        "hidden": {"rows": max(0, len(rows) - limits.ROWS_MAX)},
    }


def _named(scope: Scope, kind: str, a: int, b: int) -> Answer:
    if kind == "feed":
        feed = scope.feeds.get(a)
        return {"a": feed.feed if feed else None, "b": None, "label": feed.label if feed else f"feed {a}"}
    if kind == "hop":
        label = f"{scope.label(a)} → {scope.label(b)}"
        return {"a": scope.node_id(a), "b": scope.node_id(b), "label": label}
    return {"a": scope.node_id(a), "b": None, "label": scope.label(a)}
