"""PZP: JSON, messages by all rules, files of pzp-db, their form on the air, goals, packets of its sync."""

from collections.abc import Iterable
from contextlib import suppress
from io import BytesIO

from tests.fuzz.seeds import as_json, in_vectors
from tests.pzp.messages.checked import check
from tinyssb_node.pzp.database.pzpdb_log import BLOCK_SIZE, is_log, parse_records
from tinyssb_node.pzp.messages.airform import parse_air, serialize_air
from tinyssb_node.pzp.messages.errors import MessageError
from tinyssb_node.pzp.messages.goals import parse_goal
from tinyssb_node.pzp.messages.jsontext import canonical, read
from tinyssb_node.pzp.messages.tangle import PzpTangle
from tinyssb_node.pzp.messages.versions import VERSIONS, version_of
from tinyssb_node.pzp.sync.packets import SyncPacketError, parse_packet, serialize_packet

ROOT = "XKKmEBmqKGa5twQ2HNSk7t"


def run(data: bytes) -> None:
    with suppress(SyncPacketError):
        packet = parse_packet(data)
        assert parse_packet(serialize_packet(packet)) == packet
    with suppress(ValueError):
        parse_goal(data.decode("utf-8", "replace"))
    with suppress(MessageError):
        message = parse_air(data)
        assert message is None or serialize_air(message) == data
    log = BytesIO(data)
    assert is_log(log) in (False, True)
    assert all(record is None or len(record) < BLOCK_SIZE for record in parse_records(log))
    with suppress(MessageError):
        value = read(data)
        with suppress(MessageError):
            assert canonical(read(canonical(value))) == canonical(value)
        with suppress(MessageError):
            version_of(value)
        for version in VERSIONS.values():
            for strict in (False, True):
                with suppress(MessageError):
                    check(version, value, PzpTangle(ROOT), strict=strict)


def seeds() -> Iterable[bytes]:
    return [
        *in_vectors("pzpsync/packets_v1.json", "content/pzp_air_v1.json"),
        *as_json("pzp/v1-feed-linear.json", "pzp/v2-feed-linear.json", "pzp/v4-feed-linear.json"),
        b"newest-100",
    ]
