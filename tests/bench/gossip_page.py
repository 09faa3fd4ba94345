"""The section on gossip of the page of benchmarks."""

from collections.abc import Iterable, Sequence
from statistics import median

from tests.bench.figure import Figure, digits
from tests.bench.gossip_rows import ACCESS, EACH, HOPS_S, LOADS, ROWS, Measure, Row, Rules
from tests.bench.gossip_runs import Outcome, of
from tests.bench.tables import table

_ABOUT = """\
These figures are from the simulator, which runs the daemon's own `Node` class ([how](sim.md)), in virtual time, so a
busy machine changes nothing. Each figure is the median of {seeds} runs with seeds 1 to {seeds}, with the least and the
most beside it; `tinyssb sim --scenario NAME --seed N` repeats one of them. A figure counts as reached if its
median is, and if in *every* run all nodes stored everything in the end.

**× bound** is the airtime of all nodes and all packets (sketches, requests and replies, not only entries), from
the first packet until all agree, as a multiple of a lower bound: every entry and chunk sent once by each
node of a minimum connected dominating set, times the expected number of sends where packets get lost. For the *relays'
yardstick*, each of those nodes sends until all nodes that hear it have the packet from that node. The
target for several hops with loss uses this yardstick; both are shown there.
"""
_TERMS = f"""\
A *round* of set repair is a SKETCH and the packets that follow from it; by deployed rules, 20 s. {digits(HOPS_S)} s for
the line is eight times the time on the air and two seconds. The entry is published after ten minutes without traffic.

**× least airtime** is the time until all agree, as a multiple of the airtime of the entries and chunks in the busiest
neighbourhood by the same bound: nodes in reach of one node cannot send at the same time. The first hop of the line may
take 0.3 s beyond the time on the air, each further hop 0.5 s
([why these limits](../decisions/0057-windows-by-hidden-terminals.md)).
"""
_ORACLE = f"""\
### Against an oracle

[`tests/bench/oracle.py`](../../tests/bench/oracle.py) plays the same scenarios and seeds on the same ground and
channel, and knows what each node holds: no adverts, no requests, no waiting times. *Scheduled*, it also chooses which
nodes send at the same time. *By carrier sense*, each node that has something of use sends in {100 * ACCESS:g} % of the
slots in which it hears no other, so hidden terminals collide
([what follows for our targets](../decisions/0066-oracle.md)).
"""
_DEPLOYED = """\
### By deployed rules

The same scenarios and seeds, with the rules of the ESP32 boards ([which](sim.md#deployed-boards)). Most runs do
not end, so each is stopped after the given time; *so far* marks a figure up to that time, where most runs had not
ended. *held*: share that is stored of everything that all nodes should store, ids included, median. *sent per
needed*: packets sent for each packet that the bound counts as needed.
"""
_FLOODING = """\
### Against Meshtastic's flooding

[`tests/bench/managed_flooding.py`](../../tests/bench/managed_flooding.py) floods over the 60 nodes of `field60`: same
positions, same radio, same channel, 40 bytes a message. Undelivered messages stay lost. No duty cycle limits it. A
flooded packet has 16 + 40 bytes and is on the air for 641 ms; an entry has 120 + 4, carries a signature and its
position in its feed, and takes 1,067 ms.
"""
_PUBLISHED = """\
Meshtastic's own simulator, run with its defaults for 60 nodes on 15 × 15 km and this first load (hop limit 3,
LongFast, half an hour, one seed), reached 30.7 % of the nodes and had each node on the air for 5.6 % of the
time. So 60 × 1,800 s × 5.6 % = 6,048 s of airtime served 60 × 18 messages × 59 nodes × 30.7 % = 19,562
deliveries: 0.309 s each. Its path loss model differs from ours, so our figure must stay below the first row above,
not below this.
"""


def target(measure: Measure, most: float) -> str:
    """Describe the target."""
    if measure is EACH:
        return f"less than flooding's {digits(most)} {measure.unit}"
    return f"at most {digits(most)} {measure.unit}".rstrip()


def body(outcomes: Sequence[Outcome], figures: Sequence[Figure], seeds: int) -> str:
    """All of it."""
    return "\n".join(
        (
            _ABOUT.format(seeds=seeds),
            _ours(outcomes, figures),
            _TERMS,
            _ORACLE,
            _oracles(outcomes),
            _DEPLOYED,
            _deployed(outcomes),
            _FLOODING,
            _flooding(outcomes),
            _PUBLISHED,
        )
    )


def median_and_spread(values: Iterable[float], unit: str) -> tuple[str, str]:
    """Median with unit, and least to most."""
    ordered = sorted(values)
    middle = f"{digits(median(ordered))} {unit}".rstrip()
    return middle, f"{digits(ordered[0])} – {digits(ordered[-1])}"


def _ours(outcomes: Sequence[Outcome], figures: Sequence[Figure]) -> str:
    rows = []
    remaining = iter(figures)
    for number, row in enumerate(ROWS):
        ours = of(outcomes, number, Rules.OURS)
        for place, measure in enumerate(row.measures):
            figure = next(remaining)
            middle, spread = median_and_spread((outcome.values[place] for outcome in ours), measure.unit)
            rows.append(
                (
                    f"`{row.scenario}`",
                    row.title if len(row.measures) == 1 else f"{row.title}: {measure.name}",
                    figure.target,
                    middle,
                    spread,
                    f"{sum(outcome.agreed for outcome in ours)} of {len(ours)}",
                    figure.verdict,
                    _by_boards(row, of(outcomes, number, Rules.BOARDS), place),
                )
            )
    header = (
        "scenario",
        "case",
        "must reach",
        "median",
        "least – most",
        "runs in which all agreed",
        "reached",
        "by deployed rules",
    )
    return table(header, rows)


def _by_boards(row: Row, boards: Sequence[Outcome], place: int) -> str:
    """The same figure by deployed rules; where most runs were cut off, up to then."""
    if not boards:
        return "–"
    unit = row.measures[place].unit
    middle, _ = median_and_spread((outcome.values[place] for outcome in boards), unit)
    return middle if _most_agreed(boards) else f"{middle} so far"


def _most_agreed(boards: Sequence[Outcome]) -> bool:
    return 2 * sum(outcome.agreed for outcome in boards) > len(boards)


def _deployed(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for number, row in enumerate(ROWS):
        boards = of(outcomes, number, Rules.BOARDS)
        if not boards:
            continue
        needed = [outcome.per_needed for outcome in boards if outcome.per_needed is not None]
        rows.append(
            (
                row.title,
                f"{row.boards_hours:g} h",
                f"{sum(outcome.agreed for outcome in boards)} of {len(boards)}",
                f"{digits(100 * median(outcome.held for outcome in boards))} %",
                f"{digits(median(needed))}" if needed else "–",
                _by_boards(row, boards, 0),
            )
        )
    header = ("case", "time given", "runs in which all agreed", "held", "sent per needed", "figure")
    return table(header, rows)


def _oracles(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for number, row in enumerate(ROWS):
        for place, measure in enumerate(row.measures if row.oracles else ()):
            figures = []
            for rules in (Rules.OURS, Rules.ORACLE, Rules.LISTENING):
                played = of(outcomes, number, rules)
                values = (outcome.values[place] for outcome in played)
                figures.append(median_and_spread(values, measure.unit)[0] if played else "–")
            rows.append((f"`{row.scenario}`", f"{row.title}: {measure.name}", *figures))
    return table(("scenario", "case", "ours", "oracle, scheduled", "oracle, by carrier sense"), rows)


def _flooding(outcomes: Sequence[Outcome]) -> str:
    rows = []
    for number, load in enumerate(LOADS):
        floods = of(outcomes, number, Rules.FLOODING)
        each, spread = median_and_spread((outcome.values[0] for outcome in floods), "s")
        reach, _ = median_and_spread((outcome.values[1] for outcome in floods), "%")
        duty, _ = median_and_spread((outcome.values[2] for outcome in floods), "%")
        rows.append((f"flooding, {load.title}", each, spread, reach, duty))
    header = ("load", "airtime per message delivered", "least – most", "nodes reached", "busiest node on air")
    return table(header, rows)
