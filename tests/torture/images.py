"""Images of a disk after power was lost, built from the journal of a program's writes and syncs.

A model of what POSIX promises, and no more. What was written to a file since its last sync may be there or not, sector
by sector, in any order; so may a truncation. Names made or removed in a folder since the folder was synced are lost
from the latest on. What a failed sync should have kept is never written: that is what Linux does.
"""

import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from tests.torture.shim import Did

SECTOR: Final = 512
"""Bytes that a disk writes whole or not at all."""


@dataclass(slots=True)
class _File:
    """The file that a name stands for."""

    safe: bytes = b""
    """The bytes that are on the disk for certain."""
    pending: list[Did] = field(default_factory=list)
    """The writes that may be lost."""

    def sync(self, *, failed: bool) -> None:
        """Move waiting writes to the disk; if the sync *failed*, they never get there."""
        if not failed:
            content = bytearray(self.safe)
            for did in self.pending:
                _apply(content, did, None, 1.0)
            self.safe = bytes(content)
        self.pending.clear()

    def after_a_cut(self, chance: random.Random, kept: float) -> bytes:
        content = bytearray(self.safe)
        for did in self.pending:
            _apply(content, did, chance, kept)
        return bytes(content)


def _apply(content: bytearray, did: Did, chance: random.Random | None, kept: float) -> None:
    """Do what *did* says; with *chance* only the part that was written before power was lost."""
    if did.kind == "T":
        if chance is None or chance.random() < kept:
            del content[did.number :]
            content.extend(bytes(did.number - len(content)))
        return
    end = did.number + len(did.data)
    start = did.number
    while start < end:
        stop = min(end, (start // SECTOR + 1) * SECTOR)
        if chance is None or chance.random() < kept:
            content.extend(bytes(max(0, stop - len(content))))
            content[start:stop] = did.data[start - did.number : stop - did.number]
        start = stop


class Disk:
    """A folder and all below it, as a disk and the system's cache have it."""

    def __init__(self, root: Path) -> None:
        """Begin with what is below *root* now, all of it safe."""
        self._names: dict[Path, _File | None] = {}
        """The names in the cache; None for a folder."""
        self._unsynced: dict[Path, list[tuple[Path, _File | None, bool]]] = {}
        """Changes of a folder's names that are not on the disk: the name, what it stood for, whether it was made."""
        for path in root.rglob("*"):
            self._names[path] = None if path.is_dir() else _File(path.read_bytes())
        self.root = root

    def do(self, did: Did) -> None:
        """One more thing that was done."""
        match did.kind:
            case "C" | "K":
                made = _File() if did.kind == "C" else None
                self._names[did.path] = made
                self._unsynced.setdefault(did.path.parent, []).append((did.path, made, True))
            case "U":
                gone = self._names.pop(did.path)
                self._unsynced.setdefault(did.path.parent, []).append((did.path, gone, False))
            case "S":
                file = self._names.get(did.path)
                if file is not None:
                    file.sync(failed=did.failed)
                elif not did.failed:
                    self._unsynced.pop(did.path, None)
            case "W" | "T":
                file = self._names[did.path]
                assert file is not None
                file.pending.append(did)

    def cut(self, chance: random.Random) -> dict[Path, bytes | None]:
        """Return a state that is possible if power is lost now: content by path below the root, None for a folder."""
        names = dict(self._names)
        for changes in self._unsynced.values():
            for path, file, made in reversed(changes[_some(chance, len(changes)) :]):
                if made:
                    names.pop(path, None)
                else:
                    names[path] = file
        image: dict[Path, bytes | None] = {}
        for path in sorted(names):
            if not all(parent in names for parent in path.parents if self.root in parent.parents):
                continue
            file, kept = names[path], chance.choice((0.0, 0.5, 0.9, 1.0))
            # The index that SQLite maps into memory is written to by no call: it may hold anything.
            shared = path.name.endswith("-shm")
            if file is None:
                image[path.relative_to(self.root)] = None
            else:
                content = file.after_a_cut(chance, kept)
                image[path.relative_to(self.root)] = chance.randbytes(len(content)) if shared else content
        return image


def _some(chance: random.Random, count: int) -> int:
    """All, none or some of *count*."""
    return chance.choice((0, count, chance.randint(0, count)))


def write_image(image: dict[Path, bytes | None], folder: Path) -> None:
    """Make *folder* hold *image*."""
    folder.mkdir(mode=0o700, parents=True)
    for path, content in image.items():
        if content is None:
            (folder / path).mkdir()
        else:
            (folder / path).write_bytes(content)
