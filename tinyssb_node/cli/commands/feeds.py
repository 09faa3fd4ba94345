"""`feeds`, `log`, `show`, `follow`, `unfollow`, `goset`: the feeds of the node, and which are followed."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING, Final

from tinyssb_node.content.acks import ACK_TYPE
from tinyssb_node.control.client import DaemonClient
from tinyssb_node.control.rows import EntryRow, FeedRow, FollowedRow, ShownRow
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.limits import FEED_ID_SIZE, NEWEST_MAX
from tinyssb_node.screens.disk_words import size_words
from tinyssb_node.screens.follow_words import PENDING, PENDING_MEANING
from tinyssb_node.screens.languages import t, tn
from tinyssb_node.screens.message_commands import open_node
from tinyssb_node.screens.options import (
    CommandParsers,
    add_feed,
    add_json,
    add_limit,
    add_network,
    positive,
)
from tinyssb_node.screens.people import UnknownPersonError
from tinyssb_node.screens.render import (
    SHORT_ID,
    decode_content,
    fields,
    local_time,
    one_line,
    print_json,
    printable,
    shortened,
    table,
    to_json,
)

if TYPE_CHECKING:
    from tinyssb_node.screens.content_plugins import PluginText

_DIGITS: Final = frozenset("0123456789abcdef")


def add(commands: CommandParsers) -> None:
    """Define the commands."""
    parsers = [
        commands.add("feeds", feeds),
        _add_log(commands),
        _add_show(commands),
        _add_follow(commands),
        _add_unfollow(commands),
        _add_purge(commands),
        commands.add("goset", goset),
    ]
    for parser in parsers:
        add_network(parser)
        add_json(parser)


def _add_log(commands: CommandParsers) -> argparse.ArgumentParser:
    parser = commands.add("log", log)
    add_feed(parser)
    parser.add_argument(
        "--follow", action="store_true", help="continue with entries as they arrive, until Ctrl-C"
    )
    add_limit(parser, 20, "entries")
    return parser


def _add_show(commands: CommandParsers) -> argparse.ArgumentParser:
    parser = commands.add("show", show)
    add_feed(parser)
    parser.add_argument("seq", metavar="SEQ", type=positive, help="its sequence number")
    return parser


def _add_follow(commands: CommandParsers) -> argparse.ArgumentParser:
    parser = commands.add("follow", follow)
    parser.add_argument(
        "feed",
        metavar="FEED",
        help="a feed id, all 64 digits if it is new to the node; or the name of a person",
    )
    parser.add_argument(
        "--newest",
        type=_newest_count,
        metavar="N",
        help=f"fetch its N newest entries before its history, 0 to {NEWEST_MAX}; 0: in order again",
    )
    return parser


def _newest_count(text: str) -> int:
    """Parse the number of --newest. Raises ArgumentTypeError."""
    if not (text.isascii() and text.isdigit() and int(text) <= NEWEST_MAX):
        raise argparse.ArgumentTypeError(f"{text!r} is not a number from 0 to {NEWEST_MAX}")
    return int(text)


def _add_unfollow(commands: CommandParsers) -> argparse.ArgumentParser:
    parser = commands.add("unfollow", unfollow, more="It stays in the set; a pending one is forgotten.")
    parser.add_argument(
        "feed", metavar="FEED", help="a feed id, the beginning of one, or the name of a person"
    )
    return parser


def _add_purge(commands: CommandParsers) -> argparse.ArgumentParser:
    parser = commands.add("purge", purge, more="Your own feeds and those that you follow are not deleted.")
    parser.add_argument(
        "feed", metavar="FEED", help="a feed id, the beginning of one, or the name of a person"
    )
    return parser


def feeds(arguments: argparse.Namespace) -> int:
    """List feeds."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        rows = list(node.feeds())
    if arguments.json:
        return print_json(row.fields() for row in rows)
    listed = [
        (row.feed[:SHORT_ID], row.seq, size_words(row.bytes), row.dialect, _feed_state(row)) for row in rows
    ]
    print(table(("FEED", "ENTRIES", "DISK", "DIALECT", "STATE"), listed))
    if any(row.pending for row in rows):
        print(
            f"\nPending: {PENDING_MEANING} It enters the set by its first entry, or when a peer names it.\n"
            "To undo a follow: tinyssb unfollow FEED"
        )
    if any(row.forked_at is not None for row in rows):
        print("\nSee `tinyssb forks` about forked feeds.")
    return 0


def log(arguments: argparse.Namespace) -> int:
    """List entries."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        following = None
        for row in node.log(arguments.feed, last=arguments.limit, follow=arguments.follow):
            if row.seq > (following or row.seq) and not arguments.json:
                older = row.seq - (following or 0)
                print(f"        ({older:,} older {'entry' if older == 1 else 'entries'} missing)", flush=True)
            following = row.seq + 1
            # Flushed: the reader of a pipe sees each entry when it comes.
            print(json.dumps(_decoded(row)) if arguments.json else _log_line(row), flush=True)
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show one entry."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        row = node.show(arguments.feed, arguments.seq)
    print(json.dumps(_decoded(row)) if arguments.json else _entry_page(row))
    return 0


def follow(arguments: argparse.Namespace) -> int:
    """Follow a feed."""
    feed = _feed_to_follow(arguments)
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        row = node.follow(feed, arguments.newest)
    code = _print_followed(
        arguments,
        row,
        t("Now following {feed}.", feed=row.feed),
        t("Already following {feed}.", feed=row.feed),
    )
    if row.pending and not arguments.json:
        print(
            f"! {t('Nobody here knows this id, so check its digits. It is pending.')} {t(PENDING_MEANING)}\n"
            + t("If it is mistyped: {command}", command=f"tinyssb unfollow {row.feed}")
        )
    if arguments.newest and not arguments.json:
        print(
            tn(
                arguments.newest,
                "Its newest entry is fetched before the others, from peers that support it.",
                "Its {n} newest entries are fetched before the others, from peers that support it.",
            )
        )
    return code


def unfollow(arguments: argparse.Namespace) -> int:
    """Stop following a feed."""
    feed = feed_named(arguments)
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        row = node.unfollow(feed)
    code = _print_followed(
        arguments,
        row,
        t("No longer following {feed}.", feed=row.feed),
        t("Was not following {feed}.", feed=row.feed),
    )
    if row.forgotten and not arguments.json:
        print(t("It was pending: nothing of it had come. It is forgotten."))
    return code


def purge(arguments: argparse.Namespace) -> int:
    """Delete what is stored of a feed."""
    feed = feed_named(arguments)
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        row = node.purge(feed)
    if arguments.json:
        return print_json([row.fields()])
    if not row.packets:
        print(f"Nothing is stored of {row.feed}.")
        return 0
    print(f"Deleted {row.feed}: {row.packets:,} entries and chunks, {size_words(row.bytes)} of disk.")
    print("Nothing of it is requested any more. To have it again: tinyssb follow " + row.feed)
    return 0


def goset(arguments: argparse.Namespace) -> int:
    """Show the set."""
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        row = node.goset()
    if arguments.json:
        return print_json([row.fields()])
    print(f"state {row.state}\ncount {row.count}")
    print("\n".join(row.feeds))
    return 0


def feed_named(arguments: argparse.Namespace) -> str:
    """Return the feed that *arguments* name: digits as they are, because the feed may be new; else a person's.

    Raises UnknownPersonError, ProblemError.
    """
    feed: str = arguments.feed
    if feed == "me" or not set(feed.lower()) - _DIGITS:
        return feed
    with open_node(arguments) as talk:
        return talk.find_person(feed).feed.hex()


def _feed_to_follow(arguments: argparse.Namespace) -> str:
    """Return the feed that *arguments* name: all digits of one, which may be new, or a known person's.

    Raises ProblemError, UnknownPersonError.
    """
    feed: str = arguments.feed
    is_digits = bool(feed) and not set(feed.lower()) - _DIGITS
    if is_digits and len(feed) == 2 * FEED_ID_SIZE:
        return feed
    try:
        with open_node(arguments) as talk:
            return talk.find_person(feed).feed.hex()
    except UnknownPersonError:
        if is_digits:
            raise ProblemError(
                f"A feed id has {2 * FEED_ID_SIZE} digits. These are {len(feed)}, and no known feed begins with them.",
                "Ask its owner for the whole id: `tinyssb id` prints it.",
                exit_code=ExitCode.USAGE,
            ) from None
        raise


def _print_followed(arguments: argparse.Namespace, row: FollowedRow, changed: str, unchanged: str) -> int:
    print(json.dumps(row.fields()) if arguments.json else changed if row.changed else unchanged)
    return 0


def _feed_state(row: FeedRow) -> str:
    words = []
    if row.own:
        words.append("own")
    if row.forked_at is not None:
        words.append(f"forked at entry {row.forked_at}, frozen")
    if not row.wanted:
        words.append("not followed")
    if row.blocked:
        words.append("blocked")
    if row.evicted:
        words.append("deleted to make room")
    identity = row.identity
    if row.child:
        words.append("own, further" if identity is None else f"own: {identity}")
    if row.of_group:
        words.append("of a private group")
    if row.writable is False and row.forked_at is None:
        words.append("cannot be written for now")
    return ", ".join([*words, *_set_state(row), *_newest_state(row)])


def _set_state(row: FeedRow) -> list[str]:
    if row.retired:
        return ["not in the set"]
    if not row.beyond:
        return []
    return [PENDING if row.pending else "beyond the set"]


def _newest_state(row: FeedRow) -> list[str]:
    words = [f"newest {row.newest} first"] if row.newest else []
    if row.newest_held:
        words.append(f"{row.newest_held} newer with older missing")
    return words


def _decoded(row: EntryRow) -> dict[str, object]:
    """Return *row* with its content also decoded, as far as it is stored."""
    if row.content is None:
        return {**row.fields(), "form": None, "decoded": None}
    decoded = decode_content(bytes.fromhex(row.content), row.type)
    damage = {"damage": decoded.damage} if decoded.damage else {}
    described = _described(row)
    words = {} if described is None else {"content_type": described.content_type, "text": described.text}
    return {**row.fields(), "form": decoded.form.value, "decoded": to_json(decoded.value), **damage, **words}


def _described(row: EntryRow) -> PluginText | None:
    """Return the content of *row* in a plugin's words, if one knows it."""
    if row.content is None or row.type == ACK_TYPE:
        return None
    from tinyssb_node.screens.content_plugins import content_plugins

    return content_plugins().describe(bytes.fromhex(row.content))


def _missing(row: EntryRow) -> str:
    if row.chunks_held < row.chunks:
        return f"(incomplete: {row.chunks_held} of {row.chunks} chunks)"
    return f"({row.size} bytes: type `tinyssb show`)"


def _log_line(row: EntryRow) -> str:
    described = _described(row)
    if row.content is None:
        shown = _missing(row)
    elif described is not None:
        shown = shortened(printable(f"{described.content_type}: {described.text}"))
    else:
        decoded = decode_content(bytes.fromhex(row.content), row.type)
        shown = f"{decoded.form.value:<4}  {shortened(one_line(decoded))}"
    return f"{row.seq:>6}  {local_time(row.committed_us)}  {shown}"


def _entry_page(row: ShownRow) -> str:
    pairs: list[tuple[str, object]] = [
        ("feed", row.feed),
        ("seq", row.seq),
        ("id", row.id),
        ("type", row.type),
        ("size", f"{row.size} bytes"),
        ("chunks", f"{row.chunks_held} of {row.chunks} stored"),
        ("came", row.origin + (f" by {row.face}" if row.face else "")),
        ("stored", f"{local_time(row.committed_us)} (arrival {row.arrival})"),
        ("signature", row.signature),
        ("forked", row.forked),
    ]
    if row.content is None:
        pairs.append(("content", _missing(row)))
    else:
        decoded = decode_content(bytes.fromhex(row.content), row.type)
        pairs += [
            ("read as", decoded.form.value + (f" ({decoded.damage})" if decoded.damage else "")),
            ("content", one_line(decoded)),
            ("bytes", row.content or "none"),
        ]
    described = _described(row)
    if described is not None:
        pairs.append((f"as {printable(described.content_type)}", printable(described.text)))
    return fields([*pairs, ("packet", row.packet)])
