"""Publishing messages of PZP as entries of the node's feed."""

from __future__ import annotations

import argparse
import json

from tinyssb_node.control.client import DaemonClient, DaemonUnreachableError
from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.feeds.layout import packet_count
from tinyssb_node.ids import DEFAULT_NETWORK, Dialect
from tinyssb_node.pzp.commands.session import InvalidPzpInputError, PzpSession
from tinyssb_node.pzp.database.port import PzpRecord
from tinyssb_node.pzp.messages.airform import AirFormTooLarge, serialize_air
from tinyssb_node.screens.estimate import costs_in_words, estimate, packets_in_words
from tinyssb_node.screens.message_commands import tell_cost


def send_written(arguments: argparse.Namespace, pzp: PzpSession, record: PzpRecord) -> int:
    """Publish a message that was just written. Raises ProblemError."""
    try:
        return send_records(arguments, pzp, [record])
    except DaemonUnreachableError as error:
        raise ProblemError(
            f"Message {record.id} was written, but not sent: {error.message}",
            f"Start the node (tinyssb run), then type: tinyssb pzp send {record.id}",
            exit_code=ExitCode.UNAVAILABLE,
        ) from error


def send_records(arguments: argparse.Namespace, pzp: PzpSession, records: list[PzpRecord]) -> int:
    """Publish *records*, and before them what others need to take them and nobody's entry carries yet."""
    carried = pzp.carried.get(arguments.network or DEFAULT_NETWORK)
    needed = {one.id: one for record in records for one in pzp.needed_for(record)}
    asked = {record.id for record in records}
    contents = {
        id_: _content(one) for id_, one in needed.items() if carried is None or carried.place_of(id_) is None
    }
    with DaemonClient.at_home(arguments.home, arguments.network) as node:
        dialect = Dialect(node.status().dialect)
        packets = sum(packet_count(len(content), dialect) for content in contents.values())
        dry = getattr(arguments, "dry_run", False)
        if not dry:
            tell_cost(arguments, node, packets)
        rows = [] if dry else [node.publish(content) for content in contents.values()]
        costs = _costs(node, packets) if dry and not arguments.json else []
    if arguments.json:
        entries = [row.seq for row in rows]
        print(json.dumps({"sent": list(contents), "packets": packets, "entries": entries}))
        return 0
    _say_sent(asked, list(contents), packets, dry=dry)
    for line in costs:
        print(line)
    return 0


def _content(record: PzpRecord) -> bytes:
    content = serialize_air(record.message())
    if isinstance(content, AirFormTooLarge):
        raise InvalidPzpInputError(
            f"Message {record.id} has {content.size:,} bytes on the air, and an entry carries {content.most:,}. "
            "Nothing was sent.",
            "Gateways sync it with each other over the internet.",
        )
    return content


def _costs(node: DaemonClient, packets: int) -> list[str]:
    return costs_in_words(packets, estimate(packets, list(node.faces()), list(node.airtime())))


def _say_sent(asked: set[str], sent: list[str], packets: int, *, dry: bool) -> None:
    news, others = len(asked & set(sent)), len(set(sent) - asked)
    old = len(asked) - news
    if news:
        beside = (
            f", and {others} that others need to accept {'it' if news == 1 else 'them'}" if others else ""
        )
        print(
            f"{'Would send' if dry else 'Sent'} {news} message{'' if news == 1 else 's'}{beside}: "
            f"{packets_in_words(packets)}."
        )
    if old:
        print(f"{old} of {len(asked)} {'was' if old == 1 else 'were'} sent before, and not sent again.")
