"""The gossip benchmark: what it plays, and how figures come of it."""

from dataclasses import replace

import pytest

from tests.bench import bench_gossip, gossip_page, gossip_runs
from tests.bench.gossip_rows import EACH, HOPS_S, ITS_OWN_LOAD, LOADS, ROWS, Rules
from tests.bench.gossip_runs import Job, Outcome, jobs, per_needed, play
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build

DOMAIN = next(number for number, row in enumerate(ROWS) if row.scenario == "domain10")
FIELD = next(number for number, row in enumerate(ROWS) if row.scenario == "field60")
GOSET = next(number for number, row in enumerate(ROWS) if row.scenario == "goset")
LINE = next(number for number, row in enumerate(ROWS) if row.scenario == "line8")
ORACLES = (Rules.ORACLE, Rules.LISTENING)


def outcome_of(job: Job) -> Outcome:
    """Made up: each run a little worse than the one before."""
    if job.rules is Rules.FLOODING:
        return Outcome(job=job, values=(0.3 + job.seed / 1_000, 40.0, 9.0))
    if job.rules is Rules.BOARDS:
        measures = ROWS[job.row].measures
        return Outcome(job=job, values=(500.0,) * len(measures), held=0.25, per_needed=2_000.0)
    if job.rules in ORACLES:
        return Outcome(job=job, values=(0.6 + job.seed / 10,) * len(ROWS[job.row].measures), agreed=True)
    values = tuple((measure.most or 0.2) * (0.9 + job.seed / 100) for measure in ROWS[job.row].measures)
    return Outcome(job=job, values=values, agreed=True, held=1.0, per_needed=1.2)


@pytest.fixture
def outcomes() -> list[Outcome]:
    return [outcome_of(job) for job in jobs(3)]


def test_every_row_is_played_by_our_rules_and_by_the_deployed_ones() -> None:
    todo = jobs(2)
    assert len(todo) == len(set(todo))
    for number, row in enumerate(ROWS):
        by = {rules: sum(job.row == number and job.rules is rules for job in todo) for rules in Rules}
        assert by[Rules.OURS] == 2
        assert by[Rules.BOARDS] == (0 if row.scenario == "mixed" else 2)
        assert all(by[rules] == (2 if rules in row.oracles else 0) for rules in ORACLES)
    assert sum(job.rules is Rules.FLOODING for job in todo) == 2 * len(LOADS)
    assert todo[0].rules is Rules.BOARDS


def test_deployed_rules_are_for_all_nodes_and_bounded() -> None:
    options = ROWS[DOMAIN].options(Rules.BOARDS, 4)
    assert (options.boards, options.hours, options.seed) == (("n0-n9",), 1, 4)
    assert ROWS[DOMAIN].options(Rules.OURS, 4) == build("domain10", seed=4)
    assert ROWS[GOSET + 1].options(Rules.OURS, 1).channel.loss == 0.2


def test_floods_have_the_ground_and_times_of_our_row() -> None:
    ours = ROWS[FIELD].options(Rules.OURS, 5)
    same = LOADS[1 - ITS_OWN_LOAD].options(5)
    assert same == replace(ours, hours=same.hours)
    own = LOADS[ITS_OWN_LOAD].options(5)
    assert (own.topology, own.radio, own.channel) == (ours.topology, ours.radio, ours.channel)


def test_a_run_is_read() -> None:
    repaired = play(Job(GOSET, Rules.OURS, 1))
    assert repaired.agreed
    assert repaired.held == 1.0
    assert repaired.per_needed is None
    assert 320 < repaired.values[0] < 5_000
    assert repaired.values[1] >= 1
    reached = play(Job(LINE, Rules.OURS, 2))
    assert reached.values[0] > 8 * 0.2
    by_boards = play(Job(LINE, Rules.BOARDS, 2))
    assert by_boards.per_needed is not None
    assert reached.per_needed is not None
    assert by_boards.per_needed > reached.per_needed > 1


def test_an_oracle_is_read_in_the_order_of_the_measures() -> None:
    airtime, time = play(Job(DOMAIN, Rules.ORACLE, 1)).values
    assert airtime == pytest.approx(1.0)
    assert 1.0 < time < 1.01
    field = next(number for number, row in enumerate(ROWS) if row.scenario == "field30")
    scheduled, listening = (play(Job(field, rules, 1)) for rules in ORACLES)
    assert scheduled.agreed
    assert listening.agreed
    assert all(one < other for one, other in zip(scheduled.values, listening.values, strict=True))


def test_a_flood_is_read() -> None:
    each_s, reached, duty = play(Job(1 - ITS_OWN_LOAD, Rules.FLOODING, 1)).values
    assert 0.05 < each_s < 1
    assert 50 < reached <= 100
    assert 0 < duty < 10


def test_what_is_sent_is_held_against_the_bound() -> None:
    options = build("domain10", nodes=3)
    report = run_scenario(options)
    # 30 entries, each to be sent once.
    assert per_needed(options, report) == pytest.approx(sum(report.packets.values()) / 30, rel=1e-6)


def test_what_a_checker_finds_ends_the_benchmark(
    outcomes: list[Outcome], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert gossip_runs.sound(outcomes) == outcomes
    hopeless = replace(build("domain10"), converge_s=1)
    monkeypatch.setattr(type(ROWS[DOMAIN]), "options", lambda *_: hopeless)
    failed = play(Job(DOMAIN, Rules.OURS, 1))
    with pytest.raises(RuntimeError, match="tinyssb sim --scenario domain10 --seed 1"):
        gossip_runs.sound([*outcomes, failed])


def test_medians_are_held_against_what_must_be_reached(outcomes: list[Outcome]) -> None:
    figures = {figure.name: figure for figure in bench_gossip.figures(outcomes)}
    domain = figures[f"{ROWS[DOMAIN].title}: airtime"]
    assert domain.value == pytest.approx(1.3 * 0.92)
    assert (domain.target, domain.ok) == ("at most 1.3 × bound", True)
    line = figures[f"{ROWS[LINE].title}: after"]
    assert line.target == "at most 17.6 s"
    assert pytest.approx(8 * 2.205056) == HOPS_S


def test_the_load_that_flooding_cannot_bear_says_what_airtime_is_worth(outcomes: list[Outcome]) -> None:
    each = next(figure for figure in bench_gossip.figures(outcomes) if figure.name.endswith(EACH.name))
    assert each.target == "less than flooding's 0.302 s"
    assert each.ok
    dearer = [
        replace(outcome, values=(0.31,))
        if outcome.job == Job(FIELD, Rules.OURS, outcome.job.seed)
        else outcome
        for outcome in outcomes
    ]
    each = next(figure for figure in bench_gossip.figures(dearer) if figure.name.endswith(EACH.name))
    assert not each.ok


def test_one_run_in_which_somebody_lacks_something_is_one_too_many(outcomes: list[Outcome]) -> None:
    short = [
        replace(outcome, agreed=False) if outcome.job == Job(DOMAIN, Rules.OURS, 2) else outcome
        for outcome in outcomes
    ]
    assert [figure.name for figure in bench_gossip.figures(short) if not figure.ok] == [
        f"{ROWS[DOMAIN].title}: airtime",
        f"{ROWS[DOMAIN].title}: time",
    ]


def cells_of(text: str, heading: str, beginning: str) -> list[str]:
    """The row of a table below *heading* whose first cell is *beginning*."""
    lines = text.partition(heading)[2].splitlines()
    line = next(line for line in lines if line.startswith(f"| {beginning} "))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_the_section_shows_both_side_by_side(outcomes: list[Outcome]) -> None:
    text = gossip_page.body(outcomes, bench_gossip.figures(outcomes), 3)
    assert "median of 3 runs" in text
    assert cells_of(text, "× bound", "`domain10`")[2:] == [
        "at most 1.3 × bound",
        "1.2 × bound",
        "1.18 – 1.21",
        "3 of 3",
        "yes",
        "500 × bound so far",
    ]
    assert cells_of(text, "### By deployed", ROWS[DOMAIN].title)[1:] == [
        "1 h",
        "0 of 3",
        "25 %",
        "2,000",
        "500 × bound so far",
    ]
    assert cells_of(text, "### Against an oracle", "`domain10`")[2:] == ["1.2 × bound", "0.8 × bound", "–"]
    flooding = cells_of(text, "### Against Mesh", f"flooding, {LOADS[ITS_OWN_LOAD].title}")
    assert flooding[1:] == ["0.302 s", "0.301 – 0.303", "40 %", "9 %"]


def test_a_figure_of_boards_that_came_to_an_end_is_final(outcomes: list[Outcome]) -> None:
    agreed = [replace(outcome, agreed=True) for outcome in outcomes]
    assert "500 × bound so far" in gossip_page.body(outcomes, bench_gossip.figures(outcomes), 3)
    assert "bound so far" not in gossip_page.body(agreed, bench_gossip.figures(agreed), 3)
