"""Map files: MBTiles and PMTiles, small, real and hostile."""
