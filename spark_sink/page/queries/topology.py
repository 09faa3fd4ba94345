"""Links between nodes, groups of connected nodes, and their changes."""

import json
from typing import Any

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.scope import Answer, Scope, fetch
from spark_sink.serving.database import marks


def topology(scope: Scope) -> Answer:
    """Return the answer of ``/api/topology``. Raises DatabaseFailedError."""
    behind = common.load_holdings(scope).behind
    where = common.places(scope)
    group = groups(scope)
    shown = common.shown_nodes(scope, behind)
    nodes = []
    for number in shown:
        node = scope.nodes[number]
        latitude, longitude = where.get(number, (None, None))
        nodes.append(
            {
                **node.named(),
                "running": node.running,
                "latitude": latitude,
                "longitude": longitude,
                "group": scope.node_id(group.get(number)),
                "behind": behind[number],
            }
        )
    both = f"sender IN ({marks(len(shown))}) AND receiver IN ({marks(len(shown))})"
    return {
        "nodes": nodes,
        "links": common.link_rows(scope, both, (*shown, *shown)) if shown else [],
        "changes": changes(scope),
        "hidden": {"nodes": len(scope.found_nodes()) - len(nodes)},
    }


def groups(scope: Scope) -> dict[int, int]:
    """Return the group of each node in the last slot of the range that is known of."""
    ((slot_us,),) = fetch(
        scope.db,
        "SELECT max(slot_us) FROM groups WHERE hour_us < ? AND slot_us < ?",
        (scope.to_us, scope.to_us),
    )
    if slot_us is None:
        return {}
    return dict(fetch(scope.db, "SELECT node_no, group_no FROM groups WHERE slot_us = ?", (slot_us,)))


def changes(scope: Scope) -> list[Answer]:
    """List changes of the mesh in the range, newest first."""
    rows = fetch(
        scope.db,
        "SELECT t_us, kind, subject, detail FROM changes WHERE t_us >= ? AND t_us < ?"
        " ORDER BY t_us DESC, kind, subject LIMIT ?",
        (scope.from_us, scope.to_us, limits.ROWS_MAX),
    )
    return [
        {"t_us": t_us, "kind": kind, **scope.subject(subject), "detail": _named(scope, json.loads(detail))}
        for t_us, kind, subject, detail in rows
    ]


def _named(scope: Scope, detail: dict[str, Any]) -> dict[str, Any]:
    """Replace numbers of nodes in a detail by their ids."""
    if "nodes" in detail:
        detail = {**detail, "nodes": [scope.node_id(number) for number in detail["nodes"]]}
    if "parts" in detail:
        detail = {
            **detail,
            "parts": [[scope.node_id(number) for number in part] for part in detail["parts"]],
        }
    return detail
