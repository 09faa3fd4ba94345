"""Made-up answers of the page's server, for what a story of a small mesh does not tell: size, harm and trouble."""

import json
from typing import Any

from playwright.sync_api import Page, Route

T_US = 1_760_000_000_000_000
HOUR_US = 3_600_000_000
MINUTE_US = 60_000_000
Answer = dict[str, Any]


def node_id(number: int) -> str:
    """A node's 16 digits."""
    return f"{number:016x}"


def feed_id(number: int) -> str:
    """A feed's 64 digits."""
    return f"{number:064x}"


def behind(feed: int, node: int, round_: int = 0) -> int:
    """How far a node is behind; one feed in eight moves with each round."""
    return (feed * 7 + node * 13 + (round_ if feed % 8 == 0 else 0)) % 5 * (feed % 3) * (node % 4)


def overview(nodes: int, feeds: int, *, round_: int = 0, label: str = "node") -> Answer:
    """An overview of any size; *round_* is what changes from one to the next."""
    rows = [
        _node(number, sum(behind(feed, number, round_) for feed in range(feeds)), label)
        for number in range(nodes)
    ]
    return {
        **_ready(round_),
        "sentence": f"Round {round_}: {sum(row['behind'] for row in rows)} entries behind.",
        "level": "warning",
        "totals": {
            "nodes": nodes, "running": nodes, "feeds": feeds, "entries": 100 * feeds, "forks": 0, "bad_lines": 0,
            "gaps": 0, "oddities": 0, "behind": sum(row["behind"] for row in rows), "behind_nodes": nodes,
        },
        "convergence": [[T_US - (240 - at) * 6 * MINUTE_US, (at * 7 + round_) % 50] for at in range(240)],
        "alerts": [_alert(label)],
        "nodes": rows,
        "feeds": [_feed(at, label) for at in range(feeds)],
        "recent": [_entry(at, nodes, round_, label) for at in range(12)],
        "hidden": {"nodes": 0, "feeds": 0},
    }  # fmt: skip


def heatmap(nodes: int, feeds: int, *, round_: int = 0, label: str = "node") -> Answer:
    """A heat map of any size."""
    return {
        **_ready(round_),
        "at_us": None,
        "first_us": T_US - 24 * HOUR_US,
        "last_us": T_US,
        "nodes": [{"node": node_id(at), "label": f"{label} {at}"} for at in range(nodes)],
        "feeds": [
            {
                "feed": feed_id(at),
                "label": f"{label} {at}",
                "owner": node_id(at),
                "newest": 100 + (round_ if at % 8 == 0 else 0),
            }
            for at in range(feeds)
        ],
        "behind": [[behind(feed, node, round_) for node in range(nodes)] for feed in range(feeds)],
        "chunks_missing": [[0] * nodes for _feed in range(feeds)],
        "hidden": {"nodes": 0, "feeds": 0},
    }


def _ready(round_: int) -> Answer:
    return {"v": 2, "state": "ready", "as_of_us": T_US + round_ * 1_000_000, "committed_us": T_US}


def _node(number: int, missing: int, label: str) -> Answer:
    return {
        "node": node_id(number), "label": f"{label} {number}", "feed": feed_id(number), "running": True, "boot": 1,
        "last_us": T_US - number * 1_000_000, "behind": missing, "delay_median_us": 2_000_000, "delay_p95_us": None,
        "delay_count": 4, "airtime_us": 10_000_000 + number, "limit_ppm": 10_000, "window_us": HOUR_US,
        "region": label, "sub_band": label, "clock_offset_us": 1_000, "clock_error_us": 10, "clock_drift_ppm": 3.0,
        "isolated_since_us": None, "latitude": None, "longitude": None, "version": label,
    }  # fmt: skip


def _feed(number: int, label: str) -> Answer:
    return {"feed": feed_id(number), "label": f"{label} {number}", "owner": None, "newest": 100, "behind": 0}


def _alert(label: str) -> Answer:
    return {
        "rule": label, "subject": label, "label": label, "since_us": T_US - HOUR_US, "until_us": None,
        "level": "warning", "value": 1.0, "peak": 2.0, "text": f"{label} is behind",
    }  # fmt: skip


def _entry(number: int, nodes: int, round_: int, label: str) -> Answer:
    return {
        "feed": feed_id(number), "label": f"{label} {number}", "seq": 5 + round_, "id": "ab" * 20, "size": 120,
        "chunks": 1, "publisher": node_id(number), "t_us": T_US - number * MINUTE_US,
        "held_by": [node_id(at) for at in range(nodes // 2)], "reached_us": T_US,
    }  # fmt: skip


def answer(page: Page, path: str, body: Answer, status: int = 200) -> None:
    """Let the page have *body* whenever it asks *path*, whatever the parameters."""

    def handle(route: Route) -> None:
        route.fulfill(status=status, body=json.dumps(body), content_type="application/json")

    # It comes before the answer given until now. Without one for a moment, the page would ask the real server.
    page.route(f"**{path}*", handle)


def tell_changes(page: Page, body: Answer) -> None:
    """Let the page hear of a change as often as it connects, which is about every second."""
    events = f'event: clock\ndata: {{"now_us":{T_US}}}\n\nevent: change\ndata: {json.dumps(body)}\n\n'
    page.route("**/api/events", lambda route: route.fulfill(body=events, content_type="text/event-stream"))
