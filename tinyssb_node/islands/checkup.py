"""Checks of `doctor`: whether others reach the gateway, by which relays, and whether its own relay refused somebody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tinyssb_node.control.client import DaemonUnreachableError
from tinyssb_node.daemon.config import read_config
from tinyssb_node.ids import DEFAULT_NETWORK
from tinyssb_node.islands.client import GatewayClient
from tinyssb_node.islands.gateway import limits
from tinyssb_node.islands.gateway.config import gateway_config
from tinyssb_node.islands.lines import is_reached, own_addresses, relay_refusals
from tinyssb_node.screens.check_result import CheckResult
from tinyssb_node.screens.render import duration

if TYPE_CHECKING:
    from tinyssb_node.islands.gateway.rows import GatewayRow, LocatorRow, RelayRow
    from tinyssb_node.store.home import Home

_RECENT_US: Final = 3_600_000_000
"""Refusals are reported for an hour, as the quota is for one."""
_CALLS_GO_ON: Final = (
    "It still connects to others itself, so feeds come and go as long as those can be reached."
)


def examine(home: Home) -> list[CheckResult]:
    """Check the gateway of the node in *home*; return nothing if it has none, or it does not run: the check of the
    daemon says why. Raises LocalError."""
    settings = gateway_config(read_config(home))
    if settings is None or not settings.enabled:
        return []
    try:
        with GatewayClient.at_home(str(home.root)) as gateway:
            row = gateway.gateway()
    except DaemonUnreachableError:
        return []
    return gateway_checks(row)


def gateway_checks(row: GatewayRow) -> list[CheckResult]:
    """Return what is found in a gateway's status."""
    if row.away:
        found = "there is no way to other gateways now. Nothing is lost: it looks for all once there is one"
        return [CheckResult("gateway", ok=True, found=found)]
    found_of_relay = [] if row.relay is None else _check_relay(row.relay)
    return [*(_check_reach(row, network) for network in row.networks), *found_of_relay]


def _check_reach(row: GatewayRow, network: LocatorRow) -> CheckResult:
    """Check that others reach the gateway in *network*, by themselves or by relays."""
    where = "" if network.network == DEFAULT_NETWORK else f"network {network.network}: "
    young = row.uptime_us < limits.REACHED_WAIT_US
    since = f"since it started {duration(row.uptime_us)} ago"
    if row.address is not None and is_reached(row, network):
        return CheckResult("gateway", ok=True, found=f"{where}others reach it at {own_addresses(row)}")
    if network.relays:
        relays = " and ".join(place.partition("/")[0] for place in network.relays)
        by = "the relay" if len(network.relays) == 1 else "the relays"
        found = f"{where}others cannot connect to it directly; they reach it by {by} {relays}"
        return CheckResult("gateway", ok=True, found=found)
    if not network.confirmed:
        if young:
            return CheckResult("gateway", ok=True, found=f"{where}no other gateway has answered yet, {since}")
        if not network.unconfirmed and not network.historic:
            return CheckResult(
                "gateway",
                ok=True,
                found=f"{where}it knows no other gateway, and waits for one to ask it",
                advice="If it is not the first one of its network, name another one in `gateway.peers` in config.toml.",
            )
        return CheckResult(
            "gateway",
            ok=False,
            found=f"{where}no other gateway answers. Nothing is lost: it goes on asking",
            advice="Type `tinyssb gateway`: LAST PROBLEM says what failed. What to do: docs/howto/gateways.md",
        )
    if young:
        yet = "no other gateway has reached it yet" if row.address else "no relay has taken it yet"
        return CheckResult("gateway", ok=True, found=f"{where}{yet}, {since}")
    port = row.listen.rpartition(":")[2]
    tried = f"at {own_addresses(row)}" if row.address else "since it is behind a router"
    return CheckResult(
        "gateway",
        ok=False,
        found=f"{where}others do not reach it {tried}, and no relay has taken it. {_CALLS_GO_ON}",
        advice=f"Forward port {port}, UDP and TCP, to this machine and set `gateway.public`, or name a gateway that "
        "can be reached in `gateway.peers`. Type `tinyssb gateway` to see what relays answered.",
    )


def _check_relay(relay: RelayRow) -> list[CheckResult]:
    """Report bounds of the relay that were reached in the last hour."""
    if relay.refused_ago_us is None or relay.refused_ago_us >= _RECENT_US:
        return []
    advice = "Any further gateway that can be reached is a relay, too, and shares the load."
    if relay.refused_bytes:
        advice = f"If your line has room, raise `gateway.relay_mib` in config.toml. {advice}"
    return [
        CheckResult(
            "relay",
            ok=False,
            found=f"as a relay for others, this gateway refused {relay_refusals(relay)}. They try other relays, or "
            "again within an hour; nothing is lost",
            advice=advice,
        )
    ]
