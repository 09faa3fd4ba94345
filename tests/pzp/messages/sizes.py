"""The table of docs/formats/pzp-air.md: messages as JSON and as carried.

``python -m tests.pzp.messages.sizes`` prints it.
"""

from collections.abc import Iterator
from statistics import fmean

from tests.pzp.messages.checked import enter
from tests.pzp.messages.vectors import load, made, tangle_of
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect
from tinyssb_node.pzp.messages import base58, message
from tinyssb_node.pzp.messages.airform import AirFormTooLarge, serialize_air
from tinyssb_node.pzp.messages.jsontext import Json, canonical
from tinyssb_node.pzp.messages.tangle import PzpTangle, RootFacts
from tinyssb_node.pzp.messages.versions import (
    V2,
    V4,
    PzpVersion,
    write,
    write_added_key,
    write_consent,
    write_feed_root,
    write_identity,
)

ALICE, BOB = (SigningKey(name.ljust(32, b"\0")) for name in (b"alice", b"bob"))
FORTY = "We are at the hut, all well, back at six"
TWEET = "Snow above 2,200 m since noon; the ridge is closed. " * 5 + "Take the road, then."


def grown(version: PzpVersion, group: str, kind: str, length: int) -> PzpTangle:
    """The feed of *group*, with *length* messages behind its root."""
    root = write_feed_root(version, ALICE, group, kind)
    tangle = tangle_of(version, message.message_id(version.fields, root), [root])
    for number in range(length):
        enter(version.fields, write(version, ALICE, {"n": number}, kind, [tangle], group, [group]), tangle)
    return tangle


def typical(version: PzpVersion = V2) -> Iterator[tuple[str, dict[str, Json]]]:
    """Yield typical messages of people and devices, each with its name."""
    founds = write_identity(version, ALICE, base58.encode(bytes(range(1, 33))))
    group = message.message_id(version.fields, founds)
    identity = tangle_of(version, group, [founds])
    yield "identity's root, nonce of 32 bytes", founds
    yield (
        "key added to it",
        write_added_key(
            version, ALICE, identity, base58.encode(BOB.feed_id), consent=write_consent(BOB, group)
        ),
    )
    yield "feed root", write_feed_root(version, ALICE, group, "post")
    feed = grown(version, group, "post", 5)
    yield "post of 40 letters", write(version, ALICE, {"text": FORTY}, "post", [feed], group, [group])
    thread = tangle_of(version, feed.topological()[1], [])
    thread.add_root(RootFacts())
    yield (
        "reply of 40 letters in a thread",
        write(version, ALICE, {"text": FORTY}, "post", [feed, thread], group, [group]),
    )
    linked = write(
        version, ALICE, {"text": FORTY}, "post", [grown(version, group, "post", 6)], group, [group]
    )
    yield "post of 40 letters with a lipmaa link", linked
    yield "post of 280 letters", write(version, ALICE, {"text": TWEET}, "post", [feed], group, [group])
    update: Json = {"update": {"name": "Alice"}, "supersedes": [feed.topological()[-1]]}
    records = grown(version, group, "record_v1__profile", 5)
    yield "update of a record", write(version, ALICE, update, "record_v1__profile", [records], group, [group])
    position: Json = {"lat": 46.54753, "lon": 7.98539, "alt": 3454, "t": 1_792_567_890_123}
    places = grown(version, group, "position", 5)
    yield "position and time", write(version, ALICE, position, "position", [places], group, [group])
    yield "post of 40 letters, erased", message.erase(version.fields, linked)


def row(name: str, messages: list[message.Message]) -> str:
    """Means over *messages*."""
    carried = [content for one in messages if not isinstance(content := serialize_air(one), AirFormTooLarge)]
    assert len(carried) == len(messages)
    before, after = [len(canonical(dict(one))) for one in messages], [len(content) for content in carried]
    packets = [fmean(packet_count(size, Dialect.SPEC) for size in sizes) for sizes in (before, after)]
    return (
        f"| {name} | {fmean(before):.0f} | {fmean(after):.0f} | {fmean(after) / fmean(before):.0%} "
        f"| {packets[0]:.3g} | {packets[1]:.3g} |"
    )


def table() -> list[str]:
    """The lines of the table."""
    lines = [
        "| message | JSON | carried | | packets of JSON | packets |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    lines += [row(f"V2, {name}", [one]) for name, one in typical(V2)]
    lines += [row(f"V4, {name}", [one]) for name, one in typical(V4)]
    names = ("feed-linear", "feed-forks", "multi-tangle")
    for version in ("v2", "v1"):
        for name in names:
            found = [one["msg"] for one in load(f"{version}-{name}")["msgs"]]
            lines.append(row(f"vectors `{version}-{name}`, mean of {len(found)}", found))
    for name in ("v4-feed-linear", "v4-feed-forks"):
        found = [one["msg"] for one in load(name)["msgs"]]
        lines.append(row(f"vectors `{name}`, mean of {len(found)}", found))
    found = [one["msg"] for _, one in made()]
    return [*lines, row(f"all vectors, mean of {len(found)}", found)]


if __name__ == "__main__":
    print("\n".join(table()))  # noqa: T201 - a command
