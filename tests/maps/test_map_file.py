"""The description in a map file is text, bounded, without markup."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.maps import limits
from tinyssb_node.maps.map_file import MapDescription, bounds_of, text_of_markup


@pytest.mark.parametrize(
    ("markup", "text"),
    [
        ("© OpenStreetMap", "© OpenStreetMap"),
        ("<a href='javascript:alert(1)'>&copy; Open\n Topo</a>, <b>CC-BY</b>", "© Open Topo, CC-BY"),
        ("<script>alert(1)</script>x", "alert(1)x"),
        ("a < b", "a < b"),
        ("a\u202eb\x1b[31m\u2066c\x00", "ab[31mc"),
        (None, ""),
        (7, ""),
        ("x" * 100_000, "x" * limits.ATTRIBUTION_MAX),
        ("<" * 100_000, "<" * limits.ATTRIBUTION_MAX),
    ],
)
def test_markup_becomes_text(markup: object, text: str) -> None:
    assert text_of_markup(markup) == text


@given(st.text(alphabet="<>&;!-[]/a='\"\0\n ", max_size=200))
def test_any_markup_becomes_one_bounded_line(markup: str) -> None:
    found = text_of_markup(markup)
    assert len(found) <= limits.ATTRIBUTION_MAX
    assert found.isprintable()


def test_zooms_and_bounds_are_checked() -> None:
    for zooms in ((3, 2), (-1, 2), (0, limits.ZOOM_MAX + 1)):
        with pytest.raises(ValueError, match="no zoom"):
            MapDescription(zoom_min=zooms[0], zoom_max=zooms[1], attribution="")
    assert bounds_of(5.5, 45.5, 11, 48) == (5.5, 45.5, 11, 48)
    assert bounds_of(11, 45.5, 5.5, 48) is None
    assert bounds_of(float("nan"), 45.5, 11, 48) is None
    assert bounds_of(5.5, 45.5, 11, 1e9) is None
