"""A group in which a member writes what he likes: sealed noise, damaged messages, any mischief, taken in any order."""

from collections.abc import Iterable
from random import Random

from tests.fuzz.script import Script
from tests.groups.mischief import MISCHIEF
from tests.groups.shelf import Scribe, begin, state
from tests.groups.spoken import VECTORS
from tinyssb_node.groups.entry_source import SealedEntry
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.messages import GroupMessageError, post
from tinyssb_node.groups.short_form import encode
from tinyssb_node.groups.writer import draft_add, draft_content, draft_exclude
from tinyssb_node.ids import FeedId

STEPS_MAX = 12
PLAINS = [bytes.fromhex(case["bytes"]) for case in VECTORS["cases"]]


def run(data: bytes) -> None:
    script = Script(data)
    honest, member, other = begin("a", "b", "c")
    key = honest.group.view[honest.root].key
    plains = [
        *PLAINS,
        encode(draft_add(member.group, member.root, [other.me])),
        encode(draft_exclude(member.group, member.root, [other.me])),
        encode(draft_content(member.group, *post("said"))),
    ]
    for _ in range(STEPS_MAX):
        if script.over:
            break
        feed = _feed(script, member)
        what = script.number(5)
        if what == 0:
            member.write_plain(feed, script.piece(), [epoch_slot(key)])
        elif what == 1:
            member.write_plain(feed, _damaged(script, script.pick(plains)), [epoch_slot(key)])
        elif what == 2:
            member.append(feed, script.number(8), script.piece().ljust(48, b"\x00"))
        elif what == 3:
            try:
                script.pick(MISCHIEF)(Random(script.number(256)), member, other, key)
            except (AssertionError, GroupMessageError):
                continue  # He cannot write it himself: his own group is in no state for it.
        else:
            honest.receive(member.shelf.entries)
    _check(script, honest, member)


def _feed(script: Script, member: Scribe) -> FeedId:
    key = member.group.view[member.root].key
    which = script.number(3)
    if which == 0:
        return member.open_epoch(key)
    return member.me if which == 1 else member.open_additions()


def _damaged(script: Script, plain: bytes) -> bytes:
    damaged = bytearray(plain)
    for _ in range(script.number(3)):
        damaged[script.number(len(damaged))] ^= script.number(256)
    return bytes(damaged)


def _check(script: Script, honest: Scribe, member: Scribe) -> None:
    """Check that all who have all messages agree, in whatever order these came."""
    union = [*honest.shelf.entries, *member.shelf.entries]
    honest.receive(union)
    anew = Scribe("a")
    anew.receive(_shuffled(honest.shelf.entries, Random(script.number(256))))
    feeds = sorted(honest.shelf.feeds)
    assert state(honest.reader, feeds) == state(anew.reader, feeds)


def _shuffled(entries: Iterable[SealedEntry], chance: Random) -> list[SealedEntry]:
    """The entries in another order; each feed's in its own."""
    feeds: dict[FeedId, list[SealedEntry]] = {}
    for entry in entries:
        feeds.setdefault(entry.feed, []).append(entry)
    turns = [feed for feed, held in feeds.items() for _ in held]
    chance.shuffle(turns)
    ahead = {feed: iter(sorted(held, key=lambda one: one.seq)) for feed, held in feeds.items()}
    return [next(ahead[feed]) for feed in turns]


def seeds() -> Iterable[bytes]:
    for mischief in range(len(MISCHIEF)):
        yield bytes([0, 3, mischief, mischief, 0, 4, 1, 3, mischief, 1, mischief])
    for plain in range(len(PLAINS) + 3):
        yield bytes([plain % 3, 1, plain, 0, 0, 1, plain, 1, 3, 5])
    # Found: the beginning of a group on an additions feed, which overtook what the key's group began with.
    yield bytes.fromhex("020100010801030521")
    yield bytes([2, 2, 1, 47]) + bytes(48) + bytes([0, 0, 20]) + bytes(21)
