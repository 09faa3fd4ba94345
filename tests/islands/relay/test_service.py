"""A relay: who is registered, who is joined with whom, and what it costs at most."""

from collections import defaultdict
from itertools import count

import pytest

from tinyssb_node.islands.relay import limits
from tinyssb_node.islands.relay.messages import (
    RelayAccept,
    RelayCall,
    RelayCalled,
    RelayEnd,
    RelayJoined,
    RelayRegister,
    RelayRegistered,
    RelayRequest,
    handle_of,
    parse_relay_reply,
    serialize_relay,
)
from tinyssb_node.islands.relay.service import RelayEffect, RelayQuota, RelayService, SendRelayed

GROUP = b"village!"
ANA, BOB = b"a" * limits.SECRET_SIZE, b"b" * limits.SECRET_SIZE
MIB = 2**20


class Relay:
    """A relay with its connections."""

    def __init__(self, quota: int = 16 * MIB) -> None:
        tickets = count(1)
        self.service = RelayService([GROUP], lambda size: next(tickets).to_bytes(size, "big"), quota, 0)
        self.now_us = 0
        self.got: dict[int, list[bytes]] = defaultdict(list)
        self.ended: dict[int, RelayEnd] = {}
        self._numbers = count(1)

    def opens(self, address: str = "192.0.2.1") -> int:
        number = next(self._numbers)
        self.service.opened(number, address, self.now_us)
        return number

    def sends(self, connection: int, message: RelayRequest | bytes) -> None:
        data = message if isinstance(message, bytes) else serialize_relay(message)
        self.take(self.service.receive(connection, data, self.now_us))

    def take(self, effects: list[RelayEffect]) -> None:
        for effect in effects:
            if isinstance(effect, SendRelayed):
                assert effect.to not in self.ended
                self.got[effect.to].append(effect.data)
            else:
                assert effect.connection not in self.ended
                self.ended[effect.connection] = effect.reason
                self.take(self.service.closed(effect.connection))

    def registers(self, secret: bytes = ANA, address: str = "192.0.2.2") -> int:
        connection = self.opens(address)
        self.sends(connection, RelayRegister(GROUP, secret))
        return connection

    def calls(self, secret: bytes = ANA, address: str = "192.0.2.3") -> int:
        connection = self.opens(address)
        self.sends(connection, RelayCall(GROUP, handle_of(secret)))
        return connection

    def accepts(self, registered: int, address: str = "192.0.2.2") -> int:
        called = parse_relay_reply(self.got[registered][-1])
        assert isinstance(called, RelayCalled)
        connection = self.opens(address)
        self.sends(connection, RelayAccept(called.ticket))
        return connection

    def joins(self, secret: bytes = ANA, address: str = "192.0.2.3") -> tuple[int, int]:
        registered = self.registers(secret)
        caller = self.calls(secret, address)
        return caller, self.accepts(registered)


def test_two_are_joined_and_hear_each_other() -> None:
    relay = Relay()
    registered = relay.registers()
    assert parse_relay_reply(relay.got[registered][0]) == RelayRegistered(handle_of(ANA))
    caller = relay.calls()
    assert relay.got[caller] == []
    called = relay.accepts(registered)
    assert [parse_relay_reply(relay.got[each][0]) for each in (caller, called)] == [RelayJoined()] * 2
    relay.sends(caller, b"\x01 is not read any more")
    relay.sends(called, b"")
    assert relay.got[called][1:] == [b"\x01 is not read any more"]
    assert relay.got[caller][1:] == [b""]
    relay.take(relay.service.closed(caller))
    assert relay.ended == {called: RelayEnd.GONE}
    assert (relay.service.registered, relay.service.pairs) == (1, 0)


def test_nobody_is_called_who_did_not_register_in_that_network() -> None:
    relay = Relay()
    registered = relay.registers()
    stranger = relay.opens()
    relay.sends(stranger, RelayCall(b"another!", handle_of(ANA)))
    assert relay.ended == {stranger: RelayEnd.UNKNOWN}
    foreign = relay.opens()
    relay.sends(foreign, RelayRegister(b"another!", ANA))
    assert relay.ended[foreign] is RelayEnd.UNKNOWN
    assert relay.ended[relay.calls(BOB)] is RelayEnd.UNKNOWN
    relay.take(relay.service.closed(registered))
    assert relay.ended[relay.calls()] is RelayEnd.UNKNOWN
    assert len(relay.got[registered]) == 1


def test_who_registers_again_takes_the_place_of_the_connection_before() -> None:
    relay = Relay()
    before = relay.registers()
    again = relay.registers()
    assert relay.ended == {before: RelayEnd.REPLACED}
    assert relay.service.registered == 1
    caller = relay.calls()
    relay.accepts(again)
    assert parse_relay_reply(relay.got[caller][0]) == RelayJoined()


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x02short", b"\x11" + bytes(8), b"GET / HTTP/1.1"])
def test_what_is_no_request_ends_the_connection(data: bytes) -> None:
    relay = Relay()
    connection = relay.opens()
    relay.sends(connection, data)
    assert relay.ended == {connection: RelayEnd.MALFORMED}


def test_a_registered_node_says_nothing_more_and_a_caller_waits() -> None:
    relay = Relay()
    registered = relay.registers()
    caller = relay.calls()
    relay.sends(caller, b"too early")
    assert relay.ended == {caller: RelayEnd.MALFORMED}
    relay.sends(registered, RelayRegister(GROUP, BOB))
    assert relay.ended[registered] is RelayEnd.MALFORMED
    assert relay.ended[relay.calls()] is RelayEnd.UNKNOWN


def test_a_ticket_is_good_once_and_for_a_while() -> None:
    relay = Relay()
    registered = relay.registers()
    caller = relay.calls()
    called = relay.accepts(registered)
    assert relay.ended[relay.accepts(registered)] is RelayEnd.UNKNOWN
    late = relay.calls()
    relay.now_us += limits.CALL_WAIT_US
    relay.take(relay.service.look(relay.now_us))
    assert relay.ended[late] is RelayEnd.TIMEOUT
    assert relay.ended[relay.accepts(registered)] is RelayEnd.UNKNOWN
    assert not {caller, called} & relay.ended.keys()


def test_who_connects_and_says_nothing_is_let_go() -> None:
    relay = Relay()
    silent = relay.opens()
    relay.registers()
    relay.now_us += limits.CALL_WAIT_US
    relay.take(relay.service.look(relay.now_us))
    assert relay.ended == {silent: RelayEnd.TIMEOUT}


def test_the_quota_is_shared_by_all_and_comes_back_each_hour() -> None:
    relay = Relay(quota=4_000)
    caller, called = relay.joins()
    relay.sends(caller, bytes(600))
    relay.sends(called, bytes(400))
    relay.sends(caller, b"x")
    assert relay.ended == {caller: RelayEnd.QUOTA, called: RelayEnd.QUOTA}
    assert relay.service.quota.used == 1_000, "a quarter of it for one address"
    again = relay.calls()
    assert relay.ended[again] is RelayEnd.QUOTA
    assert (relay.service.refused, relay.service.refused_bytes) == (2, 2)
    assert relay.service.refused_us == relay.now_us
    relay.now_us += limits.HOUR_US
    caller, called = relay.joins()
    relay.sends(caller, bytes(1_000))
    assert relay.got[called][-1] == bytes(1_000)


def test_all_addresses_together_get_no_more_than_the_quota() -> None:
    quota = RelayQuota(4_000, 0)
    for number in range(4):
        assert quota.spend([f"192.0.2.{number}"], 1_000, 0)
    assert not quota.spend(["192.0.2.9"], 1, 0)
    assert quota.used == 4_000
    assert quota.left("192.0.2.9", limits.HOUR_US) == 1_000


def test_no_address_takes_all_places() -> None:
    relay = Relay()
    registered = [relay.registers(bytes([number]) * limits.SECRET_SIZE) for number in range(9)]
    assert relay.ended == {registered[8]: RelayEnd.FULL}
    calls = [relay.calls(bytes([number]) * limits.SECRET_SIZE) for number in range(5)]
    assert relay.ended[calls[4]] is RelayEnd.FULL, "one caller"
    ours = [relay.calls(bytes(limits.SECRET_SIZE), f"192.0.2.{10 + number}") for number in range(4)]
    assert relay.ended[ours[3]] is RelayEnd.FULL, "one called node"


def test_a_full_relay_ends_the_pair_that_was_silent_for_longest() -> None:
    relay = Relay()
    pairs = []
    for number in range(limits.PAIRS_MAX):
        secret, address = bytes([number]) * limits.SECRET_SIZE, f"192.0.3.{number}"
        registered = relay.registers(secret, address)
        caller = relay.calls(secret, address)
        pairs.append((caller, relay.accepts(registered, address)))
        relay.now_us += 1_000_000
    assert relay.ended[relay.calls(bytes(limits.SECRET_SIZE), "192.0.2.3")] is RelayEnd.FULL
    relay.now_us += limits.IDLE_US
    relay.sends(pairs[0][0], b"still here")
    late = relay.calls(bytes(limits.SECRET_SIZE), "192.0.2.3")
    assert late not in relay.ended
    assert relay.ended.keys() >= set(pairs[1])
    assert not relay.ended.keys() & set(pairs[0])
    assert relay.service.pairs == limits.PAIRS_MAX
