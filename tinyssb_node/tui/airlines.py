"""Links, airtime and events as lines of a terminal; pure, as ``lines``."""

import json

from textual.content import Content

from tinyssb_node.control.rows import AirtimeRow, EndpointRow, FaceRow
from tinyssb_node.screens.languages import decimal, number, t
from tinyssb_node.screens.safetext import one_line, padded
from tinyssb_node.tui import limits
from tinyssb_node.tui.lines import ago, moment

BEYOND = 4
"""Cells of a bar behind the limit, which show use beyond it."""
PACKET_KINDS = frozenset(
    (
        "rx",
        "rx_more",
        "tx",
        "tx_more",
        "left_out",
        "want",
        "chnk",
        "claim",
        "novelty",
        "sketch",
        "ask",
        "feeds",
        "spared",
    )
)
"""Events of every packet; there are thousands of them for each of the others."""
STAMPS = ("v", "node", "boot", "offset", "mono_us", "network")
"""Fields of a record that are of no use to the reader of one node's log."""


def face(row: FaceRow, width: int) -> Content:
    """Format a link in two lines: its name, and its traffic."""
    heard = (
        t("nothing received yet") if row.heard_us is None else t("heard {time} ago", time=ago(row.heard_us))
    )
    waiting = row.queued + row.outstanding
    waits = f" ({t('{n} waiting', n=number(waiting))})" if waiting else ""
    received = t(
        "{received} received ({fresh} new, {invalid} invalid)",
        received=number(row.received),
        fresh=number(row.new),
        invalid=number(row.invalid),
    )
    counts = f"   {t('{n} sent', n=number(row.sent))}{waits}, {received}"
    return Content.assemble(
        (one_line(f" {row.face}", max(width - len(heard) - 2, 1)), "bold"),
        f"  {heard}\n",
        one_line(counts, width),
    )


def account(row: AirtimeRow, width: int) -> Content:
    """Format an airtime account: a bar with the law's limit in it, and the same in words."""
    share, allowed = (100 * us / row.window_us for us in (row.used_us, row.limit_us))
    words = " " + t(
        "{used} s of {limit} s used in {window}: {percent} % of the time, limit {allowed} %",
        used=decimal(row.used_us / 1e6, 1),
        limit=decimal(row.limit_us / 1e6, 1),
        window=ago(row.window_us),
        percent=decimal(share, 2),
        allowed=f"{allowed:g}",
    )
    left = " " + t(
        "{next}; left for messages {messages} s, for adverts {adverts} s",
        next=_next_packet(row.wait_us),
        messages=decimal(row.content_left_us / 1e6, 1),
        adverts=decimal(row.advert_left_us / 1e6, 1),
    )
    return Content.assemble(
        (one_line(f" {row.band}  {', '.join(row.faces)}", width), "bold"),
        "\n ",
        bar(row.used_us, row.limit_us, width - 2),
        f"\n{one_line(words, width)}\n{one_line(left, width)}",
    )


def bar(used: int, limit: int, width: int) -> Content:
    """Draw how much of *limit* is used, in *width* cells: blocks are used, dots are left, ┃ is the limit."""
    inside = max(width - BEYOND - 1, 1)
    full = inside if limit <= 0 else min(-(-used * inside // limit), inside)
    beyond = 0 if limit <= 0 else min(max(-(-(used - limit) * inside // limit), 0), BEYOND)
    return Content.assemble(
        ("█" * full, "ansi_blue"),
        ("·" * (inside - full), "dim"),
        ("┃", "bold"),
        ("▓" * beyond, "bold ansi_yellow"),
    )


def _next_packet(wait_us: int | None) -> str:
    if wait_us is None:
        return t("sending waits until the disk has free space")
    return (
        t("the next packet may go now")
        if wait_us == 0
        else t("the next packet may go in {time}", time=ago(wait_us + 999_999))
    )


def event(line: bytes, *, packets: bool, width: int) -> Content | None:
    """Format a record of the event log; None if it is of a packet and those are not shown, or if it is torn."""
    try:
        record = json.loads(line)
        kind, t_us = str(record.pop("kind")), int(record.pop("t_us"))
    except (ValueError, KeyError, AttributeError, TypeError):
        return None
    if kind in PACKET_KINDS and not packets:
        return None
    details = "  ".join(f"{name}={_short(value)}" for name, value in record.items() if name not in STAMPS)
    return Content.assemble(
        (f" {moment(t_us, '%H:%M:%S'):<8} ", "dim"),
        (one_line(f"{kind:<8} ", 9), "bold"),
        one_line(details, max(width - 19, 1)),
    )


def _short(value: object) -> str:
    if isinstance(value, str):
        return value[: limits.ID_DIGITS] + "…" if len(value) in {40, 64} and " " not in value else value
    return json.dumps(value)


def endpoint(row: EndpointRow, width: int) -> Content:
    """Format a configured face that is not a link now, in two lines: its spec, and the reason."""
    if row.problem is None:
        open_ = f"   {t('open, no connections')}"
        return Content.assemble((one_line(f" {row.spec}", width), "bold"), f"\n{one_line(open_, width)}")
    return Content.assemble(
        (one_line(f" ! {row.spec}", width), "bold"), f"\n{one_line('   ' + row.problem, width)}"
    )


def no_account(*, known: bool) -> Content:
    """Return the line shown in place of bars."""
    words = t("No link that is up has an airtime limit.") if known else t("The links are not known yet.")
    return Content.styled(f" {words}", "dim")


def event_header(*, packets: bool, fault: str | None, width: int) -> Content:
    """Return the line above events."""
    which = t("Event log: all events (p: hide packets)")
    if not packets:
        which = t("Event log: without packets (p: show packets)")
    words = f" {which}" if fault is None else f" ! {fault}"
    return Content.styled(padded(one_line(words, width), width), "bold underline")
