"""Fixtures for tests of log shipping."""

import pytest

from spark_sink import limits as sink_limits
from tests.shipping.world import BATCH
from tinyssb_node.shipping import limits


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Batches and answers so small that few bytes make many."""
    monkeypatch.setattr(limits, "BATCH_BYTES", BATCH)
    monkeypatch.setattr(limits, "UNDER_WAY_MAX", 6)
    monkeypatch.setattr(limits, "UNDER_WAY_SMALL", 3)
    monkeypatch.setattr(sink_limits, "ROWS_MAX", 2)
