"""Value types: built only by checking, compared as bytes."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.ids import Dialect, Direction, Dmx, FeedId, MessageId, Origin, PacketKind, Verdict

TYPES = [(FeedId, 32), (MessageId, 20), (Dmx, 7)]


@pytest.mark.parametrize(("kind", "size"), TYPES)
@given(data=st.data())
def test_the_right_size_is_taken_and_shown(kind: type[FeedId], size: int, data: st.DataObject) -> None:
    value = data.draw(st.binary(min_size=size, max_size=size))
    taken = kind(value)
    assert taken == value
    assert hash(taken) == hash(value)
    assert kind.from_hex(value.hex()) == taken
    assert repr(taken) == f"{kind.__name__}({value.hex()})"
    assert pickle.loads(pickle.dumps(taken)) == taken


@pytest.mark.parametrize(("kind", "size"), TYPES)
@pytest.mark.parametrize("difference", [-1, 1])
def test_another_size_is_refused(kind: type[FeedId], size: int, difference: int) -> None:
    with pytest.raises(ValueError, match=f"{kind.__name__} has {size} bytes, not {size + difference}"):
        kind(bytes(size + difference))
    with pytest.raises(ValueError, match="bytes, not 0"):
        kind(b"")


@pytest.mark.parametrize("text", ["zz" * 32, "00" * 31, "0" * 63])
def test_text_that_is_no_id_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"non-hexadecimal|bytes, not 31"):
        FeedId.from_hex(text)


@given(st.lists(st.binary(min_size=32, max_size=32)))
def test_ids_sort_as_their_bytes(values: list[bytes]) -> None:
    assert sorted(FeedId(value) for value in values) == sorted(values)


def test_ids_carry_nothing_else() -> None:
    with pytest.raises(AttributeError):
        FeedId(bytes(32)).name = "Ana"  # type: ignore[attr-defined] # that is the test


@pytest.mark.parametrize("words", [Dialect, Direction, Origin, PacketKind, Verdict])
def test_words_are_written_as_in_the_event_log(words: type[Dialect]) -> None:
    assert all(str(word) == word.value == word.name.lower() for word in words)
