"""Where a secret may come from."""

import os
from pathlib import Path

import pytest

from tinyssb_node.errors import ExitCode, IdentityDamagedError, LocalError
from tinyssb_node.ids import Dialect
from tinyssb_node.store import limits
from tinyssb_node.store.sealed_seed import Passphrase, PassphraseUnusableError, seal
from tinyssb_node.store.secrets import (
    Identity,
    IdentityFileContent,
    create_identity,
    generate_identity,
    kept_plain,
    replace_identity,
    serialize_identity,
)
from tinyssb_node.store.unlock import open_identity

IDENTITY = Identity(seed=bytes(range(32)), dialect=Dialect.SPEC, note="roof")
PASSPHRASE = "correct horse"


def sealed(identity: Identity = IDENTITY) -> IdentityFileContent:
    box = seal(identity.seed, Passphrase.of(PASSPHRASE), ops=1, memory=limits.SEAL_MEMORY_MIN)
    return IdentityFileContent(dialect=identity.dialect, feed=identity.feed, secret=box, note=identity.note)


ELSEWHERE = IdentityFileContent(dialect=IDENTITY.dialect, feed=IDENTITY.feed, secret=None, note=IDENTITY.note)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    create_identity(tmp_path / "identity", IDENTITY)
    return tmp_path / "identity"


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    folder = tmp_path / "credentials"
    folder.mkdir()
    return folder


def private(path: Path, text: str) -> Path:
    path.write_text(text, "utf-8")
    path.chmod(0o600)
    return path


def never() -> str:
    raise AssertionError("nobody should be asked")


def test_a_plain_one_takes_nothing_else(path: Path) -> None:
    assert open_identity(path, {}, never) == IDENTITY


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_a_sealed_one_is_opened_by_a_file(path: Path, tmp_path: Path, end: str) -> None:
    replace_identity(path, sealed())
    file = private(tmp_path / "secret", PASSPHRASE + end)
    assert open_identity(path, {"TINYSSB_PASSPHRASE_FILE": str(file)}, never) == IDENTITY


def test_or_by_what_a_parent_process_left_open(path: Path) -> None:
    replace_identity(path, sealed())
    reading, writing = os.pipe()
    os.write(writing, PASSPHRASE.encode())
    os.close(writing)
    try:
        assert open_identity(path, {"TINYSSB_PASSPHRASE_FILE": f"/dev/fd/{reading}"}, never) == IDENTITY
    finally:
        os.close(reading)


def test_or_by_a_credential_which_comes_first(path: Path, credentials: Path, tmp_path: Path) -> None:
    replace_identity(path, sealed())
    (credentials / "tinyssb.passphrase").write_text(PASSPHRASE)
    environ = {"CREDENTIALS_DIRECTORY": str(credentials), "TINYSSB_PASSPHRASE_FILE": "/nowhere"}
    assert open_identity(path, environ, never) == IDENTITY


def test_or_by_somebody_who_types_it(path: Path, credentials: Path) -> None:
    replace_identity(path, sealed())
    assert open_identity(path, {"CREDENTIALS_DIRECTORY": str(credentials)}, lambda: PASSPHRASE) == IDENTITY
    with pytest.raises(LocalError, match="does not open") as caught:
        open_identity(path, {}, lambda: "x")
    assert caught.value.exit_code is ExitCode.PERMISSION
    with pytest.raises(PassphraseUnusableError):
        open_identity(path, {}, lambda: "")


def test_with_nobody_to_ask_it_says_what_to_do(path: Path) -> None:
    replace_identity(path, sealed())
    with pytest.raises(LocalError, match="TINYSSB_PASSPHRASE_FILE") as caught:
        open_identity(path, {})
    assert caught.value.exit_code is ExitCode.PERMISSION


@pytest.mark.parametrize("mode", [0o644, 0o604, 0o602, 0o660])
def test_a_passphrase_that_everybody_can_read_is_not_used(path: Path, tmp_path: Path, mode: int) -> None:
    replace_identity(path, sealed())
    file = private(tmp_path / "secret", PASSPHRASE)
    file.chmod(mode)
    with pytest.raises(LocalError, match="chmod") as caught:
        open_identity(path, {"TINYSSB_PASSPHRASE_FILE": str(file)})
    assert caught.value.exit_code is ExitCode.PERMISSION
    assert "horse" not in str(caught.value)


@pytest.mark.parametrize("raw", [b"", b"\n", b"x" * 5000, b"\xff horse"])
def test_what_is_no_passphrase_is_told(path: Path, tmp_path: Path, raw: bytes) -> None:
    replace_identity(path, sealed())
    file = private(tmp_path / "secret", "")
    file.write_bytes(raw)
    with pytest.raises(PassphraseUnusableError) as caught:
        open_identity(path, {"TINYSSB_PASSPHRASE_FILE": str(file)})
    assert "horse" not in str(caught.value)
    assert caught.value.__cause__ is None


def test_a_passphrase_file_that_cannot_be_read_is_told_with_the_variable(path: Path, tmp_path: Path) -> None:
    replace_identity(path, sealed())
    for file in (tmp_path / "nowhere", tmp_path):
        with pytest.raises(LocalError, match="TINYSSB_PASSPHRASE_FILE") as caught:
            open_identity(path, {"TINYSSB_PASSPHRASE_FILE": str(file)})
        assert caught.value.exit_code is ExitCode.MISSING
        assert f"{file}, which cannot be read: " in str(caught.value)


@pytest.mark.parametrize("handed", [kept_plain(IDENTITY), sealed()])
def test_the_secret_may_be_handed_in(path: Path, credentials: Path, handed: IdentityFileContent) -> None:
    replace_identity(path, ELSEWHERE)
    (credentials / "tinyssb.identity").write_bytes(serialize_identity(handed))
    (credentials / "tinyssb.passphrase").write_text(PASSPHRASE)
    assert open_identity(path, {"CREDENTIALS_DIRECTORY": str(credentials)}, never) == IDENTITY


@pytest.mark.parametrize("environ", [{}, {"CREDENTIALS_DIRECTORY": "/nowhere"}])
def test_or_it_is_told_that_it_was_not(path: Path, environ: dict[str, str]) -> None:
    replace_identity(path, ELSEWHERE)
    with pytest.raises(LocalError, match=r"tinyssb\.identity") as caught:
        open_identity(path, environ, never)
    assert caught.value.exit_code is ExitCode.MISSING


def test_what_is_handed_in_has_to_hold_the_secret(path: Path, credentials: Path) -> None:
    replace_identity(path, ELSEWHERE)
    (credentials / "tinyssb.identity").write_bytes(serialize_identity(ELSEWHERE))
    with pytest.raises(IdentityDamagedError, match="nor"):
        open_identity(path, {"CREDENTIALS_DIRECTORY": str(credentials)})


def test_another_secret_is_not_used(path: Path, credentials: Path) -> None:
    replace_identity(path, ELSEWHERE)
    other = generate_identity(Dialect.SPEC)
    (credentials / "tinyssb.identity").write_bytes(serialize_identity(kept_plain(other)))
    with pytest.raises(LocalError, match="is not that of the feed") as caught:
        open_identity(path, {"CREDENTIALS_DIRECTORY": str(credentials)})
    assert caught.value.exit_code is ExitCode.DATA


def test_a_seal_on_another_secret_is_not_used(path: Path) -> None:
    """Somebody may have put together a file of two."""
    other = generate_identity(Dialect.SPEC)
    path.write_bytes(
        serialize_identity(
            IdentityFileContent(dialect=Dialect.SPEC, feed=IDENTITY.feed, secret=sealed(other).secret)
        )
    )
    with pytest.raises(LocalError, match="is not that of the feed") as caught:
        open_identity(path, {}, lambda: PASSPHRASE)
    assert caught.value.exit_code is ExitCode.DATA
