"""Leaving a set that is full of junk for a fresh one, with the feeds kept (decision 0052).

Entries go on being signed for the network's own key. What is said of the set, and requests, are hashed with another
key from then on, which the store remembers: one transaction changes key and set, so that a crash leaves the old or the
new one.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tinyssb_node import limits
from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import StoreDamagedError
from tinyssb_node.events import Event, SetChanged
from tinyssb_node.ids import FeedId
from tinyssb_node.replication.goset import Goset
from tinyssb_node.store.port import FeedRecord, Store

_META: Final = "set_key"
"""Name in the store of the key that stands in the place of the network's for its set; empty or none: the network's."""


@dataclass(frozen=True, slots=True)
class RekeyPlan:
    """What becomes of the feeds of a set."""

    kept: tuple[FeedRecord, ...]
    """They are in the fresh set."""
    left: tuple[FeedRecord, ...]
    """They are not, until somebody names them there. What is held of them stays."""


def plan_rekey(
    records: Iterable[FeedRecord],
    *,
    known: Collection[FeedId] = (),
    refused: Collection[FeedId] = (),
    only_known: bool = False,
) -> RekeyPlan:
    """What to keep of *records*: our own feeds; those that are *known*; and, unless *only_known*, those that our user
    wants and that ever said something. Not those *refused*, if they are not ours."""
    kept: list[FeedRecord] = []
    left: list[FeedRecord] = []
    for record in records:
        if record.retired:
            continue
        said = record.seq > 0 and record.wanted and not only_known
        keep = record.ours or (record.feed not in refused and (record.feed in known or said))
        (kept if keep else left).append(record)
    return RekeyPlan(tuple(kept), tuple(left))


def rekey(store: Store, set_key: bytes, left: Collection[FeedId]) -> Sequence[Event]:
    """Let the set of *store* be one of *set_key*, without the feeds *left*, which are of the set and not ours. To be
    committed; then whoever has loaded the store loads it anew. Returns what to tell."""
    records = {record.feed: record for record in store.feeds()}
    goset = Goset(feed for feed, record in records.items() if not record.retired)
    events: list[Event] = []
    for feed in left:
        assert not records[feed].ours, "our own feeds are never left"
        goset.remove(feed)
        if records[feed].dialect is None:
            store.drop_feed(feed)
        else:
            store.put_feed(replace(records[feed], retired=True))
        events.append(SetChanged(feed=feed, count=len(goset), state=goset.state, face=None, left=True))
    store.put_meta(_META, set_key.hex())
    return events


def set_key_of(store: Store, path: Path) -> bytes:
    """The key of *store*'s set, empty if it is that of the network. Raises StoreDamagedError, with *path*."""
    try:
        key = bytes.fromhex(store.get_meta(_META) or "")
    except ValueError as error:
        raise StoreDamagedError(path, "the key of its set is no key") from error
    if len(key) > limits.NETWORK_KEY_MAX:
        raise StoreDamagedError(path, "the key of its set is too long")
    return key


def effective_network(network: Network, store: Store, path: Path) -> Network:
    """*network* as its node speaks it: with the key of its set. Raises StoreDamagedError, with *path*."""
    return replace(network, set_key=set_key_of(store, path))
