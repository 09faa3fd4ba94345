"""Tiles of a map file over HTTP: types and caching, what is no address, what cannot be read, files that change."""

from pathlib import Path

import pytest

from tests.maps.making import ATTRIBUTION, make_mbtiles, make_pmtiles, picture, png, tiles_of
from tests.web.asking import Answer, ask
from tests.web.fake import TOKEN, FakeNode, serving
from tinyssb_node.maps.tile_address import TileAddress


def described(address: str) -> dict[str, object] | None:
    found: dict[str, object] | None = ask(address, "/api/map").json["map"]
    return found


def test_a_tile_has_a_type_and_stays_in_the_browser(tmp_path: Path) -> None:
    path = make_pmtiles(tmp_path / "map", tiles_of(2), attribution=ATTRIBUTION)
    with serving(FakeNode(), map_file=path) as address:
        about = described(address)
        assert about is not None
        assert about.pop("version")
        assert about == {
            "zoom_min": 0,
            "zoom_max": 2,
            "bounds": [-180, -85, 180, 85],
            "attribution": "© OpenStreetMap contributors",
        }
        found = ask(address, "/api/tile/2/1/3?v=1")
        assert (found.status, found.body) == (200, picture(TileAddress(2, 1, 3)))
        assert found.headers["content-type"] == "image/png"
        assert found.headers["cache-control"] == "private, max-age=31536000, immutable"
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cross-origin-resource-policy"] == "same-origin"


def test_where_the_map_has_none_there_is_nothing_and_no_error(tmp_path: Path) -> None:
    tiles = tiles_of(2)
    del tiles[TileAddress(2, 1, 3)]
    tiles[TileAddress(2, 0, 0)] = b"<script>alert(1)</script>"
    path = make_mbtiles(tmp_path / "map", tiles)
    with serving(FakeNode(), map_file=path) as address:
        for place in ("2/1/3", "3/0/0", "2/0/0"):
            found = ask(address, f"/api/tile/{place}")
            assert (found.status, found.body) == (204, b"")


@pytest.mark.parametrize(
    "place",
    ["2/4/0", "2/0/-1", "25/0/0", "02/0/0", "2/0/0.png", "2/%2e%2e/0", "2/0/..%2f..%2fetc%2fpasswd", "2/0",
     f"2/{'9' * 300}/0"],
)  # fmt: skip
def test_what_is_no_address_of_a_tile_is_not_found(place: str, tmp_path: Path) -> None:
    with serving(FakeNode(), map_file=make_pmtiles(tmp_path / "map", tiles_of(2))) as address:
        assert ask(address, f"/api/tile/{place}").status == 404


def test_without_a_map_or_with_a_broken_one_there_are_no_tiles(tmp_path: Path) -> None:
    with serving(FakeNode()) as address:
        assert described(address) is None
        assert ask(address, "/api/tile/0/0/0").status == 404
    (tmp_path / "map").write_bytes(b"PMTiles\x03 cut off")
    with serving(FakeNode(), map_file=tmp_path / "map") as address:
        assert described(address) is None
        assert ask(address, "/api/tile/0/0/0").status == 503


def test_tiles_are_for_those_with_the_token_and_for_no_other_site(tmp_path: Path) -> None:
    path = make_pmtiles(tmp_path / "map", tiles_of(0))

    def asked(address: str, **headers: str) -> tuple[Answer, Answer]:
        return tuple(ask(address, place, headers=headers) for place in ("/api/map", "/api/tile/0/0/0"))  # type: ignore[return-value]

    with serving(FakeNode(), token=TOKEN, map_file=path) as address:
        assert [found.status for found in asked(address)] == [401, 401]
    with serving(FakeNode(), map_file=path) as address:
        assert [found.status for found in asked(address, **{"sec-fetch-site": "cross-site"})] == [403, 403]


def test_a_map_that_is_replaced_or_put_in_later_is_used_without_a_restart(tmp_path: Path) -> None:
    path = tmp_path / "map"
    top = TileAddress(0, 0, 0)
    with serving(FakeNode(), map_file=path) as address:
        assert described(address) is None
        make_pmtiles(path, {top: png(1, 2, 3)})
        first = described(address)
        assert first is not None
        assert ask(address, "/api/tile/0/0/0").body == png(1, 2, 3)
        make_mbtiles(tmp_path / "other", {top: png(4, 5, 6)})
        (tmp_path / "other").replace(path)
        second = described(address)
        assert second is not None
        assert second["version"] != first["version"]
        assert ask(address, "/api/tile/0/0/0").body == png(4, 5, 6)
        path.unlink()
        assert described(address) is None
