"""Consent: in which groups the node takes part (decision 0072).

Anybody whose feed a node has can add its user to a group, and a group makes its members' nodes write. So a group that
people began, or brought the user to, whom the user does not follow is an invitation: it can be read, and the node
writes nothing for it until the user accepts.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from tinyssb_node.errors import LocalError
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.replication import replication
from tinyssb_node.groups.waits import GroupConsent, GroupWaits
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import FeedId, MessageId
from tinyssb_node.replication.replica import Replica


@dataclass(frozen=True, slots=True)
class GroupInvitation:
    """A group that the user has not accepted."""

    creator: FeedId
    """The person who began it."""
    adders: tuple[FeedId, ...]
    """The people who added the user, as far as their messages are here; sorted."""
    strangers: frozenset[FeedId]
    """Those of all these whom the user does not follow."""


class GroupConsentError(LocalError):
    """A group that the user has not accepted, or in which they take part already."""

    def __init__(self, consent: GroupConsent, root: MessageId) -> None:
        super().__init__(f"nothing was written: this group is {consent.value}")
        self.consent = consent
        self.root = root


class GroupConsents:
    """The decisions of one identity's user, and the feeds that are requested until there is one."""

    def __init__(self, me: FeedId, reader: GroupReader, replica: Replica, waits: GroupWaits) -> None:
        self._me = me
        self._reader = reader
        self._replica = replica
        self._waits = waits
        self._requested: dict[MessageId, set[FeedId]] = {}
        """By group that is not accepted: its feeds that are requested."""

    def of(self, root: MessageId) -> GroupConsent:
        """Return whether the user takes part in a group."""
        decided = self._waits.decided(root)
        if decided is None:
            return GroupConsent.ACCEPTED if self._is_known(root) else GroupConsent.INVITED
        return decided

    def settle(self, root: MessageId, now_us: int) -> GroupConsent:
        """Return the same. That a group is accepted stays so, whomever the user unfollows."""
        consent = self.of(root)
        if consent is GroupConsent.ACCEPTED:
            self._requested.pop(root, None)
            if self._waits.decided(root) is None and not self._replica.read_only:
                self._waits.accept(root, now_us)
        return consent

    def newly_accepted(self) -> set[MessageId]:
        """Return the groups that need no decision any more, since the user follows these people now."""
        return {root for root in self._requested if self.of(root) is GroupConsent.ACCEPTED}

    def open(self) -> list[MessageId]:
        """Return the groups about which the user has not decided."""
        return [root for root in self._reader.groups if self.of(root) is GroupConsent.INVITED]

    def invitation(self, root: MessageId) -> GroupInvitation:
        """Return who invites the user to a group that is here."""
        readable = self._reader.groups[root]
        adders = readable.group.adders(self._me) - {self._me}
        strangers = {one for one in adders | {readable.creator} if not self.follows(one)}
        return GroupInvitation(readable.creator, tuple(sorted(adders)), frozenset(strangers))

    def _is_known(self, root: MessageId) -> bool:
        """Return whether a group needs no decision: the user began it or wrote in it, or they follow the person who
        began it and one who added them."""
        readable = self._reader.groups.get(root)
        if readable is None:
            return False
        group, creator = readable.group, readable.creator
        if creator == self._me or group.wrote(self._me):
            return True
        return self.follows(creator) and any(map(self.follows, group.adders(self._me)))

    def follows(self, person: FeedId) -> bool:
        """Return whether the user follows a person. That a group fetches a feed as its member's is not enough."""
        replica = self._replica
        return person == self._me or (replica.is_current(person) and replica.record(person).of_user)

    # --- feeds of groups that are not accepted

    def request(self, port: GroupWriterPort, root: MessageId) -> None:
        """Request feeds of a group that is not accepted, so that the user can read it; of a declined one none."""
        readable = self._reader.groups[root]
        view, first = readable.group.view, readable.group.adders(self._me) | {readable.creator}
        wish = replication(readable.group, self._me)
        places = sorted(wish.fetch, key=lambda place: (place.member not in first, place))
        feeds = [self._reader.feed_of(place.member, view[place.epoch].key) for place in places]
        feeds += unread_feeds(self._reader, root, self._me)
        if self.of(root) is GroupConsent.DECLINED:
            self._requested.pop(root, None)
            for feed in feeds:
                if feed is not None:
                    port.want(feed, wanted=False, invited=True)
            return
        for feed in [self._reader.feed_of(person, None) for person in sorted(first)] + feeds:
            self.want(port, root, feed)

    def want(self, port: GroupWriterPort, root: MessageId, feed: FeedId | None) -> None:
        """Request one feed, if there is room: it has that of strangers' feeds on the disk."""
        if self.of(root) is GroupConsent.DECLINED:
            return
        mine = self._requested.setdefault(root, set())
        if feed is not None and (feed in mine or self._has_room(root)):
            mine.add(feed)
            port.want(feed, wanted=True, invited=True)

    def _has_room(self, root: MessageId) -> bool:
        """Return whether one more feed of a group that is not accepted may be requested. A group to which a person whom
        the user follows added them may need all of its history before the addition can be judged."""
        if self._by_friend(root):
            return len(self._requested[root]) < group_limits.FRIENDS_FEEDS_OF_ONE
        by_strangers = [feeds for one, feeds in self._requested.items() if not self._by_friend(one)]
        return (
            len(self._requested[root]) < group_limits.INVITED_FEEDS_OF_ONE
            and len(set[FeedId]().union(*by_strangers)) < group_limits.INVITED_FEEDS_MAX
        )

    def _by_friend(self, root: MessageId) -> bool:
        return any(map(self.follows, self._reader.givers(root)))


def unread_feeds(reader: GroupReader, root: MessageId, me: FeedId) -> Iterator[FeedId]:
    """Yield the feeds of epochs whose key we have, and in which we are not known to be."""
    readable = reader.groups.get(root)
    view = None if readable is None else readable.group.view
    read = set() if view is None else {view[init].key for init in view.of(me)}
    for key in reader.keys_of(root):
        for person in sorted(reader.people_of(root)) if key not in read else ():
            feed = reader.feed_of(person, key)
            if feed is not None:
                yield feed
