"""What the text asks for and the original program does not look at (docs/formats/pzp.md, "Strict and compat")."""

from collections.abc import Container
from typing import Final

from tinyssb_node.pzp.messages import errors, limits
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.lipmaa import lipmaa_depth
from tinyssb_node.pzp.messages.message import IDENTITY_TYPE, is_hash, is_identity_kind, is_key
from tinyssb_node.pzp.messages.rules import ValidationCase, is_feed_root, is_integer

_PLACE: Final = frozenset({"depth", "prev"})


def known_fields(case: ValidationCase) -> None:
    """The message and its metadata have the fields of their version and no others."""
    for name, value, allowed in (
        ("the message", case.message, case.fields.outer),
        ("metadata", case.metadata, case.fields.inner),
    ):
        if not value.keys() <= allowed:
            raise errors.UnknownFieldError(name, sorted(value.keys() - allowed), ", ".join(sorted(allowed)))


def payload_object(case: ValidationCase) -> None:
    """What is said is an object, or was erased."""
    said = case.message[case.fields.payload]
    if isinstance(said, str):
        raise errors.PayloadKindError(case.fields.payload, said, "an object or null")


def payload_hash(case: ValidationCase) -> None:
    """There is a hash of what is said, unless nothing ever was: in a feed root."""
    if case.message[case.fields.payload] is not None:
        return  # it has been compared
    found = case.metadata[case.fields.payload_hash]
    if not is_hash(found) and not (found is None and is_feed_root(case)):
        raise errors.NoPayloadHashError(f"metadata.{case.fields.payload_hash}", found)


def owner(case: ValidationCase) -> None:
    """Whom the message is written for is named by an id, and so is what its author knew of the group."""
    fields, metadata = case.fields, case.metadata
    if fields.tips is None:
        return
    group, tips = metadata[fields.owner], metadata[fields.tips]
    if group is not None and not is_hash(group):
        raise errors.LengthError(
            f"metadata.{fields.owner}", group, f"{limits.HASH_SIZE} in base58, or be null"
        )
    in_feed = len(case.tangle) > 0 and case.tangle.facts.feed is not None
    if tips is None and not in_feed:
        return
    if not isinstance(tips, list) or not tips or not all(is_hash(tip) for tip in tips):
        raise errors.GroupTipsError(f"metadata.{fields.tips}", tips)


def every_place(case: ValidationCase) -> None:
    """Every tangle that is named is an id, with a depth and ids in order."""
    tangles = case.metadata["tangles"]
    if not isinstance(tangles, dict):
        raise errors.NotAnObjectError("metadata.tangles", tangles)
    for root, place in tangles.items():
        if not is_hash(root):
            raise errors.LengthError("a root in metadata.tangles", root, f"{limits.HASH_SIZE} in base58")
        if not isinstance(place, dict):
            raise errors.NotAnObjectError(_field(root), place)
        if place.keys() != _PLACE:
            raise errors.UnknownFieldError(_field(root), sorted(place), "depth, prev, and both of them")
        if not is_integer(place["depth"], 1):
            raise errors.DepthRangeError(f"{_field(root)}.depth", place["depth"])
        _ids_in_order(root, place["prev"], case.tangle)


def _field(root: str) -> str:
    return f"metadata.tangles.{root}"


def _ids_in_order(root: str, prev: Json, known: Container[str]) -> None:
    if not isinstance(prev, list):
        raise errors.PrevListError(f"{_field(root)}.prev", prev)
    last = ""
    for one in prev:
        if not isinstance(one, str):
            raise errors.PrevTextError(f"{_field(root)}.prev", one)
        if one not in known and not is_hash(one):
            raise errors.LengthError(f"an id in {_field(root)}.prev", one, f"{limits.HASH_SIZE} in base58")
        if one == last:
            raise errors.PrevTwiceError(f"{_field(root)}.prev", one)
        if one < last:
            raise errors.PrevOrderError(f"{_field(root)}.prev", one)
        last = one
    if not prev:
        raise errors.PrevUnknownError(f"{_field(root)}.prev", prev)


def tips_and_lipmaa(case: ValidationCase) -> None:
    """``prev`` has a message at the lipmaa depth, and otherwise none that another of them follows."""
    depth = case.place.get("depth")
    if not case.known or not isinstance(depth, int):
        return  # a root, which follows nothing
    prev, linked, depths = case.place["prev"], lipmaa_depth(depth), case.known
    if linked not in depths.values() and isinstance(prev, list) and len(depths) == len(prev):
        raise errors.LipmaaError(case.field_of("prev"), prev, str(linked))
    if len(depths) == 1:
        return
    deepest = max(depths.values())
    beside = {one: found for one, found in depths.items() if found not in (linked, deepest)}
    if not beside:
        return
    after = case.tangle.ancestors(depths, limit=limits.ANCESTORS_SEARCHED_MAX, above=min(beside.values()))
    for message in after:
        if followed := beside.keys() & set(case.tangle.prev(message)):
            raise errors.PrevAncestorError(case.field_of("prev"), min(followed))


def identity(case: ValidationCase) -> None:
    """What founds a group or adds a key to it has the shape for that, and its signer was a member."""
    fields, metadata, said = case.fields, case.metadata, case.message[case.fields.payload]
    founds = not len(case.tangle) and is_identity_kind(fields, metadata)
    if not founds and not (len(case.tangle) and case.tangle.facts.identity):
        return
    if metadata["type"] != IDENTITY_TYPE:
        raise errors.IdentityTypeError("metadata.type", metadata["type"], IDENTITY_TYPE)
    for name in (fields.owner, fields.tips):
        if name is not None and metadata[name] is not None:
            raise errors.IdentityGroupError(f"metadata.{name}", metadata[name])
    if isinstance(said, dict):
        if not is_key(said.get("add")):
            raise errors.LengthError(f"{fields.payload}.add", said.get("add"), "32 in base58")
        if founds and not isinstance(said.get("nonce"), str):
            raise errors.NotTextError(f"{fields.payload}.nonce", said.get("nonce"))
    signer, prev = case.message[fields.author], case.place.get("prev")
    if not founds and isinstance(prev, list):
        known = (one for one in prev if isinstance(one, str))
        limit = limits.ANCESTORS_SEARCHED_MAX
        if not (isinstance(signer, str) and case.tangle.added_before(signer, known, limit=limit)):
            raise errors.NotMemberError(
                fields.author, signer, f"{case.tangle.root}, by what the message follows"
            )
