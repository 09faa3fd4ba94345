"""`tinyssb identity` as people and scripts see it."""

import base64
import errno
import json
import re
from pathlib import Path

import pytest

from tests.daemon.processes import daemon, make_home, tinyssb
from tinyssb_node.errors import ExitCode
from tinyssb_node.store import limits, sealed_seed, secrets
from tinyssb_node.store.home import Home
from tinyssb_node.store.secrets import read_identity
from tinyssb_node.store.unlock import open_identity
from tinyssb_node.store.words import parse_words, serialize_words

PASSPHRASE = "correct horse"


@pytest.fixture
def home(tmp_path: Path) -> Home:
    make_home(tmp_path / "node")
    return Home(tmp_path / "node")


@pytest.fixture
def passphrase_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    file = tmp_path / "passphrase"
    file.touch(0o600)
    file.write_text(PASSPHRASE + "\n")
    monkeypatch.setenv("TINYSSB_PASSPHRASE_FILE", str(file))
    return file


@pytest.fixture
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sealing cheap, so that tests need not fill memory."""

    def seal(seed: bytes, passphrase: sealed_seed.Passphrase) -> sealed_seed.SealedSeed:
        return sealed_seed.seal(seed, passphrase, ops=1, memory=limits.SEAL_MEMORY_MIN)

    monkeypatch.setattr(secrets, "seal", seal)


def words_in(text: str) -> str:
    """The words that a backup shows, in order."""
    found = dict(re.findall(r"(\d+) ([a-z]+)", text.split("\n\n")[1]))
    return " ".join(found[str(number)] for number in range(1, 25))


def forms_of(seed: bytes) -> list[bytes]:
    """How a *seed* may look where it was let out."""
    return [
        seed,
        seed.hex().encode(),
        seed.hex().upper().encode(),
        base64.b64encode(seed)[:-1],
        base64.urlsafe_b64encode(seed)[:-1],
        repr(seed).encode()[2:-1],
        " ".join(serialize_words(seed)[:3]).encode(),
    ]


def test_it_tells_how_the_key_is_kept_and_no_secret(home: Home) -> None:
    seed = open_identity(home.identity, {}).seed
    told = tinyssb(home.root, "identity")
    row = json.loads(tinyssb(home.root, "identity", "--json").stdout)
    assert told.returncode == 0
    assert b"anyone who can read the file can write this feed" in told.stdout
    assert (row["kept"], row["folder_mode"]) == ("plain", "0700")
    assert seed.hex() not in told.stdout.decode() + json.dumps(row)


def test_a_folder_that_others_can_look_into_is_told(home: Home) -> None:
    home.root.chmod(0o755)
    told = tinyssb(home.root, "identity").stdout.decode()
    assert f"mode 0755). To stop that: chmod 700 {home.root}" in told
    assert b"where the secret key is" in tinyssb(home.root, "doctor").stdout


def test_a_backup_is_24_words_and_a_picture_of_them(home: Home) -> None:
    seed = open_identity(home.identity, {}).seed
    told = tinyssb(home.root, "identity", "backup").stdout.decode()
    assert parse_words(words_in(told)) == seed
    assert "█" in told
    assert "tinyssb identity restore --dialect spec" in told
    assert "█" not in tinyssb(home.root, "identity", "backup", "--no-qr").stdout.decode()


def test_what_was_backed_up_is_restored_elsewhere(home: Home, tmp_path: Path) -> None:
    words = words_in(tinyssb(home.root, "identity", "backup", "--no-qr").stdout.decode())
    other = Home(tmp_path / "other")
    ended = tinyssb(other.root, "identity", "restore", "--name", "ana", stdin=words.upper().encode())
    assert ended.returncode == 0, ended.stderr
    assert read_identity(other.identity) == read_identity(home.identity)
    again = tinyssb(other.root, "identity", "restore", stdin=words.encode())
    assert again.returncode == ExitCode.CREATE


def test_settings_that_are_there_are_kept(home: Home) -> None:
    words = words_in(tinyssb(home.root, "identity", "backup", "--no-qr").stdout.decode())
    settings = home.config.read_text()
    home.identity.unlink()
    assert tinyssb(home.root, "identity", "restore", "--name", "x", stdin=words.encode()).returncode == 0
    assert home.config.read_text() == settings


def test_wrong_words_make_nothing(tmp_path: Path) -> None:
    ended = tinyssb(tmp_path / "new", "identity", "restore", stdin=b"zoo zoo zebra zzzz")
    assert ended.returncode == ExitCode.DATA
    assert b"Word 4 is not in the list" in ended.stderr
    assert not (tmp_path / "new").exists()


@pytest.mark.usefixtures("cheap")
def test_sealed_and_unsealed(home: Home, passphrase_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    seed, feed = open_identity(home.identity, {}).seed, read_identity(home.identity).feed
    assert tinyssb(home.root, "identity", "seal").returncode == 0
    assert json.loads(tinyssb(home.root, "identity", "--json").stdout)["kept"] == "sealed"
    assert seed.hex() not in home.identity.read_text()
    assert tinyssb(home.root, "id").stdout.decode().strip() == feed.hex(), "takes no passphrase"
    told = tinyssb(home.root, "identity", "backup", "--no-qr").stdout.decode()
    assert parse_words(words_in(told)) == seed
    monkeypatch.delenv("TINYSSB_PASSPHRASE_FILE")
    refused = tinyssb(home.root, "identity", "unseal")
    assert refused.returncode == ExitCode.PERMISSION
    assert b"is sealed with a passphrase" in refused.stderr
    monkeypatch.setenv("TINYSSB_PASSPHRASE_FILE", str(passphrase_file))
    assert tinyssb(home.root, "identity", "unseal").returncode == 0
    assert open_identity(home.identity, {}).seed == seed


@pytest.mark.usefixtures("cheap")
def test_without_a_passphrase_nothing_is_sealed_and_nothing_else_is_claimed(
    home: Home, passphrase_file: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TINYSSB_PASSPHRASE_FILE")
    raw = home.identity.read_bytes()
    ended = tinyssb(home.root, "identity", "seal")
    assert ended.returncode == ExitCode.USAGE
    assert b"left as it was. The key is not encrypted: anyone who can read the file can write" in ended.stderr
    assert b"sealed with" not in ended.stderr
    assert home.identity.read_bytes() == raw
    # One that is sealed has to be opened first, and says so.
    monkeypatch.setenv("TINYSSB_PASSPHRASE_FILE", str(passphrase_file))
    assert tinyssb(home.root, "identity", "seal").returncode == 0
    monkeypatch.delenv("TINYSSB_PASSPHRASE_FILE")
    ended = tinyssb(home.root, "identity", "seal")
    assert ended.returncode == ExitCode.PERMISSION
    assert b"is sealed with a passphrase, and none was given" in ended.stderr


@pytest.mark.usefixtures("cheap", "passphrase_file")
def test_a_passphrase_file_that_is_not_there_is_what_is_told(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    assert tinyssb(home.root, "identity", "seal").returncode == 0
    monkeypatch.setenv("TINYSSB_PASSPHRASE_FILE", str(tmp_path / "mistyped"))
    for words in (("identity", "seal"), ("identity", "unseal"), ("identity", "backup"), ("run",)):
        ended = tinyssb(home.root, *words)
        assert ended.returncode == ExitCode.MISSING, words
        assert b"mistyped, which cannot be read: No such file" in ended.stderr
        assert b"--home" not in ended.stderr


def test_a_credential_that_the_system_refuses_leaves_the_key_as_it_is(
    home: Home, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "tinyssb.passphrase").mkdir()
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    ended = tinyssb(home.root, "identity", "seal")
    assert ended.returncode == ExitCode.PERMISSION
    assert f"{home.identity} was left as it was." in ended.stderr.decode()


def test_detached(home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    raw, identity = home.identity.read_bytes(), open_identity(home.identity, {})
    refused = tinyssb(home.root, "identity", "detach")
    assert refused.returncode == ExitCode.USAGE
    assert home.identity.read_bytes() == raw
    assert tinyssb(home.root, "identity", "detach", "--yes").returncode == 0
    assert identity.seed.hex() not in home.identity.read_text()
    assert json.loads(tinyssb(home.root, "identity", "--json").stdout)["kept"] == "credential"
    assert tinyssb(home.root, "run").returncode == ExitCode.MISSING
    (tmp_path / "tinyssb.identity").write_bytes(raw)
    monkeypatch.setenv("CREDENTIALS_DIRECTORY", str(tmp_path))
    assert open_identity(home.identity, {"CREDENTIALS_DIRECTORY": str(tmp_path)}) == identity


REFUSALS = [
    (PermissionError(errno.EACCES, "Permission denied"), ExitCode.PERMISSION, "Check who owns"),
    (OSError(errno.EROFS, "Read-only file system"), ExitCode.STORAGE, "nothing can be written"),
    (OSError(errno.ENOSPC, "No space left on device"), ExitCode.STORAGE, "Make room"),
]


@pytest.mark.usefixtures("cheap", "passphrase_file")
@pytest.mark.parametrize("words", [("seal",), ("unseal",), ("detach", "--yes"), ("new", "beach")])
@pytest.mark.parametrize(("error", "code", "advice"), REFUSALS)
def test_where_nothing_can_be_written_the_key_stays_as_it_is_and_the_system_is_quoted(
    home: Home,
    words: tuple[str, ...],
    error: OSError,
    code: ExitCode,
    advice: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    raw = home.identity.read_bytes()

    def refuse(prefix: str, dir: Path) -> tuple[int, str]:  # noqa: A002 - as mkstemp calls it
        raise OSError(error.errno, error.strerror, f"{dir}/{prefix}x")

    monkeypatch.setattr("tinyssb_node.store.secrets.tempfile.mkstemp", refuse)
    ended = tinyssb(home.root, "identity", *words)
    assert ended.returncode == code
    told = ended.stderr.decode()
    assert f"cannot be used: {error.strerror}." in told
    assert advice in told
    assert ".identity-" not in told
    assert home.identity.read_bytes() == raw
    assert (f"{home.identity} was left as it was." in told) is (words[0] != "new")


@pytest.mark.usefixtures("cheap")
def test_a_daemon_opens_a_sealed_key_and_tells_nobody(home: Home, passphrase_file: Path) -> None:
    hidden = [*forms_of(open_identity(home.identity, {}).seed), PASSPHRASE.encode()]
    home.config.write_text(home.config.read_text() + '[log]\nlevel = "debug"\n')
    assert tinyssb(home.root, "identity", "seal").returncode == 0
    with daemon(home.root) as running:
        arguments = Path(f"/proc/{running.process.pid}/cmdline").read_bytes()
        environ = Path(f"/proc/{running.process.pid}/environ").read_bytes()
        with running.client() as node:
            node.publish(b"said")
            status = json.dumps(node.status().fields()).encode()
        said = [arguments, environ, status]
        for words in (
            ["publish", "x" * 70_000],
            ["show", "me", "99"],
            ["run"],
            ["init"],
            ["doctor"],
            ["status"],
        ):
            ended = tinyssb(home.root, *words)
            said += [ended.stdout, ended.stderr]
        code, logged = running.stop()
    assert code == 0
    assert "ready" in logged
    passphrase_file.write_text("wrong")
    refused = tinyssb(home.root, "run")
    assert refused.returncode == ExitCode.PERMISSION
    said += [logged.encode(), refused.stdout, refused.stderr]
    said += [path.read_bytes() for path in home.root.rglob("*") if path.is_file()]
    assert [form for form in hidden if any(form in text for text in said)] == []
