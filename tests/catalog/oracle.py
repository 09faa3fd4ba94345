"""The catalog by brute force: what it must say after appends in some order; and people who say anything."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import NamedTuple

from hypothesis import strategies as st

from tests.catalog.mesh import SAID_S, Author, id_of, post
from tinyssb_node.catalog.entry_meaning import FurtherTie, Meaning, meaning_of
from tinyssb_node.content import chat
from tinyssb_node.content.acks import ACK_TYPE
from tinyssb_node.content.board import create_step
from tinyssb_node.content.minutes import nearest_seconds, to_low_minutes
from tinyssb_node.content.note import Note, serialize_compact, serialize_map
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.short_text import ShortText, brief_tie
from tinyssb_node.content.tangle import TangleData
from tinyssb_node.feeds.author import ComposedEntry
from tinyssb_node.ids import FeedId, MessageId


class Append(NamedTuple):
    """One append: an entry (chunk is None), or a packet of its side chain."""

    entry: ComposedEntry
    chunk: int | None


Place = tuple[MessageId, str]
"""A message in the tangle of a space."""


@dataclass
class Oracle:
    """Everything kept as it comes, everything looked at again each time."""

    key: SealKey
    meanings: dict[MessageId, Meaning] = field(default_factory=dict)
    """Of messages that are whole."""
    entries: dict[MessageId, tuple[FeedId, int]] = field(default_factory=dict)
    """Feed and number of those."""
    order: list[MessageId] = field(default_factory=list)
    """Of entries, as they arrived."""
    places: dict[Place, MessageId] = field(default_factory=dict)
    """The root of each tangle in which a message is placed, in the order in which they found their place."""

    def take(self, append: Append) -> None:
        entry, chunk = append
        id_ = id_of(entry)
        if chunk is None:
            self.order.append(id_)
        if (0 if chunk is None else chunk + 1) < len(entry.chunks):
            return
        self.meanings[id_] = self._meaning(entry)
        self.entries[id_] = (entry.extended.tip.feed, entry.extended.tip.seq)
        for tie in self._ties(id_):
            self._place((id_, tie.space), set(self.places))

    def _meaning(self, entry: ComposedEntry) -> Meaning:
        tip = entry.extended.tip
        bodies = b"".join(packet[:100] for packet in entry.chunks)
        content = (entry.extended.layout.head + bodies)[: entry.extended.layout.size]
        return meaning_of(entry.packet[7], content, id_of(entry), tip.feed, self.key)

    def _ties(self, id_: MessageId) -> Sequence[FurtherTie]:
        """Return the positions that a message states, one for each tangle."""
        meaning = self.meanings[id_]
        if meaning.space is None:
            return ()
        return FurtherTie(meaning.space, meaning.root, meaning.previous), *meaning.further

    def _tie(self, place: Place) -> FurtherTie:
        return next(tie for tie in self._ties(place[0]) if tie.space == place[1])

    def _place(self, place: Place, looked_at: set[Place]) -> None:
        ready = [place] if self._root(place, looked_at) is not None else []
        for one in ready:
            root = self._root(one, looked_at)
            assert root is not None
            self.places[one] = root
        while ready:
            looked_at.add(ready.pop(0))
            waiting = [
                (id_, place[1])
                for id_ in self.order
                if id_ in self.meanings and any(tie.space == place[1] for tie in self._ties(id_))
            ]
            for one in waiting:
                root = None if one in self.places else self._root(one, looked_at)
                if root is not None:
                    self.places[one] = root
                    ready.append(one)

    def _root(self, place: Place, looked_at: set[Place]) -> MessageId | None:
        """The tangle of a message of which all predecessors were looked at; None: it has no place."""
        tie = self._tie(place)
        if any(not self._stands(place, one, looked_at) for one in tie.previous):
            return None
        roots = {self.places[self.meant(one), tie.space] for one in tie.previous}
        if tie.root is not None:
            return tie.root
        return roots.pop() if len(roots) == 1 else None

    def meant(self, tie: MessageId) -> MessageId:
        """Return the message that a tie means, if it has come; no two ids here begin alike."""
        return next((one for one in self.meanings if brief_tie(one) == tie), tie)

    def said_us(self, id_: MessageId) -> int | None:
        """Return the time of a message, that of short texts by the public ones before it in its feed."""
        meaning, (feed, seq) = self.meanings[id_], self.entries[id_]
        if meaning.low_minutes is None:
            return meaning.said_us
        earlier = [
            (number, one)
            for one, (author, number) in self.entries.items()
            if author == feed and number < seq and not self.meanings[one].private
        ]
        times = (self.said_us(one) for _, one in sorted(earlier, reverse=True))
        last_us = next((time_us for time_us in times if time_us is not None), None)
        if last_us is None:
            return None
        found = nearest_seconds(meaning.low_minutes, last_us // 10**6)
        return None if found is None else found * 10**6

    def _stands(self, place: Place, previous: MessageId, looked_at: set[Place]) -> bool:
        there = (self.meant(previous), place[1])
        return there in looked_at and self._tie(place).root in {None, self.places[there]}

    def aliases(self) -> dict[FeedId, str]:
        """Return the names that people give themselves, by their last entry that does so."""
        said: dict[FeedId, tuple[int, str]] = {}
        for id_, meaning in self.meanings.items():
            feed, seq = self.entries[id_]
            if meaning.alias is not None:
                said[feed] = max(said.get(feed, (0, "")), (seq, meaning.alias))
        return {feed: alias for feed, (_, alias) in said.items()}

    def missing(self, id_: MessageId) -> tuple[MessageId, ...]:
        first = self._ties(id_)[:1]
        return tuple(
            one
            for tie in first
            for one in tie.previous
            if not self._stands((id_, tie.space), one, set(self.places))
        )


CLOCKS = st.one_of(
    st.just(SAID_S), st.integers(SAID_S, SAID_S + 36_000), st.sampled_from([0, 10**9, 4 * 10**9])
)
"""Clocks of authors: most right, some wrong by years."""
LOST = MessageId(bytes([1]) * 20)
"""An id that no message has."""


@dataclass
class _Talk:
    """Messages by the kind of tangle, so that most have valid predecessors."""

    draw: st.DrawFn
    said: dict[str, list[MessageId]] = field(default_factory=dict)

    def follows(self, sort: str) -> list[MessageId]:
        """Some of the last messages of that sort; now and then another one, or one that there is not."""
        own = self.said.get(sort, [])[-5:]
        if self.draw(st.integers(0, 7)) == 0:
            own = [*own, *(one for ids in self.said.values() for one in ids[-2:]), LOST]
        if not own:
            return []
        return self.draw(st.lists(st.sampled_from(own), max_size=3, unique=True))

    def say(self, author: Author, circle: Sequence[Author]) -> ComposedEntry:
        sort = self.draw(
            st.sampled_from(
                ["chat"] * 5 + ["short"] * 4 + ["note"] * 5 + ["secret", "board", "alias", "alias", "ack"]
            )
        )
        long = "long " * self.draw(st.sampled_from([0, 0, 0, 30, 70]))
        entry = self._write(sort, author, circle, long)
        self.said.setdefault("chat" if sort == "short" else sort, []).append(id_of(entry))
        return entry

    def _short(self, text: str, follows: Sequence[MessageId]) -> ShortText:
        said_s, brief = self.draw(CLOCKS), self.draw(st.booleans())
        ties = tuple(map(brief_tie, follows)) if brief else tuple(follows)
        if self.draw(st.booleans()):
            return ShortText(text=text, ties=ties, brief=brief, low_minutes=to_low_minutes(said_s))
        return ShortText(text=text, ties=ties, brief=brief, said_s=min(said_s, 2 * 10**9))

    def _write(self, sort: str, author: Author, circle: Sequence[Author], long: str) -> ComposedEntry:
        follows = self.follows("chat" if sort == "short" else sort)
        if sort == "short":
            return author.say(self._short(f"{long}{author.name}", follows))
        if sort == "chat":
            said_s = self.draw(CLOCKS)
            return author.say(post(f"{long}{author.name}", *follows, said_s=said_s))
        if sort == "secret":
            feeds = [one.feed for one in circle]
            return author.whisper(post(f"{long}secret", *follows, recipients=feeds), feeds)
        if sort == "alias":
            return author.say(chat.Alias(name=f"{author.name} {author.tip.seq}{long}"))
        if sort == "ack":
            return author.write(bytes(48), ACK_TYPE)
        if sort == "board":
            step = (
                chat.BoardStep(board=follows[0], previous=tuple(follows), operation="leave")
                if follows
                else None
            )
            return author.say(step or create_step(f"{long}board"))
        return author.write(self._note(long, follows))

    def _note(self, long: str, follows: Sequence[MessageId]) -> bytes:
        """A note in one or two tangles, in either form."""
        names = self.draw(st.sampled_from([["chess"], ["chess"], ["go"], ["chess", "go"], ["go", "chess"]]))
        ties = {name: follows if name == names[0] else self.follows("note") for name in names}
        if self.draw(st.booleans()):
            roots = st.sampled_from(self.said.get("note", [])[:2] or [LOST])
            places = {
                name: TangleData(self.draw(roots) if tie else None, tuple(tie)) for name, tie in ties.items()
            }
            return serialize_map(Note(places, {"say": long}))
        return serialize_compact(
            Note({name: TangleData(None, tuple(tie)) for name, tie in ties.items()}, long)
        )


@st.composite
def conversations(draw: st.DrawFn) -> list[Append]:
    """Return messages of three people, in a possible order of arrival: each feed in order, each side chain in order."""
    authors = [Author("ana"), Author("bob"), Author("eve")]
    talk = _Talk(draw)
    queues: dict[object, list[Append]] = {author.name: [] for author in authors}
    for _ in range(draw(st.integers(1, 18))):
        author = draw(st.sampled_from(authors))
        queues[author.name].append(Append(talk.say(author, authors[: draw(st.integers(2, 3))]), None))
    return _mixed(queues, draw(st.randoms(use_true_random=False)))


def _mixed(queues: dict[object, list[Append]], random: Random) -> list[Append]:
    """One of the orders in which it all may come; some side chains never come to an end."""
    mixed: list[Append] = []
    while any(queues.values()):
        name = random.choice([name for name, queue in queues.items() if queue])
        append = queues[name].pop(0)
        mixed.append(append)
        if append.chunk is None and append.entry.chunks:
            count = len(append.entry.chunks) - random.choice([0, 0, 0, 1])
            queues[id_of(append.entry)] = [Append(append.entry, number) for number in range(count)]
    return mixed
