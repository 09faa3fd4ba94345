"""`alerts`: show what is wrong with the node; tell it a webhook and Home Assistant."""

from __future__ import annotations

import argparse
import os
from typing import TYPE_CHECKING

from tinyssb_node.errors import ExitCode, ProblemError
from tinyssb_node.screens.options import CommandParsers, add_actions, add_json

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from tinyssb_node.alerts.config import AlertsConfig
    from tinyssb_node.alerts.homeassistant.bridge import HomeBridge
    from tinyssb_node.alerts.homeassistant.report import NodeReport
    from tinyssb_node.alerts.sender import AlertSender
    from tinyssb_node.daemon.config import Config
    from tinyssb_node.daemon.logs import Logger
    from tinyssb_node.ids import FeedId
    from tinyssb_node.store.home import Home


def add(commands: CommandParsers) -> None:
    """Describe the command."""
    parser = commands.add("alerts", alerts, more="Without an action it lists what is wrong now.")
    add_json(parser)
    add_action = add_actions(parser)
    add_action("test", test, "post a test message to the webhook")
    add_action("homeassistant", homeassistant, "show what Home Assistant is told, one topic after the other")
    action = add_action(
        "run", run, "tell the webhook and Home Assistant; the daemon does so if `alerts.enabled` is true"
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

    home, config, settings = _configured(arguments)
    if not settings.webhook:
        raise _unset(home, "alerts.webhook")
    webhook = read_webhook(settings.webhook)
    webhook.post(serialize_test(config.name, _feed(home).hex()))
    print(f"The webhook at {webhook.host} accepted a test message.")
    return 0


def homeassistant(arguments: argparse.Namespace) -> int:
    """Show topics and payloads as they would be published now."""
    import json

    from tinyssb_node.alerts.homeassistant.discovery import messages
    from tinyssb_node.daemon.setup import node_name

    home, config, settings = _configured(arguments)
    report = _look(home, config)
    for topic, payload in messages(report, node_name(_feed(home)), says=bool(settings.conversation)).items():
        print(topic)
        print(json.dumps(json.loads(payload), indent=2, ensure_ascii=False))
    return 0


def run(arguments: argparse.Namespace) -> int:
    """Tell the webhook and Home Assistant until SIGTERM, Ctrl-C, or the end of the daemon that started it."""
    import asyncio

    from tinyssb_node.daemon.logs import start_logging

    home, config, settings = _configured(arguments)
    logger = start_logging(config.log.level, config.log.format)
    works = []
    if settings.webhook:
        works.append(_sender(home, config, settings, logger).run)
    if settings.homeassistant:
        works.append(_bridge(home, config, settings, logger).run)
    if not works:
        raise _unset(home, "alerts.webhook or alerts.homeassistant")
    asyncio.run(_run(works, supervised=arguments.supervised))
    return 0


async def _run(works: Sequence[Callable[[], Coroutine[None, None, None]]], *, supervised: bool) -> None:
    """Work until a signal, or if *supervised* until standard input ends."""
    import asyncio

    from tinyssb_node.daemon.shutdown import watch_for_shutdown

    stop = asyncio.Event()
    watch_for_shutdown(stop.set, supervised=supervised)
    async with asyncio.TaskGroup() as group:
        running = [group.create_task(work()) for work in works]
        await stop.wait()
        for task in running:
            task.cancel()


def _sender(home: Home, config: Config, settings: AlertsConfig, logger: Logger) -> AlertSender:
    from tinyssb_node.alerts.sender import AlertSender
    from tinyssb_node.alerts.webhook import read_webhook
    from tinyssb_node.screens.checkup import problems

    return AlertSender(
        home,
        logger,
        name=config.name,
        feed=_feed(home).hex(),
        find=lambda: problems(home),
        post=read_webhook(settings.webhook).post,
    )


def _bridge(home: Home, config: Config, settings: AlertsConfig, logger: Logger) -> HomeBridge:
    from importlib.util import find_spec

    from firmware_bridge.libraries import install_command

    if find_spec("aiomqtt") is None:
        raise ProblemError(
            "Home Assistant is told over MQTT, which needs aiomqtt, and that is not installed.",
            f"Install it with: {install_command('mqtt')}",
            exit_code=ExitCode.UNAVAILABLE,
        )
    from tinyssb_node.alerts.homeassistant.bridge import HomeBridge
    from tinyssb_node.daemon.setup import node_name

    broker, conversation = settings.broker_spec, settings.conversation
    assert broker is not None, "it is set"
    return HomeBridge(
        broker,
        logger,
        node=node_name(_feed(home)),
        look=lambda: _look(home, config),
        say=(lambda text: _say(home, conversation, text)) if conversation else None,
    )


def _look(home: Home, config: Config) -> NodeReport:
    from tinyssb_node import version
    from tinyssb_node.alerts.homeassistant.report import look
    from tinyssb_node.screens.session import NodeSession

    with NodeSession.at_home(str(home.root)) as node:
        return look(node, name=config.name, feed=_feed(home), version=version())


def _say(home: Home, conversation: str, text: str) -> None:
    """Publish *text*, unless it takes so much airtime that a person should agree. Raises LocalError."""
    from tinyssb_node.screens.session import NodeSession

    with NodeSession.at_home(str(home.root)) as node:
        node.catch_up()
        if node.cost_question(node.post_packets(text, conversation)):
            raise ProblemError("It takes so many packets that a person has to agree.", "Send a shorter text.")
        node.say(text, conversation)


def _home(arguments: argparse.Namespace) -> Home:
    from tinyssb_node.store.home import Home

    home = Home.find(arguments.home, os.environ)
    home.require()
    return home


def _configured(arguments: argparse.Namespace) -> tuple[Home, Config, AlertsConfig]:
    """Return the node's home, its settings, and those of alerts. Raises ConfigError."""
    from tinyssb_node.alerts.config import alerts_config
    from tinyssb_node.daemon.config import read_config

    home = _home(arguments)
    config = read_config(home)
    return home, config, alerts_config(config)


def _unset(home: Home, key: str) -> ProblemError:
    return ProblemError(
        f"{home.config} does not set {key}, so there is nobody to tell. Nothing was sent.",
        "docs/howto/alerts.md says what to write there.",
        exit_code=ExitCode.CONFIG,
    )


def _feed(home: Home) -> FeedId:
    from tinyssb_node.daemon.setup import read_node_identity

    return read_node_identity(home).feed
