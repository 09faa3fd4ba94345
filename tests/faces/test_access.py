"""Access to a listener: its conditions, and the share of each address."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyssb_node.faces import limits
from tinyssb_node.faces.access import EVERYBODY, ListenerPolicy, Quotas, is_local

FILE = Path("/f")


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.4.1", "hut.local", "localhost.example"])
def test_others_are_warned_of_unless_they_are_meant_or_asked(host: str) -> None:
    assert not is_local(host)
    assert EVERYBODY.warning(host) is not None
    assert ListenerPolicy(rate=100, each=3).warning(host) is not None
    assert ListenerPolicy(certificate=FILE, key=FILE).warning(host) is not None
    assert ListenerPolicy(open=True).warning(host) is None
    assert ListenerPolicy(certificate=FILE, key=FILE, token=FILE).warning(host) is None
    assert ListenerPolicy(certificate=FILE, key=FILE, clients=FILE).warning(host) is None


@pytest.mark.parametrize("host", ["127.0.0.1", "127.8.9.10", "::1", "localhost"])
def test_this_machine_needs_no_warning(host: str) -> None:
    assert is_local(host)
    assert EVERYBODY.warning(host) is None


def test_an_address_has_only_so_many_connections() -> None:
    quotas = Quotas(ListenerPolicy(each=2))
    assert quotas.enter("10.0.0.1")
    assert quotas.enter("::ffff:10.0.0.1")
    assert not quotas.enter("10.0.0.1")
    assert quotas.enter("10.0.0.2")
    quotas.leave("10.0.0.1")
    assert quotas.enter("10.0.0.1")
    # One person has billions of IPv6 addresses.
    assert quotas.enter("2001:db8::1")
    assert quotas.enter("2001:db8::2%eth0")
    assert not quotas.enter("2001:db8::3")
    assert quotas.enter("2001:db8:0:1::1")
    assert quotas.enter("no address")


def test_without_a_limit_nobody_waits() -> None:
    quotas = Quotas(EVERYBODY)
    assert all(quotas.enter("10.0.0.1") for _ in range(1_000))
    assert quotas.wait_s("10.0.0.1", 10**9, 0.0) == 0.0


def test_a_burst_is_free_and_long_messages_count_as_several() -> None:
    quotas = Quotas(ListenerPolicy(rate=10))
    burst = int(10 * limits.QUOTA_BURST_S)
    assert all(quotas.wait_s("10.0.0.1", 120, 0.0) == 0.0 for _ in range(burst))
    assert quotas.wait_s("10.0.0.1", 1, 0.0) == pytest.approx(0.1)
    assert quotas.wait_s("10.0.0.1", 1_200, 0.0) == pytest.approx(1.1)
    assert quotas.wait_s("10.0.0.2", 1_200, 0.0) == 0.0
    assert quotas.wait_s("10.0.0.1", 120, 100.0) == 0.0


@given(
    st.lists(
        st.tuples(st.sampled_from(["10.0.0.1", "10.0.0.2"]), st.integers(0, 4_096), st.floats(0, 2)),
        max_size=200,
    )
)
def test_who_waits_as_told_never_brings_more_than_rate_and_burst(
    messages: list[tuple[str, int, float]],
) -> None:
    rate = 10
    quotas, now_s = Quotas(ListenerPolicy(rate=rate)), dict.fromkeys(["10.0.0.1", "10.0.0.2"], 0.0)
    brought = dict.fromkeys(now_s, 0.0)
    for address, size, later_s in messages:
        now_s[address] += later_s
        brought[address] += max(1.0, size / limits.QUOTA_PACKET_SIZE)
        now_s[address] += quotas.wait_s(address, size, now_s[address])
        assert brought[address] <= rate * (now_s[address] + limits.QUOTA_BURST_S) + 1e-6


def test_only_so_many_addresses_are_kept_in_mind() -> None:
    quotas = Quotas(ListenerPolicy(rate=10))
    addresses = [f"10.0.{number // 256}.{number % 256}" for number in range(limits.QUOTA_PLACES_MAX + 1)]
    burst = int(10 * limits.QUOTA_BURST_S * limits.QUOTA_PACKET_SIZE)
    for address in addresses[:-1]:
        assert quotas.wait_s(address, burst, 0.0) == 0.0
    assert quotas.wait_s(addresses[0], 120, 0.0) > 0.0, "all are remembered; this one is the last used now"
    assert quotas.wait_s(addresses[-1], burst, 0.0) == 0.0
    assert quotas.wait_s(addresses[1], burst, 0.0) == 0.0, "the one silent for longest was evicted"
