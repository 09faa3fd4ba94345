"""Further identities of a home: each in its own folder, with the same files as the main identity.

Format: ``docs/formats/identity.md``. The daemon uses them through ``identity_manager``.
"""

import contextlib
import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tinyssb_node.daemon.setup import home_access, home_access_error, read_node_identity, restored_mark
from tinyssb_node.daemon.tip_mark import TipMark, this_machine, write_mark
from tinyssb_node.errors import ExitCode, IdentityExistsError, LocalError, ProblemError, UnknownIdentityError
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.limits import NAME_MAX
from tinyssb_node.store import limits
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.home import MAIN_IDENTITY, Home
from tinyssb_node.store.secrets import Identity, create_identity, generate_identity, read_identity

_NAME: Final = re.compile(rf"[a-z][a-z0-9-]{{0,{NAME_MAX - 1}}}")


def duplicate_identity(name: str) -> ProblemError:
    """Return the error for a key that the home already has under *name*."""
    return ProblemError(
        f"This is the key of '{name}', which is already in this home. Nothing was changed: a feed may be written "
        "from one place only.",
        "`tinyssb identity list` shows the identities of this home.",
        exit_code=ExitCode.CREATE,
    )


def names_of(home: Home) -> list[str]:
    """Return the names of further identities in *home*, sorted, at most the limit. Raises HomeInaccessibleError."""
    try:
        found = [
            folder.name
            for folder in home.identities.iterdir()
            if _NAME.fullmatch(folder.name) and _is_there(home.of_identity(folder.name).identity)
        ]
    except FileNotFoundError:
        return []
    except OSError as error:
        raise home_access_error(home, error) from error
    return sorted(found)[: limits.IDENTITIES_MAX]


def _is_there(path: Path) -> bool:
    """Return True if there is a file, or if we may not look: opening it then fails with the reason."""
    try:
        return path.exists()
    except PermissionError:
        return True


def find_identity(home: Home, name: str | None) -> Home:
    """Return the folder of the identity *name*; None: the main one.

    Raises UnknownIdentityError, HomeInaccessibleError.
    """
    if name is None or name == MAIN_IDENTITY:
        return home
    names = names_of(home)
    if name not in names:
        raise UnknownIdentityError(name, names)
    return home.of_identity(name)


def new_identity(home: Home, name: str, dialect: Dialect) -> FeedId:
    """Create a further identity in *home* with a new key. Returns its feed id.

    Raises ProblemError, IdentityExistsError, HomeInaccessibleError, and
    the errors of ``read_identity`` for the main identity.
    """
    identity = generate_identity(dialect)
    # Nothing was ever written with this key, so the tip is certain.
    _write_identity(home, name, identity, TipMark(feed=identity.feed, machine=this_machine(), tips={}))
    return identity.feed


def restore_identity(home: Home, name: str, identity: Identity) -> None:
    """Create a further identity in *home* from a backup of its key.

    Raises as ``new_identity`` does.
    """
    for other, feed in _feeds(home):
        if feed == identity.feed and other != name:
            raise duplicate_identity(other)
    _write_identity(home, name, identity, restored_mark(home.of_identity(name), identity.feed))


def remove_identity(home: Home, name: str) -> None:
    """Delete the further identity *name* with its key and its tip mark. Raises UnknownIdentityError,
    HomeInaccessibleError."""
    own = find_identity(home, name)
    assert own is not home, "the main identity is the node"
    with home_access(home):
        for path in (own.identity, own.mark):
            path.unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            own.root.rmdir()  # it may have files of others
        sync_folder(home.identities)


def _feeds(home: Home) -> Iterator[tuple[str, FeedId]]:
    """Yield the identities of *home* whose files can be read, with their feeds."""
    for name in (MAIN_IDENTITY, *names_of(home)):
        try:
            yield name, read_identity(find_identity(home, name).identity).feed
        except (LocalError, OSError):
            continue  # Using that identity reports the error; the others are not affected.


def require_room(home: Home, name: str) -> None:
    """Raise what ``new_identity`` would, before anything is changed."""
    home.require()
    # Only the owner of the home may go on: the node's user could not read files that root makes there.
    read_node_identity(home)
    if not _NAME.fullmatch(name) or name == MAIN_IDENTITY:
        raise ProblemError(
            f"'{name[:NAME_MAX]}' cannot be the name of an identity. Nothing was changed.",
            f"A name has up to {NAME_MAX} small letters, digits and hyphens, and begins with a letter; "
            f"'{MAIN_IDENTITY}' is the node's main identity.",
            code="bad_request",
        )
    file = home.of_identity(name).identity
    if file.exists():
        raise IdentityExistsError(file)
    if len(names_of(home)) >= limits.IDENTITIES_MAX:
        raise ProblemError(
            f"There are {limits.IDENTITIES_MAX} identities in {home.identities}, the most there may be. Nothing was "
            "made.",
            "Each takes a place in the set that all nodes share. Make another node: "
            "`tinyssb --home FOLDER init`.",
            exit_code=ExitCode.CREATE,
        )


def _write_identity(home: Home, name: str, identity: Identity, mark: TipMark) -> None:
    require_room(home, name)
    own = home.of_identity(name)
    with home_access(home):
        for folder in (home.identities, own.root):
            folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(folder.parent)
        create_identity(own.identity, identity)
        write_mark(own.mark, mark, time.time_ns() // 1_000)
