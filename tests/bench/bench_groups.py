"""What group keys cost: sealing, opening, and trying keys on what is for somebody else."""

import time
from collections.abc import Callable
from random import Random
from statistics import median

from tests.bench.figure import Figure
from tinyssb_node.content.private import SealKey
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.encoding import context_of
from tinyssb_node.groups.envelope import Scheme, SlotKey, box, unbox
from tinyssb_node.groups.keys import epoch_slot, member_slot
from tinyssb_node.ids import EpochKey, FeedId, MessageId

GROUP_KEYS = 20
"""Epochs of groups that somebody is in: few people are in more."""
NOT_OURS_US = 1_000.0
CALLS = 50
"""Calls that are timed together."""
REPEATS = 21
"""How often; the median counts."""
TEXT_SIZE = 60
"""Bytes of plain text: a sentence."""


def each_us(call: Callable[[], object]) -> float:
    """Microseconds that *call* takes."""
    took = []
    for _ in range(REPEATS):
        begun_s = time.perf_counter()
        for _ in range(CALLS):
            call()
        took.append(1e6 * (time.perf_counter() - begun_s) / CALLS)
    return median(took)


def run() -> list[Figure]:
    """All of it."""
    random = Random(1)
    key = random.randbytes
    context = context_of(FeedId(key(32)), MessageId(key(20)))
    groups = [epoch_slot(EpochKey(key(32))) for _ in range(GROUP_KEYS)]
    own, stranger = SlotKey(key(32), Scheme.OWN), epoch_slot(EpochKey(key(32)))
    members = [SlotKey(key(32), Scheme.MEMBER) for _ in range(group_limits.SLOTS_MAX - 1)]
    text, message_key = key(TEXT_SIZE), key(32)
    short = box(text, context, [stranger], message_key)
    full = box(text, context, [stranger, *members], message_key)
    last = box(text, context, [groups[-1]], message_key)
    mine, yours = SealKey(key(32)), SealKey(key(32)).feed_id
    tried_us = each_us(lambda: unbox(full, context, groups))
    kept = f"at most {NOT_OURS_US / 1_000:g} ms"
    return [
        Figure(
            f"{GROUP_KEYS} group keys tried on an envelope that is not ours",
            tried_us / 1_000,
            "ms",
            kept,
            tried_us <= NOT_OURS_US,
        ),
        Figure(
            f"{GROUP_KEYS} group keys, the own one and the author's tried on 16 slots",
            each_us(lambda: unbox(full, context, [*groups, own, SlotKey(key(32), Scheme.MEMBER)])) / 1_000,
            "ms",
        ),
        Figure("one group key tried", each_us(lambda: unbox(short, context, groups[:1])), "µs"),
        Figure(
            f"envelope opened by the last of {GROUP_KEYS} group keys",
            each_us(lambda: unbox(last, context, groups)),
            "µs",
        ),
        Figure(
            f"{TEXT_SIZE} bytes sealed for a group",
            each_us(lambda: box(text, context, groups[:1], message_key)),
            "µs",
        ),
        Figure(
            "the same for a group and 15 people",
            each_us(lambda: box(text, context, [stranger, *members], message_key)),
            "µs",
        ),
        Figure("key between two feeds", each_us(lambda: member_slot(mine, yours)), "µs"),
    ]
