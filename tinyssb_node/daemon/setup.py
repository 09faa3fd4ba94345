"""Creation of a node's home, and access to its identity."""

import errno
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.daemon.config import DEFAULT_FACES, check_name, initial_config
from tinyssb_node.daemon.tip_mark import TipMark, read_mark, this_machine, write_mark
from tinyssb_node.errors import (
    ConfigError,
    ExitCode,
    HomeDiskError,
    HomeInaccessibleError,
    IdentityExistsError,
    ProblemError,
)
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.gossip.certainty import TipUncertainty
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.durable import FULL
from tinyssb_node.store.home import Home
from tinyssb_node.store.sealed_seed import Passphrase
from tinyssb_node.store.secrets import (
    Identity,
    IdentityFileContent,
    create_identity,
    generate_identity,
    read_identity,
    replace_identity,
)
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.unlock import Ask, handed_passphrase, open_identity

_FAILED: Final = {errno.EROFS, errno.EIO}
"""Errors of the disk, not of permissions."""


def create_home(home: Home, name: str, dialect: Dialect, faces: tuple[str, ...]) -> FeedId:
    """Create a node called *name* with a new key; without *faces*, it has the default ones. Returns its feed id.

    A config.toml that is a symbolic link stays as it is: the settings are kept elsewhere, as those of the system's
    service are in /etc.

    Raises IdentityExistsError or ProblemError if there is one, ConfigError for the name, FaceSpecError for a face,
    HomeInaccessibleError if the system refuses.
    """
    identity = generate_identity(dialect)
    _fill_home(home, name, identity, faces, keep_settings=home.config.is_symlink())
    # Nothing was ever written with this key, so the tip is certain.
    _mark(home, TipMark(feed=identity.feed, machine=this_machine(), tips={}))
    return identity.feed


def restore_home(home: Home, name: str, identity: Identity, faces: tuple[str, ...]) -> None:
    """Create a node from a backup of its key. Settings and a store that are in the folder are kept.

    Raises as ``create_home`` does, except ProblemError.
    """
    _fill_home(home, name, identity, faces, keep_settings=os.path.lexists(home.config))
    _mark(home, restored_mark(home, identity.feed))


def restored_mark(home: Home, feed: FeedId) -> TipMark:
    """Return the tip mark for *feed* in *home* after a restore from a backup. The known tips are kept, as uncertain."""
    restored = TipMark(feed=feed, machine=this_machine(), tips={}, doubt=TipUncertainty.RESTORED)
    try:
        known = read_mark(home.mark)
    except OSError:
        known = None
    if known is not None and known.feed == feed:
        tips = {network: replace(tip, doubt=TipUncertainty.RESTORED) for network, tip in known.tips.items()}
        restored = replace(restored, tips=tips)
    return restored


def _fill_home(
    home: Home, name: str, identity: Identity, faces: tuple[str, ...], *, keep_settings: bool
) -> None:
    if wrong := check_name(name):
        raise ConfigError(home.config, "name", name, wrong)
    for face in faces:
        parse_spec(face)
    with home_access(home):
        home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.identity.exists():
            raise IdentityExistsError(home.identity)
        if not keep_settings:
            _create(home.config, initial_config(name, faces or DEFAULT_FACES))
        # Last, because this file makes the folder a node's home.
        create_identity(home.identity, identity)
        with closing(SqliteStore.open(home.store)):
            pass  # So that programs that read the store find one.


def _mark(home: Home, mark: TipMark) -> None:
    with home_access(home):
        write_mark(home.mark, mark, time.time_ns() // 1_000)


def read_node_identity(home: Home) -> IdentityFileContent:
    """Read the node's identity. Raises the errors of ``read_identity``, HomeInaccessibleError."""
    with home_access(home):
        return read_identity(home.identity)


def unlock_identity(
    home: Home, environ: Mapping[str, str], ask: Ask | None, name: str | None = None
) -> Identity:
    """Open the secret of the node, or of the further identity *name*, in its folder *home*. Raises the errors of
    ``open_identity``, HomeInaccessibleError."""
    with home_access(home):
        return open_identity(home.identity, environ, ask, name)


def new_passphrase(home: Home, environ: Mapping[str, str], name: str | None = None) -> Passphrase | None:
    """Return the passphrase for encrypting the secret of *home* when no person can be asked. Raises the errors of
    ``handed_passphrase``, and HomeInaccessibleError if the system refuses."""
    with home_access(home, f"{home.identity} was left as it was."):
        return handed_passphrase(environ, name)


def replace_secret(home: Home, kept: IdentityFileContent) -> None:
    """Replace the identity file of *home* by *kept*. Raises the errors of ``replace_identity``, and
    HomeInaccessibleError if the system refuses."""
    with home_access(home, f"{home.identity} was left as it was."):
        replace_identity(home.identity, kept)


def node_name(feed: FeedId) -> str:
    """Return the name in the event log of the node that owns *feed* (docs/formats/events.md)."""
    return feed[: limits.NODE_NAME_SIZE].hex()


def _create(path: Path, text: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise ProblemError(
            f"{path} already exists, but the key of its node is missing. Nothing was changed.",
            "If you have a backup of the key: tinyssb identity restore. Otherwise move the folder away, and try again "
            "for a new node with another feed.",
            exit_code=ExitCode.CREATE,
        ) from None
    with os.fdopen(file, "w", encoding="utf-8") as config:
        config.write(text)


@contextmanager
def home_access(home: Home, kept: str = "") -> Iterator[None]:
    """Translate errors of the operating system as ``home_access_error`` does. Raises HomeInaccessibleError."""
    try:
        yield
    except OSError as error:
        raise home_access_error(home, error, kept) from error


def home_access_error(home: Home, error: OSError, kept: str = "") -> HomeInaccessibleError:
    """Return the error to raise if the system refuses access to *home*; *kept* states what did not change."""
    message = f"{error.filename or home.root} cannot be used: {error.strerror}. {kept}".rstrip()
    if error.errno in FULL:
        return HomeDiskError(message, "Make room on the disk, and try again.")
    if error.errno in _FAILED:
        return HomeDiskError(
            message, "Check the disk: nothing can be written to it. Or name another folder with --home."
        )
    return HomeInaccessibleError(message, "Check who owns the folder, or name another with --home.")
