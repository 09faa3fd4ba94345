"""The outbox: first due first out, no packet twice, nothing beyond its bound."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.traced import peak_bytes
from tinyssb_node import limits
from tinyssb_node.ids import PacketKind
from tinyssb_node.scheduling.due_queue import DueQueue


def drain(outbox: DueQueue, now_us: int = 10**9) -> list[bytes]:
    packets = []
    while (first := outbox.pop(now_us)) is not None:
        packets.append(first[0])
    return packets


def put(outbox: DueQueue, packet: bytes, due_us: int = 0) -> bool:
    return outbox.put(packet, PacketKind.ENTRY, due_us)


def test_what_is_due_first_goes_first_and_equals_in_order() -> None:
    outbox = DueQueue()
    for packet, due_us in ((b"late", 9), (b"one", 5), (b"two", 5), (b"early", 1)):
        put(outbox, packet, due_us)
    assert outbox.next_us == 1
    assert drain(outbox) == [b"early", b"one", b"two", b"late"]
    assert outbox.next_us is None


def test_nothing_goes_before_its_time() -> None:
    outbox = DueQueue()
    put(outbox, b"packet", 5)
    assert outbox.pop(4) is None
    assert outbox.pop(5) == (b"packet", PacketKind.ENTRY)
    assert outbox.pop(5) is None


def test_a_packet_waits_once_at_its_first_time() -> None:
    outbox = DueQueue()
    assert put(outbox, b"packet", 5)
    assert put(outbox, b"packet", 1)
    assert (len(outbox), outbox.next_us) == (1, 5)
    assert drain(outbox) == [b"packet"]


def test_a_packet_that_went_may_wait_again() -> None:
    outbox = DueQueue()
    put(outbox, b"packet")
    drain(outbox)
    assert put(outbox, b"packet")
    assert drain(outbox) == [b"packet"]


def test_a_cancelled_packet_does_not_go() -> None:
    outbox = DueQueue()
    put(outbox, b"first", 1)
    put(outbox, b"second", 2)
    assert outbox.cancel(b"first")
    assert not outbox.cancel(b"first")
    assert b"first" not in outbox
    assert b"second" in outbox
    assert outbox.next_us == 2
    assert drain(outbox) == [b"second"]


def test_a_packet_cancelled_and_put_again_has_its_new_time() -> None:
    outbox = DueQueue()
    put(outbox, b"packet", 1)
    outbox.cancel(b"packet")
    put(outbox, b"packet", 7)
    assert outbox.next_us == 7
    assert outbox.pop(6) is None
    assert drain(outbox) == [b"packet"]


def test_a_full_outbox_refuses_until_something_went() -> None:
    outbox = DueQueue()
    for number in range(limits.QUEUE_MAX):
        assert put(outbox, b"%d" % number)
    assert outbox.room == 0
    assert not put(outbox, b"one more")
    assert put(outbox, b"0")
    outbox.pop(0)
    assert put(outbox, b"one more")


def test_putting_and_cancelling_for_ever_takes_bounded_memory() -> None:
    def full() -> None:
        outbox = DueQueue()
        for number in range(limits.QUEUE_MAX):
            put(outbox, b"%d" % number)

    def busy() -> None:
        outbox = DueQueue()
        put(outbox, b"first", 1)
        put(outbox, b"second", 2)
        for number in range(10 * limits.QUEUE_MAX):
            put(outbox, b"%d" % number, 3)
            outbox.cancel(b"%d" % number)
        assert drain(outbox) == [b"first", b"second"]

    assert peak_bytes(busy) < 1.2 * peak_bytes(full), "no more than a full queue"


actions = st.lists(
    st.tuples(st.sampled_from(["put", "cancel", "pop"]), st.integers(0, 5), st.integers(0, 9)), max_size=60
)


@given(actions, st.sampled_from([0, 1, limits.QUEUE_MAX]))
def test_it_does_what_a_plain_list_would_do(acts: list[tuple[str, int, int]], queue_max: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "QUEUE_MAX", queue_max)
        outbox = DueQueue()
        waiting: list[tuple[int, bytes]] = []
        for act, number, time_us in acts:
            packet = b"%d" % number
            held = [item for item in waiting if item[1] == packet]
            if act == "put":
                assert put(outbox, packet, time_us) == (bool(held) or len(waiting) < queue_max)
                if not held and len(waiting) < queue_max:
                    waiting.append((time_us, packet))
            elif act == "cancel":
                assert outbox.cancel(packet) == bool(held)
                waiting = [item for item in waiting if item[1] != packet]
            else:
                due = [item for item in waiting if item[0] <= time_us]
                first = min(due, key=lambda item: item[0]) if due else None
                popped = outbox.pop(time_us)
                assert (popped and popped[0]) == (first and first[1])
                if first is not None:
                    waiting.remove(first)
            assert len(outbox) == len(waiting)
            assert outbox.next_us == min((item[0] for item in waiting), default=None)
