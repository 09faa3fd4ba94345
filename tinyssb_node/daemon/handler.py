"""Answers the control protocol's commands (docs/formats/control.md), each by a method."""

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import msgspec

from tinyssb_node import limits, version
from tinyssb_node.codec.events import Effect, EntryAppended
from tinyssb_node.content.phones import harm_to_phones
from tinyssb_node.control import requests, rows
from tinyssb_node.control.protocol import RequestLine
from tinyssb_node.control.requests import ControlRequest, NetworkRequest, bad_argument, read_request
from tinyssb_node.control.server import ControlConnection
from tinyssb_node.daemon.block_policy import BlockPolicy
from tinyssb_node.daemon.clock import Clock
from tinyssb_node.daemon.companion import CompanionProcess
from tinyssb_node.daemon.config import LogLevel, find_network
from tinyssb_node.daemon.face_manager import FaceManager
from tinyssb_node.daemon.feed_names import find_feed
from tinyssb_node.daemon.feedrows import disk_use_row, feed_rows, published_row
from tinyssb_node.daemon.fork_handler import send_forks
from tinyssb_node.daemon.holders import Holders, first_of_newest, messages
from tinyssb_node.daemon.logs import LOG_THRESHOLD
from tinyssb_node.daemon.network_storage import NetworkStorage
from tinyssb_node.daemon.packet_import import import_packets
from tinyssb_node.daemon.rekey import rekey
from tinyssb_node.daemon.runtime import Runtime
from tinyssb_node.daemon.tip_monitor import waiting_row
from tinyssb_node.daemon.verify import check_entry
from tinyssb_node.errors import BadRequestError, NodeReadOnlyError, ProblemError, UnknownIdentityError, phrase
from tinyssb_node.feeds.sidechain import reassemble
from tinyssb_node.groups.waits import META as GROUPS_META
from tinyssb_node.ids import Dialect, FeedId, Origin
from tinyssb_node.node.node import Node
from tinyssb_node.store.entries import count_chunks, entry_layout, newest_content, type_of
from tinyssb_node.store.home import MAIN_IDENTITY
from tinyssb_node.store.limits import STORE_PACKET_BYTES
from tinyssb_node.store.port import FeedRecord, Store, StoredEntry

if TYPE_CHECKING:
    from tinyssb_node.daemon.group_handler import GroupHandler
    from tinyssb_node.daemon.identity_host import IdentityHost
    from tinyssb_node.daemon.identity_manager import IdentityWriter


_INVITATIONS_SHOWN: Final = 8
"""Most invitations to groups that the status gives; of more it gives the number."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DaemonInfo:
    """Facts that do not change while the daemon runs."""

    name: str
    feed: FeedId
    dialect: Dialect
    home: str
    pid: int
    boot: int


Answer = Callable[[Any, ControlConnection], Awaitable[object]]
"""Takes a request of one kind."""
_LISTED_MAX = 4_096
"""Most bytes of content in an item of `log`."""
KEEPERS_ONLY = ("sure", "rekey", "reopen_identities")
"""Commands that members of the node's group may not use. Only the keeper of its backups knows whether its
feed goes on elsewhere, and only its operator may leave the others."""


class ControlHandler:
    """Reads the node and the store, and lets the runtime change them."""

    def __init__(
        self,
        *,
        about: DaemonInfo,
        runtime: Runtime,
        places: Sequence[NetworkStorage],
        clock: Clock,
        faces: FaceManager,
        turned_away: Callable[[], int],
        blocks: BlockPolicy,
        authorship: "IdentityHost | None" = None,
        companions: Sequence[CompanionProcess] = (),
    ) -> None:
        """*places*: that of the default network first. *authorship* None: there are no further identities."""
        self._about = about
        self._runtime = runtime
        self._places = {place.name: place for place in places}
        self._clock = clock
        self._face_manager = faces
        self._turned_away = turned_away
        self._authorship = authorship
        self._companions = companions
        self._blocks = blocks
        self._groups: GroupHandler | None = None
        self._answers: Mapping[type[ControlRequest[Any]], Answer] = {
            requests.GetStatus: self._status,
            requests.Publish: self._publish,
            requests.ConfirmTip: self._sure,
            requests.ReopenIdentities: self._reopen_identities,
            requests.Rekey: self._rekey,
            requests.ListFeeds: self._feeds,
            requests.ListForks: self._forks,
            requests.ReadLog: self._log,
            requests.ShowEntry: self._show,
            requests.Follow: self._follow,
            requests.Unfollow: self._unfollow,
            requests.Purge: self._purge,
            requests.GetSet: self._goset,
            requests.ListFaces: self._faces,
            requests.RestartFace: self._face_restart,
            requests.TuneFace: self._face_tune,
            requests.ConfirmFace: self._face_confirm,
            requests.SetLogLevel: self._log_level,
            requests.ListNeighbours: self._neighbours,
            requests.ListAirtime: self._airtime,
            requests.ListReceipts: self._receipts,
            requests.ImportPackets: self._import,
            requests.Bring: self._bring,
            **dict.fromkeys(requests.GROUP_REQUESTS, self._ask_groups),
        }
        self.commands: Mapping[str, type[ControlRequest[Any]]] = {
            kind.command: kind for kind in self._answers
        }
        """The requests by their names: every command of the protocol."""

    async def answer(self, line: RequestLine, client: ControlConnection) -> object:
        """Return the result of the request in *line*; items go to *client* before. Raises LocalError."""
        kind = self.commands.get(line.command)
        if kind is None:
            raise ProblemError(
                f"There is no command `{line.command[: limits.CONTROL_ID_MAX]}`.",
                "There are " + ", ".join(self.commands) + ".",
                code="unknown_command",
            )
        return await self._answers[kind](read_request(kind, line.arguments), client)

    async def _status(self, _request: requests.GetStatus, _client: ControlConnection) -> rows.StatusRow:
        about = self._about
        networks = [self._network_row(place) for place in self._places.values()]
        first = networks[0]
        return rows.StatusRow(
            name=about.name,
            feed=about.feed.hex(),
            dialect=about.dialect.value,
            version=version(),
            home=about.home,
            pid=about.pid,
            boot=about.boot,
            uptime_us=self._clock.now_us(),
            read_only=self._runtime.read_only,
            feeds=first.feeds,
            entries=first.entries,
            arrivals=first.arrivals,
            forked=first.forked,
            waiting=first.waiting,
            frozen_at=first.frozen_at,
            identities=first.identities,
            faces=len(self._runtime.networks.faces()),
            endpoints=self._face_manager.rows(),
            companions=[companion.row() for companion in self._companions],
            turned_away=self._turned_away(),
            networks=networks,
        )

    def _network_row(self, place: NetworkStorage) -> rows.NetworkRow:
        node, now_us = self._node(place), self._clock.now_us()
        feeds, own = node.feeds(), node.own()
        invitations = _invitations(node)
        return rows.NetworkRow(
            name=place.name,
            network=place.network.goset_dmx.hex() if place.network.key else None,
            feeds=len(feeds),
            entries=sum(record.seq for record in feeds),
            arrivals=place.store.last_arrival(),
            forked=sum(record.forked_at is not None for record in feeds),
            waiting=waiting_row(node.waiting(now_us)),
            frozen_at=None if own is None else own.forked_at,
            identities=[] if self._authorship is None else [*self._authorship.rows(node, now_us)],
            beyond=sum(record.beyond and not record.retired for record in feeds),
            pending=sum(node.is_pending(record.feed) for record in feeds),
            refusals=[rows.RefusalRow(each.rule, each.count, each.last_us) for each in node.refusals()],
            disk=disk_use_row(node),
            phones=_phones(node, now_us),
            group_reviews=0 if node.groups is None else node.groups.open_reviews(),
            invitations=invitations[:_INVITATIONS_SHOWN],
            invitations_count=len(invitations),
        )

    async def _sure(self, request: requests.ConfirmTip, _client: ControlConnection) -> rows.SureRow:
        place, writer = self._place(request), self._writer(request)
        feed = None if writer is None else writer.feed
        changed = self._node(place).waiting(self._clock.now_us(), feed) is not None
        self._node(place).be_sure(feed)
        return rows.SureRow(changed=changed)

    async def _reopen_identities(
        self, _request: requests.ReopenIdentities, _client: ControlConnection
    ) -> rows.ReopenedIdentitiesRow:
        if self._authorship is None:
            return rows.ReopenedIdentitiesRow(opened=[], closed=[], problems={})
        if self._runtime.read_only is not None:
            raise NodeReadOnlyError
        found = self._authorship.reopen(self._about.feed, os.environ)
        if found.opened or found.closed:
            self._runtime.reload(next(iter(self._places)), lambda _store: ())
        return found

    async def _rekey(self, request: requests.Rekey, _client: ControlConnection) -> rows.RekeyedRow:
        place, set_key = self._place(request), bytes.fromhex(request.set_key)
        left = [FeedId.from_hex(feed) for feed in dict.fromkeys(request.left)]
        may = {record.feed for record in self._node(place).feeds() if not (record.ours or record.retired)}
        if len(set_key) > limits.NETWORK_KEY_MAX or not may.issuperset(left):
            raise BadRequestError(
                "`rekey` cannot be done: the key is too long, or what is to be left is not in the set, or ours.",
                "docs/formats/control.md lists its arguments.",
            )
        self._runtime.reload(place.name, lambda store: rekey(store, set_key, left))
        kept = sum(not record.retired for record in self._node(place).feeds())
        return rows.RekeyedRow(kept=kept, left=len(left))

    async def _publish(self, request: requests.Publish, _client: ControlConnection) -> rows.PublishedRow:
        place, writer = self._place(request), self._writer(request)
        content = bytes.fromhex(request.content)
        dialect = self._about.dialect if writer is None else writer.dialect
        if dialect is Dialect.DEPLOYED and not request.force and (harm := harm_to_phones(content)):
            raise ProblemError(
                f"Phones that hold this feed would crash when they read this: {harm}. Nothing was published.",
                "Send it as a file with a name, by `tinyssb attach FILE`. With --force it is published all the same.",
                code="harms_phones",
            )

        def publish(node: Node, now_us: int) -> tuple[EntryAppended, list[Effect]]:
            return node.publish(content, now_us) if writer is None else writer.append(node, content, now_us)

        return published_row(self._runtime.do(publish, place.name))

    async def _feeds(self, request: requests.ListFeeds, client: ControlConnection) -> rows.CountRow:
        place = self._place(request)
        names = {self._about.feed: MAIN_IDENTITY}
        if self._authorship is not None:
            names |= self._authorship.names()
        found = [*feed_rows(self._node(place), names, self._clock.now_us())]
        for row in found:
            await client.send(row)
        return rows.CountRow(count=len(found))

    async def _forks(self, request: requests.ListForks, client: ControlConnection) -> rows.CountRow:
        place = self._place(request)
        return rows.CountRow(count=await send_forks(place, self._node(place).feeds(), client.send))

    async def _log(self, request: requests.ReadLog, client: ControlConnection) -> rows.CountRow:
        place = self._place(request)
        record = self._find(place, request.feed)
        feed, seq = record.feed, request.first or 1
        if request.last is not None:
            _refuse_first(request)
            seq = max(1, record.seq + 1 - request.last)
        count = 0
        while True:
            appended = self._runtime.appended()
            while page := place.store.entries(feed, seq, limits.CONTROL_PAGE):
                dialect = self._find(place, feed.hex()).dialect
                for entry in page:
                    # Longer content is requested by itself, with `show`.
                    await client.send(entry_row(place.store, entry, dialect, _LISTED_MAX))
                count += len(page)
                await asyncio.sleep(0)  # the node gets its turn between pages
                seq = page[-1].seq + 1
            if not request.follow or client.gone.is_set():
                if request.first is None and not request.follow:
                    for ahead in self._newest_rows(place, feed):
                        await client.send(ahead)
                        count += 1
                return rows.CountRow(count=count)
            await _first_of(appended, client.gone)

    def _newest_rows(self, place: NetworkStorage, feed: FeedId) -> Iterator[rows.EntryRow]:
        """Return the rows of the entries of *feed* that came before those they follow."""
        for entry in place.store.newest_entries():
            if entry.feed != feed:
                continue
            layout = entry_layout(entry, self._find(place, feed.hex()).dialect)
            content = newest_content(entry, layout) if layout.size <= _LISTED_MAX else None
            yield rows.EntryRow(
                feed=feed.hex(),
                seq=entry.seq,
                id=entry.id.hex(),
                type=type_of(entry),
                size=layout.size,
                chunks=layout.chunks,
                chunks_held=len(entry.chunks),
                origin=Origin.PEER.value,
                face=None,
                arrival=0,
                committed_us=entry.known_us,
                content=None if content is None else content.hex(),
            )

    async def _show(self, request: requests.ShowEntry, _client: ControlConnection) -> rows.ShownRow:
        place = self._place(request)
        record, seq = self._find(place, request.feed), request.seq
        entry = place.store.entry(record.feed, seq)
        if entry is None:
            held = phrase(f"entries 1 to {record.seq}") if record.seq else phrase("no entry of it")
            raise ProblemError(
                f"This node does not hold entry {seq} of {record.feed.hex()}; it holds {held}.",
                "Wait until it is replicated, or ask for one that is there.",
                code="unknown_entry",
            )
        good = check_entry(place.network, place.store, record, entry)
        row = entry_row(place.store, entry, record.dialect, limits.CONTENT_FETCH_MAX)
        return rows.ShownRow(
            **msgspec.structs.asdict(row),
            packet=entry.packet.hex(),
            signature="good" if good else "wrong",
            forked=record.forked_at is not None,
        )

    async def _follow(self, request: requests.Follow, _client: ControlConnection) -> rows.FollowedRow:
        place, feed = self._place(request), FeedId.from_hex(request.feed)
        changed = not any(
            record.feed == feed and record.wanted and not record.retired
            for record in self._node(place).feeds()
        )
        self._runtime.do(
            lambda node, now_us: (None, node.follow(feed, now_us, pending=True, newest=request.newest)),
            place.name,
        )
        pending = self._node(place).is_pending(feed)
        return rows.FollowedRow(feed=feed.hex(), changed=changed, pending=pending)

    async def _unfollow(self, request: requests.Unfollow, _client: ControlConnection) -> rows.FollowedRow:
        place = self._place(request)
        record = self._find(place, request.feed)
        self._runtime.do(lambda node, now_us: (None, node.unfollow(record.feed, now_us)), place.name)
        forgotten = not self._node(place).replica.knows(record.feed)
        return rows.FollowedRow(feed=record.feed.hex(), changed=record.wanted, forgotten=forgotten)

    async def _purge(self, request: requests.Purge, _client: ControlConnection) -> rows.PurgedRow:
        place = self._place(request)
        record = self._find(place, request.feed)
        if record.ours or record.followed:
            whose = phrase("your own") if record.ours else phrase("followed here")
            raise ProblemError(
                f"The feed {record.feed.hex()} is {whose}. Nothing was deleted.",
                "" if record.ours else f"If you do not want it: tinyssb unfollow {record.feed.hex()}",
                code="feed_kept",
            )
        packets = self._runtime.do(lambda node, now_us: node.purge(record.feed, now_us), place.name)
        return rows.PurgedRow(record.feed.hex(), packets, packets * STORE_PACKET_BYTES)

    async def _goset(self, request: requests.GetSet, _client: ControlConnection) -> rows.GosetRow:
        node = self._node(self._place(request))
        feeds = [record.feed.hex() for record in node.feeds() if record.in_set]
        return rows.GosetRow(state=node.set_state.hex(), count=len(feeds), feeds=feeds)

    async def _faces(self, _request: requests.ListFaces, client: ControlConnection) -> rows.CountRow:
        statuses, now_us = self._runtime.networks.faces(), self._clock.now_us()
        for status in statuses:
            heard_us = status.counters.last_heard_us
            row: rows.FaceRow = rows.FaceRow(
                face=status.name,
                spec=status.spec,
                medium=status.profile.medium.value,
                queued=status.queued,
                outstanding=status.outstanding,
                sent=status.counters.sent,
                received=status.counters.received,
                new=status.counters.new,
                invalid=status.counters.invalid,
                heard_us=None if heard_us is None else now_us - heard_us,
                full_us=status.profile.airtime_us[limits.PACKET_SIZE],
            )
            await client.send(row)
        return rows.CountRow(count=len(statuses))

    async def _face_restart(
        self, request: requests.RestartFace, _client: ControlConnection
    ) -> rows.RestartedRow:
        return rows.RestartedRow(face=request.face, spec=await self._face_manager.restart(request.face))

    async def _face_tune(self, request: requests.TuneFace, _client: ControlConnection) -> rows.RestartedRow:
        spec = self._face_manager.tune(request.face, request.settings, request.minutes)
        return rows.RestartedRow(face=request.face, spec=spec)

    async def _face_confirm(
        self, request: requests.ConfirmFace, _client: ControlConnection
    ) -> rows.RestartedRow:
        return rows.RestartedRow(face=request.face, spec=self._face_manager.confirm(request.face))

    async def _log_level(self, request: requests.SetLogLevel, _client: ControlConnection) -> rows.LogLevelRow:
        before = LOG_THRESHOLD.change(LogLevel(request.level))
        return rows.LogLevelRow(level=request.level, before=before.value)

    async def _neighbours(self, request: requests.ListNeighbours, client: ControlConnection) -> rows.CountRow:
        found = [
            rows.NeighbourRow(
                face=face,
                name=one.speaker.hex(),
                heard_us=self._clock.now_us() - one.said_us,
                rssi_dbm=one.rssi_dbm,
                snr_db=one.snr_db,
            )
            for face, neighbours in self._node(self._place(request)).neighbours().items()
            for one in neighbours
        ]
        for row in sorted(found, key=lambda row: row.heard_us):
            await client.send(row)
        return rows.CountRow(count=len(found))

    async def _airtime(self, _request: requests.ListAirtime, client: ControlConnection) -> rows.CountRow:
        networks = self._runtime.networks
        accounts = networks.air(self._clock.now_us())
        for account in accounts:
            row: rows.AirtimeRow = rows.AirtimeRow(
                band=account.band,
                faces=[
                    status.name
                    for status in networks.faces()
                    if status.profile.allowance is not None and status.profile.allowance.band == account.band
                ],
                limit_us=account.limit_us,
                window_us=account.window_us,
                used_us=account.used_us,
                left_us=account.left_us,
                advert_left_us=account.advert_left_us,
                content_left_us=account.content_left_us,
                full_us=account.full_us,
                wait_us=account.wait_us,
            )
            await client.send(row)
        return rows.CountRow(count=len(accounts))

    async def _receipts(self, request: requests.ListReceipts, client: ControlConnection) -> rows.CountRow:
        place, own = self._place(request), self._about.feed
        first = request.first or 1
        if request.last is not None:
            _refuse_first(request)
            last_seq = self._find(place, own.hex()).seq
            first = first_of_newest(place.store, own, last_seq, request.last)
        faces = {status.name for status in self._runtime.networks.faces()}
        holders = Holders(place.store, self._node(place).feeds(), own, faces)
        count = 0
        for entry in messages(place.store, own, first):
            await client.send(holders.row(entry))
            count += 1
            if count % limits.CONTROL_PAGE == 0:
                await asyncio.sleep(0)  # the node gets its turn between pages
        return rows.CountRow(count=count)

    async def _import(self, request: requests.ImportPackets, _client: ControlConnection) -> rows.ImportedRow:
        place = self._place(request)
        feed, packets = FeedId.from_hex(request.feed), [bytes.fromhex(packet) for packet in request.packets]
        # As of now: nodes are told a moment later, and of feeds that they know.
        blocked = self._blocks.blocked(place.name)
        return self._runtime.do(
            lambda node, now_us: import_packets(node, place, feed, packets, blocked, now_us), place.name
        )

    async def _bring(self, request: requests.Bring, _client: ControlConnection) -> rows.BroughtRow:
        place = self._place(request)
        feed, packets = FeedId.from_hex(request.feed), [bytes.fromhex(packet) for packet in request.packets]
        brought = self._runtime.do(lambda node, now_us: node.bring(feed, packets, now_us), place.name)
        refused = brought.refused
        return rows.BroughtRow(
            shelved=brought.shelved,
            entries=brought.entries,
            chunks=brought.chunks,
            held=brought.held,
            refused=None if refused is None else rows.RefusedRow(packet=refused[0], reason=refused[1]),
            dropped=[gone.hex() for gone in brought.dropped],
        )

    async def _ask_groups(self, request: NetworkRequest[Any], client: ControlConnection) -> object:
        """Answer a request about private groups. A node without any does without the program for them."""
        if self._groups is None:
            if isinstance(request, requests.ListGroups) and all(
                place.store.get_meta(GROUPS_META) is None for place in self._places.values()
            ):
                self._place(request)
                return rows.CountRow(count=0)
            from tinyssb_node.daemon.group_handler import GroupHandler  # noqa: PLC0415 - most nodes do without

            self._groups = GroupHandler(
                own=self._about.feed, runtime=self._runtime, place=self._place, clock=self._clock
            )
        return await self._groups.answer(request, client)

    def _place(self, request: NetworkRequest[Any]) -> NetworkStorage:
        """The network that *request* names. Raises ProblemError."""
        networks = {name: place.network for name, place in self._places.items()}
        return self._places[find_network(networks, request.network)[0]]

    def _writer(self, request: requests.Publish | requests.ConfirmTip) -> "IdentityWriter | None":
        """The further identity that *request* names, None: the main one. Raises UnknownIdentityError, ProblemError."""
        if request.identity == MAIN_IDENTITY:
            return None
        if self._authorship is None:
            raise UnknownIdentityError(request.identity)
        return self._authorship.find(request.identity)

    def _node(self, place: NetworkStorage) -> Node:
        return self._runtime.networks.node(place.name)

    def _find(self, place: NetworkStorage, name: str) -> FeedRecord:
        """The feed of a network's set that *name* names. Raises ProblemError."""
        return find_feed(self._node(place).feeds(), name, self._about.feed)


def _refuse_first(request: requests.ReadLog | requests.ListReceipts) -> None:
    """Raise BadRequestError if *request*, which has `last`, has `first`, too."""
    if request.first is not None:
        raise bad_argument(type(request), "first", "is not among its arguments where `last` is")


def entry_row(store: Store, entry: StoredEntry, dialect: Dialect | None, content_max: int) -> rows.EntryRow:
    """Return the row of an *entry* of *store*, with its content if that has at most *content_max* bytes."""
    layout = entry_layout(entry, dialect)
    chunks_held = count_chunks(store, entry, layout)
    content: bytes | None = None
    if chunks_held == layout.chunks and layout.size <= content_max:
        content = reassemble(layout, store.chunks(entry.feed, entry.seq, 0, layout.chunks))
    return rows.EntryRow(
        feed=entry.feed.hex(),
        seq=entry.seq,
        id=entry.id.hex(),
        type=type_of(entry),
        size=layout.size,
        chunks=layout.chunks,
        chunks_held=chunks_held,
        origin=entry.origin.value,
        face=entry.face,
        arrival=entry.arrival,
        committed_us=entry.committed_us,
        content=None if content is None else content.hex(),
    )


async def _first_of(*events: asyncio.Event) -> None:
    """Return when one of *events* is set."""
    waiting = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiter in waiting:
            waiter.cancel()


def _phones(node: Node, now_us: int) -> rows.PhonesRow | None:
    """Return what is near that only reads the set; None: nothing."""
    if not (faces := node.deployed_faces(now_us)):
        return None
    return rows.PhonesRow([*faces], len(node.replica.goset), node.phone_room())


def _invitations(node: Node) -> list[rows.GroupInvitationRow]:
    """Return the groups that the user has not accepted."""
    groups = node.groups
    found = [] if groups is None else groups.consents.open()
    if groups is None or not found:
        return []
    from tinyssb_node.daemon.groupviews import invitation_row  # noqa: PLC0415 - most nodes do without

    return [row for root in found if (row := invitation_row(groups, root)) is not None]
