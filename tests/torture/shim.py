"""The shim under SQLite and the event log: built from shim.c, loaded before the C library (decision 0035)."""

import ctypes
import hashlib
import os
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum, IntFlag
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
_RECORD = struct.Struct("=BBHIq")


class Call(IntFlag):
    """Calls that may fail."""

    WRITE = 1
    SYNC = 2
    TRUNCATE = 4
    OPEN = 8
    NAMES = 16
    READ_ONLY = 32
    """Opening what is there for writing."""


class How(IntEnum):
    """The fate of a call."""

    FAIL = 0
    SHORT = 1
    """A write writes its first half; only what follows fails."""
    KILL = 2
    """SIGKILL, in the middle of a write or before any other call."""


@dataclass(frozen=True, slots=True)
class Did:
    """One thing that a program did."""

    kind: str
    """W(rite), T(runcate), S(ync), C(reate), U(nlink), K (mkdir), M(ark)."""
    failed: bool
    path: Path
    number: int
    """Offset of a write, size after a truncation, number of a mark."""
    data: bytes


def build() -> Path:
    """Compile the shim unless that was done before; returns the library."""
    digest = hashlib.sha256(SOURCE.read_bytes()).hexdigest()[:16]
    library = Path(tempfile.gettempdir()) / f"tinyssb-torture-{os.getuid()}-{digest}.so"
    if not library.exists():
        fresh = library.with_suffix(f".{os.getpid()}")
        command = [
            "gcc",
            "-O1",
            "-Wall",
            "-Wextra",
            "-shared",
            "-fPIC",
            "-o",
            str(fresh),
            str(SOURCE),
            "-ldl",
        ]
        subprocess.run(command, check=True)
        fresh.rename(library)
    return library


def environment(library: Path) -> dict[str, str]:
    """Return the environment of a program with the shim below it."""
    return {**os.environ, "LD_PRELOAD": str(library)}


class Shim:
    """The shim that this process has below it."""

    def __init__(self) -> None:
        self._library = ctypes.CDLL(None)
        self._library.torture_journal.restype = ctypes.c_size_t
        self._library.torture_seen.restype = ctypes.c_long

    @staticmethod
    def loaded() -> bool:
        """Return True if the shim is loaded."""
        return hasattr(ctypes.CDLL(None), "torture_watch")

    @staticmethod
    def load() -> None:
        """Begin this program anew with the shim below it, unless it has."""
        if not Shim.loaded():
            environ = environment(build())
            os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], environ)

    def watch(self, folder: Path | None) -> None:
        """Look at calls below *folder* from now on."""
        self._library.torture_watch(None if folder is None else str(folder).encode())

    def fail(self, calls: Call, at: int, error: int, *, sticky: bool = False, how: How = How.FAIL) -> None:
        """Let the *at*-th of *calls* from now on fail with *error*, and where *sticky* all that follow. 0: none."""
        self._library.torture_fail(int(calls), ctypes.c_long(at), error, int(sticky), int(how))

    def count(self, calls: Call) -> None:
        """Let nothing fail, and count *calls*."""
        self.fail(calls, 0, 0)

    def seen(self) -> int:
        """How many of the calls there were."""
        return int(self._library.torture_seen())

    def record(self, on: bool) -> None:
        """Begin a new journal, or end it."""
        self._library.torture_record(int(on))

    def mark(self, number: int) -> None:
        """Put *number* into the journal."""
        self._library.torture_mark(ctypes.c_int64(number))

    def journal(self) -> list[Did]:
        """Return the calls since the journal began."""
        start = ctypes.POINTER(ctypes.c_ubyte)()
        size = self._library.torture_journal(ctypes.byref(start))
        return list(_parse(ctypes.string_at(start, size))) if size else []


def _parse(raw: bytes) -> Iterator[Did]:
    at = 0
    while at < len(raw):
        kind, failed, path_size, data_size, number = _RECORD.unpack_from(raw, at)
        at += _RECORD.size
        path = Path(os.fsdecode(raw[at : at + path_size]))
        at += path_size
        yield Did(chr(kind), bool(failed), path, number, raw[at : at + data_size])
        at += data_size
