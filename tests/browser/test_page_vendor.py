"""The libraries kept for the page are those that were pinned, and carry their licences."""

import io
import json
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from spark_sink.page import vendor

PLACES = {
    "page": (vendor.STATIC / vendor.FOLDER, (*vendor.PAGE, vendor.ZRENDER, vendor.TSLIB, vendor.ESBUILD)),
    "tests": (vendor.AXE_FOLDER, (vendor.AXE,)),
}
WEIGHT_MAX = 1_500_000
"""Bytes of one view with all it loads; the heaviest loads ECharts."""


@pytest.mark.parametrize("place", PLACES)
def test_every_file_is_the_one_that_was_listed(place: str) -> None:
    folder, pins = PLACES[place]
    assert (folder / vendor.LIST).read_text() == vendor.listing(pins, folder)


@pytest.mark.parametrize("place", PLACES)
def test_every_library_has_its_licence_beside_it(place: str) -> None:
    folder, _pins = PLACES[place]
    libraries = [one for one in folder.iterdir() if one.is_dir()]
    assert libraries
    assert [one.name for one in libraries if not (one / "LICENSE").read_text().strip()] == []


def test_no_view_is_heavier_than_it_may_be() -> None:
    own = sum(
        one.stat().st_size
        for one in vendor.STATIC.rglob("*")
        if vendor.FOLDER not in one.parts and one.is_file()
    )
    heaviest = max(
        sum(one.stat().st_size for one in folder.rglob("*.*s") if one.is_file())
        for folder in (vendor.STATIC / vendor.FOLDER).iterdir()
        if folder.is_dir()
    )
    assert own + heaviest < WEIGHT_MAX


def test_what_the_scripts_load_is_there() -> None:
    charts = (vendor.STATIC / "charts.js").read_text()
    for pin in vendor.PAGE:
        assert f'"{pin.folder}/' in charts
        assert list((vendor.STATIC / vendor.FOLDER / pin.folder).glob("*.js"))


def test_a_package_that_is_not_the_pinned_one_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def pack(*_command: str, cwd: Path) -> str:
        with tarfile.open(cwd / "some.tgz", "w:gz") as archive:
            archive.addfile(tarfile.TarInfo("package/index.js"), io.BytesIO())
        return json.dumps([{"filename": "some.tgz"}])

    monkeypatch.setattr(vendor, "_run", pack)
    with pytest.raises(vendor.VendorError, match="nothing was changed"):
        vendor.fetch(vendor.UPLOT, tmp_path)
    assert not (tmp_path / "node_modules").exists()
    found = vendor.integrity_of(tmp_path / "some.tgz")
    monkeypatch.setattr(vendor, "_run", lambda *_command, **_where: json.dumps([{"filename": "some.tgz"}]))
    placed = vendor.fetch(replace(vendor.UPLOT, integrity=found), tmp_path)
    assert [one.name for one in placed.iterdir()] == ["index.js"]
