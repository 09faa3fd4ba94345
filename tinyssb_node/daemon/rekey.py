"""Rekey: leaving a set that is full of junk for a fresh one, with all feeds kept (decision 0052).

Entries are still signed for the network's own key. From then on, packets about the set and requests are hashed with
another key, which the store remembers. One transaction changes key and set, so that a crash leaves the old or the new
state.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.codec.events import Event, SetChanged
from tinyssb_node.errors import StoreDamagedError
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset
from tinyssb_node.store.port import FeedRecord, Store

_META: Final = "set_key"
"""Name in the store of the set key, which replaces the network key for the set; empty or none: the network key."""


@dataclass(frozen=True, slots=True)
class RekeyPlan:
    """The feeds of a set, divided for a rekey."""

    kept: tuple[FeedRecord, ...]
    """Feeds that are in the fresh set."""
    left: tuple[FeedRecord, ...]
    """Feeds that are not, until a peer names them there. What is stored of them stays."""


def plan_rekey(
    records: Iterable[FeedRecord],
    *,
    known: Collection[FeedId] = (),
    refused: Collection[FeedId] = (),
    only_known: bool = False,
) -> RekeyPlan:
    """Divide *records*. Kept are our own feeds, the *known* ones and, unless *only_known*, those that the user wants
    and that have an entry. Feeds in *refused* are left unless they are ours."""
    kept: list[FeedRecord] = []
    left: list[FeedRecord] = []
    for record in records:
        if record.retired:
            continue
        has_entries = record.seq > 0 and record.wanted and not only_known
        keep = record.ours or (record.feed not in refused and (record.feed in known or has_entries))
        (kept if keep else left).append(record)
    return RekeyPlan(tuple(kept), tuple(left))


def rekey(store: Store, set_key: bytes, left: Collection[FeedId]) -> Sequence[Event]:
    """Change the set of *store* to one of *set_key*, without the feeds *left*, which are in the set and not ours. The
    caller commits; then every reader of the store loads it again. Returns the events."""
    records = {record.feed: record for record in store.feeds()}
    goset = Goset(feed for feed, record in records.items() if record.in_set)
    events: list[Event] = []
    for feed in left:
        assert not records[feed].ours, "our own feeds are never left"
        if records[feed].in_set:
            goset.remove(feed)
        if records[feed].dialect is None:
            store.drop_feed(feed)
        else:
            store.put_feed(replace(records[feed], retired=True))
        events.append(SetChanged(feed=feed, count=len(goset), state=goset.state, face=None, left=True))
    store.put_meta(_META, set_key.hex())
    return events


def set_key_of(store: Store, path: Path) -> bytes:
    """Return the set key of *store*, empty if it is the network key. Raises StoreDamagedError, with *path*."""
    try:
        key = bytes.fromhex(store.get_meta(_META) or "")
    except ValueError as error:
        raise StoreDamagedError(path, "its set key is not a key") from error
    if len(key) > limits.NETWORK_KEY_MAX:
        raise StoreDamagedError(path, "its set key is too long")
    return key


def effective_network(network: Network, store: Store, path: Path) -> Network:
    """Return *network* with its set key, as its node uses it. Raises StoreDamagedError, with *path*."""
    return replace(network, set_key=set_key_of(store, path))
