"""Cases that the original's vectors have not: each message is signed anew after one change."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.pzp.messages.broken import breaking
from tests.pzp.messages.checked import check
from tests.pzp.messages.vectors import load, tangle_of
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import canonical
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import V1, V2, PzpVersion, write_feed_root

ALICE, CAROL = (SigningKey(name.ljust(32, b"\0")) for name in (b"alice", b"carol"))
GROUP = "XKKmEBmqKGa5twQ2HNSk7t"
FEED = load("v2-feed-linear")
ROOT = FEED["rootHash"]


def changed(change: Callable[[dict[str, Any]], object]) -> dict[str, Any]:
    """The feed's message at depth 7 after *change* of its metadata."""
    said: dict[str, Any] = json.loads(canonical(FEED["msgs"][7]["msg"]))
    change(said["metadata"])
    said["sig"] = base58.encode(ALICE.sign(canonical(said["metadata"])))
    return said


def refused(said: dict[str, Any], *, strict: bool) -> PzpRule | None:
    try:
        check(V2, said, tangle_of(V2, ROOT, FEED["msgs"][:7]), FEED["pubkeys"], strict=strict)
    except MessageError as error:
        return error.rule
    return None


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda _: None, None),
        (lambda metadata: metadata.update(groupTips=[]), PzpRule.GROUP_TIPS),
        (lambda metadata: metadata.update(groupTips=["x"]), PzpRule.GROUP_TIPS),
        (lambda metadata: metadata["tangles"][ROOT].update(more=1), PzpRule.UNKNOWN_FIELD),
        (lambda metadata: metadata["tangles"].update({GROUP: 5}), PzpRule.NOT_AN_OBJECT),
        (
            lambda metadata: metadata["tangles"].update({GROUP: {"depth": 0, "prev": [GROUP]}}),
            PzpRule.DEPTH_RANGE,
        ),
        (
            lambda metadata: metadata["tangles"].update({GROUP: {"depth": 1, "prev": {}}}),
            PzpRule.PREV_LIST,
        ),
        (
            lambda metadata: metadata["tangles"].update({GROUP: {"depth": 1, "prev": []}}),
            PzpRule.PREV_UNKNOWN,
        ),
        (
            lambda metadata: metadata["tangles"].update({GROUP: {"depth": 1, "prev": [1]}}),
            PzpRule.PREV_TEXT,
        ),
        (
            lambda metadata: metadata["tangles"].update({GROUP: {"depth": 1, "prev": [GROUP] * 2}}),
            PzpRule.PREV_TWICE,
        ),
        (
            lambda metadata: metadata["tangles"].update({GROUP: {"depth": 1, "prev": [GROUP, ROOT]}}),
            PzpRule.PREV_ORDER,
        ),
    ],
)
def test_what_only_strict_looks_at(change, error) -> None:
    assert refused(changed(change), strict=False) is None
    assert refused(changed(change), strict=True) is error


@pytest.mark.parametrize("strict", [False, True])
def test_null_for_the_places_is_refused(strict: bool) -> None:
    assert (
        refused(changed(lambda metadata: metadata.update(tangles=None)), strict=strict)
        is PzpRule.NOT_AN_OBJECT
    )


def test_anybody_makes_a_feeds_root_and_members_what_follows() -> None:
    root = write_feed_root(V2, CAROL, GROUP, "post")
    assert check(V2, root, PzpTangle(ROOT), ()) == ROOT
    with breaking(PzpRule.NOT_MEMBER):
        check(V2, FEED["msgs"][1]["msg"], tangle_of(V2, ROOT, [root]), {base58.encode(CAROL.feed_id)})


@pytest.mark.parametrize(
    ("version", "tangles", "taken"),
    [
        (V2, [], True),
        (V2, 5, True),
        (V2, "", True),
        (V2, "x", True),
        (V1, [], True),
        (V1, 5, False),
        (V1, "", False),
    ],
)
def test_roots_whose_places_are_no_object(version: PzpVersion, tangles, taken: bool) -> None:
    owner = base58.encode(ALICE.feed_id) if version is V1 else GROUP
    said: dict[str, Any] = write_feed_root(version, ALICE, owner, "post")
    said["metadata"]["tangles"] = tangles
    said["sig"] = base58.encode(ALICE.sign(canonical(said["metadata"])))
    root = message.message_id(V2.fields, said)
    keys = [base58.encode(ALICE.feed_id)]
    if taken:
        assert check(version, said, PzpTangle(root), keys, strict=False) == root
    else:
        with breaking(PzpRule.NOT_AN_OBJECT):
            check(version, said, PzpTangle(root), keys, strict=False)
    with pytest.raises(MessageError):
        check(version, said, PzpTangle(root), keys)
