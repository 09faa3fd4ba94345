"""A hostile station keeps to its plan, in time and in airtime."""

import random

from tinyssb_node.ids import PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.sim.adversary import AttackedSimulation
from tinyssb_node.sim.hostile_packets import Lie
from tinyssb_node.sim.hostile_station import Behaviour, Plan, change_plan, draw_plan

HOUR_US = 3_600_000_000


def sent_by(plan: Plan, hours: float = 0.05) -> AttackedSimulation:
    simulation = AttackedSimulation("domain10", 0, plan, hours, 1)
    simulation.run()
    return simulation


def test_it_sends_by_the_clock_within_its_time() -> None:
    each = Behaviour(lie=Lie(kind="ping"), every_s=2.0, at_s=10.0, for_s=60.0)
    world = sent_by(Plan(behaviours=(each,))).world
    assert 20 <= world.sent[PacketKind.PING] <= 38


def test_it_reacts_to_what_it_hears() -> None:
    each = Behaviour(lie=Lie(kind="ping"), trigger="data", delay_s=0.01, every_s=1.0)
    sent = sent_by(Plan(behaviours=(each,), polite=False)).world.sent
    assert 10 < sent[PacketKind.PING] < sent[PacketKind.CODED] + sent[PacketKind.ENTRY]


def test_its_airtime_has_a_bound() -> None:
    each = Behaviour(lie=Lie(kind="junk"), every_s=0.25)
    simulation = sent_by(Plan(behaviours=(each,)), hours=0.2)
    spent_us = simulation.duty.peak_us[simulation.station]
    assert 0.9 < spent_us / (0.01 * HOUR_US) <= 1
    # Without listening first it keeps to it, too.
    rude = sent_by(Plan(behaviours=(each,), polite=False), hours=0.2)
    assert rude.duty.peak_us[rude.station] <= 0.01 * HOUR_US


def test_noise_takes_the_same_airtime_and_nobody_decodes_it() -> None:
    each = Behaviour(lie=Lie(kind="novelty", whose="made-up"), every_s=2.0)
    told, noisy = sent_by(Plan(behaviours=(each,))), sent_by(Plan(behaviours=(each,), noise=True))
    nodes = [run.world.inhabitants[next(iter(run.world.inhabitants))].node for run in (told, noisy)]
    heard, unheard = (node.replica.named_only_beyond for node in nodes if isinstance(node, Node))
    assert heard > unheard == 0
    spent_us = [run.duty.peak_us[run.station] for run in (told, noisy)]
    assert 0.5 < spent_us[1] / spent_us[0] < 2


def test_the_same_chance_draws_the_same_plan_and_one_change_is_one() -> None:
    plans = [draw_plan(random.Random(seed), 480) for seed in range(200)]
    assert plans == [draw_plan(random.Random(seed), 480) for seed in range(200)]
    assert len({each.lie.kind for plan in plans for each in plan.behaviours}) > 15
    changed = [change_plan(plan, random.Random(number), 480) for number, plan in enumerate(plans)]
    assert sum(map(Plan.__ne__, plans, changed)) > 100
    assert all(1 <= len(plan.behaviours) <= 4 for plan in changed)


def test_a_plan_is_read_in_one_line() -> None:
    each = Behaviour(lie=Lie(kind="claim", whose="one", truth="lie"), trigger="set", every_s=2.0, delay_s=0.1)
    assert str(Plan(behaviours=(each,), polite=False)) == (
        "claim whose=one truth=lie, every 2 s 0.1 s after set for 3600 s (without listening first)"
    )
