"""Closed segments as Parquet files, read in the place of the segments (docs/formats/archive.md)."""
