"""The administrator's side: commands that this node gave, and the answers to them."""

import secrets
import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tinyssb_node.content.limits import CLAIM_MIN_US, PAIR_PADDING_SIZE
from tinyssb_node.content.private import SealKey
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import EntryRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.remote import limits
from tinyssb_node.remote.messages import (
    RemoteAnswer,
    RemoteCommand,
    parse_answer,
    parse_command,
    seal,
    serialize_command,
    unseal,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SentCommand:
    """A command in our own feed."""

    seq: int
    sent_us: int
    """When it was published, wall clock."""
    node: FeedId
    command: RemoteCommand
    answer: RemoteAnswer | None
    """None: it has not come."""


class ClockUnsetError(ProblemError):
    """A command that expires cannot be given without a clock."""

    exit_code = ExitCode.UNAVAILABLE

    def __init__(self) -> None:
        super().__init__(
            "The clock of this machine was never set, so no command can expire. Nothing was published.",
            "Set the clock. Or give a command that is valid for ever: --for ever",
        )


def command_content(
    words: Sequence[str], valid_minutes: int, node: FeedId, key: SealKey, *, wall_s: int | None = None
) -> bytes:
    """Return the content to publish of a command for *node*. Raises ClockUnsetError, CommandTooLongError,
    ReaderKeyError."""
    now_s = int(time.time()) if wall_s is None else wall_s
    is_set = now_s * 1_000_000 >= CLAIM_MIN_US
    if not is_set and valid_minutes:
        raise ClockUnsetError
    command = RemoteCommand(said_s=now_s if is_set else None, valid_minutes=valid_minutes, words=tuple(words))
    return seal(serialize_command(command), key, node, secrets.token_bytes(PAIR_PADDING_SIZE))


def find_answer(rows: Iterable[EntryRow], key: SealKey, node: FeedId, seq: int) -> RemoteAnswer | None:
    """Return the first answer to the command *seq* among *rows* of *node*'s feed."""
    return _answers(rows, key, node).get(seq)


def sent_commands(client: DaemonClient, key: SealKey, limit: int) -> list[SentCommand]:
    """Return the last *limit* commands of this node, the latest last. Raises as the client does."""
    found = []
    for row in client.log(key.feed_id.hex(), last=limits.ANSWERS_READ):
        opened = _open(row, key, key.feed_id, limits.COMMAND_CONTENT_SIZE)
        command = None if opened is None else parse_command(opened[0])
        if opened is not None and command is not None:
            found.append((row.seq, row.committed_us, opened[1], command))
    found = found[-limit:]
    answers = {node: _answers_of(client, key, node) for _, _, node, _ in found}
    return [
        SentCommand(seq=seq, sent_us=sent_us, node=node, command=command, answer=answers[node].get(seq))
        for seq, sent_us, node, command in found
    ]


def _answers_of(client: DaemonClient, key: SealKey, node: FeedId) -> dict[int, RemoteAnswer]:
    if not any(row.feed == node.hex() for row in list(client.feeds())):
        return {}
    return _answers(list(client.log(node.hex(), last=limits.ANSWERS_READ)), key, node)


def _answers(rows: Iterable[EntryRow], key: SealKey, node: FeedId) -> dict[int, RemoteAnswer]:
    """Return the answers for us in *rows* of *node*'s feed, by the command. Of two the first one counts."""
    found: dict[int, RemoteAnswer] = {}
    for row in rows:
        opened = _open(row, key, node, limits.ANSWER_CONTENT_MAX)
        answer = None if opened is None else parse_answer(opened[0])
        if answer is not None:
            found.setdefault(answer.seq, answer)
    return found


def _open(row: EntryRow, key: SealKey, author: FeedId, size_max: int) -> tuple[bytes, FeedId] | None:
    if row.content is None or not limits.COMMAND_CONTENT_SIZE <= row.size <= size_max:
        return None
    return unseal(bytes.fromhex(row.content), key, author)
