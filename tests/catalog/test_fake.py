"""The test data of screens equals the catalog's answers."""

from tests.catalog.fake import ANA, BOB, PRIVATE, message_id, small_mesh
from tinyssb_node.catalog.queries import CatalogQueries
from tinyssb_node.catalog.rows import PUBLIC
from tinyssb_node.content.board import fold
from tinyssb_node.content.chat import ChatPost, parse


def test_the_fake_answers_all_questions() -> None:
    mesh: CatalogQueries = small_mesh()
    public, private = mesh.conversations()
    assert {public.name, private.name} == {PUBLIC, PRIVATE}
    rows = mesh.messages(PUBLIC)
    assert [row.text[:4] for row in rows[:2]] == ["Is a", "Yes:"]
    assert mesh.messages(PUBLIC, before=rows[3].order, limit=2) == rows[1:3]
    assert mesh.messages(PUBLIC, after=rows[3].order, limit=2) == rows[4:6]
    assert len(mesh.waiting(PUBLIC)) == 2
    assert mesh.message(message_id("first")) == rows[0]
    assert list(mesh.find(f"{BOB.hex()[:6]}.1")) == [rows[1]]
    assert list(mesh.find(rows[0].id.hex()[:10])) == [rows[0]]
    assert len(mesh.tips(PUBLIC)) == 3
    assert [row.id for row in mesh.search("anybody THERE?")] == [message_id("first")]
    assert mesh.person(ANA) in mesh.people()
    (board,) = mesh.boards()
    assert len(mesh.operations(board.id)) == board.operations
    folded = fold(board.id, mesh.steps(board.id))
    assert folded.name == board.name
    assert sum(len(column.items) for column in folded.columns) == board.items
    assert mesh.content(message_id("partial")) is None
    assert isinstance(parse(mesh.content(message_id("voice")) or b""), ChatPost)
