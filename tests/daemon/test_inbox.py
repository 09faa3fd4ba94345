"""The inbox against a plain model: a list of what came, by face."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.daemon.inbox import Inbox
from tinyssb_node.ids import FaceName

FACES = [FaceName(name) for name in ("radio", "wire", "phone")]


@given(st.lists(st.one_of(st.sampled_from(FACES), st.none()), max_size=60))
def test_each_face_has_its_items_in_order_and_a_turn_among_those_that_wait(
    steps: list[FaceName | None],
) -> None:
    """None takes an item."""
    inbox: Inbox[tuple[FaceName, int]] = Inbox()
    waiting: dict[FaceName, list[int]] = {face: [] for face in FACES}
    passed_over = dict.fromkeys(FACES, 0)
    for number, face in enumerate(steps):
        if face is not None:
            inbox.put(face, (face, number))
            waiting[face].append(number)
        elif any(waiting.values()):
            taken, item = inbox.take()
            assert item == waiting[taken].pop(0)
            for other in FACES:
                passed_over[other] = passed_over[other] + 1 if other != taken and waiting[other] else 0
            assert max(passed_over.values()) < len(FACES)
        else:
            with pytest.raises(KeyError):
                inbox.take()
        assert len(inbox) == sum(map(len, waiting.values()))
        assert [inbox.count(each) for each in FACES] == [len(waiting[each]) for each in FACES]
