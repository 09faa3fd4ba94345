"""A node's folder with people who talk, for the tests of commands: a real store, no daemon."""

from dataclasses import dataclass, replace
from pathlib import Path

from tests.catalog.fake import HOSTILE_TEXT
from tests.catalog.mesh import SAID_S, Author, Home, id_of, post
from tinyssb_node.content import chat, private
from tinyssb_node.content.board import Operation, create_step
from tinyssb_node.content.note import Note, serialize_compact
from tinyssb_node.content.references import message_text
from tinyssb_node.content.tangle import FIRST, TangleData
from tinyssb_node.ids import MessageId

ANA, BOB, CYD, EVE = "ana", "bob", "cyd", "eve"


@dataclass
class Talkers:
    """Messages that were written, by name."""

    folder: Path
    people: dict[str, Author]
    ids: dict[str, MessageId]

    def digits(self, name: str) -> str:
        return self.ids[name].hex()[:8]

    def feed(self, name: str) -> str:
        return self.people[name].feed.hex()


def make_talkers(folder: Path) -> Talkers:
    """Ana's node: a public chat with two branches, a private one, something that waits, a board, text made to hurt."""
    people = {name: Author(name) for name in (ANA, BOB, CYD, EVE)}
    home = Home(folder, people[ANA])
    ids: dict[str, MessageId] = {}

    def keep(name: str, author: str, message: chat.Message) -> None:
        if isinstance(message, chat.ChatPost):
            message = replace(message, said_s=SAID_S + len(ids))
        composed = people[author].say(message)
        ids[name] = id_of(composed)
        home.keep([composed])

    keep("alias-bob", BOB, chat.Alias(name="Bob"))
    keep("alias-eve", EVE, chat.Alias(name="bob"))
    keep("alias-cyd", CYD, chat.Alias(name="Cyd"))
    keep("first", ANA, post("Is anybody up there?"))
    keep("answer", BOB, post("Yes: at the hut, with soup.", ids["first"]))
    keep("other", CYD, post("Here too, on the north side.", ids["first"]))
    keep("merge", ANA, post("Good. Meet at noon?", ids["answer"], ids["other"]))
    keep("evil", EVE, post(HOSTILE_TEXT, ids["merge"]))
    keep("late", CYD, post("after what nobody has", MessageId(b"\x07" * 20)))
    readers = private.circle(people[BOB].feed, [people[ANA].feed])
    secret = people[BOB].whisper(post("The key is under the stone.", recipients=readers), readers)
    ids["secret"] = id_of(secret)
    home.keep([secret])
    board = create_step("Hut \x1b[1mwork")
    keep("board", ANA, board)
    _keep_board(keep, ids)
    home.close()
    return Talkers(folder, people, ids)


def _keep_board(keep, ids: dict[str, MessageId]) -> None:
    def step(name: str, author: str, operation: Operation, *args: str) -> None:
        last = list(ids.values())[-1]
        keep(
            name, author, chat.BoardStep(board=ids["board"], previous=(last,), operation=operation, args=args)
        )

    step("todo", ANA, Operation.COLUMN_CREATE, "To do")
    step("done", BOB, Operation.COLUMN_CREATE, "Done")
    step("wood", BOB, Operation.ITEM_CREATE, message_text(ids["todo"]), "Wood")
    step("water", BOB, Operation.ITEM_CREATE, message_text(ids["todo"]), "Water \u202e" + "x" * 500)
    step("moved", EVE, Operation.ITEM_MOVE, message_text(ids["wood"]), message_text(ids["done"]))
    step("comment", EVE, Operation.ITEM_COMMENT, message_text(ids["wood"]), "wet\n\x1b[2Jtoo")


def make_notes(folder: Path) -> dict[str, MessageId]:
    """Ana's node: two tangles of notes, "chess" and "log \x1b[1m", and a note of Bob's that is in both."""
    ana, bob = Author(ANA), Author(BOB)
    home, log = Home(folder, ana), "log \x1b[1m"
    ids: dict[str, MessageId] = {}

    def keep(word: str, author: Author, ties: dict[str, TangleData]) -> None:
        entry = author.write(serialize_compact(Note(ties, word)))
        ids[word] = id_of(entry)
        home.keep([entry])

    keep("game", ana, {"chess": FIRST})
    keep("diary", ana, {log: FIRST})
    keep(
        "both",
        bob,
        {one: TangleData(None, (ids[word],)) for one, word in (("chess", "game"), (log, "diary"))},
    )
    home.close()
    return ids
