"""Seeds in words: BIP-39's reference vectors, and what people type."""

import contextlib
import json
import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.errors import ExitCode, LocalError
from tinyssb_node.store.words import parse_words, serialize_words, word_list

VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "identity" / "bip39.json").read_text())
ENTROPY, TEXT = VECTORS[4]
WORDS = TEXT.split()


@pytest.mark.parametrize(("entropy", "text"), VECTORS)
def test_reference_vectors_both_ways(entropy: str, text: str) -> None:
    assert " ".join(serialize_words(bytes.fromhex(entropy))) == text
    assert parse_words(text).hex() == entropy


@given(st.binary(min_size=32, max_size=32))
def test_what_is_written_is_read_back(seed: bytes) -> None:
    words = serialize_words(seed)
    assert len(words) == 24
    assert parse_words(" ".join(words)) == seed
    assert parse_words(" ".join(word[:4] for word in words)) == seed


@given(st.text())
def test_any_text_is_a_seed_or_told_to_be_none(text: str) -> None:
    with contextlib.suppress(LocalError):
        assert len(parse_words(text)) == 32


def test_four_letters_tell_all_words_apart() -> None:
    assert len({word[:4] for word in word_list()}) == len(word_list()) == 2048


@pytest.mark.parametrize(
    "text",
    [
        TEXT.upper(),
        "\n".join(f"{number}. {word}" for number, word in enumerate(WORDS, 1)),
        ",  ".join(word.capitalize() for word in WORDS) + "\r\n",
        "\t".join(
            word[: 3 + number % 3] if len(word) > 3 and number % 3 else word
            for number, word in enumerate(WORDS)
        ),
    ],
)
def test_people_type_as_they_like(text: str) -> None:
    assert parse_words(text).hex() == ENTROPY


@pytest.mark.parametrize("wrong", ["xylophone", "abs", "absend", "gorillas", "zz"])
def test_a_wrong_word_is_told_by_its_place_and_not_repeated(wrong: str) -> None:
    given_words = [*WORDS[:6], wrong, *WORDS[7:]]
    with pytest.raises(LocalError, match=r"^Word 7 is not in the list") as caught:
        parse_words(" ".join(given_words))
    assert caught.value.exit_code is ExitCode.DATA
    assert not {*given_words} & {*re.findall("[a-z]+", str(caught.value))}


@pytest.mark.parametrize("count", [0, 1, 23, 25])
def test_too_few_and_too_many_are_counted(count: int) -> None:
    with pytest.raises(LocalError, match=f"There are {count} words and not 24") as caught:
        parse_words(" ".join(([*WORDS, "zoo"])[:count]))
    assert caught.value.exit_code is ExitCode.DATA


def test_another_word_of_the_list_is_noticed() -> None:
    with pytest.raises(LocalError, match="checksum") as caught:
        parse_words(" ".join(["zoo", *WORDS[1:]]))
    assert caught.value.exit_code is ExitCode.DATA
    swapped = [WORDS[1], WORDS[0], *WORDS[2:]]
    with pytest.raises(LocalError, match="checksum") as caught:
        parse_words(" ".join(swapped))
    assert caught.value.exit_code is ExitCode.DATA
