"""`tinyssb sim`: play, report, draw, write logs, search."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from tinyssb_node.cli import sim_report
from tinyssb_node.cli.main import main
from tinyssb_node.errors import ExitCode
from tinyssb_node.sim import scenarios
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import SCENARIOS, build
from tinyssb_node.sim.topology import FieldTopology


class Screen:
    """Runs commands and gives what they print."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def run(self, *words: str) -> tuple[int, str, str]:
        code = main(["sim", *words])
        printed = self._capsys.readouterr()
        return code, printed.out, printed.err


@pytest.fixture
def screen(capsys: pytest.CaptureFixture[str]) -> Screen:
    return Screen(capsys)


def test_the_report_has_it_all(screen: Screen) -> None:
    code, out, err = screen.run("--nodes", "3", "--seed", "4")
    assert (code, err) == (0, "")
    assert "domain10, 3 nodes, seed 4" in out
    assert "30 published, 60 times delivered" in out
    assert "× the least possible (6.2 s)" in out
    for title in ("PACKET", "NODE", "all agree:", "delays:", "history:"):
        assert title in out
    assert "J (Pi Zero 2 W), " in out
    assert "contacts of" not in out
    assert any(block in out for block in "▂▃▄▅▆▇")
    assert out.count("\n") < 30


def test_contacts_of_a_node_that_is_mostly_away_are_reported(screen: Screen) -> None:
    code, out, _ = screen.run("--scenario", "mobile", "--hours", "0.1")
    assert code == 0
    assert "contacts of n0:" in out
    assert "entries and chunks crossed, which alone take" in out


def test_json_has_the_same_in_numbers(screen: Screen) -> None:
    code, out, _ = screen.run("--scenario", "idle", "--nodes", "2", "--hours", "1", "--json")
    assert code == 0
    row = json.loads(out)
    report = run_scenario(build("idle", nodes=2, hours=1.0))
    assert row["history"] == report.history
    assert row["ratio"] == round(report.ratio, 3)
    assert row["airtime_us"] == report.airtime_us
    assert set(row["idle_duty"]) == {"n0", "n1"}


def test_a_run_that_does_not_agree_says_so(screen: Screen) -> None:
    _, out, _ = screen.run("--scenario", "line8", "--hours", "0.01")
    assert "not within 36.0 s" in out


def test_all_scenarios_are_listed(screen: Screen) -> None:
    code, out, _ = screen.run("--list")
    assert code == 0
    for name, scenario in SCENARIOS.items():
        assert f"{name} " in out
        assert scenario.about in out


def test_a_file_is_played_and_options_override_it(screen: Screen, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        "seed = 9\nnodes = 5\nhours = 0.5\n[[traffic]]\nkind = 'backlog'\nnodes = ['n0']\nentries = 1\n"
    )
    _, out, _ = screen.run("--scenario", str(path), "--json")
    row = json.loads(out)
    assert (row["scenario"], row["seed"], row["nodes"], row["messages"]) == (str(path), 9, 5, 1)
    _, out, _ = screen.run(
        "--scenario", str(path), "--nodes", "2", "--seed", "0", "--boards", "n0,n1", "--json"
    )
    row = json.loads(out)
    assert (row["seed"], row["nodes"]) == (0, 2)
    assert "sketch" not in row["packets"]


def test_bad_files_and_bad_options_are_told(screen: Screen, tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("nodes = 3\nnoodles = 5\n")
    code, _, err = screen.run("--scenario", str(path))
    assert code == ExitCode.CONFIG
    assert "mine.toml, line 2 cannot be played: noodles: there is no such key; did you mean nodes?" in err
    code, _, err = screen.run("--nodes", "1000")
    assert code == ExitCode.CONFIG
    assert "Nodes: 1000 is not possible; it takes 1 to 200" in err
    code, _, err = screen.run("--scenario", "domian10")
    assert code == ExitCode.MISSING
    assert "Did you mean domain10?" in err
    code, _, err = screen.run("--scenario", "nowhere.toml")
    assert code == ExitCode.CONFIG
    assert "No such file" in err
    code, _, err = screen.run("--events", str(tmp_path))
    assert code == ExitCode.CONFIG


@pytest.mark.parametrize(
    "words", [("--seed", "-1"), ("--seed", str(2**63)), ("--hours", "long"), ("--nodes", "0")]
)
def test_numbers_that_are_none(screen: Screen, words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as end:
        screen.run(*words)
    assert end.value.code == ExitCode.USAGE


def test_logs_and_pictures_are_written(screen: Screen, tmp_path: Path) -> None:
    code, out, _ = screen.run(
        "--nodes", "2", "--events", str(tmp_path / "logs"), "--plot", str(tmp_path / "out.svg")
    )
    assert code == 0
    assert "domain10" in out
    assert len(list((tmp_path / "logs").rglob("*.jsonl"))) == 2
    assert (tmp_path / "out.svg").stat().st_size > 1_000


def test_a_picture_that_cannot_be_drawn_costs_no_report(screen: Screen, tmp_path: Path) -> None:
    for name in ("out.foo", "nowhere/out.svg"):
        code, out, err = screen.run("--nodes", "2", "--plot", str(tmp_path / name))
        assert code == ExitCode.UNAVAILABLE
        assert "domain10, 2 nodes" in out
        assert "was not drawn" in err


def test_without_matplotlib_it_says_what_to_install(
    screen: Screen, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tinyssb_node.sim.plot", None)
    monkeypatch.delitem(sys.modules, "tinyssb_node.sim.plot")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    code, _, err = screen.run("--nodes", "2", "--plot", str(tmp_path / "out.svg"))
    assert code == ExitCode.UNAVAILABLE
    assert "pip install 'matplotlib" in err


def test_a_failure_ends_with_the_line_that_replays_it(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def hopeless(seed: int, nodes: int):
        return replace(SCENARIOS["domain10"].make(seed, nodes), converge_s=1)

    monkeypatch.setattr(
        scenarios, "SCENARIOS", {**SCENARIOS, "random": scenarios.Scenario("hopeless", 3, hopeless)}
    )
    code, _, err = screen.run("--scenario", "random", "--seed", "2")
    assert code == ExitCode.SOFTWARE
    assert "tinyssb sim --scenario random --seed 2 --nodes 3 --hours 1" in err
    code, out, _ = screen.run("search", "--seeds", "2", "--first", "5")
    assert code == 1
    assert out.splitlines()[0] == "tinyssb sim --scenario random --seed 5 --nodes 3 --hours 1"
    assert "all agree once the network is whole" in out.splitlines()[1]
    assert out.splitlines()[-1] == "2 seeds played, 2 failed."
    code, out, _ = screen.run("--nodes", "2", "--hours", "0.5", "search", "--seeds", "9", "--failures", "3")
    assert out.splitlines()[0] == "tinyssb sim --scenario random --seed 1 --nodes 2 --hours 0.5"
    assert out.splitlines()[-1] == "3 seeds played, 3 failed."


def test_a_search_without_failures(screen: Screen) -> None:
    code, out, err = screen.run("search", "--seeds", "3", "--of", "goset")
    assert (code, out, err) == (0, "3 seeds played, 0 failed.\n", "")


def test_a_seed_that_makes_no_mesh_is_counted_and_left_out(
    screen: Screen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def narrow(seed: int, nodes: int):
        reach_m = 1.0 if seed == 2 else 100.0
        topology = FieldTopology(width_m=10_000, height_m=10_000 if seed == 2 else 10, reach_m=reach_m)
        return replace(SCENARIOS["goset"].make(seed, nodes), topology=topology)

    monkeypatch.setattr(
        scenarios, "SCENARIOS", {**SCENARIOS, "random": scenarios.Scenario("narrow", 3, narrow)}
    )
    code, out, _ = screen.run("--hours", "0.1", "search", "--seeds", "3")
    assert (code, out) == (0, "3 seeds played, 0 failed, 1 made no mesh.\n")


def test_a_terminal_gets_a_bar_that_is_wiped_away(screen: Screen, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    code, out, err = screen.run("--scenario", "idle", "--nodes", "2", "--hours", "1")
    assert code == 0
    assert "█" in err
    assert " 50% of the time" in err
    assert err.endswith("\r\x1b[K")
    assert "█ " not in out.splitlines()[0]


def test_the_curve_of_a_run_is_read_off_in_even_steps() -> None:
    report = run_scenario(build("domain10", nodes=2))
    curve = ((0, 0.0), (50, 0.5), (75, 0.99), (100, 1.0))
    line = sim_report.sparkline(replace(report, curve=curve, time_us=100))
    assert len(line) == 60
    assert (line[0], line[30], line[45], line[-1]) == ("▁", "▅", "█", "█")


def test_bulk_writes_logs_into_a_new_folder(screen: Screen, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    code, out, err = screen.run("--seed", "3", "bulk", str(folder), "--nodes", "5", "--hours", "2")
    assert (code, err) == (0, "")
    records = sum(len(path.read_bytes().splitlines()) for path in folder.glob("*/*.jsonl"))
    assert out == f"{records:,} records of 5 nodes and 2 hours are in {folder}.\n"
    assert len(list(folder.iterdir())) == 5
    kept = [path.read_bytes() for path in sorted(folder.glob("*/*.jsonl"))]
    code, _, err = screen.run("bulk", str(folder), "--nodes", "5", "--hours", "2", "--seed", "3")
    assert code == ExitCode.CONFIG
    assert f"Folder: {folder} cannot be made as a new folder" in err
    screen.run("bulk", str(tmp_path / "again"), "--nodes", "5", "--hours", "2", "--seed", "3")
    assert [path.read_bytes() for path in sorted((tmp_path / "again").glob("*/*.jsonl"))] == kept


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("--nodes", "1"), "Nodes: it takes 2 to"),
        (("--hours", "1.5"), "Hours: bulk logs take whole hours"),
        (("--hours", "inf"), "Hours: bulk logs take whole hours"),
    ],
)
def test_bulk_refuses_what_it_cannot_make(
    screen: Screen, tmp_path: Path, words: tuple[str, str], why: str
) -> None:
    code, _, err = screen.run("bulk", str(tmp_path / "logs"), *words)
    assert code == ExitCode.CONFIG
    assert why in err
    assert not (tmp_path / "logs").exists()


@pytest.mark.parametrize("word", ["--help", "sim"])
def test_help_does_not_load_the_simulator(word: str) -> None:
    program = (
        f"import sys; from tinyssb_node.cli.main import build_parser; build_parser(['{word}']);"
        "sys.exit(any(name.startswith('tinyssb_node.sim') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0


def test_the_worst_station_is_searched_and_played_again(screen: Screen) -> None:
    code, out, _ = screen.run("adversary", "--seeds", "2", "--first", "1")
    lines = out.splitlines()
    assert lines[-1].startswith("2 seeds played: median k ")
    worst = lines[0].partition(":")[0]
    assert code == (" 0 above" not in lines[-1])
    seed = worst.rpartition(" ")[2]
    replayed, out, _ = screen.run("--scenario", "domain10", "adversary", "--seed", seed)
    assert out.startswith(lines[0])
    assert "all agree:" in out
    assert "domain10, 11 nodes" in out
    assert replayed in {0, 1}


def test_only_some_scenarios_are_attacked(screen: Screen) -> None:
    code, _, err = screen.run("adversary", "--scenario", "mobile")
    assert code == ExitCode.CONFIG
    assert "domain10, field30" in err
