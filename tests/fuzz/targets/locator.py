"""The locator: datagrams, known and made up, from friends and strangers, while it seeks, offers and time passes."""

import random
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace

from tests.fuzz.script import Script
from tests.fuzz.seeds import in_vectors
from tests.islands.locator.villages import GROUP, PORT, SETTINGS, TCP, peer, place
from tinyssb_node.errors import PeerError
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer
from tinyssb_node.islands.locator.locator import Locator
from tinyssb_node.islands.locator.packets import (
    LocatorPing,
    LocatorPong,
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    Message,
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
    NodeParameters,
    ResourceFound,
    ResourceNotFound,
    ResourceParameters,
    SendDatagram,
    label_of_address,
)

STEPS_MAX = 60
TALKATIVE = replace(SETTINGS, pong_peers=20)
"""Its answers are longer than they may be, unless it counts."""
FRIENDS = [peer(number) for number in range(1, 9)]
STRANGERS = [peer(number) for number in range(50, 54)]
OTHERS = [
    peer(0), Peer(b"", PORT), Peer(b"\x7f\0\0\1", PORT), Peer(b"\xe0\0\0\1", PORT), Peer(b"\x20" * 16, PORT),
    Peer(peer(1).node, b"\0\0"), Peer(b"strange", b"port?"), Peer(peer(1).node + b"8 bytes.", PORT),
    Peer(peer(60).node + b"8 bytes.", PORT), Peer(b"\xc0\xa8\0\1" + b"8 bytes.", PORT),
]  # fmt: skip
PEOPLE = [*FRIENDS, *STRANGERS, *OTHERS]
LABELS = [Label(bytes([number]) * 20) for number in (0, 85, 255)] + [label_of_address(peer(0).node)]


class Story:
    """Bytes read as what happens to a locator, and what must hold whatever that is."""

    def __init__(self, data: bytes) -> None:
        self.script = Script(data)
        self.now_us = 0
        self.locator = Locator(TALKATIVE, place(0), random.Random(1), bytes(32), 0, recent=FRIENDS)
        self.cookies: dict[Peer, list[bytes]] = defaultdict(list)
        """The cookies that the locator sent to each peer, which have to come back."""
        self.seen: list[bytes] = [b"\0"]
        self.proved: set[Peer] = set()
        self.credit: dict[Peer, int] = defaultdict(int)
        """Bytes that may be sent to each address because of messages: three times those that came from it."""
        self.meet()

    def meet(self) -> None:
        for one in FRIENDS:
            self.receive(LocatorPing(one, b"hello"), one)
            self.answer(
                one,
                LocatorPong(
                    None,
                    self.cookies[one][-1],
                    ContactAddress(one.node, one.message, TCP),
                    (),
                    NodeParameters(),
                ),
            )

    def run(self) -> None:
        for _ in range(STEPS_MAX):
            if self.script.over:
                break
            self.step()
            self.check_tables()

    def step(self) -> None:
        self.script.pick([
            self.noise, self.damage, self.ping, self.query, self.post, self.report, self.pong, self.wait,
            self.offer, self.seek, self.end, self.fail, self.relayed,
        ])()  # fmt: skip

    def noise(self) -> None:
        self.receive_bytes(self.script.piece() + GROUP + b"\x08", self.script.pick(PEOPLE))

    def damage(self) -> None:
        known = self.script.pick(self.seen)
        at = self.script.number(len(known)) if known else 0
        self.receive_bytes(known[:at] + self.script.piece() + known[at + 1 :], self.script.pick(PEOPLE))

    def ping(self) -> None:
        self.receive(LocatorPing(self.script.pick(PEOPLE), self.script.piece()), self.script.pick(PEOPLE))

    def query(self) -> None:
        script = self.script
        query = LocatorQuery(
            script.pick(PEOPLE), script.pick(LABELS), script.piece(), script.pick([*RoutingHint])
        )
        self.receive(query, script.pick(PEOPLE))

    def post(self) -> None:
        adverts = [Advert(self.script.pick(LABELS), self.location()) for _ in range(self.script.number(5))]
        self.receive(LocatorPost(tuple(adverts)), self.script.pick(PEOPLE))

    def report(self) -> None:
        script = self.script
        found = tuple(self.location() for _ in range(script.number(4)))
        known = [cookie for each in self.cookies.values() for cookie in each] or [b""]
        cookie = script.pick([None, script.piece(), script.pick(known)])
        to = script.pick([None, *PEOPLE])
        report = LocatorReport(to, cookie, script.pick(LABELS), found, script.number(2) == 1)
        self.receive(report, script.pick(PEOPLE))

    def wait(self) -> None:
        self.now_us += self.script.pick([1_000, 100_000, 3_000_000, 120_000_000, 10_000_000_000])
        self.take(self.locator.wake(self.now_us), None)
        assert self.locator.next_wake_us() > self.now_us

    def offer(self) -> None:
        self.locator.offer(self.script.pick(LABELS), self.parameters(), self.now_us)

    def seek(self) -> None:
        hint = self.script.pick([*RoutingHint])
        self.take(self.locator.seek(self.script.pick(LABELS), self.now_us, hint), None)

    def end(self) -> None:
        self.locator.withdraw(self.script.pick(LABELS))
        self.locator.stop_seeking(self.script.pick(LABELS))

    def fail(self) -> None:
        self.locator.failed(self.location().place, self.now_us)

    def relayed(self) -> None:
        """We are found at relays, though we can be reached: that is not known here."""
        self.locator.relayed([self.location().place for _ in range(self.script.number(4))], self.now_us)

    def pong(self) -> None:
        """Somebody answers, with a cookie of its own or another's."""
        script = self.script
        source = script.pick(PEOPLE)
        whose = script.pick([source, *PEOPLE])
        cookie = script.pick([*self.cookies[whose], b"made up"])
        claimed = script.pick([source, *PEOPLE])
        others = tuple(script.pick(PEOPLE) for _ in range(script.number(20)))
        fresh = script.pick([None, script.piece()])
        pong = LocatorPong(
            fresh, cookie, ContactAddress(claimed.node, claimed.message, TCP), others, NodeParameters()
        )
        self.answer(source, pong)

    def answer(self, source: Peer, pong: LocatorPong) -> None:
        if pong.copied in self.cookies[source]:
            self.proved.add(source)
        self.receive(pong, source)

    def parameters(self) -> ResourceParameters:
        return ResourceParameters(
            self.script.number(4), self.script.pick([255, 0, 128]), self.script.number(2) == 1
        )

    def location(self) -> Location:
        where = self.script.pick(PEOPLE)
        connection = self.script.pick([TCP, b"\0\0", b""])
        return Location(ContactAddress(where.node, where.message, connection), self.parameters())

    # --- what comes in and goes out

    def receive(self, message: Message, source: Peer) -> None:
        self.receive_bytes(serialize(message, GROUP), source)

    def receive_bytes(self, datagram: bytes, source: Peer) -> None:
        self.credit[source] += 3 * len(datagram)
        self.take(self.locator.receive(datagram, source, self.now_us), datagram)

    def take(self, effects: list[Effect], evoked_by: bytes | None) -> None:
        for effect in effects:
            if isinstance(effect, ResourceFound):
                assert effect.locations
                assert all(one.place.peer != peer(0) for one in effect.locations)
            elif isinstance(effect, NewerVersionReported):
                assert effect.locations
            elif isinstance(effect, SendDatagram):
                self.sent(effect, evoked_by)
            else:
                assert isinstance(effect, ResourceNotFound | LookupEnded)

    def sent(self, effect: SendDatagram, evoked_by: bytes | None) -> None:
        to, size = effect.to, len(effect.datagram)
        assert 0 < size <= limits.DATAGRAM_MAX
        assert len(to.node) in {4, 16}, "no datagram goes to a relay for the node behind it"
        assert to != peer(0)
        self.seen = [*self.seen[-20:], effect.datagram]
        message = parse(effect.datagram, GROUP)
        if isinstance(message, LocatorPing | LocatorQuery):
            self.cookies[to].append(message.cookie)
        elif isinstance(message, LocatorPong) and message.fresh is not None:
            self.cookies[to].append(message.fresh)
        if evoked_by is None:
            return
        if isinstance(message, LocatorPong | LocatorReport):
            # Whoever it is, and whoever's message it was.
            self.credit[to] -= size
            assert self.credit[to] >= 0, f"{to} is sent more than three times the bytes that came from it"
            return
        # What goes on to others, or looks whether they are there, goes to peers that answered us only.
        assert to in self.proved
        assert isinstance(message, LocatorPost) or size <= max(len(evoked_by), limits.QUERY_SIZE)

    def check_tables(self) -> None:
        counts = self.locator.counts()
        assert counts.locations <= len(LABELS) * SETTINGS.location_set_max
        assert counts.confirmed <= len(PEOPLE)
        assert counts.unconfirmed <= len(PEOPLE)
        assert counts.seeks <= len(LABELS)


def run(data: bytes) -> None:
    with suppress(PeerError):
        message = parse(data, GROUP)
        assert parse(serialize(message, GROUP), GROUP) == message
    Story(data).run()


def seeds() -> Iterable[bytes]:
    return [*in_vectors("locator/messages_v1.json"), *(bytes([step] * 40) for step in range(12))]
