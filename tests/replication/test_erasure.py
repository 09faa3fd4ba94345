"""Any n different rows of n symbols give the symbols back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.replication.erasure import (
    LENGTH_MAX,
    ROWS,
    ContradictionError,
    Equations,
    coefficients,
    combine,
)

SYMBOLS = st.lists(st.binary(min_size=5, max_size=5), min_size=1, max_size=LENGTH_MAX)


@given(SYMBOLS, st.data())
def test_any_n_rows_give_n_symbols(symbols: list[bytes], data: st.DataObject) -> None:
    rows = [*range(len(symbols)), *range(LENGTH_MAX, ROWS)]
    chosen = data.draw(
        st.lists(st.sampled_from(rows), min_size=len(symbols), max_size=len(symbols), unique=True)
    )
    known = Equations()
    for row in chosen:
        assert known.add(coefficients(row, len(symbols)), combine(row, symbols))
    assert [known.solution(position) for position in range(len(symbols))] == symbols
    again = data.draw(st.sampled_from(rows))
    assert not known.add(coefficients(again, len(symbols)), combine(again, symbols))
    assert known.rank == len(symbols)


@given(st.lists(st.binary(min_size=5, max_size=5), min_size=3, max_size=LENGTH_MAX), st.data())
def test_rows_of_fewer_symbols_help_too(symbols: list[bytes], data: st.DataObject) -> None:
    before = data.draw(st.integers(1, len(symbols) - 1))
    known = Equations()
    known.add(coefficients(77, before), combine(77, symbols[:before]))
    for position in range(1, len(symbols)):
        known.add(coefficients(position, len(symbols)), symbols[position])
    assert known.solution(0) == symbols[0]


def test_what_is_not_determined_is_not_told() -> None:
    known = Equations()
    known.add(coefficients(16, 2), combine(16, [b"ab", b"cd"]))
    assert known.solution(0) is None
    assert known.solution(1) is None


def test_a_row_that_does_not_fit_is_found_and_changes_nothing() -> None:
    known = Equations()
    known.add(coefficients(0, 1), b"ab")
    with pytest.raises(ContradictionError):
        known.add(coefficients(99, 1), b"xx")
    assert known.solution(0) == b"ab"
    assert known.rank == 1


def test_the_arithmetic_is_that_of_the_format() -> None:
    """By hand: 1 / (16 + 0) is 0x25 and 1 / (16 + 1) is 0xb4... modulo x^8 + x^4 + x^3 + x^2 + 1."""
    for position, factor in enumerate(coefficients(16, LENGTH_MAX)):
        product, other = 0, 16 ^ position
        for bit in range(8):
            product ^= factor << bit if other >> bit & 1 else 0
        for bit in range(15, 7, -1):
            product ^= 0x11D << bit - 8 if product >> bit & 1 else 0
        assert product == 1
