"""PMTiles: root and leaves of its directory, and hostile files: gzip bombs, endless numbers, parts beyond the end."""

import gzip
import hashlib
import json
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from pmtiles.tile import Compression, TileType, deserialize_header, serialize_header, zxy_to_tileid

from tests.maps.making import make_pmtiles, picture, tiles_of, whole_world
from tinyssb_node.maps import limits
from tinyssb_node.maps.map_file import MapFileError
from tinyssb_node.maps.pmtiles_file import PmTilesFile
from tinyssb_node.maps.tile_address import TileAddress

TOP = TileAddress(0, 0, 0)


def sized() -> Iterator[tuple[TileAddress, bytes]]:
    """Tiles of many sizes, so that the directory compresses badly, and has leaves."""
    for number, at in enumerate(whole_world(7)):
        size = hashlib.sha256(b"%d" % number).digest()[0]
        yield at, b"%d/%d/%d" % (at.zoom, at.column, at.row) + b"." * size


def rebuilt(path: Path, directory: bytes, metadata: bytes | None = None, **changes: Any) -> Path:
    """The file with another root directory and metadata, compressed here, and changes in the header."""
    whole = make_pmtiles(path, tiles_of(0)).read_bytes()
    header = deserialize_header(whole[:127])
    said = gzip.compress(b"{}") if metadata is None else metadata
    header["root_length"] = len(directory)
    header["metadata_offset"] = 127 + len(directory)
    header["metadata_length"] = len(said)
    header["leaf_directory_offset"] = 127
    header["tile_data_offset"] = 127 + len(directory) + len(said)
    header.update(changes)  # type: ignore[typeddict-item]
    path.write_bytes(serialize_header(header) + directory + said + picture(TOP))
    return path


def test_tiles_in_leaves_are_found(tmp_path: Path) -> None:
    tiles = dict(sized())
    path = make_pmtiles(tmp_path / "a", tiles)
    assert deserialize_header(path.read_bytes()[:127])["leaf_directory_length"] > 0
    with closing(PmTilesFile(path)) as file:
        for at in (*list(tiles)[::97], TileAddress(7, 127, 127)):
            assert file.read(at) == tiles[at]
        assert file.read(TileAddress(8, 0, 0)) is None


def test_the_same_picture_of_many_tiles_is_found_for_each(tmp_path: Path) -> None:
    tiles = {at: picture(TOP) for at in whole_world(3)}
    with closing(PmTilesFile(make_pmtiles(tmp_path / "a", tiles))) as file:
        assert {file.read(at) for at in tiles} == {picture(TOP)}


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"tile_type": TileType.MVT}, "vector tiles"),
        ({"internal_compression": Compression.BROTLI}, "not compressed with gzip"),
        ({"min_zoom": 9, "max_zoom": 3}, "no zoom"),
        ({"metadata_length": 2**40}, "more than"),
        ({"metadata_offset": 2**63}, "damaged"),
    ],
)
def test_what_cannot_be_used_is_named(tmp_path: Path, changes: dict[str, Any], reason: str) -> None:
    with pytest.raises(MapFileError, match=reason):
        PmTilesFile(rebuilt(tmp_path / "a", gzip.compress(b"\x01\x00\x01\x50\x01"), **changes))


@pytest.mark.parametrize(
    "directory",
    [
        gzip.compress(bytes(limits.DIRECTORY_SIZE_MAX + 1)),
        gzip.compress(b"\x01\x00\x01\x50\x01") + gzip.compress(bytes(2**28)),
        gzip.compress(b"\xff" * limits.DIRECTORY_SIZE_MAX),
        gzip.compress(b"\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
        gzip.compress(b""),
        gzip.compress(b"\x01\x00\x01\x50\x01")[:-9],
        b"no gzip",
        gzip.compress(b"\x01\x00\x01\xff\xff\xff\xff\x0f\x01"),
        gzip.compress(b"\x01\x00\x01\x50\xff\xff\xff\xff\xff\xff\xff\xff\x7f"),
    ],
    ids=["bomb", "second bomb", "endless number", "endless list", "empty", "cut", "no gzip", "long tile", "far tile"],
)  # fmt: skip
def test_hostile_directories_cost_little_and_are_refused(tmp_path: Path, directory: bytes) -> None:
    began_s = time.monotonic()
    path = rebuilt(tmp_path / "a", directory)
    with closing(PmTilesFile(path)) as file, pytest.raises(MapFileError, match="damaged"):
        file.read(TOP)
    assert time.monotonic() - began_s < 5


def test_a_leaf_that_is_its_own_leaf_ends(tmp_path: Path) -> None:
    # One entry of run length 0, at offset 0 of the leaves, which is the root itself, of its own length.
    length = next(n for n in range(20, 60) if len(gzip.compress(bytes((1, 0, 0, n, 1)))) == n)
    path = rebuilt(tmp_path / "a", gzip.compress(bytes((1, 0, 0, length, 1))))
    with closing(PmTilesFile(path)) as file:
        assert file.read(TOP) is None


@pytest.mark.parametrize(
    ("metadata", "attribution"),
    [
        (gzip.compress(b'{"attribution": "<i>me</i>"}'), "me"),
        (gzip.compress(b'{"attribution": 7}'), ""),
        (gzip.compress(b"[]"), ""),
        (gzip.compress(b"{"), None),
        (gzip.compress(b"[" * 100_000), None),
        (gzip.compress(b"1" * 100_000), None),
        (gzip.compress(json.dumps({"a": " " * limits.METADATA_SIZE_MAX}).encode()), None),
        (b"{}", None),
    ],
    ids=["markup", "number", "list", "cut", "deep", "long number", "large", "not packed"],
)
def test_metadata_of_strangers(tmp_path: Path, metadata: bytes, attribution: str | None) -> None:
    path = rebuilt(tmp_path / "a", gzip.compress(b"\x01\x00\x01\x50\x01"), metadata)
    if attribution is None:
        with pytest.raises(MapFileError, match="damaged"):
            PmTilesFile(path)
    else:
        with closing(PmTilesFile(path)) as file:
            assert file.about.attribution == attribution


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=200)
@given(data=st.binary(max_size=300))
def test_any_bytes_as_directory_raise_nothing_else(tmp_path: Path, data: bytes) -> None:
    path = rebuilt(tmp_path / "a", gzip.compress(data))
    try:
        with closing(PmTilesFile(path)) as file:
            file.read(TOP)
    except MapFileError:
        pass


def test_a_file_that_gets_shorter_under_way_is_an_error(tmp_path: Path) -> None:
    path = make_pmtiles(tmp_path / "a", tiles_of(2))
    with closing(PmTilesFile(path)) as file:
        path.write_bytes(path.read_bytes()[:200])
        with pytest.raises(MapFileError, match="beyond its end"):
            file.read(TileAddress(2, 3, 3))
    assert zxy_to_tileid(0, 0, 0) == 0
