from dataclasses import replace

from tests.islands.locator.test_peers import BY_POSITION
from tests.islands.locator.villages import (
    GROUP,
    PORT,
    SETTINGS,
    TCP,
    Village,
    address,
    alone,
    befriend,
    located,
    peer,
    place,
    said,
    tell,
)
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import LocatorPost, LocatorReport, serialize
from tinyssb_node.islands.locator.values import (
    Advert,
    Label,
    Location,
    NewerVersionReported,
    ResourceParameters,
    label_of_address,
)

MINE = label_of_address(address(0))


def beside(at: int) -> Label:
    """A label that differs from ours in this bit first."""
    return Label((int.from_bytes(MINE, "big") ^ 1 << 159 - at).to_bytes(20, "big"))


LABEL = beside(2)


def posts(locator: Locator, until_us: int) -> list[tuple[Peer, LocatorPost]]:
    found = []
    while locator.next_wake_us() <= until_us:
        now_us = locator.next_wake_us()
        found += [
            (to, message) for to, message in said(locator.wake(now_us)) if isinstance(message, LocatorPost)
        ]
    return found


def test_what_is_posted_is_kept_and_goes_on_to_who_is_closer() -> None:
    locator = alone()
    near, far = BY_POSITION[2][0], BY_POSITION[0][0]
    befriend(locator, near, far)
    advert = Advert(LABEL, located(1, 5))
    assert tell(locator, LocatorPost((advert,)), peer(1)) == []
    assert locator.context.map.known(LABEL) == (located(1, 5),)
    assert posts(locator, limits.BUFFER_AGE_US - 1) == []
    assert posts(locator, limits.BUFFER_AGE_US) == [(peer(near), LocatorPost((advert,)))]


def test_what_nobody_is_closer_to_stays() -> None:
    locator = alone()
    befriend(locator, BY_POSITION[0][0])
    tell(locator, LocatorPost((Advert(LABEL, located(1, 5)), Advert(MINE, located(1, 5)))), peer(1))
    assert posts(locator, limits.BUFFER_AGE_US) == []
    assert locator.counts().locations == 2
    assert len(locator.maintenance.buffers) == 0


def test_a_full_buffer_goes_at_once() -> None:
    locator = alone()
    near = BY_POSITION[2][0]
    befriend(locator, near)
    adverts = [Advert(LABEL, located(number, 5)) for number in range(1, 2 * SETTINGS.buffer_count_max)]
    adverts = [
        Advert(Label(LABEL[:19] + bytes([number])), one.location) for number, one in enumerate(adverts)
    ]
    sent = [post for part in range(0, len(adverts), 10)
            for _, post in said(tell(locator, LocatorPost(tuple(adverts[part : part + 10])), peer(1)))]  # fmt: skip
    (post,) = sent
    assert post == LocatorPost(tuple(adverts[: SETTINGS.buffer_count_max]))


def test_a_buffer_goes_before_it_is_too_large_for_a_datagram() -> None:
    locator = alone(replace(SETTINGS, buffer_count_max=255))
    near = BY_POSITION[2][0]
    befriend(locator, near)
    adverts = [Advert(Label(LABEL[:19] + bytes([number])), located(1, 5)) for number in range(40)]
    sent = [post for part in range(0, 40, 10)
            for _, post in said(tell(locator, LocatorPost(tuple(adverts[part : part + 10])), peer(1)))]  # fmt: skip
    (post,) = sent
    assert post == LocatorPost(tuple(adverts[:32]))
    assert len(serialize(post, GROUP)) > limits.DATAGRAM_MAX - 37


def test_enough_others_as_new_and_as_complete_keep_an_advert_from_going_on() -> None:
    near = BY_POSITION[2][0]
    for others, expected in (
        ([located(number, 5) for number in range(10, 14)], 0),
        ([located(number, 6) for number in range(10, 14)], 0),
        ([located(number, 5) for number in range(10, 13)], 1),
        ([located(number, 5) for number in range(10, 13)] + [located(1, 5)], 1),
        ([located(number, 4) for number in range(10, 14)], 1),
        ([located(number, 5, 200) for number in range(10, 14)], 1),
    ):
        locator = alone()
        befriend(locator, near)
        for one in others:
            locator.context.map.add(LABEL, one, 0, proved=True)
        tell(locator, LocatorPost((Advert(LABEL, located(1, 5)),)), peer(1))
        assert len(posts(locator, limits.BUFFER_AGE_US)) == expected


def test_own_resources_are_advertised_soon_then_seldom_and_in_the_open() -> None:
    village = Village(3)
    village.node(1).offer(LABEL, ResourceParameters(9), 0)
    village.run(120_000_000)
    assert any(village.node(number).context.map.known(LABEL) == (located(1, 9),) for number in (0, 2))
    locator = alone()
    befriend(locator, 1, 2, 3)
    locator.offer(LABEL, ResourceParameters(9), 0)
    day = 24 * 3_600_000_000
    times = []
    while locator.next_wake_us() < day:
        now_us = locator.next_wake_us()
        befriend(locator, 1, 2, 3, now_us=now_us)
        times += [now_us for _, message in said(locator.wake(now_us)) if isinstance(message, LocatorPost)]
    assert 10 <= len(times) <= 20
    assert sum(one > day / 2 for one in times) <= 5


def test_what_we_have_is_in_our_own_map_until_it_is_withdrawn() -> None:
    locator = alone()
    locator.offer(LABEL, ResourceParameters(9), 0)
    posts(locator, 2 * limits.ADVERT_ALONE_US)
    assert locator.context.map.known(LABEL) == (located(0, 9),)
    locator.withdraw(LABEL)
    assert locator.context.map.known(LABEL) == ()
    before = locator.counts()
    posts(locator, 10**12)
    assert (before.resources, locator.counts().locations) == (0, 0)


def test_news_of_ours_is_advertised_within_minutes() -> None:
    locator = alone()
    befriend(locator, 1)
    locator.offer(LABEL, ResourceParameters(9), 0)
    for _ in range(20):
        locator.resources.next_period_us(LABEL, SETTINGS.advert_period_us)
    posts(locator, limits.ADVERT_FIRST_US * 2)
    due_us = locator.context.timers.due_us(LABEL)
    assert due_us is not None
    assert due_us > SETTINGS.advert_period_us / 2
    locator.offer(LABEL, ResourceParameters(9), 10**8)
    assert locator.context.timers.due_us(LABEL) == due_us
    locator.offer(LABEL, ResourceParameters(10), 10**8)
    sooner_us = locator.context.timers.due_us(LABEL)
    assert sooner_us is not None
    assert sooner_us < 10**8 + 2 * limits.ADVERT_NEWS_US
    locator.offer(LABEL, ResourceParameters(11), 2 * 10**8)
    assert locator.context.timers.due_us(LABEL) == sooner_us


def test_who_cannot_be_reached_advertises_nothing() -> None:
    locator = alone(me=ContactAddress(b"", PORT, TCP))
    befriend(locator, 1)
    locator.offer(LABEL, ResourceParameters(9), 0)
    assert posts(locator, 10**11) == []
    assert locator.counts().locations == 0


def test_who_posts_something_old_is_told_of_all_that_is_newer() -> None:
    locator = alone()
    befriend(locator, 30)
    for number, timestamp in ((10, 7), (11, 8), (12, 5)):
        tell(locator, LocatorPost((Advert(LABEL, located(number, timestamp)),)), peer(30))
    effects = tell(locator, LocatorPost((Advert(LABEL, located(1, 5)),)), peer(1))
    assert said(effects) == [
        (peer(1), LocatorReport(None, None, LABEL, (located(11, 8), located(10, 7, old=True)))),
    ]
    assert said(tell(locator, LocatorPost((Advert(LABEL, located(1, 5, old=True)),)), peer(1))) == []


def test_who_is_behind_what_is_posted_is_told_of_that() -> None:
    locator = alone()
    befriend(locator, 10, 11, 30)
    tell(locator, LocatorPost(tuple(Advert(LABEL, located(number, 5)) for number in (10, 11))), peer(30))
    same_node = Location(ContactAddress(address(1), b"\1\1", TCP), ResourceParameters(4))
    tell(locator, LocatorPost((Advert(LABEL, same_node),)), peer(30))
    effects = tell(locator, LocatorPost((Advert(LABEL, located(1, 9)),)), peer(30))
    news = LocatorReport(None, None, LABEL, (located(1, 9),))
    assert dict(said(effects)) == {peer(10): news, peer(11): news}
    assert said(tell(locator, LocatorPost((Advert(LABEL, located(1, 9)),)), peer(30))) == []


def test_we_are_told_by_ourselves_that_we_are_behind() -> None:
    locator = alone()
    befriend(locator, 30)
    locator.offer(LABEL, ResourceParameters(5), 0)
    posts(locator, 2 * limits.ADVERT_FIRST_US)
    now_us = 2 * limits.ADVERT_FIRST_US
    assert tell(locator, LocatorPost((Advert(LABEL, located(1, 9)),)), peer(30), now_us) == [
        NewerVersionReported(LABEL, (located(1, 9),))
    ]


def test_a_post_brings_nothing_to_places_that_it_names() -> None:
    """Nobody of them sent us anything, whoever names them."""
    wide = replace(SETTINGS, location_set_max=60)
    for source in (peer(30), peer(31)):
        locator = alone(wide)
        befriend(locator, 30)
        for number in range(100, 150):
            tell(locator, LocatorPost((Advert(LABEL, located(number, 5)),)), peer(30))
        assert tell(locator, LocatorPost((Advert(LABEL, located(1, 9)),)), source) == []
        assert locator.counts().drops == {"amplified": 50}


def test_our_own_location_goes_on_and_does_not_change_our_map() -> None:
    locator = alone()
    near = BY_POSITION[2][0]
    befriend(locator, near)
    tell(locator, LocatorPost((Advert(LABEL, located(0, 77)),)), peer(1))
    assert locator.counts().locations == 0
    assert posts(locator, limits.BUFFER_AGE_US) == [
        (peer(near), LocatorPost((Advert(LABEL, located(0, 77)),)))
    ]


def test_places_that_nobody_could_connect_to_are_dropped() -> None:
    locator = alone()
    wrong = [
        ContactAddress(address(1), PORT, b""), ContactAddress(address(1), PORT, b"\0\0"),
        ContactAddress(address(1), b"", TCP),
        ContactAddress(b"", PORT, TCP), ContactAddress(b"\x0a\0\0\1", PORT, TCP), ContactAddress(address(0), TCP, TCP),
    ]  # fmt: skip
    tell(
        locator,
        LocatorPost(tuple(Advert(LABEL, Location(one, ResourceParameters(1))) for one in wrong)),
        peer(1),
    )
    assert locator.counts().drops == {"address": len(wrong)}
    assert locator.counts().locations == 0


def test_a_place_that_failed_is_forgotten_for_an_hour() -> None:
    locator = alone()
    post = LocatorPost((Advert(LABEL, located(1, 5)), Advert(LABEL, located(2, 5))))
    tell(locator, post, peer(9))
    locator.failed(place(1), 0)
    tell(locator, post, peer(9))
    assert locator.context.map.known(LABEL) == (located(2, 5),)
    assert locator.counts().drops == {"shunned": 1}
    tell(locator, post, peer(9), limits.PLACE_SHUN_US)
    assert {*locator.context.map.known(LABEL)} == {located(1, 5), located(2, 5)}


def test_locations_are_forgotten_at_their_age_limit() -> None:
    locator = alone()
    tell(locator, LocatorPost((Advert(LABEL, located(1, 5)),)), peer(9))
    locator.wake(limits.LOCATION_AGE_US - 1)
    assert locator.counts().locations == 1
    locator.wake(limits.LOCATION_AGE_US + limits.TIDY_US)
    assert locator.counts().locations == 0
