"""Output of `gateway` and `locate`: status of the gateway, and places where a feed was found."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tinyssb_node.screens.render import duration, fields, table
from tinyssb_node.screens.safetext import one_line

if TYPE_CHECKING:
    from collections.abc import Mapping

    from tinyssb_node.islands.gateway.firstpeers import FirstPeers
    from tinyssb_node.islands.gateway.rows import (
        GatewayRow,
        LinkRow,
        LocatedRow,
        LocationRow,
        LocatorRow,
        RelayRow,
    )


def status_text(row: GatewayRow) -> str:
    """All of it, for a person."""
    reached = any(is_reached(row, network) for network in row.networks)
    parts = [
        fields(
            [
                ("running", f"{duration(row.uptime_us)} (process {row.pid})"),
                ("listening", row.listen),
                ("address", _address(row, reached=reached)),
                ("way out", "none: waiting for one" if row.away else "yes"),
                *([] if row.relay is None else [("relay", _relay(row.relay))]),
            ]
        )
    ]
    parts += [_network(network) for network in row.networks]
    parts.append(_links(row.links))
    if row.problems:
        lines = [(f"{duration(one.ago_us)} ago", one.what, one.problem) for one in row.problems]
        parts.append(table(("LAST PROBLEM", "WHERE", "WHAT"), lines))
    return "\n\n".join(parts)


def _address(row: GatewayRow, *, reached: bool) -> str:
    if (address := own_addresses(row)) is not None:
        shown = "others have reached it" if reached else "nobody has shown that it can be reached"
        return f"{address} ({shown})"
    if any(network.relays for network in row.networks):
        return "none: others reach this gateway by relays"
    return "none: others cannot call, so this gateway calls them"


def is_reached(row: GatewayRow, network: LocatorRow) -> bool:
    """Return True if somebody has shown that others reach it: by a ping, or as a node registered at its relay."""
    return network.reached or (row.relay is not None and row.relay.registered > 0)


def own_addresses(row: GatewayRow) -> str | None:
    """Return where others can connect, by IPv4 and by IPv6; None: nowhere."""
    return row.address if row.also is None else f"{row.address} and {row.also}"


def _relay(row: RelayRow) -> str:
    used, quota = row.used_bytes / 2**20, row.quota_bytes / 2**20
    refused = f"; refused {relay_refusals(row)}" if row.refused else ""
    return (
        f"{row.registered} of {row.registered_max} nodes registered, {row.pairs} of {row.pairs_max} pairs, "
        f"{used:.1f} of {quota:g} MiB this hour{refused}"
    )


def relay_refusals(row: RelayRow) -> str:
    """Say what the relay refused since it started, and why."""
    places = row.refused - row.refused_bytes
    parts = [
        *([f"{_some(places, 'time')} (no place left)"] if places else []),
        *([f"{_some(row.refused_bytes, 'time')} (bytes of the hour used up)"] if row.refused_bytes else []),
    ]
    last = "" if row.refused_ago_us is None else f", the last time {duration(row.refused_ago_us)} ago"
    return " and ".join(parts) + last


def _network(row: LocatorRow) -> str:
    lookups = _some(row.lookups, "lookup")
    return fields(
        [
            ("network", row.network),
            *([("by relays", "  ".join(row.relays))] if row.relays else []),
            ("peers", f"{row.confirmed} that answer, {row.unconfirmed} to try, {row.historic} kept"),
            (
                "knows",
                f"{_some(row.locations, 'place')} of {_some(row.labels, 'feed')}, mostly others'",
            ),
            ("offers", _some(row.offers, "feed")),
            ("seeks", f"{_some(row.sought, 'feed')}, {row.looking} now, {lookups} so far"),
            ("told behind", _some(row.newer, "time")),
            ("received", _messages(row.received, row.received_bytes)),
            ("sent", _messages(row.sent, row.sent_bytes)),
            *([("dropped", _counts(row.drops))] if row.drops else []),
        ]
    )


def _some(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _messages(counts: Mapping[str, int], size: int) -> str:
    return f"{size:,} bytes" + (f": {_counts(counts)}" if counts else "")


def _counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{count:,} {word}" for word, count in sorted(counts.items()))


def _links(links: list[LinkRow]) -> str:
    if not links:
        return "No other gateway is connected."
    header = ("CONNECTED", "NETWORK", "SINCE", "GOT", "GIVEN", "BYTES IN", "BYTES OUT", "FOR")
    rows = [
        (
            f"{'to' if link.called else 'by'} {link.address}{' (relay)' if link.relayed else ''}",
            link.network,
            duration(link.up_us),
            link.got,
            link.given,
            link.received_bytes,
            link.sent_bytes,
            link.feed[:12] if link.feed else "",
        )
        for link in links
    ]
    return table(header, rows)


def first_peers_text(found: FirstPeers) -> str:
    """A signed list of first peers, for a person."""
    peers = [f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in found.peers]
    return fields(
        [
            ("signed by", found.signer.hex()),
            ("written", str(found.written)),
            ("use until", str(found.until)),
            *(("peer", one_line(peer)) for peer in peers),
        ]
    )


LOCATE_HEADER = f"{'AFTER':>8}  {'ENTRIES':>9}  {'WHOLE':>5}  {'':<4}  PLACE"
"""Above lines of ``location_line``."""


def location_line(row: LocationRow) -> str:
    """One place, as it comes in."""
    after = f"{row.elapsed_us / 1e6:.1f} s"
    whole = f"{row.whole * 100 // 255} %"
    return f"{after:>8}  {row.entries:>9,}  {whole:>5}  {'old' if row.old else '':<4}  {row.connection}"


def located_text(row: LocatedRow) -> str:
    """Return the summary of a search for a feed."""
    reports = _some(row.reports, "answer")
    if row.count:
        places = _some(row.count, "place")
        return f"{places}, from {reports}." if row.reports else f"{places}, from memory: no node answered."
    if row.reports:
        return f"No known node has it, according to {reports}."
    if row.peers:
        return "No node answered."
    return "No known gateway answers, so no node could be asked. `tinyssb gateway` shows more."
