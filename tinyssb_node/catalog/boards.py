"""Boards as listings have them: folded from the operations that are held."""

from collections.abc import Sequence

from tinyssb_node.catalog.rows import BoardRow
from tinyssb_node.content import chat
from tinyssb_node.content.board import PlacedOperation, fold
from tinyssb_node.ids import FeedId, MessageId


def read_step(id_: MessageId, author: FeedId, content: bytes) -> PlacedOperation | None:
    """The operation on a board that *content* is; None if it is none."""
    message = chat.parse(content)
    return PlacedOperation(id_, author, message) if isinstance(message, chat.BoardStep) else None


def board_row(root: MessageId, steps: Sequence[PlacedOperation], last_us: int, *, ours: bool) -> BoardRow:
    """What a listing says of the board *root*, last worked on at *last_us*, by our user as well if it is *ours*."""
    board = fold(root, steps)
    return BoardRow(
        id=root,
        name=board.name,
        items=sum(len(column.items) for column in board.columns),
        operations=len(steps),
        last_us=last_us,
        ours=ours,
    )
