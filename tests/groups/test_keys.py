"""Keys that are shared, and ids that only some can know."""

import json
from typing import Any

import pytest
from nacl.bindings import crypto_scalarmult, crypto_sign_ed25519_pk_to_curve25519

from tests.groups.vectors import FOLDER, cases, context_of_case, slot_keys
from tinyssb_node.codec.dmx import first_prev
from tinyssb_node.content.private import SealKey
from tinyssb_node.groups import keys as group_keys
from tinyssb_node.groups.bfe import bfe_feed, context_of
from tinyssb_node.groups.envelope import SlotKey, SlotScheme, box, read_key_of, unbox
from tinyssb_node.groups.keys import SharedKeyParty, dm_key
from tinyssb_node.ids import Dialect, EpochKey, FeedId, MessageId

OURS: dict[str, list[dict[str, str]]] = json.loads((FOLDER / "tinyssb_keys.json").read_text("utf-8"))


def named(case: dict[str, Any]) -> str:
    """Return the name of a case."""
    return str(case["id"])


@pytest.mark.parametrize("case", cases("dm_keys"), ids=named)
def test_keys_between_classic_feeds(case: dict[str, Any]) -> None:
    alice, bob = (
        SharedKeyParty(bytes.fromhex(case[f"{who}_x25519_public"]), bytes.fromhex(case[f"{who}_feed_id"]))
        for who in ("alice", "bob")
    )
    shared = crypto_scalarmult(bytes.fromhex(case["alice_x25519_secret"]), bob.public)
    assert shared.hex() == case["raw_shared_secret"]
    assert SealKey(bytes.fromhex(case["bob_ed25519_seed"])).shared(alice.public) == shared
    for made in (dm_key(shared, alice, bob), dm_key(shared, bob, alice)):
        assert made.hex() == case["dm_key_bytewise_sort_spec"]
        assert (made.hex() == case["dm_key_js"]) == case["js_agrees_with_spec"]


@pytest.mark.parametrize("case", OURS["dm_keys"], ids=named)
def test_keys_between_our_feeds_are_in_order_of_bytes(case: dict[str, str]) -> None:
    alice, bob = (SealKey(bytes.fromhex(case[f"{who}_seed"])) for who in ("alice", "bob"))
    assert alice.feed_id.hex() == case["alice_feed_id"]
    slot = group_keys.member_slot(alice, bob.feed_id)
    assert slot is not None
    assert (slot.key.hex(), slot.scheme) == (case["dm_key"], SlotScheme.MEMBER)
    assert group_keys.member_slot(bob, alice.feed_id) == slot


@pytest.mark.parametrize("case", OURS["own_keys"], ids=named)
def test_an_own_key_comes_from_the_seed(case: dict[str, str]) -> None:
    slot = group_keys.own_slot(bytes.fromhex(case["seed"]))
    assert (slot.key.hex(), slot.scheme) == (case["own_key"], SlotScheme.OWN)


def test_nobody_shares_a_key_with_himself_or_with_nobody() -> None:
    key = SealKey(bytes(range(32)))
    with pytest.raises(ValueError, match="own_slot"):
        group_keys.member_slot(key, key.feed_id)
    for nobody in (bytes(32), b"\x01" + bytes(31), b"\x02" + bytes(31), b"\xff" * 32):
        assert group_keys.member_slot(key, FeedId(nobody)) is None


@pytest.mark.parametrize("case", cases("cloaked_id"), ids=named)
def test_ids_of_groups(case: dict[str, str]) -> None:
    cloaked = group_keys.cloaked_id(bytes.fromhex(case["read_key"]), bytes.fromhex(case["public_msg_id"]))
    assert cloaked.hex() == case["cloaked_msg_id"]


@pytest.mark.parametrize("case", cases("chain"), ids=named)
def test_a_classic_group_from_its_first_message_to_its_second_member(case: dict[str, Any]) -> None:
    raw = {
        name: bytes.fromhex(value) for name, value in case.items() if isinstance(value, str) and name != "id"
    }
    feed = {"feed_id": case["author_feed_id"]}
    init = {name: bytes.fromhex(value) for name, value in case["init"].items()}
    epoch, own = group_keys.epoch_slot(EpochKey(raw["group_key"])), SlotKey(raw["own_key"], SlotScheme.OWN)
    place = context_of_case(case["init"] | feed)
    assert box(init["plain_text"], place, [epoch, own], init["msg_key"]) == init["ciphertext"]
    opened = unbox(init["ciphertext"], place, [own])
    assert opened is not None
    assert (opened.plain, opened.read_key, opened.slot) == (init["plain_text"], init["read_key"], 1)
    assert group_keys.cloaked_id(opened.read_key, init["public_msg_id"]) == raw["group_id"]

    alice, bob = SealKey(raw["alice_ed25519_seed"]), SealKey(raw["bob_ed25519_seed"])
    sides = [
        SharedKeyParty(crypto_sign_ed25519_pk_to_curve25519(key.feed_id), raw[feed])
        for key, feed in ((alice, "author_feed_id"), (bob, "bob_feed_id"))
    ]
    shared = alice.shared(sides[1].public)
    assert shared is not None
    assert dm_key(shared, *sides) == raw["dm_key"]
    add = case["add_member"]
    place = context_of_case(add | feed)
    plain, message_key = bytes.fromhex(add["plain_text"]), bytes.fromhex(add["msg_key"])
    assert box(plain, place, slot_keys(add["recipients"]), message_key).hex() == add["ciphertext"]
    for_bob = SlotKey(raw["dm_key"], SlotScheme.MEMBER)
    read = unbox(bytes.fromhex(add["ciphertext"]), place, [for_bob])
    assert read is not None
    assert read.plain.hex() == add["bob_unboxes_with_dm_key"]


@pytest.mark.parametrize("case", OURS["inits"], ids=named)
def test_a_group_of_ours_begins_at_the_first_place_of_either_dialect(case: dict[str, str]) -> None:
    raw = {name: bytes.fromhex(value) for name, value in case.items() if name not in ("id", "dialect")}
    feed = FeedId(raw["feed_id"])
    previous = first_prev(feed, Dialect(case["dialect"]))
    assert previous == raw["prev_msg_id"]
    place, own = context_of(feed, previous), group_keys.own_slot(raw["seed"])
    assert own.key == raw["own_key"]
    made = box(
        raw["plain_text"], place, [group_keys.epoch_slot(EpochKey(raw["epoch_key"])), own], raw["msg_key"]
    )
    assert made == raw["ciphertext"]
    assert read_key_of(raw["msg_key"], place) == raw["read_key"]
    assert group_keys.group_id(raw["read_key"], MessageId(raw["message_id"])) == raw["group_id"]
    assert place.feed == bfe_feed(feed)
