"""Base58 with Bitcoin's alphabet: bytes as one large number, each zero byte in front as a ``1``."""

from typing import Final

from tinyssb_node.content.pzp import limits

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_PAIRS: Final = [high + low for high in _ALPHABET for low in _ALPHABET]
_NONE: Final = 255
_DIGITS: Final = bytes(_ALPHABET.index(chr(code)) if chr(code) in _ALPHABET else _NONE for code in range(256))
"""The value of each character."""
_EIGHT: Final = 58**8


def encode(data: bytes) -> str:
    """*data* as text. It never fails; 16 bytes have 16 to 22 characters."""
    number = int.from_bytes(data)
    pairs: list[str] = []
    while number:
        number, pair = divmod(number, 58 * 58)
        pairs.append(_PAIRS[pair])
    text = "".join(reversed(pairs)).lstrip("1")
    return "1" * (len(data) - len(data.lstrip(b"\0"))) + text


def decode(text: str) -> bytes:
    """The bytes that *text* says. Raises ValueError for other characters, and for too many."""
    if len(text) > limits.BASE58_MAX:
        raise ValueError(f"{len(text)} characters, which is more than any key, id or signature has")
    digits = text.encode("ascii", "replace").translate(_DIGITS)
    if _NONE in digits:
        raise ValueError(f"{text[digits.index(_NONE)]!r} is no character of base58")
    number = 0
    # Eight digits fit into a number that Python reckons with fast: the large one is touched less often.
    each = iter(bytes(-len(digits) % 8) + digits)
    for a, b, c, d, e, f, g, h in zip(each, each, each, each, each, each, each, each, strict=True):
        eight = ((((((a * 58 + b) * 58 + c) * 58 + d) * 58 + e) * 58 + f) * 58 + g) * 58 + h
        number = number * _EIGHT + eight
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
