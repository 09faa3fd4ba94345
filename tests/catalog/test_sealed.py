"""Private messages as they are stored, unopened."""

from pathlib import Path

from tests.catalog.mesh import Author, Home, id_of, post, seed_of
from tinyssb_node.content import chat
from tinyssb_node.content.pair_box import open_text
from tinyssb_node.content.private import SealKey
from tinyssb_node.content.short_text import ShortText


def test_private_messages_are_returned_unopened_whoever_can_open_them(tmp_path: Path) -> None:
    ana, cyd, dora = Author("ana"), Author("cyd"), Author("dora")
    soup = ana.say(post("soup"))
    secret = cyd.whisper(post("under the stone", recipients=[ana.feed, cyd.feed]), [ana.feed, cyd.feed])
    to_others = cyd.murmur(ShortText(text="Not for Ana"), dora.feed)
    to_us = cyd.murmur(ShortText(text="For Ana"), ana.feed)
    ours = ana.murmur(ShortText(text="From Ana"), cyd.feed)
    long = cyd.write(chat.serialize(post("x" * 3_000)))
    noise = cyd.write(b"\xff" * 100)
    late = cyd.murmur(ShortText(text="What comes in pieces " * 8), dora.feed)
    home = Home(tmp_path / "home", ana)
    home.keep([soup, secret, to_others, to_us, ours, long, noise])
    home.keep([late], chunks=0)
    with home.catalog() as catalog:
        catalog.catch_up()
        rows = catalog.sealed(0, limit=50, size_max=4_000)
        found = {row.id: row for row in rows}
        assert [row.arrival for row in rows] == sorted(row.arrival for row in rows)
        assert id_of(soup) not in found
        assert found[id_of(noise)].content == b""
        assert found[id_of(late)].content is None
        content = found[id_of(to_others)].content
        assert content is not None
        sealed = chat.parse(content)
        assert isinstance(sealed, chat.SealedMessage)
        opened = open_text(sealed.box, SealKey(seed_of("dora")), cyd.feed)
        assert opened is not None
        assert opened.text == "Not for Ana"
        assert all(found[id_of(one)].content for one in (to_us, ours, secret))

        last = rows[-1].arrival
        home.keep_chunks(late, 0, len(late.chunks))
        home.keep([])
        catalog.catch_up()
        assert catalog.sealed(last, limit=50, size_max=4_000) == []
        (again,) = catalog.sealed(last, [found[id_of(late)].arrival], limit=50, size_max=4_000)
        assert again.content
        assert [row.id for row in catalog.sealed(0, limit=2, size_max=4_000)] == [row.id for row in rows[:2]]
        assert id_of(late) not in {row.id for row in catalog.sealed(0, limit=50, size_max=150)}
    home.close()
