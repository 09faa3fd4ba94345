"""A search for failures: one random scenario a seed, until there are no more seeds."""

from collections.abc import Iterator
from dataclasses import replace

from tinyssb_node.errors import SimulationFailedError, SimulationOptionError
from tinyssb_node.sim.report import SimulationReport
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build


def search(
    scenario: str, seeds: range, *, nodes: int | None = None, hours: float | None = None
) -> Iterator[SimulationReport | SimulationFailedError | SimulationOptionError]:
    """Run *scenario* once a seed and yield each result: a report, a failure, or the reason why there is no such mesh
    with this seed.

    Raises SimulationOptionError if there is no such scenario.
    """
    for seed in seeds:
        options = build(scenario, seed=seed, nodes=nodes, hours=hours)
        # Hundreds of times what converging seeds take, and minutes at most.
        options = replace(options, happenings=min(options.happenings, 5_000_000))
        try:
            yield run_scenario(options)
        except (SimulationFailedError, SimulationOptionError) as outcome:
            yield outcome
