"""A folder that people carry from node to node: what it has is taken, what it lacks is left there
(docs/formats/carry.md)."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tinyssb_node.cli import limits
from tinyssb_node.cli.client import Client
from tinyssb_node.cli.newfile import FileUnwritableError, write_new_file
from tinyssb_node.cli.offering import Taken, lacked, offer
from tinyssb_node.codec.dmx import Network
from tinyssb_node.daemon.exportcover import Cover
from tinyssb_node.daemon.exports import (
    ExportDamagedError,
    ExportedEntry,
    ExportTooNewError,
    Piece,
    export_pieces,
    read_export,
    write_export,
)
from tinyssb_node.daemon.problems import Exit, FileUnreadableError, ProblemError
from tinyssb_node.feeds.forkfile import network_tag
from tinyssb_node.ids import FeedId
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.port import Store

FOLDER: Final = "tinyssb"
OPEN: Final = "open"
SUFFIX: Final = ".tssb"
_NAME: Final = re.compile(r"[0-9a-f]{12}-([0-9]{1,6})\.tssb")


class CarryFullError(ProblemError):
    """There are more files in the folder than are read."""

    exit_code = Exit.DATA

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(
            f"There are {count:,} files in {folder}, and at most {limits.CARRY_FILES_MAX:,} are read. Nothing was "
            "taken or left there.",
            "Move them elsewhere, or remove them once everybody has taken what is in them: nodes leave there again "
            "what the folder lacks.",
        )


class NoPlaceError(ProblemError):
    """There is no such folder."""

    exit_code = Exit.MISSING

    def __init__(self, place: Path) -> None:
        super().__init__(
            f"There is no folder {place}. Nothing was taken or left.",
            "Is the stick in, and mounted? `lsblk` shows where; otherwise make the folder first.",
        )


@dataclass(frozen=True, slots=True)
class Left:
    """What was left in the folder."""

    path: Path
    feeds: int
    entries: int
    size: int
    """Bytes."""


@dataclass(slots=True)
class Found:
    """What is in the folder."""

    whole: list[Path] = field(default_factory=list)
    """The files that can be read to their end."""
    damaged: dict[str, str] = field(default_factory=dict)
    """What is wrong with the others, by name. They stay as they are."""


def require_place(place: Path) -> None:
    """Raise NoPlaceError unless *place* is a folder: one that is not mounted is not made."""
    if not place.is_dir():
        raise NoPlaceError(place)


def folder_of(place: Path, network: Network) -> Path:
    """Where in *place* the files of *network* are."""
    tag = network_tag(network)
    return place / FOLDER / (OPEN if tag is None else tag.hex())


def look(folder: Path, progress: Callable[[int, int], None]) -> Found:
    """Read all files in *folder*, of which *progress* is told how many of how many are done.

    Raises CarryFullError, FileUnreadableError.
    """
    found = Found()
    try:
        paths = sorted(path for path in folder.iterdir() if path.suffix == SUFFIX) if folder.exists() else []
    except OSError as error:
        raise FileUnreadableError(str(folder), error) from error
    if len(paths) > limits.CARRY_FILES_MAX:
        raise CarryFullError(folder, len(paths))
    for number, path in enumerate(paths):
        progress(number, len(paths))
        try:
            # Only for whether it is whole: nothing of one that is not may count.
            for _ in pieces_in(path):
                pass
            found.whole.append(path)
        except (ExportDamagedError, ExportTooNewError) as error:
            found.damaged[path.name] = str(error)
        except OSError as error:
            found.damaged[path.name] = error.strerror or str(error)
    return found


def pieces_in(path: Path) -> Iterator[Piece]:
    """The pieces of a file. Raises OSError, ExportDamagedError, ExportTooNewError."""
    with path.open("rb") as file:
        yield from read_export(file)


def take(
    node: Client,
    found: Found,
    opened: Callable[[], Store],
    taken: Taken,
    progress: Callable[[int, int], None],
) -> None:
    """Offer *node* what its store, which *opened* opens, lacks of the files *found*, and count in *taken* what came of
    it. Of *progress* as in ``look``."""
    paths = found.whole
    blocked = {row["feed"] for row in node.feeds() if row.get("blocked")}
    for _ in range(limits.CARRY_PASSES_MAX):
        before, again = taken.entries, list[Path]()
        early = set[str]()
        for number, path in enumerate(paths):
            progress(number, len(paths))
            taken.early = set()
            # Opened anew for each: what one file brought the next need not.
            with closing(opened()) as store:
                offer(node, path.name, lacked(pieces_in(path), store, blocked, taken), taken)
            if taken.early:
                again.append(path)
                early |= taken.early
        taken.early = early
        if taken.entries == before or not again:
            break
        # What was missing may be here by now: names of files tell no order.
        paths = again


def leave(folder: Path, store: Store, found: Found, node: FeedId) -> Left | None:
    """Write a file with all of *store* that is in none of the whole files *found*, named after *node*, our own feed.
    None if they lack nothing.

    Raises FileUnwritableError; then no file was made.
    """
    cover = Cover(store)
    for whole in found.whole:
        cover.add(pieces_in(whole))
    lacking = [record for record in store.feeds() if cover.first_lacked(record) <= record.seq]
    if not lacking:
        return None
    name = node.hex()[: limits.CARRY_NODE_DIGITS]
    numbers = (_NAME.fullmatch(path.name) for path in (folder.iterdir() if folder.exists() else ()))
    number = max((int(match[1]) for match in numbers if match and match[0].startswith(name)), default=0) + 1
    path = folder / f"{name}-{number:04}{SUFFIX}"
    entries = 0

    def counted() -> Iterator[Piece]:
        nonlocal entries
        for piece in export_pieces(store, lacking, cover.first_lacked):
            entries += isinstance(piece, ExportedEntry)
            yield piece

    make_folder(folder)
    size = write_new_file(path, lambda file: write_export(counted(), file))
    sync_folder(folder)
    return Left(path, len(lacking), entries, size)


def make_folder(folder: Path) -> None:
    """Make *folder*, with those above it. Raises FileUnwritableError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise FileUnwritableError(
            f"{folder} cannot be made: {error.strerror}.", "Name a folder that you can write to."
        ) from error
