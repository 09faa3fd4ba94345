"""Further identities of a home: each in a folder of its own, with the files that the node's own key has.

Format: ``docs/formats/identity.md``. What a daemon does with them is in ``authorship``.
"""

import re
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tinyssb_node.daemon.setup import home_access_error, read_node_identity, restored_mark
from tinyssb_node.daemon.tip_mark import TipMark, this_machine, write_mark
from tinyssb_node.errors import ExitCode, IdentityExistsError, LocalError
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.limits import NAME_MAX
from tinyssb_node.problems import ProblemError, UnknownIdentityError
from tinyssb_node.store import limits
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.home import MAIN_IDENTITY, Home
from tinyssb_node.store.secrets import Identity, create_identity, generate_identity, read_identity

_NAME: Final = re.compile(rf"[a-z][a-z0-9-]{{0,{NAME_MAX - 1}}}")


class IdentityNameError(ProblemError):
    """An identity cannot be called so."""

    code = "bad_request"

    def __init__(self, name: str) -> None:
        super().__init__(
            f"No identity can be called '{name[:NAME_MAX]}'. Nothing was changed.",
            f"A name has up to {NAME_MAX} small letters, digits and hyphens, a letter first; "
            f"'{MAIN_IDENTITY}' is the node's own.",
        )


class IdentitiesFullError(ProblemError):
    """A home has as many identities as it may."""

    exit_code = ExitCode.CREATE

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"There are {limits.IDENTITIES_MAX} identities in {folder}, the most there may be. Nothing was made.",
            "Each takes a place of 255 in the set of everybody. Make another node: `tinyssb --home FOLDER init`.",
        )


class DuplicateIdentityError(ProblemError):
    """A key is in the home already."""

    exit_code = ExitCode.CREATE

    def __init__(self, name: str) -> None:
        super().__init__(
            f"This is the key of '{name}', which is in this home already. Nothing was changed: one feed is written "
            "from one place.",
            "`tinyssb identity list` shows what is here.",
        )


def names_of(home: Home) -> list[str]:
    """The names of further identities in *home*, sorted; no more than there may be. Raises HomeInaccessibleError."""
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
    """Whether there is a file, as far as we may look: where we may not, who opens it is told why."""
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
    """Make a further identity in *home* with a fresh key. Returns its feed id.

    Raises IdentityNameError, IdentitiesFullError, IdentityExistsError, HomeMissingError, HomeInaccessibleError, and
    for the node's own file the errors of ``read_identity``.
    """
    identity = generate_identity(dialect)
    # Nothing was ever written with this key, so it is certain of that from the beginning.
    _place(home, name, identity, TipMark(feed=identity.feed, machine=this_machine(), tips={}))
    return identity.feed


def restore_identity(home: Home, name: str, identity: Identity) -> None:
    """Make a further identity in *home* with a key that was there before.

    Raises as ``new_identity`` does, and DuplicateIdentityError.
    """
    for other, feed in _feeds(home):
        if feed == identity.feed and other != name:
            raise DuplicateIdentityError(other)
    _place(home, name, identity, restored_mark(home.of_identity(name), identity.feed))


def _feeds(home: Home) -> Iterator[tuple[str, FeedId]]:
    """The identities of *home* with their feeds, as far as their files can be read."""
    for name in (MAIN_IDENTITY, *names_of(home)):
        try:
            yield name, read_identity(find_identity(home, name).identity).feed
        except (LocalError, OSError):
            continue  # Who asks for that one is told; no other one is held up by it.


def require_room(home: Home, name: str) -> None:
    """Raise what ``new_identity`` would, before anything is done."""
    home.require()
    # Whose the home is: what root makes there the node's user cannot read.
    read_node_identity(home)
    if not _NAME.fullmatch(name) or name == MAIN_IDENTITY:
        raise IdentityNameError(name)
    place = home.of_identity(name)
    if place.identity.exists():
        raise IdentityExistsError(place.identity)
    if len(names_of(home)) >= limits.IDENTITIES_MAX:
        raise IdentitiesFullError(home.identities)


def _place(home: Home, name: str, identity: Identity, mark: TipMark) -> None:
    require_room(home, name)
    place = home.of_identity(name)
    try:
        for folder in (home.identities, place.root):
            folder.mkdir(mode=0o700, exist_ok=True)
            sync_folder(folder.parent)
        create_identity(place.identity, identity)
        write_mark(place.mark, mark, time.time_ns() // 1_000)
    except OSError as error:
        raise home_access_error(home, error) from error
