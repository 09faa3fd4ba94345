"""Conversations with radios at serial ports: bytes, time and packets to send, as they come."""

from collections.abc import Iterable
from contextlib import suppress

from firmware_bridge.serial.session import Failed, NotReadyError
from tests.firmware_bridge.serial.test_session import KINDS
from tests.firmware_bridge.serial.virtual import Bench
from tests.fuzz.script import Script

STEPS_MAX = 24


def run(data: bytes) -> None:
    script = Script(data)
    converse, make, frame = KINDS[script.pick(sorted(KINDS))]
    bench = Bench(converse(), make())
    if script.number(2):
        bench.plug_in()
    else:
        bench.device = None
        bench.perform(bench.session.start(bench.now_us))
    for _ in range(STEPS_MAX):
        if script.over:
            break
        what = script.number(4)
        if what == 0:
            bench.say(script.piece())
        elif what == 1:
            bench.say(frame(script.piece()))
        elif what == 2:
            bench.pass_time(1_000 * script.number(256) ** 2)
        else:
            with suppress(NotReadyError):
                bench.perform(bench.session.send(script.piece(), bench.now_us))
    assert len(bench.of(Failed)) <= 1


def seeds() -> Iterable[bytes]:
    for kind in range(4):
        for greeted in range(2):
            yield bytes(
                [kind, greeted, 1, 3, 6, 0xF8, 1, 3, 8, 1, 2, 3, 4, 5, 6, 7, 8, 2, 200, 0, 2, 0xC0, 0]
            )
