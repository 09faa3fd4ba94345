"""Arithmetic in GF(2^32), many elements at a time in one Python integer.

An element is a polynomial over GF(2) modulo x^32 + x^7 + x^3 + x^2 + 1, as in minisketch for 32 bits. To multiply
polynomials over GF(2) is to multiply integers without carries, which Python cannot do. So elements are *spread*, one
bit to a byte, which contains the carries of a product: a byte counts up to 32, and its lowest bit is the result.

A *vector* is an integer of slots of 64 bytes, the first one lowest: a spread element takes 32 bytes of its slot, the
other 32 are room for a product. So one multiplication of integers multiplies a vector by an element, and ``settle``
reduces all its products below x^32 at once. Addition is XOR, of plain elements, spread ones and vectors alike.
"""

from collections.abc import Iterable
from typing import Final

BITS: Final = 32
"""Bits of an element."""
SLOT_BITS: Final = 2 * 8 * BITS
"""Bits of a slot of a vector."""

_MODULUS: Final = 1 << 32 | 1 << 7 | 1 << 3 | 1 << 2 | 1
_SLOT_SIZE: Final = SLOT_BITS // 8
_ELEMENT: Final = int.from_bytes(b"\x01" * BITS)
"""Every bit of a spread element."""
_DIGITS: Final = bytes.maketrans(b"\x00\x01", b"01")
_SLOTS_MAX: Final = 64
_VECTOR: Final = int.from_bytes((bytes(BITS) + b"\x01" * BITS) * _SLOTS_MAX)
"""Every bit of a vector of up to 64 spread elements."""


def spread(element: int) -> int:
    """Spread an element: one bit to a byte."""
    return int.from_bytes(f"{element:032b}".encode()) & _ELEMENT


def gather(spread_bits: int) -> int:
    """Invert ``spread`` for an element; for a vector, return elements with 32 zero bits above each."""
    size = -(-spread_bits.bit_length() // 8) or 1
    return int(spread_bits.to_bytes(size).translate(_DIGITS), 2)


def pack(spread_elements: Iterable[int]) -> int:
    """Return a vector of spread elements, 64 at most."""
    return int.from_bytes(
        b"".join(element.to_bytes(_SLOT_SIZE, "little") for element in spread_elements), "little"
    )


def unpack(vector: int) -> list[int]:
    """Return the spread elements of a vector, zeros at its end left out."""
    slots = -(-vector.bit_length() // SLOT_BITS)
    packed = vector.to_bytes(slots * _SLOT_SIZE, "little")
    return [int.from_bytes(packed[at : at + BITS], "little") for at in range(0, len(packed), _SLOT_SIZE)]


_TAIL: Final = spread(_MODULUS ^ 1 << BITS)
"""x^32 reduced, spread."""


def settle(products: int) -> int:
    """Reduce products, or XORs of products, of vectors and spread elements to spread elements."""
    above = (products >> 8 * BITS & _VECTOR) * _TAIL
    # Bits above x^32 may reach beyond it once more, by less than seven bits; not a third time.
    again = (above >> 8 * BITS & _VECTOR) * _TAIL
    return (products ^ above ^ again) & _VECTOR


def square(vector: int) -> int:
    """Return the square of a vector read as a polynomial, slot i being the coefficient of x^i.

    In characteristic 2 the square of a sum is the sum of the squares. So every bit moves to twice its position: within
    its slot for the coefficient's square, and with its slot for the power of x.
    """
    slots = -(-vector.bit_length() // SLOT_BITS)
    doubled = bytearray(2 * slots * _SLOT_SIZE)
    doubled[::2] = vector.to_bytes(slots * _SLOT_SIZE, "little")
    return settle(int.from_bytes(doubled, "little"))


def invert(spread_element: int) -> int:
    """Return the inverse of a spread element that is not zero, spread, by Euclid's algorithm on polynomials over
    GF(2)."""
    high, low = _MODULUS, gather(spread_element)
    assert low
    factor_high, factor_low = 0, 1
    while low:
        shift = high.bit_length() - low.bit_length()
        if shift < 0:
            high, low, factor_high, factor_low = low, high, factor_low, factor_high
        else:
            high ^= low << shift
            factor_high ^= factor_low << shift
            if high < low:
                high, low, factor_high, factor_low = low, high, factor_low, factor_high
    return spread(factor_high)
