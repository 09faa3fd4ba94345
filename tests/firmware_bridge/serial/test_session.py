"""A session on a cable: whatever comes, and whenever, it answers with actions and raises nothing."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from firmware_bridge.lora import LoraSettings
from firmware_bridge.serial.framing import serialize_frame
from firmware_bridge.serial.kiss import KissSession
from firmware_bridge.serial.meshcore import FROM_COMPANION, MeshcoreSession
from firmware_bridge.serial.meshcore import serialize_frame as companion_frame
from firmware_bridge.serial.meshtastic import MeshtasticSession
from firmware_bridge.serial.meshtastic import serialize_frame as mesh_frame
from firmware_bridge.serial.rnode import RnodeSession
from firmware_bridge.serial.session import AnySession, Failed, NotReadyError, Ready
from tests.emulated.kiss import KissModem
from tests.emulated.meshcore import MeshcoreCompanion
from tests.emulated.meshtastic import MeshtasticDevice
from tests.emulated.rnode import Rnode
from tests.emulated.serial_air import Air, Device
from tests.firmware_bridge.serial.virtual import Bench

Kind = tuple[Callable[[], AnySession], Callable[[], Device], Callable[[bytes], bytes]]
KINDS: dict[str, Kind] = {
    "kiss": (lambda: KissSession(LoraSettings(), 14), lambda: KissModem(Air()), serialize_frame),
    "rnode": (lambda: RnodeSession(LoraSettings(), 14), lambda: Rnode(Air()), serialize_frame),
    "meshtastic": (
        lambda: MeshtasticSession("tinySSB", lambda: 0.5),
        lambda: MeshtasticDevice(Air(), 7),
        mesh_frame,
    ),
    "meshcore": (
        lambda: MeshcoreSession("tinySSB"),
        lambda: MeshcoreCompanion(Air()),
        lambda frame: companion_frame(FROM_COMPANION, frame),
    ),
}
bodies = st.binary(min_size=1, max_size=80) | st.tuples(st.integers(0, 255), st.integers(0, 255)).map(bytes)
steps = st.lists(st.tuples(st.sampled_from(("raw", "frame", "time", "send")), bodies), max_size=12)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("greeted", [False, True])
@settings(max_examples=60)
@given(script=steps)
def test_any_bytes_at_any_time_are_survived(
    kind: str, greeted: bool, script: list[tuple[str, bytes]]
) -> None:
    converse, make, frame = KINDS[kind]
    bench = Bench(converse(), make())
    if greeted:
        bench.plug_in()
        assert bench.of(Ready)
    else:
        bench.device = None
        bench.perform(bench.session.start(bench.now_us))
    for what, body in script:
        if what == "raw":
            bench.say(body)
        elif what == "frame":
            bench.say(frame(body))
        elif what == "time":
            bench.pass_time(1_000 * body[0] ** 2)
        else:
            try:
                bench.perform(bench.session.send(body, bench.now_us))
            except NotReadyError:
                continue
    assert len(bench.of(Failed)) <= 1


@pytest.mark.parametrize("kind", KINDS)
def test_a_session_that_failed_stays_so(kind: str) -> None:
    converse, make, _ = KINDS[kind]
    bench = Bench(converse(), None)
    bench.plug_in()
    assert len(bench.of(Failed)) == 1
    bench.device = make()
    bench.pass_time(100_000_000)
    bench.say(bytes(100))
    assert len(bench.told) == 1
    assert bench.session.next_wake_us is None
    with pytest.raises(NotReadyError):
        bench.session.send(b"packet", bench.now_us)
