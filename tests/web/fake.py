"""A node for the page's tests: a catalog in memory, a daemon that says what it is told to, both over a real server."""

import contextlib
import dataclasses
import json
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from tests.catalog.fake import (
    ANA,
    BOB,
    CYD,
    EVE,
    PRIVATE,
    START_US,
    FakeCatalog,
    make_message,
    make_person,
    message_id,
    small_mesh,
)
from tinyssb_node.catalog.rows import PUBLIC, BoardRow, MessageKind, MessageRow, TelemetryRow, is_group
from tinyssb_node.content.board import KanbanBoard, PlacedOperation, fold
from tinyssb_node.content.chat import BoardStep, ChatPost, parse, serialize
from tinyssb_node.content.files import parse_file
from tinyssb_node.content.telemetry import parse_telemetry
from tinyssb_node.control.client import DaemonError, DaemonUnreachableError
from tinyssb_node.control.group_rows import (
    GroupCostRow,
    GroupEpochRow,
    GroupFileRow,
    GroupMemberRow,
    GroupReviewRow,
    GroupSaidRow,
    GroupShownRow,
    GroupTaskRow,
    GroupTelemetryRow,
    GroupWrittenRow,
)
from tinyssb_node.control.rows import (
    AirtimeRow,
    DiskUseRow,
    EndpointRow,
    FaceRow,
    FeedUseRow,
    FollowedRow,
    HolderRow,
    NeighbourRow,
    NetworkRow,
    PublishedRow,
    ReceiptRow,
    RefusalRow,
    StatusRow,
)
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import Dialect, FeedId, MessageId
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.estimate import cost_question
from tinyssb_node.screens.group_conversations import GroupConversation, waiting_reviews
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.subject_pages import SubjectPage
from tinyssb_node.web import server
from tinyssb_node.web.certificates import PageCertificate

TOKEN = "0123456789abcdef0123456789abcdef"
FACE: FaceRow = FaceRow(
    face="lora:hut", spec="lora:hut", medium="air", queued=2, outstanding=1, sent=1_234,
    received=5_678, new=345, invalid=0, heard_us=12_000_000,
)  # fmt: skip
AIRTIME: AirtimeRow = AirtimeRow(
    band="EU868 g1 (868.0–868.6 MHz)", faces=["lora:hut"], limit_us=36_000_000, window_us=3_600_000_000,
    used_us=12_240_000, left_us=23_760_000, advert_left_us=5_760_000, content_left_us=20_160_000,
    full_us=205_056, wait_us=0,
)  # fmt: skip


class FakeListing(list[GroupEpochRow]):
    """Items and the result of a request."""

    def __init__(self, epochs: Iterable[GroupEpochRow], result: GroupShownRow) -> None:
        super().__init__(epochs)
        self.result = result


class FakeNode:
    """A fake of the session and the daemon that Opener opens."""

    def __init__(self, catalog: FakeCatalog | None = None) -> None:
        self.catalog = catalog or small_mesh()
        self.running = True
        self.said: list[dict[str, Any]] = []
        self.marks: dict[str, int] = {}
        self.followed: list[FeedId] = []
        self.before_saying: Callable[[], None] = lambda: None
        self.own = ANA
        self.petnamed = {BOB}
        self.steps: list[PlacedOperation] = []
        self.circles = {frozenset({BOB}): PRIVATE}
        self.rooms: list[GroupConversation] = []
        self.group_said: list[MessageRow] = []
        self.epochs: list[GroupEpochRow] = []
        self.group_records: list[GroupTelemetryRow] = []
        self.shown: GroupShownRow | None = None
        self.threads: list[GroupSaidRow] = []
        self.files: dict[tuple[str, str], tuple[str, bytes]] = {}
        self.changes: list[tuple[str, str, tuple[str, ...]]] = []
        self.pages: list[SubjectPage] = []
        self.log = Path("/nonexistent")
        self.found: list[CheckResult] = []
        self._seen = 0

    @contextlib.contextmanager
    def node(self) -> Iterator["FakeNode"]:
        yield self

    @contextlib.contextmanager
    def daemon(self) -> Iterator["FakeNode"]:
        self._require()
        yield self

    def _require(self) -> None:
        if not self.running:
            raise DaemonUnreachableError("The node's daemon is not running.", "Start it with `tinyssb run`.")

    # --- the node

    def catch_up(self, progress: Callable[[int, int], None] = lambda _done, _total: None) -> object:
        progress(1, 1)
        return self

    def changed(self) -> bool:
        seen, self._seen = self._seen, len(self.catalog.all_messages)
        return seen != self._seen

    def names(self) -> DisplayNames:
        return DisplayNames(self.catalog.people(), self.petnamed)

    def draft(
        self,
        text: str,
        conversation: str = PUBLIC,
        reply_to: MessageId | None = None,
        voice: bytes | None = None,
    ) -> bytes:
        return repr([text, conversation, reply_to]).encode() + (voice or b"")

    def draft_private(
        self,
        text: str,
        recipients: Iterable[FeedId],
        reply_to: MessageId | None = None,
        voice: bytes | None = None,
    ) -> bytes:
        return repr([text, tuple(recipients), reply_to]).encode() + (voice or b"")

    def post_packets(
        self,
        text: str,
        conversation: str = PUBLIC,
        recipients: Iterable[FeedId] | None = None,
        reply_to: MessageId | None = None,
        voice: bytes | None = None,
    ) -> int:
        self._require()
        if is_group(conversation):
            return packet_count(len(text) + 150, Dialect.SPEC)
        if recipients is None:
            return packet_count(len(self.draft(text, conversation, reply_to, voice)), Dialect.SPEC)
        return packet_count(len(self.draft_private(text, recipients, reply_to, voice)), Dialect.SPEC)

    def cost_question(self, packets: int) -> list[str]:
        return cost_question(packets, self.faces(), self.airtime()) if packets > 20 else []

    def read_marks(self) -> dict[str, int]:
        return dict(self.marks)

    def mark_read(self, seen: Mapping[str, int]) -> None:
        self.marks.update(seen)

    def conversation_with(self, people: Iterable[FeedId]) -> str | None:
        return self.circles.get(frozenset(people))

    def groups(self) -> list[GroupConversation] | None:
        return self.rooms if self.running else None

    def queries(self, conversation: str) -> FakeCatalog:
        if not is_group(conversation):
            return self.catalog
        self._require()
        return FakeCatalog((), self.group_said)

    @property
    def client(self) -> "FakeNode":
        self._require()
        return self

    def group_show(self, group: str) -> "FakeListing":
        if self.shown is None or group != self.shown.group:
            raise DaemonError("unknown_group", f"This node knows of no group '{group}'.", "")
        return FakeListing(self.epochs, self.shown)

    def group_add_cost(self, group: str, people: Iterable[str], text: str | None = None) -> GroupCostRow:  # noqa: ARG002 - a port's signature
        return GroupCostRow(
            group=group, messages=1, packets=6, content_bytes=400, steps=[f"add {len(list(people))}"]
        )

    def group_exclude_cost(self, group: str, people: Iterable[str]) -> GroupCostRow:  # noqa: ARG002 - a port's signature
        steps = ["exclude", "announce", "begin", "add 15"]
        return GroupCostRow(group=group, messages=4, packets=16, content_bytes=1_209, steps=steps)

    def group_add(self, group: str, people: Iterable[str], text: str | None = None) -> GroupWrittenRow:  # noqa: ARG002 - a port's signature
        return self._changed("add", group, people)

    def group_exclude(self, group: str, people: Iterable[str]) -> GroupWrittenRow:
        return self._changed("exclude", group, people)

    def group_share_cost(self, group: str, record: bytes) -> GroupCostRow:
        return GroupCostRow(group=group, messages=1, packets=2, content_bytes=len(record), steps=["record"])

    def group_share(self, group: str, record: bytes) -> GroupWrittenRow:
        self._require()
        self.said.append({"record": parse_telemetry(record), "group": group})
        row = GroupTelemetryRow(
            group=group, feed=ANA.hex(), committed_us=time.time_ns() // 1_000, record=record.hex()
        )
        self.group_records = [one for one in self.group_records if one.group != group] + [row]
        return GroupWrittenRow(group=group, entries=[], packets=2)

    def group_telemetry(self) -> list[GroupTelemetryRow]:
        self._require()
        return self.group_records

    def hang_up(self) -> None:
        pass

    def group_rename_cost(self, group: str, name: str) -> GroupCostRow:
        return GroupCostRow(group=group, messages=1, packets=2, content_bytes=100 + len(name), steps=["post"])

    def group_rename(self, group: str, name: str) -> GroupWrittenRow:
        return self._changed(f"rename {name}", group)

    def group_mute(self, group: str, *, muted: bool) -> GroupWrittenRow:
        assert self.shown is not None
        self.shown = msgspec.structs.replace(self.shown, muted=muted)
        return self._changed("mute" if muted else "unmute", group)

    def group_history(self, group: str) -> GroupWrittenRow:
        return self._changed("history", group)

    def group_leave(self, group: str) -> GroupWrittenRow:
        return self._changed("leave", group)

    def group_return(self, group: str) -> GroupWrittenRow:
        return self._changed("return", group)

    def group_review(self, group: str) -> list[GroupReviewRow]:
        return [] if self.shown is None or group != self.shown.group else self.shown.reviews

    def group_accept_cost(self, group: str, fork: str) -> GroupCostRow:  # noqa: ARG002 - a port's signature
        return GroupCostRow(group=group, messages=2, packets=7, content_bytes=600, steps=["begin", "add 2"])

    def group_decide(self, group: str, fork: str, *, accept: bool) -> GroupWrittenRow:
        assert self.shown is not None
        kept = [one for one in self.shown.reviews if one.fork != fork]
        self.shown = msgspec.structs.replace(self.shown, reviews=kept)
        return self._changed(f"{'accept' if accept else 'reject'} {fork}", group)

    def subject_pages(self) -> list[SubjectPage]:
        return self.pages

    def search(self, words: str, limit: int) -> tuple[list[MessageRow], bool]:
        rows = [*self.catalog.all_messages, *self.group_said]
        return [row for row in rows if words in row.text][:limit], self.running

    def group_read(self, group: str, **_: object) -> list[GroupSaidRow]:
        return [row for row in self.threads if row.group == group]

    def group_attach_cost(
        self, group: str, name: str, type_: str, data: bytes, reply_to: str | None = None
    ) -> GroupCostRow:
        size = len(name) + len(type_) + len(data) + 20 * bool(reply_to) + 150
        packets = packet_count(size, Dialect.SPEC)
        return GroupCostRow(group=group, messages=1, packets=packets, content_bytes=size, steps=["file"])

    def group_attach(
        self, group: str, name: str, type_: str, data: bytes, reply_to: str | None = None
    ) -> GroupWrittenRow:
        self._require()
        self.files[group, name] = type_, data
        self.said.append({"file": name, "conversation": group, "reply_to": reply_to})
        place = len(self.group_said) + 1
        self.group_said.append(self.file_message(name, ANA, type_, data, place, group))
        packets = self.group_attach_cost(group, name, type_, data, reply_to).packets
        row = PublishedRow(feed=ANA.hex(), seq=place, id=message_id(name).hex(), type=1, size=1, chunks=2)
        return GroupWrittenRow(group=group, entries=[row], packets=packets)

    def file_message(
        self, name: str, feed: FeedId, type_: str, data: bytes, place: int, group: str
    ) -> MessageRow:
        """A file in a group, as the screens know it."""
        self.files[group, name] = type_, data
        about = json.dumps({"name": name, "type": type_, "size": len(data)})
        more: dict[str, Any] = {"kind": MessageKind.FILE, "conversation": group, "placed": place}
        return make_message(name, feed, 100 + place, about, private=True, **more)

    def group_file(self, group: str, message: str) -> GroupFileRow:
        self._require()
        for (where, name), (type_, data) in self.files.items():
            if where == group and message_id(name).hex() == message:
                return GroupFileRow(
                    group=group, id=message, feed=ANA.hex(), name=name, type=type_, data=data.hex()
                )
        raise DaemonError("unknown_entry", "No messages of this group have such an id.", "")

    def group_consent(self, group: str, *, accept: bool) -> GroupWrittenRow:
        return self._changed("accept" if accept else "decline", group)

    def group_create_cost(
        self, name: str | None, people: Iterable[str] = (), erase_days: int | None = None
    ) -> GroupCostRow:
        assert name
        steps = ["begin", "add yourself", "name", f"add {len(list(people))}"]
        days = erase_days or 0
        return GroupCostRow(group="", messages=7, packets=18, content_bytes=1_000 + days, steps=steps)

    def group_create(
        self, name: str | None, people: Iterable[str] = (), erase_days: int | None = None
    ) -> GroupWrittenRow:
        self._changed("create", f"{name}{f' after {erase_days}' if erase_days else ''}", people)
        return GroupWrittenRow(group="5a" * 20, entries=[], packets=18)

    def _changed(self, action: str, group: str, people: Iterable[str] = ()) -> GroupWrittenRow:
        self._require()
        self.changes.append((action, group, tuple(people)))
        return GroupWrittenRow(group=group, entries=[], packets=16)

    def say(
        self,
        text: str,
        conversation: str = PUBLIC,
        reply_to: MessageId | None = None,
        *,
        voice: bytes | None = None,
    ) -> PublishedRow:
        self._require()
        self.before_saying()
        spoken = {} if voice is None else {"voice": voice}
        self.said.append({"text": text, "conversation": conversation, "reply_to": reply_to, **spoken})
        if is_group(conversation):
            place = len(self.group_said) + 1
            self.group_said.append(
                make_message(
                    f"in group {place}", ANA, 100 + place, text, conversation=conversation, placed=place
                )
            )
            return self.arrive(ANA, "what the group does not show", conversation=None)
        previous = [] if reply_to is None else [reply_to]
        row = self.arrive(
            ANA,
            text,
            previous,
            conversation=conversation,
            private=conversation != PUBLIC,
            voice_size=len(voice or b""),
        )
        if voice is not None:
            post = ChatPost(text=text or None, voice=voice, said_s=START_US // 1_000_000)
            self.catalog.contents[MessageId.from_hex(row.id)] = serialize(post)
        return row

    def packets_of(self, content: bytes) -> int:
        self._require()
        return packet_count(len(content), Dialect.SPEC)

    def members(self, conversation: str) -> tuple[FeedId, ...]:
        row = self.catalog.conversation(conversation)
        if row is None:
            raise ProblemError(
                f"There is no conversation '{conversation}'.", "List them.", exit_code=ExitCode.MISSING
            )
        return tuple(row.members)

    def board(self, board: MessageId) -> KanbanBoard:
        steps = [one for one in self.steps if board in (one.id, one.step.board)]
        if not steps:
            raise ProblemError("This node has no such board.", "List them.", exit_code=ExitCode.MISSING)
        return fold(board, steps)

    def do(self, author: FeedId, step: BoardStep) -> MessageId:
        """An operation of anybody on a board."""
        id_ = message_id(f"operation {len(self.steps)}")
        self.steps.append(PlacedOperation(id_, author, step))
        root = step.board if isinstance(step.board, MessageId) else id_
        board = fold(root, [one for one in self.steps if root in (one.id, one.step.board)])
        count = sum(len(column.items) for column in board.columns)
        others = [row for row in self.catalog.all_boards if row.id != root]
        made = BoardRow(
            id=root, name=board.name, items=count, operations=len(board.history), last_us=START_US, ours=True
        )
        self.catalog.all_boards = [*others, made]
        self.catalog.all_messages.append(
            make_message(
                f"operation {len(self.steps) - 1}",
                author,
                100 + len(self.steps),
                "",
                conversation=None,
                tangle=root,
                kind=MessageKind.KAN,
            )
        )
        return id_

    def publish(self, content: bytes) -> PublishedRow:
        """An operation on a board, a record, or a file, for everybody or for those whom it names."""
        self._require()
        if (record := parse_telemetry(content)) is not None:
            self.said.append({"record": record, "group": None})
            shared = TelemetryRow(feed=ANA, own=True, committed_us=time.time_ns() // 1_000, record=record)
            known = self.catalog.all_telemetry
            known[:] = [one for one in known if (one.feed, type(one.record)) != (ANA, type(record))] + [
                shared
            ]
            return PublishedRow(feed=ANA.hex(), seq=1, id="77" * 20, type=0, size=len(content), chunks=0)
        step = parse(content)
        if isinstance(step, BoardStep):
            id_ = self.do(ANA, step)
            size = packet_count(len(content), Dialect.SPEC)
            return PublishedRow(
                feed=ANA.hex(), seq=1, id=id_.hex(), type=1, size=len(content), chunks=size - 1
            )
        file = parse_file(content)
        assert file is not None
        assert file.said_s is not None
        where = PRIVATE if file.readers else PUBLIC
        self.said.append({"file": file.name, "conversation": where})
        about = json.dumps({"name": file.name, "type": file.type, "size": len(file.data)})
        row = self.arrive(ANA, about, kind=MessageKind.FILE, conversation=where, private=bool(file.readers))
        self.catalog.contents[MessageId.from_hex(row.id)] = content
        return row

    def say_private(
        self,
        text: str,
        recipients: Iterable[FeedId],
        reply_to: MessageId | None = None,
        voice: bytes | None = None,
    ) -> PublishedRow:
        self._require()
        spoken = {} if voice is None else {"voice": voice}
        self.said.append({"text": text, "recipients": tuple(recipients), "reply_to": reply_to, **spoken})
        return self.arrive(ANA, text, [], conversation=PRIVATE, private=True)

    def follow(self, feed: FeedId) -> FollowedRow:
        self._require()
        self.followed.append(feed)
        self._set_wanted(feed, wanted=True)
        return FollowedRow(feed=feed.hex(), changed=True, pending=True)

    def unfollow(self, feed: FeedId) -> FollowedRow:
        self._require()
        if feed in self.followed:
            self.followed.remove(feed)
        self._set_wanted(feed, wanted=False)
        return FollowedRow(feed=feed.hex(), changed=True, forgotten=True)

    def _set_wanted(self, feed: FeedId, *, wanted: bool) -> None:
        person = self.catalog.all_people.get(feed)
        if person is not None:
            self.catalog.all_people[feed] = dataclasses.replace(person, wanted=wanted)

    def petname(self, feed: FeedId, name: str | None) -> None:
        person = self.catalog.all_people[feed]
        self.petnamed = {*self.petnamed - {feed}, *([feed] if name else [])}
        self.catalog.all_people[feed] = dataclasses.replace(person, alias=name or person.said)

    def block(self, feed: FeedId) -> None:
        self._set_blocked(feed, blocked=True)

    def unblock(self, feed: FeedId) -> None:
        self._set_blocked(feed, blocked=False)

    def _set_blocked(self, feed: FeedId, *, blocked: bool) -> None:
        person = self.catalog.all_people[feed]
        self.catalog.all_people[feed] = dataclasses.replace(person, blocked=blocked, blocked_by=())

    def call_me(self, alias: str) -> PublishedRow:
        self._require()
        self.said.append({"alias": alias})
        me = self.catalog.all_people[ANA]
        self.catalog.all_people[ANA] = dataclasses.replace(me, alias=alias, said=alias)
        return self.arrive(ANA, json.dumps(["IAM", alias]), kind=MessageKind.IAM, conversation=None)

    def arrive(
        self, feed: FeedId, text: str, previous: Iterable[MessageId] = (), **changes: object
    ) -> PublishedRow:
        """A message that was said just now."""
        place = len(self.catalog.all_messages) + 1
        name = f"arrived {place}"
        values: dict[str, Any] = {
            "arrival": place, "placed": place, "committed_us": START_US + place * 60_000_000,
            "previous": tuple(previous) or tuple(self.catalog.tips(PUBLIC)),
        }  # fmt: skip
        row = make_message(name, feed, 100 + place, text, **(values | changes))
        self.catalog.all_messages.append(row)
        return PublishedRow(
            feed=feed.hex(), seq=row.seq, id=message_id(name).hex(), type=1, size=len(text), chunks=2,
        )  # fmt: skip

    # --- the daemon

    def problems(self) -> list[CheckResult]:
        return self.found

    def event_log(self) -> Path:
        return self.log

    def status(self) -> StatusRow:
        return StatusRow(
            name="hut", feed=ANA.hex(), dialect="spec", version="0.1.0", home="/var/lib/tinyssb",
            pid=1, boot=3, uptime_us=7_300_000_000, read_only=None, feeds=5, entries=1_234,
            arrivals=2_000, forked=0, faces=1,
            networks=[
                NetworkRow(
                    name="default", network=None, feeds=5, entries=1_234, arrivals=2_000, forked=0,
                    refusals=[
                        RefusalRow("ids", 25, 7_200_000_000), RefusalRow("budget", 4, 7_200_000_000),
                        RefusalRow("queue", 1, 1),
                    ],
                    disk=DiskUseRow(
                        own=30_000, followed=2_000_000, groups=0, others=4_900_000, others_max=5_000_000,
                        biggest=[FeedUseRow(EVE.hex(), 900_000)], evicted=2, closed=False,
                    ),
                )
            ],
            endpoints=[
                EndpointRow(spec="lora:hut", problem=None),
                EndpointRow(spec="ble:peripheral", problem="it is switched off"),
            ],
        )  # fmt: skip

    def faces(self) -> Iterable[FaceRow]:
        return [FACE]

    def neighbours(self) -> Iterable[NeighbourRow]:
        return [
            NeighbourRow("lora:hut", "3fa1", 12_000_000, -97, 7.25),
            NeighbourRow("lora:hut", "", 400_000_000, None, None),
        ]

    def airtime(self) -> Iterable[AirtimeRow]:
        return [AIRTIME]

    def receipts(self, *, first: int | None = None, last: int | None = None) -> Iterable[ReceiptRow]:  # noqa: ARG002 - a port's signature
        return [
            ReceiptRow(
                feed=ANA.hex(),
                seq=1,
                id=message_id(name).hex(),
                committed_us=START_US,
                held=2,
                proven=1,
                inferred=1,
                expected=3,
                holders=[
                    HolderRow(kind="proven", feed=CYD.hex(), face=None, speaker=None, since_us=START_US),
                    HolderRow(kind="inferred", feed=None, face="lora:hut", speaker="3f", since_us=START_US),
                ],
                missing=[BOB.hex()],
                silent=[EVE.hex()],
            )
            for name in ("first", "third", "sixth")
        ]


def friendly_mesh() -> FakeCatalog:
    """Return the mesh in a picture of the page: people on a mountain."""
    people = [
        make_person(ANA, "Ana", entries=31),
        make_person(BOB, "Ben at the hut", said="ben", entries=28),
        make_person(CYD, "Eva", entries=17),
        make_person(EVE, "Weather post", entries=204),
    ]
    said = [
        ("first", EVE, 1, "North ridge: 4 °C, wind 31 km/h from the west, gusts 52.", (), {}),
        ("second", CYD, 2, "We turn back at the saddle, too windy. All four of us are fine.", ("first",), {}),
        ("third", ANA, 3, "Good decision. There is soup.", ("second",), {}),
        ("fourth", BOB, 4, "Two beds are free tonight. Bring dry socks!", ("second",), {}),
        ("fifth", CYD, 5, "שלום מהאוכף · Grüße vom Sattel", ("third", "fourth"), {}),
        ("sixth", ANA, 6, "See you at six. I leave the lamp on.", ("fifth",), {"chunks": 1, "chunks_held": 1}),
    ]  # fmt: skip
    rows = [
        make_message(
            name, feed, place, text, *before, arrival=place, placed=place,
            committed_us=START_US + place * 7 * 60_000_000, **more,
        )
        for name, feed, place, text, before, more in said
    ]  # fmt: skip
    secret = make_message(
        "secret", BOB, 7, "The key is under the stone.", conversation=PRIVATE, private=True, arrival=7, placed=7,
    )  # fmt: skip
    return FakeCatalog(people, [*rows, secret])


GROUP = "5a" * 20
FORK = "33" * 20


def with_fork(node: FakeNode) -> FakeNode:
    """The same group: Eve excluded Bob long after her own exclusion."""
    with_group(node)
    assert node.shown is not None
    review = GroupReviewRow(
        fork=FORK, by=[EVE.hex()], excluded_by=[ANA.hex()], excludes=[BOB.hex()], out=[BOB.hex()],
        reasons=["days", "again"], late_us=30 * 86_400_000_000, messages=1, rejected=False,
    )  # fmt: skip
    node.shown = msgspec.structs.replace(node.shown, reviews=[review])
    alert = waiting_reviews(1)
    node.rooms = [dataclasses.replace(room, alert=alert, reviews=1) for room in node.rooms]
    return node


def with_group(node: FakeNode, title: str = "Hut crew") -> FakeNode:
    """A group in which Ana excluded Eve, and was joined by Cyd."""
    first, second = "11" * 20, "22" * 20

    def member(feed: FeedId, *, excluded: bool = False) -> GroupMemberRow:
        by = [] if feed == ANA else [ANA.hex()]
        return GroupMemberRow(feed=feed.hex(), added_by=by, excluded_by=[ANA.hex()] if excluded else [])

    def epoch(id_: str, previous: list[str], members: list[GroupMemberRow], at_us: int) -> GroupEpochRow:
        return GroupEpochRow(
            epoch=id_, creator=ANA.hex(), previous=previous, members=members, missing=[],
            tip=not members, inside=True, committed_us=at_us,
        )  # fmt: skip

    node.epochs = [
        epoch(first, [], [member(ANA), member(BOB), member(EVE, excluded=True)], START_US),
        epoch(second, [first], [member(ANA), member(BOB), member(CYD)], START_US + 7_200_000_000),
    ]
    node.shown = GroupShownRow(
        group=GROUP, group_id="00" * 32, name=title, state="member", creator=ANA.hex(), epoch=second,
        rules=["4.2"], interim=False, posts=2, messages=9, waiting=0, forks=[],
        tasks=[GroupTaskRow(purpose="repair", epoch=second, due_in_us=720_000_000, steps=[])], reviews=[],
            problem=None,
    )  # fmt: skip
    node.group_said = [
        make_message("in group 0", BOB, 1, "Soup at noon?", conversation=GROUP, placed=1, private=True)
    ]
    node.rooms = [
        GroupConversation(
            name=GROUP, members=(ANA, BOB, CYD), messages=1, last=node.group_said[0], title=title, note=""
        )
    ]
    return node


@contextlib.contextmanager
def serving(
    node: Any,
    *,
    token: str | None = None,
    host: str = "127.0.0.1",
    sign_s: float = 0.2,
    tls: PageCertificate | None = None,
    folder: Path | None = None,
    map_file: Path | None = None,
) -> Iterator[str]:
    """The real server in a thread of its own; gives its address, ends it on leaving."""
    with server.bind(host, 0) as listener:
        port = listener.getsockname()[1]
        running = server.make_server(
            node,
            host=host,
            port=port,
            token=token,
            tls=tls,
            folder=folder,
            map_file=map_file,
            tick_s=0.02,
            sign_s=sign_s,
        )
        thread = threading.Thread(target=running.run, kwargs={"sockets": [listener]})
        thread.start()
        try:
            yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
        finally:
            running.should_exit = True
            thread.join(timeout=10)
    assert not thread.is_alive()
