"""Vendored libraries of the page: pinned versions from npm, bundled, each with its licence.

Run as ``python -m spark_sink.page.vendor`` after changing a pin. It needs npm, Node.js and the network. The files that
it writes are committed, so nobody else needs these. Packages whose integrity differs from the pin are refused.
"""

import base64
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from spark_sink.errors import SinkError

STATIC: Final = Path(__file__).parent / "static"
FOLDER: Final = "vendor"
LIST: Final = "VENDOR.txt"
AXE_FOLDER: Final = Path(__file__).parents[2] / "tests" / "browser" / "vendor"
"""Folder of the accessibility checker, which is for tests and not part of the page."""


class VendorError(SinkError):
    """A library could not be had as it was pinned."""


@dataclass(frozen=True, slots=True)
class Pin:
    """One version of an npm package."""

    name: str
    version: str
    licence: str
    integrity: str

    @property
    def folder(self) -> str:
        """Name of the folder for its files."""
        return f"{self.name}-{self.version}"


UPLOT: Final = Pin(
    "uplot",
    "1.6.32",
    "MIT",
    "sha512-KIMVnG68zvu5XXUbC4LQEPnhwOxBuLyW1AHtpm6IKTXImkbLgkMy+jabjLgSLMasNuGGzQm/ep3tOkyTxpiQIw==",
)
LEAFLET: Final = Pin(
    "leaflet",
    "1.9.4",
    "BSD-2-Clause",
    "sha512-nxS1ynzJOmOlHp+iL3FyWqK89GtNL8U8rvlMOsQdTTssxZwCXh8N2NB3GDQOL+YR3XnWyZAxwQixURb+FA74PA==",
)
ECHARTS: Final = Pin(
    "echarts",
    "6.1.0",
    "Apache-2.0",
    "sha512-q0yaFPggC9FUdsWH4blavRWFmxdrIodbkoKNAjJudAI6CA9gNPxHtV2RcZNEepZVlk4yvBYkOkbk6HIVpIyHZA==",
)
ZRENDER: Final = Pin(
    "zrender",
    "6.1.0",
    "BSD-3-Clause",
    "sha512-oEGMDB6pOP2S6OwRR4PdVv610zrjnA3Bh+JnSG12fYJlBKjtNAoEb5fSUoCOOINlH96I2fU38/A2UpRKs67xYQ==",
)
TSLIB: Final = Pin(
    "tslib",
    "2.3.0",
    "0BSD",
    "sha512-N82ooyxVNm6h1riLCoyS9e3fuJ3AMG2zIZs2Gd1ATcSFjSA23Q0fzjjZeh0jbJvWVDZ0cJT8yaNNaaXHzueNjg==",
)
AXE: Final = Pin(
    "axe-core",
    "4.14.1",
    "MPL-2.0",
    "sha512-FHfa+lmNjQZfJz1q8wKqIDwC6DExcHt/pkjNQb09a3NPjCKg2rhu5qb2S4r76ASyFNNtuFooJpZe37OgudVGtQ==",
)
ESBUILD: Final = Pin(
    "esbuild-wasm",
    "0.28.2",
    "MIT",
    "sha512-GccVwhv3mmOUVQHCQm2Ox/rby8n/EqUwvZxE6Pjfikrq/lWw9g9WX/u9EykWnpot3Ko6j426DgQdea2xWKIAQA==",
)
PAGE: Final = (UPLOT, LEAFLET, ECHARTS)
"""Libraries that the page loads. zrender and tslib are bundled into echarts; esbuild makes the bundles."""

ECHARTS_ENTRY: Final = """\
export { init, use, registerTheme } from "echarts/core";
import { use } from "echarts/core";
import { BarChart, CustomChart, GraphChart, HeatmapChart, LineChart, ScatterChart } from "echarts/charts";
import {
  AriaComponent, DataZoomComponent, GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent,
  TooltipComponent, VisualMapComponent,
} from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";
use([
  BarChart, CustomChart, GraphChart, HeatmapChart, LineChart, ScatterChart, AriaComponent, DataZoomComponent,
  GridComponent, LegendComponent, MarkAreaComponent, MarkLineComponent, TooltipComponent, VisualMapComponent,
  CanvasRenderer,
]);
"""
"""The parts of ECharts that our views use; the whole of it is twice as large."""


def _run(*command: str, cwd: Path) -> str:
    finished = subprocess.run(  # noqa: S603 - fixed commands of ours
        command, cwd=cwd, capture_output=True, text=True, check=False
    )
    if finished.returncode:
        raise VendorError(f"{command[0]} failed: {finished.stderr.strip()}")
    return finished.stdout


def integrity_of(archive: Path) -> str:
    """Hash of a package as npm writes it (Subresource Integrity)."""
    return "sha512-" + base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()


def fetch(pin: Pin, work: Path) -> Path:
    """Put the package under ``node_modules`` of *work*; raises `VendorError` where it is not what was pinned."""
    packed = json.loads(_run("npm", "pack", f"{pin.name}@{pin.version}", "--json", cwd=work))
    archive = work / packed[0]["filename"]
    found = integrity_of(archive)
    if found != pin.integrity:
        raise VendorError(
            f"{pin.name} {pin.version} is {found}, but {pin.integrity} is pinned; nothing was changed."
        )
    target = work / "node_modules" / pin.name
    with tarfile.open(archive) as files:
        # Debian 12's Python 3.11.2 has neither this filter nor extractall's argument for it. The pin was checked above.
        files.extraction_filter = getattr(tarfile, "data_filter", lambda member, _path: member)
        files.extractall(work / f"unpacked-{pin.name}")  # noqa: S202 - as above
    target.parent.mkdir(exist_ok=True)
    shutil.move(work / f"unpacked-{pin.name}" / "package", target)
    return target


def bundle(entry: Path, out: Path, work: Path) -> None:
    """Make one minified module of *entry* and all it imports."""
    esbuild = work / "node_modules" / ESBUILD.name / "bin" / "esbuild"
    flags = (
        "--bundle",
        "--minify",
        "--format=esm",
        "--target=es2022",
        "--charset=utf8",
        "--legal-comments=none",
    )
    names = '--define:process.env.NODE_ENV="production"'
    _run("node", str(esbuild), str(entry), *flags, names, f"--outfile={out}", cwd=work)


def _place(pin: Pin, package: Path, vendor: Path) -> Path:
    folder = vendor / pin.folder
    folder.mkdir(parents=True)
    licence = next(package.glob("LICENSE*"))
    shutil.copyfile(licence, folder / "LICENSE")
    return folder


def _page(packages: dict[str, Path], work: Path, vendor: Path) -> None:
    folder = _place(UPLOT, packages["uplot"], vendor)
    bundle(packages["uplot"] / "dist" / "uPlot.esm.js", folder / "uplot.js", work)
    shutil.copyfile(packages["uplot"] / "dist" / "uPlot.min.css", folder / "uplot.css")
    folder = _place(LEAFLET, packages["leaflet"], vendor)
    bundle(packages["leaflet"] / "dist" / "leaflet-src.esm.js", folder / "leaflet.js", work)
    shutil.copyfile(packages["leaflet"] / "dist" / "leaflet.css", folder / "leaflet.css")
    shutil.copytree(packages["leaflet"] / "dist" / "images", folder / "images")
    folder = _place(ECHARTS, packages["echarts"], vendor)
    entry = work / "echarts-entry.js"
    entry.write_text(ECHARTS_ENTRY)
    bundle(entry, folder / "echarts.js", work)
    notices = [
        packages["echarts"] / "NOTICE",
        packages["zrender"] / "LICENSE",
        packages["tslib"] / "LICENSE.txt",
    ]
    shutil.copyfile(notices[0], folder / "NOTICE")
    shutil.copyfile(notices[1], folder / "LICENSE-zrender")
    shutil.copyfile(notices[2], folder / "LICENSE-tslib")


def digests(folder: Path) -> dict[str, str]:
    """Return SHA-256 of every file below *folder* but the list itself, by path."""
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != LIST)
    return {one.relative_to(folder).as_posix(): hashlib.sha256(one.read_bytes()).hexdigest() for one in files}


def listing(pins: tuple[Pin, ...], folder: Path) -> str:
    """Return the text of the list: what each library is, its licence, and the hash of every file."""
    head = (
        "Libraries kept here, made by `python -m spark_sink.page.vendor` from npm; not to be changed by hand."
    )
    packages = [f"{pin.name} {pin.version} ({pin.licence})\n  {pin.integrity}" for pin in pins]
    hashes = [f"{digest}  {path}" for path, digest in digests(folder).items()]
    return "\n".join([head, "", "Packages", *packages, "", "SHA-256 of the files", *hashes, ""])


def make(static: Path, axe_folder: Path) -> None:
    """Fetch, bundle and put in place; the old files go only once the new ones are whole."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        pins = (*PAGE, ZRENDER, TSLIB, AXE, ESBUILD)
        packages = {pin.name: fetch(pin, work) for pin in pins}
        fresh = work / FOLDER
        _page(packages, work, fresh)
        (fresh / LIST).write_text(listing((*PAGE, ZRENDER, TSLIB, ESBUILD), fresh))
        tests = work / "tests"
        shutil.copyfile(
            packages["axe-core"] / "axe.min.js", _place(AXE, packages["axe-core"], tests) / "axe.min.js"
        )
        (tests / LIST).write_text(listing((AXE,), tests))
        for made, target in ((fresh, static / FOLDER), (tests, axe_folder)):
            shutil.rmtree(target, ignore_errors=True)
            shutil.copytree(made, target)


def main() -> int:
    """Make everything again; on failure return 1 and print a sentence on standard error."""
    try:
        make(STATIC, AXE_FOLDER)
    except VendorError as error:
        sys.stderr.write(f"{error}\n")
        return os.EX_UNAVAILABLE
    return 0


if __name__ == "__main__":
    sys.exit(main())
