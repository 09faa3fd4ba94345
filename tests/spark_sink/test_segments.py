"""Shares and tasks: nobody gets more than wanted, all is dealt out, and every byte is in one task."""

from hypothesis import given
from hypothesis import strategies as st

from spark_sink.segments import Segment, SegmentPart, pack_tasks, segment_name, share_bytes

WANTS = st.dictionaries(st.text("abcdef", min_size=1, max_size=3), st.integers(1, 1000), min_size=1)


@given(WANTS, st.integers(1, 2000))
def test_shares_are_fair_where_they_are_not_small(wants: dict[str, int], total: int) -> None:
    shares = share_bytes(wants, total, 0)
    assert sum(shares.values()) == min(total, sum(wants.values()))
    assert all(shares[node] <= wants[node] for node in wants)
    hungry = [shares[node] for node in wants if shares[node] < wants[node]]
    assert all(shares[node] <= max(hungry, default=total) + 1 for node in wants)
    assert not hungry or max(hungry) - min(hungry) <= 1


@given(WANTS, st.integers(1, 2000), st.integers(1, 500))
def test_all_is_dealt_out_and_those_furthest_behind_come_first(
    wants: dict[str, int], total: int, least: int
) -> None:
    shares = share_bytes(wants, total, least)
    assert sum(shares.values()) == min(total, sum(wants.values()))
    assert all(shares.get(node, 0) <= wants[node] for node in wants)
    small = [share for node, share in shares.items() if share and share < min(wants[node], least)]
    assert len(small) <= 1
    none = [wants[node] for node in wants if not shares.get(node)]
    some = [wants[node] for node in wants if 0 < shares.get(node, 0) < wants[node]]
    assert not none or not some or max(none) <= min(some)


def test_many_that_are_far_behind_take_turns() -> None:
    wants = dict.fromkeys("abcdefgh", 1000)
    served = []
    for _ in range(8):
        shares = share_bytes(wants, 200, 100)
        served += [node for node, share in shares.items() if share]
        wants = {node: want - shares.get(node, 0) for node, want in wants.items()}
    assert sorted(served) == sorted("abcdefgh" * 2)


@given(st.lists(st.integers(1, 300), max_size=20), st.integers(1, 100))
def test_tasks_hold_all_parts_in_order(sizes: list[int], size_max: int) -> None:
    parts = [
        SegmentPart("n", Segment(1, number, 5 + size, "f"), 5, 5 + size, number - 1, number + 9)
        for number, size in enumerate(sizes)
    ]
    tasks = pack_tasks(parts, size_max)
    assert all(sum(part.size for part in task) == size_max for task in tasks[:-1])
    assert not tasks or 0 < sum(part.size for part in tasks[-1]) <= size_max
    bytes_in = [(part.segment, byte) for part in parts for byte in range(part.low, part.high)]
    packed = [part for task in tasks for part in task]
    assert [(part.segment, byte) for part in packed for byte in range(part.low, part.high)] == bytes_in
    assert all(part.after == (part.segment.first - 1 if part.low == 5 else None) for part in packed)


def test_a_segments_path_is_made_of_its_numbers() -> None:
    assert segment_name(7, 12) == "00000007-000000000012.jsonl"
    assert Segment(7, 12, 0, "/logs/n").path == "/logs/n/00000007-000000000012.jsonl"
