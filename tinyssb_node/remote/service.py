"""The process that obeys administrators: it reads their feeds, and executes the commands in them."""

import os
import secrets
import select
import signal
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from tinyssb_node.codec.bipf import Value
from tinyssb_node.content.limits import PAIR_PADDING_SIZE
from tinyssb_node.content.private import SealKey
from tinyssb_node.control.client import DaemonClient, DaemonError, DaemonUnreachableError
from tinyssb_node.control.rows import EntryRow, FeedRow
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.ids import FeedId
from tinyssb_node.remote import limits
from tinyssb_node.remote.executor import execute
from tinyssb_node.remote.gate import Admin, AdminState, PendingCommand, RemoteRecord
from tinyssb_node.remote.messages import (
    RemoteAnswer,
    RemoteCommand,
    RemoteOutcome,
    parse_command,
    seal,
    serialize_answer,
    unseal,
)
from tinyssb_node.remote.record_file import change_record, read_record
from tinyssb_node.store.home import Home

_NEVER: Final = -1


@dataclass(frozen=True, slots=True)
class _Candidate:
    """An entry that may be a command."""

    seq: int
    content: bytes | None
    """None: packets of it are missing."""


class RemoteService:
    """Obeys the administrators of one node. What must not be lost is in the record; it may end at any time."""

    def __init__(
        self,
        home: Home,
        key: SealKey,
        logger: Logger,
        *,
        radio: bool = False,
        now_s: Callable[[], int] = lambda: int(time.time()),
    ) -> None:
        """*key* is that of the node's main identity. *radio*: settings of radios may be changed."""
        self._radio = radio
        self._home = home
        self._key = key
        self._logger = logger
        self._now_s = now_s
        self._arrivals = _NEVER
        """Of the daemon, at the last look."""
        self._tried: dict[str, int] = {}
        """Of feeds that are not allowed: the last entry that was tried, or that was there when the process started."""
        self._problem = ""
        """The problem that was logged last."""

    def look(self, client: DaemonClient) -> int:
        """Execute new commands, and publish answers. Returns how many commands were taken. Raises RemoteRecordError,
        DaemonUnreachableError, and other errors of the daemon."""
        arrivals = client.status().arrivals
        pending = read_record(self._home).pending
        if arrivals == self._arrivals and pending is None:
            return 0
        if pending is not None:
            if pending.answer is None:
                pending = self._answer(RemoteOutcome.INTERRUPTED)
            self._publish(client, pending)
        feeds = {row.feed: row for row in client.feeds()}
        record = change_record(self._home, lambda record: _without_forked(record, feeds))
        taken = 0
        for admin in record.allowed():
            row = feeds.get(admin.feed.hex())
            if row is not None and row.seq > admin.seq:
                taken += self._read(client, admin)
        self._count_others(client, record, feeds.values())
        self._arrivals = arrivals
        return taken

    def _read(self, client: DaemonClient, admin: Admin) -> int:
        """Read new entries of *admin*. Returns how many commands were taken."""
        taken, last, whole = 0, admin.seq, True
        # All of the listing first: the connection answers one request at a time.
        found = []
        for row in client.log(admin.feed.hex(), first=admin.seq + 1):
            candidate = _candidate(row)
            whole = whole and (candidate is None or candidate.content is not None)
            if whole:
                last = row.seq
                found += [candidate] if candidate is not None else []
        for candidate in found:
            assert candidate.content is not None
            command = self._open(admin.feed, candidate.content)
            if command is not None:
                taken += self._obey(client, admin.feed, candidate.seq, command)
        change_record(self._home, lambda record: record.read(admin.feed, last))
        return taken

    def _open(self, author: FeedId, content: bytes) -> RemoteCommand | None:
        opened = unseal(content, self._key, author)
        return None if opened is None else parse_command(opened[0])

    def _obey(self, client: DaemonClient, feed: FeedId, seq: int, command: RemoteCommand) -> bool:
        """Take a command, and execute it if it is to be. Returns whether it was taken."""
        outcome: RemoteOutcome | None = None

        def take(record: RemoteRecord) -> RemoteRecord:
            nonlocal outcome
            record, outcome = record.take(feed, seq, command, self._now_s())
            return record

        change_record(self._home, take)
        if outcome is None:
            self._logger.warning("dropped a remote command: too many at once", feed=feed.hex(), seq=seq)
            return False
        if outcome is RemoteOutcome.DONE:
            outcome, body = execute(command.words, client, self._home, radio=self._radio)
            pending = self._answer(outcome, *body)
        else:
            pending = self._answer(outcome)
        self._publish(client, pending)
        return True

    def _answer(self, outcome: RemoteOutcome, *body: Value) -> PendingCommand:
        """Store the answer to the pending command."""
        now_s = self._now_s()

        def answer(record: RemoteRecord) -> RemoteRecord:
            assert record.pending is not None
            made = RemoteAnswer(seq=record.pending.seq, said_s=now_s, outcome=outcome, body=body)
            return record.answered(serialize_answer(made), outcome, now_s)

        pending = change_record(self._home, answer).pending
        assert pending is not None
        self._logger.info(
            "a remote command ended",
            feed=pending.feed.hex(),
            seq=pending.seq,
            words=" ".join(pending.words),
            outcome=outcome.name.lower(),
        )
        return pending

    def _publish(self, client: DaemonClient, pending: PendingCommand) -> None:
        """Publish the answer of *pending*. If the daemon cannot now, the next look tries again."""
        assert pending.answer is not None
        content = seal(pending.answer, self._key, pending.feed, secrets.token_bytes(PAIR_PADDING_SIZE))
        try:
            client.publish(content)
        except DaemonUnreachableError:
            raise
        except DaemonError as error:
            self.tell(error.message)
            return
        self._problem = ""
        change_record(self._home, lambda record: replace(record, pending=None))

    def _count_others(self, client: DaemonClient, record: RemoteRecord, feeds: Iterable[FeedRow]) -> None:
        """Count commands for this node by feeds that are not allowed."""
        allowed = {admin.feed.hex() for admin in record.allowed()}
        is_first, room, count = self._arrivals == _NEVER, limits.STRANGERS_MAX, 0
        for row in feeds:
            tried = self._tried.get(row.feed, row.seq if is_first else 0)
            if row.own or row.feed in allowed:
                tried = row.seq
            elif tried < row.seq:
                for candidate in list(_candidates(client.log(row.feed, first=tried + 1))):
                    # Of the last one the rest may just be coming.
                    if candidate.content is None and candidate.seq == row.seq:
                        break
                    if room and candidate.content is not None:
                        room -= 1
                        count += self._open(FeedId.from_hex(row.feed), candidate.content) is not None
                    tried = candidate.seq
                else:
                    tried = row.seq
            self._tried[row.feed] = tried
        if count:
            now_s = self._now_s()
            self._logger.warning("remote commands by feeds that are not allowed", count=count)
            change_record(
                self._home,
                lambda record: replace(record, ignored=record.ignored + count, ignored_s=now_s),
            )

    def tell(self, problem: str) -> None:
        """Log a *problem*, unless it was logged last."""
        if problem != self._problem:
            self._logger.warning("cannot obey remote commands at the moment", problem=problem)
        self._problem = problem


def run_service(service: RemoteService, connect: Callable[[], DaemonClient], *, supervised: bool) -> None:
    """Look again and again, until SIGTERM, or the end of standard input if *supervised*. Raises RemoteRecordError."""
    signal.signal(signal.SIGTERM, _end)
    while True:
        try:
            with connect() as client:
                service.look(client)
        except (DaemonUnreachableError, DaemonError) as error:
            service.tell(error.message)
        waiting = select.select([sys.stdin] if supervised else [], [], [], limits.LOOK_S)
        if waiting[0] and not os.read(sys.stdin.fileno(), 4_096):
            return


def _end(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(0)


def _candidate(row: EntryRow) -> _Candidate | None:
    """Return the entry of *row* if it may be a command."""
    if row.size != limits.COMMAND_CONTENT_SIZE:
        return None
    return _Candidate(row.seq, None if row.content is None else bytes.fromhex(row.content))


def _candidates(rows: Iterable[EntryRow]) -> Iterator[_Candidate]:
    for row in rows:
        candidate = _candidate(row)
        if candidate is not None:
            yield candidate


def _without_forked(record: RemoteRecord, feeds: Mapping[str, FeedRow]) -> RemoteRecord:
    """Return *record* with administrators suspended whose feed is forked."""
    for admin in record.allowed():
        row = feeds.get(admin.feed.hex())
        if row is not None and row.forked_at is not None:
            record = record.end(admin.feed, AdminState.FORKED)
    return record
