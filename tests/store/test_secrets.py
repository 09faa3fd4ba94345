import errno
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node import limits
from tinyssb_node.errors import ExitCode, IdentityDamagedError, IdentityExistsError, LocalError
from tinyssb_node.ids import Dialect
from tinyssb_node.store import secrets
from tinyssb_node.store.sealed_seed import Passphrase, SealedSeed, unseal
from tinyssb_node.store.secrets import (
    Identity,
    IdentityFileContent,
    create_identity,
    folder_reach,
    generate_identity,
    kept_plain,
    kept_sealed,
    parse_identity,
    read_identity,
    replace_identity,
    serialize_identity,
)

SEED = bytes(range(32))
WHERE = Path("identity")
VECTORS = json.loads((Path(__file__).parents[1] / "vectors" / "identity" / "files.json").read_text())
FEED = Identity(seed=SEED, dialect=Dialect.SPEC).feed

identities = st.builds(
    Identity,
    seed=st.binary(min_size=limits.SEED_SIZE, max_size=limits.SEED_SIZE),
    dialect=st.sampled_from(Dialect),
    note=st.none() | st.text(st.characters(exclude_categories=["Cs"])),
)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "identity"


boxes = st.builds(
    SealedSeed,
    ops=st.integers(1, 16),
    memory=st.integers(8192, 2**30),
    salt=st.binary(min_size=16, max_size=16),
    box=st.binary(min_size=72, max_size=72),
)


@given(identities, st.none() | boxes)
def test_what_is_written_is_read_back(identity, box):
    for kept in (kept_plain(identity), replace(kept_plain(identity), secret=box)):
        assert parse_identity(serialize_identity(kept), WHERE) == kept


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: vector["what"])
def test_frozen_files_both_ways(vector):
    kept = parse_identity(vector["file"].encode(), WHERE)
    assert (kept.dialect.value, kept.feed.hex(), kept.note) == (
        vector["dialect"],
        vector["feed"],
        vector["note"],
    )
    secret = kept.secret
    if isinstance(secret, SealedSeed):
        secret = unseal(secret, Passphrase.of(vector["passphrase"]), WHERE)
    assert (secret and secret.hex()) == vector["seed"]
    assert json.loads(serialize_identity(kept)) == json.loads(vector["file"])


def test_the_bytes_are_the_documented_ones():
    identity = Identity(seed=SEED, dialect=Dialect.SPEC, note="roof")
    expected = b'{"v":1,"dialect":"spec","seed":"%s","note":"roof"}\n' % SEED.hex().encode()
    assert serialize_identity(kept_plain(identity)) == expected


def test_created_then_loaded(path):
    identity = generate_identity(Dialect.DEPLOYED, "note")
    create_identity(path, identity)
    assert read_identity(path) == kept_plain(identity)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["identity"], "nothing else is left behind"


def test_the_mode_does_not_depend_on_the_umask(path):
    old = os.umask(0)
    try:
        create_identity(path, generate_identity(Dialect.SPEC))
    finally:
        os.umask(old)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_two_generated_identities_differ():
    assert generate_identity(Dialect.SPEC).seed != generate_identity(Dialect.SPEC).seed


def test_never_overwritten(path):
    first = generate_identity(Dialect.SPEC)
    create_identity(path, first)
    with pytest.raises(IdentityExistsError, match="was kept"):
        create_identity(path, generate_identity(Dialect.SPEC))
    assert read_identity(path) == kept_plain(first)
    assert [file.name for file in path.parent.iterdir()] == ["identity"]


def test_not_even_a_dangling_link_is_replaced(path):
    path.symlink_to("nowhere")
    with pytest.raises(IdentityExistsError):
        create_identity(path, generate_identity(Dialect.SPEC))


def test_missing_says_how_to_make_one(path):
    with pytest.raises(LocalError, match="tinyssb init") as caught:
        read_identity(path)
    assert caught.value.exit_code is ExitCode.MISSING


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o620, 0o602, 0o610, 0o601, 0o777])
def test_refused_while_others_can_reach_it(path, mode):
    create_identity(path, generate_identity(Dialect.SPEC))
    path.chmod(mode)
    with pytest.raises(LocalError, match=rf"\(mode {mode:04o}\).*chmod 600 {path}") as caught:
        read_identity(path)
    assert caught.value.exit_code is ExitCode.PERMISSION


@pytest.mark.parametrize("mode", [0o600, 0o400])
def test_accepted_while_only_its_owner_can(path, mode):
    create_identity(path, generate_identity(Dialect.SPEC))
    path.chmod(mode)
    read_identity(path)


def test_refused_when_it_belongs_to_another_user(path, monkeypatch):
    create_identity(path, generate_identity(Dialect.SPEC))
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)
    with pytest.raises(LocalError, match="chown") as caught:
        read_identity(path)
    assert caught.value.exit_code is ExitCode.PERMISSION


def test_an_unreadable_file_of_another_user_is_explained_too(path, monkeypatch):
    create_identity(path, generate_identity(Dialect.SPEC))
    monkeypatch.setattr(os, "geteuid", lambda: path.stat().st_uid + 1)

    def refuse(*_args):
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(LocalError, match="belongs to user") as caught:
        read_identity(path)
    assert caught.value.exit_code is ExitCode.PERMISSION


def test_other_refusals_of_the_system_are_passed_on(path, monkeypatch):
    create_identity(path, generate_identity(Dialect.SPEC))

    def refuse(*_args):
        raise PermissionError

    monkeypatch.setattr(os, "open", refuse)
    with pytest.raises(PermissionError):
        read_identity(path)


def test_a_folder_is_no_identity(path):
    path.mkdir(mode=0o700)
    with pytest.raises(IdentityDamagedError, match="not a file"):
        read_identity(path)


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"{",
        b"[]",
        b'{"v":1}',
        b'{"v":1,"dialect":"spec","seed":"00"}',
        b'{"v":1,"dialect":"spec","seed":"%s"}' % (b"zz" * 32),
        b'{"v":1,"dialect":"klingon","seed":"%s"}' % (b"00" * 32),
        b'{"v":1,"dialect":"spec","seed":"%s"}' % (b"\xff" * 64),
        b'{"v":"1","dialect":"spec","seed":"%s"}' % (b"00" * 32),
        b'{"v":2,"dialect":"spec","seed":"%s"}' % (b"00" * 32),
        b'{"v":2,"dialect":"spec","feed":"00"}',
        b'{"v":2,"dialect":"spec","feed":"%s","sealed":{"kdf":"rot13"}}' % (b"00" * 32),
        b'{"v":2,"dialect":"spec","feed":"%s","sealed":{"kdf":"argon2id","ops":99,"memory":8192,"salt":"%s","box":"%s"}}'
        % (b"00" * 32, b"00" * 16, b"00" * 72),
    ],
)
def test_damage_is_named(raw):
    with pytest.raises(IdentityDamagedError, match="identity: "):
        parse_identity(raw, WHERE)


def test_the_error_for_a_damaged_seed_does_not_show_it():
    raw = b'{"v":1,"dialect":"spec","seed":"%s"}' % (b"ab" * 31)
    with pytest.raises(IdentityDamagedError) as caught:
        parse_identity(raw, WHERE)
    assert "abab" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_newer_format_is_refused_by_name_whatever_else_it_holds():
    with pytest.raises(LocalError, match=r"format 3.*up to 2") as caught:
        parse_identity(b'{"v":3,"key":"?"}', WHERE)
    assert caught.value.exit_code is ExitCode.DATA


def test_unknown_fields_are_ignored():
    raw = b'{"v":1,"dialect":"spec","seed":"%s","colour":"red"}' % (b"00" * 32)
    assert parse_identity(raw, WHERE) == kept_plain(Identity(seed=bytes(32), dialect=Dialect.SPEC))


def test_the_seed_is_not_shown():
    assert SEED.hex() not in repr(Identity(seed=SEED, dialect=Dialect.SPEC))
    assert "seed" not in repr(Identity(seed=SEED, dialect=Dialect.SPEC))
    assert "secret" not in repr(kept_plain(Identity(seed=SEED, dialect=Dialect.SPEC)))


def test_a_seed_has_its_size():
    with pytest.raises(ValueError, match="32 bytes"):
        Identity(seed=b"short", dialect=Dialect.SPEC)


def test_a_secret_is_put_in_another_form_in_one_step(path):
    identity = generate_identity(Dialect.SPEC, "note")
    create_identity(path, identity)
    passphrase = Passphrase.of("x")
    sealed = kept_sealed(identity, passphrase)
    replace_identity(path, sealed)
    assert read_identity(path) == sealed
    assert isinstance(sealed.secret, SealedSeed)
    assert unseal(sealed.secret, passphrase, path) == identity.seed
    assert identity.seed.hex() not in path.read_text()
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [file.name for file in path.parent.iterdir()] == ["identity"]


def test_a_disk_that_does_not_confirm_what_took_the_place_is_told(path, monkeypatch):
    identity = generate_identity(Dialect.SPEC)
    create_identity(path, identity)

    def failing(folder: Path) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(secrets, "sync_folder", failing)
    with pytest.raises(LocalError, match="the one before may be back") as caught:
        replace_identity(path, replace(kept_plain(identity), secret=None))
    assert caught.value.exit_code is ExitCode.STORAGE
    assert read_identity(path).secret is None


def test_nothing_is_put_in_the_place_of_another_secret(path):
    identity = generate_identity(Dialect.SPEC)
    create_identity(path, identity)
    other = IdentityFileContent(dialect=Dialect.SPEC, feed=FEED, secret=SEED)
    with pytest.raises(LocalError, match="is not that of the feed") as caught:
        replace_identity(path, other)
    assert caught.value.exit_code is ExitCode.DATA
    assert read_identity(path) == kept_plain(identity)


@pytest.mark.parametrize("mode", [0o750, 0o701, 0o755, 0o777])
def test_a_folder_that_others_have_rights_to_is_told(path, mode):
    path.parent.chmod(0o700)
    assert folder_reach(path) is None
    path.parent.chmod(mode)
    assert folder_reach(path) == mode
