"""Log lines: which events are worth one, and how often."""

import json

import pytest
import structlog

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
from tinyssb_node.daemon.logs import LOG_THRESHOLD, EventLogger, LogRateLimit, start_logging
from tinyssb_node.ids import FaceName, FeedId, MessageId, PacketKind, Verdict

FACE = FaceName("udp")
FEED = FeedId(bytes(32))


def invalid(reason: str) -> PacketReceived:
    return PacketReceived(
        face=FACE, packet=PacketKind.UNKNOWN, length=3, hash=bytes(8), verdict=Verdict.INVALID, reason=reason
    )


@pytest.fixture
def lines() -> tuple[EventLogger, list[str]]:
    said: list[str] = []

    def keep(_logger: object, method: str, line: structlog.typing.EventDict) -> str:
        said.append(f"{method}: {line['event']}")
        raise structlog.DropEvent

    return EventLogger(structlog.wrap_logger(None, processors=[keep])), said


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (FaceUp(face=FACE, spec="udp:239.5.5.8:1558"), "info: face up"),
        (FaceDown(face=FACE, reason="unplugged"), "info: face down"),
        (SetChanged(feed=FEED, count=2, state=bytes(32), face=None), "info: new feed in the set"),
        (
            SetChanged(feed=FEED, count=1, state=bytes(32), face=None, left=True),
            "info: a feed left the set",
        ),
        (
            ForkFound(feed=FEED, seq=1, held=MessageId(bytes(20)), other=MessageId(bytes(20))),
            "warning: a feed is forked: it is frozen",
        ),
        (ClockSet(step_us=2_000_000), "warning: the wall clock was set"),
        (Refused(rule="queue", face=FACE, count=3), "warning: refused at a limit"),
        (invalid("PacketSizeError"), "warning: dropped an invalid packet"),
    ],
)
def test_what_a_user_should_know_is_said(
    lines: tuple[EventLogger, list[str]], event: Event, line: str
) -> None:
    lines[0](event, 0)
    assert lines[1] == [line]


def test_junk_is_told_once_a_minute_and_face(lines: tuple[EventLogger, list[str]]) -> None:
    for now_us in range(0, 2 * limits.LOG_REPEAT_US, limits.LOG_REPEAT_US // 1000):
        lines[0](invalid("PacketSizeError"), now_us)
    assert len(lines[1]) == 2


def test_lines_held_back_are_counted_and_the_table_is_bounded() -> None:
    said: list[dict[str, object]] = []
    repeated = LogRateLimit(lambda text, **fields: said.append({"text": text, **fields}))
    for _ in range(5):
        repeated(0, "junk", "a")
    repeated(limits.LOG_REPEAT_US, "junk", "a")
    assert [line["since_last"] for line in said] == [0, 4]
    for number in range(3 * limits.FACES_MAX):
        repeated(0, "junk", f"face {number}")
    logged = len(said)
    repeated(0, "junk", "face 0")
    assert len(said) == logged + 1, "the table was emptied meanwhile"


def test_lines_are_for_people_or_for_programs(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging(LogLevel.WARNING, LogFormat.JSON).warning("hello", feed="x")
    line = json.loads(capsys.readouterr().err)
    assert (line["event"], line["level"], line["feed"]) == ("hello", "warning", "x")
    start_logging(LogLevel.WARNING, LogFormat.CONSOLE).info("too quiet")
    assert capsys.readouterr().err == ""
    start_logging(LogLevel.INFO, LogFormat.CONSOLE).info("hello", feed="x")
    assert "hello" in capsys.readouterr().err


def test_the_level_changes_for_loggers_that_exist(capsys: pytest.CaptureFixture[str]) -> None:
    logger = start_logging(LogLevel.WARNING, LogFormat.CONSOLE)
    bound = logger.bind(network="village")
    for said in (logger, bound):
        said.info("too quiet")
    assert LOG_THRESHOLD.change(LogLevel.DEBUG) is LogLevel.WARNING
    for said in (logger, bound):
        said.debug("loud enough")
    LOG_THRESHOLD.change(LogLevel.ERROR)
    for said in (logger, bound):
        said.warning("too quiet")
    logged = capsys.readouterr().err
    assert logged.count("loud enough") == 2
    assert "too quiet" not in logged
