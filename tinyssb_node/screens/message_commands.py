"""What the commands have in common that read messages and say something."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode
from tinyssb_node.problems import ProblemError
from tinyssb_node.screens import limits

if TYPE_CHECKING:
    from tinyssb_node.control.rows import PublishedRow
    from tinyssb_node.screens.session import NodeSession


class InputError(ProblemError):
    """What should be published cannot be used."""

    exit_code = ExitCode.DATA


@contextmanager
def open_node(arguments: argparse.Namespace) -> Iterator[NodeSession]:
    """The node that *arguments* name, its catalog brought up to date. What takes long, or cannot be, is said on
    standard error. Raises as ``NodeSession.at_home`` and ``NodeSession.catch_up`` do.
    """
    from tinyssb_node.screens.session import NodeSession

    with NodeSession.at_home(arguments.home, arguments.network) as talk:
        caught = talk.catch_up(_say_progress)
        if caught.done >= limits.PROGRESS_FROM:
            print(f"Read {caught.done:,} packets for the index of messages.", file=sys.stderr)
        if caught.rebuilt is not None:
            print(f"tinyssb: The index of messages was made anew: {caught.rebuilt}.", file=sys.stderr)
        if caught.stopped is not None:
            print(
                f"tinyssb: The index of messages could not be brought up to date: {caught.stopped}. "
                f"The latest {caught.behind:,} packets are not in what is shown.",
                file=sys.stderr,
            )
        yield talk


def names_shown(arguments: argparse.Namespace) -> Callable[[str], str]:
    """What everybody is called, by 64 digits, safe to show; without the catalog, the beginning of a feed id."""
    from tinyssb_node.catalog.errors import CatalogFailedError
    from tinyssb_node.ids import FeedId
    from tinyssb_node.screens.people import SHORT_FEED
    from tinyssb_node.screens.session import NodeSession

    try:
        with NodeSession.at_home(arguments.home, arguments.network) as talk:
            talk.catch_up()
            names = talk.names()
    except CatalogFailedError:
        return lambda feed: feed[:SHORT_FEED]
    return lambda feed: names.shown(FeedId.from_hex(feed))


def _say_progress(done: int, total: int) -> None:
    """Say how far it is, where somebody looks and it takes long."""
    if total >= limits.PROGRESS_FROM and sys.stderr.isatty():
        print(f"Reading what came: {100 * done // total} %", end="\r", file=sys.stderr, flush=True)


def describe_published(arguments: argparse.Namespace, what: str, row: PublishedRow) -> int:
    """Say what became of something that was published: *what* is the beginning of the sentence."""
    from tinyssb_node.screens.chatlines import SHORT_MESSAGE

    if arguments.json:
        print(json.dumps(row.fields()))
        return 0
    chunks = row.chunks
    packets = "1 packet" if not chunks else f"{1 + chunks} packets"
    print(f"{what} {row.id[:SHORT_MESSAGE]}, {row.size} bytes in {packets}.")
    return 0


def text_given(text: str) -> str:
    """*text*, or for ``-`` what standard input has. Raises InputError."""
    if text != "-":
        return text
    raw = sys.stdin.buffer.read(limits.TEXT_GIVEN_MAX + 1)
    if len(raw) > limits.TEXT_GIVEN_MAX:
        raise InputError(
            f"This is more than {limits.TEXT_GIVEN_MAX:,} bytes.", "Say less, or attach it: `tinyssb attach`."
        )
    try:
        return raw.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise InputError(
            "What came on standard input is no text in UTF-8.", "Publish such bytes with `tinyssb publish -`."
        ) from error
