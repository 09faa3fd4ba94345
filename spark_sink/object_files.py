"""Logs in an object store that speaks S3, through Arrow's file systems."""

import os
import time
from collections.abc import Sequence
from typing import Final

import pyarrow as pa
import pyarrow.fs

from spark_sink import limits
from spark_sink.archive.index import ArchiveFile, ArchiveIndex
from spark_sink.errors import NoLogsFolderError
from spark_sink.log_files import ARCHIVED, DAY, NETWORKS, NODE, SEGMENT
from spark_sink.segments import Listing, Segment

SCHEME: Final = "s3://"
"""How addresses of such places begin: ``s3://bucket/prefix``."""


def connect(root: str, endpoint: str = "") -> "ObjectFiles":
    """Logs below ``s3://bucket/prefix``; *endpoint* names a store that is not Amazon's, as ``http://host:port``.

    Keys, region and, if not given, the endpoint come from the environment as with all programs of this kind:
    AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION, AWS_ENDPOINT_URL. Nothing is asked of the store yet.
    """
    place = endpoint or os.environ.get("AWS_ENDPOINT_URL", "")
    scheme, _, host = place.rpartition("://")
    region = os.environ.get("AWS_REGION") or os.environ.get("AWS_DEFAULT_REGION")
    store = pa.fs.S3FileSystem(
        **({"endpoint_override": host, "scheme": scheme or "https"} if host else {}),
        **({"region": region} if region else {}),
    )
    return ObjectFiles(store, root.removeprefix(SCHEME), SCHEME)


class ObjectFiles:
    """All nodes' logs below one prefix (`log_files.LogFiles`).

    A store tells of all its objects or of none, and takes its time: a listing is used for some seconds.
    """

    def __init__(self, store: "pa.fs.FileSystem", root: str, scheme: str) -> None:
        self._store = store
        self._root = root.rstrip("/")
        self._scheme = scheme
        self._listing: Listing = {}
        self._index = ArchiveIndex(self.read)
        self._again_s = 0.0

    def listing(self) -> Listing:
        """What is there now, or was a moment ago. Raises NoLogsFolderError; OSError if it may not be listed."""
        began_s = time.monotonic()
        if began_s >= self._again_s:
            self._listing = self._list()
            now_s = time.monotonic()
            self._again_s = now_s + max(limits.LISTING_AGE_S, limits.LISTING_SHARE * (now_s - began_s))
        return self._listing

    def read(self, path: str, low: int, high: int) -> bytes:
        """Bytes *low* to *high* of an object, fewer at its end. Raises FileNotFoundError; OSError."""
        with self._store.open_input_file(path.removeprefix(self._scheme)) as file:
            return bytes(file.read_at(max(0, min(high, file.size()) - low), low))

    def open(self, path: str) -> "pa.NativeFile":
        """An object for reading here and there. Raises FileNotFoundError; OSError."""
        return self._store.open_input_file(path.removeprefix(self._scheme))

    def passed_over(self) -> Sequence[tuple[str, str]]:
        """Objects of archives that could not be listed, and why, as of the last listing."""
        return self._index.passed_over()

    def _list(self) -> Listing:
        try:
            infos = self._store.get_file_info(pa.fs.FileSelector(self._root, recursive=True))
        except FileNotFoundError as error:
            raise NoLogsFolderError(self._scheme + self._root) from error
        found: dict[str, list[Segment]] = {}
        archived = []
        for info in infos:
            folder, _, name = info.path.rpartition("/")
            if info.type != pa.fs.FileType.File:
                continue
            if DAY.match(folder.rpartition("/")[2]) and ARCHIVED.match(name):
                archived.append(ArchiveFile(self._scheme + info.path, info.size, info.mtime_ns))
            else:
                node, segment = self._segment(info.path, info.size)
                if segment is not None:
                    found.setdefault(node, []).append(segment)
        for node, segments in self._index.update(archived).items():
            found.setdefault(node, []).extend(segments)
        return {node: self._known(node, tuple(sorted(segments))) for node, segments in sorted(found.items())}

    def _segment(self, path: str, size: int) -> tuple[str, Segment | None]:
        """A segment and its node; None for any other object."""
        folder, _, name = path.rpartition("/")
        inner = folder[len(self._root) :].strip("/").split("/")
        node = folder.rpartition("/")[2]
        numbers = SEGMENT.match(name)
        if numbers is None or NODE.match(node) is None:
            return node, None
        if len(inner) > limits.FOLDER_DEPTH_MAX + 1 or NETWORKS in inner[:-1]:
            return node, None
        return node, Segment(int(numbers[1]), int(numbers[2]), size, self._scheme + folder)

    def _known(self, node: str, segments: tuple[Segment, ...]) -> tuple[Segment, ...]:
        """The same object while nothing changes, so that nobody has to compare."""
        before = self._listing.get(node)
        return before if before == segments and before is not None else segments
