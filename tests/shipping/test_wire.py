import json
import zlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.shipping import limits
from tinyssb_node.shipping.wire import (
    TOPIC_COLLECTOR,
    BadAnswerError,
    CollectorReply,
    ReplyFlag,
    SegmentId,
    SegmentSlice,
    SegmentState,
    SegmentStatus,
    fingerprint,
    parse_have,
    serialize_ask,
    serialize_batch,
    topic_down,
    topic_status,
    topic_up,
)

VECTORS = Path(__file__).parent.parent / "vectors/log-shipping/messages_v1.json"
FROZEN = json.loads(VECTORS.read_text("utf-8"))
HEADER = 54


def test_frozen_batches_are_made_as_they_were() -> None:
    segment = FROZEN["segment"].encode()
    for record in FROZEN["batches"]:
        piece = SegmentSlice(SegmentId(record["boot"], record["first"]), record["at"], record["size"])
        near = min(piece.at, limits.PRINT_BYTES)
        before = fingerprint(segment[:near], segment[piece.at - near : piece.at])
        made = serialize_batch(record["run"], piece, before, segment[piece.at : piece.end])
        frozen = bytes.fromhex(record["message"])
        assert made[:HEADER] == frozen[:HEADER]
        assert zlib.decompress(made[HEADER:]) == zlib.decompress(frozen[HEADER:])


def test_frozen_questions_are_made_as_they_were() -> None:
    for record in FROZEN["asks"]:
        since = SegmentId(record["boot"], record["first"])
        assert serialize_ask(record["run"], since).hex() == record["message"]


def test_frozen_answers_are_understood() -> None:
    for record in FROZEN["haves"]:
        rows = tuple(
            SegmentStatus(SegmentId(boot, first), have, SegmentState(state))
            for boot, first, have, state in record["rows"]
        )
        expected = CollectorReply(record["run"], record["life"], ReplyFlag(record["flags"]), rows)
        assert parse_have(bytes.fromhex(record["message"])) == expected


@pytest.mark.parametrize(("rule", "message"), FROZEN["bad_down"])
def test_what_is_no_answer_is_told_by_its_rule(rule: str, message: str) -> None:
    with pytest.raises(BadAnswerError) as refused:
        parse_have(bytes.fromhex(message))
    assert refused.value.rule == rule


def test_topics_are_the_frozen_ones() -> None:
    assert FROZEN["topics"]["collector"] == TOPIC_COLLECTOR
    for network, node, topic in FROZEN["topics"]["up"]:
        assert topic_up(network, node) == topic
    for network, node, topic in FROZEN["topics"]["down"]:
        assert topic_down(network, node) == topic
        assert topic_status(network, node) == topic.removesuffix("down") + "status"


@given(st.binary(max_size=100), st.sampled_from(["", *(record["message"] for record in FROZEN["haves"])]))
def test_any_bytes_are_an_answer_or_refused(noise: bytes, start: str) -> None:
    for message in (noise, bytes.fromhex(start) + noise, bytes.fromhex(start)[: len(noise)]):
        try:
            parse_have(message)
        except BadAnswerError:
            continue


@given(st.binary(min_size=1, max_size=3_000))
def test_no_batch_is_longer_than_the_format_lets_it(noise: bytes) -> None:
    content = (noise * (limits.BATCH_BYTES // len(noise) + 1))[: limits.BATCH_BYTES]
    piece = SegmentSlice(SegmentId(1, 0), 0, len(content))
    assert len(serialize_batch(0, piece, bytes(8), content)) <= limits.BATCH_WIRE_MAX


def test_what_cannot_be_deflated_fits_as_well() -> None:
    import random

    content = random.Random(1).randbytes(limits.BATCH_BYTES)
    piece = SegmentSlice(SegmentId(1, 0), 0, len(content))
    batch = serialize_batch(0, piece, bytes(8), content)
    assert len(content) < len(batch) <= limits.BATCH_WIRE_MAX
