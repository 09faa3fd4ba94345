"""The report of a simulation, for people and for programs."""

import json
from bisect import bisect_right
from dataclasses import asdict

from tinyssb_node.screens.render import duration, fields, table
from tinyssb_node.sim.contacts import ContactFigures
from tinyssb_node.sim.report import SimulationReport

_BLOCKS = "▁▂▃▄▅▆▇█"
_CURVE_WIDTH = 60
"""Characters of the convergence curve."""


def as_json(report: SimulationReport) -> str:
    """Return one JSON object, with ``ratio`` beside the fields of ``SimulationReport``."""
    return json.dumps({**asdict(report), "ratio": round(report.ratio, 3)})


def as_text(report: SimulationReport) -> str:
    """Return a screen of figures."""
    return "\n\n".join((_summary(report), _by_kind(report), _duties(report)))


def _summary(report: SimulationReport) -> str:
    agreed = (
        f"after {duration(report.time_us)}" if report.converged else f"not within {duration(report.ended_us)}"
    )
    bound = (
        f"{report.ratio:.2f} × the least possible ({report.bound_us / 1e6:.1f} s)"
        if report.bound_us
        else None
    )
    names = ("least", "median", "95 %", "longest")
    delays = ", ".join(f"{name} {duration(us)}" for name, us in zip(names, report.delays_us, strict=False))
    return fields(
        (
            ("scenario", f"{report.scenario}, {report.nodes} nodes, seed {report.seed}"),
            ("all agree", agreed),
            ("stored", sparkline(report)),
            ("messages", f"{report.messages} published, {report.delivered} times delivered"),
            ("delays", delays or None),
            ("airtime", f"{sum(report.airtime_us.values()) / 1e6:.1f} s"),
            ("bound", bound),
            *((f"contacts of {name}", _contact(contact)) for name, contact in report.contacts.items()),
            ("energy", _energy(report)),
            ("history", report.history[:16]),
        )
    )


def _contact(contact: ContactFigures) -> str:
    return (
        f"{duration(contact.contact_us)}; {contact.packets} entries and chunks crossed, "
        f"which alone take {contact.share:.0%} of that"
    )


def _energy(report: SimulationReport) -> str | None:
    """Return the energy for each entry that came to a node; None if none did."""
    if not report.delivered:
        return None
    each = (f"{joules / report.delivered:.3g} J ({name})" for name, joules in report.energy_j.items())
    return f"{', '.join(each)} for each delivery"


def sparkline(report: SimulationReport) -> str:
    """Draw the convergence curve, from the beginning until all agreed or the run ended."""
    times_us = [time_us for time_us, _ in report.curve]
    end_us = max(report.time_us, 1)
    marks = []
    for column in range(1, _CURVE_WIDTH + 1):
        at = bisect_right(times_us, end_us * column // _CURVE_WIDTH) - 1
        share = report.curve[max(at, 0)][1]
        marks.append(_BLOCKS[min(int(share * len(_BLOCKS)), len(_BLOCKS) - 1)])
    return "".join(marks)


def _by_kind(report: SimulationReport) -> str:
    total_us = sum(report.airtime_us.values()) or 1
    rows = [
        (kind, report.packets[kind], report.bytes[kind], f"{us / 1e6:.1f} s", f"{us / total_us:.1%}")
        for kind, us in sorted(report.airtime_us.items(), key=lambda item: -item[1])
    ]
    return table(("PACKET", "SENT", "BYTES", "AIRTIME", "SHARE"), rows)


def _duties(report: SimulationReport) -> str:
    rows = [
        (
            name,
            f"{report.duty[name]:.2%}",
            f"{report.peak_duty[name]:.2%}",
            f"{report.idle_duty[name]:.3%}" if report.idle_duty else None,
        )
        for name in report.duty
    ]
    return table(("NODE", "ON AIR", "FULLEST HOUR", "IDLE"), rows)
