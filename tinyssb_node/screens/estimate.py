"""Airtime cost of publishing, before it is done: pure calculation on the daemon's state of its faces."""

from collections.abc import Iterable
from dataclasses import dataclass

from tinyssb_node import limits
from tinyssb_node.control.rows import AirtimeRow, FaceRow
from tinyssb_node.screens.languages import decimal, number, t, tn

_AIR = "air"
"""``FaceRow.medium`` of radios."""
_HOUR_US = 3_600_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class AirtimeCost:
    """Cost of some packets on the radio faces of one airtime account, or on a face without one."""

    faces: tuple[str, ...]
    """The faces. Each sends the packets once."""
    packets: int
    """The number of packets, on each of them."""
    air_us: int
    """Airtime in microseconds, all faces together: the minimum, because missed packets are sent again."""
    band: str | None = None
    """The sub-band whose account is charged; None: the law sets no airtime limit there."""
    limit_us: int | None = None
    """The airtime allowed in any window."""
    window_us: int | None = None
    """The length of the window."""
    left_us: int | None = None
    """The part of the allowance that content may use now."""

    @property
    def share(self) -> float | None:
        """The part of a window's allowance, 1 for all of it; None without a limit."""
        return None if self.limit_us is None else self.air_us / max(1, self.limit_us)

    @property
    def wait_us(self) -> int:
        """Microseconds within which the law allows the last packet: 0 if all may be sent now, else whole windows."""
        if self.limit_us is None or self.window_us is None or self.left_us is None:
            return 0
        over_us = self.air_us - self.left_us
        content_us = max(1, self.limit_us * limits.AIR_CONTENT_PERMILLE // 1_000)
        return max(0, -(-over_us // content_us)) * self.window_us


def estimate(packets: int, faces: Iterable[FaceRow], accounts: Iterable[AirtimeRow]) -> list[AirtimeCost]:
    """Return what *packets* full packets cost, by account, then by radio face without one. Empty: nothing."""
    radios = {row.face: row for row in faces if row.medium == _AIR}
    costs = []
    for account in accounts:
        names = tuple(name for name in account.faces if name in radios)
        if names:
            radio_us = [radios.pop(name).full_us for name in names]
            full_us = sum(account.full_us if us is None else us for us in radio_us)
            costs.append(
                AirtimeCost(
                    faces=names,
                    packets=packets,
                    air_us=packets * full_us,
                    band=account.band,
                    limit_us=account.limit_us,
                    window_us=account.window_us,
                    left_us=account.content_left_us,
                )
            )
    costs += [
        AirtimeCost(faces=(name,), packets=packets, air_us=packets * (row.full_us or 0))
        for name, row in radios.items()
    ]
    return costs


def cost_line(cost: AirtimeCost) -> str:
    """Return *cost* in words: ``radio: 91 packets, 18.7 s of airtime, 52 % of this hour's budget``."""
    from tinyssb_node.screens.render import duration, printable

    words = [
        f"{printable(', '.join(cost.faces))}: {packets_in_words(cost.packets)}",
        t("{time} of airtime", time=seconds(cost.air_us)),
    ]
    if cost.share is None or cost.window_us is None or cost.left_us is None:
        return ", ".join([*words, t("no limit")])
    share = percent(cost.share)
    hourly = cost.window_us == _HOUR_US
    words.append(
        t("{percent} of this hour's budget", percent=share)
        if hourly
        else t("{percent} of the budget for {time}", percent=share, time=duration(cost.window_us))
    )
    line = ", ".join(words)
    if not cost.wait_us:
        return line
    left, wait = seconds(cost.left_us), duration(cost.wait_us)
    return f"{line}; {t('{left} may be sent now, the last packet within {wait}', left=left, wait=wait)}"


def costs_in_words(packets: int, costs: Iterable[AirtimeCost]) -> list[str]:
    """Return a line for each of *costs*, or one that there are none."""
    lines = [cost_line(cost) for cost in costs]
    free = tn(
        packets,
        "{n} packet; no radio face is up, so this costs no airtime",
        "{n} packets; no radio face is up, so this costs no airtime",
    )
    return lines or [free]


def cost_question(packets: int, faces: Iterable[FaceRow], accounts: Iterable[AirtimeRow]) -> list[str]:
    """Return the cost of a big post in lines, for its author to agree to."""
    costs = estimate(packets, faces, accounts)
    taken = tn(packets, "This message takes {n} packet.", "This message takes {n} packets.")
    lines = [taken, *costs_in_words(packets, costs)]
    if costs:
        lines.append(t("This is for sending it once; packets that a peer misses are sent again."))
    return lines


def packets_in_words(packets: int) -> str:
    """Return ``1 packet``, ``1,200 packets``."""
    return tn(packets, "{n} packet", "{n} packets")


def seconds(us: int) -> str:
    """Format an airtime: seconds to a tenth, from two minutes on minutes."""
    from tinyssb_node.screens.render import duration

    return f"{decimal(us / 1e6, 1)} s" if us < 120_000_000 else duration(us)


def percent(share: float) -> str:
    """Format a share of a budget in whole percent; a share above zero is never shown as zero."""
    return t("less than 1 %") if 0 < share < 0.01 else f"{number(round(100 * share))} %"


def as_json(cost: AirtimeCost) -> dict[str, object]:
    """Return *cost* for programs."""
    return {
        "faces": list(cost.faces),
        "band": cost.band,
        "packets": cost.packets,
        "air_us": cost.air_us,
        "limit_us": cost.limit_us,
        "window_us": cost.window_us,
        "content_left_us": cost.left_us,
        "share": cost.share,
        "wait_us": cost.wait_us,
    }
