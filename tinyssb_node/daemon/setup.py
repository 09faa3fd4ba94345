"""Making a node's home, and reading who it is."""

import errno
import os
import time
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.daemon.config import DEFAULT_FACES, check_name, initial_config
from tinyssb_node.daemon.tip_mark import TipMark, read_mark, this_machine, write_mark
from tinyssb_node.errors import IdentityExistsError
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.gossip.certainty import TipUncertainty
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.problems import ConfigError, HomeDiskError, HomeExistsError, HomeInaccessibleError
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
"""The disk, and nobody's rights."""


def create_home(home: Home, name: str, dialect: Dialect, faces: tuple[str, ...]) -> FeedId:
    """Make a node called *name* with a fresh key; no *faces* means the usual ones. Returns its feed id.

    Settings that a link in the folder leads to stay as they are: they are kept elsewhere, as those of the system's
    service are in /etc.

    Raises IdentityExistsError or HomeExistsError if there is one, ConfigError for the name, FaceSpecError for a face,
    HomeInaccessibleError if the system does not let us.
    """
    identity = generate_identity(dialect)
    _fill_home(home, name, identity, faces, keep_settings=home.config.is_symlink())
    # Nothing was ever written with this key, so the node is certain of that from the beginning.
    _mark(home, TipMark(feed=identity.feed, machine=this_machine(), tips={}))
    return identity.feed


def restore_home(home: Home, name: str, identity: Identity, faces: tuple[str, ...]) -> None:
    """Make a node with a key that was there before. Settings and a store that are in the folder are kept.

    Raises as ``create_home`` does, but for HomeExistsError.
    """
    _fill_home(home, name, identity, faces, keep_settings=os.path.lexists(home.config))
    _mark(home, restored_mark(home, identity.feed))


def restored_mark(home: Home, feed: FeedId) -> TipMark:
    """The mark of *feed* in *home* when its key came from a backup: what is known to be written is not forgotten."""
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
    try:
        home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.identity.exists():
            raise IdentityExistsError(home.identity)
        if not keep_settings:
            _create(home.config, initial_config(name, faces or DEFAULT_FACES))
        # Last, since it is what makes a folder a node's home.
        create_identity(home.identity, identity)
        with closing(SqliteStore.open(home.store)):
            pass  # So that what reads stores finds one.
    except OSError as error:
        raise home_access_error(home, error) from error


def _mark(home: Home, mark: TipMark) -> None:
    try:
        write_mark(home.mark, mark, time.time_ns() // 1_000)
    except OSError as error:
        raise home_access_error(home, error) from error


def read_node_identity(home: Home) -> IdentityFileContent:
    """Who the node is. Raises the errors of ``read_identity``, HomeInaccessibleError."""
    try:
        return read_identity(home.identity)
    except OSError as error:
        raise home_access_error(home, error) from error


def unlock_identity(
    home: Home, environ: Mapping[str, str], ask: Ask | None, name: str | None = None
) -> Identity:
    """The node's secret, or in its folder *home* that of the further identity *name*. Raises the errors of
    ``open_identity``, HomeInaccessibleError."""
    try:
        return open_identity(home.identity, environ, ask, name)
    except OSError as error:
        raise home_access_error(home, error) from error


def new_passphrase(home: Home, environ: Mapping[str, str], name: str | None = None) -> Passphrase | None:
    """What to seal the secret of *home* with where nobody can be asked. Raises the errors of ``handed_passphrase``, but
    HomeInaccessibleError for what the system refuses."""
    try:
        return handed_passphrase(environ, name)
    except OSError as error:
        raise home_access_error(home, error, f"{home.identity} was left as it was.") from error


def replace_secret(home: Home, kept: IdentityFileContent) -> None:
    """Keep the secret of *home* as *kept* says from now on. Raises the errors of ``replace_identity``, but
    HomeInaccessibleError for what the system refuses."""
    try:
        replace_identity(home.identity, kept)
    except OSError as error:
        raise home_access_error(home, error, f"{home.identity} was left as it was.") from error


def node_name(feed: FeedId) -> str:
    """What the event log calls the node that owns *feed* (docs/formats/events.md)."""
    return feed[: limits.NODE_NAME_SIZE].hex()


def _create(path: Path, text: str) -> None:
    try:
        file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        raise HomeExistsError(
            f"{path} is there already, though there is no node yet. It was kept.",
            "Move it away, then try again.",
        ) from None
    with os.fdopen(file, "w", encoding="utf-8") as config:
        config.write(text)


def home_access_error(home: Home, error: OSError, kept: str = "") -> HomeInaccessibleError:
    """What to tell when the system does not let us use what is in *home*; *kept* says what did not change."""
    message = f"{error.filename or home.root} cannot be used: {error.strerror}. {kept}".rstrip()
    if error.errno in FULL:
        return HomeDiskError(message, "Make room on the disk, and try again.")
    if error.errno in _FAILED:
        return HomeDiskError(
            message, "Look at the disk: nothing can be written to it. Or name another folder with --home."
        )
    return HomeInaccessibleError(message, "Check who owns the folder, or name another with --home.")
