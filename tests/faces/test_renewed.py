"""Values made of files that are renewed."""

from pathlib import Path

import pytest

from tinyssb_node.faces.errors import SecretUnusableError
from tinyssb_node.faces.renewed import RenewedFiles


def test_a_value_is_made_anew_once_a_file_changes_and_stays_while_files_cannot_be_used(
    tmp_path: Path,
) -> None:
    file, made = tmp_path / "a", []

    def load() -> str:
        text = file.read_text()
        if not text:
            raise SecretUnusableError(file, "is empty")
        made.append(text)
        return text

    with pytest.raises(FileNotFoundError):
        RenewedFiles((file,), load)
    file.write_text("one")
    files = RenewedFiles((None, file), load)
    assert [files.current(), files.current(), len(made)] == ["one", "one", 1]
    file.write_text("three")
    assert [files.current(), files.current(), len(made)] == ["three", "three", 2]
    for spoil in (lambda: file.write_text(""), file.unlink):
        spoil()
        assert files.current() == "three"
    file.write_text("seven")
    assert files.current() == "seven"
