"""Event logs in folders of this machine and in object stores: listed and read through one small port."""

import os
import time
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from typing import Final, Protocol

import pyarrow as pa
import pyarrow.fs

from spark_sink import limits
from spark_sink.errors import NoLogsFolderError
from spark_sink.segments import NETWORKS, NODE, SEGMENT, Listing, Segment

_DEPTH_MAX: Final = 5  # of a node's folder: <home>/<user>/.tinyssb/events/<node>


class LogFiles(Protocol):
    """All nodes' logs below one place.

    A node's folder is any folder named by 16 hexadecimal digits, so the place given may be a node's own events folder,
    a home with ``events/<node>`` in it, or a folder of many such. Further networks of a home are left out.
    """

    def listing(self) -> Listing:
        """Return the segments that exist now. Raises NoLogsFolderError; OSError if something may not be read."""
        ...

    def read(self, path: str, low: int, high: int) -> bytes:
        """Return bytes *low* to *high* of a file, fewer at its end. Raises FileNotFoundError; OSError."""
        ...

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Return unreadable folders, with reasons, as of the last listing."""
        ...


@dataclass(frozen=True, slots=True)
class _Seen:
    """State of a folder when it was listed."""

    modified_ns: int
    looked_ns: int
    settled: bool
    """It had not changed just before: its next change is sure to give it another time."""
    inner: tuple[str, ...] = ()
    segments: tuple[Segment, ...] = ()


class LocalLogFiles:
    """All nodes' logs below one folder (`log_files.LogFiles`).

    A folder with an unchanged modification time has the same files; then only the size of its newest segment is read.
    This misses an older segment that grows in place, so every folder is listed again once a minute.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._seen: dict[str, _Seen] = {}
        self._joined: dict[str, tuple[list[tuple[Segment, ...]], tuple[Segment, ...]]] = {}
        self._closed: list[str] = []

    def listing(self) -> Listing:
        """Return the segments that exist now. Raises NoLogsFolderError; OSError if a node's folder may not be read."""
        if not os.path.isdir(self._root):  # noqa: PTH112 - called often
            raise NoLogsFolderError(self._root)
        now_ns = time.time_ns()
        before, self._seen = self._seen, {}
        self._closed = []
        found: dict[str, list[tuple[Segment, ...]]] = {}
        for node, seen in self._walk(self._root, 0, before, now_ns):
            if seen.segments:
                found.setdefault(node, []).append(seen.segments)
        self._joined = {node: (lists, self._join(node, lists)) for node, lists in sorted(found.items())}
        return {node: joined for node, (_, joined) in self._joined.items()}

    def _join(self, node: str, lists: list[tuple[Segment, ...]]) -> tuple[Segment, ...]:
        """Join the segments of several folders; the same object while none of them changes."""
        if len(lists) == 1:
            return lists[0]
        before, joined = self._joined.get(node, ([], ()))
        if len(before) == len(lists) and all(one is other for one, other in zip(before, lists, strict=True)):
            return joined
        return tuple(sorted(segment for one in lists for segment in one))

    def read(self, path: str, low: int, high: int) -> bytes:
        """Return bytes *low* to *high* of a file, fewer at its end. Raises FileNotFoundError; OSError."""
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            return os.pread(file, high - low, low)
        finally:
            os.close(file)

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Return unreadable folders, with reasons, as of the last listing."""
        return [
            (folder, "permission to read this folder is missing: it is not searched for logs")
            for folder in self._closed
        ]

    def _walk(
        self, folder: str, depth: int, before: dict[str, _Seen], now_ns: int
    ) -> Iterator[tuple[str, _Seen]]:
        """Yield nodes' folders, each by its name and with its files."""
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
        if is_node:
            yield node, seen
        elif depth < _DEPTH_MAX:
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
    inner, segments = [], []
    with os.scandir(folder) as entries:
        for entry in entries:
            with suppress(FileNotFoundError):  # deleted since its name was read
                if is_node:
                    if found := SEGMENT.match(entry.name):
                        segments.append(Segment(int(found[1]), int(found[2]), entry.stat().st_size, folder))
                elif entry.name != NETWORKS and _is_folder(entry):
                    inner.append(entry.path)
    settled = now_ns - modified_ns > 5 * 10**9  # file systems keep times to 2 s (FAT)
    return _Seen(modified_ns, now_ns, settled, tuple(sorted(inner)), tuple(sorted(segments)))


def _is_folder(entry: "os.DirEntry[str]") -> bool:
    try:
        return entry.is_dir()
    except PermissionError:
        return True  # a link to a forbidden place: reported like a folder without permission


def _grown(known: _Seen) -> _Seen:
    """Update the size of the newest segment in a folder with the same files."""
    if not known.segments:
        return known
    last = known.segments[-1]
    size = os.stat(last.path).st_size  # noqa: PTH116 - called often
    if size == last.size:
        return known
    segments = (*known.segments[:-1], last._replace(size=size))
    return replace(known, segments=segments)


SCHEME: Final = "s3://"
"""Scheme of such addresses: ``s3://bucket/prefix``."""


def connect(root: str, endpoint: str = "") -> "ObjectStoreLogFiles":
    """Connect to logs below ``s3://bucket/prefix``; *endpoint*, as ``http://host:port``, is for a store other than
    Amazon's.

    Keys, region and, if not given, the endpoint come from the usual variables of the environment: AWS_ACCESS_KEY_ID,
    AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL. Nothing is requested from the store yet.
    """
    place = endpoint or os.environ.get("AWS_ENDPOINT_URL", "")
    scheme, _, host = place.rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    store = pa.fs.S3FileSystem(
        **({"endpoint_override": host, "scheme": scheme or "https"} if host else {}),
        **({"region": region} if region else {}),
    )
    return ObjectStoreLogFiles(store, root.removeprefix(SCHEME), SCHEME)


class ObjectStoreLogFiles:
    """All nodes' logs below one prefix (`log_files.LogFiles`).

    A store lists all of its objects at once, and slowly: a listing is used for some seconds.
    """

    def __init__(self, store: "pa.fs.FileSystem", root: str, scheme: str) -> None:
        self._store = store
        self._root = root.rstrip("/")
        self._scheme = scheme
        self._listing: Listing = {}
        self._again_s = 0.0

    def listing(self) -> Listing:
        """Return the segments of a recent listing. Raises NoLogsFolderError; OSError if it may not be listed."""
        began_s = time.monotonic()
        if began_s >= self._again_s:
            self._listing = self._list()
            now_s = time.monotonic()
            self._again_s = now_s + max(limits.LISTING_AGE_S, limits.LISTING_SHARE * (now_s - began_s))
        return self._listing

    def read(self, path: str, low: int, high: int) -> bytes:
        """Return bytes *low* to *high* of an object, fewer at its end. Raises FileNotFoundError; OSError."""
        with self._store.open_input_file(path.removeprefix(self._scheme)) as file:
            return bytes(file.read_at(max(0, min(high, file.size()) - low), low))

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Return nothing: a store lists all or nothing."""
        return ()

    def _list(self) -> Listing:
        try:
            infos = self._store.get_file_info(pa.fs.FileSelector(self._root, recursive=True))
        except FileNotFoundError as error:
            raise NoLogsFolderError(self._scheme + self._root) from error
        found: dict[str, list[Segment]] = {}
        for info in infos:
            if info.type == pa.fs.FileType.File:
                node, segment = self._segment(info.path, info.size)
                if segment is not None:
                    found.setdefault(node, []).append(segment)
        return {node: self._known(node, tuple(sorted(segments))) for node, segments in sorted(found.items())}

    def _segment(self, path: str, size: int) -> tuple[str, Segment | None]:
        """Return a segment and its node; None for any other object."""
        folder, _, name = path.rpartition("/")
        inner = folder[len(self._root) :].strip("/").split("/")
        node = folder.rpartition("/")[2]
        numbers = SEGMENT.match(name)
        if numbers is None or NODE.match(node) is None:
            return node, None
        if len(inner) > _DEPTH_MAX + 1 or NETWORKS in inner[:-1]:
            return node, None
        return node, Segment(int(numbers[1]), int(numbers[2]), size, self._scheme + folder)

    def _known(self, node: str, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """Return the same object while nothing changes, so that callers need not compare."""
        before = self._listing.get(node)
        return before if before == segments and before is not None else segments


def open_files(path: str, endpoint: str = "") -> LogFiles:
    """Open the logs below a folder, or below ``s3://bucket/prefix`` of the store at *endpoint*. Reads nothing yet."""
    if path.startswith(SCHEME):
        return connect(path, endpoint)
    return LocalLogFiles(path)


@cache
def opened(path: str, endpoint: str) -> LogFiles:
    """Return the same for the same place: a process runs many tasks."""
    return open_files(path, endpoint)
