"""The operator's line: what the file says now, whatever becomes of the file."""

from pathlib import Path

from spark_sink.page.caption import Caption


def test_without_a_file_there_is_no_text(tmp_path: Path) -> None:
    assert Caption(None).text() == ""
    assert Caption(tmp_path / "missing").text() == ""


def test_the_text_follows_the_file(tmp_path: Path) -> None:
    path = tmp_path / "caption.txt"
    caption = Caption(path)
    path.write_text("ana is cut off\n", "utf-8")
    assert caption.text() == "ana is cut off"
    fresh = tmp_path / "fresh"
    fresh.write_text("ana is back: grüezi", "utf-8")
    fresh.replace(path)
    assert caption.text() == "ana is back: grüezi"
    path.unlink()
    assert caption.text() == ""


def test_a_file_of_any_size_and_content_is_a_short_text(tmp_path: Path) -> None:
    path = tmp_path / "caption.txt"
    path.write_bytes(b"\xff" * 5_000)
    assert len(Caption(path).text()) == 1_000
