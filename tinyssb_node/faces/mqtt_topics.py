"""Topics of packets at an MQTT broker (docs/formats/mqtt.md). Pure.

``parse`` accepts topics made up by strangers, and never raises.
"""

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from tinyssb_node import limits as node_limits
from tinyssb_node.faces import limits
from tinyssb_node.ids import FeedId

ROOT: Final = "tinyssb"
"""Default first part of topics."""


class TopicKind(StrEnum):
    """The kind of a topic."""

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
    """A parsed topic; all fields but the kind are hexadecimal digits."""

    network: str
    """The network's tag."""
    kind: TopicKind
    """A feed's topic, or a set's."""
    about: str
    """The feed's prefix, or the set's tag."""
    client: str
    """The sender."""


def feed_prefix(feed: FeedId) -> str:
    """Return the part of a topic that stands for *feed*."""
    return feed[: limits.MQTT_FEED_SIZE].hex()


@dataclass(frozen=True, slots=True)
class TopicNames:
    """The topics that one client uses."""

    root: str
    """First part of the topics."""
    client: str
    """The client's id: 16 hexadecimal digits."""

    def of_feed(self, network: str, feed: FeedId) -> str:
        """Return the topic in which this client publishes entries and chunks of *feed*."""
        return f"{self._taken(network, TopicKind.FEED, feed_prefix(feed))}/{self.client}"

    def of_set(self, network: str, set_: str) -> str:
        """Return the topic in which this client publishes packets about the set *set_*."""
        return f"{self._taken(network, TopicKind.SET, set_)}/{self.client}"

    @property
    def status(self) -> str:
        """The topic with this client's status, online or offline."""
        return f"{self.root}/{limits.MQTT_VERSION}/status/{self.client}"

    def from_feed(self, network: str, prefix: str) -> str:
        """Return the topic filter for entries and chunks of the feeds that begin with *prefix*."""
        return f"{self._taken(network, TopicKind.FEED, prefix)}/+"

    def from_set(self, network: str, set_: str) -> str:
        """Return the topic filter for packets about the set *set_*."""
        return f"{self._taken(network, TopicKind.SET, set_)}/+"

    def _taken(self, network: str, kind: TopicKind, about: str) -> str:
        return f"{self.root}/{limits.MQTT_VERSION}/{network}/{kind}/{about}"

    def parse(self, topic: str) -> ParsedTopic | None:
        """Parse *topic*; None if it is of another form or root."""
        if not topic.startswith(self.root + "/"):
            return None
        match = _BELOW.fullmatch(topic, len(self.root) + 1)
        if match is None:
            return None
        kind = TopicKind.FEED if match["feed"] else TopicKind.SET
        about = match["prefix"] if kind is TopicKind.FEED else match["set"]
        return ParsedTopic(network=match["network"], kind=kind, about=about, client=match["client"])
