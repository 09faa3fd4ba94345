"""Rules for PZP messages: functions that raise the error of what they find broken.

A version is a list of rules (``versions``). Those up to ``signature`` are the original program's, with its order and
its laxness; where JavaScript throws instead of answering, the message is refused. The rules after it are those of the
text that the original program does not check (docs/formats/pzp.md, "Strict and compat").
"""

import re
from collections.abc import Callable, Container, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from tinyssb_node.codec.crypto import verify
from tinyssb_node.ids import FeedId
from tinyssb_node.limits import FEED_ID_SIZE, SIGNATURE_SIZE
from tinyssb_node.pzp.messages import account, base58, limits
from tinyssb_node.pzp.messages.errors import MessageError, PzpRule
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.message import (
    ACCOUNT_DOMAIN,
    ADD_POWER,
    CONFIRMS,
    DEL_POWER,
    IDENTITY_TYPE,
    POWERS,
    FieldLayout,
    Message,
    author_of,
    consent_bytes,
    decoded,
    hash_and_size,
    hash_bytes,
    is_hash,
    is_identity_kind,
    is_key,
    key_change,
    owner_of,
)
from tinyssb_node.pzp.messages.tangle import KeyChange, PzpTangle, lipmaa_depth

_SEARCHED_MAX: Final = 4_096  # predecessors looked at to find whether one message precedes another: 2 ms
_REST_MAX: Final = 256  # bytes of names, key and signature around metadata and payload
_OTHER_CHARACTERS: Final = re.compile(r"[^a-zA-Z0-9_]")


@dataclass(slots=True)
class ValidationCase:
    """One message, offered for one tangle."""

    fields: FieldLayout
    message: Message
    tangle: PzpTangle
    """The known part of the tangle; empty: the message has to be its root."""
    keys: Container[str] = ()
    """The keys of the message's group, as far as they are known."""
    metadata: dict[str, Json] = field(init=False)
    """The metadata; nothing, if it is no object."""
    place: Mapping[str, Json] = field(init=False)
    """Depth and ``prev`` in the tangle; nothing, if there is none."""
    known: dict[str, int] = field(default_factory=dict, init=False)
    """Depths of those of ``prev`` that the tangle has, once they were looked up."""
    key: bytes = field(default=b"", init=False)
    """The author's key, once it was checked."""
    _signed: bytes | None = field(default=None, init=False)
    _id: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        """Look once at what most rules look at; where it is not what it should be, a rule says so."""
        message: object = self.message  # whatever JSON said
        metadata = message.get("metadata") if isinstance(message, dict) else None
        self.metadata = metadata if isinstance(metadata, dict) else {}
        self.offer(self.tangle)

    def offer(self, tangle: PzpTangle, keys: Container[str] | None = None) -> None:
        """Offer the message for *tangle*, be it the first one or another; *keys* are those of its group."""
        self.tangle = tangle
        if keys is not None:
            self.keys = keys
        tangles = self.metadata.get("tangles")
        place = tangles.get(tangle.root) if isinstance(tangles, dict) else None
        self.place = place if isinstance(place, dict) else {}
        self.known = {}

    def field_of(self, name: str) -> str:
        """Return the field name for *name* of the place."""
        return f"metadata.tangles.{self.tangle.root}.{name}"

    @property
    def signed(self) -> bytes:
        """Return the bytes that are hashed and, behind the version's tag, signed. Raises what ``canonical`` does."""
        if self._signed is None:
            self._signed = canonical(self.message["metadata"])
        return self._signed

    @property
    def id(self) -> str:
        """The message's id. Raises what ``canonical`` does."""
        if self._id is None:
            self._id = hash_bytes(self.fields, self.signed)
        return self._id


Rule: TypeAlias = Callable[[ValidationCase], None]
"""Raises a MessageError if what it asks for is not so."""


def is_integer(value: object, least: int) -> bool:
    """Return True if *value* is an integer from *least* that a double holds exactly; ``true`` is none."""
    return type(value) is int and least <= value <= limits.INTEGER_MAX


def counts(value: object) -> bool:
    """Return True if *value* is truthy in JavaScript: empty lists and objects are."""
    return isinstance(value, list | dict) or bool(value)


def shape(case: ValidationCase) -> None:
    """The fields are there, and of the version."""
    fields = case.fields
    message: object = case.message  # whatever JSON said
    if not isinstance(message, dict | list):
        raise MessageError(PzpRule.NOT_AN_OBJECT, "the message", message)
    if not isinstance(message, dict) or fields.payload not in message:
        raise MessageError(PzpRule.MISSING, fields.payload, list(message))
    metadata = message.get("metadata")
    if not isinstance(metadata, dict | list):
        raise MessageError(PzpRule.NOT_AN_OBJECT, "metadata", metadata)
    if not (isinstance(metadata, dict) and metadata.keys() >= fields.inner):
        later = (
            {"v", fields.kind} if fields.author_signed else {"v"}
        )  # which the original asks for by another rule
        if missing := [name for name in fields.inner if name not in metadata and name not in later]:
            raise MessageError(PzpRule.MISSING, f"metadata.{min(missing)}", list(metadata))
    tangles = metadata["tangles"] if isinstance(metadata, dict) else None
    if fields.author_signed and not isinstance(tangles, dict | list | None):
        raise MessageError(PzpRule.NOT_AN_OBJECT, "metadata.tangles", tangles)  # V2's roots may have anything
    version = metadata.get("v") if isinstance(metadata, dict) else None
    if not (is_integer(version, 0) and version == fields.v):
        raise MessageError(PzpRule.VERSION, "metadata.v", version, str(fields.v))
    if not isinstance(message.get("sig"), str):
        raise MessageError(PzpRule.NOT_TEXT, "sig", message.get("sig"))


def author(case: ValidationCase) -> None:
    """The author's key is one by its size."""
    name = f"metadata.{case.fields.author}" if case.fields.author_signed else case.fields.author
    key = author_of(case.fields, case.message)
    case.key = _sized(name, key, decoded(key) if isinstance(key, str) else None, FEED_ID_SIZE)


def _sized(name: str, text: Json, found: bytes | None, size: int) -> bytes:
    """*found*, what base58 made of *text*, if it has *size* bytes."""
    if not isinstance(text, str):
        raise MessageError(PzpRule.NOT_TEXT, name, text)
    if found is None:
        raise MessageError(PzpRule.BASE58, name, text)
    if len(found) != size:
        raise MessageError(PzpRule.LENGTH, name, text, f"{size}, not {len(found)}")
    return found


def payload_size(case: ValidationCase) -> None:
    """The size of what is said is one."""
    name = case.fields.payload_size
    if not is_integer(case.metadata[name], 0):
        raise MessageError(PzpRule.SIZE, f"metadata.{name}", case.metadata[name])


def payload(case: ValidationCase) -> None:
    """Check that the payload is the signed one, or was erased."""
    fields, said = case.fields, case.message[case.fields.payload]
    if said is None:
        return
    if isinstance(said, list):
        raise MessageError(PzpRule.PAYLOAD_LIST, fields.payload, said)
    if not isinstance(said, dict | str):
        raise MessageError(PzpRule.PAYLOAD_KIND, fields.payload, said, "an object, a string or null")
    found, size = hash_and_size(fields, said)
    if found != case.metadata[fields.payload_hash]:
        raise MessageError(
            PzpRule.PAYLOAD_HASH, fields.payload, said, f"{case.metadata[fields.payload_hash]!a}, not {found}"
        )
    if size != case.metadata[fields.payload_size]:
        raise MessageError(
            PzpRule.PAYLOAD_SIZE, fields.payload, said, f"{case.metadata[fields.payload_size]}, not {size}"
        )


def kind(case: ValidationCase) -> None:
    """The type is a word."""
    name, found = f"metadata.{case.fields.kind}", case.metadata.get(case.fields.kind)
    if not isinstance(found, str):
        raise MessageError(PzpRule.NOT_TEXT, name, found)
    if len(found) > limits.TYPE_MAX:
        raise MessageError(PzpRule.TYPE_LONG, name, found, str(limits.TYPE_MAX))
    if len(found) < limits.TYPE_MIN:
        raise MessageError(PzpRule.TYPE_SHORT, name, found, str(limits.TYPE_MIN))
    if _OTHER_CHARACTERS.search(found):
        raise MessageError(PzpRule.TYPE_CHARACTERS, name, found)


def is_feed_root(case: ValidationCase) -> bool:
    """Return True if anybody could have made the message: it has no payload, and is for a group."""
    fields, metadata = case.fields, case.metadata
    return (
        metadata[fields.payload_hash] is None
        and metadata[fields.payload_size] == 0
        and counts(metadata[fields.owner])
        and (fields.own is None or metadata[fields.owner] != fields.own)
        and (fields.tips is None or metadata[fields.tips] is None)
        and not (isinstance(metadata["tangles"], dict | list | str) and metadata["tangles"])
    )


def member(case: ValidationCase) -> None:
    """Check that the author of a message for a group has a key of it; anybody may make a feed's root."""
    owner = owner_of(case.fields, case.metadata)
    if not is_feed_root(case) and counts(owner) and case.message[case.fields.author] not in case.keys:
        raise MessageError(
            PzpRule.NOT_MEMBER, case.fields.author, case.message[case.fields.author], f"{owner!a}"
        )


def place(case: ValidationCase) -> None:
    """The message is the tangle's root, or has a place in it that agrees with what is known."""
    if case.metadata["tangles"] is None:
        raise MessageError(PzpRule.NOT_AN_OBJECT, "metadata.tangles", None)
    if not len(case.tangle):
        root(case)
        return
    tangles = case.metadata["tangles"]
    if not (isinstance(tangles, dict) and counts(tangles.get(case.tangle.root))):
        raise MessageError(PzpRule.NO_PLACE, "metadata.tangles", tangles, case.tangle.root)
    if not isinstance(case.place.get("prev"), list):
        raise MessageError(PzpRule.PREV_LIST, case.field_of("prev"), case.place.get("prev"))
    if not is_integer(case.place.get("depth"), 1):
        raise MessageError(PzpRule.DEPTH_RANGE, case.field_of("depth"), case.place.get("depth"))
    feed, kind_ = case.tangle.facts.feed, case.fields.kind
    if case.tangle.facts.version not in (None, case.fields.v):
        raise MessageError(PzpRule.VERSION, "metadata.v", case.fields.v, f"{case.tangle.facts.version}")
    if feed is not None and not _same(case.metadata.get(kind_), feed.type):
        raise MessageError(PzpRule.FEED_TYPE, f"metadata.{kind_}", case.metadata.get(kind_), f"{feed.type!a}")
    if feed is not None and not _same(case.metadata[case.fields.owner], feed.owner):
        raise MessageError(
            PzpRule.FEED_OWNER,
            f"metadata.{case.fields.owner}",
            case.metadata[case.fields.owner],
            f"{feed.owner!a}",
        )
    links(case)


def _same(one: object, other: object) -> bool:
    """Return True if both are equal under JavaScript ``===``: ``true`` is not 1, and two lists never are."""
    return type(one) is type(other) and not isinstance(one, list | dict) and one == other


def root(case: ValidationCase) -> None:
    """The message is the root of the tangle, and says nothing of a place in it."""
    if case.id != case.tangle.root:
        raise MessageError(PzpRule.ROOT, "the message", case.id, case.tangle.root)
    tangles = case.metadata["tangles"]
    if isinstance(tangles, dict) and counts(tangles.get(case.tangle.root)):
        raise MessageError(PzpRule.ROOT_PLACE, "metadata.tangles", tangles)


def links(case: ValidationCase) -> None:
    """``prev`` is ids in order, and the depth follows from theirs, as far as they are known."""
    prev, depth = case.place["prev"], case.place["depth"]
    assert isinstance(prev, list)
    assert isinstance(depth, int)
    last: str | None = None
    for one in prev:
        if not isinstance(one, str):
            raise MessageError(PzpRule.PREV_TEXT, case.field_of("prev"), one)
        if one.startswith(f"{case.fields.scheme}:"):
            raise MessageError(PzpRule.PREV_URI, case.field_of("prev"), one)
        if one == last:
            raise MessageError(PzpRule.PREV_TWICE, case.field_of("prev"), one)
        if last is not None and _is_before(one, last):
            raise MessageError(PzpRule.PREV_ORDER, case.field_of("prev"), one)
        last = one
        found = case.tangle.depth(one)
        if found is not None:
            if found >= depth:
                raise MessageError(PzpRule.PREV_DEPTH, case.field_of("prev"), one, f"{depth}, not {found}")
            case.known[one] = found
    if not case.known:
        raise MessageError(PzpRule.PREV_UNKNOWN, case.field_of("prev"), prev)
    deepest = max(case.known.values())
    if len(case.known) == len(prev) and depth != deepest + 1:
        raise MessageError(PzpRule.DEPTH, case.field_of("depth"), depth, str(deepest + 1))


def _is_before(one: str, other: str) -> bool:
    """Return True if *one* sorts first by UTF-16 code units; ids are ASCII, so any order gives the same."""
    if one.isascii() and other.isascii():
        return one < other
    return one.encode("utf-16-be", "surrogatepass") < other.encode("utf-16-be", "surrogatepass")


def signature(case: ValidationCase) -> None:
    """The metadata is signed by the author."""
    text = case.message["sig"]
    try:
        signed = _sized("sig", text, base58.decode(str(text)), SIGNATURE_SIZE)
    except ValueError:
        raise MessageError(PzpRule.BASE58, "sig", text) from None
    if not verify(FeedId(case.key), signed, case.fields.tag + case.signed):
        raise MessageError(PzpRule.SIGNATURE, "sig", case.message["sig"])


_PLACE: Final = frozenset({"depth", "prev"})


def known_fields(case: ValidationCase) -> None:
    """The message and its metadata have the fields of their version and no others."""
    for name, value, allowed in (
        ("the message", case.message, case.fields.outer),
        ("metadata", case.metadata, case.fields.inner),
    ):
        if not value.keys() <= allowed:
            raise MessageError(
                PzpRule.UNKNOWN_FIELD, name, sorted(value.keys() - allowed), ", ".join(sorted(allowed))
            )


def payload_object(case: ValidationCase) -> None:
    """Check that the payload is an object, or was erased."""
    said = case.message[case.fields.payload]
    if isinstance(said, str):
        raise MessageError(PzpRule.PAYLOAD_KIND, case.fields.payload, said, "an object or null")


def payload_hash(case: ValidationCase) -> None:
    """There is a hash of what is said, unless nothing ever was: in a feed root."""
    if case.message[case.fields.payload] is not None:
        return  # it has been compared
    found = case.metadata[case.fields.payload_hash]
    if not is_hash(case.fields, found) and not (found is None and is_feed_root(case)):
        raise MessageError(PzpRule.NO_PAYLOAD_HASH, f"metadata.{case.fields.payload_hash}", found)


def owner(case: ValidationCase) -> None:
    """Check that ids name the group the message is for, and what its author knew of that group."""
    fields, metadata = case.fields, case.metadata
    if fields.tips is None:
        return
    group, tips = owner_of(fields, metadata), metadata[fields.tips]
    if group is None and metadata[fields.owner] is not None and not is_feed_root(case):
        if tips is not None:
            raise MessageError(PzpRule.NO_TIPS, f"metadata.{fields.tips}", tips)
        return
    if (group is not None or fields.own is not None) and not is_hash(fields, group):
        raise MessageError(
            PzpRule.LENGTH,
            f"metadata.{fields.owner}",
            metadata[fields.owner],
            f"{fields.hash_size} in base58",
        )
    in_feed = len(case.tangle) > 0 and case.tangle.facts.feed is not None
    if tips is None and not in_feed and (fields.own is None or is_feed_root(case)):
        return
    if not isinstance(tips, list) or not tips or not all(is_hash(fields, tip) for tip in tips):
        raise MessageError(PzpRule.GROUP_TIPS, f"metadata.{fields.tips}", tips)
    if fields.own is not None and tips != sorted({str(tip) for tip in tips}):
        raise MessageError(PzpRule.GROUP_TIPS, f"metadata.{fields.tips}", tips, "in order, each once")


def every_place(case: ValidationCase) -> None:
    """Every tangle that is named is an id, with a depth and ids in order."""
    tangles = case.metadata["tangles"]
    if not isinstance(tangles, dict):
        raise MessageError(PzpRule.NOT_AN_OBJECT, "metadata.tangles", tangles)
    for root, place in tangles.items():
        if not is_hash(case.fields, root):
            raise MessageError(
                PzpRule.LENGTH, "a root in metadata.tangles", root, f"{case.fields.hash_size} in base58"
            )
        if not isinstance(place, dict):
            raise MessageError(PzpRule.NOT_AN_OBJECT, _field(root), place)
        if place.keys() != _PLACE:
            raise MessageError(
                PzpRule.UNKNOWN_FIELD, _field(root), sorted(place), "depth, prev, and both of them"
            )
        if not is_integer(place["depth"], 1):
            raise MessageError(PzpRule.DEPTH_RANGE, f"{_field(root)}.depth", place["depth"])
        _ids_in_order(case.fields, root, place["prev"], case.tangle)


def _field(root: str) -> str:
    return f"metadata.tangles.{root}"


def _ids_in_order(fields: FieldLayout, root: str, prev: Json, known: Container[str]) -> None:
    if not isinstance(prev, list):
        raise MessageError(PzpRule.PREV_LIST, f"{_field(root)}.prev", prev)
    last = ""
    for one in prev:
        if not isinstance(one, str):
            raise MessageError(PzpRule.PREV_TEXT, f"{_field(root)}.prev", one)
        if one not in known and not is_hash(fields, one):
            raise MessageError(
                PzpRule.LENGTH, f"an id in {_field(root)}.prev", one, f"{fields.hash_size} in base58"
            )
        if one == last:
            raise MessageError(PzpRule.PREV_TWICE, f"{_field(root)}.prev", one)
        if one < last:
            raise MessageError(PzpRule.PREV_ORDER, f"{_field(root)}.prev", one)
        last = one
    if not prev:
        raise MessageError(PzpRule.PREV_UNKNOWN, f"{_field(root)}.prev", prev)


def tips_and_lipmaa(case: ValidationCase) -> None:
    """``prev`` has a message at the lipmaa depth, and otherwise none that another of them follows."""
    depth = case.place.get("depth")
    if not case.known or not isinstance(depth, int):
        return  # a root, which follows nothing
    prev, linked, depths = case.place["prev"], lipmaa_depth(depth), case.known
    if linked not in depths.values() and isinstance(prev, list) and len(depths) == len(prev):
        raise MessageError(PzpRule.LIPMAA, case.field_of("prev"), prev, str(linked))
    if len(depths) == 1:
        return
    deepest = max(depths.values())
    beside = {one: found for one, found in depths.items() if found not in (linked, deepest)}
    if not beside:
        return
    after = case.tangle.ancestors(depths, limit=_SEARCHED_MAX, above=min(beside.values()))
    for message in after:
        if followed := beside.keys() & set(case.tangle.prev(message)):
            raise MessageError(PzpRule.PREV_ANCESTOR, case.field_of("prev"), min(followed))


def is_of_identity(case: ValidationCase) -> bool:
    """Return True if the message founds an identity, or is offered for the tangle of one."""
    if len(case.tangle):
        return case.tangle.facts.identity
    return is_identity_kind(case.fields, case.metadata)


def identity(case: ValidationCase) -> None:
    """Check that a message that founds a group or adds a key has the right shape and a member as signer."""
    fields, metadata, said = case.fields, case.metadata, case.message[case.fields.payload]
    if not is_of_identity(case):
        return
    if metadata["type"] != IDENTITY_TYPE:
        raise MessageError(PzpRule.IDENTITY_TYPE, "metadata.type", metadata["type"], IDENTITY_TYPE)
    for name in (fields.owner, fields.tips):
        if name is not None and metadata[name] is not None:
            raise MessageError(PzpRule.IDENTITY_GROUP, f"metadata.{name}", metadata[name])
    change = key_change(fields, case.message)
    if isinstance(said, dict):
        name = "del" if "del" in said and "add" not in said and case.place else "add"
        if not is_key(said.get(name)):
            raise MessageError(PzpRule.LENGTH, f"{fields.payload}.{name}", said.get(name), "32 in base58")
        if not case.place and not isinstance(said.get("nonce"), str):
            raise MessageError(PzpRule.NOT_TEXT, f"{fields.payload}.nonce", said.get("nonce"))
    if case.place:
        _member_powers(case)
    if change is not None and change.removes:
        _removal(case, change)


def _member_powers(case: ValidationCase) -> AbstractSet[str]:
    """Return the powers of the author of an identity's message, by what it follows. Raises MessageError."""
    prev, signer = case.place.get("prev"), case.message[case.fields.author]
    named = [one for one in prev if isinstance(one, str)] if isinstance(prev, list) else []
    if missing := [one for one in named if one not in case.tangle]:
        raise MessageError(PzpRule.PREV_UNKNOWN, case.field_of("prev"), missing)
    powers = account.keys_after(case.tangle, named).get(str(signer))
    if powers is None:
        raise MessageError(
            PzpRule.NOT_MEMBER,
            case.fields.author,
            signer,
            f"{case.tangle.root}, by what the message follows",
        )
    return powers


def _removal(case: ValidationCase, change: KeyChange) -> None:
    """Check that the removal of a key leaves another one, and what it confirms. Raises MessageError."""
    fields, said = case.fields, case.message[case.fields.payload]
    named = said.get(CONFIRMS, {}) if isinstance(said, dict) else {}
    lists = named.values() if isinstance(named, dict) else [None]
    well_formed = all(
        isinstance(ids, list)
        and ids
        and all(is_hash(fields, one) for one in ids)
        and ids == sorted({*map(str, ids)})
        for ids in lists
    )
    if not isinstance(named, dict) or not well_formed or not all(is_hash(fields, root) for root in named):
        raise MessageError(PzpRule.CONFIRMS, f"{fields.payload}.{CONFIRMS}", named)
    prev = case.place.get("prev")
    known = [one for one in prev if isinstance(one, str)] if isinstance(prev, list) else []
    if not account.keys_after(case.tangle, known).keys() - {change.key}:
        raise MessageError(PzpRule.LAST_KEY, fields.payload, change.key, case.tangle.root)


# --- V4


def account_owner(case: ValidationCase) -> None:
    """Check that a message of an account's tangle is the account's own, and that no other message is."""
    fields, metadata = case.fields, case.metadata
    own = metadata[fields.owner] == fields.own
    if own != is_of_identity(case):
        raise MessageError(
            PzpRule.ACCOUNT_OWN, f"metadata.{fields.owner}", metadata[fields.owner], f"{case.tangle.root}"
        )
    if own and fields.tips is not None and metadata[fields.tips] is not None:
        raise MessageError(PzpRule.NO_TIPS, f"metadata.{fields.tips}", metadata[fields.tips])


def account_power(case: ValidationCase) -> None:
    """Check that the author of a message that adds a key ever got that power, as the original program does."""
    if not is_of_identity(case) or not len(case.tangle):
        return
    said, signer = case.message[case.fields.payload], case.message[case.fields.author]
    if not isinstance(said, dict):
        raise MessageError(PzpRule.PAYLOAD_KIND, case.fields.payload, said, "an object")
    if said.get("action") == "add" and not account.has_ever_power(case.tangle, str(signer), ADD_POWER):
        raise MessageError(PzpRule.NOT_ALLOWED, case.fields.author, signer, ADD_POWER)


def account_message(case: ValidationCase) -> None:
    """Check that a message of an account adds or removes a key, and that its author may do so."""
    if is_of_identity(case):
        change = _account_change(case)
        if case.place:
            _account_author(case, change)


def _account_change(case: ValidationCase) -> KeyChange:
    """Return the change of keys that a message of an account makes, if it has the right form. Raises MessageError."""
    said, kind_ = case.message[case.fields.payload], case.metadata[case.fields.kind]
    if not str(kind_).startswith(ACCOUNT_DOMAIN):
        raise MessageError(PzpRule.ACCOUNT_DOMAIN, "metadata.domain", kind_, ACCOUNT_DOMAIN)
    change = key_change(case.fields, case.message)
    if not isinstance(said, dict) or change is None or not is_key(change.key):
        raise MessageError(PzpRule.ACCOUNT_DATA, "data", said, "action add or del, and a key of 32 bytes")
    if not change.signs and not _encrypts(said["key"]):
        raise MessageError(PzpRule.ACCOUNT_DATA, "data.key", said["key"], "of a known purpose and algorithm")
    granted = said.get("powers", [])
    if not isinstance(granted, list) or not all(isinstance(one, str) and one in POWERS for one in granted):
        raise MessageError(PzpRule.ACCOUNT_DATA, "data.powers", granted, ", ".join(sorted(POWERS)))
    if not case.place and (change.removes or not isinstance(said.get("nonce"), str)):
        raise MessageError(PzpRule.ACCOUNT_DATA, "data", said, "action add with a nonce, in the root")
    return change


def _account_author(case: ValidationCase, change: KeyChange) -> None:
    """Check that the author of a message may add or remove a key, and that the key's owner agrees."""
    said = case.message[case.fields.payload]
    asked = {DEL_POWER} if change.removes else {ADD_POWER} | change.powers
    if not asked <= _member_powers(case):
        signer = case.message[case.fields.author]
        raise MessageError(PzpRule.NOT_ALLOWED, case.fields.author, signer, ", ".join(sorted(asked)))
    if change.removes:
        _removal(case, change)
    elif change.signs:
        _consent(case, change.key, said.get("consent") if isinstance(said, dict) else None)


def _encrypts(key: Json) -> bool:
    """Return True if *key* is of the kind that V4 has for encryption."""
    named = (key.get("purpose"), key.get("algorithm")) if isinstance(key, dict) else ()
    return named == ("external-encryption", "x25519-xsalsa20-poly1305")


def _consent(case: ValidationCase, key: str, consent: Json) -> None:
    """Check that the owner of the added *key* has agreed."""
    signed = decoded(consent) if isinstance(consent, str) else None
    if signed is None or len(signed) != SIGNATURE_SIZE:
        raise MessageError(PzpRule.CONSENT, "data.consent", consent)
    if not verify(FeedId(decoded(key) or b""), signed, consent_bytes(case.tangle.root)):
        raise MessageError(PzpRule.CONSENT, "data.consent", consent)


def size(case: ValidationCase) -> None:
    """Check that the message is not too long."""
    fields, message = case.fields, case.message
    said = 4 if message[fields.payload] is None else case.metadata[fields.payload_size]
    if isinstance(said, int) and len(case.signed) + said + _REST_MAX <= limits.V4_SIZE_MAX:
        return
    found = len(canonical(dict(message)))
    if found > limits.V4_SIZE_MAX:
        raise MessageError(PzpRule.TEXT_SIZE, "the message", found, f"at most {limits.V4_SIZE_MAX} bytes")
