"""Vendored libraries of the page: pinned in package-lock.json, bundled, each with its licence.

Run as ``python -m spark_sink.page.vendor`` after changing a pin. It needs npm, Node.js and the network. The files that
it writes are committed, so nobody else needs these. npm refuses packages whose integrity differs from the pin. To
change one: ``npm install --package-lock-only --omit-lockfile-registry-resolved --save-exact NAME@VERSION``.
"""

import hashlib
import json
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Final

_HERE: Final = Path(__file__).parent
VENDOR: Final = _HERE / "static" / "vendor"
LIST: Final = "VENDOR.txt"
AXE: Final = "axe-core"
AXE_FOLDER: Final = _HERE.parents[1] / "tests" / "browser" / "vendor"
"""Folder of the accessibility checker, which is for tests and not part of the page."""
FILES: Final = {
    "uplot": {"LICENSE": "uplot/LICENSE", "uplot.css": "uplot/dist/uPlot.min.css"},
    "leaflet": {
        "LICENSE": "leaflet/LICENSE",
        "leaflet.css": "leaflet/dist/leaflet.css",
        "images": "leaflet/dist/images",
    },
    "echarts": {
        "LICENSE": "echarts/LICENSE",
        "NOTICE": "echarts/NOTICE",
        "LICENSE-zrender": "zrender/LICENSE",
        "LICENSE-tslib": "tslib/LICENSE.txt",
    },
    AXE: {"LICENSE": "axe-core/LICENSE", "axe.min.js": "axe-core/axe.min.js"},
}
"""Files and folders of each library, and where npm puts them. zrender and tslib are bundled into echarts."""
_MODULES: Final = {
    "uplot": "node_modules/uplot/dist/uPlot.esm.js",
    "leaflet": "node_modules/leaflet/dist/leaflet-src.esm.js",
    "echarts": "echarts-entry.js",
}
"""Module of each library that esbuild bundles with all it imports."""
_ECHARTS_ENTRY: Final = """\
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


def read_pins() -> dict[str, dict[str, str]]:
    """Return version, license and integrity of each npm package."""
    packages = json.loads((_HERE / "package-lock.json").read_text())["packages"]
    return {path.removeprefix("node_modules/"): pin for path, pin in packages.items() if path}


def folder_of(library: str) -> str:
    """Return the name of the folder for a library's files."""
    return f"{library}-{read_pins()[library]['version']}"


def listing(folder: Path, *, tests: bool) -> str:
    """Return the list of a folder: what each library is, its licence, and the SHA-256 of every file."""
    packages = [
        f"{name} {pin['version']} ({pin['license']})\n  {pin['integrity']}"
        for name, pin in read_pins().items()
        if (name == AXE) == tests
    ]
    files = sorted(one for one in folder.rglob("*") if one.is_file() and one.name != LIST)
    hashes = [
        f"{hashlib.sha256(one.read_bytes()).hexdigest()}  {one.relative_to(folder).as_posix()}"
        for one in files
    ]
    head = (
        "Libraries kept here, made by `python -m spark_sink.page.vendor` from npm; not to be changed by hand."
    )
    return "\n".join([head, "", "Packages", *packages, "", "SHA-256 of the files", *hashes, ""])


def run(*command: str, cwd: Path) -> None:
    """Run a program. Raises CalledProcessError."""
    subprocess.run(command, cwd=cwd, check=True)  # noqa: S603 - fixed commands of ours


def make(page_folder: Path, axe_folder: Path) -> None:
    """Fetch, bundle and put in place; the old files go only once the new ones are whole."""
    with tempfile.TemporaryDirectory() as name:
        work = Path(name)
        for pinned in ("package.json", "package-lock.json"):
            shutil.copyfile(_HERE / pinned, work / pinned)
        run("npm", "ci", "--ignore-scripts", cwd=work)
        modules = work / "node_modules"
        for library, files in FILES.items():
            folder = work / (AXE if library == AXE else "page") / folder_of(library)
            folder.mkdir(parents=True)
            for target, source in files.items():
                copy = shutil.copytree if (modules / source).is_dir() else shutil.copyfile
                copy(modules / source, folder / target)
        (work / "echarts-entry.js").write_text(_ECHARTS_ENTRY)
        for library, module in _MODULES.items():
            run(
                "node", str(modules / "esbuild-wasm" / "bin" / "esbuild"), module, "--bundle", "--minify",
                "--format=esm", "--target=es2022", "--charset=utf8", "--legal-comments=none",
                '--define:process.env.NODE_ENV="production"',
                f"--outfile={work / 'page' / folder_of(library) / library}.js",
                cwd=work,
            )  # fmt: skip
        for made, place in ((work / "page", page_folder), (work / AXE, axe_folder)):
            (made / LIST).write_text(listing(made, tests=made.name == AXE))
            shutil.rmtree(place, ignore_errors=True)
            shutil.copytree(made, place)


if __name__ == "__main__":
    make(VENDOR, AXE_FOLDER)
