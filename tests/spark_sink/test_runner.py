"""What the job says while it waits."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from spark_sink import limits
from spark_sink.runner import _Progress
from spark_sink.settings import Settings


def progress(tmp_path: Path, said: list[str], *, workers: bool, last: Any = None) -> _Progress:
    query: Any = SimpleNamespace(lastProgress=last)
    settings = Settings(logs=str(tmp_path), database=str(tmp_path / "db.sqlite"), checkpoint=str(tmp_path))
    return _Progress(query, settings, said.append, lambda: workers)


def test_a_cluster_without_workers_is_told_of_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    patient = progress(tmp_path, said, workers=False)
    patient.look()
    assert said == []
    monkeypatch.setattr(limits, "ALONE_S", -1.0)
    waiting = progress(tmp_path, said, workers=False)
    waiting.look()
    waiting.look()
    assert len(said) == 1
    assert "no worker" in said[0]


def test_a_cluster_with_workers_is_only_slow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []
    monkeypatch.setattr(limits, "ALONE_S", -1.0)
    progress(tmp_path, said, workers=True).look()
    assert said == []
