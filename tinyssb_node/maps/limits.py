"""Numbers of map files, each with its reason. Map files come from strangers, so everything in them is bounded."""

from typing import Final

ZOOM_MAX: Final = 24
"""Largest zoom of a tile: 1 cm a pixel; OpenStreetMap's tiles end at 19."""
TILE_SIZE_MAX: Final = 2**20
"""Bytes of a tile: ten times a satellite picture of 512 × 512 pixels."""
METADATA_SIZE_MAX: Final = 2**20
"""Bytes of a PMTiles file's metadata, uncompressed: that of a raster map has some hundreds, of which one is read."""
DIRECTORY_PACKED_MAX: Final = 2**18
"""Bytes of a directory of PMTiles, compressed: the root has at most 16,257 (section 3 of its specification), a leaf
some ten thousand."""
DIRECTORY_SIZE_MAX: Final = 2**19
"""Bytes of a directory, uncompressed: a leaf of 20,000 tiles has 200,000, as in maps of the whole world."""
DIRECTORIES_KEPT: Final = 4
"""Directories that are kept parsed: a view has one or two, and one of 4,096 tiles takes 1 MB of memory."""
VARINT_SIZE_MAX: Final = 10
"""Bytes of a number in a directory: 64 bits."""
QUERY_S: Final = 2.0
"""Seconds that a query of an MBTiles file may take, which may hide a computation without end behind a view."""
MARKUP_SIZE_MAX: Final = 2_000
"""Characters of an attribution that are read: with links to three sources it has 300."""
ATTRIBUTION_MAX: Final = 200
"""Characters of it that are shown: two lines below a map."""
WAITING_MAX: Final = 64
"""Tiles that wait to be read: two phones that open a map at the same time."""
