"""An erasure code over GF(256): of n symbols any n different rows give all of them back.

Row r below LENGTH_MAX is symbol r itself. Each other row is the sum of all n symbols, times the elements of a Cauchy
matrix, 1 / (r + i) for symbol i: every square part of such a matrix can be inverted (Bloemer et al., "An XOR-Based
Erasure-Resilient Coding Scheme", ICSI TR-95-048). Elements are polynomials over GF(2) modulo
x^8 + x^4 + x^3 + x^2 + 1.
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final

LENGTH_MAX: Final = 16
"""Symbols that a row may be made of."""
ROWS: Final = 256
"""Row numbers: those from LENGTH_MAX on are sums."""

_MODULUS: Final = 0x11D


def _exponentials() -> list[int]:
    powers, power = [], 1
    for _ in range(255):
        powers.append(power)
        power = power << 1 ^ (_MODULUS if power & 0x80 else 0)
    return powers


_EXP: Final = _exponentials()
_LOG: Final = {power: exponent for exponent, power in enumerate(_EXP)}


@lru_cache(maxsize=ROWS)
def _times(factor: int) -> bytes:
    """Return the table of the products with *factor*, not 0."""
    return bytes((0, *(_EXP[(_LOG[factor] + _LOG[element]) % 255] for element in range(1, 256))))


def _inverse(element: int) -> int:
    return _EXP[-_LOG[element] % 255]


def _plus(a: bytes, b: bytes) -> bytes:
    return (int.from_bytes(a) ^ int.from_bytes(b)).to_bytes(len(a))


def coefficients(row: int, length: int) -> bytes:
    """Return the factor of each of LENGTH_MAX symbols in *row*, 0 to ROWS - 1, which is made of the first *length*."""
    if row < LENGTH_MAX:
        return bytes(int(row == position) for position in range(LENGTH_MAX))
    return bytes(_inverse(row ^ position) if position < length else 0 for position in range(LENGTH_MAX))


def combine(row: int, symbols: Sequence[bytes]) -> bytes:
    """Return *row* of *symbols*, 1 to LENGTH_MAX of the same size."""
    total = bytes(len(symbols[0]))
    for factor, symbol in zip(coefficients(row, len(symbols)), symbols, strict=False):
        if factor:
            total = _plus(total, symbol.translate(_times(factor)))
    return total


class ContradictionError(ValueError):
    """A row does not fit those before it: one of them is a lie."""


class Equations:
    """The rows of one code that are known, as linear equations in their reduced form."""

    def __init__(self) -> None:
        self._by_pivot: dict[int, bytes] = {}
        """By the first symbol of each equation: its factors, then its sum. No other one has that symbol."""

    @property
    def rank(self) -> int:
        """How many of the equations do not follow from the others."""
        return len(self._by_pivot)

    def solution(self, position: int) -> bytes | None:
        """Return the symbol at *position*; None: it is not determined yet."""
        equation = self._by_pivot.get(position)
        if equation is None or any(equation[position + 1 : LENGTH_MAX]):
            return None
        return equation[LENGTH_MAX:]

    def add(self, factors: bytes, total: bytes) -> bool:
        """Add a row. Return False if it followed from the others. Raises ContradictionError, before any change."""
        equation = factors + total
        for pivot, known in self._by_pivot.items():
            if equation[pivot]:
                equation = _plus(equation, known.translate(_times(equation[pivot])))
        first = next((position for position in range(LENGTH_MAX) if equation[position]), None)
        if first is None:
            if any(equation):
                raise ContradictionError
            return False
        equation = equation.translate(_times(_inverse(equation[first])))
        for other, known in self._by_pivot.items():
            if known[first]:
                self._by_pivot[other] = _plus(known, equation.translate(_times(known[first])))
        self._by_pivot[first] = equation
        return True
