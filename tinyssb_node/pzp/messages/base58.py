"""Base58 with Bitcoin's alphabet: bytes as one large number, each zero byte in front as a ``1``."""

from typing import Final

from tinyssb_node.pzp.messages import limits

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PAIRS: Final = [high + low for high in _ALPHABET for low in _ALPHABET]
_TWO: Final = 58**2
_FOUR: Final = 58**4
_NONE: Final = 255
_DIGITS: Final = bytes(_ALPHABET.index(chr(code)) if chr(code) in _ALPHABET else _NONE for code in range(256))
"""The value of each character."""


def _foldings(size: int) -> list[tuple[int, int, int]]:
    """Return the steps that turn *size* digits, a byte each in one large number, into their value.

    Each step joins all neighbours at once. It is the width of a digit in bits, a mask of every second digit,
    and the value of a digit in the next.
    """
    found, width, base = [], 8, 58
    while width < 8 * size:
        mask = sum(((1 << width) - 1) << at for at in range(0, 8 * size, 2 * width))
        found.append((width, mask, base))
        width, base = 2 * width, base * base
    return found


_SHORT: Final = 32
"""Characters up to which a text, such as an id, is folded in fewer steps."""
_SHORT_FOLDINGS: Final = _foldings(_SHORT)
_LONG_FOLDINGS: Final = _foldings(limits.BASE58_MAX)


def encode(data: bytes) -> str:
    """*data* as text. It never fails; 16 bytes have 16 to 22 characters."""
    number = int.from_bytes(data)
    text = ""
    while number:
        number, low = divmod(number, _FOUR)
        text = _PAIRS[low // _TWO] + _PAIRS[low % _TWO] + text
    text = text.lstrip("1")
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def decode(text: str) -> bytes:
    """The bytes that *text* says. Raises ValueError for other characters, and for too many."""
    if len(text) > limits.BASE58_MAX:
        raise ValueError(f"{len(text)} characters, which is more than any key, id or signature has")
    digits = text.encode("ascii", "replace").translate(_DIGITS)
    if _NONE in digits:
        raise ValueError(f"{text[digits.index(_NONE)]!r} is no character of base58")
    number = int.from_bytes(digits)
    for width, mask, base in _SHORT_FOLDINGS if len(text) <= _SHORT else _LONG_FOLDINGS:
        number = (number & mask) + (number >> width & mask) * base
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
