"""Answers that are kept for pages that lost theirs."""

from pathlib import Path

import pytest

from tests.web.asking import post
from tests.web.fake import FakeNode, serving
from tinyssb_node.web import limits
from tinyssb_node.web.answers import PublishedAnswers, parse_answers

VECTOR = Path("tests/vectors/web/answers-1.json")
SAYING = {"conversation": "public", "text": "Hi", "once": "once-0001"}


def test_a_page_that_was_started_again_publishes_nothing_twice(tmp_path: Path) -> None:
    node = FakeNode()
    answers = []
    for _ in range(2):
        with serving(node, folder=tmp_path) as address:
            answers.append(post(address, "/api/say", SAYING).json)
    assert len(node.said) == 1
    assert answers[0] == answers[1]
    assert (tmp_path / "web-answers.json").stat().st_mode & 0o777 == 0o600


def test_the_oldest_is_forgotten_beyond_the_bound(tmp_path: Path) -> None:
    file = tmp_path / "web-answers.json"
    answers = PublishedAnswers(file)
    for number in range(limits.ANSWERS_MAX + 1):
        answers.note(f"once-{number:04}", {"id": number})
    again = PublishedAnswers(file)
    assert again.find("once-0000") is None
    assert again.find("once-0001") == {"id": 1}
    assert again.find(f"once-{limits.ANSWERS_MAX:04}") == {"id": limits.ANSWERS_MAX}


def test_version_1_is_read() -> None:
    assert parse_answers(VECTOR.read_text()) == {"11-22-33-44": {"id": "5f" * 20, "seq": 7}}


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"version": 2, "answers": []}', '{"version": 1, "answers": [1]}']
)
def test_another_file_is_named_in_the_log_and_replaced(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str
) -> None:
    file = tmp_path / "web-answers.json"
    file.write_text(text)
    answers = PublishedAnswers(file)
    assert f"{file} cannot be read" in caplog.text
    answers.note("once-0001", {})
    assert parse_answers(file.read_text()) == {"once-0001": {}}


def test_a_full_disk_keeps_nobody_from_publishing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    answers = PublishedAnswers(tmp_path / "gone" / "web-answers.json")
    answers.note("once-0001", {"seq": 1})
    assert answers.find("once-0001") == {"seq": 1}
    assert "cannot be written" in caplog.text
    assert not any(tmp_path.iterdir())
