"""The story told without its processes: time passes when it sleeps."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest

from tinyssb_node.cli.demo import story as telling
from tinyssb_node.cli.demo.mesh import NAMES, DemoMesh
from tinyssb_node.cli.demo.story import DemoStory
from tinyssb_node.cli.demo.summary import DemoSummary
from tinyssb_node.faces.ether_protocol import EtherCut, EtherHeal


class FakeMesh:
    """Counts what it is told; its nodes hold everything unless it is cut."""

    page = "http://127.0.0.1:1"
    tables = Path("/nowhere")

    def __init__(self) -> None:
        self.said: list[EtherCut | EtherHeal] = []
        self.published: dict[str, int] = dict.fromkeys(NAMES, 0)
        self.is_cut = False

    def check(self) -> None:
        pass

    def ether(self, command: EtherCut | EtherHeal) -> None:
        self.said.append(command)
        self.is_cut = isinstance(command, EtherCut)

    def post_text(self, name: str, text: str) -> None:
        assert 0 < len(text.encode()) < 65_536
        self.published[name] += 1

    def summary(self) -> DemoSummary:
        whole = {name: count for name, count in self.published.items() if count}
        held = {name: {name: whole.get(name, 0)} if self.is_cut else whole for name in map(str, NAMES)}
        tips: dict[str, dict[str, str | None]] = {name: {} for name in NAMES}
        return DemoSummary(published=self.published, held=held, tips=tips, tabled=held, expected=whole)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """A clock of the story alone: threads that earlier tests left behind sleep by the real one."""
    now = [0.0]
    passing = SimpleNamespace(
        monotonic=lambda: now[0], sleep=lambda seconds: now.__setitem__(0, now[0] + seconds)
    )
    monkeypatch.setattr(telling, "time", passing)
    monkeypatch.setattr(telling, "summarize", lambda mesh: mesh.summary())
    return now


def test_rounds_go_on_until_time_is_up_and_leave_the_mesh_whole(clock: list[float]) -> None:
    mesh = FakeMesh()
    lines: list[str] = []
    story = DemoStory(cast("DemoMesh", mesh), lines.append, deadline_s=90.0)
    story.run()
    assert clock[0] <= 90.0
    assert [type(command) for command in mesh.said] == [EtherCut, EtherHeal] * (len(mesh.said) // 2)
    assert len(mesh.said) >= 4
    for command in mesh.said[::2]:
        assert isinstance(command, EtherCut)
        assert sorted(command.left + command.right) == sorted(NAMES)
    assert any("copies are missing" in line for line in lines)
    summary = story.end()
    assert summary.nodes_agree
    assert mesh.said[-1] == EtherHeal()


def test_a_mesh_that_does_not_agree_is_waited_for_and_told_of(clock: list[float]) -> None:
    mesh = FakeMesh()
    lines: list[str] = []
    mesh.is_cut = True
    story = DemoStory(cast("DemoMesh", mesh), lines.append, deadline_s=30.0)
    story.run()
    assert any(line.startswith("Not yet") for line in lines)


def test_the_first_figures_are_told_once(clock: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    mesh = FakeMesh()
    lines: list[str] = []
    monkeypatch.setattr(telling, "read_tables", lambda _path: {"ana": {}} if clock[0] > 20 else {})
    DemoStory(cast("DemoMesh", mesh), lines.append, deadline_s=60.0).run()
    assert sum("first figures" in line for line in lines) == 1
