"""The node's figures for Prometheus, read by its own parser."""

import re
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from tests.web.asking import ask
from tests.web.fake import FakeNode, serving

METRICS = Path(__file__).parents[2] / "docs/reference/metrics.md"
Figures = dict[tuple[str, tuple[str, ...]], float]


def scraped(address: str) -> Figures:
    answer = ask(address, "/metrics")
    assert (answer.status, answer.headers["content-type"]) == (
        200,
        "text/plain; version=0.0.4; charset=utf-8",
    )
    return {
        (sample.name, tuple(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(answer.body.decode())
        for sample in family.samples
    }


def test_a_scrape_tells_what_status_faces_and_airtime_tell() -> None:
    node = FakeNode()
    with serving(node) as address:
        found = scraped(address)
    (face,), (air,) = node.faces(), node.airtime()
    daemon = "tinyssb_daemon"
    assert found[f"{daemon}_up", ()] == 1
    assert found[f"{daemon}_uptime_seconds", ()] == 7_300
    assert found[f"{daemon}_read_only", ()] == 0
    assert found[f"{daemon}_entries", ("default",)] == 1_234
    assert found[f"{daemon}_refusals", ("default",)] == 30
    assert found[f"{daemon}_disk_bytes", ("default", "others")] == 4_900_000
    assert found[f"{daemon}_face_open", ("lora:hut",)] == 1
    assert found[f"{daemon}_face_open", ("ble:peripheral",)] == 0
    assert found[f"{daemon}_face_sent_packets_total", (face.face,)] == face.sent
    assert found[f"{daemon}_airtime_used_seconds", (air.band,)] == air.used_us / 1e6
    assert found[f"{daemon}_airtime_limit_seconds", (air.band,)] == air.limit_us / 1e6


def test_a_scrape_says_that_the_daemon_is_away() -> None:
    node = FakeNode()
    node.running = False
    with serving(node) as address:
        assert scraped(address) == {("tinyssb_daemon_up", ()): 0}


def test_every_figure_is_documented() -> None:
    with serving(FakeNode()) as address:
        found = {name for name, _ in scraped(address)}
    table = METRICS.read_text("utf-8").partition("## Of a mesh")[0]
    documented = re.findall(r"`(tinyssb_daemon_\w+)`", table)
    likewise = re.compile(r"_(received|new|invalid)_packets_total|_airtime_(limit|window)_seconds")
    assert sorted(documented) == sorted(name for name in found if not likewise.search(name))
