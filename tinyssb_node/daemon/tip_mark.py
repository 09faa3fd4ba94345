"""The tip mark: how far this node wrote its feed, kept beside the store. Format: ``docs/formats/tip.md``."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from tinyssb_node import limits as sizes
from tinyssb_node.gossip.certainty import TipUncertainty
from tinyssb_node.ids import FeedId, MessageId, NetworkName
from tinyssb_node.store.durable import in_the_place_of
from tinyssb_node.store.port import Store

MARK_VERSION: Final = 1
"""The format written, and the newest read."""
_NO_ID: Final = MessageId(bytes(sizes.MESSAGE_ID_SIZE))
_MACHINE: Final = (Path("/etc/machine-id"), Path("/sys/firmware/devicetree/base/serial-number"))


@dataclass(frozen=True, slots=True)
class MarkedTip:
    """How far the feed was written in one network."""

    seq: int = 0
    """Sequence number of the last entry, 0 for none."""
    id: MessageId = _NO_ID
    """Its message id; zeros for none."""
    doubt: TipUncertainty | None = None
    """Why the node was not certain of this tip; None: it was."""
    waited_us: int | None = None
    """The wall clock when the node last began to wait for entries that a peer only claimed to have; None: never."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TipMark:
    """The content of a tip mark."""

    feed: FeedId
    """The node's feed."""
    machine: str
    """The machine on which it was written, as ``this_machine`` returns it."""
    tips: Mapping[NetworkName, MarkedTip]
    """The tips by network."""
    doubt: TipUncertainty | None = None
    """The doubt for networks that are not named in ``tips``."""
    in_place: bool = True
    """False if the file is a copy of the one written, or was changed since."""

    def tip_in(self, network: NetworkName) -> MarkedTip:
        """Return the tip in *network*."""
        return self.tips.get(network, MarkedTip(doubt=self.doubt))


class _Tip(msgspec.Struct, omit_defaults=True):
    seq: int
    id: str
    doubt: str | None
    waited_us: int | None = None


class _File(msgspec.Struct):
    v: int
    feed: str
    machine: str
    inode: int
    written_us: int
    doubt: str | None
    tips: dict[str, _Tip]


def read_mark(path: Path) -> TipMark | None:
    """Read a tip mark; None if there is none, or it is malformed or newer. Raises OSError."""
    try:
        with path.open("rb") as file:
            # With a hundred networks a mark has 10,000 bytes.
            status, raw = os.fstat(file.fileno()), file.read(65_536)
    except FileNotFoundError:
        return None
    try:
        found = msgspec.json.decode(raw, type=_File)
        if found.v > MARK_VERSION:
            return None
        apart_us = abs(status.st_ctime_ns // 1_000 - found.written_us)
        return TipMark(
            feed=FeedId(bytes.fromhex(found.feed)),
            machine=found.machine,
            tips={
                NetworkName(name): MarkedTip(
                    tip.seq, MessageId(bytes.fromhex(tip.id)), _doubt(tip.doubt), tip.waited_us
                )
                for name, tip in found.tips.items()
            },
            doubt=_doubt(found.doubt),
            # The file system's time of the mark may differ from the one in it: a slow card takes seconds to sync.
            in_place=found.inode == status.st_ino and apart_us <= 60_000_000,
        )
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        return None


def write_mark(path: Path, mark: TipMark, wall_us: int) -> None:
    """Replace the file at *path* by *mark*, atomically; durable on return. Raises OSError."""
    with in_the_place_of(path) as file:
        record = _File(
            v=MARK_VERSION,
            feed=mark.feed.hex(),
            machine=mark.machine,
            inode=os.fstat(file.fileno()).st_ino,
            written_us=wall_us,
            doubt=mark.doubt,
            tips={
                name: _Tip(tip.seq, tip.id.hex(), tip.doubt, tip.waited_us) for name, tip in mark.tips.items()
            },
        )
        file.write(msgspec.json.encode(record) + b"\n")


def judge_tip(
    mark: TipMark | None, feed: FeedId, machine: str, network: NetworkName, store: Store
) -> TipUncertainty | None:
    """Return why the node of *feed*, on this *machine*, is uncertain of its tip in *network*; None if it is certain."""
    if mark is None or mark.feed != feed:
        return TipUncertainty.UNMARKED
    tip = mark.tip_in(network)
    if tip.doubt is not None:
        return tip.doubt
    if mark.machine != machine:
        return TipUncertainty.MOVED
    if not mark.in_place:
        return TipUncertainty.COPIED
    if not tip.seq:
        return None
    entry = store.entry(feed, tip.seq)
    if entry is None:
        return TipUncertainty.BEHIND
    return None if entry.id == tip.id else TipUncertainty.DIFFERENT


def this_machine(sources: tuple[Path, ...] = _MACHINE) -> str:
    """Return an identifier of this machine: 32 hexadecimal digits that reveal nothing else about it."""
    lines = [b"tinyssb-tip-1", *(_line(source) for source in sources)]
    return sha256(b"\n".join(lines)).hexdigest()[:32]


def _line(source: Path) -> bytes:
    try:
        return source.read_bytes().strip(b" \t\r\n\0")
    except OSError:
        return b""


def _doubt(word: str | None) -> TipUncertainty | None:
    try:
        return None if word is None else TipUncertainty(word)
    except ValueError:
        return TipUncertainty.UNMARKED
