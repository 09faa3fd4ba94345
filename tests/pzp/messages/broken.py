"""Expectation of a refused message, by the rule that it breaks."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tinyssb_node.pzp.messages.errors import MessageError, PzpRule


@contextmanager
def breaking(*rules: PzpRule) -> Iterator[None]:
    """Expect a MessageError of one of *rules*."""
    with pytest.raises(MessageError) as caught:
        yield
    assert caught.value.rule in rules, caught.value
