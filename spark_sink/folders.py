"""The nodes' folders of logs on disk, as a listing that can be planned over."""

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from spark_sink import limits
from spark_sink.blocks import record_before
from spark_sink.errors import NoLogsFolderError, TwoFoldersError
from spark_sink.segments import Listing, Segment

_NODE: Final = re.compile(r"[0-9a-f]{16}\Z")
_NETWORKS: Final = "networks"
"""Where a home has the logs of its further networks, one mesh each: not to be mixed with this one."""
_SEGMENT: Final = re.compile(r"[0-9]{8}-[0-9]{12}\.jsonl\Z")


class Folders:
    """All nodes' logs below one folder.

    A node's folder is any folder named by 16 hexadecimal digits, so the folder given may be a node's own events
    folder, a home with ``events/<node>`` in it, or a folder of many such. Further networks of a home are left out.
    """

    def __init__(self, root: str) -> None:
        self._root = root
        self._nodes: dict[str, str] = {}
        self._tails: dict[str, tuple[int, Segment]] = {}

    def path(self, node: str, segment: str) -> str:
        """Where a segment lies; *node* was in the last listing."""
        return str(Path(self._nodes[node]) / segment)

    def listing(self) -> Listing:
        """What is there now. Raises NoLogsFolderError, TwoFoldersError; OSError if a folder may not be read."""
        if not Path(self._root).is_dir():
            raise NoLogsFolderError(self._root)
        nodes: dict[str, str] = {}
        for folder in _node_folders(self._root, 0):
            node = Path(folder).name
            if node in nodes:
                raise TwoFoldersError(node, nodes[node], folder)
            nodes[node] = folder
        self._nodes = nodes
        listings = {node: self._segments(folder) for node, folder in sorted(nodes.items())}
        return {node: segments for node, segments in listings.items() if segments}

    def _segments(self, folder: str) -> list[Segment]:
        """Names first, sizes after: a segment that has a successor has its last size."""
        names = sorted(path.name for path in Path(folder).iterdir() if _SEGMENT.match(path.name))
        segments = []
        for name in names:
            path = Path(folder) / name
            try:
                size = path.stat().st_size
            except FileNotFoundError:
                continue  # deleted since: planning finds out whether it was needed
            segments.append(
                Segment(name, size) if name != names[-1] else self._growing(str(path), name, size)
            )
        return segments

    def _growing(self, path: str, name: str, size: int) -> Segment:
        """The last segment of a node, up to its last line feed. Looked at again only when its size has changed."""
        known = self._tails.get(path)
        if known is None or known[0] != size:
            known = (size, _readable(path, name, size))
            self._tails[path] = known
        return known[1]


def _node_folders(folder: str, depth: int) -> Iterator[str]:
    if _NODE.match(Path(folder).name):
        yield folder
    elif depth < limits.FOLDER_DEPTH_MAX:
        with os.scandir(folder) as entries:
            inner = [entry.path for entry in entries if entry.is_dir() and entry.name != _NETWORKS]
            for path in sorted(inner):
                yield from _node_folders(path, depth + 1)


def _readable(path: str, name: str, size: int) -> Segment:
    with Path(path).open("rb") as file:
        end = size
        while end > 0:
            low = max(0, end - limits.TAIL_SIZE)
            file.seek(low)
            found = file.read(end - low).rfind(b"\n")
            if found >= 0:
                last = record_before(file, low + found + 1)
                if last is None:
                    return Segment(name, low + found + 1)
                return Segment(name, low + found + 1, last["offset"] + 1, last.get("kind") == "stop")
            end = low
    return Segment(name, 0)
