"""Lipmaa links: to which depth a message links, so that every message is a few steps from its root."""


def lipmaa(number: int) -> int:
    """The entry that entry *number* links to, both from 1 (0 for the first), as Bamboo and Helger Lipmaa count them."""
    power, reach = 3, 1
    while reach < number:
        power *= 3
        reach = (power - 1) // 2
    power //= 3
    if reach != number:
        rest = number
        while rest:
            reach = (power - 1) // 2
            power //= 3
            rest %= reach
        power = reach
    return number - power


def lipmaa_depth(depth: int) -> int:
    """The depth that a message at *depth*, from 1, links to."""
    return lipmaa(depth + 1) - 1
