"""Values that are made for every packet."""

import pytest

from tinyssb_node.codec.values import quick_dataclass


@quick_dataclass(frozen=True, slots=True)
class Point:
    """Two numbers."""

    x: int
    y: int = 0


@quick_dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """A value of which every field is named."""

    x: int


def test_it_is_a_value() -> None:
    assert Point(1) == Point(1, 0)
    assert Point(1) != Point(2)
    assert len({Point(1), Point(1), Point(2)}) == 2
    assert repr(Point(1)) == "Point(x=1, y=0)"


def test_it_has_slots() -> None:
    with pytest.raises(AttributeError):
        Point(1).z = 3  # type: ignore[attr-defined]  # that there is none is what is tested


def test_fields_can_be_asked_to_be_named() -> None:
    assert Named(x=1).x == 1
    with pytest.raises(TypeError):
        Named(1)  # type: ignore[call-arg]  # likewise
