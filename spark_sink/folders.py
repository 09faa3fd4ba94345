"""Logs in folders of this machine, listed often and cheaply."""

import os
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from spark_sink import limits
from spark_sink.archive.index import ArchiveFile, ArchiveIndex
from spark_sink.errors import NoLogsFolderError
from spark_sink.log_files import ARCHIVED, DAY, NETWORKS, NODE, SEGMENT
from spark_sink.segments import Listing, Segment


@dataclass(frozen=True, slots=True)
class _Seen:
    """A folder as it was when it was looked at."""

    modified_ns: int
    looked_ns: int
    settled: bool
    """It had not changed just before: its next change is sure to give it another time."""
    inner: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()
    archived: tuple[ArchiveFile, ...] = ()


class Folders:
    """All nodes' logs below one folder (`log_files.LogFiles`).

    A folder whose time of change is as it was has the same files: then only its newest segment is asked for its size.
    For what that misses (a segment that is not the newest and grows where it lies) every folder is looked at anew once
    a minute.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: dict[str, _Seen] = {}
        self._index = ArchiveIndex(self.read)
        self._joined: dict[str, tuple[list[tuple[Segment, ...]], tuple[Segment, ...]]] = {}
        self._closed: list[str] = []

    def listing(self) -> Listing:
        """What is there now. Raises NoLogsFolderError; OSError if a node's folder, or all of it, may not be read."""
        if not os.path.isdir(self._root):  # noqa: PTH112 - called often
            raise NoLogsFolderError(self._root)
        now_ns = time.time_ns()
        before, self._seen = self._seen, {}
        self._closed = []
        found: dict[str, list[tuple[Segment, ...]]] = {}
        archived: list[ArchiveFile] = []
        for node, seen in self._walk(self._root, 0, before, now_ns):
            archived += seen.archived
            if seen.segments:
                found.setdefault(node, []).append(seen.segments)
        for node, segments in self._index.update(archived).items():
            found.setdefault(node, []).append(segments)
        self._joined = {node: (lists, self._join(node, lists)) for node, lists in sorted(found.items())}
        return {node: joined for node, (_, joined) in self._joined.items()}

    def _join(self, node: str, lists: list[tuple[Segment, ...]]) -> tuple[Segment, ...]:
        """The segments of several folders; the same object while none of them changes."""
        if len(lists) == 1:
            return lists[0]
        before, joined = self._joined.get(node, ([], ()))
        if len(before) == len(lists) and all(one is other for one, other in zip(before, lists, strict=True)):
            return joined
        return tuple(sorted(segment for one in lists for segment in one))

    def read(self, path: str, low: int, high: int) -> bytes:
        """Bytes *low* to *high* of a file, fewer at its end. Raises FileNotFoundError; OSError."""
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(file, high - low, low)
        finally:
            os.close(file)

    def open(self, path: str) -> "pa.NativeFile":
        """A file for reading here and there. Raises FileNotFoundError; OSError."""
        return pa.memory_map(path)

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Files of archives that could not be listed, and folders of no node; why, as of the last listing."""
        closed = [
            (folder, "this folder may not be read: no logs are looked for in it") for folder in self._closed
        ]
        return [*self._index.passed_over(), *closed]

    def _walk(
        self, folder: str, depth: int, before: dict[str, _Seen], now_ns: int
    ) -> Iterator[tuple[str, _Seen]]:
        """Nodes' folders and archives' days, each by its name and with its files."""
        node = os.path.basename(os.path.abspath(folder))  # noqa: PTH100, PTH119 - called often
        is_node = NODE.match(node) is not None
        try:
            seen = _look(folder, before.get(folder), now_ns, is_node=is_node)
        except FileNotFoundError:
            return  # gone since its name was read
        except PermissionError:
            if is_node or depth == 0:
                raise
            self._closed.append(folder)  # as lost+found is, where a file system was put
            return
        self._seen[folder] = seen
        if is_node or DAY.match(node):
            yield node, seen
        elif depth < limits.FOLDER_DEPTH_MAX:
            for inner in seen.inner:
                yield from self._walk(inner, depth + 1, before, now_ns)


def _look(folder: str, known: _Seen | None, now_ns: int, *, is_node: bool) -> _Seen:
    modified_ns = os.stat(folder).st_mtime_ns  # noqa: PTH116 - called often
    if (
        known is not None
        and known.settled
        and known.modified_ns == modified_ns
        and now_ns - known.looked_ns < limits.FOLDER_LOOK_NS
    ):
        return _grown(known)
    inner, segments, archived = [], [], []
    is_day = DAY.match(os.path.basename(os.path.abspath(folder))) is not None  # noqa: PTH100, PTH119 - called often
    with os.scandir(folder) as entries:
        for entry in entries:
            if is_node:
                if found := SEGMENT.match(entry.name):
                    segment = _segment(entry, int(found[1]), int(found[2]), folder)
                    segments += [segment] if segment else []
            elif is_day:
                archived += _archived(entry)
            elif entry.name != NETWORKS and _is_folder(entry):
                inner.append(entry.path)
    settled = now_ns - modified_ns > limits.FOLDER_SETTLED_NS
    return _Seen(
        modified_ns, now_ns, settled, tuple(sorted(inner)), tuple(sorted(segments)), tuple(sorted(archived))
    )


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except PermissionError:
        return True  # a link to where nobody may look: told of like a folder that may not be read


def _archived(entry: "os.DirEntry[str]") -> list[ArchiveFile]:
    if not ARCHIVED.match(entry.name):
        return []
    try:
        return [ArchiveFile(entry.path, entry.stat().st_size, entry.stat().st_mtime_ns)]
    except FileNotFoundError:
        return []  # deleted since its name was read


def _segment(entry: "os.DirEntry[str]", boot: int, first: int, folder: str) -> Segment | None:
    try:
        return Segment(boot, first, entry.stat().st_size, folder)
    except FileNotFoundError:
        return None  # deleted since its name was read


def _grown(known: _Seen) -> _Seen:
    """A folder with the same files: the newest may have grown."""
    if not known.segments:
        return known
    last = known.segments[-1]
    size = os.stat(last.path).st_size  # noqa: PTH116 - called often
    if size == last.size:
        return known
    segments = (*known.segments[:-1], last._replace(size=size))
    return replace(known, segments=segments)
