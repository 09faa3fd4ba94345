"""Spark's checkpoint of a stream, read from outside: which query it is of, and the offset of a batch."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


class Checkpoint:
    """The folder of a checkpoint, which may lie wherever Spark can read."""

    def __init__(self, session: "SparkSession", place: str) -> None:
        self._session = session
        self.place = place

    def query_id(self) -> str | None:
        """Return Spark's id of the query that the checkpoint belongs to; None if there is none yet."""
        text = self._kept("metadata")
        return None if text is None else str(json.loads(text)["id"])

    def offset(self, batch_id: int) -> str | None:
        """Return the offset after a batch, as its source wrote it: there from before the batch until twenty later."""
        text = self._kept(f"offsets/{batch_id}")
        return None if text is None else text.splitlines()[-1]

    def _kept(self, name: str) -> str | None:
        if "://" not in self.place:
            path = Path(self.place, name)
            return path.read_text() if path.exists() else None
        java = self._session._jvm  # noqa: SLF001 - Spark has no other way to its file systems
        assert java is not None
        path = java.org.apache.hadoop.fs.Path(f"{self.place}/{name}")
        files = path.getFileSystem(self._session._jsc.hadoopConfiguration())  # noqa: SLF001 - as above
        if not files.exists(path):
            return None
        with files.open(path) as stream:
            return str(java.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
