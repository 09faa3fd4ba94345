from contextlib import suppress
from hashlib import sha256
from pathlib import Path

import nacl.exceptions
import nacl.signing
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.feeds.builders import KEY, OPEN, Written, empty_tip, sign_anything
from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network, first_prev
from tinyssb_node.errors import ForkProofFormatError
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.fork import ForkProof, verify_proof
from tinyssb_node.feeds.forkfile import (
    FORK_FILE_MAX,
    ForkFile,
    network_tag,
    parse_fork_file,
    serialize_fork_file,
)
from tinyssb_node.ids import Dialect, FeedId, MessageId

FORKS = Path(__file__).parent.parent / "vectors" / "forks"
FROZEN = ["file_v1_spec_3.txt", "file_v1_both_dialects.txt", "file_v1_with_key.txt"]
VALLEY = Network(b"valley")


def frozen(name: str) -> ForkFile:
    """Return the contents of the frozen file *name*."""
    if name == "file_v1_spec_3.txt":
        held = Written().write(b"one", b"two", b"three").held(3)
        other = sign_anything(Written().write(b"one", b"two").place(3), b"other")
        return ForkFile(ForkProof(KEY.feed_id, 3, Dialect.SPEC, held.prev, held.packet, other), None)
    if name == "file_v1_with_key.txt":
        one, two = (compose(VALLEY, KEY, empty_tip(), text) for text in (b"one", b"other"))
        proof = ForkProof(KEY.feed_id, 1, Dialect.SPEC, one.extended.prev, one.packet, two.packet)
        return ForkFile(proof, network_tag(VALLEY))
    first = Written(Dialect.DEPLOYED).write(b"one").held(1)
    other = Written(Dialect.SPEC).write(b"one").held(1).packet
    return ForkFile(ForkProof(KEY.feed_id, 1, Dialect.DEPLOYED, first.prev, first.packet, other), None)


def convinces(text: str, key: bytes = b"") -> bool:
    """The check as the page on the format tells it, by nothing but SHA-256 and ed25519."""
    said = dict(line.split(" ", 1) for line in text.splitlines()[1:])
    feed, seq = bytes.fromhex(said["feed"]), int(said["entry"])
    held, other = bytes.fromhex(said["held"]), bytes.fromhex(said["other"])
    befores = [bytes.fromhex(said["prev"])] if seq > 1 else [bytes(20), feed[:20]]

    def signed(packet: bytes, prev: bytes) -> bool:
        name = key + b"tinyssb-v0" + feed + seq.to_bytes(4, "big") + prev
        try:
            nacl.signing.VerifyKey(feed).verify(name + packet[:56], packet[56:])
        except nacl.exceptions.BadSignatureError:
            return False
        return packet[:7] == sha256(name).digest()[:7]

    return held != other and all(any(signed(each, prev) for prev in befores) for each in (held, other))


@pytest.mark.parametrize("name", FROZEN)
def test_frozen_files_are_still_read_and_written(name: str) -> None:
    data = (FORKS / name).read_bytes()
    assert parse_fork_file(data) == frozen(name)
    assert serialize_fork_file(frozen(name)) == data
    assert len(data) < FORK_FILE_MAX


@pytest.mark.parametrize("name", FROZEN)
def test_anyone_can_check_them_without_this_program(name: str) -> None:
    """That of a network with a key by those who have it."""
    fork = parse_fork_file((FORKS / name).read_bytes())
    network = OPEN if fork.network is None else VALLEY
    assert fork.is_of(network)
    assert convinces((FORKS / name).read_text(), network.key)
    assert verify_proof(network, fork.proof)
    another = VALLEY if network is OPEN else OPEN
    assert not convinces((FORKS / name).read_text(), another.key)
    assert not fork.is_of(another)


def test_no_key_is_in_a_file() -> None:
    key = b"a secret of the valley!!"
    data = serialize_fork_file(ForkFile(frozen(FROZEN[0]).proof, network_tag(Network(key))))
    assert key not in data
    assert key.hex().encode() not in data
    assert not parse_fork_file(data).is_of(OPEN)


def proofs(seq: int, prev: bytes, feed: bytes, rest: tuple[Dialect, bytes, bytes]) -> ForkProof:
    dialect, held, other = rest
    id_ = FeedId(feed)
    before = MessageId(prev) if seq > 1 else first_prev(id_, dialect)
    return ForkProof(id_, seq, dialect, before, held, other)


packets = st.binary(min_size=120, max_size=120)
files = st.builds(
    ForkFile,
    proof=st.builds(
        proofs,
        st.integers(1, limits.SEQ_MAX),
        st.binary(min_size=20, max_size=20),
        st.binary(min_size=32, max_size=32),
        st.tuples(st.sampled_from(list(Dialect)), packets, packets),
    ),
    network=st.none() | st.binary(min_size=7, max_size=7),
)


@given(files)
def test_round_trip(fork: ForkFile) -> None:
    data = serialize_fork_file(fork)
    assert parse_fork_file(data) == fork
    assert parse_fork_file(data.replace(b"\n", b"\r\n")) == fork
    assert len(data.replace(b"\n", b"\r\n")) <= FORK_FILE_MAX


@given(st.binary(max_size=1_200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(ForkProofFormatError):
        parse_fork_file(data)


@given(st.sampled_from(FROZEN[:2]), st.data())
def test_a_changed_byte_is_refused_or_proves_nothing(name: str, data: st.DataObject) -> None:
    """But for the words that the proof does not rest on: the dialect, and which network it is."""
    text = bytearray((FORKS / name).read_bytes())
    at = data.draw(st.integers(0, len(text) - 1))
    byte = data.draw(st.integers(0, 127).filter(lambda value: value != text[at]))
    text[at] = byte
    try:
        fork = parse_fork_file(bytes(text))
    except ForkProofFormatError:
        return
    whole = parse_fork_file((FORKS / name).read_bytes())
    assert not verify_proof(OPEN, fork.proof) or fork == whole


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("proof 1", "proof 2", "another kind or version"),
        ("entry 3", "entry 03", "entry is no number"),
        ("entry 3", "entry 0", "entry is no number"),
        ("entry 3", "entry 4294967296", "entry is no number"),
        ("entry 3", "entry ٣", "no ASCII text"),
        ("entry 3", "entry 1", "neither dialect"),
        ("dialect spec", "dialect other", "dialect is neither"),
        ("network open", "network valley", "network is not 14"),
        ("network open\n", "", "its lines are not"),
        ("held ", "held  ", "held is not 240"),
        ("other ", "more ", "its lines are not"),
    ],
)
def test_what_is_refused(old: str, new: str, reason: str) -> None:
    text = (FORKS / FROZEN[0]).read_text()
    assert old in text
    with pytest.raises(ForkProofFormatError, match=reason):
        parse_fork_file(text.replace(old, new, 1).encode())


def test_a_long_file_is_refused_unread() -> None:
    with pytest.raises(ForkProofFormatError, match="more than 1024 bytes"):
        parse_fork_file(bytes(FORK_FILE_MAX + 1))
