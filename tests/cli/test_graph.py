"""Drawn tangles: against drawings kept in files, and against a reader that reads a drawing back into a graph."""

from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tinyssb_node.cli.graph import ASCII, UNICODE, GraphLine, draw

Graph = list[tuple[str, str]]

GOLDEN = Path(__file__).parent / "golden"
GRAPHS: dict[str, Graph] = {
    "chain": [("a", ""), ("b", "a"), ("c", "b")],
    "branches": [("a", ""), ("b", "a"), ("c", "a"), ("d", "a"), ("e", "bd"), ("f", "ce"), ("g", "f")],
    "star": [("a", ""), ("b", "a"), ("c", "a"), ("d", "a"), ("e", "bcd")],
    "crossing": [("a", ""), ("b", ""), ("c", "a"), ("d", "b"), ("e", "ad"), ("f", "cb"), ("g", "ef")],
    "several-roots": [("a", ""), ("b", ""), ("c", "ab"), ("d", ""), ("e", "cd"), ("f", "x")],
}


def pictured(lines: Sequence[GraphLine[str]]) -> str:
    told = [
        f"{line.drawing:<16}{line.message or ''}{' (' + ''.join(line.apart) + ')' if line.apart else ''}".rstrip()
        for line in lines
    ]
    return "\n".join(told) + "\n"


@pytest.mark.parametrize("glyphs", [UNICODE, ASCII], ids=["unicode", "ascii"])
@pytest.mark.parametrize("name", GRAPHS)
def test_drawings_are_as_they_were_approved(name: str, glyphs: str) -> None:
    path = GOLDEN / f"graph-{name}-{'unicode' if glyphs == UNICODE else 'ascii'}.txt"
    assert pictured(list(draw(GRAPHS[name], 8, glyphs))) == path.read_text("utf-8")


def read(lines: Sequence[GraphLine[str]], glyphs: str) -> set[tuple[str, str]]:
    """Return the pairs (follower, followed) by the drawing alone: characters that touch are joined."""
    dot, lane, across = glyphs[0], glyphs[1], glyphs[2]
    upward = {lane, *(glyphs[i] for i in (3, 4, 5, 6, 8, 9))}
    downward = {lane, dot, *(glyphs[i] for i in (3, 4, 5, 7, 10, 11))}
    above: dict[int, str] = {}
    """The dots whose lines come down to the next line, by column."""
    joined: set[str] = set()
    """The dots joined to the one that comes."""
    edges: set[tuple[str, str]] = set()
    for line in lines:
        cells = dict(enumerate(line.drawing[::2]))
        assert {line.drawing[i] for i in range(1, len(line.drawing), 2)} <= {" ", across}
        if line.message is None:
            corners = [place for place, glyph in cells.items() if glyph not in (" ", lane, across)]
            if corners:
                assert " " not in line.drawing[2 * corners[0] : 2 * corners[-1] + 1]
                assert all(line.drawing[2 * place + 1] == across for place in range(corners[0], corners[-1]))
            joined = {above[place] for place in corners if cells[place] in upward}
            # Lanes that cross go on; what goes on below a corner is its own lane, or leads to the dot.
            above = {place: who for place, who in above.items() if cells.get(place, " ") in upward & downward}
            continue
        (column,) = (place for place, glyph in cells.items() if glyph == dot)
        if column in above:
            joined.add(above[column])
        edges |= {(line.message, one) for one in joined}
        above = {place: who for place, who in above.items() if cells.get(place, " ") == lane}
        above[column], joined = line.message, set()
    return edges


@st.composite
def graphs(draw_: st.DrawFn) -> Graph:
    names = [chr(ord("A") + number) for number in range(draw_(st.integers(0, 14)))]
    return [
        (name, "".join(draw_(st.lists(st.sampled_from([*names[:number], "?"]), max_size=5))))
        for number, name in enumerate(names)
    ]


@given(graphs(), st.integers(2, 9), st.sampled_from([UNICODE, ASCII]))
@example([("A", ""), *((chr(ord("B") + n), "A") for n in range(12)), ("Z", "BCDEFGHIJKLM")], 4, UNICODE)
def test_every_edge_is_drawn_or_told_and_nothing_else(graph: Graph, lanes_max: int, glyphs: str) -> None:
    lines = list(draw(graph, lanes_max, glyphs))
    assert [line.message for line in lines if line.message is not None] == [message for message, _ in graph]
    assert all(len(line.drawing) < 2 * lanes_max for line in lines)
    assert all(line.drawing == line.drawing.rstrip() for line in lines)
    assert {char for line in lines for char in line.drawing} <= {*glyphs, " "}
    told = {(line.message, one) for line in lines for one in line.apart}
    drawn = read(lines, glyphs)
    assert drawn & told == set()
    assert drawn | told == {(message, one) for message, previous in graph for one in previous}
    if lanes_max > len(graph):
        assert {one for _, one in told} <= {"?"}


@given(graphs(), st.integers(2, 9), st.integers(0, 14))
def test_a_part_is_drawn_as_it_is_in_the_whole(graph: Graph, lanes_max: int, first: int) -> None:
    whole, part = list(draw(graph, lanes_max)), list(draw(graph, lanes_max, first=first))
    assert whole[len(whole) - len(part) :] == part
    assert [line.message for line in part if line.message] == [message for message, _ in graph[first:]]


def test_a_line_that_is_left_out_is_noticed() -> None:
    """The reader above can fail."""
    lines = list(draw(GRAPHS["branches"], 8))
    del lines[next(i for i, line in enumerate(lines) if line.message is None)]
    assert read(lines, UNICODE) != {
        (message, one) for message, previous in GRAPHS["branches"] for one in previous
    }


def test_what_follows_itself_or_a_later_one_is_told() -> None:
    lines = list(draw([("A", "AB"), ("B", "A")], 4))
    assert [line.apart for line in lines if line.message] == [("A", "B"), ()]


def test_hostile_graphs_are_narrow_and_take_no_time() -> None:
    thousand = [(f"m{n}", [f"m{n - 1 - k}" for k in range(min(n, 1_000))]) for n in range(300)]
    broad = [
        ("root", []),
        *((f"b{n}", ["root"]) for n in range(2_000)),
        ("all", [f"b{n}" for n in range(2_000)]),
    ]
    for graph in (thousand, broad):
        assert max(len(line.drawing) for line in draw(graph, 8)) <= 15
