"""Files of the shipper: segments of event logs, which it reads, and its saved state."""

import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import msgspec

from tinyssb_node.daemon.eventlog_segments import segment_path, segments
from tinyssb_node.errors import ExitCode, HomeInaccessibleError, ProblemError, StoreLockedError
from tinyssb_node.ids import NetworkName
from tinyssb_node.shipping import limits
from tinyssb_node.shipping.shipment import LogPosition, ShippingState
from tinyssb_node.shipping.wire import SegmentId, SegmentSlice, fingerprint
from tinyssb_node.store.home import Home
from tinyssb_node.store.lock import FolderLock

SHIP_FOLDER = "ship"
"""Folder of the saved state, in the home."""
SHIP_VERSION = 1
"""Version of its files."""


class ShippingBusyError(ProblemError):
    """Another shipper already ships this node's logs."""

    exit_code = ExitCode.BUSY

    def __init__(self, root: Path, pid: int | None) -> None:
        who = "another process" if pid is None else f"process {pid}"
        super().__init__(
            f"The event log of the node in {root} is already shipped by {who}. Nothing was done.",
            "The daemon starts the shipper if `ship.enabled` in config.toml says so; stop that one first.",
        )


def claim_shipping(home: Home) -> FolderLock:
    """Take the lock of the only shipper of a node. Raises ShippingBusyError, HomeInaccessibleError."""
    folder = home.root / SHIP_FOLDER
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        return FolderLock(folder)
    except StoreLockedError as error:
        raise ShippingBusyError(home.root, error.pid) from error
    except OSError as error:
        raise HomeInaccessibleError(
            f"The folder {folder} cannot be used: {error.strerror}.",
            "Check who owns it, and whether its disk has room.",
        ) from error


def state_path(home: Home, network: NetworkName) -> Path:
    """Return the path of the saved state of *network*."""
    return home.root / SHIP_FOLDER / f"{network}.json"


class LogFolder:
    """Segments of one log, listed often and cheaply."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._paths: dict[SegmentId, Path] = {}
        self._sizes: dict[SegmentId, int] = {}
        self._changed_ns = -1
        self._looked_us = 0

    def sizes(self, now_us: int) -> Mapping[SegmentId, int]:
        """Return the segments in order, with their sizes. Raises OSError.

        While the folder is unchanged, and for a minute at most, only the newest is read again: no other grows.
        """
        try:
            changed_ns = self._folder.stat().st_mtime_ns
        except FileNotFoundError:
            return {}  # the daemon has not made it yet
        if changed_ns != self._changed_ns or now_us - self._looked_us >= limits.LOOK_AGAIN_US:
            self._changed_ns, self._looked_us = changed_ns, now_us
            found = segments(self._folder)
            self._paths = {SegmentId(one.boot, one.first_offset): one.path for one in found}
            self._sizes = dict.fromkeys(self._paths, 0)
            asked = list(self._paths)
        else:
            asked = list(self._paths)[-1:]
        for segment in asked:
            try:
                self._sizes[segment] = self._paths[segment].stat().st_size
            except FileNotFoundError:
                self._sizes.pop(segment, None)
                self._changed_ns = -1
        return self._sizes

    def read(self, piece: SegmentSlice) -> tuple[bytes, bytes] | None:
        """Return the bytes of *piece*, and the fingerprint of those before; None if they are not there any more.

        Raises OSError.
        """
        path = segment_path(self._folder, *piece.segment)
        try:
            file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            near = min(piece.at, limits.PRINT_BYTES)
            head, tail = os.pread(file, near, 0), os.pread(file, near, piece.at - near)
            content = os.pread(file, piece.size, piece.at)
        finally:
            os.close(file)
        return (content, fingerprint(head, tail)) if len(content) == piece.size else None


class ShipperStatus(msgspec.Struct, frozen=True, kw_only=True):
    """Status of the shipper, for `tinyssb ship status`."""

    connected: bool = False
    """True if the broker can be reached."""
    problem: str = ""
    """Problem that stops it; empty if there is none."""
    acked_us: int = 0
    """Time of the collector's last acknowledgement (wall clock); 0 for never."""
    refused: tuple[tuple[int, int], ...] = ()
    """Segments of which the collector has other bytes."""


class _File(msgspec.Struct, kw_only=True):
    """The file, as JSON."""

    v: int
    node: str
    acked: tuple[int, int, int]
    under_way: list[tuple[int, int, int, int]]
    life: int | None
    told: ShipperStatus


def read_saved(path: Path, node: str) -> tuple[ShippingState, ShipperStatus]:
    """Return the saved state of *node*; empty if there is none, or it is unusable: then the collector is asked."""
    try:
        found = msgspec.json.decode(path.read_bytes(), type=_File)
    except (OSError, msgspec.MsgspecError):
        return ShippingState(), ShipperStatus()
    if (found.v, found.node) != (SHIP_VERSION, node) or len(found.under_way) > limits.UNDER_WAY_MAX:
        return ShippingState(), ShipperStatus()
    boot, first, byte = found.acked
    under_way = tuple(
        SegmentSlice(SegmentId(boot, first), at, size) for boot, first, at, size in found.under_way
    )
    return ShippingState(LogPosition(SegmentId(boot, first), byte), under_way, found.life), found.told


def serialize_saved(node: str, saved: ShippingState, told: ShipperStatus) -> bytes:
    """Serialize the state of *node* for ``read_saved``."""
    record = _File(
        v=SHIP_VERSION,
        node=node,
        acked=(*saved.acked.segment, saved.acked.byte),
        under_way=[(*piece.segment, piece.at, piece.size) for piece in saved.under_way],
        life=saved.life,
        told=told,
    )
    return msgspec.json.encode(record) + b"\n"


def write_saved(path: Path, state: bytes) -> None:
    """Replace the saved state in one step. Raises OSError.

    It is not synced: if a power cut loses it, the collector is asked.
    """
    descriptor, name = tempfile.mkstemp(prefix=".ship-", dir=path.parent)
    part = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(state)
        part.replace(path)
    except OSError:
        part.unlink(missing_ok=True)
        raise
