"""A hostile peer at each face for a moment, and that the measurement finds what is too much."""

import re
from itertools import islice
from pathlib import Path

import pytest

from tests.daemon.processes import make_home
from tests.torture.checks import BrokenError
from tests.torture.hostile import GROWTH_MAX, P95_MAX_MS, Outcome, attack
from tests.torture.hostile_faces import FACES
from tests.torture.hostile_traffic import Traffic
from tests.torture.resources import p95_ms

SECONDS = 4.0
"""Length of an attack here; `make torture` takes ten minutes for each."""
NEEDS = {"mqtt": pytest.mark.mosquitto, "bluetooth": pytest.mark.dbus}


@pytest.mark.slow
@pytest.mark.realtime
@pytest.mark.parametrize("name", [pytest.param(name, marks=NEEDS.get(name, ())) for name in FACES])
def test_a_node_goes_on_in_order_beside_a_hostile_peer(name: str, tmp_path: Path) -> None:
    outcome = attack(name, SECONDS, disk=tmp_path)
    assert outcome.sent
    assert outcome.overridden <= 1
    # The limits are for ten minutes and judged by `make torture`: seconds on a busy machine say little about them.
    assert outcome.grown <= 4 * GROWTH_MAX


def measured(**changes: object) -> Outcome:
    """Figures of a node in order, with *changes*."""
    figures: dict[str, object] = {"took_s": [0.02] * 40, "queued_s": [0.0] * 40, "grown": 10**6}
    return Outcome("udp", **{**figures, **changes})  # type: ignore[arg-type]  # a test makes it of parts


@pytest.mark.parametrize(
    "changes",
    [
        {"grown": GROWTH_MAX + 1},
        {"took_s": [0.02] * 30 + [P95_MAX_MS / 900] * 10},
        {"overridden": 2},
    ],
)
def test_a_limit_that_is_not_kept_names_the_face(changes: dict[str, object]) -> None:
    measured().check()
    with pytest.raises(BrokenError, match="udp: publish"):
        measured(**changes).check()


def test_time_in_which_other_programs_had_the_processors_does_not_count() -> None:
    waiting = measured(took_s=[0.3] * 40, queued_s=[0.25] * 40)
    waiting.check()
    assert re.search(r"p95 50 ms \(300 ms", str(waiting))


def test_one_slow_entry_in_twenty_is_not_in_the_p95() -> None:
    assert p95_ms([0.01] * 39 + [9.0]) == pytest.approx(10.0)
    assert p95_ms([0.5]) == 500.0
    assert p95_ms([]) == 0.0


def test_traffic_is_of_all_sorts_and_the_same_again(tmp_path: Path) -> None:
    make_home(tmp_path / "home")
    packets = [list(islice(Traffic(tmp_path / "home", "seed").packets(), 3_000)) for _ in range(2)]
    assert packets[0] == packets[1]
    sizes = {len(packet) for packet in packets[0]}
    assert {120, 48} < sizes
    assert max(sizes) > 120
