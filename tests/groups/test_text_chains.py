"""Chains of keys, their delivery to prekeys, and covered texts: vectors, any values, and what strangers send."""

import hashlib
import hmac
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.bindings import crypto_scalarmult, crypto_scalarmult_base

from tests.groups.spoken import FIELDS, ROOT, TIP
from tests.groups.world import GROUP
from tinyssb_node.codec import bipf
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.groups import limits as group_limits
from tinyssb_node.groups.messages import GroupContent, body_of, post, rename, text_of
from tinyssb_node.groups.short_form import encode
from tinyssb_node.groups.text_chains import (
    CHAIN,
    PREKEY,
    TEXT,
    Prekey,
    check_of,
    cover,
    delivery_body,
    next_key,
    open_delivery,
    parse_delivery,
    parse_prekey,
    parse_text,
    prekey_body,
    public_part,
    text_key,
    uncover,
)
from tinyssb_node.ids import Dialect, FeedId

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors/groups/secrecy_v1.json").read_text("utf-8")
)
AUTHOR = FeedId.from_hex(VECTORS["author"])
OTHER = FeedId(b"\xb2" * 32)
KEY = bytes(range(32))
CHAIN_NAME = b"\xc4" * 8
SALT = b"\x55" * 8
KEYS = st.binary(min_size=32, max_size=32)


def content(kind: str, body: bytes) -> GroupContent:
    """Return a message of some group."""
    return GroupContent(kind, body, GROUP, TangleData(ROOT, (TIP,)))


def plain_expand(key: bytes, label: bytes, size: int = 32) -> bytes:
    """Return the page's Expand, by the standard library."""
    info = b"".join(len(one).to_bytes(2, "little") + one for one in (b"tinyssb-group-v1", label))
    return hmac.digest(key, info + b"\x01", "sha256")[:size]


def test_a_chain_is_that_of_the_page() -> None:
    key, step = KEY, 0
    for case in VECTORS["chain"]:
        while step < case["step"]:
            key, step = plain_expand(key, b"step"), step + 1
        assert key.hex() == case["key"] == next_key(KEY, case["step"]).hex()
        assert plain_expand(key, b"text").hex() == case["text_key"] == text_key(key).hex()
        assert plain_expand(key, b"check", 16).hex() == case["check"] == check_of(key).hex()
    assert VECTORS["chain"][-1]["step"] == group_limits.STEP_MAX


@pytest.mark.parametrize("case", VECTORS["prekeys"], ids=lambda case: str(case["wanted"]))
def test_prekeys_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    public = public_part(bytes.fromhex(case["secret"]))
    assert public.hex() == case["public"]
    assert prekey_body(Prekey(public, case["wanted"])).hex() == case["body"]
    assert parse_prekey(content(PREKEY, bytes.fromhex(case["body"]))) == Prekey(public, case["wanted"])


@pytest.mark.parametrize("case", VECTORS["deliveries"], ids=lambda case: str(case["id"]))
def test_deliveries_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    everybody = [(bytes.fromhex(one["secret"]), bytes.fromhex(one["public"])) for one in VECTORS["prekeys"]]
    named = [bytes.fromhex(one) for one in case.get("prekeys", [public.hex() for _, public in everybody])]
    chain = None if case["chain"] is None else bytes.fromhex(case["chain"])
    key, secret = bytes.fromhex(case["key"]), bytes.fromhex(case["ephemeral_secret"])
    assert delivery_body(key, case["step"], chain, named, AUTHOR, secret).hex() == case["body"]
    delivery = parse_delivery(content(CHAIN, bytes.fromhex(case["body"])))
    assert delivery is not None
    assert (delivery.step, delivery.chain) == (case["step"], chain)
    for mine, public in everybody:
        found = open_delivery(delivery, mine, public, AUTHOR)
        assert found == (key if public in named else None)
        assert open_delivery(delivery, mine, public, OTHER) is None, "another author copied it"


def test_a_slot_is_that_of_the_page() -> None:
    one = VECTORS["prekeys"][0]
    prekey, secret = bytes.fromhex(one["public"]), b"\x33" * 32
    ephemeral = crypto_scalarmult_base(secret)
    extracted = hmac.digest(
        hashlib.sha256(b"tinyssb-group-v1/chain").digest(), crypto_scalarmult(secret, prekey), "sha256"
    )
    items = (b"tinyssb-group-v1", b"slot", ephemeral, prekey, bytes(AUTHOR))
    info = b"".join(len(item).to_bytes(2, "little") + item for item in items)
    mask = hmac.digest(extracted, info + b"\x01", "sha256")
    fields = bipf.decode(delivery_body(KEY, 0, None, [prekey], AUTHOR, secret))
    assert isinstance(fields, dict)
    assert fields["k"] == prekey[:4] + bytes(a ^ b for a, b in zip(KEY, mask, strict=True))


@pytest.mark.parametrize("case", VECTORS["texts"], ids=lambda case: str(case["id"]))
def test_texts_are_those_of_the_vectors(case: dict[str, Any]) -> None:
    raw = {name: bytes.fromhex(case[name]) for name in ("inner", "chain", "salt", "key", "body")}
    made = cover(case["kind"], raw["inner"], raw["key"], raw["chain"], case["step"], AUTHOR, raw["salt"])
    assert made == (TEXT, raw["body"])
    outer = content(TEXT, raw["body"])
    text = parse_text(outer)
    assert text is not None
    assert (text.chain, text.step) == (raw["chain"], case["step"])
    assert uncover(text, outer, raw["key"], AUTHOR) == content(case["kind"], raw["inner"])
    assert uncover(text, outer, raw["key"], OTHER) is None
    assert uncover(text, outer, bytes(32), AUTHOR) is None


@pytest.mark.parametrize("case", VECTORS["broken"], ids=lambda case: str(case["id"]))
def test_malformed_bodies_are_none(case: dict[str, Any]) -> None:
    parse = {PREKEY: parse_prekey, CHAIN: parse_delivery, TEXT: parse_text}[case["kind"]]
    assert parse(content(case["kind"], bytes.fromhex(case["body"]))) is None


@given(st.sampled_from([PREKEY, CHAIN, TEXT, "post"]), st.binary(max_size=90) | FIELDS.map(body_of))
def test_any_body_is_parsed_or_none(kind: str, body: bytes) -> None:
    one = content(kind, body)
    for parse in (parse_prekey, parse_delivery):
        parse(one)
    text = parse_text(one)
    assert text is None or uncover(text, one, KEY, AUTHOR) is None


@given(KEYS, st.lists(KEYS, max_size=5, unique=True), KEYS, KEYS)
def test_recipients_get_the_key_and_nobody_else(
    key: bytes, secrets: list[bytes], ephemeral: bytes, stranger: bytes
) -> None:
    publics = [public_part(secret) for secret in secrets]
    delivery = parse_delivery(content(CHAIN, delivery_body(key, 0, None, publics, AUTHOR, ephemeral)))
    assert delivery is not None
    for secret, public in zip(secrets, publics, strict=True):
        assert open_delivery(delivery, secret, public, AUTHOR) == key
    if public_part(stranger) not in publics:
        assert open_delivery(delivery, stranger, public_part(stranger), AUTHOR) is None


def test_a_prekey_that_everybody_could_open_gets_no_slot() -> None:
    delivery = parse_delivery(content(CHAIN, delivery_body(KEY, 0, None, [bytes(32)], AUTHOR, b"\x33" * 32)))
    assert delivery is not None
    assert not delivery.slots


def test_two_prekeys_that_begin_alike_are_both_served() -> None:
    secret = b"\x11" * 32
    public = public_part(secret)
    twin = public[:4] + public_part(b"\x22" * 32)[4:]
    delivery = parse_delivery(
        content(CHAIN, delivery_body(KEY, 0, None, [twin, public], AUTHOR, b"\x33" * 32))
    )
    assert delivery is not None
    assert open_delivery(delivery, secret, public, AUTHOR) == KEY


@given(st.text(st.characters(codec="utf-8"), max_size=40), FIELDS)
def test_any_message_can_be_covered(text: str, fields: dict[str, Any]) -> None:
    for kind, body in (post(text), ("note", body_of(fields))):
        outer = content(*cover(kind, body, KEY, CHAIN_NAME, 7, AUTHOR, SALT))
        covered = parse_text(outer)
        assert covered is not None
        assert uncover(covered, outer, KEY, AUTHOR) == content(kind, body)


def test_a_cover_hides_no_message_that_changes_the_group() -> None:
    """Names, keys and the rest have to be where every node can read them."""
    for kind, body in (rename("Alps"), (PREKEY, prekey_body(Prekey(KEY, wanted=False)))):
        outer = content(*cover(kind, body, KEY, CHAIN_NAME, 7, AUTHOR, SALT))
        covered = parse_text(outer)
        assert covered is not None
        assert uncover(covered, outer, KEY, AUTHOR) is None
    assert text_of(content(*post("soup"))) == "soup"


def _row(name: str, kind: str, body: bytes) -> str:
    plain = encode(content(kind, body))
    size = (
        len(plain)
        + group_limits.HEADER_BOX_SIZE
        + group_limits.SLOT_SIZE
        + group_limits.BODY_BOX_MIN_SIZE
        - 1
    )
    return f"| {name} | {size} | {packet_count(size, Dialect.SPEC)} |"


def test_sizes_are_those_of_the_page() -> None:
    page = (Path(__file__).parents[2] / "docs/formats/group-secrecy.md").read_text("utf-8")
    publics = [public_part(bytes([number]) * 32) for number in range(1, 16)]
    answer = delivery_body(KEY, 30, CHAIN_NAME, publics[:1], AUTHOR, KEY)
    begin = delivery_body(KEY, 0, None, publics, AUTHOR, KEY)
    assert _row("`group/prekey`", PREKEY, prekey_body(Prekey(KEY, wanted=False))) in page
    assert _row("`group/chain`, an answer to one", CHAIN, answer) in page
    assert _row("`group/chain`, begun for 15 others", CHAIN, begin) in page
    for letters in (18, 150):
        made = cover(*post("x" * letters), KEY, CHAIN_NAME, 7, AUTHOR, SALT)
        assert _row(f"`group/text`, {letters} letters", *made) in page
        assert len(encode(content(*made))) - len(encode(content(*post("x" * letters)))) == 53


def test_no_secret_is_shown() -> None:
    text = parse_text(content(*cover(*post("soup"), KEY, CHAIN_NAME, 7, AUTHOR, SALT)))
    assert "soup" not in repr(text)
