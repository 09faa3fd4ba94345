"""Disk operations of compaction, step by step: a crash between any two steps loses nothing and doubles nothing."""

import os
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from spark_sink.archive.footer import KEY
from spark_sink.archive.rows import BYTE


class Disk:
    """The file system of this machine."""

    def make_folder(self, folder: Path) -> None:
        """Make a folder and those above it. Raises OSError."""
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, rows: pa.Table, footer: bytes) -> None:
        """Write a file of an archive, whole and onto the disk. Raises OSError."""
        texts = [field.name for field in rows.schema if pa.types.is_string(field.type)]
        with pq.ParquetWriter(
            path,
            rows.schema,
            compression="zstd",
            compression_level=3,  # level 9 takes twice the time of writing for 4 % less
            use_dictionary=texts,
            column_encoding=dict.fromkeys(("offset", "t_us", "mono_us", BYTE), "DELTA_BINARY_PACKED"),
            write_page_checksum=True,
            write_statistics=["node", "boot", "offset", "t_us", "kind"],
        ) as writer:
            # A row group is what is read at least: a hundred segments of an hour, which lie side by side in one task.
            writer.write_table(rows, row_group_size=16_384)
            writer.add_key_value_metadata({KEY: footer})
        self.sync(path)

    def holds(self, path: Path, rows: pa.Table) -> bool:
        """True if these rows are what is read from a file. Raises OSError."""
        found = pq.read_table(path, page_checksum_verification=True, partitioning=None)
        return bool(found.equals(rows))

    def rename(self, old: Path, new: Path) -> None:
        """Give a file its final name. Raises OSError."""
        old.replace(new)

    def sync(self, path: Path) -> None:
        """Wait until what is in a file, or the names in a folder, are on the disk. Raises OSError."""
        file = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
        try:
            os.fsync(file)
        finally:
            os.close(file)

    def delete(self, path: Path) -> None:
        """Delete a file, if it is there. Raises OSError."""
        path.unlink(missing_ok=True)

    def delete_folder(self, folder: Path) -> None:
        """Delete an empty folder. Raises OSError."""
        folder.rmdir()
