import json
import zlib
from hashlib import blake2b
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink import limits
from spark_sink.collect.messages import (
    STATUS,
    Ask,
    HaveRow,
    Log,
    LogBatch,
    Malformed,
    SegmentId,
    UnknownVersion,
    fingerprint,
    parse_message,
    parse_topic,
    serialize_have,
)

VECTORS = Path(__file__).parents[2] / "vectors/log-shipping/messages_v1.json"
FROZEN = json.loads(VECTORS.read_text("utf-8"))


def test_frozen_batches_are_understood() -> None:
    segment = FROZEN["segment"].encode()
    for record in FROZEN["batches"]:
        at = record["at"]
        near = min(at, limits.PRINT_BYTES)
        assert parse_message(bytes.fromhex(record["message"])) == LogBatch(
            record["run"],
            SegmentId(record["boot"], record["first"]),
            at,
            fingerprint(segment[:near], segment[at - near : at]),
            segment[at : at + record["size"]],
        )


def test_frozen_questions_are_understood() -> None:
    for record in FROZEN["asks"]:
        expected = Ask(record["run"], SegmentId(record["boot"], record["first"]))
        assert parse_message(bytes.fromhex(record["message"])) == expected


def test_frozen_answers_are_made_as_they_were() -> None:
    for record in FROZEN["haves"]:
        rows = [HaveRow(SegmentId(boot, first), have, state) for boot, first, have, state in record["rows"]]
        made = serialize_have(record["run"], record["life"], record["flags"], rows)
        assert made.hex() == record["message"]


@pytest.mark.parametrize(("rule", "message"), FROZEN["bad_up"])
def test_what_is_no_message_is_told_by_its_rule(rule: str, message: str) -> None:
    assert parse_message(bytes.fromhex(message)) == Malformed(rule)


def test_what_is_too_long_is_not_looked_at() -> None:
    assert parse_message(bytes(limits.BATCH_WIRE_MAX + 1)) == Malformed("too long")


@pytest.mark.parametrize(("message", "run"), FROZEN["newer"])
def test_other_versions_are_known_as_such(message: str, run: int) -> None:
    assert parse_message(bytes.fromhex(message)) == UnknownVersion(run)


def test_topics_say_whose_log_it_is() -> None:
    assert FROZEN["topics"]["collector"] == STATUS
    for network, node, topic in FROZEN["topics"]["up"]:
        assert parse_topic(topic) == Log(network, node)
    for network, node, topic in FROZEN["topics"]["down"]:
        assert Log(network, node).topic_down == topic


@pytest.mark.parametrize("topic", FROZEN["topics"]["none"])
def test_other_topics_say_nothing(topic: str) -> None:
    assert parse_topic(topic) is None


@given(st.text())
def test_any_topic_is_a_log_or_none(topic: str) -> None:
    assert parse_topic(topic) is None


@given(
    st.binary(max_size=120),
    st.sampled_from([record["message"] for record in [*FROZEN["batches"], *FROZEN["asks"]]]),
    st.integers(0, 200),
)
def test_any_bytes_are_something(noise: bytes, start: str, cut: int) -> None:
    whole = bytes.fromhex(start)
    for message in (noise, whole + noise, whole[:cut] + noise, whole[:cut] + noise + whole[cut:]):
        parse_message(message)


def test_a_bomb_is_not_unpacked() -> None:
    """130 kB that deflate to a gigabyte take no more memory than the batch they say to be."""
    bomb = zlib.compressobj(9)
    packed = b"".join(bomb.compress(bytes(2**20)) for _ in range(100)) + bomb.flush()
    digest = blake2b(bytes(limits.BATCH_BYTES), digest_size=16).digest()
    header = bytes.fromhex(FROZEN["batches"][0]["message"])[:26]
    message = header + limits.BATCH_BYTES.to_bytes(4, "big") + bytes(8) + digest + packed
    assert parse_message(message) == Malformed("another size than it says")
