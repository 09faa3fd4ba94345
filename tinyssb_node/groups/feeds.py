"""Whose feeds are whose in groups: what people say of feeds, and what their first entries say."""

from collections import Counter

from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.claims import FeedClaim
from tinyssb_node.groups.reader_events import FeedAssignment, GroupEntryFault
from tinyssb_node.ids import EpochKey, FeedId


class GroupFeeds:
    """Feeds of groups."""

    def __init__(self, counts: Counter[GroupEntryFault]) -> None:
        self._counts = counts
        self._claims: dict[FeedId, dict[FeedAssignment, FeedClaim]] = {}
        self._of: dict[tuple[FeedId, EpochKey | None], dict[FeedId, int]] = {}
        """By member and key: feeds that he claims, and that do not say otherwise, with the entry that claims them."""
        self._placed: dict[FeedId, FeedAssignment] = {}
        self._by_key: dict[EpochKey | None, list[FeedId]] = {}

    def claim(self, feed: FeedId, claim: FeedClaim) -> bool:
        """Somebody says that *feed* is his. False: that was known, or he has too many."""
        place = claim.place
        theirs = self._of.setdefault((place.member, place.key), {})
        before = theirs.get(feed)
        if before is not None and before <= claim.seq:
            return False
        if before is None and len(theirs) >= group_limits.FEEDS_OF_ONE_MAX:
            self._counts[GroupEntryFault.FULL] += 1
            return False
        theirs[feed] = claim.seq
        self._claims.setdefault(feed, {})[place] = claim
        return True

    def claims(self, feed: FeedId) -> list[FeedClaim]:
        """What is said of a feed, and not refused."""
        return list(self._claims.get(feed, {}).values())

    def refuse(self, feed: FeedId, claim: FeedClaim, fault: GroupEntryFault) -> None:
        """It is not so."""
        self._counts[fault] += 1
        del self._claims[feed][claim.place]
        del self._of[claim.place.member, claim.place.key][feed]

    def place(self, feed: FeedId, place: FeedAssignment) -> None:
        """It is so."""
        self._placed[feed] = place
        self._by_key.setdefault(place.key, []).append(feed)

    def role_of(self, feed: FeedId) -> FeedAssignment | None:
        """Whose *feed* is; None unless he and the feed say so."""
        return self._placed.get(feed)

    def with_key(self, key: EpochKey | None) -> list[FeedId]:
        """Feeds in the epoch with that key; for None those of additions."""
        return self._by_key.get(key, [])

    def feed_of(self, member: FeedId, key: EpochKey | None) -> FeedId | None:
        """Somebody's feed in the epoch with that key: the last that he announced; for None his first of additions."""
        theirs = sorted((seq, feed) for feed, seq in self._of.get((member, key), {}).items())
        if not theirs:
            return None
        return theirs[0 if key is None else -1][1]
