"""Segments may be copied by rsync, or by hand, while they grow: docs/reference/shipping.md says so."""

import shutil
import subprocess
from pathlib import Path

from spark_sink.collect.landing import LandingFolder
from spark_sink.collect.messages import Log, SegmentId
from spark_sink.log_files import LocalLogFiles
from tests.shipping.rig import Node, landed


def copy(events: Path, logs: Path) -> None:
    """As the page says; where there is no rsync, as it would: what has changed, put in its place in one step."""
    if shutil.which("rsync"):
        subprocess.run(["rsync", "-rt", f"{events}/", f"{logs}/"], check=True)
        return
    for path in events.glob("*/*.jsonl"):
        place = logs / path.parent.name / path.name
        place.parent.mkdir(parents=True, exist_ok=True)
        part = place.with_name(f".{place.name}.part")
        shutil.copy2(path, part)
        part.replace(place)


def test_copies_are_equal_go_on_where_they_were_and_count_for_a_collector(tmp_path: Path) -> None:
    node, logs = Node(tmp_path / "home", "mqtt:localhost:1883"), tmp_path / "logs"
    logs.mkdir()
    for turn in range(1, 4):
        node.grow(turn, 0, 50_000)
        node.grow(3, 0, 2_000)
        copy(node.root / "events", logs)
        assert landed(logs, node) == node.log()
        sizes = [segment.size for segment in LocalLogFiles(str(logs)).listing()[node.name]]
        assert sizes == [len(content) for content in node.log().values()]
    files = LandingFolder.open(logs, quota_bytes=10**9, keep_free_bytes=0)
    rows = files.rows(Log("open", node.name), SegmentId(0, 0), 9)
    files.close()
    assert [row.have for row in rows] == sizes
