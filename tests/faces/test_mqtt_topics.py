"""Topics at an MQTT broker: the frozen vectors, and whatever anybody may publish in."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec.dmx import Network, dmx_of
from tinyssb_node.faces.mqtt_topics import TopicKind, TopicNames, feed_prefix
from tinyssb_node.ids import FeedId

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "mqtt" / "topics.json").read_text())
PAGE = (Path(__file__).parents[2] / "docs" / "formats" / "mqtt.md").read_text()


@pytest.mark.parametrize("row", VECTORS["topics"])
def test_topics_are_those_of_the_vectors(row: dict[str, str]) -> None:
    network = Network(bytes.fromhex(row["network_key"]))
    tag, set_, feed = dmx_of(network.prefix).hex(), network.goset_dmx.hex(), FeedId.from_hex(row["feed"])
    topics = TopicNames(row["root"], row["client"])
    assert topics.of_feed(tag, feed) == row["feed_topic"]
    assert topics.of_set(tag, set_) == row["set_topic"]
    assert topics.status == row["status_topic"]
    assert topics.from_feed(tag, feed_prefix(feed)) == row["feed_filter"]
    assert topics.from_set(tag, set_) == row["set_filter"]
    said = topics.parse(row["feed_topic"])
    assert said is not None
    assert (said.kind, said.network, said.about, said.client) == (
        TopicKind.FEED, tag, feed_prefix(feed), row["client"],
    )  # fmt: skip
    said = topics.parse(row["set_topic"])
    assert said is not None
    assert (said.kind, said.network, said.about, said.client) == (TopicKind.SET, tag, set_, row["client"])


@pytest.mark.parametrize("topic", VECTORS["not_topics_of_packets"])
def test_other_topics_say_nothing(topic: str) -> None:
    assert TopicNames("tinyssb", "00" * 8).parse(topic) is None


def test_the_page_shows_the_first_vector() -> None:
    row = VECTORS["topics"][0]
    assert [
        key for key, value in row.items() if key.endswith(("topic", "filter")) and value not in PAGE
    ] == []


@given(st.text(max_size=120) | st.text("tinyssb/1feds0af+#$", max_size=120))
def test_no_topic_raises(topic: str) -> None:
    TopicNames("tinyssb", "00" * 8).parse(topic)
