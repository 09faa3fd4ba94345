"""Answers of the gateway at its socket."""

import asyncio
from collections.abc import Mapping

import pytest

from tests.islands.gateway.wires import Wires, holding, place
from tests.nodes import feed_of
from tinyssb_node.control.protocol import RequestLine
from tinyssb_node.control.server import ControlConnection
from tinyssb_node.errors import BadRequestError, ProblemError
from tinyssb_node.ids import DEFAULT_NETWORK, FeedId, NetworkName
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.handler import GatewayHandler
from tinyssb_node.islands.gateway.network import GatewayNetwork
from tinyssb_node.islands.gateway.rows import GatewayRow, LocatedRow, LocationRow

ANA, BOB = feed_of(1), feed_of(2)
ROW: GatewayRow = GatewayRow(
    pid=7,
    uptime_us=1,
    listen="0.0.0.0:8789",
    address=None,
    away=False,
    networks=[],
    links=[],
    unsent=0,
    problems=[],
)


class Gateway:
    """The third of three gateways on a wire; the first holds ANA."""

    own = BOB

    def __init__(self) -> None:
        self.wires = Wires()
        for number in (1, 2, 3):
            self.wires.add(number, *(() if number == 3 else (3,)))
        self.wires.shelves[1].feeds = [holding(ANA, 7, ours=True)]
        self.wires.go_on(60)

    @property
    def islands(self) -> Mapping[NetworkName, GatewayNetwork]:
        return {DEFAULT_NETWORK: self.wires.islands[place(3).peer]}

    def now_us(self) -> int:
        return self.wires.now_us

    def row(self) -> GatewayRow:
        return ROW


class Asking:
    """A client, and what it was sent."""

    def __init__(self, gateway: Gateway) -> None:
        self.handler = GatewayHandler(gateway)
        self.items: list[object] = []
        self.gone = asyncio.Event()

    async def send(self, item: object) -> None:
        self.items.append(item)

    async def ask(self, command: str, **arguments: object) -> object:
        return await self.handler.answer(
            RequestLine(1, command, arguments), ControlConnection(self.send, self.gone)
        )


@pytest.fixture
def gateway() -> Gateway:
    return Gateway()


@pytest.fixture
def asking(gateway: Gateway) -> Asking:
    return Asking(gateway)


async def test_how_it_is(asking: Asking) -> None:
    assert await asking.ask("status") == ROW
    with pytest.raises(BadRequestError):
        await asking.ask("status", more=1)
    with pytest.raises(ProblemError, match="dance") as caught:
        await asking.ask("dance")
    assert caught.value.code == "unknown_command"


async def test_places_are_told_as_they_come_in(gateway: Gateway, asking: Asking) -> None:
    task = asyncio.create_task(asking.ask("locate", feed=ANA.hex()))
    for _ in range(5):
        await asyncio.sleep(0)
        gateway.wires.go_on(2)
    for _ in range(5):
        await asyncio.sleep(0)
    (item,) = asking.items
    assert isinstance(item, LocationRow)
    assert 0 <= item.elapsed_us <= 10_000_000
    assert item == LocationRow(
        feed=ANA.hex(),
        address="192.0.2.1:8789",
        connection="192.0.2.1:8789",
        entries=7,
        whole=255,
        old=False,
        elapsed_us=item.elapsed_us,
    )
    asking.gone.set()
    result = await task
    assert isinstance(result, LocatedRow)
    assert (result.feed, result.count, result.denials) == (ANA.hex(), 1, 0)
    assert result.reports >= 1


async def test_it_ends_with_the_lookup(gateway: Gateway, asking: Asking) -> None:
    task = asyncio.create_task(asking.ask("locate", feed="me"))
    await asyncio.sleep(0)
    gateway.wires.go_on(600)
    result = await task
    assert isinstance(result, LocatedRow)
    assert (result.feed, result.count) == (BOB.hex(), 0)
    assert result.denials == result.reports > 0
    counts = gateway.islands[DEFAULT_NETWORK].counts()
    assert counts is not None
    assert counts.seeks == 0


async def test_it_ends_in_time(monkeypatch: pytest.MonkeyPatch, asking: Asking) -> None:
    monkeypatch.setattr(limits, "LOCATE_MAX_S", 0)
    assert await asking.ask("locate", feed="me", seconds=99) == LocatedRow(
        feed=BOB.hex(),
        count=0,
        reports=0,
        denials=0,
        peers=2,
    )


async def test_what_it_tells_itself_is_no_answer(gateway: Gateway) -> None:
    gateway.wires = Wires()
    gateway.wires.add(3)
    gateway.wires.go_on(60)
    asking = Asking(gateway)
    task = asyncio.create_task(asking.ask("locate", feed="me"))
    await asyncio.sleep(0)
    gateway.wires.go_on(600)
    assert await task == LocatedRow(feed=BOB.hex(), count=0, reports=0, denials=0, peers=0)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"feed": ""}, "unknown_feed"),
        ({"feed": "12"}, "unknown_feed"),
        ({"feed": "zz" * 32}, "unknown_feed"),
        ({"feed": "same"}, "unknown_feed"),
        ({"feed": "me", "network": "village"}, "unknown_network"),
        ({"feed": "me", "seconds": 0}, "bad_request"),
        ({}, "bad_request"),
    ],
)
async def test_what_cannot_be_located_is_told(
    asking: Asking, arguments: dict[str, object], code: str
) -> None:
    with pytest.raises(ProblemError) as caught:
        await asking.ask("locate", **arguments)
    assert caught.value.code == code


async def test_a_beginning_is_enough_if_only_one_feed_has_it(gateway: Gateway, asking: Asking) -> None:
    asking.gone.set()
    feeds = [FeedId(bytes((9, number)) * 16) for number in (1, 2)]
    gateway.wires.shelves[3].feeds = [holding(feed, 1) for feed in feeds]
    gateway.wires.go_on(2)
    with pytest.raises(ProblemError, match="2 feeds") as caught:
        await asking.ask("locate", feed="09")
    assert caught.value.code == "ambiguous_feed"
    found = await asking.ask("locate", feed="0902")
    assert isinstance(found, LocatedRow)
    assert found.feed == feeds[1].hex()
