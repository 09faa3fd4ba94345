"""A home folder with a real store, filled with entries that were authored: for tests of the catalog."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

from tinyssb_node.catalog.catalog import STORE_FILE, Catalog
from tinyssb_node.catalog.queries import CatalogQueries
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.codec.crypto import SigningKey
from tinyssb_node.codec.dmx import Network
from tinyssb_node.content import chat, private
from tinyssb_node.content.limits import PAIR_PADDING_SIZE, SEAL_ENTROPY_SIZE
from tinyssb_node.content.pair_box import seal_text
from tinyssb_node.content.short_text import ShortText
from tinyssb_node.feeds.author import ComposedEntry, compose, compose_fixed
from tinyssb_node.feeds.chain import Tip
from tinyssb_node.ids import Dialect, FaceName, FeedId, MessageId, Origin
from tinyssb_node.store.port import FeedRecord
from tinyssb_node.store.secrets import Identity, create_identity
from tinyssb_node.store.sqlite import SqliteStore

NETWORK = Network()
UDP = FaceName("udp")
SAID_S = 1_760_000_000


def seed_of(name: str) -> bytes:
    return sha256(b"seed " + name.encode()).digest()


@dataclass
class Author:
    """The author of a feed."""

    name: str
    dialect: Dialect = Dialect.SPEC

    def __post_init__(self) -> None:
        self.key = SigningKey(seed_of(self.name))
        self.feed = self.key.feed_id
        self.tip = Tip(self.feed, self.dialect, 0, None)

    def write(self, content: bytes, type_: int | None = None) -> ComposedEntry:
        """The next entry; with *type_* its 48 bytes as they are."""
        if type_ is None:
            composed = compose(NETWORK, self.key, self.tip, content)
        else:
            composed = compose_fixed(NETWORK, self.key, self.tip, content, type_=type_)
        self.tip = composed.extended.tip
        return composed

    def say(self, message: chat.Message) -> ComposedEntry:
        return self.write(chat.serialize(message))

    def whisper(self, post: chat.ChatPost, readers: Sequence[FeedId]) -> ComposedEntry:
        """*post*, sealed for *readers*."""
        entropy = sha256(repr((self.name, self.tip.seq)).encode()).digest() * 3
        return self.write(private.seal(chat.serialize(post), readers, entropy[:SEAL_ENTROPY_SIZE]))

    def murmur(self, text: ShortText, reader: FeedId) -> ComposedEntry:
        """*text*, sealed for one *reader*."""
        padding = sha256(repr((self.name, self.tip.seq)).encode()).digest() * 4
        key = private.SealKey(seed_of(self.name))
        return self.write(seal_text(chat.serialize(text), key, reader, padding[:PAIR_PADDING_SIZE]))


def post(
    text: str, *tips: MessageId, recipients: Sequence[FeedId] | None = None, said_s: int = SAID_S
) -> chat.ChatPost:
    to = None if recipients is None else tuple(recipients)
    return chat.ChatPost(tips=tips, text=text, said_s=said_s, recipients=to)


def id_of(composed: ComposedEntry) -> MessageId:
    tip = composed.extended.tip
    assert tip.id is not None
    return tip.id


@dataclass
class Home:
    """A node's folder; its user is *owner*. Packets come one at a time, and are committed at once."""

    folder: Path
    owner: Author
    wall_us: int = 1_760_000_000_000_000
    written: int = field(default=0, init=False)

    def __post_init__(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        identity = Identity(seed=seed_of(self.owner.name), dialect=self.owner.dialect)
        create_identity(self.folder / "identity", identity)
        self.store = SqliteStore.open(self.folder / STORE_FILE)

    def keep(
        self, entries: Iterable[ComposedEntry], chunks: int | None = None, *, commit: bool = True
    ) -> None:
        """Append *entries*, each with the first *chunks* packets of its side chain (all of them, unless told)."""
        known = {record.feed: record for record in self.store.feeds()}
        for composed in entries:
            tip = composed.extended.tip
            feed, own = tip.feed, tip.feed == self.owner.feed
            if feed not in known:
                record = FeedRecord(
                    feed=feed,
                    dialect=tip.dialect,
                    seq=0,
                    tip=None,
                    own=own,
                    wanted=True,
                    forked_at=None,
                    followed=own,
                )
                self.store.put_feed(record)
                known[feed] = record
            origin, face = (Origin.OWN, None) if own else (Origin.PEER, UDP)
            self.store.append_entry(feed, tip.seq, composed.packet, id_of(composed), origin, face)
            self.keep_chunks(composed, 0, len(composed.chunks) if chunks is None else chunks)
            self._commit(commit=commit)
        self._commit(commit=True)

    def keep_chunks(self, composed: ComposedEntry, first: int, stop: int) -> None:
        """Append packets of a side chain from *first* on; commit by keeping something, or nothing."""
        tip = composed.extended.tip
        for number in range(first, min(stop, len(composed.chunks))):
            self.store.append_chunk(tip.feed, tip.seq, number, composed.chunks[number], Origin.PEER, UDP)

    def seq_of(self, feed: FeedId) -> int:
        """Number of the last entry of *feed*."""
        return next((record.seq for record in self.store.feeds() if record.feed == feed), 0)

    def cut(self, feed: FeedId, keep: int) -> None:
        """Delete what is stored of *feed* behind entry *keep*, as a node does that needs the room."""
        self.store.cut_feed(feed, keep)
        self._commit(commit=True)

    def _commit(self, *, commit: bool) -> None:
        if commit:
            self.wall_us += 1_000_000
            self.store.commit(self.wall_us)

    def catalog(self) -> Catalog:
        return Catalog.open(self.folder, self.folder)

    def close(self) -> None:
        self.store.close()


ANA, BOB, EVE = Author("ana"), Author("bob"), Author("eve")
SOUP = ANA.say(post("soup at the hut, café included"))
ANSWER = BOB.say(post("I come \N{STEAMING BOWL}", id_of(SOUP)))
SECRET = BOB.whisper(post("under the stone", recipients=[ANA.feed, BOB.feed]), [ANA.feed, BOB.feed])
NAME = BOB.say(chat.Alias(name="bob"))
EVIL = EVE.say(post("soup is poison", id_of(ANSWER)))
PUBLIC_TEXTS = ["soup at the hut, café included", "I come \N{STEAMING BOWL}", "soup is poison"]
"""Those of them that are public."""


def texts(catalog: CatalogQueries, conversation: str = PUBLIC) -> list[str]:
    return [row.text for row in catalog.messages(conversation)]
