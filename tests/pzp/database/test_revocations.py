"""Removal of a key: which of its messages stay valid, whatever came first."""

import random
from collections.abc import Iterable

import pytest

from tests.pzp.database.memory import MemoryPzpRows
from tests.pzp.database.messages import ALICE, BOB, CAROL, need, public
from tests.pzp.messages.broken import breaking
from tests.pzp.messages.vectors import load
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.errors import LocalError
from tinyssb_node.pzp.database.database import PzpDatabase
from tinyssb_node.pzp.database.revocations import Revocations, confirmable, remove_key
from tinyssb_node.pzp.messages import account, message
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import (
    V2,
    V4,
    VERSIONS,
    PzpVersion,
    write,
    write_added_key,
    write_consent,
    write_removed_key,
)

both_versions = pytest.mark.parametrize("version", [V2, V4], ids=["v2", "v4"])


class Device:
    """A device with a key and a database of its own."""

    def __init__(self, key: SigningKey, group: str = "") -> None:
        self.key, self.group = key, group
        self.database = PzpDatabase(MemoryPzpRows())

    def found(self, version: PzpVersion) -> str:
        self.group = self.database.create_identity(self.key, "x", wall_us=1, version=version)
        return self.group

    def say(self, text: str, kind: str = "post") -> str:
        return self.database.write(self.key, {"text": text}, kind, self.group, wall_us=1)

    def add(self, key: SigningKey, *powers: str) -> str:
        consent = write_consent(key, self.group)
        return self.database.add_key(
            self.key, self.group, public(key), consent=consent, powers=powers, wall_us=1
        )

    def remove(self, key: SigningKey) -> str:
        return remove_key(self.database, self.key, self.group, public(key), wall_us=1)

    def hears(self, *others: "Device") -> None:
        receive(self.database, [one for other in others for one in messages(other.database)])

    @property
    def keys(self) -> set[str]:
        tangle = self.database.tangle(self.group)
        return set(account.keys_after(tangle, tangle.tips))


def messages(database: PzpDatabase) -> list[dict[str, Json]]:
    return [dict(record.message()) for record in database.records(0, 1_000)]


def receive(database: PzpDatabase, offered: Iterable[dict[str, Json]]) -> list[PzpRule]:
    """Add what can be added, again as long as that helps; returns why the rest was not."""
    left, moved = list(offered), True
    rules: list[PzpRule] = []
    while moved:
        moved, rules, again = False, [], []
        for one in left:
            try:
                database.add(one, wall_us=1)
                moved = True
            except MessageError as error:
                rules.append(error.rule)
                again.append(one)
        left = again
    return rules


def revoked(database: PzpDatabase) -> set[str]:
    revocations = Revocations(database)
    return {record.id for record in database.records(0, 1_000) if revocations.is_revoked(record)}


def two_devices(version: PzpVersion, *powers: str) -> tuple[Device, Device]:
    """Alice's, who founded the group, and Bob's, who was added; both have written, and know all."""
    alice = Device(ALICE)
    bob = Device(BOB, alice.found(version))
    alice.say("hello")
    alice.add(BOB, *powers)
    bob.hears(alice)
    bob.say("hello, too")
    alice.hears(bob)
    return alice, bob


@both_versions
def test_what_was_signed_before_stays_and_nothing_new_is_taken(version: PzpVersion) -> None:
    alice, bob = two_devices(version)
    before = {record.id for record in alice.database.records(0, 100)}
    removal = alice.remove(BOB)
    assert alice.keys == {public(ALICE)}
    assert revoked(alice.database) == set()
    assert {record.id for record in alice.database.records(0, 100)} == before | {removal}
    bob.hears(alice)
    with pytest.raises(LocalError, match="must be a key of the group"):
        bob.say("anybody there?")
    alice.say("alone again")
    assert revoked(alice.database) == set()


@both_versions
def test_what_the_remover_did_not_know_is_revoked_but_stays_in_its_place(version: PzpVersion) -> None:
    alice, bob = two_devices(version)
    late = bob.say("written while the removal was on its way")
    removal = alice.remove(BOB)
    alice.hears(bob)
    assert revoked(alice.database) == {late}
    after = alice.say("this one follows it")
    feed = message.feed_id(version.fields, alice.group, "post")
    assert late in alice.database.tangle(feed).ancestors([after])
    bob.hears(alice)
    assert revoked(bob.database) == {late}, "the author sees it, too"
    assert need(alice.database.record(removal)).owner is None


@both_versions
def test_a_thief_who_dates_back_is_revoked(version: PzpVersion) -> None:
    alice, bob = two_devices(version)
    copy = Device(BOB, alice.group)
    copy.hears(bob)
    alice.remove(BOB)
    forged = [copy.say(f"forged {number}") for number in range(3)] + [copy.say("forged", "vote")]
    alice.hears(copy)
    assert revoked(alice.database) == set(forged)


@both_versions
def test_a_thief_leaves_no_other_key_behind(version: PzpVersion) -> None:
    alice, bob = two_devices(version, "add", "del")
    alice.remove(BOB)
    added = bob.add(CAROL)
    carol = Device(CAROL, alice.group)
    carol.hears(bob)
    said = carol.say("I was added by a thief")
    alice.hears(carol)
    assert alice.keys == {public(ALICE)}
    assert revoked(alice.database) == {added, said}


@both_versions
def test_two_who_remove_each_other_are_both_removed(version: PzpVersion) -> None:
    alice, bob = two_devices(version, "add", "del")
    alice.add(CAROL)
    bob.hears(alice)
    alice.remove(BOB)
    bob.remove(ALICE)
    alice.hears(bob)
    bob.hears(alice)
    assert alice.keys == bob.keys == {public(CAROL)}
    assert revoked(alice.database) == revoked(bob.database) == set()


@both_versions
def test_a_key_that_is_added_again_writes_again(version: PzpVersion) -> None:
    alice, bob = two_devices(version)
    late = bob.say("late")
    alice.remove(BOB)
    alice.add(BOB)
    bob.hears(alice)
    said = bob.say("back again")
    alice.hears(bob)
    assert revoked(alice.database) == {late}
    assert alice.database.record(said) is not None


@both_versions
def test_the_last_key_stays(version: PzpVersion) -> None:
    alice, _ = two_devices(version)
    alice.remove(BOB)
    with pytest.raises(LocalError, match="must leave a key in the identity"):
        alice.remove(ALICE)
    forced = write_removed_key(
        version, ALICE, alice.database.tangle(alice.group), public(ALICE), {}, kind="account__person"
    )
    with breaking(PzpRule.LAST_KEY):
        alice.database.add(forced, wall_us=1)


def test_only_a_key_with_the_power_removes_others() -> None:
    alice, bob = two_devices(V4)
    with pytest.raises(LocalError, match="must have in the account the power del"):
        bob.remove(ALICE)
    assert bob.keys == {public(ALICE), public(BOB)}
    alice.remove(BOB)
    stranger = Device(CAROL, alice.group)
    stranger.hears(alice)
    with pytest.raises(LocalError, match="must be a key of the group"):
        stranger.remove(ALICE)


def test_who_has_the_power_removes_the_founder_whose_device_is_lost() -> None:
    alice, bob = two_devices(V4, "add", "del")
    bob.remove(ALICE)
    alice.hears(bob)
    assert bob.keys == {public(BOB)}
    with pytest.raises(LocalError, match="must be a key of the group"):
        alice.say("I am lost")


@both_versions
@pytest.mark.parametrize(
    "confirms",
    [5, [], {"x": ["y"]}, {"ROOT": []}, {"ROOT": "text"}, {"ROOT": ["ROOT", "ROOT"]}, {"ROOT": [5]}],
)
def test_a_removal_confirms_ids_in_order(version: PzpVersion, confirms: Json) -> None:
    alice, _ = two_devices(version)
    tangle = alice.database.tangle(alice.group)

    def filled(value: Json) -> Json:
        if isinstance(value, dict):
            return {str(filled(name)): filled(one) for name, one in value.items()}
        if isinstance(value, list):
            return [filled(one) for one in value]
        return tangle.root if value == "ROOT" else value

    written = write_removed_key(version, ALICE, tangle, public(BOB), {}, kind="account__person")
    said = dict(written["data"])  # type: ignore[arg-type] # JSON
    said["confirms"] = filled(confirms)
    owner, kind = ("self", "account__person") if version is V4 else (None, "group")
    with breaking(PzpRule.CONFIRMS):
        alice.database.add(write(version, ALICE, said, kind, [tangle], owner), wall_us=1)


@both_versions
def test_the_last_messages_of_a_key_are_confirmed_in_each_tangle(version: PzpVersion) -> None:
    alice, bob = two_devices(version)
    copy = Device(BOB, alice.group)
    copy.hears(bob)
    ends = {bob.say("on one device"), copy.say("on the other")}
    vote = bob.say("yes", "vote")
    alice.hears(bob, copy)
    feed, votes = (message.feed_id(version.fields, alice.group, kind) for kind in ("post", "vote"))
    assert confirmable(alice.database, alice.group, public(BOB)) == {feed: sorted(ends), votes: [vote]}
    assert confirmable(alice.database, alice.group, public(CAROL)) == {}
    alice.remove(BOB)
    assert revoked(alice.database) == set()


def test_a_removal_by_the_package_confirms_all() -> None:
    vectors, database = load("v4-db"), PzpDatabase(MemoryPzpRows())
    offered = [record["msg"] for record in vectors["records"]] + [vectors["extra"][0]["msg"]]
    assert vectors["extra"][0]["name"] == "bob, tips before the removal"
    assert sorted(receive(database, offered), key=str) == sorted(
        [PzpRule.NOT_MEMBER, PzpRule.PREV_UNKNOWN], key=str
    )
    assert revoked(database) == set()


@both_versions
def test_what_names_a_removal_waits_for_it(version: PzpVersion) -> None:
    """A removed key that names its removal beside what is before it would be taken where the removal has not come."""
    alice, bob = two_devices(version, "add", "del")
    (before,) = alice.database.tangle(alice.group).tips
    removal = alice.remove(BOB)
    feed = alice.database.tangle(message.feed_id(version.fields, alice.group, "post"))
    said = write(version, BOB, {"text": "x"}, "post", [feed], alice.group, [before, removal])
    identity = PzpTangle(alice.group)
    identity.add_root(bob.database.tangle(alice.group).facts)
    identity.add(before, 1, [alice.group])
    identity.add(removal, 2, [alice.group])
    added = write_added_key(
        version, BOB, identity, public(CAROL), consent=write_consent(CAROL, alice.group), powers=("add",)
    )
    for forged, rule in ((said, PzpRule.TIPS_UNKNOWN), (added, PzpRule.PREV_UNKNOWN)):
        with breaking(rule):
            bob.database.add(forged, wall_us=1)
    bob.hears(alice)
    for forged in (said, added):
        with breaking(PzpRule.NOT_MEMBER, PzpRule.PREV_ANCESTOR):
            bob.database.add(forged, wall_us=1)


@both_versions
@pytest.mark.parametrize("seed", range(12))
def test_any_order_of_arrival_gives_the_same_verdicts(version: PzpVersion, seed: int) -> None:
    """Devices write, add and remove each other while apart; readers get all of it in different orders."""
    chance = random.Random(seed)
    alice, bob = two_devices(version, "add", "del")
    carol = Device(CAROL, alice.group)
    alice.add(CAROL, "add", "del")
    devices = [alice, bob, carol]
    bob.hears(alice)
    carol.hears(alice)
    for step in range(14):
        device, other = chance.sample(devices, 2)
        try:
            match chance.randrange(6):
                case 0:
                    device.remove(other.key)
                case 1:
                    device.add(other.key, "add", "del")
                case 2:
                    device.hears(other)
                case _:
                    device.say(f"step {step}", chance.choice(["post", "vote"]))
        except LocalError:
            pass  # it was removed, or is the last
    everything = [one for device in devices for one in messages(device.database)]
    verdicts = []
    for _ in range(4):
        chance.shuffle(everything)
        reader = Device(SigningKey(b"reader".ljust(32, b"\0")), alice.group)
        assert receive(reader.database, everything) == [], "what its author's device took, everybody takes"
        verdicts.append(
            (
                {record.id for record in reader.database.records(0, 1_000)},
                revoked(reader.database),
                reader.keys,
            )
        )
    assert all(one == verdicts[0] for one in verdicts)
    assert {need(reader.database.record(one)).version for one in verdicts[0][0]} == {version.fields.v}
    assert VERSIONS[version.fields.v] is version
