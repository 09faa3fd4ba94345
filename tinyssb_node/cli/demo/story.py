"""The story of the demonstration, in the same plain words in the terminal and on the page.

Whatever it says of figures, it says only once the nodes and the page show them, and changes nothing until it has said
that this is over. So the two never disagree.
"""

import itertools
import time
from collections.abc import Callable, Sequence
from typing import Final

from tinyssb_node.cli.demo.mesh import NAMES, DemoMesh
from tinyssb_node.cli.demo.summary import DemoSummary, PageHeadline, read_headline, summarize
from tinyssb_node.faces.ether_protocol import EtherCut, EtherHeal, EtherPlug, EtherUnplug

Report = Callable[[str], None]
"""Prints one line."""

_SHOWN_S: Final = 20.0
"""How long a state is left as it is, so that people can look at the page."""
_SHOWN_LEAST_S: Final = 4.0
"""The same where little time is left."""
_PAUSE_S: Final = 8.0
"""Quiet between two acts."""
_MEND_S: Final = 15.0
"""Time kept for nodes to catch up at the end of an act."""
_ACT_S: Final = 20.0
"""An act that would have less time than this is not begun."""
_ALERT_S: Final = 90.0
"""An act with an alert is not begun with less time: it takes half a minute to open, and as long to be over."""
_AGREE_S: Final = 90.0
"""How long nodes and page may take to agree on a channel where a full packet takes 0.2 s, the sink's start included."""
_POLL_S: Final = 0.25
_DOWN: Final = "down"
"""The rule of alerts that a face is down (docs/reference/analytics.md)."""

_SPLITS: Final = (("ana", "ben"), ("dan", "eve"), ("ana",))
"""The nodes cut off from the rest, act by act."""
_WITHOUT_POWER: Final = ("eve", "cyd", "ana")
"""The nodes that lose their power, act by act."""
_LOOSE: Final = ("dan", "ben", "eve")
"""The nodes whose radio comes loose, act by act."""
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
    """One run of the story, until *deadline_s* (on the monotonic clock; None: no end).

    *skipped* returns True once for each time that the user wants to go on at once.
    """

    def __init__(
        self,
        mesh: DemoMesh,
        report: Report,
        deadline_s: float | None,
        skipped: Callable[[], bool] = lambda: False,
    ) -> None:
        self._mesh = mesh
        self._report = report
        self._deadline_s = deadline_s
        self._skipped = skipped
        self._posts = itertools.cycle(_POSTS)

    def run(self) -> None:
        """Tell all acts again and again until time is up. The first act is told in any case, shorter if need be."""
        self._say("Five nodes in a valley, ana to eve: each writes a message, and all pass them on.")
        for name in NAMES:
            self._mesh.post_text(name, f"{name} is here.")
        self._until_whole()
        acts = itertools.cycle(zip(_SPLITS, _WITHOUT_POWER, _LOOSE, strict=True))
        for number, (apart, dark, loose) in enumerate(acts):
            if number and self._left_s() < _ACT_S:
                return
            self._split(apart)
            if self._left_s() < _ACT_S:
                return
            self._power_cut(dark)
            if self._left_s() < _ALERT_S:
                if not number:
                    self._say("There is no time left to show a radio that comes loose, and the alert.")
                return
            self._loose_radio(loose)

    def end(self) -> DemoSummary:
        """Undo whatever goes on, let nodes and tables settle, and summarize."""
        self._say("The demonstration ends: all nodes catch up.")
        self._mesh.ether(EtherHeal())
        for name in _LOOSE:
            self._mesh.ether(EtherPlug(name=name))
        for name in NAMES:
            if not self._mesh.runs(name):
                self._mesh.restart(name)
        self._wait(lambda: summarize(self._mesh).nodes_agree)
        self._wait(lambda: summarize(self._mesh).tables_agree)
        return summarize(self._mesh)

    def _split(self, apart: Sequence[str]) -> None:
        """Cut the mesh in two, post on both sides, show what is missing, and mend it."""
        rest = [name for name in NAMES if name not in apart]
        are = "is" if len(apart) == 1 else "are"
        self._say(f"{_list(apart)} {are} cut off from {_list(rest)}. Both sides go on writing: watch.")
        self._mesh.ether(EtherCut(left=tuple(apart), right=tuple(rest)))
        for name in (apart[0], rest[0], rest[-1]):
            self._mesh.post_text(name, next(self._posts))
        if sentence := self._until(len(rest) + 2 * len(apart)):
            self._say(f"The two sides cannot reach each other: {sentence}")
        self._show(_SHOWN_S)
        self._say("The two sides hear each other again: watch them catch up.")
        self._mesh.ether(EtherHeal())
        self._until_whole()
        self._show(_PAUSE_S)

    def _power_cut(self, name: str) -> None:
        """Kill a node, post at two others, show what it misses, and start it again."""
        others = [other for other in NAMES if other != name]
        self._say(f"{name} loses its power in the middle of its work (kill -9). The others go on writing.")
        self._mesh.kill(name)
        for other in (others[0], others[-1]):
            self._mesh.post_text(other, next(self._posts))
        if sentence := self._until(2):
            self._say(f"{name} is off: {sentence}")
        self._show(_SHOWN_S)
        self._say(f"{name} has power again, and goes on from what is on its disk.")
        self._mesh.restart(name)
        self._until_whole(" Nothing was lost.")
        self._show(_PAUSE_S)

    def _loose_radio(self, name: str) -> None:
        """Unplug a node's radio until the page has an alert for it, and plug it in again."""
        self._say(
            f"The cable of {name}'s radio comes loose. The page will raise an alert after half a minute."
        )
        self._mesh.ether(EtherUnplug(name=name))
        for author in (name, next(other for other in NAMES if other != name)):
            self._mesh.post_text(author, next(self._posts))
        if sentence := self._until(len(NAMES), alert=True):
            self._say(f"The page raises an alert for {name}: {sentence}")
        self._show(_PAUSE_S)
        self._say(f"Somebody plugs {name}'s radio in again; the node tries every few seconds.")
        self._mesh.ether(EtherPlug(name=name))
        self._until_whole(" The alert is over.")
        self._show(_PAUSE_S)

    def _say(self, line: str) -> None:
        self._mesh.show(line)
        self._report(line)

    def _until_whole(self, more: str = "") -> None:
        begun_s = time.monotonic()
        if sentence := self._until(0):
            self._say(f"After {time.monotonic() - begun_s:.0f} s {sentence}{more}")

    def _until(self, missing: int, *, alert: bool = False) -> str:
        """Wait until as many copies are missing, by the nodes and by the page, and the page has an *alert* that a radio
        is down, or none. Return the page's words for it."""
        headline: PageHeadline | None = None

        def agreed() -> bool:
            nonlocal headline
            headline = self._agreed(missing, alert=alert)
            return headline is not None

        if self._wait(agreed) and headline is not None:
            return f"{headline.sentence[:1].lower()}{headline.sentence[1:]}"
        self._say(f"Not yet: nodes and page do not agree after {_AGREE_S:.0f} s.")
        return ""

    def _agreed(self, missing: int, *, alert: bool) -> PageHeadline | None:
        """Return the page's headline if nodes and page agree that *missing* copies are missing, and whether a radio is
        down."""
        headline = read_headline(self._mesh.page)
        if headline is None or headline.missing != missing or headline.nodes != len(NAMES):
            return None
        if alert != (_DOWN in headline.alerts):
            return None
        return headline if missing or summarize(self._mesh).nodes_agree else None

    def _wait(self, done: Callable[[], bool]) -> bool:
        """Wait until *done*; False if that took too long."""
        until_s = time.monotonic() + _AGREE_S
        while not done():
            if time.monotonic() > until_s:
                return False
            self._tick()
        return True

    def _show(self, span_s: float) -> None:
        """Let time pass for people to look; less if the user goes on, or if little time is left."""
        until_s = time.monotonic() + min(span_s, max(_SHOWN_LEAST_S, self._left_s() - _MEND_S))
        self._skipped()
        while time.monotonic() < until_s and not self._skipped():
            self._tick()

    def _tick(self) -> None:
        self._mesh.check()
        time.sleep(_POLL_S)

    def _left_s(self) -> float:
        return float("inf") if self._deadline_s is None else self._deadline_s - time.monotonic()


def _list(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
