"""Sender of alerts: it checks the node, and posts what has lasted to the webhook."""

import asyncio
import random
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from tinyssb_node.alerts import limits
from tinyssb_node.alerts.saved import read_saved, saved_path, serialize_saved
from tinyssb_node.alerts.watch import AlertWatch
from tinyssb_node.alerts.webhook import WebhookError, serialize_alert
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.faces.backoff import Backoff
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.store.durable import in_the_place_of
from tinyssb_node.store.home import Home


class AlertSender:
    """Checks the node again and again. A post that fails is tried again, as long as there is something to announce."""

    def __init__(
        self,
        home: Home,
        logger: Logger,
        *,
        name: str,
        feed: str,
        find: Callable[[], Sequence[CheckResult]],
        post: Callable[[bytes], None],
        mono_us: Callable[[], int] = lambda: time.monotonic_ns() // 1_000,
        wall_us: Callable[[], int] = lambda: time.time_ns() // 1_000,
    ) -> None:
        """Take over what was announced before a restart. *name* and *feed* are the node's."""
        self._home = home
        self._logger = logger
        self._name, self._feed = name, feed
        self._find, self._post = find, post
        self._mono_us, self._wall_us = mono_us, wall_us
        self._watch = AlertWatch()
        with suppress(OSError):
            self._watch.restore(read_saved(home), mono_us())
        self._backoff = Backoff(random.random, max_s=limits.RETRY_MAX_S)
        self._posted_us = mono_us()
        self._retry_us = self._posted_us
        self._is_reached = True

    def look(self) -> None:
        """Check the node, and post what is due."""
        now_us = self._mono_us()
        self._watch.look(self._find(), self._wall_us(), now_us)
        while now_us >= self._retry_us and (announcement := self._watch.due(now_us)) is not None:
            try:
                self._post(serialize_alert(self._name, self._feed, announcement))
            except WebhookError as error:
                self._retry_us = now_us + round(1e6 * self._backoff.next_s())
                if self._is_reached:
                    self._logger.warning("an alert could not be posted: trying again", problem=error.message)
                self._is_reached = False
                return
            self._watch.confirm(announcement)
            self._backoff.link_was_up(limits.RETRY_MAX_S)
            self._is_reached = True
            self._logger.info(
                "posted an alert",
                what=announcement.problem.check,
                about=announcement.problem.about,
                over=announcement.is_over,
            )
            self._save()

    def _save(self) -> None:
        """Save what was announced. On a disk that cannot be written, a restart announces it again."""
        with suppress(OSError), in_the_place_of(saved_path(self._home)) as file:
            file.write(serialize_saved(self._watch.announced()))

    async def run(self) -> None:
        """Look again and again, until cancelled."""
        while True:
            await asyncio.to_thread(self.look)
            await asyncio.sleep(limits.LOOK_S)
