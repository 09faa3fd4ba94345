"""Threads in files: whole, and without a word of a stranger that does more than be read."""

import json
from dataclasses import replace

from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from tests.catalog.fake import BOB, EVE, HOSTILE_NAME, make_message, make_person, small_mesh
from tests.docs import pages
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.cli.threadfile import as_json, as_markdown, escaped
from tinyssb_node.ids import MessageId
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import one_line

MESH = small_mesh()
NAMES = DisplayNames(MESH.people(), {BOB})
ROOT = MESH.messages(PUBLIC)[0].tangle or MessageId(bytes(20))
MARKDOWN = MarkdownIt("commonmark", {"html": True}).enable(["table", "strikethrough"])


def inline(tokens: list[Token]) -> list[Token]:
    return [child for token in tokens for child in (token.children or ())]


@example("1234567. x")
@example("12) x")
@given(st.text("a1 \\`*_{}[]()<>#+-.!|~&;:/=\"'@$^\t\nhtpw", max_size=40) | st.text(max_size=20))
def test_markdown_shows_just_what_was_written(text: str) -> None:
    for line in text.split("\n"):
        tokens = MARKDOWN.parse(f"> {escaped(line)}")
        assert {token.type for token in tokens} <= {
            *("blockquote_open", "blockquote_close", "paragraph_open", "paragraph_close", "inline"),
        }
        assert {token.type for token in inline(tokens)} <= {"text", "text_special"}
        assert "".join(token.content for token in inline(tokens)) == one_line(line).strip()


def test_addresses_are_no_links() -> None:
    """Dialects make links of these by themselves."""
    assert escaped("see https://evil.example and www.evil.example, or eve@evil.example") == (
        "see https\\://evil.example and www\\.evil.example, or eve\\@evil.example"
    )


def test_a_page_has_every_message_in_its_order() -> None:
    rows = MESH.thread(ROOT)
    page = as_markdown(rows, NAMES)
    places = [page.index(row.id.hex()[:8]) for row in rows]
    assert places == sorted(places)
    assert page.startswith("# Thread\n\n**")
    assert f"2025-10-09 08:54:20 UTC, {rows[0].id.hex()[:8]}\n\n> Is anybody up there?\n" in page
    headings = [token for token in MARKDOWN.parse(page) if token.type == "heading_open"]
    assert len(headings) == 1
    assert "\x1b" not in page
    assert all(line.isprintable() for line in page.split("\n") if "\u0336" not in line)


def test_lines_of_a_text_stay_in_its_quotation() -> None:
    row = make_message("m", EVE, 1, "one\n\n# two\n***\n```\nthree")
    tokens = MARKDOWN.parse(
        as_markdown([replace(row, previous=())], DisplayNames([make_person(EVE, HOSTILE_NAME)]))
    )
    assert {token.type for token in tokens} <= {
        *("heading_open", "heading_close", "inline", "paragraph_open", "paragraph_close"),
        *("blockquote_open", "blockquote_close"),
    }
    assert sum(token.type == "heading_open" for token in tokens) == 1


def test_json_has_all_fields_that_the_page_names() -> None:
    rows = MESH.thread(ROOT)
    document = json.loads(as_json(rows, NAMES))
    assert [row["id"] for row in document["messages"]] == [row.id.hex() for row in rows]
    assert document["tangle"] == ROOT.hex()
    page = pages.read("docs/formats/thread.md")
    assert [name for name in (*document, *document["messages"][0]) if f"`{name}`" not in page] == []
    assert json.loads(as_json([], NAMES))["messages"] == []
