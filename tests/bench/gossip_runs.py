"""Plays the runs of the gossip benchmark, as many at a time as the machine has cores."""

import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass

from tests.bench.gossip_rows import ACCESS, LOADS, ROWS, Rules
from tests.bench.managed_flooding import flood
from tests.bench.oracle import schedule
from tinyssb_node import limits
from tinyssb_node.errors import SimulationFailedError
from tinyssb_node.sim.ground import place_nodes
from tinyssb_node.sim.options import SimulationOptions
from tinyssb_node.sim.report import SimulationReport
from tinyssb_node.sim.runner import run_scenario


@dataclass(frozen=True, slots=True)
class Job:
    """A run to be played."""

    row: int
    """Of ROWS; of LOADS for flooding."""
    rules: Rules
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Outcome of a run."""

    job: Job
    values: tuple[float, ...] = ()
    """One for each measure of the row; of flooding: seconds per message delivered, share reached, busiest duty."""
    agreed: bool = False
    """True if all nodes held all entries at last."""
    held: float = 0.0
    """Share of what all should hold that was held in the end."""
    per_needed: float | None = None
    """Packets sent for each that the bound says is needed; None where none is."""
    failure: str = ""
    """A checker's finding, and how to see it again; empty if there is none."""


def jobs(seeds: int) -> list[Job]:
    """All runs, those that take longest first, so that no core is left alone with one of them in the end."""
    ours = [Job(row, Rules.OURS, seed) for row in range(len(ROWS)) for seed in range(1, seeds + 1)]
    boards = [
        Job(row, Rules.BOARDS, seed)
        for row in range(len(ROWS))
        for seed in range(1, seeds + 1)
        if ROWS[row].boards_hours is not None
    ]
    floods = [Job(load, Rules.FLOODING, seed) for load in range(len(LOADS)) for seed in range(1, seeds + 1)]
    oracles = [
        Job(row, rules, seed)
        for row in range(len(ROWS))
        for rules in ROWS[row].oracles
        for seed in range(1, seeds + 1)
    ]
    return sorted([*ours, *boards, *floods, *oracles], key=_work, reverse=True)


def _work(job: Job) -> float:
    """About how long *job* takes: what boards send is heard by all, and they never stop."""
    if job.rules is Rules.FLOODING:
        return 0.0
    options = ROWS[job.row].options(job.rules, job.seed)
    return options.nodes**2 * options.hours * (1.0 if job.rules is Rules.BOARDS else 0.02)


def play(job: Job) -> Outcome:
    """One run."""
    if job.rules is Rules.FLOODING:
        outcome = flood(LOADS[job.row].options(job.seed))
        return Outcome(
            job=job, values=(outcome.airtime_each_us / 1e6, 100 * outcome.reach, 100 * outcome.duty_max)
        )
    row = ROWS[job.row]
    options = row.options(job.rules, job.seed)
    if job.rules in row.oracles:
        ideal = schedule(options, access=ACCESS if job.rules is Rules.LISTENING else None)
        values = tuple(measure.of_oracle(ideal) for measure in row.measures if measure.of_oracle)
        return Outcome(job=job, values=values, agreed=ideal.agreed)
    try:
        report = run_scenario(options)
    except SimulationFailedError as failure:
        return Outcome(job=job, failure=str(failure))
    boards = job.rules is Rules.BOARDS
    return Outcome(
        job=job,
        values=tuple(
            (measure.of_boards if boards and measure.of_boards else measure.of)(report)
            for measure in row.measures
        ),
        agreed=report.converged,
        held=report.curve[-1][1],
        per_needed=per_needed(options, report),
    )


def per_needed(options: SimulationOptions, report: SimulationReport) -> float | None:
    """Packets sent for each that had to be sent at least; None where nothing was published."""
    if not report.bound_us:
        return None
    packet_us = place_nodes(options).medium.airtime_us(limits.PACKET_SIZE + limits.CRC_SIZE)
    return sum(report.packets.values()) * packet_us / report.bound_us


def play_all(seeds: int) -> list[Outcome]:
    """All runs, with a line that says how far they are. Raises RuntimeError if a checker found what must not be."""
    todo = jobs(seeds)
    done: list[Outcome] = []
    began = time.monotonic()
    with ProcessPoolExecutor(max_workers=os.cpu_count()) as pool:
        for future in as_completed([pool.submit(play, job) for job in todo]):
            done.append(future.result())
            _tell(len(done), len(todo), time.monotonic() - began)
    return sound(done)


def sound(outcomes: list[Outcome]) -> list[Outcome]:
    """All of them. Raises RuntimeError if a checker found what must not be: then no figure means anything."""
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    if failures:
        raise RuntimeError("\n".join(failures))
    return outcomes


def _tell(done: int, of: int, taken_s: float) -> None:
    """Where somebody looks on, the line is written over; in a file, a tenth at a time is enough."""
    line = f"  {done} of {of} runs, {int(taken_s) // 60}:{int(taken_s) % 60:02d} min"
    if sys.stdout.isatty():
        sys.stdout.write(f"\r{line}" + ("\n" if done == of else ""))
    elif done * 10 // of > (done - 1) * 10 // of:
        sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def of(outcomes: Sequence[Outcome], row: int, rules: Rules) -> list[Outcome]:
    """Those of one row and rules, by seed."""
    found = [outcome for outcome in outcomes if outcome.job.row == row and outcome.job.rules is rules]
    return sorted(found, key=lambda outcome: outcome.job.seed)
