"""Metrics that Prometheus scrapes: as documented, right, and enough for the dashboard that we give away."""

import json
import re
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families

from spark_sink.page import metrics
from tests.spark_sink.page.asking import ask, get, opened
from tests.spark_sink.page.book import node_of
from tests.spark_sink.page.story import KEYS, LORA, WRONG, WRONG_US

DOCS = Path(__file__).parents[3] / "docs"
NAME = re.compile(r"\btinyssb_[a-z0-9_]+")


@pytest.fixture(scope="module")
def samples(database: Path) -> dict[tuple[str, tuple[tuple[str, str], ...]], float]:
    with opened(str(database)) as source:
        text = metrics.scrape(source.read(metrics.figures), 3).decode()
    return {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


Samples = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def names(samples: Samples) -> set[str]:
    return {name for name, _labels in samples}


def test_every_metric_is_documented_and_the_other_way_round(samples: Samples) -> None:
    table = (DOCS / "reference" / "metrics.md").read_text().partition("## Of a mesh")[2]
    documented = set(re.findall(r"^\| `(tinyssb_[a-z0-9_]+)`", table, re.MULTILINE))
    assert documented == names(samples)


def test_the_dashboard_asks_for_nothing_that_is_not_there(samples: Samples) -> None:
    board = json.loads((DOCS / "grafana" / "tinyssb-mesh.json").read_text())
    asked = {
        name
        for panel in board["panels"]
        for target in panel["targets"]
        for name in NAME.findall(target["expr"])
    }
    assert asked <= names(samples)
    labels = {
        label
        for panel in board["panels"]
        for target in panel["targets"]
        for label in re.findall(r"\{\{(\w+)\}\}|(?<=\{)(\w+)(?==)", target["expr"] + target["legendFormat"])
        for label in label
        if label
    }
    assert labels <= {label for _name, pairs in samples for label, _value in pairs}
    for part in ("mesh_behind", "node_behind", "airtime_limit", "delay_seconds", "alerts_open", "job_lag"):
        assert any(part in name for name in asked), part


def test_values_are_those_of_the_page(samples: Samples, database: Path) -> None:
    overview = ask(database, "overview")
    job = ask(database, "job")
    for name, value in overview["totals"].items():
        assert samples[f"tinyssb_mesh_{name}", ()] == value
    for row in overview["nodes"]:
        labels = (("name", row["label"]), ("node", row["node"]))
        assert samples["tinyssb_node_behind", labels] == row["behind"]
        assert samples["tinyssb_node_last_record_timestamp_seconds", labels] == pytest.approx(
            row["last_us"] / 1e6
        )
        assert samples["tinyssb_node_isolated", labels] == float(row["isolated_since_us"] is not None)
    assert samples["tinyssb_alerts_open", (("level", "alarm"),)] == 1
    assert samples["tinyssb_alerts_open", (("level", "warning"),)] == 2
    assert samples["tinyssb_job_records_total", ()] == job["records"]
    assert samples["tinyssb_job_lag_seconds", ()] == 1.5
    assert samples["tinyssb_page_listeners", ()] == 3
    wrong = (("name", "late-by-seven-hours"), ("node", node_of(KEYS[WRONG])))
    assert samples["tinyssb_node_clock_offset_seconds", wrong] == pytest.approx(WRONG_US / 1e6, abs=10)


def test_airtime_is_that_of_the_page(samples: Samples, database: Path) -> None:
    for row in ask(database, "airtime")["nodes"]:
        labels = (
            ("face", row["face"]),
            ("name", row["label"]),
            ("node", row["node"]),
            ("sub_band", row["sub_band"]),
        )
        assert samples["tinyssb_node_airtime_ratio", labels] == pytest.approx(row["now_ppm"] / 1e6)
        assert samples["tinyssb_node_airtime_limit_ratio", labels] == LORA["limit_ppm"] / 1e6  # type: ignore[operator] # an int


def test_without_a_database_it_says_that_alone() -> None:
    text = metrics.scrape(None, 0).decode()
    assert "tinyssb_database_up 0.0" in text
    assert "tinyssb_mesh" not in text


def test_it_is_served(address: str) -> None:
    status, headers, body = get(f"{address}/metrics")
    assert status == 200
    assert headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b'name="<img src=x onerror=alert(1)>"' in body
