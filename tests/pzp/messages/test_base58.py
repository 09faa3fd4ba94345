import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.pzp.messages.vectors import load
from tinyssb_node.pzp.messages import base58


def test_keys_and_signatures_of_the_original() -> None:
    vectors = load("v2-keys")
    pairs = [(pair["public"], pair["publicHex"]) for pair in vectors["keypairs"]]
    pairs += [(pair["private"], pair["privateHex"]) for pair in vectors["keypairs"]]
    pairs += [(signature["sig"], signature["sigHex"]) for signature in vectors["signatures"]]
    for text, digits in pairs:
        assert base58.decode(text) == bytes.fromhex(digits)
        assert base58.encode(bytes.fromhex(digits)) == text


@given(st.binary(max_size=90))
def test_what_is_written_is_read(data: bytes) -> None:
    assert base58.decode(base58.encode(data)) == data


@given(st.text("123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz", max_size=40))
def test_what_is_read_is_written(text: str) -> None:
    assert base58.encode(base58.decode(text)) == text


@pytest.mark.parametrize("text", ["0", "O", "I", "l", "2 ", "2\n", "é", "\ud800", "2" * 129])
def test_other_characters_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="character"):
        base58.decode(text)
