import json
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.pzp.messages.broken import breaking
from tests.pzp.messages.checked import check, enter
from tests.pzp.messages.test_jsontext import values
from tests.pzp.messages.vectors import VERSION, load, made, tangle_of
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import canonical, read
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import (
    V1,
    V2,
    VERSIONS,
    version_of,
    write,
    write_added_key,
    write_feed_root,
    write_identity,
)

SAID: list[tuple[str, PzpRule | tuple[PzpRule, ...]]] = [
    (r"not an object", PzpRule.NOT_AN_OBJECT),
    (r"must have (data|content|sig)$", (PzpRule.MISSING, PzpRule.NOT_TEXT)),
    (r"must have metadata$", PzpRule.NOT_AN_OBJECT),
    (r"must have metadata\.v ", PzpRule.VERSION),
    (r"must have metadata\.tangles\.", PzpRule.NO_PLACE),
    (r"must have metadata\.", PzpRule.MISSING),
    (
        r"sig as a string|prev item .* string|must contain strings",
        (PzpRule.NOT_TEXT, PzpRule.PREV_TEXT),
    ),
    (r"is a URI|must not contain URIs", PzpRule.PREV_URI),
    (r"\"who\" as base58 string", (PzpRule.NOT_TEXT, PzpRule.BASE58)),
    (r"base58 string", PzpRule.BASE58),
    (r"should be (32|64) bytes", PzpRule.LENGTH),
    (r"pubkey .* should have been a string", PzpRule.NOT_TEXT),
    (r"pubkey .* should have been one of", PzpRule.NOT_MEMBER),
    (r"(dataSize|\"size\") .*unsigned integer", PzpRule.SIZE),
    (r"size .*match metadata", PzpRule.PAYLOAD_SIZE),
    (r"hash .*match metadata", PzpRule.PAYLOAD_HASH),
    (r"must not be an array", PzpRule.PAYLOAD_LIST),
    (r"must be an object or", PzpRule.PAYLOAD_KIND),
    (r"100\+ characters", PzpRule.TYPE_LONG),
    (r"shorter than 3", PzpRule.TYPE_SHORT),
    (r"characters other than", PzpRule.TYPE_CHARACTERS),
    (r"^invalid type: .* should have been a string", PzpRule.NOT_TEXT),
    (r"type .* feed type", PzpRule.FEED_TYPE),
    (r"(group|who) .* feed (group|who)", PzpRule.FEED_OWNER),
    (r"prev .*(should have been|must be) an array", PzpRule.PREV_LIST),
    (r"depth .*positive integer", PzpRule.DEPTH_RANGE),
    (r"duplicates|unique set", PzpRule.PREV_TWICE),
    (r"sorted", PzpRule.PREV_ORDER),
    (r"depth of prev", PzpRule.PREV_DEPTH),
    (r"all prev are locally unknown", PzpRule.PREV_UNKNOWN),
    (r"largest prev depth plus one", PzpRule.DEPTH),
    (r"root hash .*must match", PzpRule.ROOT),
    (r"must not have self", PzpRule.ROOT_PLACE),
    (r"sig is invalid|sig does not match", PzpRule.SIGNATURE),
]
"""How the original says what is wrong, and how we do."""

TEXT_IS_SILENT = {
    "OK: baseline msg depth 7", "OK: feed root", "OK: erased msg", "OK: identity root", "OK: identity add bob",
    "OK baseline", "OK root",
    'type "post1_A" (tangle of that type root)', "identity non-root with nonce", "weave root: data, tangles {}",
    "data null with dataSize 999999", "missing tip (only lipmaa) depth=lipmaa+1",
}  # fmt: skip
"""Cases that are taken strictly as well."""


def cases(name: str):
    return [pytest.param(case, id=case["name"]) for case in load(name)["cases"]]


def outcome(version, case, *, strict: bool):
    """The error that *case* is refused with, or None."""
    tangle = tangle_of(version, case["rootHash"], case["tangle"])
    try:
        assert check(version, case["msg"], tangle, case.get("pubkeys", ()), strict=strict) == case["msgHash"]
    except MessageError as error:
        return error
    return None


@pytest.mark.parametrize("name", ["v1-validate", "v2-validate"])
def test_compat_takes_what_the_original_takes(name: str) -> None:
    version = VERSION[name[:2]]
    for case in load(name)["cases"]:
        error = outcome(version, case, strict=False)
        assert (error is None) == (case["outcome"] == "accept"), (case["name"], error)
        if error is not None:
            expected = next(found for pattern, found in SAID if re.search(pattern, case["error"]))
            assert error.rule in (expected if isinstance(expected, tuple) else (expected,)), (
                case["name"],
                case["error"],
                error,
            )
            assert str(error).startswith(error.field)
            assert error.rule.words in str(error)


@pytest.mark.parametrize("name", ["v1-validate", "v2-validate"])
def test_strict_takes_what_the_text_takes(name: str) -> None:
    version = VERSION[name[:2]]
    taken = {case["name"] for case in load(name)["cases"] if outcome(version, case, strict=True) is None}
    assert taken == TEXT_IS_SILENT & {case["name"] for case in load(name)["cases"]}


@pytest.mark.parametrize("case", cases("v2-wire"))
def test_text_as_it_comes(case) -> None:
    vectors = load("v2-wire")
    tangle = tangle_of(V2, vectors["rootHash"], vectors["tangle"])
    try:
        value = read(case["text"])
        assert check(V2, value, tangle, vectors["pubkeys"], strict=False) == case["msgHash"]
    except MessageError:
        assert case["outcome"] != "accept"
    else:
        assert case["outcome"] == "accept"


def test_every_message_of_the_original_has_its_id_and_uri() -> None:
    records = list(made())
    assert len(records) > 130
    for name, record in records:
        version = VERSION[name]
        uri = record.get("uri") or message.uri(version.fields, record["msg"])
        if "metadataCanonical" in record:
            assert canonical(record["msg"]["metadata"]).decode() == record["metadataCanonical"]
        assert message.message_id(version.fields, record["msg"]) == record["hash"]
        assert message.uri(version.fields, record["msg"]) == uri
        assert message.id_of_uri(uri) == record["hash"] == message.id_of_uri(record["hash"])
        assert version_of(read(canonical(record["msg"]))) is version


@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize(
    "name", ["v1-feed-linear", "v1-feed-forks", "v2-feed-linear", "v2-feed-forks", "v2-feed-wide"]
)
def test_feeds_of_the_original_are_taken_and_written(name: str, strict: bool) -> None:
    vectors, version = load(name), VERSION[name[:2]]
    keys = {
        pair["public"]: SigningKey(bytes.fromhex(pair["seed32Hex"])) for pair in load("v2-keys")["keypairs"]
    }
    tangle = PzpTangle(vectors["msgs"][0]["hash"])
    for record in vectors["msgs"]:
        one = record["msg"]
        if len(tangle) and name.endswith("linear"):
            author = keys[message.author_of(version.fields, one)]
            metadata = one["metadata"]
            said = one[version.fields.payload]
            group = metadata.get("group"), metadata.get("groupTips")
            assert write(version, author, said, metadata["type"], [tangle], *group) == one
        assert check(version, one, tangle, vectors.get("pubkeys", ()), strict=strict) == record["hash"]
        assert enter(version.fields, one, tangle) == record["hash"]


def test_roots_are_predicted_and_written() -> None:
    keys = {
        pair["seedString"]: SigningKey(bytes.fromhex(pair["seed32Hex"]))
        for pair in load("v2-keys")["keypairs"]
    }
    vectors = load("v2-feed-roots")
    for record in vectors["roots"]:
        kind = record["msg"]["metadata"]["type"]
        assert (
            message.feed_id(V2.fields, vectors["group"], kind) == record["getFeedRootHash"] == record["hash"]
        )
        assert write_feed_root(V2, keys[record["signer"]], vectors["group"], kind) == record["msg"]
    for record in load("v1-feed-roots")["roots"]:
        who, kind = record["msg"]["metadata"]["who"], record["msg"]["metadata"]["type"]
        key = next(key for key in keys.values() if base58.encode(key.feed_id) == who)
        assert message.feed_id(V1.fields, who, kind) == record["getFeedRootHash"]
        assert write_feed_root(V1, key, who, kind) == record["msg"]


def test_what_was_erased_keeps_id_and_signature() -> None:
    record = load("v2-feed-linear")["msgs"][1]
    erased = message.erase(V2.fields, record["msg"])
    assert erased["data"] is None
    root = load("v2-feed-linear")["msgs"][0]
    tangle = tangle_of(V2, root["hash"], [root])
    assert check(V2, erased, tangle, load("v2-feed-linear")["pubkeys"]) == record["hash"]


ALICE, BOB, CAROL = (SigningKey(name.ljust(32, b"\0")) for name in (b"alice", b"bob", b"carol"))


def entered(said, tangle: PzpTangle):
    """*said* checked strictly and added."""
    check(V2, said, tangle)
    enter(V2.fields, said, tangle)
    return said


def test_the_page_of_the_format_tells_what_is_written() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats" / "pzp.md").read_text("utf-8")
    said = [
        line.split(maxsplit=1)[1] for line in page.split("## Example")[1].split("```")[1].strip().splitlines()
    ]
    group = write_identity(V2, ALICE, "MYNONCE")
    feed = write_feed_root(V2, ALICE, message.message_id(V2.fields, group), "post")
    assert said == [
        base58.encode(ALICE.feed_id),
        *(canonical(group["metadata"]).decode(), message.message_id(V2.fields, group)),
        *(canonical(feed["metadata"]).decode(), message.message_id(V2.fields, feed)),
    ]


def test_an_identity_is_written_as_the_original_writes_it() -> None:
    vectors = load("v2-identity")
    first = write_identity(V2, ALICE, "MYNONCE")
    assert first == vectors["tangle"][0]["msg"]
    tangle = PzpTangle(vectors["groupId"])
    for record in vectors["tangle"]:
        check(V2, record["msg"], tangle)
        enter(V2.fields, record["msg"], tangle)
    assert tangle.tips == set(vectors["tipsAfter"])
    assert tangle.topological() == vectors["topoSort"]
    assert tangle.keys == set(vectors["pubkeys"])
    assert message.group_uri(V2.fields, tangle.root) == "ppppp:group/v2/XKKmEBmqKGa5twQ2HNSk7t"


def test_only_who_was_a_member_adds_keys() -> None:
    first = write_identity(V2, ALICE, "x")
    tangle = PzpTangle(message.message_id(V2.fields, first))
    entered(first, tangle)
    before = write_added_key(V2, CAROL, tangle, base58.encode(CAROL.feed_id))
    stranger = breaking(PzpRule.NOT_MEMBER)
    with stranger:
        check(V2, before, tangle)
    check(V2, before, tangle, strict=False)
    entered(write_added_key(V2, ALICE, tangle, base58.encode(BOB.feed_id)), tangle)
    entered(write_added_key(V2, BOB, tangle, base58.encode(CAROL.feed_id)), tangle)
    assert len(tangle.keys) == 3
    with breaking(PzpRule.NOT_MEMBER):
        check(V2, before, tangle)  # she is one by now, but was none by what her message follows


@settings(max_examples=40)
@given(values)
def test_any_value_has_an_answer(value) -> None:
    for strict in (False, True):
        for version in VERSIONS.values():
            with pytest.raises(MessageError):
                check(version, value, PzpTangle("x"), strict=strict)
    with pytest.raises(MessageError):
        version_of(value)


BASE = load("v2-validate")["cases"][0]
PATHS = [("data",), ("pubkey",), ("sig",), *((("metadata", name)) for name in BASE["msg"]["metadata"])]


@settings(max_examples=80)
@given(st.sampled_from(PATHS), values)
def test_a_field_with_another_value_is_refused(path, value) -> None:
    changed = json.loads(canonical(BASE["msg"]))
    place = changed
    for name in path[:-1]:
        place = place[name]
    if canonical(place[path[-1]]) != canonical(value) and not (path == ("data",) and value is None):
        place[path[-1]] = value
        assert outcome(V2, {**BASE, "msg": changed}, strict=False) is not None


def test_names_of_nothing_are_refused() -> None:
    for text in ("", "ppppp:message/v2/x/post/", "0", "ppppp:group/v2/abc"):
        with pytest.raises(ValueError, match="names no message"):
            message.id_of_uri(text)


def test_a_message_with_many_predecessors_costs_its_sender_and_not_us(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first = write_feed_root(V2, ALICE, "XKKmEBmqKGa5twQ2HNSk7t", "post")
    tangle = PzpTangle(message.message_id(V2.fields, first))
    enter(V2.fields, first, tangle)
    wide = [message.hash_bytes(V2.fields, bytes([n, m])) for n in range(20) for m in range(20)]
    for depth, one in enumerate(wide, 1):
        tangle.add(one, depth, [tangle.root] if depth == 1 else [wide[depth - 2]])
    said = write(V2, ALICE, {}, "post", [tangle], "XKKmEBmqKGa5twQ2HNSk7t", ["XKKmEBmqKGa5twQ2HNSk7t"])
    said["metadata"]["tangles"][tangle.root]["prev"] = sorted(wide)  # type: ignore[index, call-overload, assignment] # JSON
    searched: list[int] = []
    search = PzpTangle.ancestors

    def counted(self: PzpTangle, *args, **bounds) -> set[str]:
        searched.append(1)
        return search(self, *args, **bounds)

    monkeypatch.setattr(PzpTangle, "ancestors", counted)
    with breaking(PzpRule.PREV_ANCESTOR):
        check(V2, said, tangle, [base58.encode(ALICE.feed_id)])
    assert searched == [1]
