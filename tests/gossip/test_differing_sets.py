"""Nodes whose sets differ exchange what they share, and what they do not share yet (decision 0058)."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from tests.meshes import SECOND_US, Mesh
from tests.nodes import key_of, packets_of, written
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.gossip.admission import Admission, AdmissionPolicy
from tinyssb_node.ids import FeedId, PacketKind
from tinyssb_node.replication.asking import FeedAsker
from tinyssb_node.scheduling.link import LinkProfile, lan_profile, stream_profile

EACH = 10
"""Entries of each feed."""
MINUTE_US = 60 * SECOND_US


class Islands(Mesh):
    """Two nodes, *a* and *b*, and what they send."""

    def __init__(self, admission: AdmissionPolicy = AdmissionPolicy.OPEN, loss: float = 0.0) -> None:
        super().__init__(loss=loss)
        self.kinds: Counter[PacketKind] = Counter()
        self.bytes = 0
        self.join("a", admission=Admission())
        self.join("b", admission=Admission(admission))

    def do(self, name: str, effects: Sequence[Effect]) -> None:
        for effect in effects:
            if isinstance(effect, Send):
                self.kinds[effect.kind] += 1
                self.bytes += len(effect.packet)
        super().do(name, effects)

    def settle(self, name: str, feeds: int, each: int = EACH) -> None:
        """Let *name* hold so many feeds that nobody else has."""
        for number in range(feeds):
            self.bring(name, key_of(f"{name} {number}"), each)

    def bring(self, name: str, key: SigningKey, each: int) -> None:
        """Let *name* follow a feed and import its entries."""
        self.follow(name, key.feed_id)
        for packet in packets_of(written(key, [b"entry %d" % number for number in range(each)])):
            self.do(name, self[name].node.import_packet(packet, self.now_us)[1])

    def meet(self, profile: LinkProfile | None = None) -> None:
        """Lay the cable; count from now on."""
        self.kinds.clear()
        self.bytes = 0
        self.wire(("a", "b"), profile=profile or stream_profile())

    def entries(self) -> list[int]:
        """How many entries each holds."""
        return [sum(self[name].held().values()) for name in "ab"]

    def until_all_hold(self, entries: int, limit_us: int) -> int:
        """Return when both hold so many, in microseconds from now."""
        begun_us = self.now_us
        while self.entries() != [entries, entries]:
            assert self.now_us - begun_us < limit_us, (self.entries(), self.kinds)
            self.pass_time(SECOND_US // 10)
        return self.now_us - begun_us


@pytest.mark.parametrize(("here", "there"), [(51, 51), (120, 120), (250, 250), (0, 250)])
def test_islands_that_meet_hold_all_at_once_and_say_nothing_twice(here: int, there: int) -> None:
    mesh = Islands()
    mesh.settle("a", here)
    mesh.settle("b", there)
    mesh.meet()
    entries = (here + there) * EACH
    mesh.until_all_hold(entries, 2 * SECOND_US)
    assert mesh.kinds[PacketKind.ENTRY] == entries
    assert mesh.bytes <= 1.2 * 120 * entries
    mesh.pass_time(10 * MINUTE_US)
    mesh.kinds.clear()
    mesh.pass_time(10 * MINUTE_US)
    assert mesh.kinds.total() <= 10, "an idle pair says at most one packet a minute"
    # What is new goes at once, in sets that can never be the same, too.
    mesh.bring("a", key_of("late"), 3)
    mesh.until_all_hold(entries + 3, SECOND_US)


@pytest.mark.parametrize("loss", [0.0, 0.1])
@pytest.mark.parametrize(("here", "there"), [(60, 60), (250, 250), (0, 250)])
def test_on_a_lossy_network_they_hold_all_in_the_end(here: int, there: int, loss: float) -> None:
    mesh = Islands(loss=loss)
    mesh.settle("a", here)
    mesh.settle("b", there)
    mesh.meet(lan_profile())
    mesh.until_all_hold((here + there) * EACH, 10 * SECOND_US)


def test_who_refuses_ids_is_not_asked_again_and_again_and_shares_all_else() -> None:
    mesh = Islands(AdmissionPolicy.INVITE)
    mesh.settle("a", 100)
    mesh.settle("b", 30)
    shared = key_of("shared")
    mesh.bring("a", shared, 5)
    mesh.bring("b", shared, 1)
    mesh.meet()
    mesh.pass_time(10 * MINUTE_US)
    assert mesh["a"].held()[shared.feed_id] == mesh["b"].held()[shared.feed_id] == 5
    assert mesh.entries()[1] == 30 * EACH + 5
    mesh.kinds.clear()
    mesh.pass_time(30 * MINUTE_US)
    assert mesh.kinds.total() <= 30


def test_one_new_entry_among_ten_thousand_feeds_takes_600_bytes() -> None:
    mesh = Islands()
    for number in range(10_000):
        key = key_of(f"many {number}")
        for name in "ab":
            mesh.bring(name, key, 2 if (number, name) == (77, "b") else 1)
    mesh.meet()
    late = key_of("many 77").feed_id
    while mesh["a"].held()[late] < 2:
        assert mesh.now_us < SECOND_US
        mesh.pass_time(SECOND_US // 100)
    assert mesh.bytes <= 600


def test_on_the_air_a_set_that_refuses_ids_keeps_nobody_from_what_is_shared() -> None:
    mesh = Islands(AdmissionPolicy.INVITE)
    mesh.settle("a", 3, each=1)
    shared = key_of("shared")
    mesh.bring("a", shared, 5)
    mesh.bring("b", shared, 1)
    mesh.radio()
    mesh.pass_time(10 * MINUTE_US)
    assert mesh["b"].held()[shared.feed_id] == 5
    assert mesh.kinds[PacketKind.NAMED_WANT] > 0


def test_a_relay_carries_what_its_neighbours_on_the_air_follow_beyond_the_set() -> None:
    mesh = Mesh("abc")
    entry, *_ = packets_of(written(key_of("far"), [b"one"]))
    far = key_of("far").feed_id
    for name in "ac":
        mesh.do(name, mesh[name].node.follow(far, mesh.now_us, beyond=True, asker=FeedAsker.GROUP))
    mesh.do("a", mesh["a"].node.import_packet(entry, mesh.now_us)[1])
    mesh.radio(reach=1)
    mesh.pass_time(10 * MINUTE_US)
    assert [mesh[name].held().get(far) for name in "abc"] == [1, 1, 1]
    assert far not in mesh["b"].set


def test_a_gateway_does_not_put_on_the_air_what_nobody_there_follows() -> None:
    mesh = Islands()
    mesh.settle("b", 260, each=1)
    mesh.meet()
    mesh.pass_time(MINUTE_US)
    mesh.join("c")
    mesh.radio(members="ac")
    mesh.pass_time(5 * MINUTE_US)
    beyond = {record.feed for record in mesh["a"].node.feeds() if record.beyond}
    assert beyond
    assert not beyond & set(mesh["c"].held())


def test_feeds_that_only_were_named_make_room_for_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "EMPTY_FEEDS_MAX", 8)
    mesh = Islands()
    replica = mesh["a"].node.replica
    chance = random.Random(1)
    named = [FeedId(chance.randbytes(32)) for _ in range(20)]
    for feed in named:
        assert replica.add_beyond(feed, keep=False)
    assert [feed for feed in named if replica.knows(feed)] == named[-8:]
    assert len(mesh["a"].node.feeds()) == 1, "they are nowhere but in memory"
