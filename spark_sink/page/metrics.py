"""The figures that Prometheus scrapes (docs/reference/metrics.md)."""

from collections.abc import Iterable, Iterator
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from spark_sink.page import limits
from spark_sink.page.queries import common
from spark_sink.page.queries.airtime import NO_SLOTS, slots_within, window_ppm
from spark_sink.page.queries.job import BATCH, REFRESH, lag_us, latest, rate
from spark_sink.page.queries.overview import headline
from spark_sink.page.scope import Answer, Scope, fetch
from tinyssb_node.web.page_server.metrics import MEDIA_TYPE, exposition, gauges

__all__ = ("MEDIA_TYPE", "figures", "scrape")

_NODE: Final = ("node", "name")
TOTALS: Final = {
    "nodes": "Nodes whose logs were read.",
    "running": "Nodes whose log does not end with a stop.",
    "feeds": "Feeds that any node holds.",
    "entries": "Sum over feeds of the highest sequence number that any node holds.",
    "behind": "Entries that nodes lack, summed over nodes and feeds.",
    "behind_nodes": "Nodes that lack any entry.",
    "forks": "Feeds that were seen forked.",
    "bad_lines": "Lines of logs that are not valid records, counted up to 1,000.",
    "gaps": "Gaps in logs, counted up to 1,000.",
    "oddities": "Files that were skipped, counted up to 1,000.",
}


def figures(scope: Scope) -> Answer:
    """Compute the figures of the metrics. Raises DatabaseFailedError."""
    standing = common.load_holdings(scope)
    shown = sorted(scope.nodes)[: limits.METRIC_NODES_MAX]
    alerts: dict[str, int] = {"warning": 0, "alarm": 0}
    alerts.update(fetch(scope.db, "SELECT level, count(*) FROM alerts WHERE until_us IS NULL GROUP BY level"))
    ((records,),) = fetch(scope.db, "SELECT coalesce(sum(records), 0) FROM batches")
    batches = latest(scope, "batch_log", BATCH)
    return {
        "totals": headline(scope, standing),
        "nodes": common.node_rows(scope, shown, standing.behind),
        "air": shares(scope, shown),
        "delays": common.spread(
            (bucket, int(n))
            for bucket, n in fetch(
                scope.db,
                "SELECT bucket, sum(n) FROM delay_hours WHERE hour_us >= ? AND hour_us < ? AND scope = 'node'"
                " GROUP BY bucket",
                scope.hours(),
            )
        ),
        "alerts": alerts,
        "as_of_us": scope.as_of_us,
        "committed_us": scope.committed_us,
        "lag_us": lag_us(scope),
        "records": int(records),
        "rate": rate(batches),
        "batch": batches[0] if batches else None,
        "refresh": next(iter(latest(scope, "refresh_log", REFRESH)), None),
    }


def shares(scope: Scope, nodes: list[int]) -> list[Answer]:
    """Return for every face under a law, the share of the window before now that was spent, and the share allowed."""
    wanted, now_us = set(nodes), scope.as_of_us + 1
    laws = {
        (number, law["face"]): law
        for number, found in common.laws(scope).items()
        for law in found
        if number in wanted
    }
    slots = slots_within(scope, {place: law["window_us"] for place, law in laws.items()}, now_us)
    return [
        {
            **scope.nodes[number].named(),
            "face": face,
            "sub_band": law["sub_band"] or "",
            "share": window_ppm(slots.get((number, face), NO_SLOTS), law["window_us"], now_us) / 1e6,
            "limit": law["limit_ppm"] / 1e6,
        }
        for (number, face), law in laws.items()
    ]


def scrape(found: Answer | None, listeners: int) -> bytes:
    """Return the text that is scraped; without figures where the database cannot be read."""
    return exposition(_metrics(found, listeners))


def _metrics(found: Answer | None, listeners: int) -> Iterator[Metric]:
    yield _gauge(
        "database_up", "1 if the serving database can be read and is not empty.", float(found is not None)
    )
    yield _gauge("page_listeners", "Pages that listen for changes.", listeners)
    if found is not None:
        yield from _mesh(found)
        yield from _nodes(found)
        yield from _job(found)


def _gauge(name: str, text: str, value: float | None = None) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tinyssb_{name}", text, value)


def _gauges(
    name: str, text: str, labels: tuple[str, ...], values: Iterable[tuple[tuple[str, ...], float | None]]
) -> GaugeMetricFamily:
    return gauges(f"tinyssb_{name}", text, labels, values)


def _seconds(value_us: float | None) -> float | None:
    return value_us / limits.SECOND_US if value_us is not None else None


def _mesh(found: Answer) -> Iterator[Metric]:
    for name, text in TOTALS.items():
        yield _gauge(f"mesh_{name}", text, found["totals"][name])
    alerts = sorted(found["alerts"].items())
    yield _gauges("alerts_open", "Alerts that are open.", ("level",), (((level,), n) for level, n in alerts))
    yield _gauges(
        "delay_seconds",
        "Time from publication to copy, over the last day and all nodes.",
        ("quantile",),
        (
            ((share,), _seconds(found["delays"][name]))
            for share, name in (("0.5", "median_us"), ("0.95", "p95_us"))
        ),
    )
    yield _gauge(
        "mesh_newest_record_timestamp_seconds", "Time of the newest record.", _seconds(found["as_of_us"])
    )


def _nodes(found: Answer) -> Iterator[Metric]:
    columns = (
        ("running", "1 if the node's log does not end with a stop.", lambda row: float(row["running"])),
        ("behind", "Entries that the node lacks.", lambda row: row["behind"]),
        ("last_record_timestamp_seconds", "Time of its newest record.", lambda row: _seconds(row["last_us"])),
        ("clock_offset_seconds", "How far its clock is ahead.", lambda row: _seconds(row["clock_offset_us"])),
        (
            "isolated",
            "1 while it is out of contact.",
            lambda row: float(row["isolated_since_us"] is not None),
        ),
    )
    nodes = [((row["node"], row["label"]), row) for row in found["nodes"]]
    for name, text, value_of in columns:
        yield _gauges(f"node_{name}", text, _NODE, ((label, value_of(row)) for label, row in nodes))
    yield _gauges(
        "node_delay_seconds",
        "The same for copies that arrived at this node.",
        (*_NODE, "quantile"),
        (
            ((*label, share), _seconds(row[name]))
            for label, row in nodes
            for share, name in (("0.5", "delay_median_us"), ("0.95", "delay_p95_us"))
        ),
    )
    labels = (*_NODE, "face", "sub_band")
    for name, text, column in (
        ("node_airtime_ratio", "Share of the law's window that was spent sending.", "share"),
        ("node_airtime_limit_ratio", "Share that the law allows.", "limit"),
    ):
        air = (
            (tuple(row[label] for label in ("node", "label", "face", "sub_band")), row)
            for row in found["air"]
        )
        yield _gauges(name, text, labels, ((label, row[column]) for label, row in air))


def _job(found: Answer) -> Iterator[Metric]:
    records = CounterMetricFamily("tinyssb_job_records", "Records that were read.")
    records.add_metric((), found["records"])
    yield records
    batch, refresh = found["batch"] or {}, found["refresh"] or {}
    lag_text = "Time from the newest record to the last write of the job."
    merge_text = "The database's time for the last batch."
    optional = (
        ("lag_seconds", lag_text, _seconds(found["lag_us"])),
        ("records_per_second", "Rate of reading over the last batches.", found["rate"]),
        ("last_commit_timestamp_seconds", "When the job last wrote.", _seconds(found["committed_us"])),
        ("behind_bytes", "Bytes of logs still to be read.", batch.get("behind_bytes")),
        ("batch_read_seconds", "Spark's time for the last batch.", _seconds(batch.get("read_us"))),
        ("batch_merge_seconds", merge_text, _seconds(batch.get("merge_us"))),
        ("refresh_seconds", "Time of the last refresh.", _seconds(refresh.get("wall_us"))),
        ("refresh_waiting_hours", "Hours still to be refreshed.", refresh.get("waiting")),
    )
    for name, text, value in optional:
        if value is not None:
            yield _gauge(f"job_{name}", text, value)
