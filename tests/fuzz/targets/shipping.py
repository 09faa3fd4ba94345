"""Messages to a collector of event logs and to a shipper: noise among the words of the other side."""

import json
from collections.abc import Iterator
from pathlib import Path

from spark_sink.collect.collector import Collector
from spark_sink.collect.messages import SegmentId as LandedId
from tests.fuzz.script import BYTES_MAX, Script
from tests.shipping.memory_landing import MemoryLanding
from tests.spark_sink.shipped import FIRST, UP, ask, batch
from tinyssb_node.shipping.shipment import LogShipment, ShippingState
from tinyssb_node.shipping.wire import SegmentId

_VECTORS = Path(__file__).parents[2] / "vectors/log-shipping/messages_v1.json"
_FROZEN = json.loads(_VECTORS.read_text("utf-8"))
_CONTENT = bytes(range(256)) * 8
_STEPS_MAX = 60


def run(data: bytes) -> None:
    """A story: noise for both, true batches and questions, and time."""
    script = Script(data)
    landing = MemoryLanding()
    collector = Collector(landing, life=1)
    shipping = LogShipment(ShippingState(), run=1, every_us=1)
    shipping.look({SegmentId(*FIRST): len(_CONTENT), SegmentId(8, 0): 10})
    shipping.connected()
    now_us = 0
    for _ in range(_STEPS_MAX):
        if script.over:
            break
        what, message = script.number(4), b""
        if what == 0:
            message = script.piece()
            shipping.heard(message, now_us)
        elif what == 1:
            message = batch(_CONTENT, script.number(256) * 8, 1 + script.number(256))
        elif what == 2:
            message = ask(LandedId(script.number(10), 0), run=shipping.run)
        else:
            now_us += script.number(256) * 10_000_000
        if (answer := collector.receive(UP, message)) is not None:
            shipping.heard(answer.message, now_us)
        if shipping.ask(now_us) is None and (piece := shipping.next(now_us)) is not None:
            assert piece.end <= len(_CONTENT)
            shipping.handed(piece, shipping.run, piece.size, now_us)
        assert 0 <= shipping.lacking_bytes() <= len(_CONTENT) + 10
    assert sum(map(len, landing.files.values())) == collector.counts["bytes"]


def seeds() -> Iterator[bytes]:
    """Frozen messages, and stories of them."""
    frozen = [
        bytes.fromhex(record["message"]) for name in ("batches", "asks", "haves") for record in _FROZEN[name]
    ]
    noise = [bytes.fromhex(message) for name in ("bad_up", "bad_down") for _, message in _FROZEN[name]]
    for message in [*frozen, *noise]:
        if 0 < len(message) <= BYTES_MAX:
            yield bytes([0, len(message) - 1]) + message
    yield bytes([1, 0, 255]) * 3 + bytes([2, 7, 3, 200, 1, 31, 255, 1, 10, 80, 3, 255])
