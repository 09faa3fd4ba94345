"""The picture shows what the report says."""

import re
from pathlib import Path

import pytest

from tinyssb_node.sim.plot import plot
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build


@pytest.mark.parametrize("name", ["domain10", "field30", "goset"])
def test_it_is_drawn_as_svg(name: str, tmp_path: Path) -> None:
    report = run_scenario(build(name, nodes=6, hours=1.0))
    path = tmp_path / "out.svg"
    plot(report, path)
    text = path.read_text("utf-8")
    assert text.startswith("<?xml")
    comments = re.findall(r"<!-- (.*?) -->", text)
    assert f"{name}: 6 nodes, seed 1" in comments
    assert {f"n{number}" for number in range(6)} <= set(comments)
    assert {str(kind) for kind in report.airtime_us} <= set(comments)


def test_the_same_report_is_the_same_picture(tmp_path: Path) -> None:
    report = run_scenario(build("line8", nodes=3, hours=0.5))
    plot(report, tmp_path / "one.png")
    plot(report, tmp_path / "two.png")
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "two.png").read_bytes()


def test_a_run_that_does_not_agree_and_a_mesh_too_large_for_names(tmp_path: Path) -> None:
    report = run_scenario(build("town", hours=0.01))
    plot(report, tmp_path / "out.svg")
    text = (tmp_path / "out.svg").read_text("utf-8")
    assert "<!-- not all agree -->" in text
    assert "<!-- n0 -->" not in text


def test_formats_that_are_none(tmp_path: Path) -> None:
    report = run_scenario(build("domain10", nodes=2))
    with pytest.raises(ValueError, match="not supported"):
        plot(report, tmp_path / "out.foo")
