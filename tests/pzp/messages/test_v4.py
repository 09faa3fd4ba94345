"""Msg V4 against what the published package wrote and took (vectors ``v4-*``)."""

import json
import re
from typing import Any

import pytest

from tests.pzp.messages.broken import breaking
from tests.pzp.messages.checked import check, enter
from tests.pzp.messages.test_versions import SAID
from tests.pzp.messages.vectors import load, tangle_of
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.messages import account, base58, message
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import (
    V2,
    V4,
    write,
    write_added_key,
    write_consent,
    write_feed_root,
    write_identity,
)

ALICE, BOB, CAROL, DAVE = (
    SigningKey(name.ljust(32, b"\0")) for name in (b"alice", b"bob", b"carol", b"dave")
)
NEW_WORDS: list[tuple[str, PzpRule | tuple[PzpRule, ...]]] = [
    (r"must have metadata.v=", PzpRule.VERSION),
    (r"should have been \"self\"|cannot be \"self\"", PzpRule.ACCOUNT_OWN),
    (r"accountTips .* should have been null", PzpRule.NO_TIPS),
    (r"sigkey .* should have been a string", PzpRule.NOT_TEXT),
    (r"sigkey .* should have been one of", PzpRule.NOT_MEMBER),
    (r"domain .* feed domain", PzpRule.FEED_TYPE),
    (r"account .* feed account", (PzpRule.FEED_OWNER, PzpRule.NOT_MEMBER)),
    (r"^invalid domain: .* should have been a string", (PzpRule.NOT_TEXT, PzpRule.TYPE_SHORT)),
    (r"must be an object", PzpRule.PAYLOAD_KIND),
    (r"dataHash .* should have been", PzpRule.PAYLOAD_HASH),
    (r"dataSize .* should have been \"", PzpRule.PAYLOAD_SIZE),
    (r"Cannot read properties of null", PzpRule.NOT_AN_OBJECT),
]
"""How V4 says what is wrong, where it says it in other words than V2."""
BY_ITS_DATABASE = {"account add by a stranger"}
"""Refused by the package's database, which checks more than its ``validate`` does; so do we."""
STRICT_TOO = {
    "OK base", "OK moot", "OK erased", "OK account root", "OK account add", "OK weave root",
    "data string", "data empty object", "prev with an unknown one", "prev unknown and depth 9999",
    "without lipmaa link",  # which is that to the message before
    'accountTips ["H4yaQNYjHQvCoxo16Cte2NwHNMunYsnVx1mZpK3XaHs"]',  # for its database, which does not know it
}  # fmt: skip
"""Cases that are taken strictly as well."""


def public(key: SigningKey) -> str:
    return base58.encode(key.feed_id)


def outcome(vectors: Any, case: Any, *, strict: bool) -> MessageError | None:
    """The error that *case* is refused with, or None."""
    tangle = tangle_of(V4, case["root"], vectors["tangles"][case["tangle"]])
    try:
        assert check(V4, case["msg"], tangle, case["sigkeys"], strict=strict) == case["id"]
    except MessageError as error:
        return error
    return None


def test_compat_takes_what_the_package_takes() -> None:
    vectors = load("v4-validate")
    assert len(vectors["cases"]) == 121
    for case in vectors["cases"]:
        error = outcome(vectors, case, strict=False)
        taken = case["outcome"] == "accept" and case["name"] not in BY_ITS_DATABASE
        assert (error is None) == taken, (case["name"], error)
        if error is not None and "error" in case:
            expected = next(found for pattern, found in NEW_WORDS + SAID if re.search(pattern, case["error"]))
            assert error.rule in (expected if isinstance(expected, tuple) else (expected,)), (case, error)


def test_strict_takes_what_the_text_takes() -> None:
    vectors = load("v4-validate")
    taken = {case["name"] for case in vectors["cases"] if outcome(vectors, case, strict=True) is None}
    assert taken == STRICT_TOO


@pytest.mark.parametrize("name", ["v4-feed-linear", "v4-feed-forks"])
def test_feeds_of_the_package_are_taken_and_written(name: str) -> None:
    vectors = load(name)
    tangle = PzpTangle(vectors["feed"])
    for record in vectors["msgs"]:
        one = record["msg"]
        if len(tangle) and name.endswith("linear"):
            tips = one["metadata"]["accountTips"]
            assert write(V4, ALICE, one["data"], "post", [tangle], vectors["account"], tips) == one
        assert check(V4, one, tangle, vectors["sigkeys"]) == record["id"]
        check(V4, one, tangle, vectors["sigkeys"], strict=False) if len(tangle) else None
        enter(V4.fields, one, tangle)
    assert tangle.tips == set(vectors["tips"])
    assert tangle.topological() == vectors["topoSort"]


def test_moots_are_predicted_and_written() -> None:
    vectors = load("v4-moots")
    keys = {public(key): key for key in (ALICE, BOB, CAROL)}
    for record in vectors["moots"]:
        domain = record["msg"]["metadata"]["domain"]
        assert message.feed_id(V4.fields, vectors["account"], domain) == record["getMootID"] == record["id"]
        assert write_feed_root(V4, keys[record["signer"]], vectors["account"], domain) == record["msg"]


def test_an_account_is_written_as_the_package_writes_it() -> None:
    vectors = load("v4-db")
    steps = {step["step"]: step.get("msg") for step in vectors["steps"]}
    written = write_identity(V4, ALICE, "MYNONCE")
    assert written == steps['account.create({subdomain:"person",_nonce:"MYNONCE"})']
    tangle = PzpTangle(vectors["account"])
    check(V4, written, tangle)
    enter(V4.fields, written, tangle)
    assert write_consent(BOB, tangle.root) == vectors["consentOfBob"]
    for key, name, powers in (
        (BOB, "account.add(bob, powers none)", ()),
        (CAROL, "account.add(carol, powers [add, del], consent)", ("add", "del")),
    ):
        added = write_added_key(
            V4, ALICE, tangle, public(key), consent=write_consent(key, tangle.root), powers=powers
        )
        assert added == steps[name]
        check(V4, added, tangle)
        enter(V4.fields, added, tangle)
    removed = steps["account.del(bob)"]
    check(V4, removed, tangle)
    enter(V4.fields, removed, tangle)
    assert account.keys_after(tangle, tangle.tips).keys() == {public(ALICE), public(CAROL)}
    assert message.group_uri(V4.fields, tangle.root) == f"pzp:account/v4/{tangle.root}"


def test_encrypted_content_and_any_are_taken() -> None:
    vectors = load("v4-special")
    moot = vectors["moot"]["msg"]
    tangle = tangle_of(V4, vectors["feed"], [moot])
    records = vectors["records"]
    for name in ("unicode", "ciphertext", "empty", "erased"):
        check(V4, records[name]["msg"], tangle, [public(ALICE)])
        assert message.uri(V4.fields, records[name]["msg"]) == records[name]["uri"]
    weave = tangle_of(V4, records["weave"]["id"], [])
    check(V4, records["weave"]["msg"], weave)
    enter(V4.fields, records["weave"]["msg"], weave)
    check(V4, records["inweave"]["msg"], weave)
    check(V4, records["both"]["msg"], weave, [public(ALICE)])


def founded(key: SigningKey = ALICE) -> PzpTangle:
    first = write_identity(V4, key, "x")
    tangle = PzpTangle(message.message_id(V4.fields, first))
    enter(V4.fields, first, tangle)
    return tangle


def test_a_key_grants_no_power_that_it_lacks() -> None:
    tangle = founded()

    def added(by: SigningKey, key: SigningKey, *powers: str) -> dict[str, Any]:
        consent = write_consent(key, tangle.root)
        return write_added_key(V4, by, tangle, public(key), consent=consent, powers=powers)

    adds = added(ALICE, BOB, "add")
    check(V4, adds, tangle)
    enter(V4.fields, adds, tangle)
    check(V4, added(BOB, CAROL, "add"), tangle)
    with breaking(PzpRule.NOT_ALLOWED):
        check(V4, added(BOB, CAROL, "add", "del"), tangle)
    with breaking(PzpRule.NOT_MEMBER):
        check(V4, added(CAROL, DAVE), tangle)
    with breaking(PzpRule.ACCOUNT_DATA):
        check(V4, added(BOB, CAROL, "fly"), tangle)


def account_said(data: dict[str, Any], kind: str = "account__person") -> dict[str, Any]:
    return write(V4, ALICE, data, kind, [founded()], "self")


KEY = {"purpose": "sig", "algorithm": "ed25519", "bytes": public(BOB)}


@pytest.mark.parametrize(
    ("data", "rule"),
    [
        ({"action": "dance", "key": KEY}, PzpRule.ACCOUNT_DATA),
        ({"action": "add"}, PzpRule.ACCOUNT_DATA),
        ({"action": "add", "key": {**KEY, "bytes": "x"}}, PzpRule.ACCOUNT_DATA),
        ({"action": "add", "key": {**KEY, "purpose": "show"}}, PzpRule.ACCOUNT_DATA),
        ({"action": "add", "key": KEY, "powers": "add"}, PzpRule.ACCOUNT_DATA),
        ({"action": "add", "key": KEY}, PzpRule.CONSENT),
        ({"action": "add", "key": KEY, "consent": "1" * 64}, PzpRule.CONSENT),
    ],
)
def test_messages_of_an_account_have_their_form(data: dict[str, Any], rule: PzpRule) -> None:
    with breaking(rule):
        check(V4, account_said(data), founded())


def test_a_key_for_encryption_signs_nothing() -> None:
    tangle = founded()
    key = {
        "purpose": "external-encryption",
        "algorithm": "x25519-xsalsa20-poly1305",
        "bytes": public(BOB),
    }
    said = account_said({"action": "add", "key": key})
    check(V4, said, tangle)
    enter(V4.fields, said, tangle)
    assert account.keys_after(tangle, tangle.tips).keys() == {public(ALICE)}


def test_a_message_may_not_be_longer_than_the_text_says() -> None:
    moot = write_feed_root(V4, ALICE, message.hash_bytes(V4.fields, b"x"), "post")
    tangle = tangle_of(V4, message.message_id(V4.fields, moot), [moot])
    owner = moot["metadata"]["account"]  # type: ignore[index, call-overload] # JSON
    tips = [str(owner)]

    def of_size(size: int) -> dict[str, Any]:
        said = write(V4, ALICE, {"text": ""}, "post", [tangle], str(owner), tips)
        rest = len(json.dumps(said, separators=(",", ":")))
        digits = 2 if len(str(size)) > 2 else 0  # of dataSize
        return write(
            V4, ALICE, {"text": "x" * (size - rest - digits - 1)}, "post", [tangle], str(owner), tips
        )

    for size in (65_535, 65_534):
        said = of_size(size)
        found = len(json.dumps(said, separators=(",", ":")))
        said = of_size(size - (found - size))
        check(V4, said, tangle, [public(ALICE)])
    with breaking(PzpRule.TEXT_SIZE):
        check(V4, of_size(65_545), tangle, [public(ALICE)])


def test_versions_do_not_mix_in_a_tangle() -> None:
    vectors = load("v4-special")
    tangle = tangle_of(V4, vectors["feed"], [vectors["moot"]["msg"]])
    other = load("v2-feed-linear")
    said = write(V2, ALICE, {}, "post", [tangle], other["group"], [other["group"]])
    for strict in (False, True):
        with breaking(PzpRule.VERSION):
            check(V2, said, tangle, [public(ALICE)], strict=strict)
