import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.codec.vectors import load
from tinyssb_node import limits
from tinyssb_node.codec.varint import encode_varint
from tinyssb_node.feeds.layout import Layout, LayoutKind, chunks_for, layout_of, packet_count
from tinyssb_node.feeds.sidechain import split
from tinyssb_node.ids import Dialect

POINTER = b"p" * 20
DIALECTS = st.sampled_from(list(Dialect))


def declaring(size: int, filler: bytes = b"x") -> bytes:
    """48 bytes of a type-1 entry that declares *size* bytes of content and ends with a pointer."""
    return encode_varint(size).ljust(28, filler) + POINTER


@pytest.mark.parametrize("dialect", list(Dialect))
def test_layouts_of_the_vectors(dialect: Dialect) -> None:
    for message in load(f"feed_{dialect}.json")["messages"]:
        packet, content = bytes.fromhex(message["packet"]), bytes.fromhex(message["content"])
        layout = layout_of(message["type"], packet[8:56], dialect)
        assert (layout.size, layout.chunks) == (len(content), len(message["chunks"]))
        assert content.startswith(layout.head)
        assert layout.first_hash == (packet[36:56] if message["chunks"] else None)


def test_the_dialects_differ_between_29_and_48_bytes() -> None:
    content = bytes([28]) + b"abcdefghijklmnopqrstuvwxyzAB" + bytes(19)
    content = content[:28] + POINTER
    assert layout_of(1, content, Dialect.SPEC) == Layout(LayoutKind.INLINE, 28, content[1:29], 0, None)
    assert layout_of(1, content, Dialect.DEPLOYED) == Layout(
        LayoutKind.CHAINED, 28, content[1:28], 1, POINTER
    )


@pytest.mark.parametrize(("dialect", "largest_inline"), [(Dialect.SPEC, 47), (Dialect.DEPLOYED, 27)])
def test_where_side_chains_begin(dialect: Dialect, largest_inline: int) -> None:
    assert layout_of(1, declaring(largest_inline), dialect).form is LayoutKind.INLINE
    chained = layout_of(1, declaring(largest_inline + 1), dialect)
    assert (chained.form, chained.chunks, len(chained.head)) == (LayoutKind.CHAINED, 1, 27)


def test_fixed_content_is_48_bytes() -> None:
    content = bytes(range(48))
    assert layout_of(0, content, Dialect.SPEC) == Layout(LayoutKind.FIXED, 48, content, 0, None)


def opaque(content: bytes) -> Layout:
    return Layout(LayoutKind.OPAQUE, 48, content, 0, None)


@pytest.mark.parametrize("dialect", list(Dialect))
@pytest.mark.parametrize(
    ("type_", "content"),
    [
        pytest.param(2, declaring(10), id="unknown type"),
        pytest.param(255, declaring(10), id="last type"),
        pytest.param(1, b"\xff" * 28 + POINTER, id="length does not end"),
        pytest.param(1, b"\x80" * 5 + b"\x01" + bytes(22) + POINTER, id="length of six bytes"),
        pytest.param(1, declaring(limits.CONTENT_FETCH_MAX + 1), id="longer than is fetched"),
        pytest.param(1, declaring(2**34), id="absurd length"),
        pytest.param(1, encode_varint(1000).ljust(48, b"\x00"), id="side chain without pointer"),
    ],
)
def test_what_cannot_be_told_is_opaque(type_: int, content: bytes, dialect: Dialect) -> None:
    assert layout_of(type_, content, dialect) == opaque(content)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_the_longest_content_that_is_fetched(dialect: Dialect) -> None:
    layout = layout_of(1, declaring(limits.CONTENT_FETCH_MAX), dialect)
    assert (layout.form, layout.size) == (LayoutKind.CHAINED, limits.CONTENT_FETCH_MAX)
    assert layout.chunks == chunks_for(limits.CONTENT_FETCH_MAX - 25)


@pytest.mark.parametrize("dialect", list(Dialect))
def test_a_length_in_more_bytes_than_needed_is_read(dialect: Dialect) -> None:
    content = b"\x83\x80\x00abc".ljust(48, b"\x00")
    assert layout_of(1, content, dialect) == Layout(LayoutKind.INLINE, 3, b"abc", 0, None)


@given(st.integers(0, 255), st.binary(min_size=48, max_size=48), DIALECTS)
def test_any_bytes_have_a_layout_that_adds_up(type_: int, content: bytes, dialect: Dialect) -> None:
    layout = layout_of(type_, content, dialect)
    assert layout.head in content
    rest = layout.size - len(layout.head)
    assert 0 <= rest <= limits.CONTENT_FETCH_MAX
    assert layout.chunks == chunks_for(rest)
    assert (layout.chunks > 0) == (layout.first_hash is not None) == (layout.form is LayoutKind.CHAINED)


@given(st.integers(0, 3000), DIALECTS)
def test_packets_are_counted_as_they_are_written(size: int, dialect: Dialect) -> None:
    assert packet_count(size, dialect) == 1 + len(split(bytes(size), dialect)[2])


@pytest.mark.parametrize("dialect", list(Dialect))
def test_exactly_48_bytes_are_one_packet(dialect: Dialect) -> None:
    assert packet_count(48, dialect) == 1


@pytest.mark.parametrize(("size", "chunks"), [(1, 1), (100, 1), (101, 2), (200, 2), (0, 0)])
def test_chunks_hold_100_bytes(size: int, chunks: int) -> None:
    assert chunks_for(size) == chunks
