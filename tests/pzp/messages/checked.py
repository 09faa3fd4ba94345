"""Messages checked and put into tangles without a database."""

from collections.abc import Container
from typing import cast

from tinyssb_node.pzp.messages.jsontext import Json
from tinyssb_node.pzp.messages.message import (
    FieldLayout,
    Message,
    key_change,
    message_id,
    metadata_of,
    root_facts,
)
from tinyssb_node.pzp.messages.rules import ValidationCase
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import PzpVersion, judge


def check(
    version: PzpVersion, value: Json, tangle: PzpTangle, keys: Container[str] = (), *, strict: bool = True
) -> str:
    """Check a message for *tangle* and return its id. Raises a MessageError, which says what is wrong with it.

    *keys* are those of the message's group. An empty tangle takes its root only. Nothing is added: that is ``enter``'s.
    """
    case = ValidationCase(version.fields, cast("Message", value), tangle, keys)
    judge(version, case, strict=strict)
    return case.id


def enter(fields: FieldLayout, message: Message, tangle: PzpTangle, known_id: str | None = None) -> str:
    """Add *message*, which was checked for *tangle*, to it. Returns its id, which is worked out if it is not given."""
    found = message_id(fields, message) if known_id is None else known_id
    change = key_change(fields, message)
    if found == tangle.root:
        facts = root_facts(fields, message)
        tangle.add_root(facts, change if facts.feed is None else None)
        return found
    tangles = cast("dict[str, dict[str, Json]]", metadata_of(message)["tangles"])
    place = tangles[tangle.root]
    prev = cast("list[str]", place["prev"])
    tangle.add(found, cast("int", place["depth"]), prev, change if tangle.facts.feed is None else None)
    return found


def precedes(tangle: PzpTangle, first: str, second: str) -> bool:
    """Return True if *second* follows *first*, directly or not. Every message is visited once at most."""
    if first == second or second not in tangle:
        return False
    depth = tangle.depth(first)
    before = tangle.ancestors([second], above=-1 if depth is None else depth)
    return any(first in tangle.prev(one) for one in before)


def deletable_and_erasable(tangle: PzpTangle, message: str) -> tuple[list[str], list[str]]:
    """Return the messages to delete, and those to erase, if all before *message* are to go.

    Erased are those on its path to the root: they keep their metadata, so that it can still be certified.
    Deleted are the others before it.
    """
    erasable = tangle.path_to_root(message)
    order = tangle.topological()
    kept = set(erasable)
    return [one for one in order[: order.index(message)] if one not in kept], erasable
