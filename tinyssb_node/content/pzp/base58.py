"""Base58 with Bitcoin's alphabet: bytes as one large number, each zero byte in front as a ``1``."""

from typing import Final

from tinyssb_node.content.pzp import limits

_ALPHABET: Final = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
_VALUES: Final = {character: value for value, character in enumerate(_ALPHABET)}
_PAIRS: Final = [high + low for high in _ALPHABET for low in _ALPHABET]


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
    number = 0
    try:
        for character in text:
            number = number * 58 + _VALUES[character]
    except KeyError as error:
        raise ValueError(f"{error.args[0]!r} is no character of base58") from None
    zeros = len(text) - len(text.lstrip("1"))
    return bytes(zeros) + number.to_bytes((number.bit_length() + 7) // 8)
