"""`thread`: a tangle as a graph, or in a file."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

from tinyssb_node.catalog.rows import PUBLIC, MessageRow, is_group
from tinyssb_node.cli.graph import ASCII, UNICODE, draw
from tinyssb_node.cli.threadfile import as_json, as_markdown
from tinyssb_node.content.chat import PUBLIC_ROOT
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.chatlines import ChatFormatter
from tinyssb_node.screens.gaps import ShownMessage, gap_in_words, in_place
from tinyssb_node.screens.group_threads import read_thread
from tinyssb_node.screens.message_commands import open_node
from tinyssb_node.screens.newfile import write_new_file
from tinyssb_node.screens.options import (
    CommandParsers,
    add_actions,
    add_json,
    add_network,
    positive,
)
from tinyssb_node.screens.people import DisplayNames
from tinyssb_node.screens.safetext import one_line
from tinyssb_node.screens.screen import can_draw, width
from tinyssb_node.screens.session import NodeSession

_DRAWN_BEFORE = 1_000
"""Messages before the first one shown to which lines are drawn."""


def add(commands: CommandParsers) -> None:
    """Define the command."""
    parser = commands.add("thread", show_usage, more="Works without the daemon, but for groups.")
    add_network(parser)
    add_json(parser)
    parser.set_defaults(parser=parser)
    add_action = add_actions(parser)
    action = add_action("show", show, "draw the messages around one as a graph")
    _add_id(action)
    action.add_argument(
        "--last",
        type=positive,
        default=40,
        metavar="N",
        help="show N messages: those around ID (default: 40)",
    )
    action.add_argument("--ascii", action="store_true", help="draw with ASCII characters only")
    action = add_action("export", export, "write a whole thread to a file")
    _add_id(action)
    action.add_argument(
        "file", metavar="FILE", nargs="?", default="-", help="the file to make (default: standard output)"
    )
    action.add_argument(
        "--format",
        choices=("json", "markdown"),
        default="markdown",
        help="the format of the file (default: markdown)",
    )


def _add_id(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "id", metavar="ID", help="a message: some digits of its id, or FEED.SEQ; or `public`, the public chat"
    )
    action.add_argument(
        "--tangle", metavar="NAME", help="of a message in several threads, the one with this name"
    )
    action.add_argument(
        "--group", metavar="GROUP", help="a message of this private group, with all answers; needs the daemon"
    )


def show_usage(arguments: argparse.Namespace) -> int:
    """Print that an action is required."""
    arguments.parser.error("an action is required: show ID, or export ID")
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Draw a part of a tangle."""
    with open_node(arguments) as talk:
        rows, centre = _thread(talk, arguments.id, arguments.group, arguments.tangle)
        names = talk.names()
        first, behind = window(len(rows), centre, arguments.last)
        if arguments.json:
            from tinyssb_node.screens.talkjson import JsonLines

            for row in rows[first:behind]:
                print(*JsonLines(names).message(row))
            return 0
        shown = _with_waiting(talk, rows, first, behind)
        _draw(shown, first, len(rows) - behind, names, ascii_only=arguments.ascii)
    return 0


def _with_waiting(
    talk: NodeSession, rows: Sequence[MessageRow], first: int, behind: int
) -> list[ShownMessage]:
    """Return messages *first* to *behind* with some before them, and at the end of a conversation those that wait."""
    read = list(rows[max(0, first - _DRAWN_BEFORE) : behind])
    conversation = read[-1].conversation if read and behind == len(rows) else None
    if conversation is None or is_group(conversation):
        return in_place(read, ())
    return in_place(read, talk.catalog.waiting(conversation, limits.WAITING_MAX))


def window(count: int, centre: int, size: int) -> tuple[int, int]:
    """Return which *size* of *count* messages to show around number *centre*: the first, and the one behind
    the last."""
    first = max(0, min(centre - size // 2, count - size))
    return first, min(count, first + size)


def _thread(
    talk: NodeSession, text: str, group: str | None, tangle: str | None
) -> tuple[Sequence[MessageRow], int]:
    """Return all messages of the tangle that *text* names, in canonical order, and the position of the one it names; in
    a *group* the message with those that answer it. Of several tangles of a note the one with the name *tangle*.

    Raises ProblemError.
    """
    if tangle is not None and (group is not None or text == PUBLIC):
        raise ProblemError(
            "Only notes are in threads with names.",
            "Use --tangle with the id of a note.",
            exit_code=ExitCode.USAGE,
        )
    if group is not None:
        rows = [one.row for one in read_thread(talk.client, group, text, talk.names())]
        return rows, next(at for at, row in enumerate(rows) if row.id.hex().startswith(text.lower()))
    if text == PUBLIC:
        public = talk.catalog.thread(PUBLIC_ROOT)
        return public, len(public)
    row = talk.find_message(text)
    names = talk.catalog.tangle_names(row.id)
    if tangle is not None or names:
        return _note_thread(talk, row, names, tangle)
    if row.tangle is None:
        waits = row.conversation is not None and row.placed is None
        raise ProblemError(
            f"The message {row.id.hex()} "
            + ("waits for a predecessor and has no position yet." if waits else "is not in a thread."),
            "Wait until its predecessor arrives: `tinyssb chat` shows what it waits for."
            if waits
            else f"To see it: tinyssb show {row.feed.hex()[:12]} {row.seq}",
            exit_code=ExitCode.MISSING,
        )
    thread = talk.catalog.thread(row.tangle)
    return thread, thread.index(row)


def _note_thread(
    talk: NodeSession, row: MessageRow, names: Sequence[str], tangle: str | None
) -> tuple[Sequence[MessageRow], int]:
    """Return the messages of the *tangle* of a note that is in those of *names*, and its position among them; without
    *tangle* of the first one, and point out the others. Raises ProblemError."""
    if tangle is None:
        tangle, *others = names
        if others:
            quoted = ", ".join(f"`--tangle {shlex.quote(one_line(name))}`" for name in others)
            print(
                f"tinyssb: The message is in {len(names)} threads. To see the others: {quoted}",
                file=sys.stderr,
            )
    if tangle not in names:
        listed = ", ".join(one_line(name) for name in names) or "none"
        raise ProblemError(
            f"The message {row.id.hex()} has no position in a thread named {one_line(tangle)}.",
            f"The names of its threads: {listed}.",
            exit_code=ExitCode.MISSING,
        )
    rows = talk.catalog.note_thread(row.id, tangle)
    return rows, rows.index(row)


def _draw(
    shown: Sequence[ShownMessage], first: int, later: int, names: DisplayNames, *, ascii_only: bool
) -> None:
    """Print messages from number *first* on, with the lines between all of them; *later* others follow."""
    skipped = min(first, _DRAWN_BEFORE)  # replies to messages before these are shown in words, without a lane
    by_id = {one.row.id: one for one in shown}
    glyphs = ASCII if ascii_only or not can_draw(UNICODE) else UNICODE
    room = width()
    lanes_max = limits.LANES_MAX if room is None else max(2, min(limits.LANES_MAX, room // 6))
    drawn = list(draw([(one.row.id, one.row.previous) for one in shown], lanes_max, glyphs, skipped))
    if first:
        print(f"({first:,} earlier messages)")
    lanes = max((len(line.drawing) for line in drawn), default=0)
    lines = ChatFormatter(names, None if room is None else room - lanes - 2)
    lines.fit([one.row for one in shown[skipped:]])
    for line in drawn:
        one = None if line.message is None else by_id[line.message]
        gap = "" if one is None or one.gap is None else gap_in_words(one.gap, names)
        texts = [""] if one is None else list(lines.drawn(one.row, line.apart, gap))
        for number, text in enumerate(texts):
            drawing = line.drawing if number == 0 else continued(line.drawing, glyphs)
            print(f"{drawing:<{lanes}}  {text}".rstrip())
    if later:
        print(f"({later:,} later messages)")


def continued(drawing: str, glyphs: str) -> str:
    """Return the lanes beside further lines of the message whose dot is in *drawing*."""
    return drawing.replace(glyphs[0], " ")


def export(arguments: argparse.Namespace) -> int:
    """Write a whole tangle."""
    write = {"json": as_json, "markdown": as_markdown}[arguments.format]
    with open_node(arguments) as talk:
        rows, _ = _thread(talk, arguments.id, arguments.group, arguments.tangle)
        text = write(rows, talk.names())
    if arguments.file == "-":
        sys.stdout.write(text)
        return 0
    size = write_new_file(Path(arguments.file), lambda file: file.write(text.encode()))
    summary = {"file": arguments.file, "messages": len(rows), "size": size}
    print(json.dumps(summary) if arguments.json else f"Wrote {len(rows):,} messages to {arguments.file}.")
    return 0
