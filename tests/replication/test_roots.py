"""Roots of polynomials over GF(2^32)."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.replication.galois import SLOT_BITS, gather, invert, pack, settle, spread
from tinyssb_node.replication.roots import find_roots

elements = st.integers(0, 2**32 - 1)


def from_roots(roots: list[int]) -> int:
    """The monic polynomial with these roots, plain elements."""
    polynomial = pack([1])
    for root in roots:
        polynomial = polynomial << SLOT_BITS ^ settle(polynomial * spread(root))
    return polynomial


@settings(deadline=None)
@given(st.sets(elements, min_size=1, max_size=26))
def test_all_roots_are_found(roots: set[int]) -> None:
    found = find_roots(from_roots(sorted(roots)))
    assert found is not None
    assert sorted(found) == sorted(roots)


@settings(deadline=None)
@given(st.sets(elements, min_size=1, max_size=12), st.data())
def test_a_root_that_comes_twice_is_no_difference(roots: set[int], data: st.DataObject) -> None:
    twice = data.draw(st.sampled_from(sorted(roots)))
    assert find_roots(from_roots([*roots, twice])) is None


def trace(element: int) -> int:
    """The sum of an element's 32 conjugates, 0 or 1."""
    total, power = 0, spread(element)
    for _ in range(32):
        total ^= power
        power = settle(power * power)
    return gather(total)


@settings(deadline=None)
@given(elements.filter(bool), elements, st.sets(elements, max_size=8))
def test_a_factor_without_roots_spoils_all(step: int, offset: int, roots: set[int]) -> None:
    # x² + step·x + c has a root if and only if c / step² has trace 0.
    inverse = invert(spread(step))
    candidates = [offset, *(offset ^ 1 << bit for bit in range(32))]
    c = next(c for c in candidates if trace(gather(settle(settle(spread(c) * inverse) * inverse))))
    irreducible = pack(map(spread, (c, step, 1)))
    assert find_roots(irreducible) is None
    product = 0
    for power, factor in enumerate((c, step, 1)):
        product ^= settle(from_roots(sorted(roots)) * spread(factor)) << SLOT_BITS * power
    assert find_roots(product) is None


@pytest.mark.parametrize("shift", [0, 3, 27])
def test_roots_close_together_are_told_apart(shift: int) -> None:
    roots = [number << shift for number in range(26)]
    found = find_roots(from_roots(roots))
    assert found is not None
    assert sorted(found) == roots
