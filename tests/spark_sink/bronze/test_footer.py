"""Footers of bronze files: the vector first, then any of them, then what is none; and how their pieces are counted."""

import json
import random
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.bronze.footer import (
    BronzeFileError,
    BronzePiece,
    count_pieces,
    parse_footer,
    serialize_footer,
)
from spark_sink.stream_offset import BootProgress, Interval, Tail

VECTOR = Path(__file__).parents[2] / "vectors" / "bronze" / "footer-1.json"
A, B = f"{0xAA:016x}", f"{0xBB:016x}"
PIECES = [
    BronzePiece(A, 7, 0, 9, Tail(0, 1000, "00112233"), False, ("44556677", True)),
    BronzePiece(A, 7, 9, 12, Tail(9, 400), False),
    BronzePiece(B, 1, 12, 15, Tail(12, 900, "8899aabb"), True),
]


def test_the_frozen_footer_is_read_and_written_again() -> None:
    assert parse_footer(VECTOR.read_bytes()) == PIECES
    assert json.loads(serialize_footer(PIECES)) == json.loads(VECTOR.read_bytes())


@st.composite
def pieces(draw: st.DrawFn) -> BronzePiece:
    segment = draw(st.integers(0, 10**11))
    first = segment + draw(st.integers(0, 999))
    start = draw(st.one_of(st.none(), st.tuples(st.just("01234567"), st.sampled_from([None, True, False]))))
    tail = Tail(segment, draw(st.integers(0, 10**9)), draw(st.sampled_from(["", "89abcdef"])))
    end = first + draw(st.integers(0, 999))
    return BronzePiece(
        draw(st.sampled_from([A, B])), draw(st.integers(0, 9)), first, end, tail, draw(st.booleans()), start
    )


@given(st.lists(pieces(), max_size=5))
def test_what_is_written_is_read_again(found: list[BronzePiece]) -> None:
    assert parse_footer(serialize_footer(found)) == found


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda footer: footer.update(version=2), "version 2"),
        (lambda footer: footer.pop("pieces"), "cannot be read"),
        (lambda footer: footer["pieces"][0].__setitem__(0, "nobody"), "cannot be read"),
        (lambda footer: footer["pieces"][0].__setitem__(2, "0"), "cannot be read"),
        (lambda footer: footer["pieces"][0].__setitem__(3, -1), "cannot be read"),
        (lambda footer: footer["pieces"].append([A]), "cannot be read"),
    ],
)
def test_what_no_program_writes_is_refused(change: Any, reason: str) -> None:
    footer = json.loads(VECTOR.read_bytes())
    change(footer)
    with pytest.raises(BronzeFileError, match=reason):
        parse_footer(json.dumps(footer).encode())


@pytest.mark.parametrize("text", [None, b"", b"[]", b"7", b"{", b"[" * 100_000])
def test_something_else_is_refused(text: bytes | None) -> None:
    with pytest.raises(BronzeFileError):
        parse_footer(text)


@given(st.randoms(use_true_random=False), st.integers(1, 12))
def test_pieces_count_once_in_any_order(chance: random.Random, count: int) -> None:
    cuts = [0, *sorted(chance.sample(range(1, 100), count)), 100]
    found = [
        BronzePiece(A, 1, low, high, Tail(low, 10 * high), high == 100, ("p", True) if low == 0 else None)
        for low, high in pairwise(cuts)
    ]
    some = [piece for piece in found for _ in range(chance.randint(1, 2))]
    chance.shuffle(some)
    half = count_pieces({}, some[: len(some) // 2])
    assert count_pieces(half, some[len(some) // 2 :]) == {
        A: {1: BootProgress("p", True, True, (Interval(0, 100, None),))}
    }


def test_a_hole_stays_a_hole_and_the_last_tail_holds() -> None:
    found = count_pieces({}, [BronzePiece(A, 1, 5, 9, Tail(5, 90, "x"), False)])
    found = count_pieces(found, [BronzePiece(A, 1, 0, 3, Tail(0, 30, "y"), False, ("p", None))])
    assert found[A][1] == BootProgress(
        "p", None, False, (Interval(0, 3, Tail(0, 30, "y")), Interval(5, 9, Tail(5, 90, "x")))
    )
    found = count_pieces(found, [BronzePiece(A, 1, 3, 5, Tail(3, 50, "z"), False)])
    assert found[A][1].runs == (Interval(0, 9, Tail(5, 90, "x")),)
