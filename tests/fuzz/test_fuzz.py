"""Every target over what is kept, and that the runner finds what is broken and says how to see it again."""

import random
from pathlib import Path

import pytest

from tests.fuzz import __main__ as fuzz
from tests.fuzz.seeds import CORPUS, keep, kept
from tests.fuzz.target import Target, load, names
from tests.fuzz.targets.node import Story

CORPUS_SIZE_MAX = 300_000


@pytest.mark.parametrize("name", names())
def test_nothing_that_is_kept_breaks_anything(name: str) -> None:
    target = load(name)
    for data in [b"", *target.seeds(), *kept(name)]:
        target.run(data)


def test_every_target_is_described_and_listed() -> None:
    page = (Path(__file__).parents[2] / "docs/reference/fuzzing.md").read_text("utf-8")
    for name in names():
        assert f"`{name}`" in page
        assert load(name).about.endswith(".")


def test_the_corpus_is_small_and_of_targets_that_there_are() -> None:
    files = sorted(CORPUS.glob("*"))
    assert {file.stem for file in files} <= {*names()}
    assert sum(file.stat().st_size for file in files) < CORPUS_SIZE_MAX


def test_the_shortest_inputs_are_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("tests.fuzz.seeds.CORPUS", tmp_path)
    monkeypatch.setattr("tests.fuzz.seeds.CORPUS_MAX", 10)
    assert keep("any", [b"", b"long" * 4, b"bb", b"a", b"a"]) == 2
    assert kept("any") == [b"a", b"bb"]


def test_a_story_that_breaks_a_rule_is_found() -> None:
    story = Story(b"\x00\x00")
    story.run()
    feed = next(record for record in story.bench.store.feeds() if record.seq)
    entry = story.bench.store.entry(feed.feed, 1)
    assert entry is not None
    story.bench.store.append_entry(
        feed.feed, 2, random.Random(1).randbytes(120), entry.id, entry.origin, None
    )
    with pytest.raises((AssertionError, StopIteration)):
        story.check_store()


def test_a_crasher_is_read_again(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(data: bytes) -> None:
        assert data != b"crash"

    monkeypatch.setattr(fuzz, "load", lambda name: Target(name, "Breaks.", broken, list))
    crasher = tmp_path / "crasher"
    crasher.write_bytes(b"crash")
    with pytest.raises(AssertionError):
        fuzz.main(["--target", "bipf", "--replay", str(crasher)])
    assert fuzz.main(["--target", "bipf", "--replay", "00"]) == 0
    assert capsys.readouterr().out == "bipf: nothing breaks\n"
