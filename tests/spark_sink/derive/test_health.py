"""The one sentence, for every state a mesh may be in."""

import pytest

from spark_sink.derive.health import Figures, Health, health

ALL = "All 9 nodes have everything"
ALONE = "out of contact with all others"
ANA, BO = ("Ana", 40), ("Bo", 7)


def said(figures: Figures) -> Health:
    return health(figures, lambda t_us: f"{t_us // 60}:{t_us % 60:02d}")


@pytest.mark.parametrize(
    ("figures", "level", "sentence"),
    [
        (Figures(0, 0), "unknown", "No node's log has been read yet."),
        (Figures(1, 0), "good", "1 node, and nothing published yet."),
        (Figures(1, 5), "good", "The only node has everything."),
        (Figures(2, 5), "good", "Both nodes have everything."),
        (Figures(1_200, 5), "good", "All 1,200 nodes have everything."),
        (Figures(12, 90, [ANA]), "warning", "40 copies of messages are missing, at Ana."),
        (Figures(12, 90, [("Cy", 1)]), "warning", "1 copy of a message is missing, at Cy."),
        (Figures(12, 90, [BO, ANA]), "warning", "47 copies of messages are missing, at Ana and Bo."),
        (Figures(12, 90, [(name, 1) for name in "abcd"]), "warning",
         "4 copies of messages are missing, at 4 of 12 nodes."),
        (Figures(4, 90, [(name, 1) for name in "abcd"]), "warning",
         "4 copies of messages are missing, at all 4 nodes."),
        (
            Figures(12, 90, [BO, ANA], split_since_us=842),
            "warning",
            "47 copies of messages are missing, at Ana and Bo; the mesh is split since 14:02.",
        ),
        (
            Figures(9, 90, isolated=["Eve", "Dan"], silent=["Fay"], warnings=1),
            "warning",
            f"{ALL}; Dan and Eve are {ALONE}; the log of Fay ended without a stop; 1 warning is open.",
        ),
        (
            Figures(9, 90, isolated=["Eve"], silent=list("abcd"), warnings=3, alarms=2),
            "alarm",
            f"{ALL}; Eve is {ALONE}; the log of 4 nodes ended without a stop; 2 alarms are open.",
        ),
        (Figures(9, 90, warnings=3), "warning", "All 9 nodes have everything; 3 warnings are open."),
        (Figures(9, 90, isolated=["c", "a", "b"]), "warning",
         "All 9 nodes have everything; a, b and c are out of contact with all others."),
    ],
)  # fmt: skip
def test_it_says_how_the_mesh_is(figures: Figures, level: str, sentence: str) -> None:
    assert said(figures) == Health(level, sentence)  # type: ignore[arg-type] # a word of the table
