"""Log lines on standard error: structured, with a rate limit for lines that strangers can cause."""

import atexit
import io
import sys
from collections.abc import Callable, Mapping
from typing import Final, TextIO

from tinyssb_node import limits
from tinyssb_node.codec.events import (
    ClockSet,
    Event,
    FaceDown,
    FaceUp,
    ForkFound,
    PacketReceived,
    Refused,
    SetChanged,
)
from tinyssb_node.daemon.config import LogFormat, LogLevel
from tinyssb_node.daemon.log_output import LogOutput
from tinyssb_node.daemon.structured import structlog
from tinyssb_node.ids import DEFAULT_NETWORK, NetworkName, Verdict

_NUMBERS: Final[Mapping[str, int]] = {
    LogLevel.DEBUG: 10,
    LogLevel.INFO: 20,
    LogLevel.WARNING: 30,
    LogLevel.ERROR: 40,
}
_CRITICAL: Final = 50
"""Numbers of levels, as in Python's module logging."""

Logger = structlog.typing.FilteringBoundLogger


class LogThreshold:
    """The lowest level of lines that this process logs. Loggers that exist follow a change."""

    def __init__(self) -> None:
        self._level = LogLevel.INFO

    def change(self, level: LogLevel) -> LogLevel:
        """Set the level. Returns the one before."""
        before, self._level = self._level, level
        return before

    def __call__(
        self, _logger: object, method: str, line: structlog.typing.EventDict
    ) -> structlog.typing.EventDict:
        """Pass *line* on, a processor of structlog. Raises DropEvent."""
        if _NUMBERS.get(method, _CRITICAL) < _NUMBERS[self._level]:
            raise structlog.DropEvent
        return line


LOG_THRESHOLD: Final = LogThreshold()
"""That of this process: structlog's settings belong to the process, too."""


def start_logging(level: LogLevel, form: LogFormat) -> Logger:
    """Make the daemon's logger."""
    render: structlog.typing.Processor = (
        structlog.processors.JSONRenderer()
        if form is LogFormat.JSON
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty())
    )
    LOG_THRESHOLD.change(level)
    structlog.configure(
        processors=[
            LOG_THRESHOLD,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=form is LogFormat.JSON),
            structlog.processors.format_exc_info,
            render,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(_NUMBERS[LogLevel.DEBUG]),
        logger_factory=_output_maker(sys.stderr),
        cache_logger_on_first_use=True,
    )
    logger: Logger = structlog.get_logger()
    return logger


def _output_maker(file: TextIO) -> Callable[..., object]:
    """Return what makes structlog's loggers for *file*."""
    try:
        descriptor = file.fileno()
    except io.UnsupportedOperation:
        return structlog.PrintLoggerFactory(file)  # In memory: nobody waits for a reader.
    output = LogOutput(
        descriptor,
        lambda count: structlog.get_logger().warning(
            "log lines were dropped: nobody read standard error", count=count
        ),
    )
    atexit.register(output.flush, limits.LOG_FLUSH_S)
    return lambda *_: output


class LogRateLimit:
    """Rate limit that lets a kind of line through once a minute and counts the others.

    Its table has one row for each face and kind of mistake, and is emptied when it has too many.
    """

    def __init__(self, log: Callable[..., object]) -> None:
        self._log = log
        self._rows: dict[tuple[str, str], tuple[int, int]] = {}

    def __call__(self, now_us: int, text: str, face: str, **fields: object) -> None:
        """Log *text* about *face*, unless that was logged within the last minute."""
        logged_us, suppressed = self._rows.get((text, face), (-limits.LOG_REPEAT_US, 0))
        if now_us - logged_us < limits.LOG_REPEAT_US:
            self._rows[text, face] = (logged_us, suppressed + 1)
            return
        if len(self._rows) >= limits.FACES_MAX:
            self._rows.clear()
        self._rows[text, face] = (now_us, 0)
        self._log(text, face=face, since_last=suppressed, **fields)


class EventLogger:
    """Log lines for the events that a node's user should know of. The event log has all events."""

    def __init__(self, logger: Logger, network: NetworkName = DEFAULT_NETWORK) -> None:
        """Log for *network*; events that concern all networks alike are logged for the default one only."""
        self._named = network != DEFAULT_NETWORK
        self._logger: Logger = logger.bind(network=network) if self._named else logger
        self._warn_rarely = LogRateLimit(self._logger.warning)

    def __call__(self, event: Event, now_us: int) -> None:
        """Log *event*, if it is worth a line."""
        if self._named and isinstance(event, FaceUp | FaceDown | ClockSet):
            return
        if isinstance(event, PacketReceived):
            if event.verdict is Verdict.INVALID:
                self._warn_rarely(now_us, "dropped an invalid packet", event.face, reason=event.reason)
        elif isinstance(event, FaceUp):
            self._logger.info("face up", face=event.face, spec=event.spec)
        elif isinstance(event, FaceDown):
            self._logger.info("face down", face=event.face, reason=event.reason)
        elif isinstance(event, SetChanged):
            self._logger.info(
                "a feed left the set" if event.left else "new feed in the set",
                feed=event.feed.hex(),
                feeds=event.count,
                face=event.face,
            )
        elif isinstance(event, ForkFound):
            self._logger.warning("a feed is forked: it is frozen", feed=event.feed.hex(), seq=event.seq)
        elif isinstance(event, ClockSet):
            self._logger.warning("the wall clock was set", step_s=event.step_us / 1e6)
        elif isinstance(event, Refused):
            self._logger.warning("refused at a limit", rule=event.rule, face=event.face, count=event.count)
