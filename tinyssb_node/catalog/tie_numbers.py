"""Numbers of positions in tangles: a message's own number for the first tangle, others for its further ones."""

from typing import Final

from tinyssb_node.content import limits as content_limits

NOTE_PREFIX: Final = "note:"
"""Prefix of the name of a note's tangle. Only notes are in several tangles."""
FURTHER: Final = "further_ties"
"""The table with positions in further tangles; those in first ones are in `messages`."""
_MESSAGES: Final = "messages"


def further_number(message: int, index: int) -> int:
    """Return the number of the *index*-th further tangle, from 1 on, of the message with the number *message*. It is
    negative, so no message has it."""
    return -(message * content_limits.TANGLES_MAX + index)


def by_arrival(number: int) -> tuple[int, int]:
    """Return what sorts numbers of messages and of further tangles by the arrival of the messages."""
    if number >= 0:
        return number, 0
    return divmod(-number, content_limits.TANGLES_MAX)


def tables_of(space: str) -> tuple[str, ...]:
    """Return the tables with positions in tangles of *space*."""
    return (_MESSAGES, FURTHER) if space.startswith(NOTE_PREFIX) else (_MESSAGES,)


def update_of(number: int, assignments: str) -> str:
    """Return the statement that changes the position with this number; its last parameter is the number."""
    table = _MESSAGES if number >= 0 else FURTHER
    return f"UPDATE {table} SET {assignments} WHERE number = ?"  # noqa: S608 - our words
