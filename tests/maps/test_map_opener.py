"""Map files of both formats: read alike, and refused with a reason if they are missing, damaged or of another kind."""

import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from tests.maps.making import ATTRIBUTION, make_mbtiles, make_pmtiles, picture, png, tiles_of
from tinyssb_node.maps.map_file import MapFile, MapFileError, MapLibraryError
from tinyssb_node.maps.map_opener import open_map, read_tile
from tinyssb_node.maps.tile_address import TileAddress

Make = Callable[[Path, dict[TileAddress, bytes]], Path]


def mbtiles(path: Path, tiles: dict[TileAddress, bytes]) -> Path:
    zooms = [address.zoom for address in tiles]
    return make_mbtiles(
        path, tiles, attribution=ATTRIBUTION, minzoom=str(min(zooms)), maxzoom=str(max(zooms))
    )


def pmtiles(path: Path, tiles: dict[TileAddress, bytes]) -> Path:
    return make_pmtiles(path, tiles, attribution=ATTRIBUTION)


both = pytest.mark.parametrize("make", [mbtiles, pmtiles])


def opened(path: Path) -> closing[MapFile]:
    return closing(open_map(path))


@both
def test_each_tile_is_found_at_its_place_and_no_other(make: Make, tmp_path: Path) -> None:
    tiles = {at: data for at, data in tiles_of(3).items() if at.zoom >= 1 and at != TileAddress(3, 5, 2)}
    with opened(make(tmp_path / "any name?%41#", tiles)) as file:
        assert (file.about.zoom_min, file.about.zoom_max) == (1, 3)
        assert file.about.attribution == "© OpenStreetMap contributors"
        for at, data in tiles.items():
            tile = read_tile(file, at)
            assert tile is not None
            assert (tile.media_type, tile.data) == ("image/png", data)
        for absent in (TileAddress(0, 0, 0), TileAddress(3, 5, 2), TileAddress(4, 0, 0)):
            assert read_tile(file, absent) is None


@both
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (b"\xff\xd8\xff\xe0 a picture", "image/jpeg"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", None),
        (b"<!doctype html><script>alert(1)</script>", None),
        (b"\x1f\x8b\x08 a vector tile", None),
        (b"?", None),
    ],
)
def test_only_pictures_are_served_whatever_the_file_says_they_are(
    make: Make, tmp_path: Path, data: bytes, media_type: str | None
) -> None:
    with opened(make(tmp_path / "map", {TileAddress(0, 0, 0): data})) as file:
        tile = read_tile(file, TileAddress(0, 0, 0))
        assert (None if tile is None else tile.media_type) == media_type


@both
def test_nothing_is_written_and_a_disk_that_cannot_be_written_is_enough(make: Make, tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    path = make(folder / "map", tiles_of(1))
    before = path.read_bytes()
    path.chmod(0o400)
    folder.chmod(0o500)
    try:
        with opened(path) as file:
            assert read_tile(file, TileAddress(1, 0, 1)) is not None
        assert list(folder.iterdir()) == [path]
        assert path.read_bytes() == before
    finally:
        folder.chmod(0o700)


@both
def test_any_part_of_a_file_may_be_cut_off_or_changed(make: Make, tmp_path: Path) -> None:
    path = make(tmp_path / "map", tiles_of(2))
    whole = path.read_bytes()
    for place in range(0, len(whole), max(1, len(whole) // 150)):
        flipped = bytearray(whole)
        flipped[place] ^= 0xFF
        for damaged in (whole[:place], bytes(flipped)):
            path.write_bytes(damaged)
            try:
                with opened(path) as file:
                    for at in tiles_of(2):
                        read_tile(file, at)
            except MapFileError as error:
                assert str(path) in str(error)  # noqa: PT017 - not all damage shows


def test_what_is_no_map_is_named(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="No such file"):
        open_map(tmp_path / "nothing.pmtiles")
    with pytest.raises(MapFileError, match="directory"):
        open_map(tmp_path)
    text = tmp_path / "map.pmtiles"
    text.write_text("a note")
    with pytest.raises(MapFileError, match="neither MBTiles nor PMTiles"):
        open_map(text)


def test_without_its_library_pmtiles_is_named_and_mbtiles_works(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, other = pmtiles(tmp_path / "a", tiles_of(0)), mbtiles(tmp_path / "b", tiles_of(0))
    monkeypatch.delitem(sys.modules, "tinyssb_node.maps.pmtiles_file", raising=False)
    monkeypatch.setitem(sys.modules, "pmtiles.tile", None)
    with pytest.raises(MapLibraryError, match="library pmtiles"):
        open_map(one)
    with opened(other) as file:
        assert read_tile(file, TileAddress(0, 0, 0)) is not None


def test_pictures_of_tests_are_pictures() -> None:
    assert picture(TileAddress(1, 0, 0)) != picture(TileAddress(1, 1, 0))
    assert png(0, 0, 0).startswith(b"\x89PNG")
