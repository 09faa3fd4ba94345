"""`alerts`: show what is wrong with the node; test and run the webhook that is told of it."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json

if TYPE_CHECKING:
    from tinyssb_node.daemon.config import Config
    from tinyssb_node.store.home import Home


def add(commands: CommandParsers) -> None:
    """Describe the command."""
    parser = commands.add("alerts", alerts, more="Without an action it lists what is wrong now.")
    add_json(parser)
    add_action = add_actions(parser)
    add_action("test", test, "post a test message to the webhook")
    action = add_action(
        "run", run, "post alerts to the webhook; the daemon does so if `alerts.enabled` is true"
    )
    action.add_argument("--supervised", action="store_true", help="end when standard input does")


def alerts(arguments: argparse.Namespace) -> int:
    """List what is wrong with the node, and whether the webhook was told of it."""
    from tinyssb_node.alerts.saved import read_saved
    from tinyssb_node.screens.checkup import problems
    from tinyssb_node.screens.render import print_json, printable

    home = _home(arguments)
    announced = {one.name for one in read_saved(home)}
    found = [(one, (one.check, one.about) in announced) for one in problems(home)]
    if arguments.json:
        print_json(
            {
                "check": one.check,
                "about": one.about,
                "found": one.found,
                "advice": one.advice,
                "announced": known,
            }
            for one, known in found
        )
    elif not found:
        print("Nothing is wrong.")
    else:
        for one, known in found:
            print(f"{one.check}: {printable(one.found)}{'  (announced)' if known else ''}")
            if one.advice:
                print(f"     {one.advice}")
    return ExitCode.ATTENTION if found else ExitCode.OK


def test(arguments: argparse.Namespace) -> int:
    """Post a test message."""
    from tinyssb_node.alerts.webhook import read_webhook, serialize_test

    home, config, setting = _configured(arguments)
    webhook = read_webhook(setting)
    webhook.post(serialize_test(config.name, _feed(home)))
    print(f"The webhook at {webhook.host} accepted a test message.")
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Post alerts until SIGTERM, Ctrl-C, or the end of the daemon that started it."""
    from tinyssb_node.alerts.sender import AlertSender, run_sender
    from tinyssb_node.alerts.webhook import read_webhook
    from tinyssb_node.daemon.logs import start_logging
    from tinyssb_node.screens.checkup import problems

    home, config, setting = _configured(arguments)
    sender = AlertSender(
        home,
        start_logging(config.log.level, config.log.format),
        name=config.name,
        feed=_feed(home),
        find=lambda: problems(home),
        post=read_webhook(setting).post,
    )
    run_sender(sender, supervised=arguments.supervised)
    return 0


def _home(arguments: argparse.Namespace) -> Home:
    from tinyssb_node.store.home import Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    return home


def _configured(arguments: argparse.Namespace) -> tuple[Home, Config, str]:
    """Return the node's home, its settings, and where alerts go. Raises ProblemError."""
    from tinyssb_node.alerts.config import alerts_config
    from tinyssb_node.daemon.config import read_config

    home = _home(arguments)
    config = read_config(home)
    setting = alerts_config(config).webhook
    if not setting:
        raise ProblemError(
            f"{home.config} names no webhook, so there is nowhere to post alerts. Nothing was sent.",
            "docs/howto/alerts.md says what to write there.",
            exit_code=ExitCode.CONFIG,
        )
    return home, config, setting


def _feed(home: Home) -> str:
    from tinyssb_node.daemon.setup import read_node_identity

    return read_node_identity(home).feed.hex()
