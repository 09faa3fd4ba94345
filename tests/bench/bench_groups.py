"""Cost of groups: sealing, opening, trying keys on messages for other people, reading a large group's past."""

import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from random import Random
from statistics import median
from tempfile import TemporaryDirectory

from tests.bench.figure import Figure
from tests.groups.press import Press, PressScribe, read_all
from tests.groups.shelf import keys_of
from tinyssb_node.content.private import SealKey
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.bfe import context_of
from tinyssb_node.groups.entry_source import StoreEntrySource
from tinyssb_node.groups.envelope import SlotKey, SlotScheme, box, unbox
from tinyssb_node.groups.feeds import open_announcement
from tinyssb_node.groups.keys import epoch_slot, member_slot
from tinyssb_node.groups.membership import Group
from tinyssb_node.groups.messages import GroupContent, post
from tinyssb_node.groups.plan import AddStep, add, exclude
from tinyssb_node.groups.reader import GroupReader
from tinyssb_node.groups.writer import draft_content
from tinyssb_node.ids import EpochKey, FeedId, MessageId
from tinyssb_node.store.sqlite import SqliteStore

GROUP_KEYS = 20
"""Epochs of groups that somebody is in: few people are in more."""
NOT_OURS_US = 1_000.0
CALLS = 50
"""Calls that are timed together."""
REPEATS = 21
"""How often; the median counts."""
TEXT_SIZE = 60
"""Bytes of plain text: a sentence."""
PEOPLE = 20
EPOCHS = 12
POSTS = 10_000
"""In the large group, by people in turn that chance makes."""
POST_SIZE = 200
"""Bytes of text in each: a paragraph."""
REBUILT_S = 2.0
UPDATED_US = 1_000.0
MEMORY_MB = 20.0


def each_us(call: Callable[[], object]) -> float:
    """Microseconds that *call* takes."""
    took = []
    for _ in range(REPEATS):
        begun_s = time.perf_counter()
        for _ in range(CALLS):
            call()
        took.append(1e6 * (time.perf_counter() - begun_s) / CALLS)
    return median(took)


def write_large(path: Path) -> None:
    """Fill a store with a group of `PEOPLE` that had `EPOCHS`: in each somebody was excluded, and taken on again."""
    store, chance = SqliteStore.open(path), Random(1)
    press = Press(store)
    first = PressScribe("p0", press)
    scribes = [first, *(PressScribe(f"p{number}", press, first.reader) for number in range(1, PEOPLE))]
    root, me = first.create(), first.me
    others = [scribe.me for scribe in scribes[1:]]
    first.do([AddStep(root, tuple(others[:10])), AddStep(root, tuple(others[10:]))])
    for epoch in range(EPOCHS):
        if epoch:
            first.do(exclude(first.group, me, [others[epoch]]))
            first.do(add(first.group, me, [others[epoch]]))
        key = first.group.view[first.prefers].key
        for _ in range(epoch, POSTS, EPOCHS):
            chance.choice(scribes).write(draft_content(first.group, *post("x" * POST_SIZE)), key)
        store.commit(epoch)
    store.close()


def read_large(path: Path) -> tuple[Group, float]:
    """The group as one of its members finds it in the store, and the seconds that it took him."""
    store = SqliteStore.open(path)
    begun_s = time.perf_counter()
    source = StoreEntrySource(store)
    book = GroupReader(keys_of("p3"), source)
    read_all(source, book)
    (held,) = book.groups.values()
    if len(held.group.view.epochs) != EPOCHS or len(held.group) < POSTS:
        raise ValueError("the group has not all that was written")
    took_s = time.perf_counter() - begun_s
    store.close()
    return held.group, took_s


def updates(path: Path) -> dict[bool, float]:
    """Microseconds that each message took, the view asked for after each that may change it; True: of those."""
    store = SqliteStore.open(path)
    source = StoreEntrySource(store)
    book = GroupReader(keys_of("p3"), source)
    took: dict[bool, list[float]] = {False: [], True: []}
    while not source.read_all:
        for entry in source.next(1):
            begun_s = time.perf_counter()
            news = [one for one in book.take(entry) if one.changes or one.root is not None]
            if any(one.changes for one in news):
                for held in book.groups.values():
                    len(held.group.view.epochs)
            if news:
                took[any(one.changes for one in news)].append(time.perf_counter() - begun_s)
    store.close()
    return {changes: 1e6 * sum(each) / len(each) for changes, each in took.items()}


def large() -> list[Figure]:
    """Measure the cost of a large group to a member."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "store.db"
        write_large(path)
        read_s = median(read_large(path)[1] for _ in range(3))
        updated_us = updates(path)
        tracemalloc.start()
        group, _ = read_large(path)
        memory_mb = tracemalloc.get_traced_memory()[0] / 1e6
        tracemalloc.stop()
    posts = sum(isinstance(line.said.message, GroupContent) for line in group.audit())
    what = f"a group of {PEOPLE} with {EPOCHS} epochs and {posts:,} messages of {POST_SIZE} bytes"
    kept = f"at most {UPDATED_US / 1_000:g} ms"
    return [
        Figure(f"{what} read from the store", read_s, "s", f"at most {REBUILT_S:g} s", read_s <= REBUILT_S),
        Figure(
            "a message in it read, as it comes",
            updated_us[False] / 1_000,
            "ms",
            kept,
            updated_us[False] <= UPDATED_US,
        ),
        Figure(
            "one that changes members or feeds, and the view that comes of it",
            updated_us[True] / 1_000,
            "ms",
            kept,
            updated_us[True] <= UPDATED_US,
        ),
        Figure("memory for all of it", memory_mb, "MB", f"at most {MEMORY_MB:g} MB", memory_mb <= MEMORY_MB),
    ]


def run() -> list[Figure]:
    """All of it."""
    return [*keys(), *large()]


def keys() -> list[Figure]:
    """Sealing, opening, trying."""
    random = Random(1)
    key = random.randbytes
    context = context_of(FeedId(key(32)), MessageId(key(20)))
    groups = [epoch_slot(EpochKey(key(32))) for _ in range(GROUP_KEYS)]
    own, stranger = SlotKey(key(32), SlotScheme.OWN), epoch_slot(EpochKey(key(32)))
    members = [SlotKey(key(32), SlotScheme.MEMBER) for _ in range(group_limits.SLOTS_MAX - 1)]
    text, message_key = key(TEXT_SIZE), key(32)
    short = box(text, context, [stranger], message_key)
    full = box(text, context, [stranger, *members], message_key)
    last = box(text, context, [groups[-1]], message_key)
    mine, yours = SealKey(key(32)), SealKey(key(32)).feed_id
    tried_us = each_us(lambda: unbox(full, context, groups))
    secrets, content = [EpochKey(slot.key) for slot in groups], key(48)
    announced_us = each_us(lambda: [open_announcement(content, one, context) for one in secrets])
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
            each_us(lambda: unbox(full, context, [*groups, own, SlotKey(key(32), SlotScheme.MEMBER)]))
            / 1_000,
            "ms",
        ),
        Figure(
            f"{GROUP_KEYS} group keys tried on an entry that may announce a feed",
            announced_us / 1_000,
            "ms",
            kept,
            announced_us <= NOT_OURS_US,
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
