"""When a face is fed: wires at a steady pace, the air after a contention."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.nodes import AIR_PACKET_US, radio_profile
from tests.scheduling.chances import Chance
from tinyssb_node import limits
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile
from tinyssb_node.scheduling.pacer import Pacer, Urgency, make_pacer

BETWEEN_US = AIR_PACKET_US // 4
NOW_US = 1_000_000_000
LATEST = 0.999


def pacer(profile: LinkProfile) -> Pacer:
    return make_pacer(profile, Chance(), 0)


@pytest.fixture
def chance() -> Chance:
    return Chance(0.0)


@pytest.fixture
def air(chance: Chance) -> Pacer:
    return make_pacer(radio_profile(), chance, 0)


def waits_us(pacer: Pacer, now_us: int = NOW_US) -> list[int | None]:
    """How long answers, news carried on, and requests have to wait."""
    due_us = [pacer.due_us(urgency) for urgency in Urgency]
    return [None if each_us is None else each_us - now_us for each_us in due_us]


def packets_us(*packets: float) -> list[int | None]:
    """So many packets' time after the least silence."""
    return [BETWEEN_US + int(count * AIR_PACKET_US) for count in packets]


def contended(after: Sequence[float], luck: float) -> list[float]:
    """Packets' time by urgency for who draws the same *luck* for each."""
    return [least + luck * most for least, most in zip(after, limits.CONTENTION_PACKETS, strict=True)]


# --- wires


def test_a_face_holds_as_many_as_its_window() -> None:
    two = pacer(replace(stream_profile(), window=2))
    two.handed()
    assert waits_us(two, 0) == [0, 0, 0]
    two.handed()
    assert waits_us(two, 0) == [None, None, None]
    two.sent(1, 5)
    assert waits_us(two, 5) == [0, 0, 0]
    assert two.outstanding == 1


@pytest.mark.parametrize("profile", [stream_profile(), radio_profile()])
def test_more_sent_than_handed_is_the_faces_mistake(profile: LinkProfile) -> None:
    with pytest.raises(AssertionError):
        pacer(profile).sent(1, 0)


def test_a_stream_needs_no_silence() -> None:
    stream = pacer(stream_profile())
    stream.handed()
    stream.sent(1, 7)
    stream.heard(7, data=True)
    stream.wanted(7)
    stream.leave_turn(7, in_reach=False)
    stream.note_exchange(hidden=True)
    stream.heard_data(2.0)
    assert (stream.hidden, stream.shared_patience) == (0, 1.0)
    stream.take_turn(7)
    stream.asked(7)
    stream.crowd(30)
    assert stream.due_us(Urgency.ADVERT, limits.ASK_PATIENCE_MAX) == 7
    assert waits_us(stream, 7) == [0, 0, 0]


def test_a_local_network_gets_its_gap_and_no_more() -> None:
    lan = pacer(lan_profile())
    lan.handed()
    lan.sent(1, 10)
    lan.heard(10, data=True)
    assert waits_us(lan, 10) == [lan_profile().gap_us] * 3


def test_a_packet_that_a_wire_gave_back_is_with_it_no_more() -> None:
    lan = pacer(lan_profile())
    lan.handed()
    lan.busy(10)
    assert lan.outstanding == 0
    assert waits_us(lan, 10) == [lan_profile().gap_us] * 3


# --- the air


def test_a_radio_that_just_came_up_may_speak(air: Pacer) -> None:
    assert waits_us(air, 0) == [0, 0, 0]


def test_one_packet_at_a_time(air: Pacer) -> None:
    air.handed()
    assert waits_us(air) == [None, None, None]


@pytest.mark.parametrize(
    ("data", "after"), [(True, limits.AFTER_DATA_PACKETS), (False, limits.AFTER_VECTOR_PACKETS)]
)
def test_who_hears_waits_by_chance_and_by_urgency(
    air: Pacer, chance: Chance, data: bool, after: tuple[float, ...]
) -> None:
    air.heard(NOW_US, data=data)
    assert waits_us(air) == packets_us(*after)
    chance.value = LATEST
    air.heard(NOW_US, data=data)
    assert waits_us(air) == packets_us(*contended(after, LATEST))


def test_each_packet_heard_draws_anew(air: Pacer, chance: Chance) -> None:
    chance.value = LATEST
    air.heard(NOW_US, data=True)
    chance.value = 0.0
    air.heard(NOW_US + 1, data=True)
    assert waits_us(air, NOW_US + 1) == packets_us(*limits.AFTER_DATA_PACKETS)


def test_who_finds_the_channel_busy_draws_anew_and_holds_nothing(air: Pacer, chance: Chance) -> None:
    air.handed()
    chance.value = 0.25
    air.busy(NOW_US)
    assert air.outstanding == 0
    after_us = NOW_US + limits.BUSY_PACKETS * AIR_PACKET_US
    assert waits_us(air, after_us) == packets_us(*contended(limits.AFTER_DATA_PACKETS, 0.25))


def batch(air: Pacer, count: int) -> list[int | None]:
    """The wait for the next answer behind each of *count* packets sent at ``NOW_US``."""
    waits = []
    for _ in range(count):
        air.handed()
        air.sent(1, NOW_US)
        waits.append(waits_us(air)[Urgency.REPLY])
    return waits


def test_the_winner_sends_a_few_in_a_row_then_contends_again(air: Pacer) -> None:
    air.note_exchange(hidden=False)
    once = [limits.BATCH_GAP_US] * (limits.BATCH_PACKETS - 1) + packets_us(0)
    assert batch(air, 2 * limits.BATCH_PACKETS) == once + once


def test_only_answers_go_in_a_row(air: Pacer) -> None:
    batch(air, 1)
    assert waits_us(air)[1:] == packets_us(*limits.AFTER_DATA_PACKETS)[1:]


def test_the_gap_in_a_batch_is_too_short_for_others(air: Pacer) -> None:
    air.heard(NOW_US, data=True)
    least_us = waits_us(air)[Urgency.REPLY]
    assert least_us is not None
    assert least_us > limits.BATCH_GAP_US


@pytest.mark.parametrize("interruption", ["heard", "busy"])
def test_an_interrupted_batch_is_over(air: Pacer, interruption: str) -> None:
    batch(air, limits.BATCH_HIDDEN_PACKETS - 1)
    if interruption == "heard":
        air.heard(NOW_US, data=True)
    else:
        air.handed()
        air.busy(NOW_US - limits.BUSY_PACKETS * AIR_PACKET_US)
    assert waits_us(air)[Urgency.REPLY] == packets_us(0)[0]
    assert batch(air, 1) == [limits.BATCH_GAP_US]


def test_a_thought_out_of_silence_contends(air: Pacer, chance: Chance) -> None:
    chance.value = 0.5
    air.wanted(NOW_US)
    reply, *others = contended(limits.AFTER_VECTOR_PACKETS, 0.5)
    # Nobody asked: it is unlikely that another station replies at the same moment.
    assert waits_us(air) == packets_us(reply * limits.UNASKED_WINDOW, *others)


def test_a_thought_while_others_may_speak_waits_for_the_draw_it_has(air: Pacer, chance: Chance) -> None:
    air.heard(NOW_US, data=True)
    drawn_us = waits_us(air)
    chance.value = 0.5
    air.wanted(NOW_US + BETWEEN_US + 1)
    assert waits_us(air) == drawn_us


# --- taking turns


def test_who_is_asked_by_name_goes_at_once_and_so_often_in_a_row(air: Pacer, chance: Chance) -> None:
    chance.value = LATEST
    air.heard(NOW_US, data=False)
    air.take_turn(NOW_US)
    assert waits_us(air)[Urgency.REPLY] == limits.BATCH_GAP_US
    assert waits_us(air)[1:] == packets_us(*contended(limits.AFTER_TURN_PACKETS, LATEST))[1:]
    waits = batch(air, limits.FLOOR_PACKETS)
    assert waits[:-1] == [limits.BATCH_GAP_US] * (limits.FLOOR_PACKETS - 1)
    assert waits[-1] == packets_us(*contended(limits.AFTER_TURN_PACKETS, LATEST))[Urgency.REPLY]


def test_the_floor_is_lost_to_who_is_heard(air: Pacer) -> None:
    air.take_turn(NOW_US)
    air.heard(NOW_US, data=True)
    assert waits_us(air)[Urgency.REPLY] == packets_us(0)[0]


@pytest.mark.parametrize(
    ("in_reach", "packets"), [(False, limits.FLOOR_PACKETS), (True, limits.VOID_TURN_PACKETS)]
)
def test_while_somebody_else_has_the_floor_all_wait_longer(
    air: Pacer, chance: Chance, in_reach: bool, packets: int
) -> None:
    chance.value = 0.5
    air.take_turn(NOW_US)
    air.leave_turn(NOW_US, in_reach=in_reach)
    floor_us = packets * AIR_PACKET_US
    assert waits_us(air, NOW_US + floor_us) == packets_us(*contended(limits.AFTER_TURN_PACKETS, 0.5))
    # Until it is heard: then they wait for the end of what it says.
    air.heard(NOW_US + 1, data=True)
    assert waits_us(air, NOW_US + 1) == packets_us(*contended(limits.AFTER_TURN_PACKETS, 0.5))


def test_a_request_to_all_ends_the_turn_of_the_one_asked_before(air: Pacer) -> None:
    air.leave_turn(NOW_US, in_reach=True)
    air.heard(NOW_US, data=False)
    air.heard(NOW_US, data=True)
    assert waits_us(air) == packets_us(*limits.AFTER_DATA_PACKETS)
    air.leave_turn(NOW_US, in_reach=True)
    air.asked(NOW_US)
    air.heard(NOW_US, data=True)
    assert waits_us(air) == packets_us(*limits.AFTER_DATA_PACKETS)


# --- hidden terminals


def fill(air: Pacer) -> None:
    """Let so much be heard that the channel counts as fully loaded."""
    for _ in range(int(limits.LOAD_PACKETS)):
        air.heard(NOW_US, data=True)


def test_replies_to_one_request_are_spread_however_little_is_sent(air: Pacer) -> None:
    assert air.shared_patience == 1.0
    air.note_exchange(hidden=True)
    assert air.shared_patience == 1.0 + limits.HIDDEN_SPREAD[Urgency.REPLY]
    fill(air)
    assert air.shared_patience == 1.0, "`due_us` spreads them"


def test_hidden_terminals_matter_by_the_load_of_the_channel(air: Pacer) -> None:
    air.note_exchange(hidden=True)
    fill(air)
    advert = Urgency.ADVERT
    full_us = waits_us(air)[advert]
    half_us = NOW_US + int(limits.LOAD_PACKETS / 2 / limits.LOAD_LEAK * AIR_PACKET_US)
    air.heard(half_us, data=False)
    lighter_us = waits_us(air, half_us)[advert]
    idle_us = 10 * half_us
    air.heard(idle_us, data=False)
    least_us = waits_us(air, idle_us)[advert]
    assert full_us is not None
    assert lighter_us is not None
    assert least_us is not None
    after = limits.AFTER_VECTOR_PACKETS[advert]
    for load, found_us in (
        (0.5 + limits.LOAD_ADVERT / limits.LOAD_PACKETS, lighter_us),
        (limits.LOAD_ADVERT / limits.LOAD_PACKETS, least_us),
    ):
        wanted_us = BETWEEN_US + after * (1 + load * limits.HIDDEN_SPREAD[advert]) * AIR_PACKET_US
        assert found_us == pytest.approx(wanted_us, abs=2)
    assert least_us < lighter_us < full_us


def test_packets_for_stations_out_of_reach_widen_the_windows(air: Pacer, chance: Chance) -> None:
    some, many = limits.HIDDEN_SHARES
    for _ in range(200):
        air.note_exchange(hidden=False)
    assert air.hidden == 0
    shares = []
    for _ in range(30):
        air.note_exchange(hidden=True)
        shares.append(air.hidden)
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0, 1)
    assert any(0 < share < 1 for share in shares) or many - some < 0.1
    chance.value = 0.5
    fill(air)
    alone = contended(limits.AFTER_DATA_PACKETS, 0.5)
    spread = [1 + share for share in limits.HIDDEN_SPREAD]
    assert waits_us(air) == packets_us(*(each * more for each, more in zip(alone, spread, strict=True)))


def test_packets_that_anybody_can_make_up_count_little_beside_those_of_neighbours(air: Pacer) -> None:
    for _ in range(20):
        air.note_exchange(hidden=True, named=False)
    assert air.hidden == 1
    for _ in range(limits.HIDDEN_NAMED):
        air.note_exchange(hidden=False)
    for _ in range(20):
        air.note_exchange(hidden=True, named=False)
    assert air.hidden <= 0.5
    for _ in range(3):
        air.note_exchange(hidden=True)
    assert air.hidden == 1


def test_the_first_packet_for_a_station_out_of_reach_counts_at_once(air: Pacer) -> None:
    air.note_exchange(hidden=True)
    assert air.hidden == 1
    for _ in range(2):
        air.note_exchange(hidden=False)
    assert 0 < air.hidden < 1


def test_with_hidden_terminals_batches_are_shorter_and_turns_end_like_others(air: Pacer) -> None:
    air.note_exchange(hidden=True)
    waits = batch(air, limits.BATCH_HIDDEN_PACKETS)
    assert waits == [limits.BATCH_GAP_US] * (limits.BATCH_HIDDEN_PACKETS - 1) + packets_us(0)
    air.take_turn(NOW_US)
    fill(air)
    ask = limits.AFTER_DATA_PACKETS[Urgency.ADVERT] * (1 + limits.HIDDEN_SPREAD[Urgency.ADVERT])
    assert waits_us(air)[Urgency.ADVERT] == packets_us(ask)[0]


def test_who_asked_everybody_waits_as_behind_any_request(air: Pacer, chance: Chance) -> None:
    air.handed()
    air.sent(1, NOW_US)
    chance.value = 0.25
    air.asked(NOW_US)
    assert waits_us(air) == packets_us(*contended(limits.AFTER_VECTOR_PACKETS, 0.25))


def test_patience_widens_the_chance_and_puts_requests_behind(air: Pacer, chance: Chance) -> None:
    chance.value = 0.25
    air.heard(NOW_US, data=True)
    waits = [air.due_us(urgency, 3.0) for urgency in Urgency]
    packets = [
        after + 3 * 0.25 * most
        for after, most in zip(limits.AFTER_DATA_PACKETS, limits.CONTENTION_PACKETS, strict=True)
    ]
    packets[Urgency.ADVERT] += 2 * limits.ASK_PATIENCE_PACKETS
    assert [each_us - NOW_US for each_us in waits if each_us is not None] == packets_us(*packets)


def test_patience_is_none_within_a_batch(air: Pacer) -> None:
    batch(air, 1)
    assert air.due_us(Urgency.REPLY, limits.GIVE_PATIENCE_MAX) == NOW_US + limits.BATCH_GAP_US


@pytest.mark.parametrize(
    ("neighbours", "share"), [(0, 1.0), (1, 0.5), (2, 1.0), (limits.NEIGHBOURS_MAX, 1.0)]
)
def test_few_stations_spread_less_wide_but_for_news(
    air: Pacer, chance: Chance, neighbours: int, share: float
) -> None:
    chance.value = 0.5
    air.heard(NOW_US, data=True)
    alone = contended(limits.AFTER_DATA_PACKETS, 0.5)
    air.crowd(neighbours)
    answer, carry, ask = alone
    assert waits_us(air) == packets_us(answer * share, carry, ask * share)


def talk(air: Pacer, count: int, gap_packets: int, now_us: int = NOW_US) -> int:
    """So many packets that tell nothing new are heard. Return the time of the last one."""
    for _ in range(count):
        now_us += gap_packets * AIR_PACKET_US
        air.heard(now_us, data=False)
        air.heard_talk()
    return now_us


def test_talk_without_news_does_not_delay_requests(air: Pacer) -> None:
    now_us = talk(air, 1, 5)
    assert waits_us(air, now_us) == packets_us(*limits.AFTER_VECTOR_PACKETS)
    now_us = talk(air, 8, 5, now_us)
    reply, _, request = waits_us(air, now_us)
    assert request == reply == packets_us(limits.AFTER_VECTOR_PACKETS[Urgency.REPLY])[0]
    # Data, or time, and it waits for replies again.
    for _ in range(8):
        now_us += AIR_PACKET_US
        air.heard(now_us, data=True)
        air.heard_useful()
    assert waits_us(air, now_us) == packets_us(*limits.AFTER_DATA_PACKETS)


def test_strays_in_between_do_not_make_talk_forgotten(air: Pacer) -> None:
    """Each kind let the other be forgotten: who sent both in turns kept all others from requesting."""
    now_us = NOW_US
    for _ in range(8):
        now_us = talk(air, 1, 1, now_us)
        now_us += AIR_PACKET_US
        air.heard(now_us, data=True)
        air.heard_useless(stray=True)
    reply, _, request = waits_us(air, now_us)
    assert request == reply


def data(air: Pacer, *wastes: float) -> None:
    """Let entries and chunks be heard, each of so little worth."""
    for waste in wastes:
        air.heard(NOW_US, data=True)
        air.heard_data(waste)


def test_data_that_adds_nothing_does_not_delay_requests_for_ever(air: Pacer) -> None:
    answer_us, _, request_us = packets_us(*limits.AFTER_DATA_PACKETS)
    data(air, *[2.0] * 5)
    assert waits_us(air)[Urgency.ADVERT] == request_us
    data(air, 2.0)
    assert waits_us(air)[Urgency.ADVERT] == answer_us
    data(air, 0.0)
    assert waits_us(air)[Urgency.ADVERT] == request_us


def test_data_for_others_delays_requests_while_some_of_it_is_for_us(air: Pacer) -> None:
    _, _, request_us = packets_us(*limits.AFTER_DATA_PACKETS)
    for _ in range(20):
        data(air, *[1.0] * 11, 0.0)
        assert waits_us(air)[Urgency.ADVERT] == request_us
    data(air, *[0.5] * 23)
    assert waits_us(air)[Urgency.ADVERT] == request_us


def test_seldom_talk_changes_nothing(air: Pacer) -> None:
    now_us = talk(air, 30, 17)
    assert waits_us(air, now_us) == packets_us(*limits.AFTER_VECTOR_PACKETS)
