import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tinyssb_node.codec.dmx import Network
from tinyssb_node.errors import PeerError
from tinyssb_node.ids import FeedId
from tinyssb_node.islands.locator import limits
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, node_of, port_of
from tinyssb_node.islands.locator.packets import (
    LocatorPacketError,
    LocatorPing,
    LocatorPong,
    LocatorPost,
    LocatorQuery,
    LocatorReport,
    Message,
    MessageType,
    RoutingHint,
    parse,
    parse_usf,
    serialize,
    serialize_usf,
    type_of,
)
from tinyssb_node.islands.locator.values import (
    Advert,
    Label,
    Location,
    NodeParameters,
    ResourceParameters,
    group_of_network,
    label_of_address,
    label_of_feed,
)

VECTORS = Path(__file__).parents[2] / "vectors" / "locator"
FROZEN = json.loads((VECTORS / "messages_v1.json").read_text("utf-8"))
GROUP = group_of_network(Network(b"test"))
A = ContactAddress(node_of("192.0.2.1"), port_of(4242), port_of(8008))
B = ContactAddress(node_of("2001:db8::2"), port_of(4243), port_of(8009))
NAMELESS = Peer(b"", A.message)
COOKIE, FRESH = bytes(range(12)), bytes(range(16, 28))
LABEL = label_of_feed(FeedId(bytes(range(32))))
NODE = NodeParameters(3_600, 10_000_000, 2**30)


def location(
    place: ContactAddress, timestamp: int, completeness: int = 255, *, old: bool = False
) -> Location:
    return Location(place, ResourceParameters(timestamp, completeness, old))


EXAMPLES: dict[str, Message] = {
    "ping": LocatorPing(A.peer, COOKIE),
    "ping of a node that cannot be reached": LocatorPing(NAMELESS, COOKIE),
    "pong with one cookie": LocatorPong(None, COOKIE, A, (), NODE),
    "pong with two cookies": LocatorPong(FRESH, COOKIE, A, (B.peer,), NODE),
    "report, direct, without cookie": LocatorReport(None, None, LABEL, (location(B, 18),)),
    "report, indirect, without cookie": LocatorReport(A.peer, None, LABEL, (location(B, 18),)),
    "report, direct, with cookie, nothing found": LocatorReport(None, COOKIE, LABEL, ()),
    "report, indirect, with cookie, two locations, one old": LocatorReport(
        A.peer, COOKIE, LABEL, (location(B, 18, 200), location(A, 17, old=True))
    ),
    "report, by the node that has the label": LocatorReport(
        None, COOKIE, LABEL, (location(A, 2**39 - 1, 0),), True
    ),
    "post of two": LocatorPost(
        (Advert(LABEL, location(A, 17)), Advert(label_of_address(A.node), location(B, 0, 128)))
    ),
    "query": LocatorQuery(A.peer, LABEL, COOKIE),
    "query, as few hops as can be": LocatorQuery(A.peer, LABEL, COOKIE, RoutingHint.HOPS),
    "query of a node that cannot be reached": LocatorQuery(NAMELESS, LABEL, COOKIE),
}

short = st.binary(max_size=20) | st.binary(min_size=4, max_size=4)
cookies = st.binary(max_size=255)
labels = st.binary(min_size=20, max_size=20).map(Label)
peers = st.builds(Peer, short, short)
places = st.builds(ContactAddress, short, short, short)
parameters = st.builds(
    ResourceParameters, st.integers(0, limits.TIMESTAMP_MAX), st.integers(0, 255), st.booleans()
)
locations = st.builds(Location, places, parameters)
numbers = st.binary(min_size=2, max_size=2).map(parse_usf)
messages: st.SearchStrategy[Message] = st.one_of(
    st.builds(LocatorPing, peers, cookies),
    st.builds(
        LocatorPong, st.none() | cookies, cookies, places, st.lists(peers, max_size=8).map(tuple),
        st.builds(NodeParameters, numbers, numbers, numbers),
    ),
    st.builds(
        LocatorReport, st.none() | peers, st.none() | cookies, labels, st.lists(locations, max_size=8).map(tuple),
        st.booleans(),
    ),
    st.builds(LocatorPost, st.lists(st.builds(Advert, labels, locations), max_size=8).map(tuple)),
    st.builds(LocatorQuery, peers, labels, cookies, st.sampled_from(RoutingHint)),
)  # fmt: skip
groups = st.binary(max_size=255)


def test_frozen_bytes() -> None:
    assert FROZEN["group"] == GROUP.hex()
    assert [record["name"] for record in FROZEN["messages"]] == list(EXAMPLES)
    for record in FROZEN["messages"]:
        message = EXAMPLES[record["name"]]
        assert serialize(message, GROUP).hex() == record["bytes"]
        assert parse(bytes.fromhex(record["bytes"]), GROUP) == _as_read(message)


def _as_read(message: Message) -> Message:
    """Return *message* as it is read: short floats lose what they have beyond nine bits."""
    if not isinstance(message, LocatorPong):
        return message
    said = message.parameters
    rounded = NodeParameters(
        *(parse_usf(serialize_usf(one)) for one in (said.uptime_s, said.bandwidth_bps, said.free_bytes))
    )
    return LocatorPong(message.fresh, message.copied, message.sender, message.others, rounded)


def test_the_examples_of_the_page_are_frozen_ones_of_every_type() -> None:
    page = (Path(__file__).parents[3] / "docs/formats/locator.md").read_text("utf-8")
    blocks = page.partition("## Examples")[2].partition("## Cookies")[0].split("```")[1::2]
    shown = [
        "".join(line.partition("#")[0] for line in block.splitlines()).replace(" ", "") for block in blocks
    ]
    assert [digits for digits in shown if digits not in {one["bytes"] for one in FROZEN["messages"]}] == []
    assert {bytes.fromhex(digits)[-10] for digits in shown} == {*MessageType}


@settings(deadline=None)
@given(messages, groups)
def test_what_is_written_is_read(message: Message, group: bytes) -> None:
    datagram = serialize(message, group)
    if len(datagram) <= limits.DATAGRAM_MAX:
        assert parse(datagram, group) == message
    else:
        with pytest.raises(LocatorPacketError) as caught:
            parse(datagram, group)
        assert caught.value.reason == "DatagramSize"


@settings(deadline=None)
@given(messages, st.binary(max_size=9))
def test_further_options_are_ignored(message: Message, more: bytes) -> None:
    datagram = serialize(message, GROUP)
    body, tail = datagram[:-10], datagram[-10:]
    optional = isinstance(message, LocatorReport | LocatorQuery) and not getattr(message, "exact", True)
    if isinstance(message, LocatorQuery):
        optional = message.hint is RoutingHint.TIME
    if optional:
        more = b"\x3f" + more  # Reserved bits of the first byte are ignored, too.
    if len(body + more + tail) <= limits.DATAGRAM_MAX:
        assert parse(body + more + tail, GROUP) == message


@settings(deadline=None)
@given(messages, st.data())
def test_what_is_cut_off_is_refused(message: Message, data: st.DataObject) -> None:
    body, tail = serialize(message, GROUP)[:-10], serialize(message, GROUP)[-10:]
    if (
        isinstance(message, LocatorReport | LocatorQuery)
        and len(body)
        and parse(body + tail, GROUP) == message
    ):
        # What stands behind the body may be cut off: an option, padding.
        if isinstance(message, LocatorReport):
            body = body[:-1] if message.exact else body
        else:
            asker = message.requestor
            body = body[: 3 + len(asker.node + asker.message + message.label + message.cookie)]
    if len(body) <= limits.DATAGRAM_MAX - 10:
        cut = body[: data.draw(st.integers(0, len(body) - 1))]
        with pytest.raises(LocatorPacketError) as caught:
            parse(cut + tail, GROUP)
        assert caught.value.reason in {"Truncated", "Destination"}


@settings(deadline=None)
@given(st.binary(max_size=1_300), st.integers(0, 255))
def test_any_bytes_have_an_outcome(data: bytes, type_: int) -> None:
    for datagram in (data, data + GROUP + b"\x08", data + bytes((type_,)) + GROUP + b"\x08"):
        with suppress(PeerError):
            message = parse(datagram, GROUP)
            assert parse(serialize(message, GROUP), GROUP) == message


PING = serialize(EXAMPLES["ping"], GROUP)
REPORT = serialize(EXAMPLES["report, direct, with cookie, nothing found"], GROUP)


@pytest.mark.parametrize(
    ("datagram", "reason"),
    [
        (b"", "Truncated"),
        (b"\x08", "Truncated"),
        (GROUP + b"\x09", "Truncated"),
        (GROUP + b"\x08", "Truncated"),
        (b"\x01" + GROUP + b"\x08", "Truncated"),
        (PING[:-1] + b"\x07", "ForeignGroup"),
        (PING[:-2] + b"\0\x08", "ForeignGroup"),
        (PING[1:-9] + bytes(8) + b"\x08", "ForeignGroup"),
        (PING[:-10] + b"\x00" + PING[-9:], "MessageType"),
        (PING[:-10] + b"\x08" + PING[-9:], "MessageType"),
        (b"\x02" + REPORT[1:], "Destination"),
        (b"\x01\x04abcd\x02ab\x01" + REPORT[1:], "Destination"),
        (bytes(1_201 - len(PING)) + PING, "DatagramSize"),
    ],
)
def test_each_broken_rule_has_its_reason(datagram: bytes, reason: str) -> None:
    with pytest.raises(LocatorPacketError) as caught:
        parse(datagram, GROUP)
    assert caught.value.reason == reason


def test_every_type_has_its_number() -> None:
    found = {type_of(message): serialize(message, GROUP)[-10] for message in EXAMPLES.values()}
    assert found == {one: one.value for one in MessageType}


def test_what_no_message_can_say_is_refused() -> None:
    with pytest.raises(ValueError, match="range"):
        serialize(LocatorPing(A.peer, bytes(256)), GROUP)
    with pytest.raises(ValueError, match="range"):
        serialize(LocatorPost((Advert(LABEL, location(A, 1)),) * 256), GROUP)
