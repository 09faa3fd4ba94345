"""One face's turn on the air: whom it asks, whom it answers, and with what first."""

import pytest

from tests.nodes import AIR_PACKET_US, FACE, key_of, radio_profile, written
from tests.replication.replicas import offer, replica_of
from tests.scheduling.chances import Chance
from tinyssb_node import limits
from tinyssb_node.codec.packets import Want
from tinyssb_node.gossip.turn_taking import TurnTaking, feed_of
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.neighbours import GenerationSum, Gift
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.want import read_want
from tinyssb_node.scheduling.link import WIRED, LinkProfile, Reception, air_profile
from tinyssb_node.scheduling.transmit_queue import TransmitQueue
from tinyssb_node.store.memory import MemoryStore

ANA, BEN = sorted((key_of("ana"), key_of("ben")), key=lambda key: key.feed_id)
HELD = 40
"""Entries that we have of either feed."""
NOW_US = 1_000_000_000
REQUEST_US = limits.REQUEST_PACKETS * AIR_PACKET_US
KNOWN_US = limits.KNOWN_PACKETS * AIR_PACKET_US
US = b"us"
"""Not our name in any of these tests, which is made of chance."""


class Station:
    """A floor, and what it works on."""

    def __init__(self, profile: LinkProfile | None = None, held: int = HELD, luck: float = 0.5) -> None:
        self.now_us = NOW_US
        self.chance = Chance(luck)
        self.queue = TransmitQueue(FACE, profile or radio_profile(), "bench", self.chance, 0)
        self.replica: Replica = replica_of(MemoryStore(), ANA.feed_id, BEN.feed_id)
        for feed in (ANA, BEN):
            for entry in written(feed, [b"%d" % number for number in range(held)]):
                offer(self.replica, entry.packet)
        self.turns = TurnTaking(self.replica, self.queue, self.chance)

    def hear(
        self, speaker: bytes, ana: int, ben: int, asks: bytes = b"", reception: Reception = WIRED
    ) -> None:
        """Somebody says what it wants next of the two feeds."""
        want = Want(offset=0, seqs=(ana, ben), speaker=speaker, asks=asks)
        reading = read_want(self.replica.goset, want, self.replica.next_wanted)
        self.turns.heard_want(want, reading, reception, self.now_us)

    def asks(self, *, leaves: bool = True) -> bytes:
        """Return the addressee of a WANT that is built now, and that *leaves* unless the channel is busy."""
        speaker, asks = self.turns.address(self.now_us)
        assert speaker == self.turns.speaker
        if leaves:
            self.turns.want_sent(self.now_us)
        return asks

    def given(self) -> list[tuple[FeedId, int]]:
        """All that it gives now, in order."""
        places = []
        while (gift := self.give()) is not None:
            assert not isinstance(gift, GenerationSum)
            places.append(gift)
        return places

    def give(self) -> Gift | None:
        """Return what it gives now, and let that leave."""
        gift = self.turns.next_to_give(self.now_us)
        if gift is not None:
            self.turns.gave_chosen(self.now_us)
        return gift


@pytest.fixture
def station() -> Station:
    return Station()


def of_ana(*seqs: int) -> list[tuple[FeedId, int]]:
    return [(ANA.feed_id, seq) for seq in seqs]


# --- names


@pytest.mark.parametrize(("luck", "name"), [(0.0, b"\x00\x01"), (1 - 2**-53, b"\xff\xff")])
def test_its_name_is_made_of_chance_and_never_zero(luck: float, name: bytes) -> None:
    assert Station(luck=luck).turns.speaker == name


# --- whom it asks


def test_who_knows_nobody_asks_everybody(station: Station) -> None:
    assert station.asks() == b""


def test_who_has_most_for_us_is_asked(station: Station) -> None:
    station.hear(b"ab", HELD + 3, HELD + 1)
    station.hear(b"cd", HELD + 3, HELD + 2)
    station.hear(b"ef", HELD + 1, HELD + 1)
    assert station.asks() == b"cd"


def test_who_has_no_name_cannot_be_asked(station: Station) -> None:
    station.hear(b"", HELD + 9, HELD + 9)
    station.hear(b"ab", HELD + 2, HELD + 1)
    assert [station.asks() for _ in range(2)] == [b"ab", b""]


def test_who_has_nothing_for_us_is_not_asked(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1)
    assert station.asks() == b""


def test_who_is_hardly_heard_is_asked_only_if_nobody_is_heard_better() -> None:
    station = Station(air_profile([AIR_PACKET_US] * 121, snr_limit_db=-7.5))
    station.hear(b"ab", HELD + 9, HELD + 9, reception=Reception(snr_db=-8.0))
    assert station.asks() == b"ab"
    station.hear(b"cd", HELD + 3, HELD + 1, reception=Reception(snr_db=5.0))
    station.turns.heard_entry(ANA.feed_id, 1, station.now_us, new=False)
    assert station.asks() == b"cd"


def test_beyond_two_turns_more_is_not_better_than_heard_well() -> None:
    station = Station(air_profile([AIR_PACKET_US] * 121, snr_limit_db=-7.5))
    station.hear(b"ab", HELD + 999, HELD + 1, reception=Reception(snr_db=-1.5))
    station.hear(b"cd", HELD + 2 * limits.FLOOR_PACKETS, HELD + 1, reception=Reception(snr_db=4.5))
    assert station.asks() == b"cd"


def test_who_does_not_answer_is_forgotten_and_another_is_asked(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    station.hear(b"cd", HELD + 3, HELD + 1)
    assert [station.asks() for _ in range(3)] == [b"ab", b"cd", b""]
    station.hear(b"ab", HELD + 9, HELD + 9)
    assert station.asks() == b"ab"


def test_who_is_asked_is_kept_while_new_entries_come(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    for _ in range(3):
        assert station.asks() == b"ab"
        station.turns.heard_entry(BEN.feed_id, HELD + 1, station.now_us, new=True)


def test_a_replayed_entry_keeps_nobody_the_turn(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    assert station.asks() == b"ab"
    station.turns.heard_entry(BEN.feed_id, 1, station.now_us, new=False)
    assert station.asks() == b""


def test_what_comes_after_the_turn_is_not_taken_to_come_from_the_one_asked(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    assert station.asks() == b"ab"
    station.now_us += 4 * AIR_PACKET_US
    station.turns.heard_entry(BEN.feed_id, HELD + 1, station.now_us, new=True)
    assert station.asks() == b""


def boasts(station: Station, times: int) -> list[bytes]:
    """Names that never gave anything claim to have more, each once. Return which are asked, one request after each."""
    asked = []
    for number in range(times):
        station.hear(b"%02d" % number, 2**31, 2**31)
        asked.append(station.asks())
    return asked


def test_made_up_names_are_asked_ever_more_rarely(station: Station) -> None:
    asked = boasts(station, 40)
    assert asked[:2] == [b"00", b"01"]
    assert sum(1 for name in asked[:20] if name) <= 6
    # New neighbours are found out, in the end.
    assert all(any(asked[at : at + limits.TRIAL_EVERY_MAX]) for at in range(0, 32, limits.TRIAL_EVERY_MAX))


def test_a_neighbour_that_gave_something_is_asked_beside_made_up_names(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    asked = []
    for number in range(12):
        station.hear(b"%02d" % number, 2**31, 2**31)
        asked.append(station.asks())
        if asked[-1] == b"ab":
            station.turns.heard_entry(BEN.feed_id, HELD + 1, station.now_us, new=True)
    assert asked.count(b"ab") >= 6
    assert station.turns.believes(b"ab")


def test_who_could_not_be_asked_yet_is_not_forgotten(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    for _ in range(3):
        assert station.asks(leaves=False) == b"ab"


def test_who_was_silent_for_long_is_not_asked(station: Station) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    station.now_us += KNOWN_US - 1
    assert station.asks() == b"ab"
    station.hear(b"cd", HELD + 9, HELD + 9)
    station.now_us += KNOWN_US
    assert station.asks() == b""


def test_who_is_believed_little_is_heeded_now_and_then(station: Station) -> None:
    assert station.turns.heeds(b"ab", station.now_us)
    for number in range(limits.VAIN_ASKS):
        station.hear(b"a%d" % number, HELD + 9, HELD + 9)
    while station.turns.believes(b"ab"):
        station.asks()
    heeded = 0
    for _ in range(10 * limits.DOUBT_PACKETS):
        heeded += station.turns.heeds(b"ab", station.now_us)
        station.now_us += AIR_PACKET_US
    assert heeded == 10


# --- how patiently it asks


def patience_after(*offers: int) -> float:
    station = Station()
    for number, more in enumerate(offers, 1):
        station.hear(number.to_bytes(2), HELD + 1 + more, HELD + 1)
    return station.queue.want_patience


def test_the_more_one_of_them_has_the_sooner_it_asks() -> None:
    assert patience_after(limits.ASK_FULL) == patience_after(limits.ASK_FULL + 99) == 1.0
    assert patience_after(limits.ASK_FULL // 2, limits.ASK_FULL // 4) == 2.0
    assert patience_after(0) == patience_after(1) == limits.ASK_PATIENCE_MAX


def test_what_came_makes_it_more_patient(station: Station) -> None:
    station.hear(b"ab", HELD + 1 + limits.ASK_FULL, 1)
    entries = written(ANA, [b"%d" % number for number in range(HELD + limits.ASK_FULL)])
    for entry in entries[HELD : HELD + limits.ASK_FULL // 2]:
        offer(station.replica, entry.packet)
        seq = station.replica.frontier(ANA.feed_id)
        station.turns.heard_entry(ANA.feed_id, seq, station.now_us, new=True)
    assert station.queue.want_patience == 2.0


# --- whose request spares ours


@pytest.mark.parametrize(
    ("asks", "spares"),
    [(b"", False), (b"ab", True), (b"cd", False)],
    ids=["everybody", "a neighbour", "a stranger"],
)
def test_answers_from_strangers_are_not_heard_and_who_can_be_asked_by_name_is_to_be(
    station: Station, asks: bytes, spares: bool
) -> None:
    station.hear(b"ab", HELD + 9, HELD + 9)
    said = Want(offset=0, seqs=(1, 1), speaker=b"xy", asks=asks)
    assert station.turns.speaks_for_us(said) is spares


def test_who_knows_of_nothing_to_get_leaves_the_word_to_others(station: Station) -> None:
    station.hear(b"ab", HELD + 1, 5)
    assert station.turns.speaks_for_us(Want(offset=0, seqs=(1, 1), speaker=b"xy"))
    assert station.turns.speaks_for_us(Want(offset=0, seqs=(1, 1), speaker=b"xy", asks=station.turns.speaker))


# --- what it gives


def test_who_is_asked_by_name_gives_its_turn_and_no_more(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1, asks=station.turns.speaker)
    assert station.given() == of_ana(*range(3, 3 + limits.FLOOR_PACKETS))
    assert station.queue.reply_patience is None


def test_who_asked_somebody_else_is_given_nothing(station: Station) -> None:
    station.hear(b"ab", 3, 3, asks=US)
    assert station.given() == []
    assert station.queue.reply_patience is None


@pytest.mark.parametrize("speaker", [b"ab", b""])
def test_who_asked_everybody_is_given_as_much_as_ever(station: Station, speaker: bytes) -> None:
    station.hear(speaker, 3, HELD + 1)
    profile = station.queue.profile
    most = profile.burst_max if speaker else profile.burst
    assert station.given() == of_ana(*range(3, min(3 + most, HELD + 1)))


def test_what_did_not_leave_is_given_next(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1)
    assert station.turns.next_to_give(station.now_us) == (ANA.feed_id, 3)
    assert station.given()[0] == (ANA.feed_id, 3)


def test_what_another_gave_while_the_channel_was_busy_is_not_given(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1)
    assert station.turns.next_to_give(station.now_us) == (ANA.feed_id, 3)
    station.turns.heard_entry(ANA.feed_id, 3, station.now_us, new=False)
    assert station.given()[0] == (ANA.feed_id, 4)


def test_a_request_to_everybody_lapses(station: Station) -> None:
    station.hear(b"ab", 3, 3)
    station.now_us += REQUEST_US
    assert station.give() is None


def test_a_request_to_everybody_is_served_for_longer_while_others_are_heard_that_reply(
    station: Station,
) -> None:
    station.hear(b"ab", 3, 3)
    asked_us = station.now_us
    station.now_us += REQUEST_US - 1
    station.turns.heard_entry(ANA.feed_id, 3, station.now_us, new=False)
    station.now_us += 1
    assert station.give() is not None
    station.now_us = asked_us + limits.SHARED_REQUEST_PACKETS * AIR_PACKET_US
    assert station.give() is None


def test_who_asked_by_name_comes_before_those_who_asked_everybody(station: Station) -> None:
    station.hear(b"cd", HELD + 1, 1)
    station.hear(b"ab", 3, HELD + 1, asks=station.turns.speaker)
    places = station.given()
    assert places[: limits.FLOOR_PACKETS] == of_ana(*range(3, 3 + limits.FLOOR_PACKETS))
    assert places[limits.FLOOR_PACKETS] == (BEN.feed_id, 1)


def test_what_more_of_them_lack_goes_first(station: Station) -> None:
    station.hear(b"ab", 1, HELD)
    station.hear(b"cd", HELD + 1, HELD)
    assert station.give() == (BEN.feed_id, HELD)


def test_those_who_did_not_just_ask_count_a_little_less(station: Station) -> None:
    station.hear(b"ab", HELD + 1, 7, asks=US)
    station.hear(b"cd", 1, 7)
    assert station.give() == (BEN.feed_id, 7)
    station.hear(b"ef", 1, HELD + 1)
    assert station.give() == (ANA.feed_id, 1)


def test_who_asked_us_by_name_is_one_of_many_once_others_ask(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1, asks=station.turns.speaker)
    for name in (b"cd", b"ef"):
        station.hear(name, HELD + 1, 1)
    assert station.give() == (BEN.feed_id, 1)


def test_what_was_heard_meanwhile_is_not_given(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1)
    for seq in (3, 4, 6):
        station.turns.heard_entry(ANA.feed_id, seq, station.now_us, new=False)
    assert station.given()[:2] == of_ana(5, 7)


def test_what_others_gave_before_us_is_counted_once(station: Station) -> None:
    station.hear(b"ab", 1, HELD + 1)
    station.turns.heard_entry(ANA.feed_id, 1, station.now_us, new=False)
    station.turns.heard_entry(ANA.feed_id, 1, station.now_us, new=False)
    station.turns.heard_entry(BEN.feed_id, 1, station.now_us, new=False)
    assert station.queue.counters.spared == 1
    station.turns.heard_entry(ANA.feed_id, 2, station.now_us, new=True)
    assert station.queue.counters.spared == 1, "what is new to us we could not have given"


def test_what_was_heard_long_ago_is_given_again(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1, asks=US)
    station.turns.heard_entry(ANA.feed_id, 4, station.now_us, new=False)
    station.now_us += limits.MARK_PACKETS * AIR_PACKET_US
    station.hear(b"ab", 3, HELD + 1)
    assert station.given()[:2] == of_ana(3, 4)


def test_what_was_said_unasked_is_not_given_once_more(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1)
    station.turns.record_given(ANA.feed_id, 3, station.now_us)
    assert station.given()[0] == (ANA.feed_id, 4)


def test_it_goes_on_with_the_feed_that_chance_says() -> None:
    station = Station(luck=0.9)
    station.hear(b"ab", 1, 1)

    def next_feed() -> FeedId:
        gift = station.give()
        assert gift is not None
        return feed_of(gift)

    first = next_feed()
    assert next_feed() == first
    station.chance.value = -0.1
    assert next_feed() == first
    assert next_feed() != first


def test_a_feed_that_was_never_given_has_its_chance_beside_those_that_were() -> None:
    station = Station(luck=0.4)
    station.hear(b"ab", 1, 1)
    places = [station.give() for _ in range(2)]
    assert {feed_of(place) for place in places if place is not None} == {ANA.feed_id, BEN.feed_id}


# --- how patiently it gives


def test_who_serves_all_that_are_known_goes_as_soon_as_may_be(station: Station) -> None:
    station.hear(b"ab", 3, HELD + 1)
    assert station.queue.reply_patience == 1.0
    station.hear(b"cd", HELD + 1, HELD + 1)
    assert station.queue.reply_patience == 2.0


@pytest.mark.parametrize("hidden", [False, True])
def test_who_serves_few_of_many_goes_later(station: Station, hidden: bool) -> None:
    station.queue.note_exchange(hidden=hidden)
    station.hear(bytes(2), 3, HELD + 1)
    patience = []
    for number in range(1, limits.GIVE_FULL + 2):
        patience.append(station.queue.reply_patience)
        station.hear(number.to_bytes(2), HELD + 1, HELD + 1)
    assert patience == [*range(1, limits.GIVE_FULL + 1), limits.GIVE_FULL]


def test_who_has_spent_its_airtime_leaves_others_the_advantage(
    station: Station, monkeypatch: pytest.MonkeyPatch
) -> None:
    def patience(spent: float) -> float | None:
        monkeypatch.setattr(type(station.queue), "spent", lambda _queue, _now_us: spent)
        station.turns.update_urgency(station.now_us)
        return station.queue.reply_patience

    station.hear(b"aa", 3, HELD + 1)
    fresh = patience(0.0)
    assert fresh is not None
    assert patience(0.5) == fresh * (1 + limits.THRIFT / 2)
    assert patience(1.0) == fresh * (1 + limits.THRIFT)


def test_who_has_no_name_is_answered_as_soon_as_may_be(station: Station) -> None:
    station.hear(b"", 3, HELD + 1)
    assert station.queue.reply_patience == 1.0


def test_who_has_all_is_given_nothing(station: Station) -> None:
    station.hear(b"ab", HELD + 1, HELD + 5)
    assert station.queue.reply_patience is None


# --- news


def test_what_nobody_had_before_is_news(station: Station) -> None:
    station.hear(b"ab", 3, 1)
    assert not station.turns.is_unheard(ANA.feed_id, 2)
    assert station.turns.is_unheard(ANA.feed_id, 3)


# --- silence for others


def leaves_turn(station: Station, speaker: bytes, asks: bytes) -> bool:
    """A neighbour asks another node by name. Return True if we send no reply for as long as that needs to begin."""
    station.queue.put(b"reply", PacketKind.CLAIM, station.now_us)
    station.queue.heard(b"request", station.now_us)
    station.hear(speaker, HELD + 1, HELD + 1, asks=asks)
    sent = station.queue.pop(station.now_us + limits.VOID_TURN_PACKETS * AIR_PACKET_US)
    if sent is not None:
        station.queue.sent(1, station.now_us)
    station.queue.waiting.cancel(b"reply")
    station.now_us += 10 * AIR_PACKET_US
    return sent is None


@pytest.mark.parametrize("known", [False, True], ids=["made up", "of a neighbour"])
def test_a_name_that_is_asked_and_never_heard_gets_no_more_silence(known: bool) -> None:
    station = Station(luck=0.0)
    if known:
        station.hear(b"bb", 1, 1)
        station.now_us += REQUEST_US
    granted = [leaves_turn(station, b"aa", b"bb") for _ in range(3 * limits.VOID_TURNS_MAX)]
    assert granted == [True] * limits.VOID_TURNS_MAX + [False] * 2 * limits.VOID_TURNS_MAX


def test_a_name_that_is_heard_when_it_is_asked_keeps_its_turn() -> None:
    station = Station(luck=0.0)
    station.hear(b"bb", 1, 1)
    station.now_us += REQUEST_US
    for _ in range(3 * limits.VOID_TURNS_MAX):
        assert leaves_turn(station, b"aa", b"bb")
        station.now_us -= 9 * AIR_PACKET_US
        station.turns.heard_entry(ANA.feed_id, 1, station.now_us, new=False)
        station.now_us += 9 * AIR_PACKET_US


def test_nobody_is_silent_for_a_station_that_asks_itself() -> None:
    station = Station(luck=0.0)
    station.hear(b"aa", HELD + 1, HELD + 1)
    station.now_us += REQUEST_US
    assert not leaves_turn(station, b"aa", b"aa")


def test_neighbours_are_remembered_with_their_last_signal(station: Station) -> None:
    station.hear(b"ab", 1, 1, reception=Reception(rssi_dbm=-120, snr_db=-9.5))
    station.hear(b"", 1, 1)
    station.now_us += 7
    station.hear(b"ab", 2, 1, reception=Reception(rssi_dbm=-97, snr_db=7.25))
    assert [(one.speaker, one.said_us, one.rssi_dbm, one.snr_db) for one in station.turns.neighbours()] == [
        (b"", NOW_US, None, None),
        (b"ab", NOW_US + 7, -97, 7.25),
    ]
