"""A seed in 24 words of BIP-39's English list, to be written on paper (docs/formats/identity.md).

The words are the seed itself with a checksum: BIP-39's entropy, of which nothing further is derived.
"""

import re
import unicodedata
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Final

from tinyssb_node import limits as sizes
from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.store import limits

_CHECKSUM_BITS: Final = limits.WORDS * limits.WORD_BITS - 8 * sizes.SEED_SIZE
_LIST: Final = Path(__file__).parent / "vendor" / "bip39-english.txt"


def serialize_words(seed: bytes) -> tuple[str, ...]:
    """Return the 24 words of *seed*, 32 bytes."""
    bits = int.from_bytes(seed + _checksum(seed), "big")
    places = range((limits.WORDS - 1) * limits.WORD_BITS, -1, -limits.WORD_BITS)
    words = word_list()
    return tuple(words[bits >> place & (1 << limits.WORD_BITS) - 1] for place in places)


def parse_words(text: str) -> bytes:
    """Parse words into a seed: words in any case, or their first four letters or more, separated by anything but
    letters.

    Raises LocalError. None of them repeats a word.
    """
    given = re.findall(r"[a-z]+", unicodedata.normalize("NFKD", text).lower())
    bits = 0
    for number, word in enumerate(given, 1):
        bits = bits << limits.WORD_BITS | _index(word, number)
    if len(given) != limits.WORDS:
        raise LocalError(
            f"There are {len(given)} words and not {limits.WORDS}. Nothing was changed. Is a line missing?",
            exit_code=ExitCode.DATA,
        )
    seed = (bits >> _CHECKSUM_BITS).to_bytes(sizes.SEED_SIZE, "big")
    if bits & 0xFF != _checksum(seed)[0]:
        raise LocalError(
            "All words are in the list, but their checksum is wrong: one of them is another word of the list, or two "
            "changed places. Nothing was changed.",
            exit_code=ExitCode.DATA,
        )
    return seed


def _checksum(seed: bytes) -> bytes:
    return sha256(seed).digest()[: _CHECKSUM_BITS // 8]


def _index(word: str, number: int) -> int:
    """Return the index in the list of the *number*-th word. Raises LocalError."""
    words, beginnings = word_list(), _beginnings()
    index = beginnings.get(word[: limits.WORD_LETTERS])
    # "cat" is a word and "catalog" another, so fewer letters than four are a word or nothing.
    if index is None or not words[index].startswith(word):
        raise LocalError(
            f"Word {number} is not in the list. Nothing was changed. Look at its first four letters: they are enough.",
            exit_code=ExitCode.DATA,
        )
    return index


@cache
def word_list() -> tuple[str, ...]:
    """Return the words of BIP-39 in their order."""
    words = tuple(_LIST.read_text("ascii").split())
    assert len(words) == 1 << limits.WORD_BITS
    return words


@cache
def _beginnings() -> dict[str, int]:
    """Return the indices of words by their first four letters, which are enough to distinguish them."""
    return {word[: limits.WORD_LETTERS]: index for index, word in enumerate(word_list())}
