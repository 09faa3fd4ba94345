"""Where a map's pictures come from."""

import json

import pytest

from spark_sink.errors import ConfigurationError
from spark_sink.page.access import headers
from spark_sink.page.tiles import Tiles, parse_tiles
from tests.spark_sink.page.asking import get
from tests.spark_sink.page.serve_story import serving

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


def test_the_page_is_told_of_them() -> None:
    for tiles, known in ((parse_tiles(URL, "Example"), {"url": URL, "by": "Example"}), (None, None)):
        with serving("nowhere.sqlite", tiles=tiles) as address:
            assert json.loads(get(f"{address}/api/page")[2]) == {"v": 2, "state": "ready", "tiles": known}
