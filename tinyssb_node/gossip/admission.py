"""Admission: which feed ids that strangers name enter our set, and how fast (decision 0045).

Feeds that our user follows, our own feeds and those that our groups need do not pass here: they are always admitted.
"""

from collections.abc import Collection, Sequence
from enum import StrEnum

from tinyssb_node import limits
from tinyssb_node.codec.events import EntryAppended, Event
from tinyssb_node.codec.packets import parse_entry
from tinyssb_node.errors import PeerError
from tinyssb_node.feeds.children import EntryType, parse_child_made
from tinyssb_node.ids import FaceName, FeedId
from tinyssb_node.replication import limits as set_limits
from tinyssb_node.scheduling.token_bucket import TokenBucket
from tinyssb_node.store.port import Store, StoredEntry


class AdmissionPolicy(StrEnum):
    """Which ids are admitted when peers name them."""

    OPEN = "open"
    """Anybody's."""
    KNOWN = "known"
    """Those that we know by a contact, or because a feed that is here names them as its child."""
    INVITE = "invite"
    """Nobody's: only what our user follows, and what our groups need."""


NOT_ADMITTED = "admission"
"""Rule by which an id is refused that the policy does not let in."""
TOO_MANY = "ids"
"""Rule by which an id is refused now that may be named again later."""


class Admission:
    """The decision which ids that peers name enter the set."""

    def __init__(
        self,
        policy: AdmissionPolicy = AdmissionPolicy.OPEN,
        *,
        across: AdmissionPolicy = AdmissionPolicy.OPEN,
        known: Collection[FeedId] = (),
        per_hour: int = set_limits.SET_IDS_PER_HOUR,
    ) -> None:
        """*across* is for ids that are named on a face that is no radio, while one is up; *policy* holds for those
        too. ``AdmissionPolicy.KNOWN`` lets *known* in. *per_hour* ids come in by each face, once there are many."""
        self._policy = policy
        self._across = across
        self._known = frozenset(known)
        self._per_hour = per_hour
        self._store: Store | None = None
        self._children: dict[FeedId, None] = {}
        self._total: TokenBucket | None = None
        self._beyond: dict[FaceName, TokenBucket] = {}
        self._unasked: dict[FaceName, TokenBucket] = {}
        self._asked: dict[FaceName, TokenBucket] = {}

    def begin(self, store: Store) -> None:
        """Read in *store* which feeds are named as children, if the policy needs it. It reads every entry, once."""
        self._store = store
        if AdmissionPolicy.KNOWN not in {self._policy, self._across}:
            return
        after = 0
        while page := store.after(after, limits.CONTROL_PAGE):
            after = page[-1].arrival
            for kept in page:
                if isinstance(kept, StoredEntry):
                    self._read(kept.packet)

    def appended(self, events: Sequence[Event]) -> None:
        """Entries were appended, and may name children."""
        if AdmissionPolicy.KNOWN not in {self._policy, self._across}:
            return
        assert self._store is not None
        for event in events:
            if isinstance(event, EntryAppended) and event.type == EntryType.CHILD_MADE:
                entry = self._store.entry(event.feed, event.seq)
                assert entry is not None
                self._read(entry.packet)

    def face_down(self, face: FaceName) -> None:
        """A face is gone. Others do not get what it had left: the bucket of all faces stays."""
        self._unasked.pop(face, None)
        self._beyond.pop(face, None)
        self._asked.pop(face, None)

    def lets_in(self, feed: FeedId, *, across: bool) -> bool:
        """Return True if the policy lets *feed* in, however many there are. *across*: the face is no radio, and one is
        up, which is to carry what comes in."""
        policies = {self._policy, self._across} if across else {self._policy}
        return all(self._is_allowed(feed, policy) for policy in policies)

    def refusal(
        self,
        feed: FeedId,
        face: FaceName,
        named_only: int,
        now_us: int,
        *,
        asked: bool = False,
        across: bool = False,
    ) -> str | None:
        """Return the rule by which *feed*, which *face* names, does not enter the set; None: it may, and is counted.
        *named_only* feeds are in the set of which no entry is here: a feed with entries costs who sends them, and is
        not counted. *asked*: we requested it, since a neighbour's set has it. *across*: as in ``lets_in``."""
        if not self.lets_in(feed, across=across):
            return NOT_ADMITTED
        if named_only < set_limits.SET_AT_ONCE:
            return None
        if self._total is None:
            self._total = self._bucket(
                set_limits.SET_IDS_BURST * set_limits.SET_FACES, now_us, set_limits.SET_FACES
            )
        buckets, burst = (
            # More of those that we requested on the air, since neighbours have them.
            (self._asked, 64) if asked else (self._unasked, set_limits.SET_IDS_BURST)
        )
        bucket = buckets.setdefault(face, self._bucket(burst, now_us))
        # A neighbour admitted at its own pace the ids that we requested: they must not wait for unrequested ones.
        needed = (bucket,) if asked else (bucket, self._total)
        if not all(each.has(now_us) for each in needed):
            return TOO_MANY
        for each in needed:
            each.take()
        return None

    def refusal_beyond(
        self, feed: FeedId, face: FaceName, named_only: int, now_us: int, *, across: bool = False
    ) -> str | None:
        """Return the rule by which *feed*, which the radio *face* names, is not taken beyond the set; *named_only* of
        those there have no entry. Such feeds have buckets of their own: made-up ids in the set do not keep out what
        neighbours exchange by name, as members of groups do."""
        if not self.lets_in(feed, across=across):
            return NOT_ADMITTED
        if named_only < set_limits.SET_AT_ONCE:
            return None
        bucket = self._beyond.setdefault(face, self._bucket(set_limits.SET_IDS_BURST, now_us))
        if not bucket.has(now_us):
            return TOO_MANY
        bucket.take()
        return None

    def _bucket(self, most: int, now_us: int, times: int = 1) -> TokenBucket:
        return TokenBucket(most, self._per_hour * times, 3_600_000_000, now_us)

    def _is_allowed(self, feed: FeedId, policy: AdmissionPolicy) -> bool:
        known = policy is AdmissionPolicy.KNOWN and (feed in self._known or feed in self._children)
        return policy is AdmissionPolicy.OPEN or known

    def _read(self, packet: bytes) -> None:
        entry = parse_entry(packet)
        if entry.type != EntryType.CHILD_MADE:
            return
        try:
            child = parse_child_made(entry.content).feed
        except PeerError:
            return
        self._children.pop(child, None)
        self._children[child] = None
        if len(self._children) > 1_024:  # 100 kB
            del self._children[next(iter(self._children))]
