"""Roots of polynomials over GF(2^32) that are products of different x + a, by the Berlekamp trace algorithm.

A polynomial is a vector of ``galois``: slot i is the coefficient of x^i.

E. R. Berlekamp, "Factoring polynomials over large finite fields", Mathematics of Computation 24 (1970). The time is
bounded for any polynomial: 32 squarings, then at most 32 traces and one split less than there are roots.
"""

from tinyssb_node.replication.galois import (
    BITS,
    SLOT_BITS,
    gather,
    invert,
    settle,
    spread,
    square,
    unpack,
)

_X = 1 << SLOT_BITS
_SLOT = (1 << SLOT_BITS) - 1


def find_roots(monic: int) -> list[int] | None:
    """Return all roots of a monic polynomial of degree 1 to 32, each a plain element.

    None if it does not split into that many different factors x + a.
    """
    if _degree(monic) == 1:
        return [gather(monic & _SLOT)]
    powers = _frobenius(monic)
    # x^(2^32) + x is the product of all x + a, each once: it is 0 here if and only if ours is a product of some.
    if powers[-1] != _X:
        return None
    factors = [monic]
    for bit in range(BITS):
        if len(factors) == _degree(monic):
            break
        # Differences of two roots have trace 1 under one of a basis's multiples at least, and these are a basis.
        trace = _trace(1 << bit, powers)
        factors = [part for factor in factors for part in _split(factor, trace)]
    return [gather(factor & _SLOT) for factor in factors]


def _degree(polynomial: int) -> int:
    """-1 for zero."""
    return (polynomial.bit_length() - 1) // SLOT_BITS


def _coefficient(polynomial: int, power: int) -> int:
    return polynomial >> SLOT_BITS * power & _SLOT


def _frobenius(monic: int) -> list[int]:
    """x^(2^k) modulo *monic*, of degree 2 at least, for k from 0 to 32."""
    degree = _degree(monic)
    tail = monic ^ 1 << SLOT_BITS * degree
    # x^degree, x^(degree+1) and so on, reduced: squaring leaves nothing higher than x^(2 degree - 2).
    above = [tail]
    for _ in range(degree - 2):
        raised = above[-1] << SLOT_BITS
        lead = _coefficient(raised, degree)
        above.append(raised ^ lead << SLOT_BITS * degree ^ settle(tail * lead))
    low = (1 << SLOT_BITS * degree) - 1
    powers = [_X]
    for _ in range(BITS):
        squared = square(powers[-1])
        products = squared & low
        for lead, power in zip(unpack(squared >> SLOT_BITS * degree), above, strict=False):
            if lead:
                products ^= power * lead
        powers.append(settle(products))
    return powers


def _trace(factor: int, powers: list[int]) -> int:
    """Return the trace of factor·x: the sum of its powers of 2^k, k from 0 to 31. It is 0 or 1 at every root."""
    products, multiple = 0, spread(factor)
    for power in powers[:-1]:
        products ^= power * multiple
        multiple = settle(multiple * multiple)
    return settle(products)


def _split(factor: int, trace: int) -> list[int]:
    """Split a monic factor in two where the trace separates its roots."""
    if _degree(factor) == 1:
        return [factor]
    trace = _divide(trace, factor)[1]
    if _degree(trace) <= 0:
        return [factor]
    shared = _common_divisor(factor, trace)
    return [shared, _divide(factor, shared)[0]]


def _divide(polynomial: int, monic: int) -> tuple[int, int]:
    """Quotient and remainder."""
    degree = _degree(monic)
    quotient = 0
    while (shift := _degree(polynomial) - degree) >= 0:
        lead = polynomial >> SLOT_BITS * (degree + shift)
        quotient |= lead << SLOT_BITS * shift
        polynomial ^= settle(monic * lead) << SLOT_BITS * shift
    return quotient, polynomial


def _common_divisor(high: int, low: int) -> int:
    """Return the monic greatest common divisor of two polynomials, the second one not zero."""
    while low:
        degree = _degree(low)
        lead = _coefficient(low, degree)
        while (shift := _degree(high) - degree) >= 0:
            # Multiplied crosswise, so that no inverse is needed at each step.
            above = _coefficient(high, degree + shift)
            high = settle(high * lead ^ (low * above) << SLOT_BITS * shift)
        high, low = low, high
    return settle(high * invert(_coefficient(high, _degree(high))))
