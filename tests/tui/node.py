"""A node that says what a test wants, and a few people who talk."""

import dataclasses
import hashlib
import json
from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from tinyssb_node.catalog.rows import PUBLIC, ConversationRow, MessageKind, MessageRow, PersonRow, is_group
from tinyssb_node.content.files import File
from tinyssb_node.content.time_order import order_key
from tinyssb_node.control.group_rows import GroupReviewRow
from tinyssb_node.control.rows import AirtimeRow, EndpointRow, FaceRow, FeedRow, StatusRow
from tinyssb_node.errors import LocalError
from tinyssb_node.ids import FeedId, MessageId, Origin
from tinyssb_node.screens.conversation_files import ConversationFileDraft
from tinyssb_node.screens.group_changes import EXCLUSION_LIMITS, GroupChange, decisions
from tinyssb_node.screens.group_conversations import people_in_words
from tinyssb_node.screens.group_files import GroupFileDraft
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.tui.screen_state import ScreenRequest, ScreenState

NOW_US = 1_763_820_000_000_000
"""2025-11-22 14:00 UTC."""
MINUTE_US = 60_000_000


def feed_of(name: str) -> FeedId:
    return FeedId(hashlib.sha256(name.encode()).digest())


def id_of(word: str) -> MessageId:
    return MessageId(hashlib.sha256(word.encode()).digest()[:20])


ANA, BEN, EVA, MIA, ME = (feed_of(name) for name in ("ana", "ben", "eva", "mia", "me"))


def message(word: str, by: FeedId, text: str, placed: int, **others: object) -> MessageRow:
    row = MessageRow(
        id=id_of(word),
        feed=by,
        seq=placed + 1,
        arrival=placed,
        committed_us=NOW_US - (100 - placed) * MINUTE_US,
        said_us=NOW_US - (100 - placed) * MINUTE_US,
        origin=Origin.OWN if by == ME else Origin.PEER,
        own=by == ME,
        kind=MessageKind.TAV,
        conversation=PUBLIC,
        tangle=id_of("root"),
        previous=(),
        placed=placed,
        missing=(),
        text=text,
        cut=False,
        voice_size=0,
        size=len(text.encode()),
        chunks=0,
        chunks_held=0,
        private=False,
        order=order_key(NOW_US - (100 - placed) * MINUTE_US, id_of(word)),
        order_us=NOW_US - (100 - placed) * MINUTE_US,
    )
    return dataclasses.replace(row, **others)  # type: ignore[arg-type] # fields of any kind


def person(feed: FeedId, alias: str | None, **others: object) -> PersonRow:
    row = PersonRow(
        feed=feed,
        alias=alias,
        said=alias,
        own=feed == ME,
        entries=42,
        last_us=NOW_US - 7 * MINUTE_US,
        blocked=False,
    )
    return dataclasses.replace(row, **others)  # type: ignore[arg-type] # fields of any kind


def feed_row(feed: FeedId, seq: int, *, wanted: bool = True, forked_at: int | None = None) -> FeedRow:
    return FeedRow(
        feed=feed.hex(),
        dialect="deployed",
        seq=seq,
        tip=None,
        own=feed == ME,
        wanted=wanted,
        forked_at=forked_at,
        child=False,
        retired=False,
    )


STATUS = StatusRow(
    name="cabin",
    feed=ME.hex(),
    dialect="deployed",
    version="0.1.0",
    home="/var/lib/tinyssb",
    pid=1,
    boot=3,
    uptime_us=3 * 3_600_000_000,
    read_only=None,
    feeds=5,
    entries=431,
    arrivals=500,
    forked=0,
    faces=2,
    endpoints=[EndpointRow(spec="ws:connect:10.0.0.9:8080", problem="Nobody answers at 10.0.0.9:8080.")],
    networks=[],
)
LORA = FaceRow(
    face="lora:spi0.0", spec="lora:spi0.0", medium="air", queued=2, outstanding=1, sent=1_204, received=3_377, new=402,
    invalid=3, heard_us=12_000_000,
)  # fmt: skip
UDP = FaceRow(
    face="udp:239.5.5.8:1558", spec="udp:239.5.5.8:1558", medium="lan", queued=0, outstanding=0, sent=20, received=0,
    new=0, invalid=0, heard_us=None,
)  # fmt: skip
AIR = AirtimeRow(
    band="868.0-868.6 MHz", faces=["lora:spi0.0"], limit_us=36_000_000, window_us=3_600_000_000, used_us=21_700_000,
    left_us=14_300_000, advert_left_us=2_100_000, content_left_us=10_700_000, full_us=205_000, wait_us=0,
)  # fmt: skip


RECORDS: list[dict[str, object]] = [
    {"kind": "face_up", "face": "lora:spi0.0", "spec": "lora:spi0.0", "sub_band": "868.0-868.6 MHz"},
    {"kind": "rx", "face": "lora:spi0.0", "packet": "want", "length": 60, "verdict": "new"},
    {"kind": "entry", "feed": ANA.hex(), "seq": 1_204, "id": id_of("a").hex(), "origin": "peer"},
    {"kind": "refused", "rule": "budget", "face": "lora:spi0.0", "count": 2},
]


def event_line(t_us: int, **record: object) -> bytes:
    stamps = {"v": 1, "node": "x", "boot": 3, "offset": 7, "t_us": t_us, "mono_us": 1}
    return json.dumps({**stamps, **record}).encode()


def usual() -> ScreenState:
    """A day on the hill."""
    messages = [
        message("a", ANA, "Bridge is out, take the ridge.", 40),
        message("b", BEN, "Thanks! We are eleven, two with blisters. Is there still snow on the north side?", 43,
                previous=(id_of("a"),)),
        message("c", ME, "A little, above 2100 m. Bring the short rope, the long one is here already.", 47,
                previous=(id_of("b"),)),
        message("d", EVA, "Hut is open until eight.\nSoup is on.", 51, previous=(id_of("a"),)),
        message("e", ANA, "", 58, previous=(id_of("d"), id_of("c")), voice_size=6_120, size=6_150, chunks=62,
                chunks_held=62),
        message("f", BEN, "", 61, previous=(id_of("e"),), kind=MessageKind.OPAQUE, size=9_000, chunks=91,
                chunks_held=7),
        message("g", ME, "See you at the hut.", 90, previous=(id_of("f"),)),
    ]  # fmt: skip
    people = [
        person(ANA, "Ana", entries=1_204),
        person(BEN, "Ben", said="benny"),
        person(EVA, "Eva", last_us=None),
        person(MIA, None, blocked=True),
        person(ME, "cabin", entries=77),
    ]
    private = message("p", EVA, "How much bread?", 70, conversation="00112233aabbccdd", private=True)
    return ScreenState(
        now_us=NOW_US,
        status=STATUS,
        conversations=[
            ConversationRow(name=PUBLIC, members=(), messages=7, last=messages[-1]),
            ConversationRow(name="00112233aabbccdd", members=tuple(sorted((ME, EVA))), messages=1, last=private),
        ],
        messages=messages,
        waiting=[
            dataclasses.replace(
                message("w", EVA, "So we bring the long one.", 80, previous=(id_of("?"),), missing=(id_of("?"),),
                        said_us=NOW_US - 20 * MINUTE_US, order_us=None, order=""),
                placed=None,
            ),
        ],
        holders={id_of("c"): "on 5 of 5 nodes", id_of("g"): "on 3 of 5 nodes; Ana's not since 13:02"},
        people=people,
        names=DisplayNames(people, {BEN}),
        faces=[LORA, UDP],
        airtime=[AIR],
        feeds=[
            feed_row(ANA, 1_204),
            feed_row(BEN, 42),
            feed_row(EVA, 42, forked_at=43),
            feed_row(MIA, 42, wanted=False),
            feed_row(ME, 77),
        ],
        events=[(number, event_line(NOW_US + number, **record)) for number, record in enumerate(RECORDS)],
    )  # fmt: skip


HOSTILE = (
    "\x1b[2J\x1b[31mred\u202egnihton\u202c \x00\x07 [bold]not bold[/] Z" + "\u0301" * 300 + " \u200b" * 200
)
"""Control characters, a bidi override, markup, a pile of marks, nothing to see."""


def hostile() -> ScreenState:
    """Strangers who try to break the screen."""
    sight = usual()
    messages = [
        message("h", ANA, HOSTILE, 40),
        message("i", MIA, "W" * 5_000, 41),
        message("j", EVA, "\n" * 4_000 + "end", 42, previous=(id_of("never seen"),)),
        message("k", BEN, "日本語" * 40, 43, previous=(id_of("h"),)),
        message("l", ME, "fine", 44, committed_us=2**62),
    ]
    people = [
        person(ANA, "\u202e\x1b]0;title\x07" * 9),
        person(BEN, "me"),
        person(EVA, "Hut"),
        person(MIA, "HUT", said="[reverse]Hut"),
        person(ME, "cabin"),
    ]
    return dataclasses.replace(
        sight,
        conversations=[
            ConversationRow(name=PUBLIC, members=(), messages=5, last=messages[0]),
            *sight.conversations[1:],
        ],
        messages=messages,
        waiting=(),
        holders={id_of("l"): HOSTILE},
        people=people,
        names=DisplayNames(people),
        faces=[replace(LORA, face=HOSTILE)],
        airtime=[
            replace(AIR, used_us=40_000_000, wait_us=1_234_000_000, band="[red]"),
            replace(AIR, used_us=0),
        ],
        status=replace(STATUS, name=HOSTILE, read_only=HOSTILE, forked=2),
        events=[
            (0, b"torn"),
            (1, b'{"kind": 5, "t_us": 1e99}'),
            (2, event_line(2**62, kind=HOSTILE, why=HOSTILE)),
        ],
    )


class RefusedError(LocalError):
    """The node does not do it."""


@dataclasses.dataclass
class FakeNode:
    """A source that shows *sight* and notes what it is told to do."""

    sight: ScreenState
    done: list[tuple[object, ...]] = dataclasses.field(default_factory=list)
    refusing: bool = False
    asked: list[ScreenRequest] = dataclasses.field(default_factory=list)
    ended: list[str] = dataclasses.field(default_factory=list)
    reviews: list[GroupReviewRow] = dataclasses.field(default_factory=list)
    marked: list[dict[str, int]] = dataclasses.field(default_factory=list)

    def look(self, asked: ScreenRequest) -> ScreenState:
        self.asked.append(asked)
        messages = [row for row in self.sight.messages if row.conversation == asked.conversation]
        return dataclasses.replace(self.sight, asked=asked, messages=messages)

    def mark_read(self, seen: Mapping[str, int]) -> None:
        self.marked.append(dict(seen))

    def say(self, conversation: str, text: str, reply_to: MessageId | None = None) -> None:
        self._do("say", conversation, text, reply_to)

    def cost_words(
        self,
        text: str,
        conversation: str | None,  # noqa: ARG002 - a port's signature
        people: Sequence[FeedId] = (),  # noqa: ARG002
        reply_to: MessageId | None = None,  # noqa: ARG002
    ) -> str:
        return f"lora: {len(text)} packets, 0.4 s of airtime, 1 % of this hour's budget"

    def cost_question(
        self,
        text: str,
        conversation: str | None,  # noqa: ARG002 - a port's signature
        people: Sequence[FeedId] = (),  # noqa: ARG002
        reply_to: MessageId | None = None,  # noqa: ARG002
    ) -> list[str]:
        return ["This message takes 21 packets."] if text.startswith("long") else []

    def tell(self, people: Sequence[FeedId], text: str) -> str:
        self._do("tell", tuple(people), text)
        return "00112233aabbccdd"

    def follow(self, feed: FeedId, *, wanted: bool) -> None:
        self._do("follow", feed, wanted)

    def block(self, feed: FeedId, *, blocked: bool) -> None:
        self._do("block", feed, blocked)

    def group_page(self, group: str) -> str:
        return f"Hut crew {group[:8]}\n\nWho can read what (times: when the new key arrived here):\n  me: everything"

    def group_decisions(self, group: str) -> list[tuple[GroupChange, str]]:
        return decisions(group, self.reviews, self.sight.names)

    def group_preview(self, change: GroupChange) -> list[str]:
        people = people_in_words(change.people, self.sight.names)
        return [
            f"{change.action.value} {people}:",
            "  16 packets, 3.3 s of airtime, 9 % of this hour's budget",
            *EXCLUSION_LIMITS,
        ]

    def subject_text(self) -> str:
        return "PZP messages\n\npost of 3yZe, 2 messages:\n  1  \x1b[2Jhello"

    def search(self, words: str) -> tuple[list[MessageRow], bool]:
        return [row for row in self.sight.messages if words in row.text], not self.refusing

    def thread(self, conversation: str, message: MessageId) -> str:
        return f"Ana: Only for us.\n  ↳ Ben in {conversation[:4]}: Yes, {message.hex()[:4]}"

    def file_to_send(
        self, conversation: str, path: str
    ) -> tuple[GroupFileDraft | ConversationFileDraft, list[str]]:
        file = File(path, "image/webp", b"x")
        told = [f"{path}: 1 byte", "  1 message (file), 40 bytes in 1 packet"]
        if is_group(conversation):
            return GroupFileDraft(conversation, file), told
        return ConversationFileDraft(file, conversation), told

    def send_file(self, draft: GroupFileDraft | ConversationFileDraft) -> str:
        self._do("file", draft)
        return "Sent it."

    def save_file(self, conversation: str, message: MessageId) -> str:
        self._do("save", conversation, message)
        return "Saved /tmp/map.webp, 256 bytes."

    def change_group(self, change: GroupChange) -> str:
        self._do("group", change)
        return f"Did {change.action.value}."

    def end_looking(self) -> None:
        self.ended.append("looking")

    def end_writing(self) -> None:
        self.ended.append("writing")

    def _do(self, *what: object) -> None:
        if self.refusing:
            raise RefusedError("the disk is full")
        self.done.append(what)
