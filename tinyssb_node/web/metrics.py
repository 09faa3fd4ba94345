"""The node's figures for Prometheus (docs/reference/metrics.md)."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from tinyssb_node.control.rows import AirtimeRow, NetworkRow, StatusRow
from tinyssb_node.web.page_server.metrics import MEDIA_TYPE, exposition, gauges
from tinyssb_node.web.shapes import NodeFigures

__all__ = ("MEDIA_TYPE", "scrape")

_SECOND_US: Final = 1_000_000
_COUNTERS: Final = {
    "sent": "Packets that were sent.",
    "received": "Packets that were received.",
    "new": "Received packets that told something new.",
    "invalid": "Received packets that broke a rule.",
}
_USERS: Final = ("own", "followed", "groups", "others")


def scrape(found: NodeFigures | None) -> bytes:
    """Return the text that is scraped; without figures where the daemon does not answer."""
    return exposition(_metrics(found))


def _metrics(found: NodeFigures | None) -> Iterator[Metric]:
    yield _gauge("up", "1 if the daemon answers.", float(found is not None))
    if found is not None:
        yield from _node(found.status)
        yield from _faces(found)
        yield from _airtime(found.airtime)


def _gauge(name: str, text: str, value: float) -> GaugeMetricFamily:
    return GaugeMetricFamily(f"tinyssb_daemon_{name}", text, value)


def _gauges(
    name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float | None]]
) -> GaugeMetricFamily:
    return gauges(f"tinyssb_daemon_{name}", text, labels, values)


def _seconds(value_us: int) -> float:
    return value_us / _SECOND_US


def _node(status: StatusRow) -> Iterator[Metric]:
    yield _gauges(
        "info", "1.", ("name", "feed", "version"), [((status.name, status.feed, status.version), 1.0)]
    )
    yield _gauge("uptime_seconds", "Time since the daemon started.", _seconds(status.uptime_us))
    yield _gauge("read_only", "1 if it cannot write to its disk.", float(status.read_only is not None))
    columns: Sequence[tuple[str, str, Callable[[NetworkRow], int]]] = (
        ("feeds", "Feeds that it stores.", lambda row: row.feeds),
        ("entries", "Entries that it stores.", lambda row: row.entries),
        ("forked_feeds", "Feeds that are forked.", lambda row: row.forked),
        ("pending_feeds", "Feeds that it follows, and of which no entry has come.", lambda row: row.pending),
        ("refusals", "How often a limit was reached.", _refusals),
    )
    for name, text, value_of in columns:
        yield _gauges(name, text, ("network",), (((row.name,), value_of(row)) for row in status.networks))
    yield _gauges(
        "disk_bytes",
        "Room that feeds take, by whose they are.",
        ("network", "of"),
        (
            ((row.name, user), getattr(row.disk, user))
            for row in status.networks
            if row.disk is not None
            for user in _USERS
        ),
    )


def _refusals(network: NetworkRow) -> int:
    return sum(row.count for row in network.refusals)


def _faces(found: NodeFigures) -> Iterator[Metric]:
    yield _gauges(
        "face_open",
        "1 if a configured face is open.",
        ("spec",),
        (((row.spec,), float(row.problem is None)) for row in found.status.endpoints),
    )
    yield _gauges(
        "face_queued_packets",
        "Packets that wait.",
        ("face",),
        (((row.face,), row.queued) for row in found.faces),
    )
    for name, text in _COUNTERS.items():
        family = CounterMetricFamily(f"tinyssb_daemon_face_{name}_packets", text, labels=("face",))
        for row in found.faces:
            family.add_metric((row.face,), getattr(row, name))
        yield family


def _airtime(rows: Sequence[AirtimeRow]) -> Iterator[Metric]:
    columns: Sequence[tuple[str, str, Callable[[AirtimeRow], int]]] = (
        (
            "airtime_used_seconds",
            "Airtime that was used within the window of the law.",
            lambda row: row.used_us,
        ),
        ("airtime_limit_seconds", "Airtime that the law allows within the window.", lambda row: row.limit_us),
        ("airtime_window_seconds", "Length of that window.", lambda row: row.window_us),
    )
    for name, text, value_of in columns:
        yield _gauges(name, text, ("sub_band",), (((row.band,), _seconds(value_of(row))) for row in rows))
