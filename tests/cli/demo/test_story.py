"""The story told without its processes: time passes when it sleeps."""

from types import SimpleNamespace
from typing import cast

import pytest

from tinyssb_node.cli.demo import story as telling
from tinyssb_node.cli.demo.mesh import NAMES, DemoMesh
from tinyssb_node.cli.demo.story import DemoStory
from tinyssb_node.cli.demo.summary import DemoSummary, PageHeadline
from tinyssb_node.faces.ether_protocol import EtherCut, EtherHeal, EtherPlug, EtherUnplug


class FakeMesh:
    """A mesh whose nodes have everything that they can hear of, and a page that sees it only when asked again."""

    page = "http://127.0.0.1:1"

    def __init__(self) -> None:
        self.told: list[str] = []
        self.sides: tuple[tuple[str, ...], ...] = (NAMES,)
        self.off: set[str] = set()
        self.loose: set[str] = set()
        self.unplugged = 0
        self.cuts = 0
        self.power_cuts = 0
        self.published: dict[str, int] = dict.fromkeys(NAMES, 0)
        self.held: dict[str, dict[str, int]] = {name: {} for name in NAMES}
        self.page_knows = True
        self.on_the_page = 0

    def check(self) -> None:
        pass

    def show(self, text: str) -> None:
        self.told.append(text)

    def ether(self, command: EtherCut | EtherHeal | EtherPlug | EtherUnplug) -> None:
        match command:
            case EtherCut():
                self.sides = (command.left, command.right)
                self.cuts += 1
            case EtherHeal():
                self.sides = (NAMES,)
            case EtherUnplug():
                self.loose.add(command.name)
                self.unplugged += 1
            case EtherPlug():
                self.loose.discard(command.name)
        self.spread()

    def kill(self, name: str) -> None:
        self.off.add(name)
        self.power_cuts += 1

    def restart(self, name: str) -> None:
        self.off.discard(name)
        self.spread()

    def runs(self, name: str) -> bool:
        return name not in self.off

    def post_text(self, name: str, text: str) -> None:
        assert 0 < len(text.encode()) < 65_536
        assert self.runs(name)
        self.published[name] += 1
        self.held[name][name] = self.published[name]
        self.spread()

    def spread(self) -> None:
        for side in self.sides:
            up = [name for name in side if self.runs(name) and name not in self.loose]
            for feed in NAMES:
                newest = max((self.held[name].get(feed, 0) for name in up), default=0)
                for name in up if newest else ():
                    self.held[name][feed] = newest

    def missing(self) -> int:
        return sum(self.published.values()) * len(NAMES) - sum(
            sum(one.values()) for one in self.held.values()
        )

    def headline(self) -> PageHeadline | None:
        missing, self.on_the_page = self.on_the_page, self.missing()
        alerts = {"down": "lora of dan has been down for 60 s."} if self.loose else {}
        return PageHeadline(f"{missing} copies.", len(NAMES), missing, alerts) if self.page_knows else None

    def summary(self) -> DemoSummary:
        expected = {name: count for name, count in self.published.items() if count}
        tips: dict[str, dict[str, str | None]] = {name: {} for name in NAMES}
        held = {name: dict(one) for name, one in self.held.items()}
        return DemoSummary(published=self.published, held=held, tips=tips, tabled=held, expected=expected)


@pytest.fixture
def mesh() -> FakeMesh:
    return FakeMesh()


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, mesh: FakeMesh) -> list[float]:
    """A clock of the story alone: threads that earlier tests left behind sleep by the real one."""
    now = [0.0]
    passing = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds)
    )
    monkeypatch.setattr(telling, "time", passing)
    monkeypatch.setattr(telling, "summarize", lambda mesh: mesh.summary())
    monkeypatch.setattr(telling, "read_headline", lambda _page: mesh.headline())
    return now


def test_acts_follow_each_other_until_time_is_up_and_leave_the_mesh_whole(
    clock: list[float], mesh: FakeMesh
) -> None:
    lines: list[str] = []
    story = DemoStory(cast("DemoMesh", mesh), lines.append, deadline_s=300.0)
    story.run()
    assert 300 - 90 < clock[0] <= 300
    assert mesh.cuts >= 2
    assert mesh.power_cuts >= 2
    assert mesh.unplugged >= 1
    assert story.end().nodes_agree
    assert mesh.told == lines, "page and terminal have the same words"


@pytest.mark.parametrize("seconds", [25.0, 90.0])
def test_the_first_act_is_told_in_little_time_too(clock: list[float], mesh: FakeMesh, seconds: float) -> None:
    lines: list[str] = []
    DemoStory(cast("DemoMesh", mesh), lines.append, deadline_s=seconds).run()
    assert clock[0] <= seconds
    assert mesh.cuts >= 1
    assert "The two sides cannot reach each other: 7 copies." in lines
    assert any(line.startswith("After 0 s 0 copies.") for line in lines[-2:])
    assert bool(mesh.power_cuts) == (seconds >= 90)


def test_figures_are_said_only_while_they_hold(
    clock: list[float], mesh: FakeMesh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing changes between a line with figures and the next line."""
    at_line: list[int] = []
    story = DemoStory(cast("DemoMesh", mesh), lambda _line: at_line.append(mesh.missing()), deadline_s=300.0)
    for name in ("ether", "kill", "restart", "post_text"):
        known = getattr(mesh, name)

        def checked(*arguments: object, do: object = known) -> None:
            assert "copies" not in mesh.told[-1], mesh.told[-1]
            do(*arguments)  # type: ignore[operator] # a method of the mesh

        monkeypatch.setattr(mesh, name, checked)
    story.run()
    for line, missing in zip(mesh.told, at_line, strict=True):
        assert "copies" not in line or f" {missing} copies." in line


def test_enter_goes_on_at_once(clock: list[float], mesh: FakeMesh) -> None:
    def pressed() -> bool:
        clock[0] += 0.5
        return True

    DemoStory(cast("DemoMesh", mesh), lambda _line: None, 200.0, skipped=pressed).run()
    assert mesh.cuts > 10


def test_a_page_that_does_not_agree_is_waited_for_and_told_of(clock: list[float], mesh: FakeMesh) -> None:
    mesh.page_knows = False
    lines: list[str] = []
    DemoStory(cast("DemoMesh", mesh), lines.append, deadline_s=30.0).run()
    assert any(line.startswith("Not yet") for line in lines)
    assert not any("copies" in line for line in lines)
