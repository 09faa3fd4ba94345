"""Figures in the text format of Prometheus, which both pages serve."""

from collections.abc import Iterable, Iterator, Sequence

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_PLAIN_0_0_4 as MEDIA_TYPE
from prometheus_client.registry import Collector

__all__ = ("MEDIA_TYPE", "exposition", "gauges")


def exposition(metrics: Iterable[Metric]) -> bytes:
    """Return the text that is scraped; it has the media type `MEDIA_TYPE`."""
    registry = CollectorRegistry(auto_describe=False)
    registry.register(_Given(metrics))
    return generate_latest(registry)


class _Given(Collector):
    """Metrics that are known already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = metrics

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics


def gauges(
    name: str, text: str, labels: Sequence[str], values: Iterable[tuple[Sequence[str], float | None]]
) -> GaugeMetricFamily:
    """Return a family of figures with labels; those without a value are left out."""
    family = GaugeMetricFamily(name, text, labels=labels)
    for label, value in values:
        if value is not None:
            family.add_metric(label, value)
    return family
