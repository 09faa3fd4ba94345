"""Unsigned short floats: numbers of any size, to nine bits, in two bytes (text, "Message formats")."""

from tinyssb_node.islands.locator import limits


def parse_usf(data: bytes) -> int:
    """The number that two bytes say."""
    shift, low = data
    return (256 + low) << (shift - 1) if shift else low


def serialize_usf(number: int) -> bytes:
    """The largest number up to *number* that two bytes can say. Raises ValueError if *number* is negative."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    number = min(number, limits.USF_MAX)
    if number < 256:
        return bytes((0, number))
    shift = number.bit_length() - 9
    return bytes((shift + 1, (number >> shift) - 256))
