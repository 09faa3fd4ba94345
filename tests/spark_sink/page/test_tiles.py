"""Where a map's pictures come from."""

import json
from pathlib import Path

import pytest

from spark_sink.errors import ConfigurationError
from spark_sink.page.access import headers
from spark_sink.page.tiles import Tiles, check_map, parse_tiles
from tests.maps.making import make_pmtiles, picture, tiles_of
from tests.spark_sink.page.asking import get
from tests.spark_sink.page.serve_story import serving
from tinyssb_node.maps.tile_address import TileAddress

URL = "https://tiles.example.org:8080/{z}/{x}/{y}.png?style=plain"


def test_an_address_is_taken_apart() -> None:
    assert parse_tiles(URL, "Example") == Tiles(URL, "Example")
    assert parse_tiles(URL, None).by == "tiles.example.org:8080"
    assert parse_tiles(URL, None).origin == "https://tiles.example.org:8080"


@pytest.mark.parametrize(
    "url",
    [
        "/{z}/{x}/{y}.png",
        "ftp://tiles.example.org/{z}/{x}/{y}",
        "https://tiles.example.org/{z}/{x}.png",
        "https://tiles.example.org; script-src *;/{z}/{x}/{y}.png",
        "https://me:secret@tiles.example.org/{z}/{x}/{y}.png",
        "https://{s}.example.org/{z}/{x}/{y}.png",
        "https://tiles.example.org/{z}/{x}/{y}.png\r\nset-cookie: a",
        "https://tiles.example.org/ /{z}/{x}/{y}.png",
        "https://[tiles/{z}/{x}/{y}.png",
    ],
)
def test_what_is_no_address_of_pictures_is_refused(url: str) -> None:
    with pytest.raises(ConfigurationError, match="nothing was served"):
        parse_tiles(url, None)


def test_only_the_servers_own_origin_is_let_in() -> None:
    assert (
        "img-src 'self' data: blob: https://tiles.example.org:8080;"
        in headers(parse_tiles(URL, None).origin)["content-security-policy"]
    )
    assert headers()["referrer-policy"] == "no-referrer"


def test_tiles_of_a_file_are_served_by_the_page_itself(tmp_path: Path) -> None:
    path = make_pmtiles(tmp_path / "map", tiles_of(2), attribution="© <b>Ana</b>")
    with serving("nowhere.sqlite", map_file=path) as address:
        known = json.loads(get(f"{address}/api/page")[2])["tiles"]
        assert (known["by"], known["zoom_min"], known["zoom_max"]) == ("© Ana", 0, 2)
        assert known["bounds"] == [-180, -85, 180, 85]
        place = known["url"].format(z=2, x=1, y=3)
        status, headers, body = get(address + place)
        assert (status, body) == (200, picture(TileAddress(2, 1, 3)))
        assert headers["content-type"] == "image/png"
        assert get(f"{address}/api/tile/2/9/9")[0] == 404


def test_a_map_that_cannot_be_used_is_named_before_anything_is_served(tmp_path: Path) -> None:
    assert check_map(make_pmtiles(tmp_path / "map", tiles_of(0))) == tmp_path / "map"
    with pytest.raises(ConfigurationError, match=r"No such file.*Nothing was served"):
        check_map(tmp_path / "none")


def test_the_page_is_told_of_them() -> None:
    for tiles, known in ((parse_tiles(URL, "Example"), {"url": URL, "by": "Example"}), (None, None)):
        with serving("nowhere.sqlite", tiles=tiles) as address:
            assert json.loads(get(f"{address}/api/page")[2]) == {"v": 2, "state": "ready", "tiles": known}
