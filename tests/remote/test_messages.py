"""Commands and answers as bytes: round trips, frozen bytes, bytes of strangers."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.codec import bipf
from tinyssb_node.content.chat import SealedMessage, parse
from tinyssb_node.content.limits import PAIR_PADDING_SIZE
from tinyssb_node.content.minutes import to_seconds
from tinyssb_node.content.pair_box import open_text, seal_text
from tinyssb_node.content.phones import harm_to_phones
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.short_text import ShortText, serialize_short_text
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect
from tinyssb_node.remote import limits, messages
from tinyssb_node.remote.messages import (
    CommandTooLongError,
    FaceFacts,
    NodeFacts,
    RemoteAnswer,
    RemoteCommand,
    RemoteOutcome,
    cut,
    parse_answer,
    parse_command,
    read_status_body,
    seal,
    serialize_answer,
    serialize_command,
    status_body,
    unseal,
)

CASES = json.loads((Path(__file__).parents[1] / "vectors/messages/remote_v1.json").read_text("utf-8"))
ADMIN, NODE, EVE = (SealKey(bytes([number]) * 32) for number in (1, 2, 3))
PADDING = bytes(range(PAIR_PADDING_SIZE))

TIMES = st.one_of(st.none(), st.integers(1, 2**23).map(to_seconds))
WORDS = st.lists(st.text(min_size=1, max_size=9), min_size=1, max_size=3).map(tuple)
COMMANDS = st.builds(
    RemoteCommand, said_s=TIMES, valid_minutes=st.integers(0, limits.VALID_MINUTES_MAX), words=WORDS
)
FACES = st.builds(
    FaceFacts, name=st.text(), is_open=st.booleans(), duty_percent=st.none() | st.integers(0, 10_000)
)
NUMBERS = st.integers(0, 2**40)
FACTS = st.builds(
    NodeFacts,
    version=st.text(),
    uptime_minutes=NUMBERS,
    free_mib=NUMBERS,
    entries=NUMBERS,
    problems=st.integers(0, 15),
    faces=st.lists(FACES, max_size=20).map(tuple),
)
SEQS = st.integers(1, 2**32 - 1)


@given(COMMANDS)
def test_commands_come_back_as_they_were(command: RemoteCommand) -> None:
    try:
        clear = serialize_command(command)
    except CommandTooLongError:
        assert sum(len(word.encode()) for word in command.words) > 50
        return
    assert parse_command(clear) == command
    assert parse_command(clear + b"\0" + PADDING) == command
    assert parse_command(clear + b"\1") is None
    assert parse_answer(clear) is None


@given(FACTS, SEQS, TIMES)
def test_every_status_fits_into_three_packets(facts: NodeFacts, seq: int, said_s: int | None) -> None:
    answer = RemoteAnswer(seq=seq, said_s=said_s, outcome=RemoteOutcome.DONE, body=status_body(facts))
    content = seal(serialize_answer(answer), NODE, ADMIN.feed_id, PADDING)
    assert max(packet_count(len(content), dialect) for dialect in Dialect) <= 3
    opened = unseal(content, ADMIN, NODE.feed_id)
    assert opened is not None
    read = parse_answer(opened[0])
    assert read == answer
    found = read_status_body(read.body)
    assert found is not None
    assert len(found.faces) + found.more == len(facts.faces)
    assert (found.uptime_minutes, found.free_mib, found.entries) == (
        facts.uptime_minutes,
        facts.free_mib,
        facts.entries,
    )
    assert [face.is_open for face in found.faces] == [face.is_open for face in facts.faces][
        : len(found.faces)
    ]


def test_five_faces_of_a_usual_node_fit() -> None:
    faces = tuple(FaceFacts(name=f"lora-radio-{n}", is_open=True, duty_percent=100) for n in range(5))
    facts = NodeFacts(
        version="0.12.3.dev1439",
        uptime_minutes=525_600,
        free_mib=120_000,
        entries=10**7,
        problems=15,
        faces=faces,
    )
    found = read_status_body(status_body(facts))
    assert found == facts


@given(st.text(max_size=400), SEQS)
def test_a_reason_is_cut_to_what_fits(reason: str, seq: int) -> None:
    answer = RemoteAnswer(seq=seq, said_s=None, outcome=RemoteOutcome.REFUSED, body=(reason,))
    clear = serialize_answer(answer)
    assert len(clear) <= limits.ANSWER_MAX
    read = parse_answer(clear)
    assert read is not None
    (text,) = read.body
    assert text == reason or (isinstance(text, str) and text.endswith("…"))


@given(st.text(max_size=50), st.integers(3, 60))
def test_a_text_is_cut_between_letters(text: str, size: int) -> None:
    assert len(cut(text, size).encode()) <= size
    assert cut(text, 4 * 50) == text


@given(st.binary(max_size=180))
def test_bytes_of_strangers_are_parsed_or_none(data: bytes) -> None:
    parse_command(data)
    parse_answer(data)
    assert unseal(data, NODE, ADMIN.feed_id) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**40), 2**60) | st.text(max_size=5) | st.binary(max_size=5),
    lambda inner: st.lists(inner, max_size=4),
    max_leaves=8,
)


@given(st.sampled_from(["RCM", "RRP"]), st.lists(VALUES, max_size=9))
def test_lists_of_strangers_are_parsed_or_none(word: str, items: list[bipf.Value]) -> None:
    clear = bipf.encode([word, *items])
    command, answer = parse_command(clear), parse_answer(clear)
    if command is not None:
        assert len(clear) > limits.COMMAND_MAX or serialize_command(command)
    if answer is not None:
        read_status_body(answer.body)


@pytest.mark.parametrize(
    "items",
    [
        [],
        [0, 60],
        [0, -1, "status"],
        [0, 525_601, "status"],
        [True, 60, "status"],
        [0, 60, ""],
        [0, 60, "x" * 41],
        [0, 60, "status", 1],
        [0, 60, *["x"] * 9],
    ],
)
def test_what_is_no_command_is_none(items: list[bipf.Value]) -> None:
    assert parse_command(bipf.encode(["RCM", *items])) is None


def test_a_word_that_readers_refuse_is_not_written() -> None:
    with pytest.raises(CommandTooLongError):
        serialize_command(RemoteCommand(said_s=None, valid_minutes=0, words=("x" * 41,)))


@pytest.mark.parametrize("words", [("status",), ("face", "restart", "x" * 40), ("log", "warning")])
def test_each_command_takes_two_packets_and_harms_no_phone(words: tuple[str, ...]) -> None:
    command = RemoteCommand(said_s=2_000_000_040, valid_minutes=limits.VALID_MINUTES_MAX, words=words)
    content = seal(serialize_command(command), ADMIN, NODE.feed_id, PADDING)
    assert len(content) == limits.COMMAND_CONTENT_SIZE
    assert [packet_count(len(content), dialect) for dialect in Dialect] == [2, 2]
    assert harm_to_phones(content) == ""


def test_the_node_and_the_author_open_it_and_nobody_else() -> None:
    clear = serialize_command(RemoteCommand(said_s=None, valid_minutes=0, words=("status",)))
    content = seal(clear, ADMIN, NODE.feed_id, PADDING)
    for key, other in ((NODE, ADMIN), (ADMIN, NODE)):
        opened = unseal(content, key, ADMIN.feed_id)
        assert opened is not None
        assert opened[0].startswith(clear)
        assert opened[1] == other.feed_id
    assert unseal(content, EVE, ADMIN.feed_id) is None
    # In the feed of another, a copy means nothing.
    assert [unseal(content, NODE, author.feed_id) for author in (EVE, NODE)] == [None, None]


def test_a_text_is_no_command_and_a_command_no_text() -> None:
    clear = serialize_command(RemoteCommand(said_s=None, valid_minutes=0, words=("status",)))
    assert unseal(seal_text(clear, ADMIN, NODE.feed_id, PADDING), NODE, ADMIN.feed_id) is None
    short = serialize_short_text(ShortText(text="status"))
    assert short is not None
    sealed = parse(seal(short, ADMIN, NODE.feed_id, PADDING))
    assert isinstance(sealed, SealedMessage)
    assert open_text(sealed.box, NODE, ADMIN.feed_id) is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: str(case["name"]))
def test_frozen_bytes_are_written_and_read(case: dict[str, Any]) -> None:
    author, reader = (SealKey(bytes.fromhex(case[f"{who}_seed"])) for who in ("author", "reader"))
    clear, content = bytes.fromhex(case["clear"]), bytes.fromhex(case["content"])
    assert messages.seal(clear, author, reader.feed_id, bytes.fromhex(case["padding"])) == content
    opened = unseal(content, reader, author.feed_id)
    assert opened is not None
    assert opened[0].startswith(clear)
    if case["kind"] == "command":
        command = parse_command(opened[0])
        assert command == RemoteCommand(
            said_s=case["said_s"], valid_minutes=case["valid_minutes"], words=tuple(case["words"])
        )
        assert serialize_command(command) == clear
    else:
        answer = parse_answer(opened[0])
        assert answer is not None
        assert (answer.seq, answer.said_s, answer.outcome) == (case["seq"], case["said_s"], case["outcome"])
        assert serialize_answer(answer) == clear
