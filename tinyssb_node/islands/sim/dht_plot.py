"""Runs of locators in networks of several sizes as a picture. Needs the extra ``plot``."""

from collections.abc import Sequence
from math import log2
from pathlib import Path

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tinyssb_node.islands.sim.dht_report import DhtReport

_BLUE = "#1b6ca8"
_YELLOW = "#e0a100"
_GREY = "#808080"


def plot_sizes(reports: Sequence[DhtReport], path: Path) -> None:
    """Draw *reports*, one for each size, into *path*, in the format its suffix names.

    Raises OSError, ValueError for an unknown suffix.
    """
    options = reports[0].options
    figure = Figure(figsize=(13, 3.8), layout="constrained")
    figure.suptitle(
        f"locators: {options.dead:.0%} dead, {options.loss:.0%} loss, {options.hidden:.0%} behind a NAT, "
        f"{options.attackers:.0%} liars, {options.feeds} feeds each"
    )
    sizes = [report.options.nodes for report in reports]
    found, hops, lookups, idle = figure.subplots(1, 4)
    _line(found, sizes, [100 * report.success for report in reports], _BLUE, None)
    found.axhline(99, color=_GREY, linestyle="--", linewidth=1)
    found.set_ylim(min(95.0, *(100 * report.success for report in reports)), 100.5)
    found.set_title("lookups that found somebody, %")
    _line(hops, sizes, [report.hops(0.5) for report in reports], _BLUE, "median")
    _line(hops, sizes, [report.hops(0.95) for report in reports], _YELLOW, "95 %")
    hops.plot(sizes, [log2(size) for size in sizes], color=_GREY, linestyle="--", linewidth=1, label="log₂ n")
    hops.legend()
    hops.set_title("hops")
    _line(lookups, sizes, [report.lookup_bytes for report in reports], _BLUE, None)
    lookups.set_ylim(bottom=0)
    lookups.set_title("bytes a lookup, of all nodes")
    _line(idle, sizes, [report.idle_bytes_per_node_h for report in reports], _BLUE, None)
    idle.set_ylim(bottom=0)
    idle.set_title("idle: bytes a node and hour")
    for axes in (found, hops, lookups, idle):
        axes.set_xscale("log")
        axes.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45)
        axes.minorticks_off()
        axes.set_xlabel("nodes")
        axes.grid(alpha=0.3)
    figure.savefig(path, dpi=120, metadata={"Date": None} if path.suffix == ".svg" else None)


def _line(axes: Axes, sizes: Sequence[int], values: Sequence[float], colour: str, name: str | None) -> None:
    axes.plot(sizes, values, marker="o", markersize=4, color=colour, label=name)
