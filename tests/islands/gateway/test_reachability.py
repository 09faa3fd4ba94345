"""Our addresses to others, whatever the settings and the system say."""

import asyncio
import errno

import pytest

from tests.islands.gateway.wires import settings
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.reachability import NOWHERE, Reachability
from tinyssb_node.islands.locator.addresses import ContactAddress, Peer, node_of, peer_of, port_of

HERE, THERE = node_of("192.168.1.5"), ("198.51.100.1", 8_789)


class System:
    """Says what the system would."""

    def __init__(self, ours: bytes | None, names: dict[str, str] | None = None) -> None:
        self.ours = ours
        self.names = names or {}
        self.asked: list[str] = []

    def towards(self, _peer: Peer | None) -> bytes | None:
        return self.ours

    async def resolve(self, host: str, port: int) -> list[Peer]:
        self.asked.append(host)
        return [peer_of(address, port) for address in self.names.get(host, "").split()]


def way(system: System, listen: str = "0.0.0.0", **changes: object) -> Reachability:
    said = settings(**{"listen": (listen, 8_789), "peers": (THERE,), **changes})
    return Reachability(said, 7_777, ipv6=":" in listen, towards=system.towards, resolve=system.resolve)


async def looked_up(looked: Reachability, now_us: int) -> bool:
    """Look, let names be looked up, and look again."""
    looked.look(now_us)
    for _ in range(5):
        await asyncio.sleep(0)
    return looked.look(now_us)


def place(host: str, port: int = 7_777) -> ContactAddress:
    return ContactAddress(node_of(host), port_of(port), port_of(port))


@pytest.mark.parametrize(
    ("ours", "listen", "changes", "expected"),
    [
        ("203.0.113.5", "0.0.0.0", {}, place("203.0.113.5")),
        ("2001:db8::5", "::", {}, place("2001:db8::5")),
        ("192.168.1.5", "0.0.0.0", {}, NOWHERE),
        ("192.168.1.5", "0.0.0.0", {"peers": (("192.168.1.9", 1),)}, place("192.168.1.5")),
        ("192.168.1.5", "0.0.0.0", {"peers": ()}, place("192.168.1.5")),
        ("192.168.1.5", "192.168.1.5", {}, place("192.168.1.5")),
        ("127.0.0.1", "127.0.0.2", {"peers": (("127.0.0.3", 1),)}, place("127.0.0.2")),
        ("192.168.1.5", "0.0.0.0", {"public": ("203.0.113.9", 9_000)}, place("203.0.113.9", 9_000)),
    ],
)
async def test_the_address_towards_others_is_ours_if_they_can_use_it(
    ours: str, listen: str, changes: dict[str, object], expected: ContactAddress
) -> None:
    looked = way(System(node_of(ours)), listen, **changes)
    assert looked.look(0)
    assert (looked.me, looked.away) == (expected, False)
    assert not looked.look(1)


async def test_without_a_way_nothing_begins_and_with_one_again_all_does() -> None:
    system = System(None)
    looked = way(system)
    assert not looked.look(0)
    assert looked.away
    system.ours = node_of("203.0.113.5")
    assert looked.look(1)
    assert (looked.away, looked.me) == (False, place("203.0.113.5"))
    system.ours = None
    assert not looked.look(2)
    assert looked.away
    system.ours = node_of("203.0.113.6")
    assert looked.look(3)
    assert looked.me == place("203.0.113.6")


async def test_the_first_of_all_is_not_away() -> None:
    looked = way(System(None), "127.0.0.2", peers=())
    assert looked.look(0)
    assert not looked.away


async def test_names_are_looked_up_until_they_are_found() -> None:
    system = System(HERE, {"gate.example.org": "198.51.100.7"})
    peers = (("gate.example.org", 1), ("gone.example.org", 2), THERE)
    looked = way(system, public=("home.example.org", 9_000), peers=peers)
    assert looked.look(0)
    assert (looked.me, looked.first) == (NOWHERE, [peer_of(*THERE)])
    for _ in range(5):
        await asyncio.sleep(0)
    assert looked.look(1)
    assert looked.first == [peer_of("198.51.100.7", 1), peer_of(*THERE)]
    assert not looked.look(limits.RESOLVE_US - 1)
    system.names["home.example.org"] = "203.0.113.9"
    assert not looked.look(limits.RESOLVE_US)
    for _ in range(5):
        await asyncio.sleep(0)
    assert looked.look(limits.RESOLVE_US)
    assert looked.me == place("203.0.113.9", 9_000)
    await looked.close()


async def test_a_line_that_gets_another_address_is_told_so_by_its_name() -> None:
    system = System(HERE, {"home.example.org": "203.0.113.9"})
    looked = way(system, public=("home.example.org", 9_000))
    assert await looked_up(looked, 0)
    system.names["home.example.org"] = "203.0.113.10"
    assert not await looked_up(looked, limits.RESOLVE_AGAIN_US - 1)
    assert await looked_up(looked, limits.RESOLVE_AGAIN_US)
    assert looked.me == place("203.0.113.10", 9_000)
    del system.names["home.example.org"]
    assert not await looked_up(looked, 2 * limits.RESOLVE_AGAIN_US)
    assert looked.me == place("203.0.113.10", 9_000), "no answer is no news"


async def test_a_name_with_several_addresses_stays_with_one_whatever_their_order() -> None:
    system = System(HERE, {"gate.example.org": "198.51.100.7 198.51.100.8"})
    looked = way(system, peers=(("gate.example.org", 1),))
    assert await looked_up(looked, 0)
    system.names["gate.example.org"] = "198.51.100.8 198.51.100.7"
    assert not await looked_up(looked, limits.RESOLVE_AGAIN_US)
    assert looked.first == [peer_of("198.51.100.7", 1)]


@pytest.mark.parametrize(("listen", "found"), [("0.0.0.0", "198.51.100.7"), ("::", "2001:db8::7")])
async def test_only_addresses_are_taken_that_can_be_sent_to(listen: str, found: str) -> None:
    system = System(HERE, {"gate.example.org": "2001:db8::7 198.51.100.7"})
    looked = way(system, listen, peers=(("gate.example.org", 1),))
    assert await looked_up(looked, 0)
    assert looked.first == [peer_of(found, 1)]


async def test_addresses_are_not_looked_up() -> None:
    system = System(HERE)
    looked = way(system, public=("203.0.113.9", 1))
    for minute in range(20):
        await looked_up(looked, minute * 60_000_000)
    assert system.asked == []


async def test_a_pool_of_addresses_beside_a_name_that_is_never_found_is_not_asked_more_often() -> None:
    system = System(HERE, {"pool.example.org": "198.51.100.1"})
    looked = way(system, peers=(("pool.example.org", 1), ("gone.example.org", 1)))
    begun = 0
    for minute in range(60):
        system.names["pool.example.org"] = f"198.51.100.{minute + 2}"
        begun += await looked_up(looked, minute * 60_000_000)
    assert system.asked.count("gone.example.org") == 60
    assert system.asked.count("pool.example.org") == begun == 12


async def test_the_first_peer_that_there_is_a_way_to_tells_who_we_are() -> None:
    class OnlyIpv4(System):
        def towards(self, peer: Peer | None) -> bytes | None:
            return self.ours if peer is None or len(peer.node) == 4 else None

    looked = way(OnlyIpv4(node_of("203.0.113.5")), "::", peers=(("2001:db8::1", 1), THERE))
    assert looked.look(0)
    assert (looked.me, looked.away) == (place("203.0.113.5"), False)


async def test_who_is_not_asked_is_told_of() -> None:
    system = System(node_of("203.0.113.5"))
    peers = (("2001:db8::1", 1), ("203.0.113.5", 8), ("gone.example.org", 2), ("169.254.1.1", 3), THERE)
    looked = way(system, peers=peers)
    await looked_up(looked, 0)
    assert looked.first == [peer_of("203.0.113.5", 8), peer_of(*THERE)]
    assert {peer: why.split(":")[0] for peer, why in looked.passed_over.items()} == {
        "[2001:db8::1]:1": "its address is IPv6, but `gateway.listen` is IPv4",
        "169.254.1.1:3": "its address is link-local, multicast, or of another kind that no other network reaches",
        "203.0.113.5:8": "it has our own address",
        "gone.example.org:2": "its name cannot be resolved",
    }


async def test_without_a_socket_all_stays_as_it_was() -> None:
    class Exhausted(System):
        def towards(self, peer: Peer | None) -> bytes | None:
            if self.ours is None:
                raise OSError(errno.EMFILE, "Too many open files")
            return super().towards(peer)

    system = Exhausted(node_of("203.0.113.5"))
    looked = way(system)
    assert looked.look(0)
    system.ours = None
    assert not looked.look(1)
    assert (looked.me, looked.away) == (place("203.0.113.5"), False)
    system.ours = node_of("203.0.113.5")
    assert not looked.look(2)


async def test_ipv6_comes_first_where_there_is_a_route() -> None:
    system = System(node_of("2001:db8::5"), {"both.example.org": "198.51.100.8 2001:db8::8"})
    peers = (THERE, ("both.example.org", 1))
    looked = way(system, "::", peers=peers)
    assert await looked_up(looked, 0)
    assert [str(peer) for peer in looked.first] == ["[2001:db8::8]:1", "198.51.100.1:8789"]
    assert looked.me == place("2001:db8::5")
    over_ipv4 = way(system, peers=peers)
    assert await looked_up(over_ipv4, 0)
    assert [str(peer) for peer in over_ipv4.first] == ["198.51.100.1:8789", "198.51.100.8:1"]


async def test_without_a_route_by_ipv6_a_name_leads_to_ipv4() -> None:
    class OnlyIpv4(System):
        def towards(self, peer: Peer | None) -> bytes | None:
            return None if peer is not None and len(peer.node) != 4 else self.ours

    system = OnlyIpv4(node_of("203.0.113.5"), {"both.example.org": "2001:db8::8 198.51.100.8"})
    looked = way(system, "::", peers=(("both.example.org", 1),))
    assert await looked_up(looked, 0)
    assert [str(peer) for peer in looked.first] == ["198.51.100.8:1"]
    assert looked.me == place("203.0.113.5")


async def test_peers_of_a_signed_list_are_asked_too() -> None:
    system = System(node_of("203.0.113.5"))
    looked = Reachability(
        settings(listen=("0.0.0.0", 8_789), peers=(THERE,)),
        7_777,
        ipv6=False,
        listed=(THERE, ("198.51.100.9", 9)),
        towards=system.towards,
        resolve=system.resolve,
    )
    assert looked.look(0)
    assert [str(peer) for peer in looked.first] == ["198.51.100.1:8789", "198.51.100.9:9"]


class TwoFamilies(System):
    """Has these addresses towards IPv4 and IPv6; none: no route."""

    def __init__(self, four: str, six: str) -> None:
        super().__init__(None)
        self.by_family = {4: node_of(four) if four else None, 16: node_of(six) if six else None}

    def towards(self, peer: Peer | None) -> bytes | None:
        return self.by_family[4 if peer is None else len(peer.node)]


@pytest.mark.parametrize(
    ("four", "six", "listen", "me", "also", "families"),
    [
        ("203.0.113.5", "2001:db8::5", "::", "203.0.113.5", "2001:db8::5", {4, 16}),
        ("203.0.113.5", "", "::", "203.0.113.5", None, {4}),
        # Behind a router by IPv4 alone: found by IPv6.
        ("192.168.1.5", "2001:db8::5", "::", "2001:db8::5", None, {4, 16}),
        ("192.168.1.5", "fd00::5", "::", None, None, {4, 16}),
        ("203.0.113.5", "2001:db8::5", "0.0.0.0", "203.0.113.5", None, {4}),
    ],
)
async def test_both_families_are_looked_at(
    four: str, six: str, listen: str, me: str | None, also: str | None, families: set[int]
) -> None:
    looked = way(TwoFamilies(four, six), listen)
    assert looked.look(0)
    assert looked.me == (NOWHERE if me is None else place(me))
    assert looked.also == (None if also is None else place(also))
    assert looked.families == families
    assert not looked.look(1)


async def test_a_route_of_the_other_family_that_comes_later_is_told() -> None:
    system = TwoFamilies("203.0.113.5", "")
    looked = way(system, "::")
    assert looked.look(0)
    system.by_family[16] = node_of("2001:db8::5")
    assert looked.look(1)
    assert looked.also == place("2001:db8::5")


async def test_a_gateway_of_a_private_network_is_not_found_from_the_internet() -> None:
    looked = way(TwoFamilies("192.168.1.5", "2001:db8::5"), "::", peers=(("192.168.1.9", 1),))
    assert looked.look(0)
    assert (looked.me, looked.also) == (place("192.168.1.5"), None)


async def test_a_stated_address_is_the_only_one() -> None:
    looked = way(TwoFamilies("203.0.113.5", "2001:db8::5"), "::", public=("203.0.113.9", 9_000))
    assert looked.look(0)
    assert (looked.me, looked.also) == (place("203.0.113.9", 9_000), None)
