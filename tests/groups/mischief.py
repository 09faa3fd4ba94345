"""Messages that a member of a group must not write."""

from collections.abc import Callable
from random import Random
from typing import TypeAlias

from tests.groups.shelf import Scribe, keys_of
from tinyssb_node.feeds.children import ChildMade, EntryType, serialize_child_made
from tinyssb_node.groups.feeds import ADDITIONS_NOTE, seal_announcement
from tinyssb_node.groups.keys import epoch_slot
from tinyssb_node.groups.messages import post
from tinyssb_node.groups.short_form import encode
from tinyssb_node.groups.writer import (
    draft_add,
    draft_content,
    draft_exclude,
    draft_first,
    draft_init,
)
from tinyssb_node.ids import EpochKey

Mischief: TypeAlias = Callable[[Random, Scribe, Scribe, EpochKey], None]
"""Done by one person, at the cost of another, in the epoch with a key."""


def announce_anothers_feed(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    _, prev = scribe.shelf.place(scribe.me)
    feed = other.keys.epoch(key).feed_id
    scribe.append(scribe.me, 0, seal_announcement(feed, key, scribe.me, prev))


def claim_anothers_additions(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    made = ChildMade(other.keys.additions().feed_id, ADDITIONS_NOTE)
    scribe.append(scribe.me, EntryType.CHILD_MADE, serialize_child_made(made))


def write_noise(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    feed = chance.choice([scribe.open_epoch(key), scribe.me, scribe.open_additions()])
    scribe.append(feed, chance.choice([0, 1, 2, 5]), chance.randbytes(chance.choice([48, 200])))


def begin_the_group_again(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    scribe.write_plain(scribe.open_epoch(key), encode(draft_first(key)), [epoch_slot(key)])


def begin_an_epoch_with_an_old_key(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    scribe.write(draft_init(scribe.group, scribe.me, key, [scribe.root]))


def change_what_is_sealed(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    feed = chance.choice([scribe.open_epoch(key), scribe.open_additions()])
    sealed = scribe.seal(feed, chance.randbytes(40), [epoch_slot(key)])
    scribe.append(feed, 1, sealed[:-1] + bytes([sealed[-1] ^ 1]))


def seal_what_says_nothing(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    feed = chance.choice([scribe.open_epoch(key), scribe.open_additions()])
    scribe.write_plain(feed, chance.randbytes(40), [epoch_slot(key)])


def say_the_key_is_of_another_group(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    root = scribe.write(draft_first(scribe.draw_key())).id
    message = draft_add(scribe.reader.groups[root].group, root, [other.me])
    slot = scribe.keys.own if other is scribe else scribe.keys.member(other.me)
    assert slot is not None
    scribe.write_plain(scribe.open_additions(), encode(message).replace(message.secret, key), [slot])


def add_on_the_wrong_feed(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    message = draft_add(scribe.group, scribe.prefers, OUTSIDERS)
    scribe.write_plain(scribe.open_epoch(key), encode(message), [epoch_slot(key)])


def exclude_on_the_wrong_feed(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    message = draft_exclude(scribe.group, scribe.prefers, [other.me])
    scribe.write_plain(scribe.open_additions(), encode(message), [epoch_slot(key)])


def say_something_on_the_wrong_feed(chance: Random, scribe: Scribe, other: Scribe, key: EpochKey) -> None:
    content = draft_content(scribe.group, *post("nonsense"))
    scribe.write_plain(scribe.open_additions(), encode(content), [epoch_slot(key)])


OUTSIDERS = [keys_of("outside").main]
MISCHIEF = [
    announce_anothers_feed,
    claim_anothers_additions,
    write_noise,
    begin_the_group_again,
    begin_an_epoch_with_an_old_key,
    change_what_is_sealed,
    seal_what_says_nothing,
    say_the_key_is_of_another_group,
    add_on_the_wrong_feed,
    exclude_on_the_wrong_feed,
    say_something_on_the_wrong_feed,
]
