"""A folder that people carry from node to node: a node imports what it lacks, and writes what the folder lacks
(docs/formats/carry.md)."""

import re
import stat
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
from tinyssb_node.errors import ExitCode, FileUnreadableError, ProblemError
from tinyssb_node.feeds.forkfile import network_tag
from tinyssb_node.ids import FeedId
from tinyssb_node.screens.newfile import remove_leftovers, write_new_file
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.store.durable import sync_folder
from tinyssb_node.store.port import Store

_FILES_MAX: Final = 10_000  # a node leaves one when it has news: one a day from thirty nodes for a year
FOLDER: Final = "tinyssb"
OPEN: Final = "open"
SUFFIX: Final = ".tssb"
UNREADABLE: Final = (OSError, ExportFileError)
"""Errors of reading a file."""
_NAME: Final = re.compile(r"[0-9a-f]{12}-([0-9]{1,6})\.tssb")
_NUMBER_MAX: Final = 999_999


def _folder_lost(path: Path, reason: str) -> ProblemError:
    return ProblemError(
        f"{one_line(str(path))} was readable before, and is not now: {reason}. Nothing was written there.",
        "Plug the stick in again, and repeat the command. Imported entries were kept.",
        exit_code=ExitCode.MISSING,
    )


@dataclass(frozen=True, slots=True)
class FolderWriteResult:
    """Result of writing to the folder."""

    path: Path
    feeds: int
    entries: int
    size: int
    """Bytes."""


@dataclass(slots=True)
class FolderContents:
    """The files of the folder."""

    whole: list[Path] = field(default_factory=list)
    """The files that can be read to their end."""
    damaged: dict[str, str] = field(default_factory=dict)
    """The problem of each other file, by name. These files are left as they are."""
    device: int | None = None
    """The disk that the folder is on."""


def require_folder(place: Path) -> None:
    """Check that *place* is a folder; one that is not mounted is not created. Raises ProblemError,
    FileUnreadableError."""
    try:
        there = place.is_dir()
    except OSError as error:
        raise FileUnreadableError(str(place), error) from error
    if not there:
        raise ProblemError(
            f"There is no folder {place}. Nothing was imported or written.",
            "Plug in and mount the stick (`lsblk` shows where), or create the folder first.",
            exit_code=ExitCode.MISSING,
        )


def folder_of(place: Path, network: Network) -> Path:
    """Return the folder in *place* with the files of *network*."""
    tag = network_tag(network)
    return place / FOLDER / (OPEN if tag is None else tag.hex())


def read_folder(place: Path, folder: Path, progress: Callable[[int, int], None]) -> FolderContents:
    """Read all files in *folder*, which is in *place*. *progress* gets the number of files done, and of all.

    Raises ProblemError, also for a folder that is a link; FileUnreadableError.
    """
    _refuse_links(folder)
    found = FolderContents()
    try:
        paths = sorted(filter(_is_ours, folder.iterdir())) if folder.exists() else []
    except OSError as error:
        raise FileUnreadableError(str(folder), error) from error
    if len(paths) > _FILES_MAX:
        raise ProblemError(
            f"{folder} has {len(paths):,} files, and at most {_FILES_MAX:,} are read. "
            "Nothing was imported, and nothing was written there.",
            "Move old files elsewhere, or delete them when all nodes have imported them: "
            "nodes write what the folder lacks again.",
            exit_code=ExitCode.DATA,
        )
    for number, path in enumerate(paths):
        progress(number, len(paths))
        try:
            # Only a check that the file is whole: nothing of a damaged one may count.
            for _ in pieces_in(path):
                pass
            found.whole.append(path)
        except UNREADABLE as error:
            found.damaged[path.name] = reason_of(error)
    found.device = _device_of(place)
    return found


def _refuse_links(folder: Path) -> None:
    """Check that neither *folder* nor the one around it is a symbolic link: a stick that a stranger prepared must not
    direct us elsewhere on this machine. The place around both is the user's choice. Raises ProblemError."""
    for part in (folder.parent, folder):
        if part.is_symlink():
            raise ProblemError(
                f"{one_line(str(part))} is a link to another place, and is not followed. Nothing was written there.",
                "Delete the link: `tinyssb carry` makes a folder of that name. To use the other place, name it.",
                exit_code=ExitCode.DATA,
            )


def _is_ours(path: Path) -> bool:
    """Return whether *path* is a file to read. Files that other systems put beside it (``._x.tssb``) are not, nor is
    anything that is not a regular file: reading a pipe would block, and a link's file is not in the folder."""
    if path.suffix != SUFFIX or path.name.startswith("."):
        return False
    try:
        return stat.S_ISREG(path.lstat().st_mode)
    except OSError:
        return True  # reading it will show the problem


def _device_of(place: Path) -> int | None:
    """Return the disk that *place* is on; None: it no longer exists."""
    try:
        return place.stat().st_dev
    except OSError:
        return None


def reason_of(error: OSError | ExportFileError) -> str:
    """Return why a file cannot be read."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else error.problem


def pieces_in(path: Path) -> Iterator[Piece]:
    """Read the pieces of a file. Raises OSError, ExportFileError."""
    with path.open("rb") as file:
        yield from read_export(file)


def import_folder(
    node: DaemonClient,
    found: FolderContents,
    opened: Callable[[], Store],
    taken: ImportResult,
    progress: Callable[[int, int], None],
) -> None:
    """Offer *node* what its store, which *opened* opens, lacks of the files *found*, and count the results in *taken*.
    Files that can no longer be read count as damaged. *progress* as in ``read_folder``."""
    paths = found.whole
    blocked = {row.feed for row in node.feeds() if row.blocked}
    for _ in range(16):  # once or twice is usual, as files are read by name; more where files were renamed
        before, again = taken.entries, list[Path]()
        for number, path in enumerate(paths):
            progress(number, len(paths))
            taken.forget_early(path.name)
            # Opened again for each file: what one brought is not offered from the next.
            with closing(opened()) as store:
                try:
                    offer(node, path.name, lacked(path.name, pieces_in(path), store, blocked, taken), taken)
                except UNREADABLE as error:
                    found.damaged[path.name] = reason_of(error)
                    taken.forget_early(path.name)
            if path.name in taken.early_in:
                again.append(path)
        if taken.entries == before or not again:
            break
        # What was missing may be here by now: the names of files have no order.
        paths = again
    found.whole = [path for path in found.whole if path.name not in found.damaged]


def export_to_folder(
    place: Path, folder: Path, store: Store, found: FolderContents, node: FeedId
) -> FolderWriteResult | None:
    """Write a file to *folder*, which is in *place*, with all of *store* that is in none of the whole files *found*. It
    is named after *node*, our own feed. Return None if they lack nothing.

    Raises ProblemError.
    """
    cover = ExportCoverage(store)
    for whole in found.whole:
        try:
            cover.add(pieces_in(whole))
        except UNREADABLE as error:
            raise _folder_lost(whole, reason_of(error)) from error
    if found.device is None or _device_of(place) != found.device:
        # If the stick was unplugged, its folder may now be an empty one on our own disk.
        raise _folder_lost(place, "no disk or another disk is mounted there")
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
        raise ProblemError(
            f"{path} was written, but the disk did not confirm it: {error.strerror}. It may be lost or damaged.",
            "Plug the stick in again, and repeat the command: it writes what is missing.",
            exit_code=ExitCode.STORAGE,
        ) from error
    return FolderWriteResult(path, len(lacking), entries, size)


def _free_path(folder: Path, node: FeedId) -> Path:
    """Return the name of the next file of *node*: after the last number, or a free one, because names on a stick may be
    anyone's choice. Raises ProblemError."""
    name = node.hex()[:12]  # as many as listings show
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
    """Create *folder*, and the one for all networks, in a place that exists. Raises ProblemError."""
    _refuse_links(folder)
    try:
        folder.parent.mkdir(exist_ok=True)
        folder.mkdir(exist_ok=True)
    except OSError as error:
        raise _unusable(folder, error) from error


def _unusable(folder: Path, error: OSError) -> ProblemError:
    return ProblemError(
        f"{folder} cannot be written: {error.strerror}. Nothing was written there.",
        "Check that the stick is plugged in, not write-protected and not full. `--take` only imports.",
        exit_code=ExitCode.STORAGE,
    )
