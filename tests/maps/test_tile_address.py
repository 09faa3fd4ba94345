"""Addresses of tiles: each tile has one, and nothing else is an address."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.maps import limits
from tinyssb_node.maps.tile_address import TileAddress, parse_tile_address, serialize_tile_address


@st.composite
def addresses(draw: st.DrawFn) -> TileAddress:
    zoom = draw(st.integers(0, limits.ZOOM_MAX))
    inside = st.integers(0, 2**zoom - 1)
    return TileAddress(zoom, draw(inside), draw(inside))


WORDS = st.one_of(st.text(max_size=12), st.from_regex(r"-?[0-9]{1,9}", fullmatch=True))


@given(addresses())
def test_the_address_of_each_tile_is_read_as_it_is_written(address: TileAddress) -> None:
    assert parse_tile_address(*serialize_tile_address(address)) == address


@given(WORDS, WORDS, WORDS)
def test_other_words_are_no_address_and_a_tile_has_one_only(zoom: str, column: str, row: str) -> None:
    found = parse_tile_address(zoom, column, row)
    if found is not None:
        assert serialize_tile_address(found) == (zoom, column, row)
        assert 0 <= found.column < 2**found.zoom
        assert 0 <= found.row < 2**found.zoom


@pytest.mark.parametrize(
    "words",
    [
        ("25", "0", "0"),
        ("0", "1", "0"),
        ("3", "0", "8"),
        ("3", "-1", "0"),
        ("03", "0", "0"),
        ("3", "0", "00"),
        ("3", "²", "0"),
        ("3", "٣", "0"),
        ("3", "0", "0\n"),
        ("3", "..", "0"),
        ("24", "9" * 400, "0"),
        ("", "", ""),
    ],
)
def test_what_is_no_tile_is_refused(words: tuple[str, str, str]) -> None:
    assert parse_tile_address(*words) is None


def test_a_tile_outside_the_world_cannot_be_made() -> None:
    with pytest.raises(ValueError, match="1/2/0"):
        TileAddress(1, 2, 0)
