"""A folder that people carry from node to node: what it has is taken, what it lacks is left there
(docs/formats/carry.md)."""

import re
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Final

from tinyssb_node.cli.packet_import import ImportResult, lacked, offer
from tinyssb_node.codec.dmx import Network
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.daemon.exports import (
    ExportCoverage,
    ExportedEntry,
    ExportFileError,
    Piece,
    export_pieces,
    read_export,
    write_export,
)
from tinyssb_node.errors import ExitCode
from tinyssb_node.feeds.forkfile import network_tag
from tinyssb_node.ids import FeedId
from tinyssb_node.problems import FileUnreadableError, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.newfile import FileUnwritableError, remove_leftovers, write_new_file
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.port import Store

FOLDER: Final = "tinyssb"
OPEN: Final = "open"
SUFFIX: Final = ".tssb"
UNREADABLE: Final = (OSError, ExportFileError)
"""What reading a file raises."""
_NAME: Final = re.compile(r"[0-9a-f]{12}-([0-9]{1,6})\.tssb")
_NUMBER_MAX: Final = 999_999


class CarryFullError(ProblemError):
    """There are more files in the folder than are read."""

    exit_code = ExitCode.DATA

    def __init__(self, folder: Path, count: int) -> None:
        super().__init__(
            f"There are {count:,} files in {folder}, and at most {limits.CARRY_FILES_MAX:,} are read. Nothing was "
            "taken or left there.",
            "Move them elsewhere, or remove them once everybody has taken what is in them: nodes leave there again "
            "what the folder lacks.",
        )


class FolderUnreadableError(FileUnreadableError):
    """What was read from the folder before cannot be read again."""

    def __init__(self, path: Path, reason: str) -> None:
        ProblemError.__init__(
            self,
            f"{one_line(str(path))} was there and whole, and now it is not: {reason}. Nothing was left there.",
            "Is the stick still in? Put it in and run the command again; what was taken is kept.",
        )
        self.path = str(path)


class CarryFolderMissingError(ProblemError):
    """There is no such folder."""

    exit_code = ExitCode.MISSING

    def __init__(self, place: Path) -> None:
        super().__init__(
            f"There is no folder {place}. Nothing was taken or left.",
            "Is the stick in, and mounted? `lsblk` shows where; otherwise make the folder first.",
        )


@dataclass(frozen=True, slots=True)
class FolderWriteResult:
    """What was left in the folder."""

    path: Path
    feeds: int
    entries: int
    size: int
    """Bytes."""


@dataclass(slots=True)
class FolderContents:
    """What is in the folder."""

    whole: list[Path] = field(default_factory=list)
    """The files that can be read to their end."""
    damaged: dict[str, str] = field(default_factory=dict)
    """What is wrong with the others, by name. They stay as they are."""
    device: int | None = None
    """Which disk the folder is on."""


def require_folder(place: Path) -> None:
    """Raise NoPlaceError unless *place* is a folder, since one that is not mounted is not made; FileUnreadableError."""
    try:
        there = place.is_dir()
    except OSError as error:
        raise FileUnreadableError(str(place), error) from error
    if not there:
        raise CarryFolderMissingError(place)


def folder_of(place: Path, network: Network) -> Path:
    """Where in *place* the files of *network* are."""
    tag = network_tag(network)
    return place / FOLDER / (OPEN if tag is None else tag.hex())


def read_folder(place: Path, folder: Path, progress: Callable[[int, int], None]) -> FolderContents:
    """Read all files in *folder*, which is in *place*, of which *progress* is told how many of how many are done.

    Raises CarryFullError, FileUnreadableError.
    """
    found = FolderContents()
    try:
        paths = sorted(filter(_is_ours, folder.iterdir())) if folder.exists() else []
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
        except UNREADABLE as error:
            found.damaged[path.name] = reason_of(error)
    found.device = _device_of(place)
    return found


def _is_ours(path: Path) -> bool:
    """Whether *path* is a file that is read. What other systems put beside it (``._x.tssb``), and what is none, is not:
    a pipe would be waited for."""
    if path.suffix != SUFFIX or path.name.startswith("."):
        return False
    try:
        return path.is_file()
    except OSError:
        return True  # Reading it tells what is wrong.


def _device_of(place: Path) -> int | None:
    """Which disk *place* is on; None: there is no such place any more."""
    try:
        return place.stat().st_dev
    except OSError:
        return None


def reason_of(error: OSError | ExportFileError) -> str:
    """Why a file cannot be read."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else error.problem


def pieces_in(path: Path) -> Iterator[Piece]:
    """The pieces of a file. Raises OSError, ExportFileError."""
    with path.open("rb") as file:
        yield from read_export(file)


def import_folder(
    node: DaemonClient,
    found: FolderContents,
    opened: Callable[[], Store],
    taken: ImportResult,
    progress: Callable[[int, int], None],
) -> None:
    """Offer *node* what its store, which *opened* opens, lacks of the files *found*, and count in *taken* what came of
    it. Files that cannot be read any more count as damaged. Of *progress* as in ``look``."""
    paths = found.whole
    blocked = {row.feed for row in node.feeds() if row.blocked}
    for _ in range(limits.CARRY_PASSES_MAX):
        before, again = taken.entries, list[Path]()
        early = set[str]()
        for number, path in enumerate(paths):
            progress(number, len(paths))
            taken.early = set()
            # Opened anew for each: what one file brought the next need not.
            with closing(opened()) as store:
                try:
                    offer(node, path.name, lacked(pieces_in(path), store, blocked, taken), taken)
                except UNREADABLE as error:
                    found.damaged[path.name] = reason_of(error)
                    continue
            if taken.early:
                again.append(path)
                early |= taken.early
        taken.early = early
        if taken.entries == before or not again:
            break
        # What was missing may be here by now: names of files tell no order.
        paths = again
    found.whole = [path for path in found.whole if path.name not in found.damaged]


def export_to_folder(
    place: Path, folder: Path, store: Store, found: FolderContents, node: FeedId
) -> FolderWriteResult | None:
    """Write a file to *folder*, which is in *place*, with all of *store* that is in none of the whole files *found*. It
    is named after *node*, our own feed. None if they lack nothing.

    Raises FolderUnreadableError, FileUnwritableError.
    """
    cover = ExportCoverage(store)
    for whole in found.whole:
        try:
            cover.add(pieces_in(whole))
        except UNREADABLE as error:
            raise FolderUnreadableError(whole, reason_of(error)) from error
    if found.device is None or _device_of(place) != found.device:
        # Where a stick was, there may be an empty folder of our own disk.
        raise FolderUnreadableError(place, "no disk is mounted there, or another one")
    lacking = [record for record in store.feeds() if cover.first_lacked(record) <= record.seq]
    if not lacking:
        return None
    make_folder(folder)
    remove_leftovers(folder)
    path = _free_path(folder, node)
    entries = 0

    def counted() -> Iterator[Piece]:
        nonlocal entries
        for piece in export_pieces(store, lacking, cover.first_lacked):
            entries += isinstance(piece, ExportedEntry)
            yield piece

    size = write_new_file(path, lambda file: write_export(counted(), file))
    try:
        sync_folder(folder)
    except OSError as error:
        raise FileUnwritableError(
            f"{path} was written, and the disk did not confirm it: {error.strerror}. It may be gone, or damaged.",
            "Is the stick still in? Put it in and run the command again: it leaves what is lacking.",
        ) from error
    return FolderWriteResult(path, len(lacking), entries, size)


def _free_path(folder: Path, node: FeedId) -> Path:
    """How the next file of *node* is called: behind those that are there, or where a number is free, as anybody may
    have given names there. Raises FileUnwritableError."""
    name = node.hex()[: limits.CARRY_NODE_DIGITS]
    try:
        matches = [_NAME.fullmatch(path.name) for path in folder.iterdir()]
    except OSError as error:
        raise _unusable(folder, error) from error
    numbers = {int(match[1]) for match in matches if match and match[0].startswith(name)}
    number = max(numbers, default=0) + 1
    if number > _NUMBER_MAX:
        number = next(free for free in count(1) if free not in numbers)
    return folder / f"{name}-{number:04}{SUFFIX}"


def make_folder(folder: Path) -> None:
    """Make *folder*, and the one that is for all networks, in a place that is there. Raises FileUnwritableError."""
    try:
        folder.parent.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from error


def _unusable(folder: Path, error: OSError) -> FileUnwritableError:
    return FileUnwritableError(
        f"Nothing can be left in {folder}: {error.strerror}.",
        "Is the stick still in, with its switch off and room on it? `--take` writes nothing there.",
    )
