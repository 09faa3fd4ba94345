import math
import random
from dataclasses import replace

import pytest

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
    peer,
    place,
    said,
    tell,
)
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPing,
    LocatorPong,
    LocatorQuery,
    LocatorReport,
    serialize,
)
from tinyssb_node.islands.locator.values import Label, NodeParameters

NODE = NodeParameters(5, 1_000_000, 2**20)


def pong(number: int, copied: bytes, *others: Peer, fresh: bytes | None = None) -> LocatorPong:
    return LocatorPong(fresh, copied, place(number), others, NODE)


def pinged(locator: Locator, now_us: int) -> tuple[Peer, LocatorPing]:
    """Return the ping that is due now, and its receiver."""
    ((to, ping),) = [one for one in said(locator.wake(now_us)) if isinstance(one[1], LocatorPing)]
    assert isinstance(ping, LocatorPing)
    return to, ping


def beginner(*historic: int, recent: tuple[int, ...] = ()) -> Locator:
    return Locator(
        SETTINGS, place(0), random.Random(1), bytes(32), 0,
        historic=[peer(number) for number in historic], recent=[peer(number) for number in recent],
    )  # fmt: skip


def test_two_nodes_confirm_each_other_by_three_messages() -> None:
    village = Village(2)
    village.run(10_000_000)
    for number, other in ((0, 1), (1, 0)):
        (known,) = village.node(number).context.confirmed.all()
        assert known.place == place(other)
        assert 20_000 <= known.rtt_us <= 200_000
        assert village.node(number).counts().drops == {}
    assert village.node(0).counts().reached
    assert village.node(1).recent() == (peer(0),)


def test_a_ping_is_answered_with_two_cookies_to_where_it_came_from() -> None:
    locator = alone()
    ((to, answer),) = said(tell(locator, LocatorPing(peer(7), b"cookie"), peer(1)))
    assert to == peer(1)
    assert isinstance(answer, LocatorPong)
    assert (answer.copied, answer.sender, answer.others) == (b"cookie", place(0), ())
    assert answer.fresh is not None


def test_who_claims_another_address_is_proved_and_not_confirmed() -> None:
    locator = alone()
    ((_, answer),) = said(tell(locator, LocatorPing(peer(7), b"c"), peer(1)))
    assert isinstance(answer, LocatorPong)
    assert answer.fresh is not None
    tell(locator, pong(7, answer.fresh), peer(1))
    assert locator.counts().confirmed == 0
    assert locator.context.is_proved(peer(1), 0)
    assert not locator.context.is_proved(peer(7), 0)
    assert not locator.counts().reached


def test_who_was_proved_gets_long_answers() -> None:
    talkative = replace(SETTINGS, pong_peers=40)
    locator = alone(talkative)
    befriend(locator, *range(10, 30))
    asked = LocatorPing(Peer(b"", PORT), b"")
    size = len(serialize(asked, GROUP))
    ((_, answer),) = said(tell(locator, asked, peer(1)))
    assert isinstance(answer, LocatorPong)
    assert len(serialize(answer, GROUP)) <= 3 * size
    assert answer.fresh is not None
    tell(locator, LocatorPong(None, answer.fresh, ContactAddress(b"", PORT, b""), (), NODE), peer(1))
    ((_, longer),) = said(tell(locator, asked, peer(1)))
    assert len(serialize(longer, GROUP)) > 3 * size


def test_a_pong_fits_in_a_datagram_however_many_are_to_be_named() -> None:
    locator = alone(replace(SETTINGS, pong_peers=600, confirmed_set_max=200))
    befriend(locator, *range(10, 200))
    tell(locator, LocatorReport(None, bytes(255), Label(bytes(20)), ()), peer(10))
    ((_, answer),) = said(tell(locator, LocatorPing(peer(10), bytes(255)), peer(10)))
    assert isinstance(answer, LocatorPong)
    assert limits.DATAGRAM_MAX - 20 < len(serialize(answer, GROUP)) <= limits.DATAGRAM_MAX


def test_whom_the_shortest_pong_would_send_too_much_gets_none() -> None:
    locator = alone(me=ContactAddress(b"\x20\x01" + bytes(14), PORT, TCP))
    asked = LocatorPing(Peer(b"", b""), b"")
    assert tell(locator, asked, peer(1)) == []
    assert locator.counts().drops == {"amplified": 1}


def test_a_pong_counts_only_with_the_cookie_for_where_it_comes_from() -> None:
    locator = beginner(1)
    to, ping = pinged(locator, 0)
    assert to == peer(1)
    assert ping.sender == peer(0)
    for wrong, source, now_us in (
        (b"made up", peer(1), 1_000),
        (ping.cookie, peer(2), 1_000),
        (ping.cookie, Peer(address(1), TCP), 1_000),
        (ping.cookie, peer(1), limits.PONG_WAIT_US + 1_000),
    ):
        assert tell(locator, pong(1, wrong, peer(3), fresh=b"f"), source, now_us) == []
    assert locator.counts().drops == {"cookie": 4}
    assert (locator.counts().confirmed, locator.counts().unconfirmed) == (0, 0)
    ((to, answer),) = said(tell(locator, pong(1, ping.cookie, peer(3), fresh=b"f"), peer(1), 30_000))
    assert to == peer(1)
    assert isinstance(answer, LocatorPong)
    assert (answer.copied, answer.fresh) == (b"f", None)
    assert (locator.counts().confirmed, locator.counts().unconfirmed) == (1, 1)
    (known,) = locator.context.confirmed.all()
    assert (known.rtt_us, known.parameters.free_bytes) == (30_000, 2**20)


def test_a_node_states_its_free_space_in_pongs() -> None:
    village = Village(2)
    village.node(0).state(NodeParameters(free_bytes=2**30))
    village.run(10_000_000)
    (known,) = village.node(1).context.confirmed.all()
    assert known.parameters.free_bytes == 2**30


def test_of_the_peers_in_a_pong_some_are_taken_and_none_that_is_no_address() -> None:
    locator = beginner(1)
    _, ping = pinged(locator, 0)
    wrong = [
        peer(0),
        Peer(b"", PORT),
        Peer(b"\x7f\0\0\1", PORT),
        Peer(address(3), b"\0\0"),
        Peer(b"abc", PORT),
    ]
    tell(locator, pong(1, ping.cookie, *wrong, *(peer(number) for number in range(10, 40))), peer(1))
    assert locator.counts().unconfirmed == limits.PONG_PEERS_TAKEN - len(wrong)


def test_a_pong_names_others_than_its_receiver() -> None:
    locator = alone()
    befriend(locator, 1)
    for _ in range(20):
        ((_, answer),) = said(tell(locator, LocatorPing(peer(1), b"c"), peer(1)))
        assert isinstance(answer, LocatorPong)
        assert answer.others == ()
    befriend(locator, 2)
    named: set[Peer] = set()
    for _ in range(20):
        ((_, answer),) = said(tell(locator, LocatorPing(peer(1), b"c"), peer(1)))
        assert isinstance(answer, LocatorPong)
        named.update(answer.others)
    assert named == {peer(2)}


def test_recent_peers_are_asked_at_the_start_and_historic_ones_when_nobody_else_is_known() -> None:
    locator = beginner(1, recent=(2, 0))
    asked = set()
    for _ in range(12):
        to, _ = pinged(locator, locator.next_wake_us())
        asked.add(to)
    assert asked == {peer(1), peer(2)}
    assert locator.counts().unconfirmed == 0


def test_who_is_young_hurries_and_who_is_alone_asks_every_minute() -> None:
    locator = beginner(1)
    times = []
    while locator.next_wake_us() < 2 * 3_600_000_000:
        now_us = locator.next_wake_us()
        times += [now_us] * len(said(locator.wake(now_us)))
    in_first_minute = sum(one < 60_000_000 for one in times)
    assert 20 <= in_first_minute <= 60
    last_hour = sum(one >= 3_600_000_000 for one in times)
    assert 45 <= last_hour <= 80


def test_the_period_shrinks_and_the_age_limit_grows_with_the_root_of_the_sets() -> None:
    locator = alone()
    context = locator.context
    befriend(locator, 1)
    for levels in range(6):
        root = math.sqrt(max(levels, 1))
        assert context.unconfirmed.depth() == levels
        assert locator.discovery.ping_period_us(10**12) == pytest.approx(limits.PING_PERIOD_US / root)
        assert context.confirmed_age_us() == pytest.approx(limits.CONFIRMED_AGE_US * root, abs=1)
        context.unconfirmed.add(peer(BY_POSITION[levels][0]))


def test_confirmed_peers_are_forgotten_at_their_age_limit() -> None:
    locator = alone()
    befriend(locator, 1)
    locator.wake(limits.CONFIRMED_AGE_US - limits.TIDY_US)
    assert locator.counts().confirmed == 1
    locator.wake(limits.CONFIRMED_AGE_US + limits.TIDY_US)
    assert locator.counts().confirmed == 0


def test_confirmed_peers_become_historic_by_and_by() -> None:
    village = Village(6)
    village.run(10 * limits.HISTORIC_PERIOD_US)
    assert all(len(village.node(number).historic()) >= 2 for number in range(6))


def test_who_knew_nobody_for_long_looks_around_again() -> None:
    locator = beginner(1)
    now_us = 100 * limits.PING_PERIOD_US
    _, ping = pinged(locator, now_us)
    tell(locator, pong(1, ping.cookie), peer(1), now_us)
    assert locator.next_wake_us() <= now_us + 2 * limits.PING_FIRST_US


def test_who_does_not_answer_when_used_is_given_up() -> None:
    locator = alone()
    befriend(locator, 1)
    later_us = 2 * limits.CHECK_AFTER_US
    label = Label(bytes(20))
    first = [type(message) for _, message in said(locator.seek(label, later_us))]
    assert first == [LocatorQuery, LocatorPing]
    locator.stop_seeking(label)
    pings = 1
    while locator.counts().confirmed:
        assert pings < 10
        now_us = locator.next_wake_us()
        pings += len([to for to, message in said(locator.wake(now_us)) if to == peer(1)])
    assert pings == limits.CHECK_PINGS
    assert locator.discovery.checks == {}


def test_who_answers_when_used_stays() -> None:
    locator = alone()
    befriend(locator, 1)
    later_us = 2 * limits.CHECK_AFTER_US
    ((_, _), (_, ping)) = said(locator.seek(Label(bytes(20)), later_us))
    assert isinstance(ping, LocatorPing)
    tell(locator, pong(1, ping.cookie), peer(1), later_us + 50_000)
    while locator.next_wake_us() < later_us + 10_000_000:
        locator.wake(locator.next_wake_us())
    assert locator.counts().confirmed == 1
    assert locator.discovery.checks == {}


def test_a_node_of_another_group_is_not_heard() -> None:
    locator = alone()
    foreign = serialize(LocatorPing(peer(1), b"c"), b"another!")
    assert locator.receive(foreign, peer(1), 0) == []
    assert locator.counts().drops == {"ForeignGroup": 1}
