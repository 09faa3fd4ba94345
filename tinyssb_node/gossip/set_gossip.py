"""Gossip about the set of feeds: how neighbours come to have the same one.

Among nodes of ours: SKETCH, ASK and FEEDS (decision 0009, set reconciliation as in minisketch). To peers that know
nothing but CLAIM and NOVELTY (spec 3.3), CLAIMs: on the air as replies; where air costs nothing also from the
beginning, with ids named one by one, until a node of ours is heard there.
"""

from collections import OrderedDict, deque
from collections.abc import Collection, Mapping, Sequence

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import AskSeen, ClaimSeen, Effect, FeedsSeen, NoveltySeen, SketchSeen
from tinyssb_node.codec.packets import (
    Ask,
    Claim,
    Feeds,
    Novelty,
    Sketch,
    serialize_ask,
    serialize_claim,
    serialize_feeds,
    serialize_sketch,
)
from tinyssb_node.gossip.admission import NOT_ADMITTED, Admission
from tinyssb_node.gossip.deployed_set import DeployedSet
from tinyssb_node.gossip.expiry import IdExpiry
from tinyssb_node.gossip.frontier_gossip import FrontierGossip
from tinyssb_node.gossip.named_feeds import NamedFeeds
from tinyssb_node.gossip.named_ids import limit_repeats
from tinyssb_node.gossip.proofs import FirstEntryProofs
from tinyssb_node.gossip.retirement import FeedRetirement
from tinyssb_node.ids import Direction, FaceName, FeedId, PacketKind
from tinyssb_node.replication import claim as claims
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.replication.goset import subset_of, xor_of
from tinyssb_node.replication.reconcile import (
    DifferenceTooLarge,
    SetDifference,
    SetReconciliation,
    SetsEqual,
    answer_classic,
    read_sketch,
)
from tinyssb_node.replication.replica import Replica
from tinyssb_node.replication.salted import SaltedSets
from tinyssb_node.scheduling.link import LinkMedium
from tinyssb_node.scheduling.repeat_limiter import RepeatLimiter
from tinyssb_node.scheduling.share import AirShare
from tinyssb_node.scheduling.token_bucket import TokenBucket
from tinyssb_node.scheduling.transmit_queue import GossipPacket, TransmitQueue
from tinyssb_node.scheduling.trickle import RandomSource

_RECONCILING = frozenset({PacketKind.SKETCH, PacketKind.ASK, PacketKind.FEEDS})
EXPIRED = "expired"
"""Rule by which an id is refused that left the set not long ago for want of an entry."""
CROWDED = "claimed"
"""Rule by which ids without an entry, kept beside the set for deployed peers that claim them, make room."""
UNPROVEN = "unproven"
"""Rule by which an id is refused of which no entry came, while ids enter the set only with their first entry."""
_NOBODY = FeedId(bytes(limits.FEED_ID_SIZE))
"""Where a node without a feed of its own begins to give."""


class SetGossip:
    """The exchange about the set with peers, on all faces of one node."""

    def __init__(
        self,
        replica: Replica,
        network: Network,
        entropy: RandomSource,
        own: FeedId | None,
        queues: Mapping[FaceName, TransmitQueue],
        *,
        admission: Admission | None,
        retirement: FeedRetirement,
        expiry: IdExpiry,
        frontiers: FrontierGossip,
        deployed: DeployedSet,
    ) -> None:
        """*own* is the node's own feed: nodes that help a third begin at different places of the set. *queues* are
        those that are up at any moment. *admission* decides which ids that peers name enter the set, None: all;
        *retirement* which closed feeds leave it, *expiry* which ids without an entry. *deployed*: the set that
        deployed peers have."""
        self._replica = replica
        self._queues = queues
        self._admission = admission
        self._retirement = retirement
        self._expiry = expiry
        self._frontiers = frontiers
        self._deployed = deployed
        self.dmx = network.goset_dmx
        self._entropy = entropy
        self._own = own or _NOBODY
        self._sets = SaltedSets(replica.goset)
        self._exchanges: dict[FaceName, SetReconciliation] = {}
        self._claimed_us: dict[FaceName, int] = {}
        """When a packet was heard that only peers send which know nothing but claims, on faces other than radios."""
        self._adverts: dict[FaceName, int] = {}
        """How many adverts were built."""
        self._stuck: dict[FaceName, OrderedDict[tuple[bytes, int], tuple[int, int]]] = {}
        """How often a set of so many ids was compared in vain with this one of ours, and since when."""
        self._asked: dict[FaceName, int] = {}
        self._claimed: dict[FaceName, AirShare] = {}
        """The share of the airtime that claims take, on faces where it has a limit."""
        self._settling: dict[FaceName, TokenBucket] = {}
        """Claims in answer to claims, where ids are refused."""
        self._reconciled: dict[FaceName, AirShare] = {}
        """The share that sketches and ids take, likewise."""
        self._repeated: dict[FaceName, RepeatLimiter[Claim]] = {}
        """Claims that we or neighbours sent of late on the air: lies are answered by the same ones again and again."""
        self._shown_to_boards: dict[FaceName, RepeatLimiter[bytes]] = {}
        """Our sets of late on the air, and how often they were claimed as boards pinged."""
        self._answers: dict[FaceName, TokenBucket] = {}
        """Claims in answer to claims on the air."""
        self._named: dict[FaceName, NamedFeeds] = {}
        self._proofs = FirstEntryProofs(replica, network, self._own)
        self._awaited: OrderedDict[FeedId, None] = OrderedDict()
        """Ids that wires named for the set, and that enter it with their first entry."""
        self._queued: dict[FaceName, tuple[bytes, set[FeedId]]] = {}
        """The packet of ids queued last, and which of them nobody has named since."""
        self._salts: deque[bytes] = deque(maxlen=32)
        """Salts of the SKETCHes sent and heard last, some minutes' worth: an ASK for another one is for a node out of
        reach."""

    def face_up(self, queue: TransmitQueue, now_us: int) -> None:
        """A face can be used."""
        self._named[queue.name] = NamedFeeds(now_us)
        self._exchanges[queue.name] = SetReconciliation(self._sets, self._own)
        self._proofs.face_up(queue)
        self._asked[queue.name] = 0
        self._settling[queue.name] = TokenBucket(
            set_limits.CLAIMS_AT_ONCE, 1, queue.profile.advert_max_us, now_us
        )
        if queue.on_air:
            packet_us = queue.profile.airtime_us[limits.PACKET_SIZE]
            self._answers[queue.name] = TokenBucket(
                set_limits.ANSWERS_AT_ONCE, 1, set_limits.ANSWER_PACKETS * packet_us, now_us
            )
            self._repeated[queue.name] = limit_repeats(packet_us)
            self._shown_to_boards[queue.name] = RepeatLimiter(
                wait_us=limits.REPEAT_PACKETS * packet_us,
                wait_max_us=limits.REPEAT_MAX_US,
                most=limits.NEIGHBOURS_MAX,
            )
        if queue.profile.allowance is not None:
            self._claimed[queue.name] = AirShare(queue.profile.allowance)
            self._reconciled[queue.name] = AirShare(queue.profile.allowance)

    def face_down(self, face: FaceName) -> None:
        """A face is gone."""
        self._exchanges.pop(face, None)
        for table in (
            self._claimed_us,
            self._adverts,
            self._stuck,
            self._queued,
            self._answers,
            self._repeated,
            self._shown_to_boards,
        ):
            table.pop(face, None)
        self._asked.pop(face, None)
        self._claimed.pop(face, None)
        self._settling.pop(face, None)
        self._reconciled.pop(face, None)
        self._expiry.face_down(face)
        self._proofs.face_down(face)
        self._named.pop(face, None)

    def _speaks_claims(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if we begin with claims on *queue*: on wires, while no peer there is known to be a node of ours,
        or another one was heard lately that knows nothing but claims."""
        if queue.on_air:
            return False
        if not self._frontiers.understood(queue.name):
            return True
        heard_us = self._claimed_us.get(queue.name)
        return (
            queue.profile.medium is LinkMedium.LAN
            and heard_us is not None
            and now_us - heard_us < 600_000_000
        )

    def sent(self, face: FaceName, kind: PacketKind, airtime_us: int, now_us: int) -> None:
        """A packet has left. On the air claims are replies to claims."""
        if kind is PacketKind.CLAIM and (claimed := self._claimed.get(face)) is not None:
            claimed.spent(airtime_us, now_us)
        if kind in _RECONCILING and (reconciled := self._reconciled.get(face)) is not None:
            reconciled.spent(airtime_us, now_us)

    def _may_claim(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if airtime is left for answers to claims: a quarter of what the law allows. With half, answers to
        lies and our adverts together left less than entries take. While a peer makes ids up, an eighth: neighbours
        answer each other's answers then, and agree by sketches, which take less."""
        claimed, flooded = self._claimed.get(queue.name), self._expiry.is_flooded(queue.name, now_us)
        if claimed is None:
            return True
        waiting_us = len(queue.waiting) * queue.profile.airtime_us[limits.PACKET_SIZE]
        return claimed.has(125 if flooded else 250, now_us, waiting_us)

    def _may_reconcile(self, face: FaceName, now_us: int) -> bool:
        """Return True if airtime is left for sketches and ids: a quarter of what the law allows, 150 ids an hour in
        EU868. Sets that admission or their bound keeps apart must not use up the airtime of entries, which neighbours
        exchange by name."""
        share = self._reconciled.get(face)
        return share is None or share.has(250, now_us)

    # --- entering and leaving the set

    def refusal(self, queue: TransmitQueue, feed: FeedId, now_us: int, *, seen: bool) -> str | None:
        """Return the rule by which *feed*, which a peer on *queue* names, does not enter the set now; None: it may.
        *seen*: a deployed peer has it in its set."""
        # A retired feed comes back: it is here, and was admitted before.
        if feed in self._replica.retired or not self._replica.goset.has_room(seen=seen):
            return None
        return self._ask_admission(queue, feed, now_us, seen=seen)

    def make_room(self, feed: FeedId, now_us: int) -> list[Effect]:
        """The set is full: let the oldest id without an entry leave it if *feed* has one."""
        oldest = next(iter(self._expiry.unproven), None)
        return [] if oldest is None or not self._replica.has_proof(feed) else self.expire([oldest], now_us)

    def refusal_beyond(
        self, queue: TransmitQueue, feed: FeedId, now_us: int, *, in_their_set: bool
    ) -> str | None:
        """Return the rule by which *feed*, which a peer on *queue* names, is not taken beyond the set; None: it is. On
        wires only the policy counts: such a feed costs memory alone, until an entry of it comes. On the air a feed that
        the peer has in its set is refused as for ours."""
        if queue.on_air and in_their_set:
            return self._ask_admission(queue, feed, now_us, seen=False)
        if self._admission is None:
            return None
        if queue.on_air:
            count = self._replica.named_only_beyond
            return self._admission.refusal_beyond(feed, queue.name, count, now_us)
        if self._admission.lets_in(feed, across=self._crosses(queue)):
            return None
        return NOT_ADMITTED

    def _ask_admission(self, queue: TransmitQueue, feed: FeedId, now_us: int, *, seen: bool) -> str | None:
        replica, across = self._replica, self._crosses(queue)
        if replica.read_only:
            return None
        if self._admission is not None and not self._admission.lets_in(feed, across=across):
            return NOT_ADMITTED
        if replica.has_proof(feed):
            return None  # It costs its sender as much as us.
        if self._expiry.proven_only(now_us) and not (seen and not queue.on_air):
            if not queue.on_air:
                self._await_entry(feed)
            return UNPROVEN
        if self._expiry.refuses(feed, now_us):
            return EXPIRED
        if self._admission is None or (replica.knows(feed) and replica.record(feed).followed):
            return None
        return self._admission.refusal(
            feed,
            queue.name,
            self._replica.named_only,
            now_us,
            asked=self._awaits(queue, feed),
            across=across,
        )

    def keep_beside(self, queue: TransmitQueue, feed: FeedId) -> bool | None:
        """A peer on *queue* claims *feed*, which is not in our set: keep it beside, in the set that we share with
        deployed peers, until an entry comes. Only they begin with claims on the air. Return False if an older one had
        to make room; None if it is no id to keep beside."""
        if not (queue.on_air and self._expiry.expires) or self._replica.read_only:
            return None
        if self._admission is not None and not self._admission.lets_in(feed, across=False):
            return None
        if feed in self._replica.retired or self._replica.has_proof(feed):
            return None
        self._replica.add_beyond(feed, keep=False)
        return self._deployed.named(feed)

    def _await_entry(self, feed: FeedId) -> None:
        self._awaited.pop(feed, None)
        self._awaited[feed] = None
        if len(self._awaited) > limits.SET_MAX:
            self._awaited.popitem(last=False)

    def awaits_entry(self, feed: FeedId) -> bool:
        """Return True if *feed*, of which no entry was here, was named for the set, by a wire or a deployed peer."""
        return feed in self._awaited or feed in self._deployed

    def _crosses(self, queue: TransmitQueue) -> bool:
        """Return True if what comes in on *queue*, no radio, is to be carried by one."""
        return not queue.on_air and any(other.on_air for other in self._queues.values())

    def _awaits(self, queue: TransmitQueue, feed: FeedId) -> bool:
        """Return True if a neighbour on *queue* showed that it has *feed*, and we requested it."""
        return self._exchanges[queue.name].awaits(feed)

    def grew(self, feed: FeedId, origin: TransmitQueue | None, now_us: int) -> list[Effect]:
        """*feed* was added to our set, because of what *origin* brought: offer it on all other faces."""
        self._sets.grew(feed)
        for face, exchange in self._exchanges.items():
            exchange.learned(feed)
            self._asked[face] = 0
        effects: list[Effect] = []
        unproven = self._replica.is_unproven(feed)
        for queue in self._queues.values():
            if not (unproven and self._expiry.is_flooded(queue.name, now_us)):
                queue.claim_timer.hear_inconsistent(now_us)
                queue.want_timer.hear_inconsistent(now_us)
            if queue is not origin:
                effects += self._queue_novelty(queue, feed, now_us)
        return effects

    def introduce(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> None:
        """The first entry of *feed*, one of ours, waits on *queue*: give its id behind it."""
        if self._proves(queue, now_us):
            packet = self._feeds_packet(queue, Feeds((feed,)))
            queue.put_own(packet.packet, packet.kind, now_us)

    def _proves(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if ids are given behind their first entries on *queue*: neighbours take no others."""
        return queue.on_air and self._expiry.proven_only(now_us)

    def _may_name(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> bool:
        """Return True if the id of *feed* may be given in reply to a request on *queue*."""
        if self._proves(queue, now_us) and not self._replica.holds(feed):
            return False
        return self._frontiers.may_name(queue.name, feed, now_us)

    def _queue_novelty(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> list[Effect]:
        """Offer a feed id that is new in our set on a face that did not bring it."""
        if self._proves(queue, now_us) and not self._replica.holds(feed):
            return []
        self._named[queue.name].add(feed)
        if self._speaks_claims(queue, now_us):
            return self._claim_once(queue, [claims.claim_of([feed])], now_us)
        self._exchanges[queue.name].queue_feeds(feed)
        return []

    def retire_absent(self, queue: TransmitQueue, said: Claim | Sketch, now_us: int) -> list[Effect]:
        """A peer on *queue* showed its set: retire closed feeds that it lacks, if they may leave, instead of giving
        them."""
        effects: list[Effect] = []
        if closed := self._retirement.closed:
            lacked = self._lacked(said, closed)
            # Those that may not leave are given, though they were named before.
            self._named[queue.name].forget(lacked)
            effects += self.retire(
                [feed for feed in lacked if self._retirement.may_leave(feed, now_us)], now_us
            )
        if isinstance(said, Sketch) and self._expiry.unproven:
            effects += self.expire(self._expired_at(queue, said, now_us), now_us)
        return effects

    def _is_refused(self, queue: TransmitQueue, feed: FeedId, now_us: int) -> bool:
        """Return True if *feed*, which a neighbour lacks, has no entry, and was named there so often that who lacks it
        still refuses it."""
        return (
            queue.on_air
            and self._expiry.was_named(feed, now_us)
            and not self._frontiers.may_name(queue.name, feed, now_us)
        )

    def _expired_at(self, queue: TransmitQueue, said: Sketch, now_us: int) -> Sequence[FeedId]:
        """Return the ids without an entry that left the set of a peer, and may leave ours. A peer that lacks feeds with
        entries, too, has not learned of them yet."""
        reading = read_sketch(self._sets.under(said.salt), said)
        if not isinstance(reading, SetDifference):
            return ()
        unproven = self._expiry.unproven
        if any(feed not in unproven and not self._replica.is_closed(feed) for feed in reading.ours):
            return ()
        if any(self._is_refused(queue, feed, now_us) for feed in reading.ours):
            self._expiry.neighbours_are_flooded(now_us)
            return [*unproven]
        return [feed for feed in reading.ours if self._expiry.may_leave(feed, now_us)]

    def retire(self, feeds: Collection[FeedId], now_us: int) -> list[Effect]:
        """Let closed *feeds* leave the set, and show it on every face."""
        effects: list[Effect] = []
        for feed in feeds:
            effects += self._replica.retire(feed)
            self._retirement.left(feed)
        self._show_left(feeds, now_us)
        return effects

    def expire_unproven(self, now_us: int) -> list[Effect]:
        """An id was refused: if made-up ids flood a radio, let all ids without an entry leave."""
        unproven = [*self._expiry.unproven]
        if not unproven or not self._expiry.proven_only(now_us) or self._replica.read_only:
            return []
        self._frontiers.name_anew()
        return self.expire(unproven, now_us)

    def expire(self, feeds: Collection[FeedId], now_us: int) -> list[Effect]:
        """Let *feeds*, of which no entry came, leave the set, and show it on every face."""
        effects: list[Effect] = []
        for feed in feeds:
            effects += self._replica.expire(feed)
            self._expiry.left(feed, now_us)
        self._show_left(feeds, now_us)
        return effects

    def _show_left(self, feeds: Collection[FeedId], now_us: int) -> None:
        if not feeds:
            return
        self._sets.shrank()
        for named in self._named.values():
            named.reset_interval()
        for face, exchange in self._exchanges.items():
            for feed in feeds:
                exchange.unlearned(feed)
            self._asked[face] = 0
        for queue in self._queues.values():
            queue.claim_timer.hear_inconsistent(now_us)
            queue.want_timer.hear_inconsistent(now_us)
            if not queue.on_air:
                queue.advertise(PacketKind.CLAIM, now_us)

    def _lacked(self, said: Claim | Sketch, among: Sequence[FeedId]) -> Sequence[FeedId]:
        """Return which feeds of our set, *among* some of it, a peer's set lacks, as far as the packet *said* shows."""
        if isinstance(said, Sketch):
            reading = read_sketch(self._sets.under(said.salt), said)
            lacked = reading.ours if isinstance(reading, SetDifference) else ()
            return [feed for feed in lacked if feed in among]
        goset = self._replica.goset
        # A claim does not tell whether it is of the whole set, and then what lies beyond its bounds is lacking too.
        for region in (goset.feeds, goset.region(said.low, said.high)):
            missing = len(region) - said.count
            if missing > 0:
                there = [feed for feed in among if region[0] <= feed <= region[-1]]
                found = subset_of(there, xor_of((said.xor, *region)), missing)
                if found is not None:
                    return found
        return ()

    def _can_learn(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True if an id that is named on *queue* would be admitted, as far as is known."""
        refused_us = self._expiry.refused_us(queue.name)
        if not queue.on_air and refused_us is not None and now_us - refused_us < 60_000_000:
            return False  # To ask again and again for what is refused would never end.
        return not (self._replica.goset.full or self._replica.read_only)

    def _salt(self) -> bytes:
        return int(self._entropy.random() * 2**32).to_bytes(limits.SALT_SIZE, "big")

    # --- adverts

    def build(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        """Build the advert of our set, or on wires, in turn, of our frontiers. None for an empty set, but where a
        newcomer has one, since no id enters it without an entry."""
        goset = self._replica.goset
        if not self._may_reconcile(queue.name, now_us):
            return None
        if not len(goset):
            if self._replica.read_only or not self._proves(queue, now_us):
                return None
            return self._sketch_packet(queue, self._exchanges[queue.name].advert(self._salt(), 0))
        turn = self._adverts[queue.name] = self._adverts.get(queue.name, 0) + 1
        if self._speaks_claims(queue, now_us):
            if turn % 4 == 0:
                return self._frontiers.advert(queue)  # A node of ours may have missed the first one.
            return self._claim_packet(queue, claims.claim_of(goset.feeds))
        if not queue.on_air and turn % (2 if self._frontiers.equal(queue.name) else 4) != 1:
            return self._frontiers.advert(queue)
        exchange = self._exchanges[queue.name]
        if exchange.lacking:
            # The requested ids did not come. Request them again, but not for ever: the node that had them may be gone.
            self._asked[queue.name] += 1
            if self._asked[queue.name] <= limits.ASK_AGAIN_MAX:
                exchange.ask_again()
                ask = exchange.next_ask()
                assert ask is not None
                return self._ask_packet(queue, ask)
            exchange.give_up()
        # While all agree, a sketch of no capacity asks whether they still do, in 16 bytes.
        agree = queue.claim_timer.is_calm and not self._frontiers.sets_seem_to_differ(queue.name)
        if agree and queue.on_air and (compare := self._frontiers.compare_on_air(queue, now_us)) is not None:
            return compare
        capacity = 0 if agree else limits.SKETCH_CAPACITY
        return self._sketch_packet(queue, exchange.advert(self._salt(), capacity))

    def has_packets(self, face: FaceName) -> bool:
        """Return True if ``next_packet`` has one for *face*."""
        return self._exchanges[face].has_packets

    def next_packet(self, queue: TransmitQueue, now_us: int) -> GossipPacket | None:
        """Return the next packet of the exchange on *queue*, if there is one, and airtime for it."""
        if not self._may_reconcile(queue.name, now_us):
            return None
        exchange = self._exchanges[queue.name]
        if (ask := exchange.next_ask()) is not None:
            return self._ask_packet(queue, ask)
        if (sketch := exchange.next_sketch(self._salt())) is not None:
            return self._sketch_packet(queue, sketch)
        if self._proves(queue, now_us) and not self._proofs.has_airtime(queue, now_us):
            return None
        if (feeds := exchange.next_feeds()) is not None:
            if self._proves(queue, now_us):
                self._proofs.give_entries(queue, feeds.feeds, now_us)
            self._frontiers.ids_named(queue.name, feeds.feeds, now_us)
            packet = self._feeds_packet(queue, feeds)
            self._queued[queue.name] = packet.packet, set(feeds.feeds)
            return packet
        return None

    # --- what is heard; the ids it names are in our set already, where they could be added

    def heard_claim(
        self, queue: TransmitQueue, claim: Claim, now_us: int, *, welcome: bool = True
    ) -> list[Effect]:
        """Handle a summary of a region of a peer's set. On the air, claims that name ids that are not *welcome* now get
        no reply: a peer that makes ids up would have us spend our airtime."""
        goset = self._deployed.goset
        effects: list[Effect] = [self._claim_seen(Direction.RX, queue, claim)]
        if queue.on_air:
            self._repeated[queue.name].gave(claim, 0, now_us)
        else:
            understood = self._frontiers.understood(queue.name)
            self._frontiers.deployed.heard_claim(queue.name, now_us, understood=understood)
        agrees = claims.agrees(goset, claim)
        if not queue.on_air and self._ignores_claims(queue, now_us):
            return effects
        if agrees and claims.covers(goset, claim):
            queue.suppress(PacketKind.CLAIM)
            self._named[queue.name].reset_interval()
            self._frontiers.set_compared(queue.name, same=True, now_us=now_us)
            return effects
        if queue.on_air:
            return effects + self._answer_classic(queue, claim, now_us) if welcome else effects
        can_learn = self._can_learn(queue, now_us)
        names = self._named[queue.name].name_next(goset, claim, now_us)
        repairs: list[Claim] = [claims.claim_of([feed]) for feed in names]
        if not agrees:
            said = claims.reconciling_claims(goset, claim, can_learn=can_learn, helping=not names)
            repairs += map(claims.as_claim, said)
            if can_learn and self._unanswered(queue, claim):
                repairs += claims.near_full_claims(goset, claim)
        if repairs:
            queue.claim_timer.hear_inconsistent(now_us)
        return effects + self._settle(queue, repairs, now_us)

    def heard_novelty(
        self, queue: TransmitQueue, novelty: Novelty, now_us: int, *, welcome: bool = True
    ) -> list[Effect]:
        """Handle a packet that names one id; see ``heard_claim``."""
        seen = NoveltySeen(direction=Direction.RX, face=queue.name, feed=novelty.feed)
        self._frontiers.deployed.heard(queue.name, now_us)
        if not queue.on_air:
            self._claimed_us[queue.name] = now_us
        if not queue.on_air or not welcome:
            return [seen]
        return [seen, *self._answer_classic(queue, novelty, now_us)]

    def heard_ping(self, queue: TransmitQueue, now_us: int) -> list[Effect]:
        """A board pings. One without a feed says nothing else, and reads no SKETCH: claim our set as boards do, the
        more rarely the more often it was claimed."""
        self._frontiers.deployed.heard(queue.name, now_us)
        goset = self._deployed.goset
        shown = self._shown_to_boards.get(queue.name)
        if shown is None or not len(goset) or not self._may_claim(queue, now_us):
            return []
        if not shown.allows(goset.state, 0, now_us):
            return []
        shown.gave(goset.state, 0, now_us)
        return self._settle(queue, [claims.claim_of(goset.feeds)], now_us)

    def heard_sketch(self, queue: TransmitQueue, sketch: Sketch, now_us: int) -> list[Effect]:
        """Handle a sketch of a peer's set."""
        exchange = self._exchanges[queue.name]
        self._salts.append(sketch.salt)
        can_learn = self._can_learn(queue, now_us)
        left = (*self._replica.retired, *self._expiry.refused(now_us))
        flooded = self._expiry.is_flooded(queue.name, now_us)
        holds = self._replica.holds
        # Of made-up ids each node has others. To name them all would use up the airtime of what is worth more.
        reading = exchange.heard_sketch(
            sketch,
            can_learn=can_learn,
            left=left,
            worth=holds if flooded else lambda _: True,
            may_name=lambda feed: self._may_name(queue, feed, now_us),
        )
        if not self._proves(queue, now_us):
            if isinstance(reading, SetDifference):
                self._proofs.lacked(queue, reading.ours, now_us, flooded=flooded)
            elif isinstance(reading, DifferenceTooLarge) and flooded:
                self._proofs.unknown(queue, now_us)
        same = isinstance(reading, SetsEqual)
        self._frontiers.set_compared(queue.name, same=same, now_us=now_us)
        if same:
            queue.suppress(PacketKind.CLAIM)
        elif self._is_stuck(queue, sketch, now_us):
            if not queue.on_air:
                queue.suppress(PacketKind.CLAIM)
            exchange.drop()
        else:
            self._asked[queue.name] = 0
            queue.claim_timer.hear_inconsistent(now_us)
        return [self._sketch_seen(Direction.RX, queue, sketch)]

    def _is_stuck(self, queue: TransmitQueue, sketch: Sketch, now_us: int) -> bool:
        """Return True if a set of so many ids was compared with ours in vain several times: one of them is full, or
        refuses ids. It is tried again when one of them changes, or a day later; on the air ever more rarely, as more
        neighbours than one may have such a set, and packets are lost there."""
        stuck = self._stuck.setdefault(queue.name, OrderedDict())
        key = self._replica.goset.state, sketch.count
        tries, since_us = stuck.pop(key, (0, now_us))
        if queue.on_air:
            paused, tries, since_us = self._pause(queue, tries, since_us, now_us)
        else:
            if now_us - since_us >= 86_400_000_000:
                tries, since_us = 0, now_us
            paused = tries >= set_limits.SETTLE_TRIES
            tries += 1
        stuck[key] = tries, since_us
        if len(stuck) > limits.NEIGHBOURS_MAX:
            stuck.popitem(last=False)
        return paused

    def _pause(self, queue: TransmitQueue, tries: int, since_us: int, now_us: int) -> tuple[bool, int, int]:
        """Return whether a comparison on the air pauses after so many *tries*, the last one *since_us*, and both from
        now on. Those in the same shortest interval are one."""
        profile = queue.profile
        doublings = tries - set_limits.SETTLE_TRIES_ON_AIR
        if doublings < 0:
            counts = not tries or now_us - since_us >= profile.advert_min_us
            return False, tries + counts, now_us if counts else since_us
        pause_us = min(profile.advert_max_us << min(doublings, 16), set_limits.SETTLE_PAUSE_MAX_US)
        if now_us - since_us < pause_us:
            return True, tries, since_us
        return False, tries + 1, now_us

    def heard_ask(self, queue: TransmitQueue, ask: Ask, now_us: int) -> list[Effect]:
        """Handle a request for ids."""
        if not self._frontiers.knows_salt(ask.salt):
            queue.note_exchange(hidden=ask.salt not in self._salts, named=False)
        exchange, flooded = self._exchanges[queue.name], self._expiry.is_flooded(queue.name, now_us)
        asked = exchange.heard_ask(ask, may_name=lambda feed: self._may_name(queue, feed, now_us))
        if not self._proves(queue, now_us):
            self._proofs.lacked(queue, asked, now_us, flooded=flooded)
        return [AskSeen(direction=Direction.RX, face=queue.name, salt=ask.salt, count=len(ask.shorts))]

    def heard_feeds(self, queue: TransmitQueue, feeds: Feeds) -> list[Effect]:
        """Handle a packet of ids. One of ours that waits says nothing new once others have named all of them."""
        self._exchanges[queue.name].heard_feeds(feeds)
        packet, unnamed = self._queued.get(queue.name, (b"", set[FeedId]()))
        unnamed.difference_update(feeds.feeds)
        if not unnamed:
            queue.waiting.cancel(packet)
        return [FeedsSeen(direction=Direction.RX, face=queue.name, count=len(feeds.feeds))]

    def _ignores_claims(self, queue: TransmitQueue, now_us: int) -> bool:
        """Return True for claims of a node of ours, which says them only before it knows that we are one, too."""
        if queue.profile.medium is LinkMedium.STREAM:
            return self._frontiers.understood(queue.name)
        self._claimed_us[queue.name] = now_us
        return False

    def _unanswered(self, queue: TransmitQueue, claim: Claim) -> bool:
        """Return True if a stream's peer repeats the claim of its larger set, and we learned nothing meanwhile."""
        goset = self._replica.goset
        if queue.profile.medium is not LinkMedium.STREAM or claim.count <= len(goset):
            return False
        return self._named[queue.name].is_unanswered(claim, goset.state)

    def _answer_classic(self, queue: TransmitQueue, said: Claim | Novelty, now_us: int) -> list[Effect]:
        if not (self._may_claim(queue, now_us) and self._answers[queue.name].has(now_us)):
            # Nor does it keep us from speaking of other things.
            queue.heard_useless()
            return []
        answer = answer_classic(self._deployed.goset, said, can_learn=self._can_learn(queue, now_us))
        return self._settle(queue, answer, now_us)

    def _settle(self, queue: TransmitQueue, said: Sequence[Claim], now_us: int) -> list[Effect]:
        """Queue claims that answer a claim. Where ids are refused, a peer whose set only grows may never have ours: it
        gets as many as there are adverts that nobody contradicts."""
        if not self._expiry.is_flooded(queue.name, now_us):
            return self._claim_once(queue, said, now_us)
        bucket, effects = self._settling[queue.name], list[Effect]()
        for claim in said:
            if not bucket.has(now_us):
                break
            queued = self._claim_once(queue, [claim], now_us)
            if queued:
                bucket.take()
            effects += queued
        return effects

    def _claim_once(self, queue: TransmitQueue, said: Sequence[Claim], now_us: int) -> list[Effect]:
        """Queue claims that were not sent a moment ago: two nodes that keep answering each other's claims about one
        region would never end."""
        effects: list[Effect] = []
        due_us, repeated = queue.reply_due_us(now_us), self._repeated.get(queue.name)
        for claim in said:
            if repeated is not None and not (
                repeated.allows(claim, 0, now_us) and self._answers[queue.name].has(now_us)
            ):
                continue
            packet, seen = serialize_claim(self.dmx, claim), self._claim_seen(Direction.TX, queue, claim)
            if queue.put_once(packet, PacketKind.CLAIM, due_us, now_us):
                effects.append(seen)
                if repeated is not None:
                    repeated.gave(claim, 0, now_us)
                    self._answers[queue.name].take()
        return effects

    # --- packets

    def _claim_packet(self, queue: TransmitQueue, claim: Claim) -> GossipPacket:
        packet = serialize_claim(self.dmx, claim)
        return GossipPacket(packet, PacketKind.CLAIM, self._claim_seen(Direction.TX, queue, claim))

    def _sketch_packet(self, queue: TransmitQueue, sketch: Sketch) -> GossipPacket:
        self._salts.append(sketch.salt)
        packet = serialize_sketch(self.dmx, sketch)
        return GossipPacket(packet, PacketKind.SKETCH, self._sketch_seen(Direction.TX, queue, sketch))

    def _ask_packet(self, queue: TransmitQueue, ask: Ask) -> GossipPacket:
        seen = AskSeen(direction=Direction.TX, face=queue.name, salt=ask.salt, count=len(ask.shorts))
        return GossipPacket(serialize_ask(self.dmx, ask), PacketKind.ASK, seen)

    def _feeds_packet(self, queue: TransmitQueue, feeds: Feeds) -> GossipPacket:
        seen = FeedsSeen(direction=Direction.TX, face=queue.name, count=len(feeds.feeds))
        return GossipPacket(serialize_feeds(self.dmx, feeds), PacketKind.FEEDS, seen)

    def _claim_seen(self, direction: Direction, queue: TransmitQueue, claim: Claim) -> ClaimSeen:
        return ClaimSeen(
            direction=direction,
            face=queue.name,
            low=claim.low,
            high=claim.high,
            xor=claim.xor,
            count=claim.count,
        )

    def _sketch_seen(self, direction: Direction, queue: TransmitQueue, sketch: Sketch) -> SketchSeen:
        capacity = len(sketch.sums) // limits.SHORT_ID_SIZE
        return SketchSeen(
            direction=direction, face=queue.name, salt=sketch.salt, count=sketch.count, capacity=capacity
        )
