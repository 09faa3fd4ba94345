"""When our own feed may be written, worked out by hand."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.nodes import radio_profile
from tinyssb_node.gossip.certainty import TipCertainty, TipUncertainError, TipUncertainty
from tinyssb_node.ids import FaceName
from tinyssb_node.scheduling.link import lan_profile, stream_profile
from tinyssb_node.store import limits

LAN, RADIO = FaceName("udp"), FaceName("lora")
SECOND = 1_000_000
LISTEN_US = 30 * SECOND
"""Two intervals of 15 s."""


def doubtful(doubt: TipUncertainty = TipUncertainty.RESTORED, known: int = 0) -> TipCertainty:
    certainty = TipCertainty(doubt, known)
    certainty.face_up(LAN, lan_profile(), 0)
    return certainty


def test_without_a_doubt_it_is_certain_at_once() -> None:
    certainty = TipCertainty()
    assert certainty.is_certain(0, 0)
    assert certainty.waiting(0, 0) is None


def test_a_doubt_ends_when_somebody_has_the_feed_and_says_no_more_for_a_while() -> None:
    certainty = doubtful()
    certainty.heard(LAN, 5, 5, SECOND)
    assert not certainty.is_certain(5, LISTEN_US - 1)
    assert certainty.is_certain(5, LISTEN_US)
    assert certainty.doubt is None


@pytest.mark.parametrize("claimed", [0, 4])
def test_who_has_less_than_we_is_no_witness(claimed: int) -> None:
    certainty = doubtful()
    certainty.heard(LAN, claimed, 5, 0)
    waiting = certainty.waiting(5, 1000 * LISTEN_US)
    assert waiting is not None
    assert not waiting.heard


def test_nor_is_who_has_nothing_when_we_have_nothing() -> None:
    certainty = doubtful()
    certainty.heard(LAN, 0, 0, 0)
    assert not certainty.is_certain(0, 1000 * LISTEN_US)


def test_entries_that_come_back_are_followed_by_silence_anew() -> None:
    certainty = doubtful()
    for at in (1, 20, 45):
        certainty.took(at * SECOND)
    assert not certainty.is_certain(3, 45 * SECOND + LISTEN_US - 1)
    assert certainty.is_certain(3, 45 * SECOND + LISTEN_US)


def test_without_a_link_no_time_counts() -> None:
    certainty = TipCertainty(TipUncertainty.COPIED)
    assert not certainty.is_certain(3, 1000 * LISTEN_US)
    certainty.face_up(LAN, stream_profile(), 1000 * LISTEN_US)
    certainty.heard(LAN, 3, 3, 1000 * LISTEN_US)
    assert not certainty.is_certain(3, 1000 * LISTEN_US)
    certainty.face_down(LAN)
    assert not certainty.is_certain(3, 2000 * LISTEN_US)
    certainty.face_up(LAN, stream_profile(), 2000 * LISTEN_US)
    assert certainty.is_certain(3, 2001 * LISTEN_US)


def test_the_slowest_link_that_is_up_decides() -> None:
    certainty = doubtful()
    certainty.face_up(RADIO, radio_profile(), 0)
    certainty.heard(LAN, 1, 1, 0)
    listen_us = limits.LISTEN_ADVERTS * radio_profile().advert_max_us
    assert LISTEN_US < listen_us < limits.LISTEN_MAX_US
    assert not certainty.is_certain(1, listen_us - 1)
    assert certainty.is_certain(1, listen_us)


def test_a_node_that_is_loaded_anew_does_not_begin_anew() -> None:
    certainty = doubtful()
    certainty.heard(LAN, 1, 1, 0)
    certainty.face_up(LAN, lan_profile(), LISTEN_US - 1)
    assert certainty.is_certain(1, LISTEN_US)


def test_what_was_written_here_has_to_be_back() -> None:
    certainty = doubtful(TipUncertainty.BEHIND, known=7)
    certainty.took(0)
    waiting = certainty.waiting(5, 100 * LISTEN_US)
    assert waiting is not None
    assert (waiting.held, waiting.expected) == (5, 7)
    assert "waiting for entries 6 to 7" in waiting.awaited
    assert certainty.is_certain(7, 100 * LISTEN_US)


def test_what_somebody_says_to_have_is_waited_for_but_not_for_ever() -> None:
    certainty = doubtful()
    certainty.heard(LAN, 1, 1, 0)
    certainty.heard(LAN, 9, 1, 10 * SECOND)
    certainty.heard(LAN, 2**32 - 2, 1, 20 * SECOND)
    patience_us = limits.CLAIM_PATIENCE * LISTEN_US
    waiting = certainty.waiting(1, 10 * SECOND + patience_us - 1)
    assert waiting is not None
    assert waiting.expected == 2**32 - 2
    assert certainty.is_certain(1, 10 * SECOND + patience_us)
    for second in range(1000):
        certainty.heard(LAN, 9, 1, second * SECOND)
        assert certainty.is_certain(1, second * SECOND), "a liar is believed once"


def test_each_entry_that_comes_makes_claims_worth_waiting_for() -> None:
    certainty = doubtful()
    certainty.heard(LAN, 9, 1, 0)
    patience_us = limits.CLAIM_PATIENCE * LISTEN_US
    certainty.took(patience_us - 1)
    assert not certainty.is_certain(2, 2 * patience_us - 2)
    assert certainty.is_certain(2, 2 * patience_us)


def test_who_is_certain_begins_to_doubt_when_somebody_has_more() -> None:
    certainty = TipCertainty()
    certainty.face_up(LAN, lan_profile(), 0)
    certainty.heard(LAN, 6, 5, SECOND)
    assert not certainty.is_certain(5, SECOND)
    assert certainty.doubt is TipUncertainty.CLAIMED
    waiting = certainty.waiting(5, 11 * SECOND)
    assert waiting is not None
    assert waiting.awaited == "waiting for entry 6, for 50 s more at most"
    assert certainty.is_certain(5, 61 * SECOND), "nothing came of it"


def test_a_claim_alone_is_waited_for_a_minute_also_on_a_slow_radio() -> None:
    # Before it was four times as long as such a face is listened to: 7 minutes.
    certainty = TipCertainty()
    certainty.face_up(RADIO, radio_profile(), 0)
    certainty.heard(RADIO, 2**31, 5, SECOND)
    assert not certainty.is_certain(5, 61 * SECOND - 1)
    assert certainty.is_certain(5, 61 * SECOND)


def test_a_peer_that_claimed_and_hung_up_is_not_waited_for() -> None:
    # Before it was 40 minutes, as no face was left that said how long to listen.
    certainty = TipCertainty()
    certainty.face_up(LAN, lan_profile(), 0)
    certainty.face_up(RADIO, radio_profile(), 0)
    certainty.heard(LAN, 2**31, 5, SECOND)
    certainty.face_down(RADIO)
    assert not certainty.is_certain(5, 2 * SECOND)
    certainty.face_down(LAN)
    assert certainty.is_certain(5, 2 * SECOND)
    certainty.face_up(LAN, lan_profile(), 3 * SECOND)
    certainty.heard(LAN, 2**31, 5, 4 * SECOND)
    assert certainty.is_certain(5, 4 * SECOND)


@pytest.mark.parametrize(
    ("ago_us", "waits"), [(limits.CLAIM_EVERY_US - 2, False), (limits.CLAIM_EVERY_US, True)]
)
def test_a_restart_brings_no_second_wait_on_the_same_day(ago_us: int, *, waits: bool) -> None:
    certainty = TipCertainty(waited_us=-ago_us)
    certainty.face_up(LAN, lan_profile(), 0)
    certainty.heard(LAN, 2**31, 5, 1)
    assert certainty.is_certain(5, 1) is not waits


def test_a_signed_entry_is_waited_for_whatever_was_claimed_that_day() -> None:
    certainty = TipCertainty(waited_us=-SECOND)
    certainty.face_up(LAN, lan_profile(), 0)
    certainty.took(SECOND)
    assert certainty.doubt is TipUncertainty.TWIN
    assert not certainty.is_certain(6, 2 * SECOND)


def test_and_more_so_when_it_comes() -> None:
    certainty = TipCertainty()
    certainty.face_up(LAN, lan_profile(), 0)
    certainty.heard(LAN, 6, 5, SECOND)
    certainty.took(2 * SECOND)
    assert certainty.doubt is TipUncertainty.TWIN
    assert not certainty.is_certain(6, 31 * SECOND)
    assert certainty.is_certain(6, 32 * SECOND)


def test_who_uses_a_key_twice_on_purpose_is_left_alone() -> None:
    certainty = TipCertainty(watch=False)
    certainty.heard(LAN, 6, 5, 0)
    certainty.took(0)
    assert certainty.is_certain(5, 0)


def test_its_user_may_be_sure() -> None:
    certainty = doubtful(TipUncertainty.BEHIND, known=7)
    certainty.heard(LAN, 9, 1, 0)
    certainty.be_sure()
    assert certainty.is_certain(1, 0)
    certainty.heard(LAN, 9, 1, 1)
    assert certainty.is_certain(1, 1), "claims do not change his mind"
    certainty.took(2)
    assert not certainty.is_certain(2, 2), "an entry does"


@pytest.mark.parametrize("doubt", TipUncertainty)
def test_every_doubt_is_told_in_words(doubt: TipUncertainty) -> None:
    certainty = doubtful(doubt, known=1)
    certainty.heard(LAN, 1, 0, 0)
    waiting = certainty.waiting(0, 0)
    assert waiting is not None
    assert waiting.reason in str(TipUncertainError(waiting))
    assert "waiting for entry 1, " in str(TipUncertainError(waiting))


def test_what_is_awaited_is_told_in_words() -> None:
    certainty = TipCertainty(TipUncertainty.MOVED)
    told = []
    for step in (
        lambda: None,
        lambda: certainty.face_up(LAN, lan_profile(), 0),
        lambda: certainty.heard(LAN, 1, 1, 0),
    ):
        step()
        waiting = certainty.waiting(1, 500_000)
        assert waiting is not None
        told.append(waiting.awaited)
    assert told == [
        "waiting for a link: none is up",
        "waiting to hear somebody who has this feed",
        "listening for 30 s more",
    ]


steps = st.lists(
    st.one_of(
        st.tuples(st.just("heard"), st.integers(0, 9)),
        st.tuples(st.just("took"), st.just(0)),
        st.tuples(st.just("up"), st.just(0)),
        st.tuples(st.just("down"), st.just(0)),
        st.tuples(st.just("wait"), st.integers(0, 200)),
    )
)


@given(
    st.sampled_from([TipUncertainty.RESTORED, TipUncertainty.BEHIND, TipUncertainty.COPIED]),
    st.integers(0, 5),
    steps,
)
def test_nobody_is_certain_without_a_witness_a_link_and_silence(
    doubt: TipUncertainty, known: int, happens: list[tuple[str, int]]
) -> None:
    certainty, held, now_us = TipCertainty(doubt, known), 0, 0
    up, witness, news_us = False, False, 0
    for what, number in happens:
        if what == "heard":
            certainty.heard(LAN, number, held, now_us)
            witness = witness or 0 < number == held
        elif what == "took":
            held += 1
            certainty.took(now_us)
            witness, news_us = True, now_us
        elif what == "up":
            if not up:
                news_us = now_us
            up = True
            certainty.face_up(LAN, lan_profile(), now_us)
        elif what == "down":
            up = False
            certainty.face_down(LAN)
        else:
            now_us += number * SECOND
        if certainty.is_certain(held, now_us):
            assert up
            assert witness
            assert held >= known
            assert now_us - news_us >= LISTEN_US
            return
