"""The hunt for failures: one random scenario a seed, until there are no more seeds."""

from collections.abc import Iterator

from tinyssb_node.errors import SimulationFailedError
from tinyssb_node.sim.report import Report
from tinyssb_node.sim.runner import run_scenario
from tinyssb_node.sim.scenarios import build


def search(
    scenario: str, seeds: range, *, nodes: int | None = None, hours: float | None = None
) -> Iterator[Report | SimulationFailedError]:
    """Play *scenario* once a seed; what came of each. Raises OptionError if there is no such scenario."""
    for seed in seeds:
        options = build(scenario, seed=seed, nodes=nodes, hours=hours)
        try:
            yield run_scenario(options)
        except SimulationFailedError as failure:
            yield failure
