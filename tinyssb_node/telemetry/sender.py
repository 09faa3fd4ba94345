"""Sender of automatic records: a process beside the daemon, which publishes through its control socket."""

import os
import select
import signal
import sys
from collections.abc import Callable
from typing import NoReturn

from tinyssb_node.content.telemetry import TelemetryRecord, coarsened, fitting, serialize_telemetry
from tinyssb_node.control.client import DaemonUnreachableError
from tinyssb_node.daemon.config import Config
from tinyssb_node.daemon.logs import Logger
from tinyssb_node.errors import LocalError
from tinyssb_node.screens.session import NodeSession
from tinyssb_node.screens.telemetry import said_s, wall_us
from tinyssb_node.telemetry import limits
from tinyssb_node.telemetry.config import PUBLIC, telemetry_config
from tinyssb_node.telemetry.measure import VERSION, Measurement, measure
from tinyssb_node.telemetry.plan import TelemetryKind, TelemetryPlan, plan
from tinyssb_node.telemetry.sources.measured import position_record, sensor_record


class TelemetrySender:
    """Publishes records that are due. Its state is in the node's feed: it may end at any time."""

    def __init__(
        self,
        config: Config,
        logger: Logger,
        *,
        now_us: Callable[[], int] = wall_us,
        read: Callable[[Config], Measurement] = measure,
    ) -> None:
        self._config = config
        self._settings = telemetry_config(config)
        self._logger = logger
        self._now_us = now_us
        self._read = read
        self._problem = ""
        """The problem that was logged last."""

    def look(self, node: NodeSession) -> int:
        """Publish what is due; return how many records. Problems of sources, of the disk and of the daemon are logged
        once, and the next call tries again. Raises errors of the catalog."""
        now_us = self._now_us()
        try:
            node.catch_up()
            plans = plan(self._settings, node, now_us)
            due = [one for one in plans if one.is_due(now_us)]
            if not due:
                return 0
            measurement = self._read(self._config)
            self._tell(" ".join(problem.message for problem in measurement.problems))
            # The first record counts for the second: each call publishes one, and the next one plans anew.
            return next((1 for one in due if self._send(node, one, measurement, now_us)), 0)
        except DaemonUnreachableError as error:
            node.hang_up()
            self._tell(error.message)
        except LocalError as error:
            self._tell(error.message)
        return 0

    def _send(self, node: NodeSession, due: TelemetryPlan, measurement: Measurement, now_us: int) -> bool:
        record = self._record(due, measurement, now_us)
        if record is None:
            return False
        content = serialize_telemetry(record)
        if due.audience == PUBLIC:
            node.publish(content)
        else:
            node.client.group_share(due.audience, content)
        self._logger.info(
            "shared", what=due.kind.value, audience=due.audience, valid_minutes=record.valid_minutes
        )
        return True

    def _record(self, due: TelemetryPlan, measurement: Measurement, now_us: int) -> TelemetryRecord | None:
        """Return the record to publish; None: nothing was measured, or nothing new."""
        valid, clock = due.pace.valid_minutes, said_s(now_us)
        if due.kind is TelemetryKind.SENSORS:
            sensors = sensor_record(measurement.measured, clock, valid, VERSION)
            return None if sensors is None else fitting(sensors)
        position = position_record(measurement.measured, clock, valid)
        if position is None:
            return None
        position = coarsened(position, self._settings.precision_m)
        return None if due.tells_nothing_new(position, self._settings.moved_m, now_us) else position

    def _tell(self, problem: str) -> None:
        if problem and problem != self._problem:
            self._logger.warning("cannot share telemetry at the moment", problem=problem)
        self._problem = problem


def run_sender(sender: TelemetrySender, open_node: Callable[[], NodeSession], *, supervised: bool) -> None:
    """Look again and again, until SIGTERM, or the end of standard input if *supervised*."""
    signal.signal(signal.SIGTERM, _end)
    while True:
        with open_node() as node:
            sender.look(node)
        # The session is opened anew each time: between two looks this process holds no files.
        waiting = select.select([sys.stdin] if supervised else [], [], [], limits.LOOK_S)
        if waiting[0] and not os.read(sys.stdin.fileno(), 4_096):
            return


def _end(_number: int, _frame: object) -> NoReturn:
    raise SystemExit(0)
