"""What a book makes of entries, whatever order they come in."""

from tests.groups.shelf import begin, meet
from tinyssb_node.groups.book import Book
from tinyssb_node.groups.content import text_of
from tinyssb_node.groups.messages import Content, FeedRole
from tinyssb_node.groups.planning import exclude

NAMES = "abcd"


def texts(book: Book) -> dict[object, list[str | None]]:
    """What is said in each group, in its order."""
    return {
        root: [
            text_of(line.said.message)
            for line in held.group.audit()
            if isinstance(line.said.message, Content) and line.flaw is None
        ]
        for root, held in book.groups.items()
    }


def state(book: Book, feeds: set[object]) -> object:
    """All that a book says of its groups."""
    return (
        {
            root: (held.id, held.creator, held.name, held.group.view, held.group.audit(), held.broken)
            for root, held in book.groups.items()
        },
        {feed: book.role_of(feed) for feed in feeds},  # type: ignore[arg-type] # feed ids
        {root: (sorted(book.keys_of(root)), book.people_of(root)) for root in book.groups},
    )


def test_members_read_what_members_write() -> None:
    a, b, c, d = scribes = begin(*NAMES)
    b.say("hello")
    meet(*scribes)
    a.do(exclude(a.group, a.me, [d.me]))
    meet(*scribes)
    c.say("without d")
    meet(*scribes)
    for scribe in (a, b, c):
        assert texts(scribe.book)[a.root] == ["hello", "without d"]
        assert scribe.prefers == a.prefers
        assert not scribe.book.counts
    assert texts(d.book)[a.root] == ["hello"]
    assert len(d.group.view.epochs) == 1
    group = a.group
    place = b.book.role_of(c.keys.epoch(group.view[c.prefers].key).feed_id)
    assert place is not None
    assert (place.member, place.role) == (c.me, FeedRole.EPOCH)
    assert b.book.feed_of(a.me, None) == a.keys.additions().feed_id
