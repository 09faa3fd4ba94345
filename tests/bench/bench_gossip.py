"""How near gossip comes to the bound, and what deployed rules and flooding do in its place: medians over seeds."""

from statistics import median

from tests.bench import gossip_page
from tests.bench.figure import Figure, Findings
from tests.bench.gossip_rows import EACH, ITS_OWN_LOAD, ROWS, Measure, Rules
from tests.bench.gossip_runs import Outcome, of, play_all


def run(seeds: int) -> Findings:
    """Play everything, *seeds* times."""
    outcomes = play_all(seeds)
    return Findings(figures(outcomes), gossip_page.body(outcomes, figures(outcomes), seeds))


def figures(outcomes: list[Outcome]) -> list[Figure]:
    """The median of each measure of our rules, and whether it is good enough: if it is, and all agreed in every run."""
    found = []
    for number, row in enumerate(ROWS):
        ours = of(outcomes, number, Rules.OURS)
        agreed = all(outcome.agreed for outcome in ours)
        for place, measure in enumerate(row.measures):
            value = median(outcome.values[place] for outcome in ours)
            found.append(_figure(row.title, measure, value, most_of(measure, outcomes), agreed=agreed))
    return found


def most_of(measure: Measure, outcomes: list[Outcome]) -> float | None:
    """Return the limit of *measure*: for airtime per entry delivered, the need of flooding under its own load."""
    if measure is EACH:
        return median(outcome.values[0] for outcome in of(outcomes, ITS_OWN_LOAD, Rules.FLOODING))
    return measure.most


def _figure(title: str, measure: Measure, value: float, most: float | None, *, agreed: bool) -> Figure:
    name = f"{title}: {measure.name}"
    if most is None:
        return Figure(name, value, measure.unit, "all agree", agreed)
    target = gossip_page.target(measure, most)
    return Figure(name, value, measure.unit, target, agreed and value <= most)
