"""Where a message has its places: in its feed, and in other tangles that it names."""

from typing import Final, cast

from tinyssb_node.pzp.database.port import PzpPlacement, PzpRecord
from tinyssb_node.pzp.database.tangle_cache import TangleCache
from tinyssb_node.pzp.messages import message, rules
from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import VERSIONS, PzpVersion

NOWHERE: Final = PzpTangle("")
"""Before it is known for which tangle a message is."""


def placed_by(
    version: PzpVersion, case: ValidationCase, *, taken: bool, id_: str | None = None
) -> PzpPlacement:
    """The place of a message in the tangle that it was offered for last, whose shape was looked at."""
    names = version.fields.tips is not None and case.tangle.facts.feed is None
    return PzpPlacement(
        case.id if id_ is None else id_,
        cast("int", case.place["depth"]),
        tuple(cast("list[str]", case.place["prev"])),
        message.added_key(version.fields, case.message) if names else None,
        taken,
    )


def has_shape(case: ValidationCase) -> bool:
    """Whether the place in a tangle can be kept: what only ``compat`` takes may be anything."""
    prev = case.place.get("prev")
    return (
        rules.is_integer(case.place.get("depth"), 1)
        and isinstance(prev, list)
        and all(isinstance(one, str) for one in prev)
        and len(set(cast("list[str]", prev))) == len(prev)
    )


def places_of(
    held: TangleCache, version: PzpVersion, case: ValidationCase, id_: str
) -> dict[str, PzpPlacement]:
    """The places of a message that is held, as they are kept, by root."""
    tangles = case.metadata.get("tangles")
    places: dict[str, PzpPlacement] = {}
    for name in tangles if isinstance(tangles, dict) else ():
        found = held.get(name)
        if id_ != name and (id_ in found.tangle or id_ in found.waiting):
            case.offer(found.tangle)
            places[name] = placed_by(version, case, taken=id_ in found.tangle, id_=id_)
    return places


def metadata_of(record: PzpRecord) -> dict[str, Json]:
    """The metadata of a message that is held."""
    return message.metadata_of(record.message())


def has_no_payload(record: PzpRecord) -> bool:
    """Whether there is nothing of what a message says, if it ever said anything."""
    return record.message()[VERSIONS[record.version].fields.payload] is None
