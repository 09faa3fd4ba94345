"""Common parts of commands that read and write messages."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens import limits
from tinyssb_node.screens.languages import t, tn

if TYPE_CHECKING:
    from tinyssb_node.control.client import DaemonClient
    from tinyssb_node.control.rows import PublishedRow
    from tinyssb_node.screens.session import NodeSession

_TEXT_MAX: Final = 65_000  # bytes: one entry holds them, with the list around them


@contextmanager
def open_node(arguments: argparse.Namespace) -> Iterator[NodeSession]:
    """Open the node that *arguments* name, and update its catalog. Progress, problems and the cost of publishing
    go to standard error. Raises as ``NodeSession.at_home`` and ``NodeSession.catch_up`` do."""
    from tinyssb_node.screens.session import NodeSession

    with NodeSession.at_home(arguments.home, arguments.network) as talk:
        caught = talk.catch_up(_print_progress)
        if caught.done >= limits.PROGRESS_FROM:
            print(tn(caught.done, "Indexed {n} packet.", "Indexed {n} packets."), file=sys.stderr)
        if caught.rebuilt is not None:
            words = t("The index of messages was rebuilt: {reason}.", reason=caught.rebuilt)
            print(f"tinyssb: {words}", file=sys.stderr)
        if caught.stopped is not None:
            stopped = t(
                "The index of messages could not be brought up to date: {reason}.", reason=caught.stopped
            )
            hidden = tn(
                caught.behind, "The latest packet is not shown.", "The latest {n} packets are not shown."
            )
            print(f"tinyssb: {stopped} {hidden}", file=sys.stderr)
        talk.tell_before_publishing(lambda packets: tell_cost(arguments, talk.client, packets))
        yield talk


def names_shown(arguments: argparse.Namespace) -> Callable[[str], str]:
    """Return a function from 64 digits to a person's name, safe to show; without the catalog, to the beginning of the
    feed id."""
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


def _print_progress(done: int, total: int) -> None:
    """Print the progress, on a terminal and if it takes long."""
    if total >= limits.PROGRESS_FROM and sys.stderr.isatty():
        print(
            t("Indexing messages: {percent} %", percent=100 * done // total),
            end="\r",
            file=sys.stderr,
            flush=True,
        )


def agreed(arguments: argparse.Namespace, question: Callable[[], Sequence[str]]) -> bool:
    """Return whether a post may be published: it is small, or `--yes` was given, or its author agrees to the cost that
    *question* returns. Raises ProblemError."""
    lines = [] if getattr(arguments, "yes", False) else question()
    if not lines:
        return True
    from tinyssb_node.screens.screen import confirm

    print("\n".join(lines), file=sys.stderr)
    if confirm(
        t("Publish it? This cannot be undone."),
        kept=t("Nothing was published."),
        otherwise=t("Add --yes to publish without being asked."),
    ):
        return True
    print(t("Nothing was published."), file=sys.stderr)
    return False


def tell_cost(arguments: argparse.Namespace, client: DaemonClient, packets: int) -> None:
    """Show what *packets* cost on the radio faces, on standard error, before they are published; ask if they are more
    than `limits.POST_PACKETS_MAX`, unless `--yes` was given.

    Raises ProblemError if the user does not agree or cannot be asked, and as the client does.
    """
    from tinyssb_node.screens.estimate import cost_line, cost_question, estimate

    faces, accounts = list(client.faces()), list(client.airtime())
    if packets > limits.POST_PACKETS_MAX and not getattr(arguments, "yes", False):
        if not agreed(arguments, lambda: cost_question(packets, faces, accounts)):
            raise ProblemError(
                "You did not agree to the cost.", "Shorten it, or answer `y`.", exit_code=ExitCode.ATTENTION
            )
    elif not arguments.json:
        for cost in estimate(packets, faces, accounts):
            print(cost_line(cost), file=sys.stderr)


def describe_published(arguments: argparse.Namespace, what: str, row: PublishedRow) -> int:
    """Print what was published: *what* is the beginning of the sentence."""
    from tinyssb_node.screens.chatlines import SHORT_MESSAGE

    if arguments.json:
        print(json.dumps(row.fields()))
        return 0
    chunks = row.chunks
    about = tn(1 + chunks, "{size} bytes in {n} packet", "{size} bytes in {n} packets", size=row.size)
    print(f"{what} {row.id[:SHORT_MESSAGE]}, {about}.")
    return 0


def text_given(text: str) -> str:
    """Return *text*, or for ``-`` the content of standard input. Raises ProblemError."""
    if text != "-":
        return text
    raw = sys.stdin.buffer.read(_TEXT_MAX + 1)
    if len(raw) > _TEXT_MAX:
        raise ProblemError(
            f"The text has more than {_TEXT_MAX:,} bytes. Nothing was published.",
            "Shorten it, or publish it as a file: tinyssb attach FILE",
            exit_code=ExitCode.DATA,
        )
    try:
        return raw.decode().rstrip("\n")
    except UnicodeDecodeError as error:
        raise ProblemError(
            "Standard input is not text in UTF-8. Nothing was published.",
            "To publish it as bytes: tinyssb publish -",
            exit_code=ExitCode.DATA,
        ) from error
