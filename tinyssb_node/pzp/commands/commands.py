"""`pzp`: messages of PZP, which several devices sign as one: kept, checked, carried over air and internet."""

from __future__ import annotations

import argparse
import json
import os
import secrets
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from tinyssb_node.pzp.commands.session import (
    InvalidPzpInputError,
    NoSuchMessageError,
    PzpSession,
    open_pzp,
    require_libraries,
    wall_us,
)
from tinyssb_node.screens import limits
from tinyssb_node.screens.message_commands import text_given
from tinyssb_node.screens.options import (
    CommandParsers,
    add_actions,
    add_json,
    add_network,
    add_yes,
    positive,
)
from tinyssb_node.screens.render import print_json
from tinyssb_node.store.home import Home

if TYPE_CHECKING:
    from tinyssb_node.pzp.messages.jsontext import Json


def add(commands: CommandParsers) -> None:
    """Describe the command."""
    parser = commands.add(
        "pzp",
        feeds,
        more="Without an action it lists feeds. Needs the extra `pzp`; only `send` needs the daemon.",
    )
    add_network(parser)
    add_json(parser)
    add_action = add_actions(parser)
    _add_identity(
        add_action("identity", identity, "list identities and this node's key, create an identity, add keys")
    )
    _add_writing(add_action)
    add_action("feeds", feeds, "list feeds")
    action = add_action("feed", feed, "show the messages of a feed")
    action.add_argument("feed", metavar="FEED", help="a feed: its id, or the beginning of it")
    action.add_argument(
        "--last",
        type=positive,
        default=40,
        metavar="N",
        help="show the N last messages (default: 40)",
    )
    _add_message(add_action("show", show, "show a whole message"))
    _add_message(add_action("erase", erase, "erase the content of a message here, for good"))
    _add_files(add_action)
    action = add_action(
        "goal", goal, "set how much of a feed is kept, also of one that is not stored here yet"
    )
    action.add_argument("feed", metavar="FEED", help="a feed: its id; if it is here, the beginning is enough")
    action.add_argument(
        "goal", metavar="GOAL", help="all, newest-100, set, none; `-`: as long as there is room"
    )
    action = add_action("gc", collect, "make room: delete messages that no goal asks for")
    action.add_argument(
        "--budget",
        type=positive,
        metavar="MIB",
        help="MiB of messages that may stay (default: pzp.budget_mib of config.toml)",
    )
    action = add_action("gateway", gateway, "run the gateway; the daemon does so if `pzp.enabled` is true")
    action.add_argument("--supervised", action="store_true", help="end when standard input does")


def _add_identity(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "what", metavar="create|consent|add-key|remove-key|show", nargs="?", default="show",
        choices=("create", "consent", "add-key", "remove-key", "show"),
        help="create one with this node's key, consent to adding this node's key to one, add a key to one or "
        "remove one, or show them (the default)",
    )  # fmt: skip
    action.add_argument(
        "group",
        metavar="GROUP",
        nargs="?",
        help="the identity; for `create` a nonce that distinguishes it from your others",
    )
    action.add_argument("key", metavar="KEY", nargs="?", help="a key in base58, or a feed id")
    action.add_argument(
        "consent",
        metavar="CONSENT",
        nargs="?",
        help="for `add-key`: what `identity consent` printed on the node that has the key; Msg V2 needs none",
    )
    action.add_argument(
        "--full", action="store_true", help="for `add-key`: the key may add and remove keys, too"
    )
    action.add_argument(
        "--v2", action="store_true", help="for `create`: write it as Msg V2, which `pzp-db` cannot read"
    )


def _add_writing(add_action: Callable[..., argparse.ArgumentParser]) -> None:
    action = add_action("publish", write_message, "write a message")
    action.add_argument("type", metavar="TYPE", help="its type, such as post; names the feed with the group")
    action.add_argument(
        "data", metavar="JSON", help="its content, a JSON object; `-` reads it from standard input"
    )
    action.add_argument(
        "--group", metavar="GROUP", help="the identity to write as (default: the one with this node's key)"
    )
    action.add_argument("--v1", action="store_true", help="write it as Feed V1, which has no groups")
    action.add_argument(
        "--tangle",
        metavar="ROOT",
        action="append",
        default=[],
        help="a further tangle to add it to; may be repeated",
    )
    action.add_argument("--air", action="store_true", help="send it over the air, too, as `send` does")
    add_yes(action)
    action = add_action(
        "send", send, "publish messages as entries of this node's feed, with the messages they depend on"
    )
    action.add_argument("messages", metavar="MESSAGE", nargs="+", help="an id, or a URI")
    action.add_argument("--dry-run", action="store_true", help="only show the cost")
    add_yes(action)


def _add_message(action: argparse.ArgumentParser) -> None:
    action.add_argument("message", metavar="MESSAGE", help="an id, or a URI")


def _add_files(add_action: Callable[..., argparse.ArgumentParser]) -> None:
    action = add_action("import", import_, "import messages from a file, and list the wrong lines")
    _add_file(action)
    action = add_action("verify", verify, "check the messages of a file, and keep none of them")
    _add_file(action)
    action = add_action("export", export, "write messages to a file, one in JSON on each line")
    action.add_argument("file", metavar="FILE", help="the file to make; `-` for standard output")
    action.add_argument(
        "feeds", metavar="FEED", nargs="*", help="feeds to export, with their identities (default: all)"
    )
    action.add_argument(
        "--pzp-db",
        action="store_true",
        help="make FILE a folder that the published package `pzp-db` opens; it reads Msg V4 only",
    )

    action = add_action(
        "certificate",
        certificate,
        "write a certificate: the messages that prove one to a reader who has no others",
    )
    _add_message(action)
    action.add_argument(
        "file",
        metavar="FILE",
        nargs="?",
        default="-",
        help="the file to make, as `verify` takes it (default: standard output)",
    )


def _add_file(action: argparse.ArgumentParser) -> None:
    action.add_argument(
        "file",
        metavar="FILE",
        help="one message in JSON on each line; `-` for standard input; or the folder, or `db/log`, of `pzp-db`",
    )
    rules = action.add_mutually_exclusive_group()
    rules.add_argument(
        "--strict", action="store_true", help="check by all rules of the PZP specification (the default)"
    )
    rules.add_argument(
        "--compat", action="store_true", help="check as PZP's own program does, which accepts more"
    )


# --- Identities


def identity(arguments: argparse.Namespace) -> int:
    """Make an identity, add a key to one, or show them."""
    with open_pzp(arguments) as pzp:
        if arguments.what == "create":
            return _create(arguments, pzp)
        actions = {"consent": _consent, "add-key": _add_key, "remove-key": _remove_key}
        return actions.get(arguments.what, _show_identities)(arguments, pzp)


def _create(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    from tinyssb_node.pzp.messages.versions import DEFAULT, V2

    nonce = arguments.group or secrets.token_hex(16)  # random: no two identities of a key are the same
    known = {group.id for group in pzp.groups()}
    version = V2 if arguments.v2 else DEFAULT
    group = pzp.database.create_identity(pzp.unlock(), nonce, wall_us=wall_us(), version=version)
    if arguments.json:
        print(json.dumps({"group": group, "new": group not in known}))
    elif group in known:
        print(f"This identity already exists: {group}.")
    else:
        print(f"Created the identity {group}, with this node's key.")
        print(f"Add another device's key. On that device, type: tinyssb pzp identity consent {group}")
    return 0


def _consent(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    from tinyssb_node.pzp.messages.message import id_of_uri
    from tinyssb_node.pzp.messages.versions import write_consent

    try:
        account = id_of_uri(arguments.group or "")
    except ValueError as error:
        raise InvalidPzpInputError(
            "The identity to consent to is missing, or is not a whole id.",
            "Type: tinyssb pzp identity consent ACCOUNT",
        ) from error
    consent = write_consent(pzp.unlock(), account)
    if arguments.json:
        print(json.dumps({"group": account, "key": pzp.own_key, "consent": consent}))
    else:
        print("With this, a member can add this node's key. On a member's device, type:")
        print(f"tinyssb pzp identity add-key {account} {pzp.own_key} {consent}")
    return 0


def _add_key(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    from tinyssb_node.pzp.messages.message import ADD_POWER, DEL_POWER
    from tinyssb_node.pzp.messages.versions import V2

    group, key = pzp.group(arguments.group), _key(arguments.key)
    if key in pzp.keys(group):
        print(json.dumps({"message": None}) if arguments.json else f"{key} is a key of {group} already.")
        return 0
    if arguments.consent is None and pzp.record(group).version != V2.fields.v:
        raise InvalidPzpInputError(
            "The consent of the owner of this key is missing. Nothing was changed.",
            f"On the device that has the key, type: tinyssb pzp identity consent {group}",
        )
    added = pzp.database.add_key(
        pzp.unlock(),
        group,
        key,
        wall_us=wall_us(),
        consent=arguments.consent,
        powers=(ADD_POWER, DEL_POWER) if arguments.full else (),
    )
    print(json.dumps({"message": added}) if arguments.json else f"Added {key} to {group}: message {added}.")
    return 0


def _remove_key(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    from tinyssb_node.pzp.database.revocations import remove_key

    group, key = pzp.group(arguments.group), _key(arguments.key)
    if key not in pzp.keys(group):
        raise NoSuchMessageError(
            f"{key} is no key of {group}. Nothing was changed.",
            f"`tinyssb pzp identity show {group}` lists its keys.",
        )
    removed = remove_key(pzp.database, pzp.unlock(), group, key, wall_us=wall_us())
    if arguments.json:
        print(json.dumps({"message": removed}))
        return 0
    print(f"Removed {key} from {group}: message {removed}.")
    print(
        "Messages of this key that are stored here stay valid. Others that appear later are shown as revoked."
    )
    print(
        "Nodes that have not received this yet still accept new messages of the key. Send it: "
        + _send(removed)
    )
    return 0


def _send(id_: str) -> str:
    return f"tinyssb pzp send {id_}"


def _key(text: str | None) -> str:
    """A key in base58, of one or of a feed id. Raises InvalidPzpInputError."""
    from tinyssb_node.pzp.messages import base58
    from tinyssb_node.pzp.messages.message import is_key

    if text is None:
        raise InvalidPzpInputError(
            "The key is missing. Nothing was changed.",
            "`tinyssb pzp identity show` lists the keys of a group.",
        )
    if len(text) == 64 and not set(text) - set("0123456789abcdef"):
        return base58.encode(bytes.fromhex(text))
    if not is_key(text):
        raise InvalidPzpInputError(
            f"{text[: limits.PZP_NAME_MAX]!a} is not a key.",
            "A key is 32 bytes in base58, as `tinyssb pzp identity` shows it, or a feed id of 64 digits.",
        )
    return text


def _show_identities(arguments: argparse.Namespace, pzp: PzpSession) -> int:
    from tinyssb_node.pzp.commands.lines import group_lines, group_row

    wanted = None if arguments.group is None else pzp.root(arguments.group)
    groups = [group for group in pzp.groups() if wanted in (None, group.id)]
    if arguments.json:
        if wanted is None:
            print(json.dumps({"own_key": pzp.own_key}))
        for group in groups:
            print(json.dumps(group_row(group)))
        return 0
    print(f"This node's key: {pzp.own_key}")
    for group in groups:
        print("\n".join(group_lines(group, pzp.own_key)))
    if not groups:
        print("No identities are stored here. Create one: tinyssb pzp identity create")
    return 0


# --- Writing


def write_message(arguments: argparse.Namespace) -> int:
    """Write a message."""
    said = _json(text_given(arguments.data))
    with open_pzp(arguments) as pzp:
        group = None if arguments.v1 else pzp.group(arguments.group)
        tangles = [pzp.root(root) for root in arguments.tangle]
        id_ = pzp.database.write(
            pzp.unlock(), said, arguments.type, group, tangles=tangles, wall_us=wall_us()
        )
        record = pzp.record(id_)
        print(
            json.dumps({"id": id_}) if arguments.json else f"Wrote {id_}, {len(record.text):,} bytes of JSON."
        )
        if arguments.air:
            from tinyssb_node.pzp.commands.send import send_written

            return send_written(arguments, pzp, record)
    return 0


def _json(text: str) -> Json:
    from tinyssb_node.pzp.messages.errors import MessageError
    from tinyssb_node.pzp.messages.jsontext import read

    try:
        return read(text)
    except MessageError as error:
        raise InvalidPzpInputError(
            f"This content cannot be used: {error}.", """Quote it for the shell: '{"text": "hello"}'."""
        ) from error


def send(arguments: argparse.Namespace) -> int:
    """Publish messages over the air."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.commands.send import send_records

        return send_records(arguments, pzp, [pzp.record(text) for text in arguments.messages])


# --- Reading


def feeds(arguments: argparse.Namespace) -> int:
    """List feeds."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.commands.lines import feed_row, feeds_table

        rows = [feed_row(summary, root) for summary, root in pzp.feeds()]
        waiting = sum(network.waiting() for network in pzp.carried.values())
    if arguments.json:
        print_json(rows)
    elif rows:
        print(feeds_table(rows))
    else:
        print(
            "No feeds are stored here. `tinyssb pzp publish` starts one, `tinyssb pzp import` imports a file."
        )
    if waiting:
        print(f"{waiting:,} entries carry messages that wait for other messages.", file=sys.stderr)
    return 0


def feed(arguments: argparse.Namespace) -> int:
    """Show the messages of a feed."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.commands.lines import message_lines, message_row

        records, revoked = pzp.last_messages(pzp.root(arguments.feed), arguments.last)
    if arguments.json:
        for depth, record in records:
            print(json.dumps(message_row(record, depth, revoked=record.id in revoked)))
    else:
        print(message_lines(records, revoked))
    return 0


def show(arguments: argparse.Namespace) -> int:
    """Show all of a message."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.commands.lines import message_row, shown
        from tinyssb_node.pzp.database.revocations import Revocations

        record = pzp.record(arguments.message)
        revoked = Revocations(pzp.database).is_revoked(record)
        found = [(name, network.place_of(record.id)) for name, network in pzp.carried.items()]
    places = [(name, *place) for name, place in found if place is not None]
    if arguments.json:
        entries = [{"network": name, "feed": feed.hex(), "seq": seq} for name, feed, seq in places]
        print(json.dumps({**message_row(record, revoked=revoked), "entries": entries}))
    else:
        print(shown(record, places, revoked=revoked))
    return 0


def erase(arguments: argparse.Namespace) -> int:
    """Erase what a message says."""
    with open_pzp(arguments) as pzp:
        id_ = pzp.record(arguments.message).id
        erased = pzp.database.erase(id_)
    if arguments.json:
        print(json.dumps({"id": id_, "erased": erased}))
    elif erased:
        print(
            f"Erased the content of {id_}. Its id and signature are kept, and the content is not accepted again."
        )
        print("Other nodes that have it keep it. So does the entry that carried it, if there is one.")
    else:
        print(f"{id_} has no content here, or was erased before.")
    return 0


def goal(arguments: argparse.Namespace) -> int:
    """Say what is to be kept of a feed."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.messages.goals import parse_goal
        from tinyssb_node.pzp.messages.message import is_id

        try:
            wanted = None if arguments.goal == "-" else parse_goal(arguments.goal)
        except ValueError as error:
            raise InvalidPzpInputError(
                f"{str(error)[:1].upper()}{str(error)[1:]}.", "Nothing was changed."
            ) from error
        try:
            root = pzp.root(arguments.feed)
        except NoSuchMessageError:
            if not is_id(arguments.feed):
                raise
            root = arguments.feed
        pzp.database.set_goal(root, wanted)
    if arguments.json:
        return print_json([{"feed": root, "goal": None if wanted is None else str(wanted)}])
    print(f"Kept of {root}: {'all, as long as there is room' if wanted is None else wanted}.")
    return 0


def collect(arguments: argparse.Namespace) -> int:
    """Make room."""
    from tinyssb_node.pzp.config import pzp_settings

    with open_pzp(arguments) as pzp:
        budget = (
            pzp_settings(pzp.config).budget_bytes if arguments.budget is None else arguments.budget * 2**20
        )
        done = pzp.database.collect(budget)
    row = {
        "budget": budget,
        "bytes_before": done.before.bytes,
        "bytes": done.after.bytes,
        "messages": done.after.messages,
        "deleted": done.deleted,
        "stripped": done.stripped,
    }
    if arguments.json:
        return print_json([row])
    if done.before.bytes <= budget:
        print(
            f"There are {done.before.bytes:,} bytes of messages, within the budget of {budget:,}: nothing was deleted."
        )
        return 0
    print(
        f"Deleted {done.deleted:,} messages, and the content of {done.stripped:,} more: "
        f"{done.after.bytes:,} bytes are left of {done.before.bytes:,}."
    )
    if done.after.bytes > budget:
        print(
            f"That is more than the budget of {budget:,}, because goals ask for it: see `tinyssb pzp feeds`."
        )
    return 0


# --- Files, and the gateway


def import_(arguments: argparse.Namespace) -> int:
    """Take messages from a file."""
    from tinyssb_node.pzp.commands.files import import_file

    with open_pzp(arguments) as pzp:
        return import_file(arguments, pzp)


def verify(arguments: argparse.Namespace) -> int:
    """Check the messages of a file."""

    require_libraries()
    from tinyssb_node.pzp.commands.files import verify_file

    return verify_file(arguments)


def export(arguments: argparse.Namespace) -> int:
    """Write messages to a file."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.commands.files import export_file

        return export_file(arguments, pzp)


def certificate(arguments: argparse.Namespace) -> int:
    """Write what proves a message."""
    with open_pzp(arguments) as pzp:
        from tinyssb_node.pzp.commands.files import write_certificate

        return write_certificate(arguments, pzp)


def gateway(arguments: argparse.Namespace) -> int:
    """Run the gateway until SIGTERM, Ctrl-C, or the end of the daemon that started it."""

    require_libraries()
    import asyncio

    from tinyssb_node.daemon.config import read_config
    from tinyssb_node.daemon.logs import start_logging
    from tinyssb_node.pzp.gateway import PzpGateway

    home = Home.find(arguments.home, os.environ)
    home.require()
    config = read_config(home)
    logger = start_logging(config.log.level, config.log.format)
    asyncio.run(PzpGateway(home, config, logger).run(supervised=arguments.supervised))
    return 0
