"""A report as a picture: map, convergence, and use of airtime. Needs the extra ``plot``."""

from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tinyssb_node.ids import PacketKind
from tinyssb_node.sim.report import SimulationReport

_COLOURS = {
    PacketKind.ENTRY: "#1b6ca8",
    PacketKind.CHUNK: "#5aa9d6",
    PacketKind.WANT: "#e0a100",
    PacketKind.CHNK: "#f2cc5c",
    PacketKind.CLAIM: "#b5483a",
    PacketKind.NOVELTY: "#dd8f84",
    PacketKind.SKETCH: "#8d6cab",
    PacketKind.ASK: "#b79fcf",
    PacketKind.FEEDS: "#5e4379",
}
"""Payload is blue, requests for it are yellow, sets are red or violet."""
_OTHER = "#808080"
_NAMES_MAX = 40
"""Nodes up to which the map has room for their names."""


def plot(report: SimulationReport, path: Path) -> None:
    """Draw *report* into *path*, in the format its suffix names. Raises OSError, ValueError for an unknown suffix."""
    figure = Figure(figsize=(13, 4.6), layout="constrained")
    figure.suptitle(f"{report.scenario}: {report.nodes} nodes, seed {report.seed}")
    left, middle, right = figure.subplots(1, 3)
    _map(left, report)
    _convergence(middle, report)
    _airtime(right, report)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)


def _map(axes: Axes, report: SimulationReport) -> None:
    places = report.places
    for one, other in report.neighbours:
        (x0, y0), (x1, y1) = places[one], places[other]
        axes.plot((x0, x1), (y0, y1), color="#c8c8c8", linewidth=0.7, zorder=1)
    names = list(places)
    duties = [100 * report.duty[name] for name in names]
    dots = axes.scatter(
        [places[name][0] for name in names],
        [places[name][1] for name in names],
        c=duties,
        cmap="viridis",
        s=90 if len(names) <= _NAMES_MAX else 35,
        zorder=2,
        edgecolors="white",
    )
    if len(names) <= _NAMES_MAX:
        for name in names:
            axes.annotate(name, places[name], textcoords="offset points", xytext=(6, 5), fontsize=7)
    axes.figure.colorbar(dots, ax=axes, label="time on the air, %", shrink=0.8)
    axes.set_aspect("equal", adjustable="datalim")
    axes.margins(0.12)
    axes.set_title("who hears whom")
    if report.in_metres:
        axes.set_xlabel("m east")
        axes.set_ylabel("m north")
    else:
        axes.set_xticks([])
        axes.set_yticks([])


def _convergence(axes: Axes, report: SimulationReport) -> None:
    unit, name = (60e6, "min") if report.time_us < 4 * 3_600e6 else (3_600e6, "h")
    axes.step(
        [time_us / unit for time_us, _ in report.curve],
        [100 * share for _, share in report.curve],
        where="post",
        color=_COLOURS[PacketKind.ENTRY],
    )
    axes.set_xlabel(name)
    axes.set_ylabel("held of what all should hold, %")
    axes.set_ylim(0, 104)
    axes.set_xlim(left=0)
    axes.grid(alpha=0.3)
    agreed = f"all agree after {report.time_us / unit:.1f} {name}" if report.converged else "not all agree"
    axes.set_title(agreed)


def _airtime(axes: Axes, report: SimulationReport) -> None:
    kinds = sorted(report.airtime_us, key=lambda kind: report.airtime_us[kind])
    seconds = [report.airtime_us[kind] / 1e6 for kind in kinds]
    bars = axes.barh(kinds, seconds, color=[_COLOURS.get(kind, _OTHER) for kind in kinds])
    axes.bar_label(bars, [f"{report.packets[kind]}" for kind in kinds], padding=3, fontsize=8)
    axes.margins(x=0.15)
    axes.set_xlabel("s on the air (packets at the bars)")
    if report.bound_us:
        axes.axvline(report.bound_us / 1e6, color="#404040", linestyle="--", linewidth=1)
        axes.set_title(f"airtime: {report.ratio:.2f} × the least (dashed)")
    else:
        axes.set_title("airtime")
