"""A node never spends more airtime than the law allows, in any hour, whatever befalls it."""

import random
from collections import defaultdict
from dataclasses import replace
from functools import partial

import pytest

from tests.nodes import AIR_PACKET_US, Bench, key_of, packets_of, radio_profile, written
from tests.scheduling.test_ledger import HOUR_US, Sent, most_in_a_window
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Refused, Send
from tinyssb_node.ids import FaceName, PacketKind
from tinyssb_node.node.node import Node
from tinyssb_node.scheduling.budget import BootReference
from tinyssb_node.scheduling.link import Allowance, LinkProfile
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.simulated_node import SimulatedNode, SimulationWatcher
from tinyssb_node.sim.world import AIR, World
from tinyssb_node.store.memory import MemoryStore

SECOND_US = 1_000_000
ONE_PERCENT = Allowance(band="EU868 868.0-868.6", limit_us=36 * SECOND_US, window_us=HOUR_US)
RADIO, OTHER_RADIO = FaceName("radio"), FaceName("other")
PACKETS_AN_HOUR = 36 * SECOND_US // AIR_PACKET_US
REQUESTS = {PacketKind.CLAIM, PacketKind.WANT, PacketKind.CHNK, PacketKind.NOVELTY}


class AirWatcher(SimulationWatcher):
    """Notes who was on the air, and when."""

    def __init__(self) -> None:
        self.sent: defaultdict[str, Sent] = defaultdict(list)

    def sending(self, inhabitant: SimulatedNode, send: Send, begin_us: int, end_us: int) -> None:
        assert send.face == AIR
        self.sent[inhabitant.name].append((begin_us, end_us))


def talkative_world(seed: int) -> tuple[World, AirWatcher]:
    """Six nodes that have far more to say than an hour has room for."""
    watcher = AirWatcher()
    world = World(
        seed,
        lambda chance: SimulatedMedium(MediumOptions(default_loss=0.1), chance),
        allowance=ONE_PERCENT,
        watchers=[watcher],
        keep_events=False,
    )
    for number in range(6):
        world.add(f"n{number}")
    world.acquaint()
    for number in range(6):
        for post in range(100):
            world.later(post * 30 * SECOND_US, partial(world.inject, f"n{number}", b"x" * 40))
    return world, watcher


@pytest.mark.parametrize("seed", [1, 2])
def test_no_hour_of_any_node_holds_more_than_one_percent(seed: int) -> None:
    world, watcher = talkative_world(seed)
    world.run_for(3 * HOUR_US)
    peaks_us = {name: most_in_a_window(sent, HOUR_US) for name, sent in watcher.sent.items()}
    assert len(peaks_us) == 6
    assert max(peaks_us.values()) <= ONE_PERCENT.limit_us
    # Used to the full: it is the law that holds them back, not the scheduler.
    assert max(peaks_us.values()) > ONE_PERCENT.limit_us * 9 // 10


def test_crashes_reboots_and_brown_outs_earn_no_air() -> None:
    world, watcher = talkative_world(3)
    chance = random.Random(3)
    for _ in range(60):
        name, down_us = f"n{chance.randrange(6)}", chance.randrange(600) * SECOND_US
        fault = chance.choice(["crash", "torn", "brown out", "clock"])
        deeds = {
            "crash": partial(world.crash, name, down_us),
            "torn": partial(world.crash, name, down_us, torn=True),
            "brown out": partial(world.brown_out, name, down_us),
            "clock": partial(world.set_clock, name, 100 * down_us),
        }
        world.at(chance.randrange(3 * 3_600) * SECOND_US, deeds[fault])
    world.run_for(4 * HOUR_US)
    assert max(most_in_a_window(sent, HOUR_US) for sent in watcher.sent.values()) <= ONE_PERCENT.limit_us


# --- one node, step by step


def lawful(allowance: Allowance = ONE_PERCENT) -> LinkProfile:
    return replace(radio_profile(), allowance=allowance)


def on_radio(store: MemoryStore | None = None, allowance: Allowance = ONE_PERCENT) -> Bench:
    """A node with a lawful radio."""
    return Bench(key=key_of("ana"), store=store, profile=lawful(allowance))


def spent_us(bench: Bench) -> int:
    (account,) = bench.node.air(bench.now_us)
    return account.used_us


def test_content_stops_at_its_share_and_goes_on_when_the_hour_has_passed() -> None:
    bench = on_radio()
    for _ in range(400):
        bench.publish(b"x")
    bench.pass_time(HOUR_US // 2)
    first = bench.take()
    assert len(first) <= PACKETS_AN_HOUR
    assert spent_us(bench) <= ONE_PERCENT.limit_us
    assert len([packet for packet in first if len(packet) == 120]) >= PACKETS_AN_HOUR // 2
    bench.pass_time(HOUR_US)
    assert len(bench.take()) > PACKETS_AN_HOUR // 2


def test_two_faces_in_one_sub_band_share_its_airtime() -> None:
    bench = on_radio()
    bench.up(OTHER_RADIO, lawful())
    for _ in range(400):
        bench.publish(b"x")
    bench.pass_time(HOUR_US - 10 * SECOND_US)
    assert {send.face for send in bench.outgoing} == {bench.node.faces()[0].name, OTHER_RADIO}
    assert PACKETS_AN_HOUR * 9 // 10 <= len(bench.outgoing) <= PACKETS_AN_HOUR
    assert len(bench.node.air(bench.now_us)) == 1


def test_a_face_without_a_limit_does_not_wait_for_one_with() -> None:
    bench = on_radio()
    wire = FaceName("wire")
    bench.up(wire, replace(radio_profile(), allowance=None))
    for _ in range(400):
        bench.publish(b"x")
    bench.pass_time(HOUR_US // 2)
    assert len([send for send in bench.outgoing if send.face == wire]) >= 400


def test_waiting_for_airtime_is_told_now_and_then() -> None:
    bench = on_radio()
    for _ in range(400):
        bench.publish(b"x")
    bench.pass_time(2 * HOUR_US)
    told = [event for event in bench.seen(Refused) if event.rule == "budget"]
    assert told
    assert len(told) <= 2 * 60
    assert sum(event.count for event in told) == bench.node.faces()[0].counters.held_back


def test_the_charge_is_committed_with_what_the_packet_reveals() -> None:
    bench = on_radio()
    bench.reports_sent = False
    effects = bench.node.publish(b"x", bench.now_us)[1]
    while not any(isinstance(effect, Send) for effect in effects):
        bench.store.commit(bench.now_us)
        due_us = bench.node.next_wake_us()
        assert due_us is not None
        bench.now_us = due_us
        effects = bench.node.wake(due_us)
    assert len(bench.store.charges()) == 1
    bench.store.rollback()
    assert bench.store.charges() == []


def test_a_crash_between_charge_and_send_counts_the_packet() -> None:
    bench = on_radio()
    bench.reports_sent = False
    bench.publish(b"x")
    while not bench.outgoing:
        bench.pass_time(SECOND_US)
    assert spent_us(bench) == AIR_PACKET_US
    bench.store.close()
    again = on_radio(bench.store)
    assert spent_us(again) == AIR_PACKET_US


def test_a_crash_loop_spends_no_more_than_one_long_run() -> None:
    store, packets = MemoryStore(), 0
    for _ in range(40):
        bench = on_radio(store)
        for _ in range(20):
            bench.publish(b"x")
        bench.pass_time(30 * SECOND_US)
        packets += len(bench.outgoing)
        store.close()
    assert packets <= PACKETS_AN_HOUR


def test_a_packet_the_face_gives_back_is_not_paid_for() -> None:
    bench = on_radio()
    bench.reports_sent = False
    bench.publish(b"x")
    while not bench.outgoing:
        bench.pass_time(SECOND_US)
    (send,) = bench.outgoing
    bench.perform(bench.node.busy(send.face, bench.now_us))
    assert spent_us(bench) == 0


def test_a_face_that_goes_down_with_a_packet_has_sent_it_as_far_as_the_law_goes() -> None:
    bench = on_radio()
    bench.reports_sent = False
    bench.publish(b"x")
    while not bench.outgoing:
        bench.pass_time(SECOND_US)
    bench.perform(bench.node.face_down(bench.outgoing[0].face, "unplugged", bench.now_us))
    assert spent_us(bench) == AIR_PACKET_US
    bench.now_us += HOUR_US
    assert spent_us(bench) == AIR_PACKET_US
    bench.now_us += 2 * AIR_PACKET_US
    assert spent_us(bench) == 0


def test_while_nothing_can_be_stored_nothing_is_sent() -> None:
    bench = Bench(key=key_of("ana"), profile=lawful(), read_only=True)
    for packet in packets_of(written(key_of("bob"), [b"one"])):
        bench.hear(packet)
    bench.pass_time(HOUR_US)
    assert bench.outgoing == []


def test_requests_leave_room_for_answers() -> None:
    """Neighbours that disagree for ever must not talk the hour away."""
    bench = on_radio(allowance=replace(ONE_PERCENT, limit_us=6 * SECOND_US))

    def disagree() -> None:
        queue = bench.node.transmit_queue(bench.node.faces()[0].name)
        assert queue is not None
        queue.want_timer.hear_inconsistent(bench.now_us)

    bench.pass_time(HOUR_US - 1, disagree)
    asked = [send for send in bench.outgoing if send.kind in REQUESTS]
    assert 10 <= len(asked) <= 15
    bench.outgoing.clear()
    for _ in range(40):
        bench.publish(b"news")
    bench.pass_time(10 * SECOND_US)
    assert [send.kind for send in bench.outgoing].count(PacketKind.ENTRY) >= 10


def test_time_down_counts_where_the_system_vouches_for_it() -> None:
    store = MemoryStore()
    bench = on_radio(store)
    for _ in range(400):
        bench.publish(b"x")
    bench.pass_time(600 * SECOND_US)
    used_us = spent_us(bench)
    store.close()

    def restarted(boot: BootReference) -> int:
        node = Node(store=store, network=Network(), entropy=random.Random(1), key=key_of("ana"), boot=boot)
        node.face_up(RADIO, lawful(), "radio", 0)
        return node.air(0)[0].used_us

    assert restarted(BootReference("unknown", 2 * HOUR_US)) < used_us
    assert restarted(BootReference("another", 2 * HOUR_US)) == used_us
