"""Messages of one group for tests of their forms, any of them, and what a reader of all of it knows."""

import base64
import json
from collections.abc import Collection
from pathlib import Path
from typing import Any

from hypothesis import strategies as st

from tests.groups.world import GROUP, key_of, message_id, person
from tinyssb_node import limits
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.groups.messages import (
    ADD,
    EXCLUDE,
    INIT,
    AddMember,
    ExcludedMember,
    ExcludeMember,
    GroupContent,
    GroupInit,
    GroupMessage,
    body_of,
    like_bytes,
    post,
    rename,
)
from tinyssb_node.groups.short_form import ReadingContext
from tinyssb_node.ids import EpochKey, FeedId, GroupId, MessageId

VECTORS: dict[str, Any] = json.loads(
    (Path(__file__).parents[1] / "vectors/groups/messages/short_v1.json").read_text("utf-8")
)

ROOT = message_id("root")
KEY = key_of("epoch")
AUTHOR, CREATOR = person("author"), person("creator")
TWIN = FeedId(CREATOR[:8] + bytes(24))
"""Begins like the creator."""
PEOPLE = (AUTHOR, CREATOR, TWIN, *(person(number) for number in range(20)))
FEEDS = tuple(person(f"feed {number}") for number in range(4))
EPOCH, TIP, ADDED = (message_id(name) for name in ("epoch", "tip", "added"))
IDS = (ROOT, EPOCH, TIP, ADDED, *(message_id(number) for number in range(8)))


def reading(
    key: EpochKey | None = KEY, *, author: FeedId = AUTHOR, people: Collection[FeedId] = PEOPLE
) -> ReadingContext:
    """Return the context of a reader who has all of the group."""
    return ReadingContext(
        author=author,
        key=key,
        root_of=lambda _: ROOT,
        group_of=lambda _: GROUP,
        creator_of=lambda _: CREATOR,
        people=lambda start: [one for one in people if one.startswith(start)],
    )


def of_vectors(key: str | None, without: tuple[str, ...] = ()) -> ReadingContext:
    """Return the context of the reader of the vectors, without *without*."""
    people = [FeedId.from_hex(one) for one in VECTORS["people"] if one not in without]
    return ReadingContext(
        author=FeedId.from_hex(VECTORS["author"]),
        key=None if key is None else EpochKey.from_hex(key),
        root_of=lambda _: None if "root_of" in without else MessageId.from_hex(VECTORS["root"]),
        group_of=lambda _: None if "group_of" in without else GroupId.from_hex(VECTORS["group"]),
        creator_of=lambda _: None if "creator_of" in without else FeedId.from_hex(VECTORS["creator"]),
        people=lambda start: [one for one in people if one.startswith(start)],
    )


def of_long_form(written: dict[str, Any]) -> GroupMessage:
    """Return the message that a case of the vectors states in its long form (docs/formats/group-messages.md)."""
    kinds = (("messages", MessageId), ("people", FeedId), ("feeds", FeedId), ("groups", GroupId))
    ids: dict[str, Any] = {
        name: type_.from_hex(id_) for kind, type_ in kinds for id_, name in VECTORS["ids"][kind].items()
    }
    tangles = {
        name: TangleData(ids[data["root"]], tuple(ids[one] for one in data["previous"]))
        if data["root"] is not None
        else FIRST
        for name, data in written["tangles"].items()
        if name in {"group", "epoch", "members"}
    }
    recps = [ids[one] for one in written.get("recps", ())]
    if written["type"] == INIT:
        secret = EpochKey(base64.b64decode(written["secret"]))
        return GroupInit(secret, tangles["group"], tangles["epoch"], tangles["members"], *recps)
    if written["type"] == ADD:
        return AddMember(
            EpochKey(base64.b64decode(written["secret"])),
            recps[0],
            ids[written["root"]],
            ids[written["creator"]],
            tuple(recps[1:]),
            tangles["group"],
            tangles["members"],
            written.get("text"),
            tuple(EpochKey(base64.b64decode(key)) for key in written.get("oldSecrets", ())),
        )
    if written["type"] == EXCLUDE:
        excludes = [
            ExcludedMember(ids[one])
            if isinstance(one, str)
            else ExcludedMember(ids[one["id"]], ids[one["groupFeedId"]], one["sequence"])
            for one in written["excludes"]
        ]
        return ExcludeMember(recps[0], tuple(excludes), tangles["group"], tangles["members"])
    fields = {name: value for name, value in written.items() if name not in {"type", "recps", "tangles"}}
    if others := {name: data for name, data in written["tangles"].items() if name != "group"}:
        fields["tangles"] = others
    return GroupContent(written["type"], body_of(_with_bytes(fields)), recps[0], tangles["group"])


def _with_bytes(value: Any) -> Any:
    """Return a JSON value with bytes in the place of ``{"$base64": …}``."""
    if isinstance(value, list):
        return [_with_bytes(item) for item in value]
    if isinstance(value, dict):
        if value.keys() == {"$base64"}:
            return base64.b64decode(value["$base64"])
        return {name: _with_bytes(item) for name, item in value.items()}
    return value


def epoch_init() -> GroupInit:
    """Behind one exclusion and one epoch."""
    return GroupInit(KEY, TangleData(ROOT, (TIP,)), TangleData(ROOT, (ROOT,)), FIRST, GROUP, AUTHOR)


def addition(count: int = 1, *, people: tuple[FeedId, ...] = (), after_init: bool = False) -> AddMember:
    """With one predecessor in each tangle."""
    return AddMember(
        KEY,
        GROUP,
        ROOT,
        CREATOR,
        people or tuple(person(number) for number in range(count)),
        TangleData(ROOT, (EPOCH if after_init else TIP,)),
        TangleData(EPOCH, (EPOCH if after_init else ADDED,)),
    )


def exclusion(*, full: bool = True) -> ExcludeMember:
    """Of one, with a number of two bytes."""
    one = ExcludedMember(person(1), FEEDS[0], 300) if full else ExcludedMember(person(1))
    return ExcludeMember(GROUP, (one,), TangleData(ROOT, (TIP,)), TangleData(EPOCH, (ADDED,)))


def said(text: str) -> GroupContent:
    """A post with one predecessor."""
    return GroupContent(*post(text), GROUP, TangleData(ROOT, (TIP,)))


def _some(of: Collection[Any], least: int, most: int) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(st.sampled_from(list(of)), min_size=least, max_size=most, unique=True).map(tuple)


GROUP_PLACES = st.builds(TangleData, st.just(ROOT), _some(IDS, 1, 4))
MEMBER_PLACES = st.builds(TangleData, st.sampled_from(IDS), _some(IDS, 1, 4))
KEYS = st.integers(0, 9).map(key_of)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
KINDS = st.one_of(
    st.just("post"),
    TEXTS.filter(lambda kind: 1 <= len(kind.encode()) <= limits.GROUP_KIND_MAX),
).filter(lambda kind: kind not in {INIT, ADD, EXCLUDE})


def _not_like_bytes(value: Any) -> bool:
    return not like_bytes(value)


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False, allow_infinity=False),
    TEXTS,
    st.binary(max_size=8),
)
_NAMES = st.one_of(TEXTS, st.just("$base64"), st.just("text"))
VALUES: st.SearchStrategy[Any] = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(_NAMES, inner, max_size=3).filter(_not_like_bytes),
    ),
    max_leaves=6,
)
FIELDS: st.SearchStrategy[dict[str, Any]] = (
    st.fixed_dictionaries(
        {},
        optional={
            "text": TEXTS,
            "mentions": VALUES,
            "tangles": st.just({"thread": {"root": None, "previous": None}}),
        },
    )
    .flatmap(lambda some: st.dictionaries(_NAMES, VALUES, max_size=3).map(lambda more: {**more, **some}))
    .filter(_not_like_bytes)
)


@st.composite
def _inits(draw: st.DrawFn) -> GroupInit:
    if draw(st.booleans()):
        return GroupInit(draw(KEYS), FIRST, FIRST, FIRST)
    return GroupInit(draw(KEYS), draw(GROUP_PLACES), draw(GROUP_PLACES), FIRST, GROUP, AUTHOR)


@st.composite
def _additions(draw: st.DrawFn) -> AddMember:
    keys = draw(st.lists(KEYS, min_size=1, max_size=4, unique=True))
    members = draw(MEMBER_PLACES)
    group = draw(st.one_of(GROUP_PLACES, st.just(TangleData(ROOT, (members.root or ROOT,)))))
    return AddMember(
        keys[0],
        GROUP,
        ROOT,
        CREATOR,
        draw(_some(PEOPLE, 1, limits.GROUP_ADD_MAX)),
        group,
        members,
        draw(st.none() | TEXTS),
        tuple(keys[1:]),
    )


@st.composite
def _exclusions(draw: st.DrawFn) -> ExcludeMember:
    people = draw(_some(PEOPLE, 1, 4))
    if draw(st.booleans()):
        excludes = tuple(ExcludedMember(one) for one in people)
    else:
        seqs = st.integers(0, limits.SEQ_MAX)
        excludes = tuple(ExcludedMember(one, draw(st.sampled_from(FEEDS)), draw(seqs)) for one in people)
    return ExcludeMember(GROUP, excludes, draw(GROUP_PLACES), draw(MEMBER_PLACES))


@st.composite
def _contents(draw: st.DrawFn) -> GroupContent:
    written = st.builds(lambda kind, fields: (kind, body_of(fields)), KINDS, FIELDS)
    timed = st.builds(post, TEXTS, st.none() | st.sampled_from(IDS), st.integers(0, 2**33))
    kind, body = draw(st.one_of(TEXTS.map(post), timed, TEXTS.map(rename), written))
    return GroupContent(kind, body, GROUP, draw(GROUP_PLACES))


MESSAGES: st.SearchStrategy[GroupMessage] = st.one_of(_inits(), _additions(), _exclusions(), _contents())
