"""The file of administrators and commands, `remote.json` (docs/formats/remote.md)."""

import fcntl
import os
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Final

import msgspec
from msgspec import Meta

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import SEQ_MAX
from tinyssb_node.remote import limits
from tinyssb_node.remote.gate import Admin, AdminState, DoneCommand, PendingCommand, RemoteRecord
from tinyssb_node.store.durable import in_the_place_of
from tinyssb_node.store.home import Home

RECORD_VERSION: Final = 1
"""Version of the file."""

_Feed = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z")]
_Seq = Annotated[int, Meta(ge=0, le=SEQ_MAX)]
_Count = Annotated[int, Meta(ge=0)]


class RemoteRecordError(ProblemError):
    """A file that cannot be used: nothing is executed."""

    exit_code = ExitCode.DATA

    def __init__(self, path: Path, reason: str) -> None:
        super().__init__(
            f"{path} cannot be used: {reason}. No remote commands are executed, and the file was left as it is.",
            "Remove it, and allow your administrators again: tinyssb remote allow FEED. In a backup of it, commands "
            "that were executed since would be new again.",
        )


class _AdminRow(msgspec.Struct, frozen=True):
    feed: _Feed
    seq: _Seq
    state: AdminState
    tokens: Annotated[int, Meta(ge=0, le=limits.TOKENS_MAX)]
    tokens_s: int
    dropped: _Count


class _PendingRow(msgspec.Struct, frozen=True):
    feed: _Feed
    seq: _Seq
    words: list[str]
    answer: Annotated[str, Meta(pattern=r"\A(?:[0-9a-f]{2})*\Z")] | None


class _DoneRow(msgspec.Struct, frozen=True):
    time_s: int
    feed: _Feed
    seq: _Seq
    words: list[str]
    outcome: int


class _File(msgspec.Struct, frozen=True):
    v: int
    admins: Annotated[list[_AdminRow], Meta(max_length=limits.ADMINS_MAX)]
    pending: _PendingRow | None
    done: Annotated[list[_DoneRow], Meta(max_length=limits.DONE_MAX)]
    ignored: _Count
    ignored_s: int


def record_path(home: Home) -> Path:
    """Return where the file is."""
    return home.root / "remote.json"


def parse_record(data: bytes, path: Path) -> RemoteRecord:
    """Return the record in the file at *path*. Raises RemoteRecordError."""
    try:
        file = msgspec.json.decode(data, type=_File)
    except msgspec.MsgspecError as error:
        raise RemoteRecordError(path, f"it is malformed ({error})".rstrip(".")) from error
    if file.v != RECORD_VERSION:
        raise RemoteRecordError(path, f"it has format {file.v}, this program knows {RECORD_VERSION}")
    pending = file.pending
    return RemoteRecord(
        admins=tuple(
            Admin(
                feed=FeedId.from_hex(row.feed),
                seq=row.seq,
                state=row.state,
                tokens=row.tokens,
                tokens_s=row.tokens_s,
                dropped=row.dropped,
            )
            for row in file.admins
        ),
        pending=None
        if pending is None
        else PendingCommand(
            feed=FeedId.from_hex(pending.feed),
            seq=pending.seq,
            words=tuple(pending.words),
            answer=None if pending.answer is None else bytes.fromhex(pending.answer),
        ),
        done=tuple(
            DoneCommand(
                time_s=row.time_s,
                feed=FeedId.from_hex(row.feed),
                seq=row.seq,
                words=tuple(row.words),
                outcome=row.outcome,
            )
            for row in file.done
        ),
        ignored=file.ignored,
        ignored_s=file.ignored_s,
    )


def serialize_record(record: RemoteRecord) -> bytes:
    """Return the file for *record*."""
    pending = record.pending
    file = _File(
        v=RECORD_VERSION,
        admins=[
            _AdminRow(one.feed.hex(), one.seq, one.state, one.tokens, one.tokens_s, one.dropped)
            for one in record.admins
        ],
        pending=None
        if pending is None
        else _PendingRow(
            pending.feed.hex(),
            pending.seq,
            [*pending.words],
            None if pending.answer is None else pending.answer.hex(),
        ),
        done=[
            _DoneRow(one.time_s, one.feed.hex(), one.seq, [*one.words], int(one.outcome))
            for one in record.done
        ],
        ignored=record.ignored,
        ignored_s=record.ignored_s,
    )
    return msgspec.json.encode(file) + b"\n"


def read_record(home: Home) -> RemoteRecord:
    """Return the record of the node in *home*; an empty one if there is no file. Raises RemoteRecordError."""
    path = record_path(home)
    try:
        with path.open("rb") as file:
            raw = file.read(limits.FILE_MAX + 1)
    except FileNotFoundError:
        return RemoteRecord()
    except OSError as error:
        raise RemoteRecordError(path, f"the system says: {error.strerror}") from error
    return parse_record(raw, path)


def change_record(home: Home, change: Callable[[RemoteRecord], RemoteRecord]) -> RemoteRecord:
    """Replace the record by what *change* makes of it, under a lock, and return that. It is durable on return. Raises
    RemoteRecordError, and what *change* raises; then nothing has changed."""
    try:
        folder = os.open(home.root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(folder, fcntl.LOCK_EX)
            before = read_record(home)
            after = change(before)
            if after != before:
                with in_the_place_of(record_path(home)) as file:
                    file.write(serialize_record(after))
            return after
        finally:
            os.close(folder)
    except OSError as error:
        raise RemoteRecordError(record_path(home), f"it cannot be written: {error.strerror}") from error
