"""Making a node's home, and reading who it is."""

import os
from contextlib import closing
from pathlib import Path

from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.daemon.config import DEFAULT_FACES, ConfigError, check_name, initial_config
from tinyssb_node.daemon.home import Home
from tinyssb_node.daemon.problems import HomeExistsError, HomeRefusedError
from tinyssb_node.errors import IdentityExistsError
from tinyssb_node.faces.spec import parse_spec
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.store.secrets import create_identity, generate_identity, load_identity
from tinyssb_node.store.sqlite import SqliteStore


def create_home(home: Home, name: str, dialect: Dialect, faces: tuple[str, ...]) -> FeedId:
    """Make a node called *name* with a fresh key; no *faces* means the usual ones. Returns its feed id.

    Settings that a link in the folder leads to stay as they are.

    Raises IdentityExistsError or HomeExistsError if there is one, ConfigError for the name, FaceSpecError for a face,
    HomeRefusedError if the system does not let us.
    """
    if wrong := check_name(name):
        raise ConfigError(home.config, "name", name, wrong)
    for face in faces:
        parse_spec(face)
    identity = generate_identity(dialect)
    try:
        home.root.mkdir(mode=0o700, parents=True, exist_ok=True)
        if home.identity.exists():
            raise IdentityExistsError(home.identity)
        # A link leads to settings that are kept elsewhere, as those of the system's service are in /etc.
        if not home.config.is_symlink():
            _create(home.config, initial_config(name, faces or DEFAULT_FACES))
        # Last, since it is what makes a folder a node's home.
        create_identity(home.identity, identity)
        with closing(SqliteStore.open(home.store)):
            pass  # So that what reads stores finds one.
    except OSError as error:
        raise _refused(home, error) from error
    return SigningKey(identity.seed).feed_id


def read_identity(home: Home) -> tuple[SigningKey, Dialect]:
    """The node's key, and the dialect it writes. Raises the errors of ``load_identity``, HomeRefusedError."""
    try:
        identity = load_identity(home.identity)
    except OSError as error:
        raise _refused(home, error) from error
    return SigningKey(identity.seed), identity.dialect


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


def _refused(home: Home, error: OSError) -> HomeRefusedError:
    return HomeRefusedError(
        f"{error.filename or home.root} cannot be used: {error.strerror}.",
        "Check who owns the folder and whether its disk has room, or name another with --home.",
    )
