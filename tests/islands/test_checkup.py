"""`doctor` tells whether others reach the gateway, how, and whether its relay refused somebody."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from tests.daemon.processes import make_home
from tests.islands.test_lines import LOCATOR, ROW
from tinyssb_node.islands.checkup import examine, gateway_checks
from tinyssb_node.islands.gateway.rows import GatewayRow, LocatorRow, RelayRow
from tinyssb_node.store.home import Home

HIDDEN: LocatorRow = replace(LOCATOR, reached=False)
ALONE: LocatorRow = replace(HIDDEN, confirmed=0)
NOBODY: LocatorRow = replace(ALONE, unconfirmed=0, historic=0)
RELAYED: LocatorRow = replace(HIDDEN, relays=("192.0.2.1:8789/0011223344556677", "198.51.100.1:8789/0011"))
YOUNG_US = 61_000_000
RELAY: RelayRow = RelayRow(
    registered=0, registered_max=32, pairs=0, pairs_max=16, used_bytes=0, quota_bytes=16 * 2**20, refused=0
)


@pytest.mark.parametrize(
    ("row", "ok", "found", "advice"),
    [
        (ROW, True, "others reach it at 203.0.113.7:8789", ""),
        (replace(ROW, away=True), True, "no way to other gateways now. Nothing is lost", ""),
        (
            replace(ROW, address=None, networks=[RELAYED]),
            True,
            "they reach it by the relays 192.0.2.1:8789 and 198.51.100.1:8789",
            "",
        ),
        (replace(ROW, networks=[RELAYED]), True, "others cannot connect to it directly", ""),
        (
            replace(ROW, networks=[HIDDEN], uptime_us=YOUNG_US),
            True,
            "no other gateway has reached it yet",
            "",
        ),
        (
            replace(ROW, networks=[HIDDEN], address=None, uptime_us=YOUNG_US),
            True,
            "no relay has taken it yet, since it started 1 min 1 s ago",
            "",
        ),
        (replace(ROW, networks=[HIDDEN]), False, "do not reach it at 203.0.113.7:8789", "Forward port 8789"),
        (
            replace(ROW, networks=[HIDDEN], address=None),
            False,
            "behind a router, and no relay has taken it. It still connects to others",
            "`gateway.peers`",
        ),
        (replace(ROW, networks=[ALONE]), False, "no other gateway answers. Nothing is lost", "LAST PROBLEM"),
        (replace(ROW, networks=[ALONE], uptime_us=YOUNG_US), True, "has answered yet", ""),
        (replace(ROW, networks=[NOBODY]), True, "it knows no other gateway", "`gateway.peers`"),
    ],
)
def test_how_others_reach_it_is_said(row: GatewayRow, ok: bool, found: str, advice: str) -> None:
    (finding,) = gateway_checks(row)
    assert (finding.check, finding.ok) == ("gateway", ok)
    assert found in finding.found
    assert advice in finding.advice
    assert ok or finding.advice


def test_who_registered_at_its_relay_has_reached_it() -> None:
    finding, *_ = gateway_checks(replace(ROW, networks=[NOBODY], relay=replace(RELAY, registered=2)))
    assert finding.found == "others reach it at 203.0.113.7:8789"


def test_each_network_has_its_own_way() -> None:
    here, there = gateway_checks(replace(ROW, networks=[LOCATOR, replace(HIDDEN, network="club")]))
    assert here.ok
    assert there.found.startswith("network club: ")
    assert not there.ok


def test_a_bound_of_the_relay_that_was_reached_is_named_for_an_hour() -> None:
    assert len(gateway_checks(replace(ROW, relay=RELAY))) == 1
    full = replace(RELAY, refused=3, refused_ago_us=5_000_000)
    _, finding = gateway_checks(replace(ROW, relay=full))
    assert not finding.ok
    assert "refused 3 times (no place left), the last time 5.0 s ago" in finding.found
    assert "relay_mib" not in finding.advice
    _, finding = gateway_checks(replace(ROW, relay=replace(full, refused_bytes=1)))
    assert "2 times (no place left) and 1 time (bytes of the hour used up)" in finding.found
    assert "raise `gateway.relay_mib`" in finding.advice
    assert len(gateway_checks(replace(ROW, relay=replace(full, refused_ago_us=3_600_000_000)))) == 1


def test_a_node_without_a_gateway_or_whose_gateway_does_not_run_has_nothing_of_it(tmp_path: Path) -> None:
    make_home(tmp_path / "a", "ws:listen:127.0.0.1:0")
    assert examine(Home(tmp_path / "a")) == []
    with (tmp_path / "a" / "config.toml").open("a") as config:
        config.write('\n[gateway]\nenabled = true\nlisten = "127.0.0.1:0"\n')
    assert examine(Home(tmp_path / "a")) == []
