"""Feeds for tests, written by keys that everybody knows."""

from dataclasses import dataclass, field

from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network, first_prev
from tinyssb_node.feeds.author import ComposedEntry, compose, sign_entry
from tinyssb_node.feeds.chain import Expectation, HeldEntry, Tip, expectations
from tinyssb_node.ids import Dialect

OPEN = Network()
KEY = SigningKey(b"\x07" * 32)
OTHER_KEY = SigningKey(b"\x08" * 32)


def empty_tip(key: SigningKey = KEY, dialect: Dialect | None = Dialect.SPEC) -> Tip:
    """A feed of which nothing is known, or nothing is written yet."""
    return Tip(key.feed_id, dialect, 0, None)


def sign_anything(place: Expectation, content: bytes = b"", type_: int = 0, key: SigningKey = KEY) -> bytes:
    """A packet signed for *place*, whatever a well-behaved author would write there."""
    return sign_entry(key, place, type_, content.ljust(48, b"\x00"), ()).packet


@dataclass
class Written:
    """A feed as its author has it."""

    dialect: Dialect = Dialect.SPEC
    entries: list[ComposedEntry] = field(default_factory=list)

    @property
    def tip(self) -> Tip:
        """How far it is written."""
        return self.entries[-1].extended.tip if self.entries else empty_tip(dialect=self.dialect)

    def write(self, *contents: bytes) -> "Written":
        """Publish each of *contents*."""
        for content in contents:
            self.entries.append(compose(OPEN, KEY, self.tip, content))
        return self

    def held(self, seq: int) -> HeldEntry:
        """An entry as one who holds it gives it for comparison."""
        extended = self.entries[seq - 1].extended
        return HeldEntry(extended.prev, extended.packet)

    def tip_at(self, seq: int) -> Tip:
        """How far one knows it who holds *seq* entries."""
        return self.entries[seq - 1].extended.tip if seq else empty_tip(dialect=self.dialect)

    def place(self, seq: int) -> Expectation:
        """Where entry *seq* comes."""
        return expectations(OPEN, self.tip_at(seq - 1))[0]


def other_dialect(dialect: Dialect) -> Dialect:
    """The one of the two that *dialect* is not."""
    return Dialect.DEPLOYED if dialect is Dialect.SPEC else Dialect.SPEC


assert first_prev(KEY.feed_id, Dialect.SPEC) != first_prev(KEY.feed_id, Dialect.DEPLOYED)
