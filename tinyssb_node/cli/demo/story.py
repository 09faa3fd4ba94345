"""The story of the demonstration, in plain words: posts, a cut, posts on both sides, a merge."""

import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final

from tinyssb_node.cli.demo.mesh import NAMES, DemoMesh
from tinyssb_node.cli.demo.summary import DemoSummary, read_tables, summarize
from tinyssb_node.faces.ether_protocol import EtherCut, EtherHeal

Report = Callable[[str], None]
"""Prints one line."""

_APART_S: Final = 14.0
"""How long the two sides stay apart: long enough to be seen on the page."""
_PAUSE_S: Final = 8.0
"""Quiet between two rounds."""
_AGREE_S: Final = 90.0
"""How long nodes may take to agree on a channel where a full packet takes 0.2 s."""
_TABLES_S: Final = 60.0
"""How long the tables may take to show what the nodes store, Spark's start included."""
_POLL_S: Final = 0.5

_SPLITS: Final = (("ana", "ben"), ("eve",), ("ben", "dan"), ("ana", "cyd", "eve"))
"""The nodes cut off from the rest, round by round."""
_POSTS: Final = (
    "Reached the hut. Stove works, water is frozen.",
    "The pass is closed above 2,100 m, take the east side.",
    "Two of us stay another night; let the valley know we are fine.",
    "Battery at 63 %, panel is back in the sun.",
    "Anyone near the lake? We could use a rope.",
    (
        "Snow since noon, 20 cm and counting. The marked trail is hard to see beyond the second bridge, the cairns are "
        "covered and the wind has taken two of the poles. Come up only with a person who knows the way."
    ),
    "Found a red glove at the spring.",
)
"""Posts of people on a hill: most fit into one packet or two, one needs a side chain of several."""


class DemoStory:
    """One run of the story, until *deadline_s* (on the monotonic clock; None: no end)."""

    def __init__(self, mesh: DemoMesh, report: Report, deadline_s: float | None) -> None:
        self._mesh = mesh
        self._report = report
        self._deadline_s = deadline_s
        self._posts = itertools.cycle(_POSTS)
        self._shown = False

    def run(self) -> None:
        """Post, cut and heal in rounds until time is up."""
        self._report("Every node posts a message.")
        for name in NAMES:
            self._mesh.post_text(name, f"{name} is here.")
        self._until_agreed("Every node has every message")
        for split in itertools.cycle(_SPLITS):
            if self._time_is_up(_APART_S + _PAUSE_S):
                return
            self._round(split)

    def end(self) -> DemoSummary:
        """Heal the channel, let nodes and tables settle, and summarize."""
        self._mesh.ether(EtherHeal())
        self._wait(_AGREE_S, lambda: summarize(self._mesh).nodes_agree)
        self._wait(_TABLES_S, lambda: summarize(self._mesh).tables_agree)
        return summarize(self._mesh)

    def _round(self, apart: Sequence[str]) -> None:
        rest = [name for name in NAMES if name not in apart]
        self._mesh.ether(EtherCut(left=tuple(apart), right=tuple(rest)))
        self._report(f"Cut: {_list(apart)} on one side, {_list(rest)} on the other. Both sides post.")
        for name in (apart[0], rest[0], rest[-1]):
            self._mesh.post_text(name, next(self._posts))
        for _ in self._ticks(_APART_S):
            pass
        missing = self._missing()
        self._report(f"{missing} copies are missing; the page shows which nodes are behind.")
        self._mesh.ether(EtherHeal())
        self._report("Healed: the two sides hear each other again.")
        self._until_agreed("Every node has everything")
        for _ in self._ticks(_PAUSE_S):
            pass

    def _missing(self) -> int:
        seen = summarize(self._mesh)
        return seen.total * len(NAMES) - sum(seen.arrived.values())

    def _until_agreed(self, what: str) -> None:
        begun_s = time.monotonic()
        if self._wait(_AGREE_S, lambda: summarize(self._mesh).nodes_agree):
            self._report(f"{what} ({time.monotonic() - begun_s:.0f} s).")
        else:
            self._report(f"Not yet: after {_AGREE_S:.0f} s {self._missing()} copies are still missing.")

    def _wait(self, limit_s: float, done: Callable[[], bool]) -> bool:
        """Wait until *done*; False if that took longer than *limit_s*."""
        until_s = time.monotonic() + limit_s
        while not done():
            if time.monotonic() > until_s:
                return False
            self._tick()
        return True

    def _ticks(self, span_s: float) -> Iterator[None]:
        """Let *span_s* pass, or less if time is up."""
        until_s = time.monotonic() + span_s
        while time.monotonic() < until_s and not self._time_is_up(0):
            self._tick()
            yield

    def _tick(self) -> None:
        """Wait a moment; report when the page has its first figures."""
        self._mesh.check()
        if not self._shown and read_tables(self._mesh.tables):
            self._shown = True
            self._report(f"The first figures are on the page: {self._mesh.page}")
        time.sleep(_POLL_S)

    def _time_is_up(self, needed_s: float) -> bool:
        return self._deadline_s is not None and time.monotonic() + needed_s > self._deadline_s


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
