"""Contents of entries: messages, boards, files, ties, acknowledgements, child feeds, private messages."""

from collections.abc import Callable, Iterable
from contextlib import suppress

from tests.fuzz.seeds import in_vectors
from tests.nodes import key_of
from tinyssb_node import limits
from tinyssb_node.codec.bipf import BipfError
from tinyssb_node.content import chat
from tinyssb_node.content.acks import confirmed, parse_acks, serialize_acks
from tinyssb_node.content.blocklist import fold_blocks, parse_block_step, serialize_block_step
from tinyssb_node.content.board import fold, read_step
from tinyssb_node.content.description import describe
from tinyssb_node.content.files import parse_file, parse_head, serialize_file
from tinyssb_node.content.note import parse_note
from tinyssb_node.content.pair_box import open_text
from tinyssb_node.content.private import SealKey, unseal
from tinyssb_node.content.telemetry import (
    PositionRecord,
    coarsened,
    fitting,
    parse_telemetry,
    serialize_telemetry,
)
from tinyssb_node.errors import PeerError, UnencodableMessageError
from tinyssb_node.feeds.children import ends_feed, parse_child_made, parse_child_of, parse_continued
from tinyssb_node.feeds.layout import chunks_for, layout_of
from tinyssb_node.ids import Dialect, MessageId

AUTHOR = key_of("ana").feed_id
READER = SealKey(b"ben".ljust(32, b"."))
ROOT = MessageId(bytes(20))
CHUNKS_MAX = chunks_for(limits.CONTENT_FETCH_MAX)
SHAPES: list[Callable[[bytes], object]] = [parse_child_made, parse_child_of, parse_continued, parse_acks]


def run(data: bytes) -> None:
    message = chat.parse(data)
    describe(message, 200)
    chat.links(message, AUTHOR)
    chat.said_us(message)
    with suppress(UnencodableMessageError, BipfError):
        chat.serialize(message)
    if isinstance(message, chat.SealedMessage):
        unseal(message, READER)
        open_text(message.box, READER, AUTHOR)
        open_text(message.box, READER, READER.feed_id)
    if (step := read_step(ROOT, AUTHOR, data)) is not None:
        fold(ROOT, [step])
    parse_note(data)
    if (file := parse_file(data)) is not None:
        assert parse_file(serialize_file(file)) == file
    parse_head(data)
    if (blocks := parse_block_step(data)) is not None:
        assert parse_block_step(serialize_block_step(blocks)) == blocks
        fold_blocks([blocks])
    if (record := parse_telemetry(data)) is not None:
        if isinstance(record, PositionRecord):
            assert parse_telemetry(serialize_telemetry(record)) == record
            serialize_telemetry(coarsened(record, 1_000))
        else:
            fitting(record)
    confirmed(data)
    for parse in SHAPES:
        with suppress(PeerError):
            parse(data)
    with suppress(PeerError):
        acks = parse_acks(data)
        assert parse_acks(serialize_acks(acks)[0]) == acks
    _entry(data[:48].ljust(48, b"\x00"))


def _entry(content: bytes) -> None:
    for type_ in range(8):
        ends_feed(type_, content)
        for dialect in Dialect:
            layout = layout_of(type_, content, dialect)
            assert len(layout.head) <= len(content)
            assert layout.chunks <= CHUNKS_MAX, "a side chain longer than any that is fetched"


def seeds() -> Iterable[bytes]:
    return in_vectors(
        "messages/messages.json", "messages/private.json", "messages/short_texts_v1.json", "acks/acks.json",
        "content/files_v1.json", "content/tangles_v1.json", "content/blocklist_v1.json", "content/telemetry_v1.json",
        "children/children_v1.json",
    )  # fmt: skip
