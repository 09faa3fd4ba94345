"""Commands and answers as bytes (docs/formats/remote.md). Pure."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from typing import Final

from tinyssb_node.codec import bipf
from tinyssb_node.content.minutes import read_minutes, to_minutes
from tinyssb_node.content.pair_box import PairPurpose, open_pair, seal_pair
from tinyssb_node.content.private import SealKey
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.ids import FeedId
from tinyssb_node.remote import limits

_COMMAND: Final = "RCM"
_ANSWER: Final = "RRP"
"""First items of the lists."""
_CUT: Final = "…"


class RemoteOutcome(IntEnum):
    """How a command ended."""

    DONE = 0
    EXPIRED = 1
    CLOCK = 2
    """The node's clock cannot tell whether it is still valid."""
    UNKNOWN = 3
    REFUSED = 4
    INTERRUPTED = 5
    """The node stopped meanwhile."""


class NodeProblem(IntEnum):
    """Problems of a node, as bits."""

    READ_ONLY = 1
    WAITS = 2
    """It does not know the end of its own feed."""
    FORKED = 4
    COMPANION = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteCommand:
    """A command of an administrator."""

    said_s: int | None
    """When it was given, seconds since 1970, in whole minutes; None: the clock was not set."""
    valid_minutes: int
    """0: for ever."""
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteAnswer:
    """The answer of a node."""

    seq: int
    """Of the command in the administrator's feed."""
    said_s: int | None
    """The node's clock, as in a command."""
    outcome: int
    """An ``RemoteOutcome``, or one that we do not know."""
    body: tuple[bipf.Value, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class FaceFacts:
    """A face in a status."""

    name: str
    is_open: bool
    """False: it is closed, or reaches nobody."""
    duty_percent: int | None = None
    """Of the legal airtime; None: no law limits it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFacts:
    """The body of a status."""

    version: str
    uptime_minutes: int
    free_mib: int
    entries: int
    problems: int
    """The sum of some ``NodeProblem``."""
    faces: tuple[FaceFacts, ...]
    more: int = 0
    """Faces that had no room."""


class CommandTooLongError(ProblemError):
    """Words that do not fit into a command."""

    exit_code = ExitCode.USAGE

    def __init__(self) -> None:
        super().__init__(
            "The command is too long for two packets. Nothing was published.", "Give the face a shorter name."
        )


def parse_command(clear: bytes) -> RemoteCommand | None:
    """Parse the clear bytes of a command; None if they are none."""
    items = _items(clear, _COMMAND)
    if items is None or len(items) < 4:
        return None
    said_s, valid, words = items[1], items[2], items[3:]
    if not _is_minutes(said_s) or not _is_number(valid, limits.VALID_MINUTES_MAX):
        return None
    texts = tuple(
        word for word in words if isinstance(word, str) and 1 <= len(word.encode()) <= limits.WORD_MAX
    )
    if len(texts) != len(words) or len(texts) > limits.WORDS_MAX:
        return None
    return RemoteCommand(said_s=read_minutes(said_s), valid_minutes=_number(valid), words=texts)


def serialize_command(command: RemoteCommand) -> bytes:
    """Return the clear bytes of *command*. Raises CommandTooLongError."""
    said = 0 if command.said_s is None else to_minutes(command.said_s)
    clear = bipf.encode([_COMMAND, said, command.valid_minutes, *command.words])
    if len(clear) > limits.COMMAND_MAX or max(len(word.encode()) for word in command.words) > limits.WORD_MAX:
        raise CommandTooLongError
    return clear


def parse_answer(clear: bytes) -> RemoteAnswer | None:
    """Parse the clear bytes of an answer; None if they are none."""
    items = _items(clear, _ANSWER)
    if items is None or len(items) < 4:
        return None
    seq, said, outcome = items[1:4]
    if not _is_number(seq) or not _is_minutes(said) or not _is_number(outcome) or seq == 0:
        return None
    return RemoteAnswer(
        seq=_number(seq), said_s=read_minutes(said), outcome=_number(outcome), body=tuple(items[4:])
    )


def serialize_answer(answer: RemoteAnswer) -> bytes:
    """Return the clear bytes of *answer*; a text in its body is cut to what fits."""
    said = 0 if answer.said_s is None else to_minutes(answer.said_s)
    head: list[bipf.Value] = [_ANSWER, answer.seq, said, int(answer.outcome)]
    clear = bipf.encode([*head, *answer.body])
    if len(clear) > limits.ANSWER_MAX:
        (text,) = answer.body
        assert isinstance(text, str), "all other bodies are made to fit"
        room = (
            limits.ANSWER_MAX - len(bipf.encode([*head, ""])) - 3
        )  # longer tags of list and text, and a margin
        clear = bipf.encode([*head, cut(text, room)])
    assert len(clear) <= limits.ANSWER_MAX
    return clear


def status_body(facts: NodeFacts) -> tuple[bipf.Value, ...]:
    """Return the body of a status; faces at the end that have no room are left out, and counted."""
    while True:
        faces: list[bipf.Value] = [
            [
                cut(face.name, limits.NAME_MAX),
                int(face.is_open),
                *([] if face.duty_percent is None else [face.duty_percent]),
            ]
            for face in facts.faces
        ]
        body: tuple[bipf.Value, ...] = (
            cut(facts.version, limits.VERSION_MAX),
            facts.uptime_minutes,
            facts.free_mib,
            facts.entries,
            facts.problems,
            faces,
            facts.more,
        )
        # The longest head: a number of 5 bytes, a time of 4.
        if len(bipf.encode([_ANSWER, 2**32, 2**24, 0, *body])) <= limits.ANSWER_MAX:
            return body
        facts = replace(facts, faces=facts.faces[:-1], more=facts.more + 1)


def read_status_body(body: Sequence[bipf.Value]) -> NodeFacts | None:
    """Return what a body of ``status_body`` states; None if it is none."""
    if len(body) < 7 or not isinstance(body[0], str) or not isinstance(body[5], list):
        return None
    numbers = [body[at] for at in (1, 2, 3, 4, 6)]
    faces = [_read_face(face) for face in body[5]]
    known = tuple(face for face in faces if face is not None)
    if not all(map(_is_number, numbers)) or len(known) != len(faces):
        return None
    uptime, free, entries, problems, more = map(_number, numbers)
    return NodeFacts(
        version=body[0],
        uptime_minutes=uptime,
        free_mib=free,
        entries=entries,
        problems=problems,
        faces=known,
        more=more,
    )


def _read_face(value: bipf.Value) -> FaceFacts | None:
    if not isinstance(value, list) or len(value) < 2 or not isinstance(value[0], str):
        return None
    if not all(map(_is_number, value[1:3])):
        return None
    duty = _number(value[2]) if len(value) > 2 else None
    return FaceFacts(name=value[0], is_open=value[1] == 1, duty_percent=duty)


def seal(clear: bytes, key: SealKey, reader: FeedId, padding: bytes) -> bytes:
    """Return the content to publish of a command or an answer for *reader*: see ``pair_box.seal_pair``."""
    return seal_pair(clear, key, reader, padding, PairPurpose.REMOTE)


def unseal(content: bytes, key: SealKey, author: FeedId) -> tuple[bytes, FeedId] | None:
    """Return the clear bytes in *content* of an entry of *author*, and the other side: its author, or of an own one its
    reader. None if it is not for *key*, or no such content."""
    try:
        box = bipf.decode(content)
    except bipf.BipfError:
        return None
    return open_pair(box, key, author, PairPurpose.REMOTE) if isinstance(box, bytes) else None


def cut(text: str, size: int) -> str:
    """Return *text* in at most *size* bytes; the end of a longer one is replaced."""
    raw = text.encode(errors="replace")
    if len(raw) <= size:
        return raw.decode()
    return raw[: size - len(_CUT.encode())].decode(errors="ignore") + _CUT


def _items(clear: bytes, word: str) -> list[bipf.Value] | None:
    try:
        value, end = bipf.decode_prefix(clear)
    except bipf.BipfError:
        return None
    if clear[end : end + 1] not in {b"", b"\0"}:
        return None
    return value if isinstance(value, list) and value[:1] == [word] else None


def _is_number(value: bipf.Value, most: int = 2**63 - 1) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= most


def _is_minutes(value: bipf.Value) -> bool:
    return _is_number(value) and (value == 0 or read_minutes(value) is not None)


def _number(value: bipf.Value) -> int:
    assert isinstance(value, int)
    return value
