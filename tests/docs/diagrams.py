"""Draws the diagrams of the pages by Graphviz: ``make diagrams``. One whose source has not changed is left alone, since
another version of Graphviz would draw it differently."""

import hashlib
import subprocess
from pathlib import Path

from tests.architecture.sources import ROOT

FOLDER = ROOT / "docs/diagrams"
_FONT = "fontname=Helvetica,Arial,sans-serif fontcolor=gray10 fontsize"
# The look of all diagrams: defaults of Graphviz's attributes of graphs, nodes and edges. The background is white, since
# forges show pages on black, too. 12 points are 16 pixels.
_LOOK = {
    "G": f"bgcolor=white pad=0.15 nodesep=0.2 ranksep=0.35 style=rounded color=gray50 labeljust=l {_FONT}=12",
    "N": f"shape=box style=rounded,filled fillcolor=aliceblue color=steelblue margin=0.12,0.07 {_FONT}=12",
    "E": f"color=gray30 arrowsize=0.8 {_FONT}=11",
}
_ARGUMENTS = tuple(f"-{kind}{setting}" for kind, settings in _LOOK.items() for setting in settings.split())


def mark(source: Path) -> str:
    """Return the last line of the SVG of *source*: a digest of the source and the look."""
    digest = hashlib.sha256("\0".join((*_ARGUMENTS, source.read_text("utf-8"))).encode())
    return f"<!-- made by `make diagrams` from {source.name}, {digest.hexdigest()} -->"


def is_current(source: Path) -> bool:
    """Return whether the SVG of *source* was made from it as it is now."""
    svg = source.with_suffix(".svg")
    return svg.exists() and svg.read_text("utf-8").endswith(f"{mark(source)}\n")


def draw(source: Path) -> None:
    """Make the SVG of *source*. Raises CalledProcessError, FileNotFoundError without Graphviz."""
    svg = subprocess.run(["dot", "-Tsvg", *_ARGUMENTS, source], stdout=subprocess.PIPE, check=True).stdout
    source.with_suffix(".svg").write_text(f"{svg.decode()}{mark(source)}\n", "utf-8")


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.dot")):
        if not is_current(path):
            draw(path)
