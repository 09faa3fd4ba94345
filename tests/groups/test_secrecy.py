"""Texts that are erased: what a thief of a device reads, and what members read (decision 0075).

The thief has the seed, the store with all entries, and its secrets; and tries every 32 bytes of them as every kind of
key.
"""

import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import TypeVar

from tests.groups.mesh import HOUR_US, MINUTE_US, SECOND_US, Mesh, begun
from tests.groups.thief import Thief
from tinyssb_node import limits
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content import limits as content_limits
from tinyssb_node.content.files import File
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.host import groups_of
from tinyssb_node.groups.manager import GroupManager
from tinyssb_node.groups.messages import (
    FILE,
    GroupContent,
    OpenedGroupMessage,
    attach,
    body_of,
    file_of,
    post,
)
from tinyssb_node.groups.secrecy_keys import SecrecyKeys
from tinyssb_node.groups.text_chains import (
    CHAIN,
    PREKEY,
    TEXT,
    Prekey,
    chain_name,
    delivery_body,
    parse_prekey,
    parse_text,
)
from tinyssb_node.groups.writer import GroupWriterPort
from tinyssb_node.ids import MessageId
from tinyssb_node.node.node import Node
from tinyssb_node.store.sqlite import SqliteStore
from tinyssb_node.store.wrapping_key import WrappingKey

DAY_US = 24 * HOUR_US
Result = TypeVar("Result")


def thief(mesh: Mesh, name: str, root: MessageId, more: frozenset[bytes] = frozenset()) -> Thief:
    """Return a thief of a person's device."""
    seed = mesh.world.chance(f"key {name}").randbytes(limits.SEED_SIZE)
    return Thief(seed, mesh.world.inhabitants[name].store, root, more)


def kinds(mesh: Mesh, name: str, root: MessageId) -> set[str]:
    """Return the kinds of messages that a person has."""
    return {content.kind for _, content in mesh.said(name, root, GroupContent)}


def days(mesh: Mesh, root: MessageId, count: int, by: str) -> None:
    """Let *count* days pass; on each of them the next person writes."""
    for day in range(count):
        mesh.say(by[day % len(by)], root, f"day {day}")
        mesh.settle(DAY_US)


def test_a_thief_reads_the_last_days_and_nothing_before() -> None:
    mesh, root = begun("abc", erase_days=2)
    mesh.say("a", root, "day of the theft that was not")
    mesh.settle()
    for name in "abc":
        assert thief(mesh, name, root).texts() == {"day of the theft that was not"}
    days(mesh, root, 6, "abc")
    mesh.say("b", root, "today")
    mesh.settle()
    for name in "abc":
        assert mesh.texts(name, root) == ["day 4", "day 5", "today"]
        assert thief(mesh, name, root).texts() == {"day 4", "day 5", "today"}
        assert mesh.group(name, root).view.preference(mesh.id(name)).epoch == root, "members are still known"
    assert kinds(mesh, "a", root) == {PREKEY, CHAIN, TEXT}, "no text was written without"


def test_the_longest_file_arrives_and_is_erased_as_texts_are() -> None:
    mesh, root = begun("ab", erase_days=1)
    for _ in range(4):
        mesh.say("b", root, "something to follow")
    mesh.settle()
    said = mesh.said("a", root, GroupContent)
    file = File(
        "n" * content_limits.FILE_NAME_MAX, "t" * content_limits.FILE_TYPE_MAX, bytes(limits.GROUP_FILE_MAX)
    )
    kind, body = attach(file, said[-1][0].id)
    mesh.do("a", lambda groups, pen, now: groups.post(pen, root, kind, body, now))
    mesh.settle()
    group = mesh.group("b", root)

    def files() -> list[File | None]:
        opened = [mesh["b"].secrecy.opened(root, group.said(id_)) for id_ in group.tangle.order()]
        return [file_of(one) for one in opened if isinstance(one, GroupContent) and one.kind == FILE]

    assert files() == [file]
    mesh.settle(3 * DAY_US)
    assert files() == []


def test_the_same_thief_reads_all_of_a_group_that_keeps_its_texts() -> None:
    mesh, root = begun("abc")
    days(mesh, root, 4, "abc")
    assert thief(mesh, "a", root).texts() == {"day 0", "day 1", "day 2", "day 3"}
    assert mesh["a"].secrecy.exposure(root) is None
    assert kinds(mesh, "a", root) == {"post"}


def test_the_seed_of_everybody_opens_no_text_at_all() -> None:
    """The 24 words alone open additions, inits and names, as before."""
    mesh, root = begun("abc", erase_days=2)
    mesh.say("a", root, "secret")
    mesh.settle()
    for name in "abc":
        mesh.world.inhabitants[name].store.put_secret(b"")
        found = thief(mesh, name, root)
        assert found.texts() == set()
        assert found.reader.groups[root].group.view[root].members == {mesh.id(one) for one in "abc"}


def test_all_devices_together_open_nothing_that_is_erased() -> None:
    mesh, root = begun("abcd", erase_days=1)
    days(mesh, root, 3, "abcd")
    pools = frozenset(key for name in "abcd" for key in thief(mesh, name, root).pool)
    assert thief(mesh, "a", root, pools).texts() == {"day 2"} | ({"day 1"} & set(mesh.texts("a", root)))
    assert "day 0" not in mesh.texts("a", root)


def test_keys_of_a_phone_that_was_excluded_open_no_later_text() -> None:
    mesh, root = begun("abc", erase_days=5)
    mesh.say("a", root, "with c")
    mesh.settle()
    lost = frozenset(thief(mesh, "c", root).pool)
    mesh.exclude("a", root, "c")
    mesh.settle()
    mesh.say("b", root, "without c")
    mesh.settle()
    mesh.world.inhabitants["a"].store.put_secret(b"")
    assert thief(mesh, "a", root, lost).texts() == {"with c"}, "and all else that a's device has"
    assert mesh.texts("b", root) == ["with c", "without c"]


def test_a_newcomer_reads_from_the_day_of_their_key() -> None:
    mesh, root = begun("abc", "d", erase_days=5)
    mesh.say("a", root, "yesterday")
    mesh.settle(DAY_US)
    mesh.add("b", root, "d")
    mesh.settle(HOUR_US)
    mesh.say("c", root, "today")
    mesh.say("d", root, "hello")
    mesh.settle()
    assert mesh.texts("d", root) == ["today", "hello"] or mesh.texts("d", root) == ["hello", "today"]
    assert set(mesh.texts("a", root)) == {"yesterday", "today", "hello"}
    assert thief(mesh, "d", root).texts() == {"today", "hello"}


def test_one_member_answers_a_newcomer_and_the_others_see_it() -> None:
    mesh, root = begun("abcd", "e", erase_days=5)
    mesh.say("a", root, "begun")
    mesh.settle()
    before = sum(content.kind == CHAIN for _, content in mesh.said("a", root, GroupContent))
    mesh.add("a", root, "e")
    mesh.settle(2 * HOUR_US)
    after = sum(content.kind == CHAIN for _, content in mesh.said("a", root, GroupContent))
    assert (before, after) == (1, 2)


def test_who_restored_their_words_reads_from_the_day_they_are_answered() -> None:
    mesh, root = begun("abc", erase_days=5)
    mesh.say("a", root, "before")
    mesh.settle(DAY_US)
    store = mesh.world.inhabitants["b"].store
    store.put_secret(b"\x80")  # an empty map
    store.commit(1)
    mesh.crash("b")
    mesh.settle(MINUTE_US)
    assert mesh.texts("b", root) == []
    exposure = mesh["b"].secrecy.exposure(root)
    assert exposure is not None
    assert (exposure.open_days, exposure.lacking) == (0, True)
    mesh.settle(HOUR_US)
    mesh.say("c", root, "after")
    mesh.settle()
    assert mesh.texts("b", root) == ["after"]


def test_a_device_that_was_off_loses_nothing() -> None:
    mesh, root = begun("abc", erase_days=2)
    mesh.say("a", root, "first")
    mesh.settle()
    mesh.crash("c", 10 * DAY_US)
    days(mesh, root, 9, "ab")
    mesh.settle(2 * DAY_US)
    read = mesh.texts("c", root)
    assert read[0] == "first" or "day 0" in read
    assert "day 8" in read
    assert "day 0" not in mesh.texts("a", root)
    mesh.settle(4 * DAY_US)
    assert mesh.texts("c", root) == []
    assert thief(mesh, "c", root).texts() == set()


def test_a_device_that_was_out_of_reach_for_longer_cannot_read_the_first_days() -> None:
    mesh, root = begun("abc", erase_days=2)
    mesh.say("a", root, "first")
    mesh.settle()
    mesh.join("ab", "c")
    days(mesh, root, 8, "ab")
    mesh.join("abc")
    mesh.settle(HOUR_US)
    assert mesh.texts("c", root) == mesh.texts("a", root) == ["day 6", "day 7"]
    mesh.say("c", root, "back")
    mesh.settle()
    assert mesh.texts("a", root)[-1] == "back"


def test_clocks_of_any_year_change_nothing() -> None:
    mesh, root = begun("abc", erase_days=2)
    mesh.world.set_clock("a", None)
    mesh.world.set_clock("b", 3_650 * DAY_US)
    days(mesh, root, 4, "abc")
    mesh.world.set_clock("c", -20 * DAY_US)
    mesh.settle(HOUR_US)
    for name in "abc":
        assert mesh.texts(name, root) == ["day 2", "day 3"]


def test_days_pass_over_restarts() -> None:
    mesh, root = begun("ab", erase_days=1)
    mesh.say("a", root, "first")
    for _ in range(10):
        mesh.settle(6 * HOUR_US)
        mesh.crash("b", SECOND_US)
        mesh.crash("a", SECOND_US)
    mesh.settle()
    assert mesh.texts("b", root) == mesh.texts("a", root) == []


def test_two_who_write_first_in_pieces_read_each_other_afterwards() -> None:
    mesh, root = begun("abcd", erase_days=5)
    mesh.join("ab", "cd")
    mesh.say("a", root, "left")
    mesh.say("c", root, "right")
    mesh.settle()
    mesh.join("abcd")
    mesh.settle(MINUTE_US)
    for name in "abcd":
        assert set(mesh.texts(name, root)) == {"left", "right"}
    assert [one.chunks for one in mesh.say("b", root, "both").entries] == [2], "no third chain"


def test_a_member_who_uses_up_a_chain_makes_the_next_writer_begin_another() -> None:
    mesh, root = begun("abc", erase_days=2)
    mesh.say("a", root, "first")
    mesh.settle()
    mesh.do("c", lambda groups, _pen, _now: groups.secrecy.read(root, spoilt(mesh, root)))
    mesh.say("c", root, "on the last step")
    mesh.settle()
    assert mesh.texts("a", root) == ["first", "on the last step"]
    mesh.settle(DAY_US)
    mesh.say("b", root, "on another chain")
    mesh.settle()
    for name in "abc":
        assert mesh.texts(name, root)[-1] == "on another chain"
    mesh.settle(3 * DAY_US)
    for name in "abc":
        assert mesh.texts(name, root) == []


def test_a_needless_delivery_uses_up_the_prekey_that_it_is_for() -> None:
    """Otherwise a prekey that is never erased would open the key of that day for ever."""
    mesh, root = begun("abc", erase_days=2)
    mesh.say("a", root, "first")
    mesh.settle(MINUTE_US)
    chain = SecrecyKeys(mesh.world.inhabitants["b"].store).of(root).chains[0]
    own = [prekey for said, prekey in prekeys(mesh, root) if said.author == mesh.id("a")]
    name = chain_name(MessageId(chain.begun))
    body = delivery_body(chain.key, chain.step, name, [own[-1].public], mesh.id("b"), b"\x07" * 32)
    mesh.do("b", lambda groups, pen, now: groups.post(pen, root, CHAIN, body, now))
    days(mesh, root, 6, "bc")
    assert mesh.texts("a", root) == ["day 4", "day 5"]
    assert thief(mesh, "a", root).texts() == {"day 4", "day 5"}


def prekeys(mesh: Mesh, root: MessageId) -> list[tuple[OpenedGroupMessage, Prekey]]:
    """Return all prekeys that were published, in order."""
    found = [(said, parse_prekey(content)) for said, content in mesh.said("a", root, GroupContent)]
    return [(said, prekey) for said, prekey in found if prekey is not None]


def spoilt(mesh: Mesh, root: MessageId) -> OpenedGroupMessage:
    """Return a text of the first chain that claims its last step."""
    said, content = next(
        (said, content) for said, content in mesh.said("a", root, GroupContent) if content.kind == TEXT
    )
    text = parse_text(content)
    assert text is not None
    data = text.chain + group_limits.STEP_MAX.to_bytes(2, "big") + text.nonce + text.box
    return replace(said, message=replace(content, body=body_of({"t": data})))


class Device:
    """A node with its home on a disk, alone in a group whose texts are erased after two days."""

    def __init__(self, home: Path) -> None:
        """Begin it."""
        self.seed = bytes(range(32))
        self.store = SqliteStore.open(home / "store.sqlite")
        self.now_us = 0
        groups = groups_of(self.seed, Random(2).randbytes)
        key = SigningKey(self.seed)
        self.node = Node(store=self.store, network=Network(), entropy=Random(1), key=key, groups=groups)
        self.store.commit(1)
        self.root = self.do(lambda groups, pen, now: groups.create(pen, None, now, 2)).root

    def do(self, deed: Callable[[GroupManager, GroupWriterPort, int], Result]) -> Result:
        """Let its user do something."""
        result, _ = self.node.in_groups(lambda groups, pen: deed(groups, pen, self.now_us), self.now_us)
        self.store.commit(1)
        return result

    def say(self, text: str) -> None:
        """Post a text."""
        self.do(lambda groups, pen, now: groups.post(pen, self.root, *post(text), now))

    def run(self, span_us: int) -> None:
        """Let time pass."""
        end_us = self.now_us + span_us
        while (wake_us := self.node.next_wake_us()) is not None and wake_us <= end_us:
            self.now_us = max(self.now_us, wake_us)
            self.node.wake(self.now_us)
            self.store.commit(1)
        self.now_us = end_us


def stolen(device: Device, home: Path, to: Path) -> tuple[set[str], set[bytes]]:
    """Return the texts that a thief opens with a copy of all files, with the database's log, and the thief's keys."""
    shutil.copytree(home, to)
    store = SqliteStore.open_readonly(to / "store.sqlite")
    try:
        found = Thief(device.seed, store, device.root)
        return found.texts(), found.pool
    finally:
        store.close()


def test_the_files_of_a_home_open_the_days_that_remain_and_no_others(tmp_path: Path) -> None:
    (home := tmp_path / "home").mkdir()
    device = Device(home)
    device.say("a text of day 0")
    texts, first = stolen(device, home, tmp_path / "first")
    assert texts == {"a text of day 0"}
    for day in range(1, 6):
        device.run(DAY_US)
        device.say(f"a text of day {day}")
    texts, last = stolen(device, home, tmp_path / "last")
    assert texts == {"a text of day 3", "a text of day 4", "a text of day 5"}
    files = {path.name: path.read_bytes() for path in (tmp_path / "last").iterdir() if path.is_file()}
    assert WrappingKey(home / "store.sqlite").path.name in files
    assert not any(b"a text of day" in data for data in files.values()), "no text is written anywhere"
    erased = first - last - {device.seed}
    assert not any(key in data or key.hex().encode() in data for key in erased for data in files.values())
    device.store.close()
