"""MBTiles: what its metadata lacks is found among the tiles, and a hostile database costs two seconds at most."""

import sqlite3
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.maps.making import make_mbtiles, picture, tiles_of
from tinyssb_node.maps import limits
from tinyssb_node.maps.map_file import MapFileError
from tinyssb_node.maps.mbtiles import MbTilesFile
from tinyssb_node.maps.tile_address import TileAddress

TOP = TileAddress(0, 0, 0)
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n) SELECT"
SLOW = "SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, count(*) AS tile_data FROM {}".format(
    ", ".join(f"many AS m{n}" for n in range(6))
)


def hostile(path: Path, *statements: str) -> Path:
    """A database that these statements make."""
    with closing(sqlite3.connect(path)) as database:
        database.execute("CREATE TABLE metadata (name text, value text)")
        database.execute("INSERT INTO metadata VALUES ('minzoom', '0'), ('maxzoom', '3')")
        for statement in statements:
            database.execute(statement)
        database.commit()
    return path


def test_zooms_that_are_not_stated_are_found_and_bounds_are_read(tmp_path: Path) -> None:
    tiles = {at: data for at, data in tiles_of(4).items() if at.zoom >= 2}
    with closing(MbTilesFile(make_mbtiles(tmp_path / "a", tiles, bounds="5.9, 45.8, 10.5, 47.8"))) as file:
        assert (file.about.zoom_min, file.about.zoom_max) == (2, 4)
        assert file.about.bounds == (5.9, 45.8, 10.5, 47.8)
        assert file.about.attribution == ""
    with closing(
        MbTilesFile(make_mbtiles(tmp_path / "b", tiles, minzoom="x", maxzoom=3, bounds="x,y"))
    ) as file:
        assert (file.about.zoom_min, file.about.zoom_max) == (2, 3)
        assert file.about.bounds is None


@pytest.mark.parametrize(
    ("metadata", "reason"),
    [
        ({"format": "pbf"}, "vector tiles"),
        ({"minzoom": "9", "maxzoom": "3"}, "no zoom"),
    ],
)
def test_what_the_page_cannot_draw_is_named(tmp_path: Path, metadata: dict[str, str], reason: str) -> None:
    with pytest.raises(MapFileError, match=reason):
        MbTilesFile(make_mbtiles(tmp_path / "a", tiles_of(0), **metadata))


def test_a_file_without_tiles_or_tables_is_named(tmp_path: Path) -> None:
    with pytest.raises(MapFileError, match="no tiles"):
        MbTilesFile(make_mbtiles(tmp_path / "a", {}))
    with closing(sqlite3.connect(tmp_path / "b")) as database:
        database.execute("CREATE TABLE other (x)")
    with pytest.raises(MapFileError, match="no such table"):
        MbTilesFile(tmp_path / "b")


def test_tiles_may_be_a_view_over_pictures_that_are_there_once(tmp_path: Path) -> None:
    path = hostile(
        tmp_path / "a",
        "CREATE TABLE map (zoom_level, tile_column, tile_row, tile_id)",
        "CREATE TABLE images (tile_id, tile_data)",
        "INSERT INTO map VALUES (0, 0, 0, 'sea')",
        f"INSERT INTO images VALUES ('sea', x'{picture(TOP).hex()}')",
        "CREATE VIEW tiles AS SELECT zoom_level, tile_column, tile_row, tile_data FROM map JOIN images USING (tile_id)",
    )
    with closing(MbTilesFile(path)) as file:
        assert file.read(TOP) == picture(TOP)


def test_a_computation_without_end_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "QUERY_S", 0.1)
    path = hostile(
        tmp_path / "a",
        "CREATE TABLE many (x)",
        f"INSERT INTO many SELECT value FROM json_each('[{'0,' * 999}0]')",
        f"CREATE VIEW tiles AS {SLOW}",
    )
    began_s = time.monotonic()
    with closing(MbTilesFile(path)) as file, pytest.raises(MapFileError, match="interrupted"):
        file.read(TOP)
    assert time.monotonic() - began_s < 5


@pytest.mark.parametrize(
    "view",
    [
        f"{ENDLESS} 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, max(i) AS tile_data FROM n",
        "SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, load_extension('/tmp/x') AS tile_data",
        "SELECT 0 AS zoom_level, 0 AS tile_column, 0 AS tile_row, randomblob(2000000000) AS tile_data",
    ],
)
def test_views_that_take_memory_or_run_code_are_refused(tmp_path: Path, view: str) -> None:
    with closing(MbTilesFile(hostile(tmp_path / "a", f"CREATE VIEW tiles AS {view}"))) as file:
        began_s = time.monotonic()
        with pytest.raises(MapFileError, match="cannot be read"):
            file.read(TOP)
        assert time.monotonic() - began_s < 1


def test_a_tile_that_is_too_large_or_no_bytes_is_none(tmp_path: Path) -> None:
    large = picture(TOP) + bytes(limits.TILE_SIZE_MAX)
    with (
        closing(MbTilesFile(make_mbtiles(tmp_path / "a", {TOP: large}, minzoom=0, maxzoom=0))) as file,
        pytest.raises(MapFileError, match="too big"),
    ):
        file.read(TOP)
    for n, data in enumerate(("text", 7, None)):
        path = make_mbtiles(tmp_path / f"b{n}", {TOP: data}, minzoom=0, maxzoom=0)
        with closing(MbTilesFile(path)) as file:
            assert file.read(TOP) is None
