"""The tool that runs the measurements."""

import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

from tests.bench import __main__ as bench
from tests.bench import machine, tables
from tests.bench.figure import Figure, Findings

RATE = Figure("serve entries", 12_345.678, "entries/s", "at least 10,000", ok=True)
START = Figure("start", 1.23456, "s", "at most 1 s", ok=False)
LOAD = Figure("idle", 0.5, "%")


@pytest.fixture
def benches(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Two measurements, ``good`` and ``slow``; returns the page that a run writes."""
    modules = {"good": [RATE, LOAD], "slow": [START]}
    for name in modules:
        (tmp_path / f"bench_{name}.py").touch()
    monkeypatch.setattr(bench, "FOLDER", tmp_path)
    monkeypatch.setattr(bench, "PAGE", tmp_path / "reference/benchmarks.md")
    monkeypatch.setattr(machine, "ROOT", tmp_path)
    for name, figures in modules.items():
        module = ModuleType(name)
        monkeypatch.setattr(module, "run", lambda figures=figures: figures, raising=False)
        monkeypatch.setitem(sys.modules, f"tests.bench.bench_{name}", module)
    return tmp_path / "reference/benchmarks.md"


def test_all_are_run_and_written_down(benches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main([]) == 1
    page = benches.read_text("utf-8")
    assert "| serve entries | 12,346 entries/s | at least 10,000 | yes     |" in page
    assert "| start  | 1.23 s   | at most 1 s | **no**  |" in page
    assert "| idle          | 0.5 %            | –               | –       |" in page
    assert page.index("## Good\n\nMeasured on: processor ") < page.index("## Slow\n\nMeasured on: processor ")
    assert "| idle " in capsys.readouterr().out


def test_one_alone_leaves_the_others_as_they_are(benches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    bench.main([])
    before = tables.sections(benches.read_text("utf-8"))
    monkeypatch.setattr(sys.modules["tests.bench.bench_good"], "run", lambda: [LOAD])
    assert bench.main(["--only", "good"]) == 0
    after = tables.sections(benches.read_text("utf-8"))
    assert after["Slow"] == before["Slow"]
    assert "serve entries" not in after["Good"]


def test_one_alone_is_a_page_of_one_section(benches: Path) -> None:
    assert bench.main(["--only", "good"]) == 0
    assert list(tables.sections(benches.read_text("utf-8"))) == ["Good"]


def test_just_to_be_looked_at(benches: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert bench.main(["--only", "slow", "--print"]) == 1
    assert "**no**" in capsys.readouterr().out
    assert not benches.exists()


def test_one_that_depends_on_luck_is_told_how_often(benches: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(seeds: int) -> Findings:
        return Findings([LOAD], f"{seeds} throws.")

    monkeypatch.setattr(sys.modules["tests.bench.bench_good"], "run", run)
    bench.main(["--only", "good", "--seeds", "4"])
    assert benches.read_text("utf-8").endswith("\n\n4 throws.\n")
    bench.main(["--only", "good"])
    assert benches.read_text("utf-8").endswith("\n\n10 throws.\n")
    with pytest.raises(SystemExit):
        bench.main(["--seeds", "0"])


def test_parts_are_sections_of_their_own_and_each_is_written_at_once(
    benches: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run() -> Iterator[Findings]:
        yield Findings([LOAD], "One.", "Good: first")
        raise InterruptedError

    monkeypatch.setattr(sys.modules["tests.bench.bench_good"], "run", run)
    with pytest.raises(InterruptedError):
        bench.main(["--only", "good"])
    assert list(tables.sections(benches.read_text("utf-8"))) == ["Good: first"]


def test_a_name_that_is_none_is_refused_with_those_there_are(
    benches: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        bench.main(["--only", "nothing"])
    assert "good" in capsys.readouterr().err


def test_the_machine_is_described_in_full() -> None:
    described = machine.describe()
    assert list(described)[:3] == ["processor", "cores", "memory"]
    assert all(described.values())


def test_a_durable_write_takes_time(tmp_path: Path) -> None:
    assert machine.sync_ms(tmp_path) > 0
