"""The libraries kept for the page are those that were pinned, and carry their licences."""

import subprocess
from pathlib import Path

import pytest

from spark_sink.page import app, vendor
from spark_sink.page.static_files import STATIC

PLACES = {"page": vendor.VENDOR, "tests": vendor.AXE_FOLDER}
WEIGHT_MAX = 1_500_000
"""Bytes of one view with all it loads; the heaviest loads ECharts."""


@pytest.mark.parametrize("place", PLACES)
def test_every_file_is_the_one_that_was_listed(place: str) -> None:
    folder = PLACES[place]
    assert (folder / vendor.LIST).read_text() == vendor.listing(folder, tests=place == "tests")


@pytest.mark.parametrize("place", PLACES)
def test_every_library_has_its_licence_beside_it(place: str) -> None:
    libraries = [one for one in PLACES[place].iterdir() if one.is_dir()]
    assert libraries
    assert [one.name for one in libraries if not (one / "LICENSE").read_text().strip()] == []


def test_no_view_is_heavier_than_it_may_be() -> None:
    own = sum(
        one.stat().st_size for one in STATIC.rglob("*") if vendor.VENDOR not in one.parents and one.is_file()
    )
    heaviest = max(
        sum(one.stat().st_size for one in folder.rglob("*.*s") if one.is_file())
        for folder in vendor.VENDOR.iterdir()
        if folder.is_dir()
    )
    assert own + heaviest < WEIGHT_MAX


def test_what_the_scripts_load_is_there() -> None:
    charts = (STATIC / "charts.js").read_text()
    for library in vendor.FILES.keys() - {vendor.AXE}:
        assert f'"{vendor.folder_of(library)}/' in charts
        assert list((vendor.VENDOR / vendor.folder_of(library)).glob("*.js"))
    assert f"/static/vendor/{vendor.folder_of('uplot')}/uplot" == app.UPLOT


def test_every_package_is_pinned_by_its_hash() -> None:
    assert {
        name for name, pin in vendor.read_pins().items() if not pin["integrity"].startswith("sha512-")
    } == set()


def test_a_package_that_is_not_the_pinned_one_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = []

    def refuse(*command: str, cwd: Path) -> None:
        ran.append(command[:2])
        assert (cwd / "package-lock.json").is_file()
        raise subprocess.CalledProcessError(1, command)

    monkeypatch.setattr(vendor, "run", refuse)
    (tmp_path / "old.js").write_text("old")
    with pytest.raises(subprocess.CalledProcessError):
        vendor.make(tmp_path, tmp_path)
    # Unlike `npm install`, it refuses a package whose integrity differs.
    assert ran == [("npm", "ci")]
    assert [one.name for one in tmp_path.iterdir()] == ["old.js"]
