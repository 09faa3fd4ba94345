"""Somebody who names ids that nobody has the key of, as fast as he can: what it costs the others."""

import random
from collections.abc import Callable, Sequence
from functools import cache
from itertools import pairwise

from tests.hostile import DeafStation
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Effect, Send
from tinyssb_node.codec.packets import (
    Claim,
    Feeds,
    Novelty,
    serialize_claim,
    serialize_feeds,
    serialize_novelty,
)
from tinyssb_node.gossip.admission import Admission
from tinyssb_node.ids import FaceName, FeedId, PacketKind
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.scheduling.link import Allowance, LinkProfile
from tinyssb_node.sim.checkers import AirtimeLaw, DutyCycleChecker
from tinyssb_node.sim.medium import MediumOptions, SimulatedMedium
from tinyssb_node.sim.world import World

SECOND_US = 1_000_000
HOUR_US = 3_600 * SECOND_US
DUTY = Allowance(band="g1", limit_us=36 * SECOND_US, window_us=HOUR_US)
HONEST = ("n0", "n1", "n2", "n3")
SEEDS = range(1, 13)
"""So many that chance hardly counts: one run may take three times as long as the next."""
SAID = 15
"""Entries that each of them publishes."""


class Stranger(DeafStation):
    """Names new ids: by NOVELTY, CLAIM and FEEDS in turn, one packet each *every_us* on each of its faces."""

    def __init__(self, every_us: int) -> None:
        self._every_us = every_us
        self._chance = random.Random("stranger")
        self._due_us = 0
        self._faces: list[FaceName] = []
        self.named = 0

    def face_up(self, face: FaceName, profile: LinkProfile, spec: str, now_us: int) -> list[Effect]:
        del profile, spec, now_us
        self._faces.append(face)
        return []

    def next_wake_us(self) -> int | None:
        return self._due_us

    def wake(self, now_us: int) -> Sequence[Effect]:
        self._due_us = now_us + self._every_us
        return [Send(face, *self._packet()) for face in self._faces]

    def _packet(self) -> tuple[bytes, PacketKind]:
        dmx = Network().goset_dmx
        self.named += 1
        if self.named % 3 == 0:
            return serialize_novelty(dmx, Novelty(self._id())), PacketKind.NOVELTY
        if self.named % 3 == 1:
            feed = self._id()
            return serialize_claim(dmx, Claim(feed, feed, feed, 1)), PacketKind.CLAIM
        return serialize_feeds(dmx, Feeds((self._id(), self._id(), self._id()))), PacketKind.FEEDS

    def _id(self) -> FeedId:
        return FeedId(self._chance.randbytes(limits.FEED_ID_SIZE))


class Liar(Stranger):
    """Says of regions of everybody's set that something else is in them."""

    def __init__(self, every_us: int, feeds: Sequence[FeedId]) -> None:
        super().__init__(every_us)
        self._feeds = feeds

    def _packet(self) -> tuple[bytes, PacketKind]:
        low, high = sorted(self._chance.sample(self._feeds, 2))
        claim = Claim(low, high, self._id(), self._chance.randrange(2, 9))
        return serialize_claim(Network().goset_dmx, claim), PacketKind.CLAIM


class Junk(Stranger):
    """Says whatever comes to its mind, in packets of full length."""

    def _packet(self) -> tuple[bytes, PacketKind]:
        return self._chance.randbytes(limits.PACKET_SIZE), PacketKind.UNKNOWN


def settle_here(world: World, stranger: Stranger) -> None:
    """A stranger comes, on no face yet."""
    mallory = world.add("mallory", on_air=False)
    mallory.node = stranger  # type: ignore[assignment] # another kind of node


def spread_us(world: World, names: Sequence[str]) -> int:
    """Everybody publishes; the time until all have everything of each other."""
    for name in names:
        for number in range(SAID):
            assert world.inject(name, b"%d from " % number + name.encode())
    ours = {world.inhabitants[name].feed for name in names}
    start_us = world.now_us

    def spread() -> bool:
        for name in names:
            held = {record.feed: record.seq for record in world.inhabitants[name].node.feeds()}
            if any(held.get(feed, 0) < SAID for feed in ours):
                return False
        return True

    assert world.run(spread, HOUR_US), "they never agree"
    return world.now_us - start_us


def on_air(
    seed: int, stranger: Stranger | Callable[[Sequence[FeedId]], Stranger] | None
) -> tuple[World, int]:
    world = World(
        seed,
        lambda chance: SimulatedMedium(MediumOptions(), chance),
        allowance=DUTY,
        admission=Admission,
        watchers=[
            DutyCycleChecker(
                dict.fromkeys(HONEST, AirtimeLaw(most_us=DUTY.limit_us)) | {"mallory": AirtimeLaw()}
            )
        ],
        keep_events=False,
    )
    for name in HONEST:
        world.add(name)
    if stranger is not None:
        here = [world.inhabitants[name].feed for name in HONEST]
        settle_here(world, stranger if isinstance(stranger, Stranger) else stranger(here))
        world.switch_on_air("mallory")
    world.run_for(600 * SECOND_US)
    return world, spread_us(world, HONEST)


@cache
def _alone_us(seed: int) -> int:
    return on_air(seed, None)[1]


def alone_us(*seeds: int) -> int:
    """Return the time that all of them take without a stranger."""
    return sum(map(_alone_us, seeds))


def on_wires(seed: int, stranger: Stranger | None) -> tuple[World, int]:
    world = World(seed, admission=Admission, keep_events=False)
    for name in HONEST:
        world.add(name, on_air=False)
    for left, right in pairwise(HONEST):
        world.connect(left, right)
    if stranger is not None:
        settle_here(world, stranger)
        world.connect("mallory", "n1")
    world.run_for(600 * SECOND_US)
    return world, spread_us(world, HONEST)


def test_a_stranger_on_the_air_slows_nobody_to_half() -> None:
    attacked_us = 0
    for seed in (1, 2, 3):
        world, took_us = on_air(seed, Stranger(SECOND_US // 2))
        attacked_us += took_us
        assert not any(junk_of(world, name) for name in HONEST)
    assert attacked_us <= 2 * alone_us(1, 2, 3)


def test_a_stranger_on_half_of_the_channel_makes_nobody_spend_the_airtime_of_all() -> None:
    # Before answers to claims had a share of their own, two of these spent their hour's airtime on them in minutes.
    named_us = sum(on_air(seed, Stranger(SECOND_US // 4))[1] for seed in SEEDS)
    lied_us = sum(on_air(seed, lambda feeds: Liar(SECOND_US // 4, feeds))[1] for seed in SEEDS)
    assert named_us <= 2 * alone_us(*SEEDS)
    assert lied_us <= 3 * alone_us(*SEEDS)


def test_junk_on_most_of_the_channel_keeps_nobody_from_asking() -> None:
    # Before one such packet a second was enough for that, since everybody gave way to it.
    attacked_us = sum(on_air(seed, Junk(SECOND_US // 4))[1] for seed in SEEDS)
    assert attacked_us <= 2 * alone_us(*SEEDS)


def test_a_stranger_on_a_wire_is_hardly_noticed() -> None:
    world, took_us = on_wires(1, Stranger(SECOND_US // 50))
    # Junk takes the places that are free, and then as many as come in ten minutes.
    most = set_limits.SET_AT_ONCE + set_limits.SET_IDS_BURST + set_limits.SET_IDS_PER_HOUR // 4
    assert all(set_limits.SET_AT_ONCE < junk_of(world, name) <= most for name in HONEST)
    assert took_us <= 2 * on_wires(1, None)[1]


def junk_of(world: World, name: str) -> int:
    """Return how many ids of the node's set have no entry."""
    return sum(not record.seq and record.in_set for record in world.inhabitants[name].node.feeds())
