from dataclasses import replace

import pytest

from tests.islands.locator.test_maintenance import LABEL, MINE, beside
from tests.islands.locator.test_peers import BY_POSITION
from tests.islands.locator.villages import (
    GROUP,
    PORT,
    SETTINGS,
    TCP,
    Village,
    alone,
    befriend,
    located,
    peer,
    place,
    said,
    tell,
)
from tinyssb_node.errors import LocalError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, node_of
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    RoutingHint,
    parse,
    serialize,
)
from tinyssb_node.islands.locator.values import (
    Advert,
    Effect,
    Label,
    Location,
    LookupEnded,
    NewerVersionReported,
    ResourceFound,
    ResourceNotFound,
    ResourceParameters,
    SendDatagram,
    label_of_address,
)

NEAR, FAR = BY_POSITION[2][0], BY_POSITION[0][0]
SOURCE = peer(77)
NOBODY = Peer(b"", PORT)


def knowing(*known: Location, friends: tuple[int, ...] = (NEAR, FAR), label: Label = LABEL) -> Locator:
    locator = alone()
    befriend(locator, *friends)
    for one in known:
        locator.context.map.add(label, one, 0, proved=True)
    return locator


def asked(
    locator: Locator, label: Label = LABEL, hint: RoutingHint = RoutingHint.TIME, requestor: Peer = NOBODY
) -> list[tuple[Peer, object]]:
    return [*said(tell(locator, LocatorQuery(requestor, label, b"cookie", hint), SOURCE))]


def query_of(effects: list[Effect]) -> LocatorQuery:
    (query,) = [message for _, message in said(effects) if isinstance(message, LocatorQuery)]
    return query


def reported(label: Label, cookie: bytes, *locations: Location, exact: bool = False) -> LocatorReport:
    return LocatorReport(None, cookie, label, locations, exact)


# --- queries of others


def test_a_query_goes_on_to_who_is_closer_and_as_large_as_it_came() -> None:
    for hint in RoutingHint:
        locator = knowing()
        (effect,) = tell(locator, LocatorQuery(NOBODY, LABEL, b"cookie", hint), SOURCE)
        ((to, query),) = said([effect])
        assert to == peer(NEAR)
        assert isinstance(query, LocatorQuery)
        assert (query.requestor, query.label, query.hint) == (NOBODY, LABEL, hint)
        assert query.cookie != b"cookie"
        assert isinstance(effect, SendDatagram)
        assert len(effect.datagram) == limits.QUERY_SIZE


def test_who_knows_answers_who_asked_and_passes_on_until_it_knows_enough() -> None:
    few = [located(number, 5) for number in range(10, 13)]
    enough = [*few, located(13, 5)]
    uncounted = [*few, located(13, 5, 254), located(14, 4, old=True)]
    for known, goes_on in ((few, True), (enough, False), (uncounted, True)):
        sent = asked(knowing(*known))
        (to, report), rest = sent[0], sent[1:]
        assert isinstance(report, LocatorReport)
        assert (to, report.destination, report.cookie, report.exact) == (SOURCE, None, b"cookie", False)
        assert {*report.locations} <= {*known}
        assert [to for to, _ in rest] == ([peer(NEAR)] if goes_on else [])


def test_a_query_that_names_another_or_is_too_short_for_its_answers_is_dropped() -> None:
    locator = knowing(located(10, 5))
    for other in (peer(NEAR), peer(78), Peer(SOURCE.node, TCP), peer(0)):
        assert asked(locator, requestor=other) == []
    assert asked(locator, requestor=SOURCE)
    query = serialize(LocatorQuery(NOBODY, LABEL, b"cookie"), GROUP)
    short = query[:40] + query[-len(GROUP) - 2 :]
    assert parse(short, GROUP) == parse(query, GROUP)
    assert locator.receive(short, SOURCE, 0) == []
    assert locator.counts().drops == {"address": 4, "short": 1}


def test_the_best_locations_come_first_if_not_all_may_be_sent() -> None:
    known = [located(10, 3, old=True), located(11, 9, 100), located(12, 9), located(13, 8, old=True)]
    many = [located(number, 2, old=True) for number in range(20, 50)]
    locator = alone(replace(SETTINGS, location_set_max=100))
    befriend(locator, NEAR, FAR)
    for one in (*known, *many):
        locator.context.map.add(LABEL, one, 0, proved=True)
    ((_, report), _) = asked(locator)
    assert isinstance(report, LocatorReport)
    assert report.locations[:4] == (
        located(12, 9),
        located(11, 9, 100),
        located(13, 8, old=True),
        located(10, 3, old=True),
    )
    assert 16 <= len(report.locations) < 34, "as many as a node keeps, but not all"
    assert len(serialize(report, GROUP)) <= 3 * limits.QUERY_SIZE


def test_what_we_have_is_reported_as_it_is_now() -> None:
    locator = knowing(located(0, 3, old=True), located(10, 5), friends=(FAR,))
    locator.offer(LABEL, ResourceParameters(7), 0)
    ((_, report),) = asked(locator)
    assert isinstance(report, LocatorReport)
    assert report.locations == (located(0, 7), located(10, 5))
    locator.offer(LABEL, ResourceParameters(4), 0)
    ((_, report),) = asked(locator)
    assert isinstance(report, LocatorReport)
    assert report.locations == (located(10, 5), located(0, 4, old=True))
    assert locator.context.map.known(LABEL) == (located(0, 3, old=True), located(10, 5))


def test_nobody_closer_and_nothing_known_is_not_found() -> None:
    locator = knowing(friends=(FAR,))
    assert asked(locator) == [(SOURCE, LocatorReport(None, b"cookie", LABEL, ()))]


def test_a_node_says_that_a_label_is_its_own() -> None:
    locator = knowing()
    ((_, report),) = asked(locator, label=MINE)
    assert report == LocatorReport(None, b"cookie", MINE, (), True)


def test_a_query_does_not_go_back_to_who_asks() -> None:
    locator = knowing()
    sent = said(tell(locator, LocatorQuery(NOBODY, LABEL, b"c"), peer(NEAR)))
    assert sent == [(peer(NEAR), LocatorReport(None, b"c", LABEL, ()))]


def test_who_knows_nobody_answers_too() -> None:
    assert asked(knowing(friends=())) == [(SOURCE, LocatorReport(None, b"cookie", LABEL, ()))]


def test_who_sent_enough_gets_all_in_parts_that_fit() -> None:
    wide = replace(SETTINGS, location_set_max=100)
    locator = alone(wide)
    befriend(locator, FAR)
    everything = set()
    for number in range(100):
        where = ContactAddress(b"\x20\x01" + bytes(13) + bytes([number]), PORT, TCP)
        everything.add(Location(where, ResourceParameters(5)))
        locator.context.map.add(LABEL, Location(where, ResourceParameters(5)), 0, proved=True)
    for _ in range(8):
        tell(locator, LocatorPost(()), SOURCE)
        tell(locator, LocatorReport(None, bytes(255), LABEL, ()), SOURCE)
    reports = [report for _, report in asked(locator) if isinstance(report, LocatorReport)]
    assert len(reports) == 3
    assert {one for report in reports for one in report.locations} == everything
    assert all(len(serialize(report, GROUP)) <= limits.DATAGRAM_MAX for report in reports)


# --- reports


def test_a_report_for_another_goes_nowhere() -> None:
    locator = knowing()
    query = query_of(locator.seek(LABEL, 0))
    for to in (peer(5), peer(NEAR), SOURCE, peer(0)):
        report = replace(reported(LABEL, query.cookie, located(1, 5)), destination=to)
        assert tell(locator, report, SOURCE) == []
    assert locator.counts().drops == {"indirect": 4}


def test_without_a_cookie_of_ours_nothing_is_handed_up() -> None:
    locator = knowing()
    query = query_of(locator.seek(LABEL, 0))
    other = beside(5)
    for report, now_us in (
        (reported(LABEL, b"made up", located(1, 5)), 0),
        (reported(other, query.cookie, located(1, 5)), 0),
        (reported(LABEL, query.cookie, located(1, 5)), limits.QUERY_WAIT_US + 1_000),
    ):
        assert tell(locator, report, SOURCE, now_us) == []
    assert locator.counts().drops == {"cookie": 3}
    locator.stop_seeking(LABEL)
    assert tell(locator, reported(LABEL, query.cookie, located(1, 5)), SOURCE) == []
    assert locator.counts().drops == {"cookie": 3, "unsought": 1}


def test_what_is_handed_up_are_places_of_others_that_did_not_fail() -> None:
    locator = knowing()
    query = query_of(locator.seek(LABEL, 0))
    locator.failed(place(3), 0)
    private = Location(ContactAddress(b"\x0a\0\0\1", PORT, TCP), ResourceParameters(9))
    told = (located(0, 9), located(3, 9), private, located(1, 5), located(2, 7, old=True), located(4, 6))
    assert tell(locator, reported(LABEL, query.cookie, *told, exact=True), SOURCE) == [
        ResourceFound(LABEL, (located(4, 6), located(1, 5), located(2, 7, old=True)), 0, exact=True)
    ]
    assert tell(locator, reported(LABEL, query.cookie, *told[:3]), SOURCE) == []
    assert locator.counts().drops == {"useless": 1}
    # That we have it is no news to us.
    for nobody in ((), told[:1]):
        assert tell(locator, reported(LABEL, query.cookie, *nobody), SOURCE, 5_000) == [
            ResourceNotFound(LABEL, 5_000)
        ]


def test_news_of_what_we_have_are_handed_up_if_they_are_some_and_not_too_often() -> None:
    locator = alone()
    locator.offer(LABEL, ResourceParameters(5), 0)

    def news(*locations: Location, now_us: int = 0) -> list[Effect]:
        return tell(locator, LocatorReport(None, None, LABEL, locations), SOURCE, now_us)

    assert news(located(1, 5), located(2, 4)) == []
    locator.failed(place(3), 0)
    assert news(located(3, 9)) == []
    assert news(located(1, 5), located(2, 8), located(4, 9)) == [
        NewerVersionReported(LABEL, (located(4, 9), located(2, 8)))
    ]
    assert news(located(5, 10)) == []
    assert locator.counts().drops == {"news": 1}
    assert news(located(5, 10), now_us=limits.NEWER_GAP_US) == [
        NewerVersionReported(LABEL, (located(5, 10),))
    ]
    locator.offer(LABEL, ResourceParameters(5, old=True), 0)
    assert news(located(5, 10), now_us=10 * limits.NEWER_GAP_US) == []
    locator.withdraw(LABEL)
    assert news(located(5, 10), now_us=20 * limits.NEWER_GAP_US) == []


# --- lookups of ours


def test_a_village_of_one_answers_itself() -> None:
    locator = alone()
    assert locator.seek(LABEL, 0) == [ResourceNotFound(LABEL, 0)]
    tell(locator, LocatorPost((Advert(LABEL, located(1, 5)),)), SOURCE)
    effects = locator.wake(locator.next_wake_us())
    while not effects:
        effects = locator.wake(locator.next_wake_us())
    assert effects == [ResourceFound(LABEL, (located(1, 5),), 0)]


def test_a_lookup_asks_again_and_ends() -> None:
    locator = knowing()
    effects = locator.seek(LABEL, 0)
    assert locator.seek(LABEL, 0) == []
    ended_us = 0
    while not any(isinstance(one, LookupEnded) for one in effects):
        ended_us = locator.next_wake_us()
        effects += locator.wake(ended_us)
    queries = [message for _, message in said(effects) if isinstance(message, LocatorQuery)]
    assert len(queries) == SETTINGS.seek_queries_max
    assert 30_000_000 < ended_us < 200_000_000
    assert effects[-1] == LookupEnded(LABEL, found=False)
    assert locator.counts().seeks == 0


def test_answers_that_come_soon_make_the_next_question_come_soon() -> None:
    periods = []
    for elapsed_us in (10_000, 400_000, 20_000_000):
        locator = knowing()
        query = query_of(locator.seek(LABEL, 0))
        tell(locator, reported(LABEL, query.cookie), SOURCE, elapsed_us)
        locator.seek(beside(3), elapsed_us)
        periods.append(locator.active.by_label[beside(3)].period_us / limits.QUERY_GROWTH)
    assert periods == pytest.approx(
        [limits.QUERY_PERIOD_MIN_US, 800_000, limits.QUERY_PERIOD_MAX_US / limits.QUERY_GROWTH]
    )


def test_only_so_many_lookups_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "SEEKS_MAX", 2)
    locator = knowing()
    for at in (1, 2):
        locator.seek(beside(at), 0)
    with pytest.raises(LocalError, match="2 lookups are running"):
        locator.seek(beside(3), 0)
    locator.stop_seeking(beside(1))
    assert locator.seek(beside(3), 0)


def test_the_best_way_is_among_who_is_closer_and_any_other_way_goes_anywhere() -> None:
    firsts: dict[RoutingHint, set[Peer]] = {hint: set() for hint in RoutingHint}
    for hint in RoutingHint:
        locator = knowing()
        for _ in range(60):
            firsts[hint].update(to for to, _ in said(locator.seek(LABEL, 0, hint)))
            locator.stop_seeking(LABEL)
    assert firsts[RoutingHint.BEST] == {peer(NEAR)}
    assert all(
        firsts[hint] == {peer(NEAR), peer(FAR)}
        for hint in (RoutingHint.TIME, RoutingHint.HOPS, RoutingHint.UNIFORM)
    )
    assert knowing(friends=(FAR,)).seek(LABEL, 0, RoutingHint.BEST) == [ResourceNotFound(LABEL, 0)]


# --- the way back


def test_what_comes_goes_back_to_who_asked_three_times_its_bytes_at_most() -> None:
    for friends in (
        (NEAR, FAR),
        (NEAR, FAR, 77),
    ):  # SOURCE is 77: that it proved to be there makes no difference
        locator = knowing(friends=friends)
        before = locator.context.credit_of(SOURCE, 0)
        ((to, query),) = asked(locator)
        assert to == peer(NEAR)
        assert isinstance(query, LocatorQuery)
        passed = []
        for number in range(20):
            passed += tell(locator, reported(LABEL, query.cookie, located(number + 10, 5)), peer(NEAR))
        assert said(passed)[0] == (SOURCE, reported(LABEL, b"cookie", located(10, 5)))
        size = sum(len(one.datagram) for one in passed if isinstance(one, SendDatagram))
        assert 0 < size <= before + 3 * limits.QUERY_SIZE
        assert locator.counts().drops["amplified"] > 5
        assert tell(locator, reported(beside(4), query.cookie), peer(NEAR)) == []
        assert tell(locator, reported(LABEL, query.cookie), peer(NEAR), limits.QUERY_WAIT_US) == []


def test_what_we_know_ourselves_goes_straight_to_who_asked() -> None:
    locator = knowing(located(10, 5), friends=(FAR,))
    assert asked(locator) == [(SOURCE, reported(LABEL, b"cookie", located(10, 5)))]


@pytest.mark.parametrize(
    "host",
    ["169.254.169.254", "64:ff9b::7f00:1", "2002:a00:1::1", "2001:0:c000:201:0:ffff:80ff:fffe", "::7f00:1"],
)
@pytest.mark.parametrize("me", ["192.168.0.5", "2001:db8::5"])
def test_no_peer_names_a_place_inside_our_network(me: str, host: str) -> None:
    locator = alone(me=ContactAddress(node_of(me), PORT, TCP))
    befriend(locator, NEAR)
    inside = ContactAddress(node_of(host), PORT, TCP)
    query = query_of(locator.seek(LABEL, 0))
    there = Location(inside, ResourceParameters(9))
    assert tell(locator, LocatorReport(None, query.cookie, LABEL, (there,)), peer(NEAR)) == []
    assert tell(locator, LocatorPost((Advert(LABEL, there),)), peer(NEAR)) == []
    assert tell(locator, LocatorQuery(inside.peer, LABEL, b"cookie"), peer(NEAR)) == []
    assert locator.counts().locations == 0


# --- villages


@pytest.mark.parametrize("seed", [1, 2])
def test_a_village_finds_what_it_has(seed: int) -> None:
    hidden = frozenset(range(4, 40, 5))
    village = Village(40, seed=seed, loss=0.05, hidden=hidden)
    labels = [label_of_address(bytes([number])) for number in range(8)]
    holders = {label: (3 * number, 3 * number + 7) for number, label in enumerate(labels)}
    for label, numbers in holders.items():
        for number in numbers:
            village.node(number).offer(label, ResourceParameters(5), 0)
    village.run(1_800_000_000)
    for index, label in enumerate(labels):
        for number in (1, 39 if index % 2 else 34):
            village.do(number, village.node(number).seek(label, village.now_us))
    village.run(30_000_000)
    for label in labels:
        for number in (1, 39, 34):
            found = {
                place.place
                for one in village.found(number, label)
                if isinstance(one, ResourceFound)
                for place in one.locations
            }
            assert found <= {place(number) for number in holders[label] if number not in hidden}
            assert found or not village.found(number, label)
    assert all(any(isinstance(one, ResourceFound) for one in village.found(1, label)) for label in labels)
    hidden_found = [any(isinstance(one, ResourceFound) for one in village.found(39 if index % 2 else 34, label))
                    for index, label in enumerate(labels)]  # fmt: skip
    assert all(hidden_found)
    assert village.largest <= limits.DATAGRAM_MAX
    drops = {reason for node in village.nodes.values() for reason in node.counts().drops}
    assert drops <= {"unsought", "useless", "amplified", "cookie"}
