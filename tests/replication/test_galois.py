"""GF(2^32) in big integers, against multiplication as one learns it at school."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.replication.galois import gather, invert, pack, settle, spread, square, unpack

MODULUS = 0x1_0000_008D
elements = st.integers(0, 2**32 - 1)


def product(left: int, right: int) -> int:
    """Bit by bit: x^32 + x^7 + x^3 + x^2 + 1 is taken away whenever it fits."""
    total = 0
    for bit in range(32):
        total ^= left * (right >> bit & 1)
        left <<= 1
        left ^= MODULUS * (left >> 32)
    return total


@pytest.mark.parametrize("element", [0, 1, 2**31, 2**32 - 1])
def test_spreading_and_back_at_the_edges(element: int) -> None:
    assert gather(spread(element)) == element


def test_x_to_the_32_is_what_the_modulus_says() -> None:
    assert product(2**31, 2) == 0x8D
    assert gather(settle(spread(2**31) * spread(2))) == 0x8D


@given(elements, elements)
def test_products(left: int, right: int) -> None:
    assert gather(settle(spread(left) * spread(right))) == product(left, right)


def test_the_product_with_most_carries() -> None:
    assert gather(settle(spread(2**32 - 1) * spread(2**32 - 1))) == product(2**32 - 1, 2**32 - 1)


@given(st.lists(elements, max_size=52), elements)
def test_a_vector_is_multiplied_at_once(vector: list[int], factor: int) -> None:
    packed = settle(pack(map(spread, vector)) * spread(factor))
    products = [product(element, factor) for element in vector]
    assert packed == pack(map(spread, products))


@given(st.lists(st.tuples(elements, elements), max_size=26), elements)
def test_products_may_be_added_before_they_are_settled(pairs: list[tuple[int, int]], factor: int) -> None:
    lefts, rights = (pack(spread(pair[side]) for pair in pairs) for side in (0, 1))
    other = spread(MODULUS & 0xFFFF)
    assert settle(lefts * spread(factor) ^ rights * other) == settle(lefts * spread(factor)) ^ settle(
        rights * other
    )


@given(st.lists(elements, max_size=26))
def test_unpacking_leaves_zeros_at_the_end_out(vector: list[int]) -> None:
    found = [gather(element) for element in unpack(pack(map(spread, vector)))]
    assert found == vector[: len(found)]
    assert not any(vector[len(found) :])


@given(st.lists(elements, max_size=26))
def test_the_square_of_a_polynomial(coefficients: list[int]) -> None:
    squares = [term for element in coefficients for term in (product(element, element), 0)]
    assert square(pack(map(spread, coefficients))) == pack(map(spread, squares))


@given(elements.filter(bool))
def test_an_element_times_its_inverse_is_one(element: int) -> None:
    assert product(gather(invert(spread(element))), element) == 1
