"""Footers of an archive's files: the vector first, then any of them, then what is none."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spark_sink.archive.footer import Archived, FooterError, chain, parse_footer, serialize_footer
from spark_sink.segments import ArchivedPiece
from tests.spark_sink.logs import node_name

VECTOR = Path(__file__).parents[2] / "vectors" / "archive" / "footer-1.json"
PATH = "archive/day=2026-11-01/5b0c44a1f2d90e73.parquet"
A = node_name(1)
PIECES = [
    Archived(
        A,
        7,
        ArchivedPiece(
            0, 0, 1000, 0, 9, False, "00112233", '{"kind":"start","name":"\xc3\xa9"}\n', PATH, 0, 9
        ),
    ),
    Archived(A, 7, ArchivedPiece(9, 400, 900, 12, 15, True, "44556677", "", PATH, 9, 4)),
]


def piece(segment: int, low: int, high: int, path: str = PATH, **fields: Any) -> Archived:
    made = ArchivedPiece(
        segment, low, high, segment + low, segment + high, False, f"{high:08x}", "", path, 0, high - low
    )
    return Archived(A, 1, made._replace(**fields))


def test_the_frozen_footer_is_read_and_written_again() -> None:
    assert parse_footer(VECTOR.read_bytes(), PATH, 13) == PIECES
    assert json.loads(serialize_footer(PIECES)) == json.loads(VECTOR.read_bytes())


@st.composite
def footers(draw: st.DrawFn) -> list[Archived]:
    found, row = [], 0
    for _ in range(draw(st.integers(0, 5))):
        segment, low, rows = (
            draw(st.integers(0, 10**11)),
            draw(st.integers(0, 10**9)),
            draw(st.integers(1, 99)),
        )
        size, first = draw(st.integers(1, 10**8)), segment + draw(st.integers(0, 999))
        line = draw(st.binary(max_size=20)).decode("latin-1")
        end, stopped = first + draw(st.integers(0, size)), draw(st.booleans())
        found.append(
            Archived(
                node_name(draw(st.integers(0, 3))),
                draw(st.integers(0, 10**8 - 1)),
                ArchivedPiece(
                    segment, low, low + size, first, end, stopped, "0123abcd", line, PATH, row, rows
                ),
            )
        )
        row += rows
    return found


@given(footers())
def test_what_is_written_is_read(pieces: list[Archived]) -> None:
    rows = sum(archived.piece.rows for archived in pieces)
    assert parse_footer(serialize_footer(pieces), PATH, rows) == pieces


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"version": 2}, "newer"),
        ({"version": 2.5}, "cannot be read"),
        ({"pieces": {}}, "cannot be read"),
        ({"starts": []}, "cannot be read"),
        ({"starts": {"0": "\u1234"}}, "cannot be read"),
        ({"node": ["x", A]}, "cannot be read"),
        ({"boot": [True, 1]}, "cannot be read"),
        ({"high": [0, 900]}, "cannot be read"),
        ({"next": [10**12 + 1, 15]}, "cannot be read"),
        ({"next": [10**11, 15]}, "cannot be read"),
        ({"first": [10, 12]}, "cannot be read"),
        ({"rows": [9, 5]}, "other rows"),
        ({"rows": [9]}, "other rows"),
        ({"rows": [0, 13]}, "cannot be read"),
        ({"print": [1, 2]}, "cannot be read"),
    ],
)
def test_what_cannot_be_true_is_refused(change: dict[str, Any], why: str) -> None:
    footer = json.loads(VECTOR.read_bytes())
    for name, value in change.items():
        (footer if name in footer else footer["pieces"])[name] = value
    with pytest.raises(FooterError, match=why):
        parse_footer(json.dumps(footer).encode(), PATH, 13)


@pytest.mark.parametrize("text", [b"", b"[]", b"null", b"{", b"[" * 100_000])
def test_what_is_no_footer_is_refused(text: bytes) -> None:
    with pytest.raises(FooterError):
        parse_footer(text, PATH, 13)


def test_pieces_are_joined_where_nothing_lacks_between_them() -> None:
    pieces = [piece(0, 0, 10), piece(0, 10, 30), piece(0, 40, 50), piece(60, 0, 5)]
    chains, passed = chain(reversed(pieces), {PATH: "archive"})
    assert passed == []
    assert [(found.first, found.size, len(found.pieces)) for found in chains[A]] == [
        (0, 30, 2),
        (40, 10, 1),
        (60, 5, 1),
    ]


def test_a_piece_that_is_there_twice_counts_once_and_another_one_is_told() -> None:
    pieces = [
        piece(0, 0, 10),
        piece(0, 0, 10, "a/day=x/copy"),
        piece(0, 0, 10, "a/day=x/other", print="ffffffff"),
    ]
    chains, passed = chain(pieces, {PATH: "archive", "a/day=x/copy": "a", "a/day=x/other": "a"})
    assert [(found.first, found.size, len(found.pieces)) for found in chains[A]] == [(0, 10, 1)]
    assert [path for path, _ in passed] in (["a/day=x/other"], ["a/day=x/copy", PATH], [PATH])
