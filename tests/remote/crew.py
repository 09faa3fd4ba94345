"""A real daemon, the service beside it, and administrators of whom only the keys are real."""

from __future__ import annotations

from dataclasses import dataclass, field

import structlog

from tests.daemon.processes import RunningDaemon
from tests.nodes import key_of
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content.limits import PAIR_PADDING_SIZE
from tinyssb_node.content.private import SealKey
from tinyssb_node.daemon.setup import unlock_identity
from tinyssb_node.feeds.author import compose
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FeedId
from tinyssb_node.remote.gate import RemoteRecord
from tinyssb_node.remote.messages import (
    RemoteAnswer,
    RemoteCommand,
    parse_answer,
    seal,
    serialize_command,
    unseal,
)
from tinyssb_node.remote.record_file import change_record, read_record
from tinyssb_node.remote.service import RemoteService
from tinyssb_node.store.home import Home

NOW_S = 1_800_000_000


class Administrator:
    """A person with a feed, whose packets a test brings to the node."""

    def __init__(self, name: str) -> None:
        self.key = key_of(name)
        self.seal = SealKey(name.encode().ljust(32, b"."))
        self.feed = self.key.feed_id
        self.tip = Tip(self.feed, Dialect.SPEC, 0, None)

    def say(self, content: bytes) -> list[bytes]:
        """The packets of the next entry."""
        entry = compose(Network(), self.key, self.tip, content)
        self.tip = entry.extended.tip
        return [entry.packet, *entry.chunks]

    def order(
        self, node: FeedId, *words: str, said_s: int | None = NOW_S, valid_minutes: int = 60
    ) -> list[bytes]:
        """The packets of a command for *node*."""
        command = RemoteCommand(said_s=said_s, valid_minutes=valid_minutes, words=words)
        return self.say(seal(serialize_command(command), self.seal, node, bytes(PAIR_PADDING_SIZE)))


@dataclass
class Crew:
    """A node that obeys Ana, and the time there."""

    running: RunningDaemon
    ana: Administrator = field(default_factory=lambda: Administrator("ana"))
    now_s: int = NOW_S

    def __post_init__(self) -> None:
        self.home = Home(self.running.home)
        self.key = SealKey(unlock_identity(self.home, {}, None).seed)
        self.node = self.key.feed_id
        self.bring(self.ana, self.ana.say(b"hello"))
        change_record(self.home, lambda record: record.allow(self.ana.feed, 1, NOW_S))
        self.service = self.restarted()

    def restarted(self, *, radio: bool = False) -> RemoteService:
        self.service = RemoteService(
            self.home, self.key, structlog.get_logger(), radio=radio, now_s=lambda: self.now_s
        )
        return self.service

    def bring(self, person: Administrator, packets: list[bytes]) -> None:
        with self.running.client() as client:
            assert client.import_packets(person.feed.hex(), packets).refused is None

    def give(self, *words: str, said_s: int | None = NOW_S, valid_minutes: int = 60) -> None:
        """Bring a command of Ana's."""
        self.bring(self.ana, self.ana.order(self.node, *words, said_s=said_s, valid_minutes=valid_minutes))

    def look(self) -> int:
        with self.running.client() as client:
            return self.service.look(client)

    def answers(self, person: Administrator | None = None) -> list[RemoteAnswer]:
        """All answers of the node to *person*, to Ana if nobody is named."""
        key = (person or self.ana).seal
        with self.running.client() as client:
            rows = list(client.log("me"))
        contents = [bytes.fromhex(row.content) for row in rows if row.content is not None]
        opened = [found for content in contents if (found := unseal(content, key, self.node)) is not None]
        return [answer for clear, _ in opened if (answer := parse_answer(clear)) is not None]

    def outcomes(self) -> list[int]:
        return [answer.outcome for answer in self.answers()]

    @property
    def record(self) -> RemoteRecord:
        return read_record(self.home)


def level(crew: Crew) -> str:
    """The level of the daemon's log."""
    with crew.running.client() as client:
        before = client.log_level("info").before
        client.log_level(before)
        return before
