"""Sketches of sets of 32-bit numbers (PinSketch): short sums from which the difference of two sets can be computed.

Y. Dodis, R. Ostrovsky, L. Reyzin, A. Smith, "Fuzzy extractors", SIAM J. Comput. 38 (2008), section 6.3. A sketch of
capacity c is the sums of the first, third, … (2c-1)th powers of a set's numbers in GF(2^32), 4 bytes each, low byte
first: as in minisketch for 32 bits and capacity c. The XOR of two sketches is the sketch of the numbers in one set
only, and gives up to c numbers back. A sketch's beginning is a sketch, of smaller capacity.

The time is bounded for any bytes: see ``decode`` and ``find_subset``.
"""

from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from operator import mul, xor
from typing import Final

from tinyssb_node import limits
from tinyssb_node.replication.galois import (
    BITS,
    SLOT_BITS,
    gather,
    invert,
    pack,
    settle,
    spread,
    unpack,
)
from tinyssb_node.replication.roots import find_roots

_SUM_SIZE: Final = BITS // 8


def sketch_of(numbers: Iterable[int], capacity: int = limits.SKETCH_CAPACITY) -> bytes:
    """Return the sketch, 4 · *capacity* bytes, of different numbers from 1 to 2^32 - 1. 10 µs a number on a PC."""
    return _to_bytes(reduce(xor, (_odd_powers(number, capacity) for number in numbers), 0), capacity)


def combine(left: bytes, right: bytes) -> bytes:
    """XOR of two sketches, of the capacity of the smaller one."""
    size = min(len(left), len(right))
    return (int.from_bytes(left[:size]) ^ int.from_bytes(right[:size])).to_bytes(size)


def decode(sketch: bytes) -> frozenset[int] | None:
    """Return the numbers in a set, from its sketch; None if there are more than its capacity.

    It is exact up to the capacity. A sketch of more numbers passes for one of *capacity* others about once in
    *capacity*! times: never for large capacities; for small ones a checksum is needed. Any bytes take about 5 ms at
    most on a PC.
    """
    if not any(sketch):
        return frozenset()
    capacity = len(sketch) // _SUM_SIZE
    locator = _locator(_power_sums(sketch))
    if len(locator) - 1 > capacity or not locator[-1]:
        return None
    # The locator's roots are the numbers' inverses; with its coefficients in reverse order they are the numbers.
    roots = find_roots(pack(reversed(locator)))
    return None if roots is None else frozenset(roots)


def find_subset(sketch: bytes, numbers: Collection[int]) -> frozenset[int] | None:
    """Return the subset of *numbers* whose sketch this is; None if there is none, or more than one.

    That is linear algebra over GF(2), so it is not limited by the capacity, but by one bit of sketch a number: the 832
    bits of a whole sketch distinguish all selections of 255 numbers. 5 ms on a PC for those.
    """
    capacity = len(sketch) // _SUM_SIZE
    chosen = list(numbers)
    # Below its sketch each row has a bit for the number it came from.
    basis: dict[int, int] = {}
    for index, number in enumerate(chosen):
        row = _reduced(gather(_odd_powers(number, capacity)) << len(chosen) | 1 << index, basis)
        if row.bit_length() <= len(chosen):
            return None
        basis[row.bit_length()] = row
    rest = _reduced(int.from_bytes(_padded(sketch), "little") << len(chosen), basis)
    if rest >> len(chosen):
        return None
    return frozenset(number for index, number in enumerate(chosen) if rest >> index & 1)


def _reduced(row: int, basis: dict[int, int]) -> int:
    while (pivot := basis.get(row.bit_length())) is not None:
        row ^= pivot
    return row


def _odd_powers(number: int, capacity: int) -> int:
    """Return a vector of the first, third, … powers: doubled in length by one multiplication each time."""
    powers = spread(number)
    step = settle(powers * powers)
    length = 1
    while length < capacity:
        powers |= settle(powers * step) << SLOT_BITS * length
        step = settle(step * step)
        length *= 2
    return powers & (1 << SLOT_BITS * capacity) - 1


def _to_bytes(vector: int, capacity: int) -> bytes:
    # Gathered, each sum has as many bytes of nothing behind it.
    padded = gather(vector).to_bytes(2 * _SUM_SIZE * capacity, "little")
    return b"".join(padded[at : at + _SUM_SIZE] for at in range(0, len(padded), 2 * _SUM_SIZE))


def _padded(sketch: bytes) -> bytes:
    gap = bytes(_SUM_SIZE)
    return b"".join(sketch[at : at + _SUM_SIZE] + gap for at in range(0, len(sketch), _SUM_SIZE))


def _power_sums(sketch: bytes) -> list[int]:
    """Sums of the first, second, … (2c)th powers, spread. A sum of squares is the square of the sum."""
    sums: list[int] = []
    for at in range(0, len(sketch), _SUM_SIZE):
        sums.append(spread(int.from_bytes(sketch[at : at + _SUM_SIZE], "little")))
        half = sums[len(sums) // 2]
        sums.append(settle(half * half))
    return sums


def _locator(sums: Sequence[int]) -> list[int]:
    """Coefficients, spread, of the shortest recurrence that yields *sums*.

    J. L. Massey, "Shift-register synthesis and BCH decoding", 1969. Where every even sum is a square, every second
    discrepancy is zero and need not be looked at.
    """
    current = previous = 1
    length, gap, divisor = 0, 1, 1
    for at in range(0, len(sums), 2):
        coefficients = unpack(current)
        discrepancy = settle(reduce(xor, map(mul, coefficients, sums[at::-1])))
        if discrepancy:
            correction = settle(previous * settle(discrepancy * divisor)) << SLOT_BITS * gap
            if 2 * length <= at:
                previous, divisor = current, invert(discrepancy)
                length, gap = at + 1 - length, 0
            current ^= correction
        gap += 2
    coefficients = unpack(current)
    return coefficients + [0] * (length + 1 - len(coefficients))
