"""Output of PZP messages for people and for programs."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tinyssb_node.pzp.database.port import PayloadState
from tinyssb_node.pzp.messages import message
from tinyssb_node.pzp.messages.versions import VERSIONS
from tinyssb_node.screens.render import fields, local_time, printable, table
from tinyssb_node.screens.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from tinyssb_node.ids import FeedId
    from tinyssb_node.pzp.commands.session import PzpIdentity
    from tinyssb_node.pzp.database.port import PzpRecord, TangleSummary
    from tinyssb_node.pzp.messages.jsontext import Json

_MISSING = {
    PayloadState.ABSENT: "(what it says is not here)",
    PayloadState.ERASED: "(erased)",
}


_SHORT = 8  # characters of an id or key that are shown


def feed_row(summary: TangleSummary, root: PzpRecord) -> dict[str, object]:
    """A feed, for programs."""
    return {
        "feed": summary.root,
        "type": root.kind,
        "owner": root.owner,
        "version": root.version,
        "messages": summary.messages,
        "depth": summary.max_depth,
        "goal": summary.goal,
    }


def feeds_table(rows: Sequence[dict[str, object]]) -> str:
    """All feeds, for people."""
    names = ("feed", "type", "owner", "messages", "goal")
    return table(
        ("FEED", "TYPE", "OF", "MESSAGES", "GOAL"),
        [[row[name] if row[name] is not None else "-" for name in names] for row in rows],
    )


def group_row(group: PzpIdentity) -> dict[str, object]:
    """An identity, for programs."""
    return {
        "group": group.id,
        "uri": message.group_uri(VERSIONS[group.version].fields, group.id),
        "version": group.version,
        "ours": group.ours,
        "keys": list(group.keys),
        "removed": list(group.removed),
        "powers": {key: list(powers) for key, powers in group.keys.items()},
    }


def group_lines(group: PzpIdentity, own_key: str) -> list[str]:
    """An identity, for people."""
    full = {"add", "del"}
    keys = [
        f"  {key}{'  (this node)' if key == own_key else ''}{'' if full <= {*powers} else '  (cannot change keys)'}"
        for key, powers in group.keys.items()
    ]
    keys += [f"  {key}{'  (this node)' if key == own_key else ''}  (removed)" for key in group.removed]
    name = VERSIONS[group.version].name
    count = len(group.keys)
    return [f"{group.id}, {name}, {count} key{'' if count == 1 else 's'}:", *keys]


def author_of(record: PzpRecord) -> str:
    """The key that wrote a message."""
    return str(message.author_of(VERSIONS[record.version].fields, record.message()))


def said_by(record: PzpRecord) -> Json:
    """Return the payload of a message."""
    return record.message()[VERSIONS[record.version].fields.payload]


def message_row(record: PzpRecord, depth: int | None = None, *, revoked: bool) -> dict[str, object]:
    """A message, for programs; *depth* in the feed that is listed; whether the removal of its key *revoked* it."""
    fields_ = VERSIONS[record.version].fields
    row: dict[str, object] = {
        "id": record.id,
        "uri": message.uri(fields_, record.message()),
        "number": record.number,
        "author": author_of(record),
        "said": record.said.name.lower(),
        "strict": record.strict,
        "revoked": revoked,
        "added_us": record.added_us,
        "message": record.message(),
    }
    return row if depth is None else {"depth": depth, **row}


def message_lines(
    records: Iterable[tuple[int, PzpRecord]], revoked: Collection[str], *, short: bool = False
) -> str:
    """Messages of a feed with their depths, for people; those *revoked* are marked; *short*: ids are cut."""
    rows = [
        [
            depth,
            record.id[:_SHORT] if short else record.id,
            author_of(record)[:_SHORT],
            ("(revoked) " if record.id in revoked else "") + one_line(_said_line(record), 100),
        ]
        for depth, record in records
    ]
    return table(("DEPTH", "MESSAGE", "BY", "SAYS"), rows)


def _said_line(record: PzpRecord) -> str:
    said = said_by(record)
    if said is None:
        return _MISSING.get(record.said, "(the feed's root)")
    return json.dumps(said, ensure_ascii=False)


def shown(record: PzpRecord, carried: Sequence[tuple[str, FeedId, int]], *, revoked: bool) -> str:
    """All of a message, for people; *carried* are network, feed and number of entries that carry it."""
    row = message_row(record, revoked=revoked)
    metadata = message.metadata_of(record.message())
    tangles = metadata["tangles"]
    known = "yes: its key was removed, and the removal does not confirm it" if revoked else None
    pairs: list[tuple[str, object]] = [
        ("id", record.id),
        ("uri", row["uri"]),
        ("version", VERSIONS[record.version].name),
        ("author", row["author"]),
        ("group", record.owner if record.version != 1 else None),
        ("type", record.kind),
        ("came", local_time(record.added_us)),
        ("checked", "strictly" if record.strict else "as the original program does"),
        ("revoked", known),
    ]
    for root, place in sorted(tangles.items()) if isinstance(tangles, dict) else ():
        depth, prev = (place.get("depth"), place.get("prev")) if isinstance(place, dict) else (None, None)
        after = ", ".join(map(str, prev)) if isinstance(prev, list) else prev
        pairs.append(("in", f"{root} at depth {depth}, after {after}"))
    pairs += [("carried by", f"entry {seq} of {feed.hex()} ({name})") for name, feed, seq in carried]
    said = said_by(record)
    text = _said_line(record) if said is None else json.dumps(said, ensure_ascii=False, indent=2)
    body = "\n".join(printable(line) for line in text.split("\n"))
    return f"{fields(pairs)}\n\n{body}"
