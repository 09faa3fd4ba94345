"""Topics of packets at an MQTT broker (docs/formats/mqtt.md). Pure.

``parse`` takes what a stranger may have made up, and never raises.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinyssb_node import limits as node_limits
from tinyssb_node.faces import limits
from tinyssb_node.ids import FeedId

ROOT: Final = "tinyssb"
"""What topics begin with, unless said otherwise."""


class TopicKind(StrEnum):
    """What is said in a topic."""

    FEED = "feed"
    """Entries and chunks."""
    SET = "set"
    """All other packets."""


def _digits(size: int) -> str:
    return rf"[0-9a-f]{{{2 * size}}}"


_DMX = _digits(node_limits.DMX_SIZE)
_BELOW: Final = re.compile(
    rf"{limits.MQTT_VERSION}/(?P<network>{_DMX})/"
    rf"((?P<feed>feed)/(?P<prefix>{_digits(limits.MQTT_FEED_SIZE)})|set/(?P<set>{_DMX}))/"
    rf"(?P<client>{_digits(limits.MQTT_CLIENT_SIZE)})"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedTopic:
    """What a topic says of a packet; all but the kind in hexadecimal digits."""

    network: str
    """The network's tag."""
    kind: TopicKind
    """Whether it is of a feed."""
    about: str
    """The feed's prefix, or the set's tag."""
    client: str
    """Who says it."""


def feed_prefix(feed: FeedId) -> str:
    """What stands for *feed* in a topic."""
    return feed[: limits.MQTT_FEED_SIZE].hex()


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics that one client uses."""

    root: str
    """What they begin with."""
    client: str
    """Who it is: 16 hexadecimal digits."""

    def of_feed(self, network: str, feed: FeedId) -> str:
        """Where this client says an entry or chunk of *feed*."""
        return f"{self._taken(network, TopicKind.FEED, feed_prefix(feed))}/{self.client}"

    def of_set(self, network: str, set_: str) -> str:
        """Where this client says what is about the set *set_*."""
        return f"{self._taken(network, TopicKind.SET, set_)}/{self.client}"

    @property
    def status(self) -> str:
        """Where it is said whether this client is there."""
        return f"{self.root}/{limits.MQTT_VERSION}/status/{self.client}"

    def from_feed(self, network: str, prefix: str) -> str:
        """What to subscribe to for the entries and chunks of the feeds that begin with *prefix*."""
        return f"{self._taken(network, TopicKind.FEED, prefix)}/+"

    def from_set(self, network: str, set_: str) -> str:
        """What to subscribe to for what is about the set *set_*."""
        return f"{self._taken(network, TopicKind.SET, set_)}/+"

    def _taken(self, network: str, kind: TopicKind, about: str) -> str:
        return f"{self.root}/{limits.MQTT_VERSION}/{network}/{kind}/{about}"

    def parse(self, topic: str) -> ParsedTopic | None:
        """What *topic* says of the packet in it; None if it is none of this form and root."""
        if not topic.startswith(self.root + "/"):
            return None
        match = _BELOW.fullmatch(topic, len(self.root) + 1)
        if match is None:
            return None
        kind = TopicKind.FEED if match["feed"] else TopicKind.SET
        about = match["prefix"] if kind is TopicKind.FEED else match["set"]
        return ParsedTopic(network=match["network"], kind=kind, about=about, client=match["client"])
