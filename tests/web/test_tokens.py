"""Where the token is kept."""

from pathlib import Path

import pytest

from tinyssb_node.errors import ExitCode
from tinyssb_node.web.errors import TokenError
from tinyssb_node.web.page_server.addresses import is_local
from tinyssb_node.web.tokens import TOKEN_SIZE, make_token, read_token


def write(path: Path, content: bytes, mode: int = 0o600) -> Path:
    path.write_bytes(content)
    path.chmod(mode)
    return path


def test_a_token_is_made_once_and_is_its_owners_alone(tmp_path: Path) -> None:
    file = tmp_path / "web.token"
    token = make_token(file)
    assert len(token) == 2 * TOKEN_SIZE
    assert file.stat().st_mode & 0o777 == 0o600
    assert make_token(file) == token == read_token(file)
    assert make_token(tmp_path / "other") != token


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"short\n", "has 5 characters"),
        (b"", "has 0 characters"),
        (b"x" * 300, "characters; it takes 16 to 256"),
        ("äöü0123456789abcdef".encode(), "no plain text"),
        (b"0123456789 abcdef", "other characters"),
        (b"0123456789abcdef\nsecond", "other characters"),
        (b"0123456789\x07abcdef", "other characters"),
    ],
)
def test_one_that_cannot_be_used_is_told_without_showing_it(
    tmp_path: Path, content: bytes, reason: str
) -> None:
    with pytest.raises(TokenError, match=reason) as caught:
        read_token(write(tmp_path / "token", content))
    assert "0123456789" not in caught.value.message + caught.value.hint
    assert caught.value.exit_code == ExitCode.CONFIG


def test_one_that_others_may_read_is_refused(tmp_path: Path) -> None:
    for mode in (0o640, 0o604, 0o666):
        with pytest.raises(TokenError, match="Other users of this machine may read") as caught:
            read_token(write(tmp_path / "token", b"0123456789abcdef\n", mode))
        assert caught.value.exit_code == ExitCode.PERMISSION


def test_one_of_the_users_own(tmp_path: Path) -> None:
    assert read_token(write(tmp_path / "token", b"0123456789abcde~\n")) == "0123456789abcde~"


def test_what_cannot_be_read_or_written_is_said(tmp_path: Path) -> None:
    with pytest.raises(TokenError, match="cannot be read"):
        read_token(tmp_path)
    with pytest.raises(TokenError, match=r"cannot be written to .*: No such file") as caught:
        make_token(tmp_path / "no" / "folder")
    assert caught.value.exit_code == ExitCode.PERMISSION


def test_names_are_not_asked_for() -> None:
    assert not is_local("localhost.evil.example")
