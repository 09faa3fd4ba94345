"""Blocklists: the feeds that the author of a feed blocks, published so that others can follow
(docs/formats/blocklist.md)."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Final

from tinyssb_node.codec import bipf
from tinyssb_node.content import limits
from tinyssb_node.content.padded import decode
from tinyssb_node.errors import LocalError
from tinyssb_node.limits import BLOCKED_SIZE

WORD: Final = "BLK"
"""First item of the list in such content."""
_ENCODED_WORD: Final = bipf.encode(WORD)
_MARK_AT: Final = range(1, 4)
"""Offsets at which the word may begin, after the tag of the list around it."""


@dataclass(frozen=True, slots=True)
class BlockStep:
    """A change of a blocklist. Feeds are named by their first 12 bytes (``ids.blocked_short``)."""

    added: tuple[bytes, ...] = ()
    removed: tuple[bytes, ...] = ()


def parse_block_step(content: bytes) -> BlockStep | None:
    """Parse the change in *content*; None if it is not one. Never raises."""
    if not may_be_block_step(content):
        return None
    value = decode(content)
    if not isinstance(value, list) or len(value) < 2 or value[0] != WORD:
        return None
    added, removed = (_shorts(item) for item in (value[1], value[2] if len(value) > 2 else b""))
    if added is None or removed is None or not (added or removed):
        return None
    return BlockStep(added, removed)


def may_be_block_step(head: bytes) -> bool:
    """Return whether content that begins with *head* may be a change: a quick test of 7 bytes."""
    return any(head.startswith(_ENCODED_WORD, at) for at in _MARK_AT)


def _shorts(item: bipf.Value) -> tuple[bytes, ...] | None:
    if not isinstance(item, bytes) or len(item) % BLOCKED_SIZE:
        return None
    return tuple(item[at : at + BLOCKED_SIZE] for at in range(0, len(item), BLOCKED_SIZE))


def serialize_block_step(step: BlockStep) -> bytes:
    """Serialize *step*, which adds or removes something."""
    assert step.added or step.removed
    removed: list[bipf.Value] = [b"".join(step.removed)] if step.removed else []
    return bipf.encode([WORD, b"".join(step.added), *removed])


def fold_blocks(steps: Iterable[BlockStep]) -> frozenset[bytes]:
    """Return the blocklist that *steps* make, in the order of their feed. Beyond 1,024 nothing is added."""
    listed: dict[bytes, None] = {}
    for step in steps:
        for short in step.removed:
            listed.pop(short, None)
        for short in step.added:
            if len(listed) < limits.BLOCKLIST_MAX:
                listed[short] = None
    return frozenset(listed)


def block_step(listed: Collection[bytes], wanted: Collection[bytes]) -> BlockStep | None:
    """Return the change from *listed* to *wanted*; None if there is none. Raises LocalError."""
    if len(wanted) > limits.BLOCKLIST_MAX:
        raise LocalError(
            f"A blocklist has at most {limits.BLOCKLIST_MAX:,} feeds, and this one would have {len(wanted):,}. "
            "Nothing was published. Publish some of your blocks: `tinyssb blocklist publish PERSON`"
        )
    added, removed = sorted(set(wanted) - set(listed)), sorted(set(listed) - set(wanted))
    return BlockStep(tuple(added), tuple(removed)) if added or removed else None
