"""Files with secrets: read if they are their owner's alone, and never shown."""

import os
from pathlib import Path

import pytest

from tinyssb_node.faces.errors import SecretExposedError, SecretUnusableError
from tinyssb_node.faces.secretfiles import read_secret, read_token


def write(file: Path, content: bytes, mode: int = 0o600) -> Path:
    file.write_bytes(content)
    file.chmod(mode)
    return file


def test_a_token_is_the_only_line_of_its_file(tmp_path: Path) -> None:
    assert read_token(write(tmp_path / "one", b"0123456789abcdef\n")) == "0123456789abcdef"
    assert read_token(tmp_path / "none") is None


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"short\n", "has 5 characters"),
        (b"", "has 0 characters"),
        (b"x" * 300, "characters; it takes 16 to 256"),
        ("äöü0123456789abcdef".encode(), "no plain text"),
        (b"0123456789 abcdef", "other characters"),
        (b"0123456789abcdef\nsecond", "other characters"),
    ],
)
def test_what_is_no_token_is_told_and_not_shown(tmp_path: Path, content: bytes, reason: str) -> None:
    with pytest.raises(SecretUnusableError, match=reason) as caught:
        read_token(write(tmp_path / "token", content))
    assert "0123456789" not in str(caught.value)


def test_one_that_others_can_reach_is_not_used(tmp_path: Path) -> None:
    for mode in (0o640, 0o604, 0o620, 0o666):
        with pytest.raises(SecretExposedError, match="chmod 600"):
            read_token(write(tmp_path / "token", b"0123456789abcdef", mode))


def test_what_is_no_file_is_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe", 0o600)
    for name in ("pipe", "."):
        with pytest.raises(SecretUnusableError, match=r"is no file|cannot be read"):
            read_secret(tmp_path / name, 100)
